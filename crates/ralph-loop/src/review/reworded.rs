//! What an iteration has made of the words that say what is to be done.
//!
//! It may change them: a story that turns out to be two keeps its id and a part of its criteria. But
//! an agent that drops what it cannot do has found another way to be done, so the user is warned.

use crate::task_list::{Story, TaskList, field};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// An unfinished story whose words an agent has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reworded {
    pub story: String,
    pub what: Wording,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wording {
    /// So many there were, and so many are left.
    AcceptanceCriteria {
        before: usize,
        after: usize,
    },
    Title,
    Description,
}

/// Everything that an iteration has reworded in stories that were not done before it.
pub fn reworded(before: &TaskList, after: &TaskList, skip_review: bool) -> Vec<Reworded> {
    // Of two with the same id the first is the story: it is entered last.
    let now: HashMap<&str, &Story> = after.stories.iter().rev().map(|story| (story.id(), story)).collect();
    let unfinished = before.stories.iter().filter(|story| !story.is_done(skip_review));
    let pairs = unfinished.filter_map(|old| Some((old, *now.get(old.id())?)));
    let found = |(old, new): (&Story, &Story)| {
        let changed = |name: &str| old.field(name) != new.field(name);
        let counts = Wording::AcceptanceCriteria { before: criteria(old), after: criteria(new) };
        let words = [
            (field::ACCEPTANCE_CRITERIA, counts),
            (field::TITLE, Wording::Title),
            (field::DESCRIPTION, Wording::Description),
        ];
        let changed = words.into_iter().filter(|(name, _)| changed(name));
        changed.map(|(_, what)| Reworded { story: old.id().to_string(), what }).collect::<Vec<_>>()
    };
    pairs.flat_map(found).collect()
}

fn criteria(story: &Story) -> usize {
    story.acceptance_criteria().len()
}

impl Reworded {
    /// Enters what was found after what is known already: of criteria, how many there were at first
    /// and are at last.
    pub fn enter(self, known: &mut Vec<Reworded>) {
        let same = |other: &&mut Reworded| {
            other.story == self.story
                && std::mem::discriminant(&other.what) == std::mem::discriminant(&self.what)
        };
        match known.iter_mut().find(same) {
            Some(Reworded { what: Wording::AcceptanceCriteria { after, .. }, .. }) => {
                if let Wording::AcceptanceCriteria { after: last, .. } = self.what {
                    *after = last;
                }
            }
            Some(_) => {}
            None => known.push(self),
        }
    }

    /// All of them on one line; nothing if there are none.
    pub fn summary(all: &[Reworded]) -> Option<String> {
        let changes: Vec<String> =
            all.iter().map(|Reworded { story, what }| format!("{story} {what}")).collect();
        (!changes.is_empty()).then(|| format!("changed by agents: {}", changes.join(", ")))
    }
}

impl fmt::Display for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wording::AcceptanceCriteria { before, after } => {
                write!(f, "acceptance criteria ({before} → {after})")
            }
            Wording::Title => f.write_str("title"),
            Wording::Description => f.write_str("description"),
        }
    }
}

impl fmt::Display for Reworded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let story = &self.story;
        match self.what {
            Wording::AcceptanceCriteria { before, after } => {
                write!(f, "{story}: acceptance criteria were changed by the agent: {before} → {after}")
            }
            what @ (Wording::Title | Wording::Description) => {
                write!(f, "{story}: {what} was changed by the agent")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_list::ReviewStatus;

    fn story(id: &str, title: &str, criteria: &[&str]) -> Story {
        Story::new(id, title, criteria, 1)
    }

    fn done(mut story: Story) -> Story {
        story.set_passes(true);
        story.set_review_status(ReviewStatus::Approved);
        story
    }

    #[track_caller]
    fn check(before: Vec<Story>, after: Vec<Story>, wanted: &[&str]) {
        let found = reworded(&TaskList::of(before), &TaskList::of(after), false);
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn what_is_asked_of_an_unfinished_story_is_watched() {
        let three = || story("A", "a", &["x", "y", "z"]);
        check(vec![three()], vec![three()], &[]);
        check(
            vec![three()],
            vec![story("A", "b", &["x"])],
            &["A: acceptance criteria were changed by the agent: 3 → 1", "A: title was changed by the agent"],
        );
        check(
            vec![three()],
            vec![story("A", "a", &["x", "y", "ü"])],
            &["A: acceptance criteria were changed by the agent: 3 → 3"],
        );
        // Also if the same iteration says that it is done.
        check(
            vec![three()],
            vec![done(story("A", "a", &["x"]))],
            &["A: acceptance criteria were changed by the agent: 3 → 1"],
        );
        // New stories, stories that are gone and stories that were done are something else.
        check(
            vec![done(three()), story("B", "b", &["x"])],
            vec![story("A", "b", &["x"]), story("C", "c", &["x"])],
            &[],
        );
    }

    #[test]
    fn what_was_changed_twice_is_told_once() {
        let criteria = |before, after| Reworded {
            story: "A".into(),
            what: Wording::AcceptanceCriteria { before, after },
        };
        let mut known = Vec::new();
        criteria(3, 2).enter(&mut known);
        Reworded { story: "A".into(), what: Wording::Title }.enter(&mut known);
        criteria(2, 1).enter(&mut known);
        assert_eq!(
            Reworded::summary(&known).as_deref(),
            Some("changed by agents: A acceptance criteria (3 → 1), A title")
        );
        assert_eq!(Reworded::summary(&[]), None);
    }
}
