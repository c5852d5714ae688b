//! How far a run over a task list has come, and how its reviews went.

use ralph_loop::plan::tasks::{TasksPlan, TasksState};
use ralph_loop::review::{Reworded, Wording};
use ralph_loop::text::printable;
use serde::Serialize;

/// One story at the end of a run.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct TaskResult {
    pub id: String,
    pub done: bool,
    /// Number of reviews, in this run and before.
    pub reviews: u64,
    /// What agents have changed of what is asked of it, in this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reworded: Vec<Wording>,
}

pub struct TasksLeft {
    pub stories: Vec<TaskResult>,
    pub reworded: Vec<Reworded>,
    pub skip_review: bool,
    pub review_cap: u64,
}

/// Stories with at least this many reviews are worth a look.
const MANY: u64 = 3;

impl TasksLeft {
    /// Nothing if the list was never read.
    pub fn of(plan: &TasksPlan, state: &TasksState) -> Option<TasksLeft> {
        let list = &state.known.as_ref()?.list;
        let result = |story: &ralph_loop::task_list::Story| TaskResult {
            id: story.id().to_string(),
            done: story.is_done(plan.skip_review),
            reviews: story.review_count().unwrap_or(0),
            reworded: state
                .reworded
                .iter()
                .filter(|found| found.story == story.id())
                .map(|found| found.what)
                .collect(),
        };
        Some(TasksLeft {
            stories: list.stories.iter().map(result).collect(),
            reworded: state.reworded.clone(),
            skip_review: plan.skip_review,
            review_cap: plan.review_cap.into(),
        })
    }

    pub fn lines(&self) -> Vec<String> {
        let ids = |fits: &dyn Fn(&&TaskResult) -> bool| {
            let fitting = self.stories.iter().filter(fits);
            named(fitting.map(|story| printable(&story.id).into_owned()), " ")
        };
        let done = self.stories.iter().filter(|story| story.done).count();
        let left = match ids(&|story| !story.done) {
            left if left.is_empty() => String::new(),
            left => format!(", left: {left}"),
        };
        let mut lines = vec![format!("stories: {done} of {} done{left}", self.stories.len())];
        lines.extend(Reworded::summary(&self.reworded).map(|line| printable(&line).into_owned()));
        let reviewed: Vec<&TaskResult> = self.stories.iter().filter(|story| story.reviews > 0).collect();
        if self.skip_review || reviewed.is_empty() {
            return lines;
        }
        let counts = reviewed.iter().map(|story| format!("{} {}", printable(&story.id), story.reviews));
        lines.push(format!("reviews: {}", named(counts, ", ")));
        // What has gone back after its only review will cost more.
        let at_once = |story: &&&TaskResult| story.done && story.reviews == 1;
        if reviewed.iter().filter(at_once).count() * 2 > reviewed.len() {
            lines.push("most stories passed their first review".to_string());
        }
        if reviewed.iter().any(|story| story.reviews >= MANY) {
            let many = ids(&|story| story.reviews >= MANY);
            lines.push(format!("{MANY} or more reviews, worth a look: {many}"));
        }
        let capped = ids(&|story| story.reviews >= self.review_cap.max(1));
        if !capped.is_empty() {
            lines.push(format!("reached the review cap of {}: {capped}", self.review_cap));
        }
        lines
    }
}

/// The first of them: all the names of a long list would push how the run ended off the screen.
pub(super) fn named(names: impl Iterator<Item = String>, between: &str) -> String {
    const MOST: usize = 20;
    let mut names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let names = names.join(between);
    if more == 0 { names } else { format!("{names} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_list_the_first_are_named() {
        let names = |most: u32| named((1..=most).map(|n| n.to_string()), " ");
        assert_eq!(names(3), "1 2 3");
        assert!(names(20).ends_with(" 19 20"));
        assert!(names(200).ends_with(" 19 20 and 180 more"));
    }

    #[track_caller]
    fn check(stories: &[(&str, bool, u64)], wanted: &[&str]) {
        let result = |(id, done, reviews): &(&str, bool, u64)| TaskResult {
            id: (*id).to_string(),
            done: *done,
            reviews: *reviews,
            reworded: Vec::new(),
        };
        let stories = stories.iter().map(result).collect();
        let left = TasksLeft { stories, reworded: Vec::new(), skip_review: false, review_cap: 5 };
        assert_eq!(left.lines(), wanted);
    }

    #[test]
    fn mostly_one_is_cheap_and_three_or_more_is_to_be_looked_at() {
        check(&[("A", false, 0)], &["stories: 0 of 1 done, left: A"]);
        check(&[("A", false, 1)], &["stories: 0 of 1 done, left: A", "reviews: A 1"]);
        check(
            &[("A", true, 1), ("B", true, 1), ("C", false, 2)],
            &[
                "stories: 2 of 3 done, left: C",
                "reviews: A 1, B 1, C 2",
                "most stories passed their first review",
            ],
        );
        check(
            &[("A", true, 1), ("B", true, 5)],
            &[
                "stories: 2 of 2 done",
                "reviews: A 1, B 5",
                "3 or more reviews, worth a look: B",
                "reached the review cap of 5: B",
            ],
        );
    }
}
