//! What planning came to, as data: the stories in the order of work, what changed, and how the checks
//! fared when they were tried.

use super::merge::{Dropped, has_begun, is_same};
use super::prd::QuestionAnswered;
use crate::dialect::Exit;
use crate::task_list::{Story, TaskList};
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlanSummary {
    /// In the order in which they will be worked on.
    pub stories: Vec<PlannedStory>,
    /// Ids that are in the list no more.
    pub removed: Vec<String>,
    /// Changes of the agent that were not taken over.
    pub dropped: Vec<Dropped>,
    pub checks: Vec<TriedCheck>,
    pub assumptions: Vec<String>,
    pub answers: Vec<QuestionAnswered>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedStory {
    pub id: String,
    pub title: String,
    pub depends_on: Vec<String>,
    pub criteria: Vec<String>,
    pub change: StoryChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoryChange {
    Added,
    Changed,
    /// As before, and nothing was done about it yet.
    Kept,
    /// As before, in the middle of work.
    Begun,
    Done,
}

/// A check, and how it ended when it was run once in the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedCheck {
    pub command: String,
    pub outcome: CheckOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Green,
    /// It works, and fails now.
    Red,
    /// A program that it names is not there.
    NotFound,
    /// It had not ended when its time was over.
    TimedOut,
    /// It could not be started.
    NotStarted,
}

impl CheckOutcome {
    /// As a shell has it: 126 and 127 are for what it could not run.
    pub fn of(exit: Exit) -> CheckOutcome {
        match exit {
            Exit::Code(0) => CheckOutcome::Green,
            Exit::Code(126 | 127) => CheckOutcome::NotFound,
            Exit::Code(_) | Exit::Signal(_) => CheckOutcome::Red,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            CheckOutcome::Green => "runs, passes now",
            CheckOutcome::Red => "runs, fails now",
            CheckOutcome::NotFound => "command not found",
            CheckOutcome::TimedOut => "did not end in time",
            CheckOutcome::NotStarted => "could not be started",
        }
    }

    /// Whether a run could use it.
    pub fn works(self) -> bool {
        match self {
            CheckOutcome::Green | CheckOutcome::Red => true,
            CheckOutcome::NotFound | CheckOutcome::TimedOut | CheckOutcome::NotStarted => false,
        }
    }
}

/// The stories of the new list beside those of the old one, if there was one.
pub fn stories(old: Option<&TaskList>, new: &TaskList) -> Vec<PlannedStory> {
    let text = |words: Vec<&str>| words.into_iter().map(String::from).collect();
    let planned = |story: &&Story| PlannedStory {
        id: story.id().to_owned(),
        title: story.title().to_owned(),
        depends_on: text(story.depends_on()),
        criteria: text(story.acceptance_criteria()),
        change: change(old.and_then(|old| old.story(story.id())), story),
    };
    in_order(new).iter().map(planned).collect()
}

pub fn removed(old: Option<&TaskList>, new: &TaskList) -> Vec<String> {
    let gone = |story: &&Story| new.story(story.id()).is_none() && !story.title().trim().is_empty();
    old.into_iter()
        .flat_map(|old| old.stories.iter().filter(gone))
        .map(|story| story.id().to_owned())
        .collect()
}

fn change(old: Option<&Story>, new: &Story) -> StoryChange {
    match old {
        None => StoryChange::Added,
        Some(old) if !is_same(old, new) => StoryChange::Changed,
        Some(_) if new.passes() => StoryChange::Done,
        Some(_) if has_begun(new) => StoryChange::Begun,
        Some(_) => StoryChange::Kept,
    }
}

/// Each story after those that it depends on, the smallest priority first. Stories that wait for each
/// other come last, as they are.
fn in_order(list: &TaskList) -> Vec<&Story> {
    let mut waiting: Vec<&Story> = list.stories.iter().collect();
    waiting.sort_by(|a, b| a.priority().total_cmp(&b.priority()));
    let mut ordered: Vec<&Story> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let is_free = |story: &&Story| {
            !story.depends_on().iter().any(|id| waiting.iter().any(|other| other.id() == *id))
        };
        match waiting.iter().position(is_free) {
            Some(at) => ordered.push(waiting.remove(at)),
            None => ordered.append(&mut waiting),
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_list::{Json, field};

    fn story(id: &str, priority: i64, on: &[&str]) -> Story {
        let mut story = Story::new(id, id, &["it works"], priority);
        story.set_field(field::DEPENDS_ON, Json::Array(on.iter().map(|id| Json::from(*id)).collect()));
        story
    }

    #[test]
    fn stories_come_in_the_order_of_work() {
        let list = TaskList::of(vec![
            story("C", 1, &["B"]),
            story("X", 0, &["Y"]),
            story("Y", 0, &["X"]),
            story("A", 2, &[]),
            story("B", 9, &["A", "gone"]),
        ]);
        let ids: Vec<String> = stories(None, &list).into_iter().map(|story| story.id).collect();
        assert_eq!(ids, ["A", "B", "C", "X", "Y"]);
    }

    #[test]
    fn what_changed_is_told_for_each_story() {
        let mut done = story("D", 1, &[]);
        done.set_passes(true);
        let mut begun = story("E", 2, &[]);
        begun.set_notes("half");
        let old = TaskList::of(vec![
            done.clone(),
            begun.clone(),
            story("A", 3, &[]),
            story("B", 4, &[]),
            story("R", 5, &[]),
        ]);
        let new =
            TaskList::of(vec![done, begun, story("A", 3, &[]), story("B", 9, &[]), story("N", 10, &[])]);
        let changes: Vec<StoryChange> =
            stories(Some(&old), &new).into_iter().map(|story| story.change).collect();
        use StoryChange::{Added, Begun, Changed, Done, Kept};
        assert_eq!(changes, [Done, Begun, Kept, Changed, Added]);
        assert_eq!(removed(Some(&old), &new), ["R"]);
    }

    #[test]
    fn an_exit_code_says_whether_a_check_can_be_used() {
        for (exit, outcome) in [
            (Exit::Code(0), CheckOutcome::Green),
            (Exit::Code(1), CheckOutcome::Red),
            (Exit::Code(127), CheckOutcome::NotFound),
            (Exit::Code(126), CheckOutcome::NotFound),
            (Exit::Signal(9), CheckOutcome::Red),
        ] {
            assert_eq!(CheckOutcome::of(exit), outcome);
        }
    }
}
