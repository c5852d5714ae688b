//! What to work on next, and why nothing can be.
//!
//! Feedback is addressed before anything is reviewed, and what waits for a review is reviewed
//! before anything new is begun. Within a mode the smallest priority comes first, then the
//! order of the file.

use super::circles::Circles;
use super::{ReviewStatus, Story, TaskList};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// What one iteration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Implement,
    Review,
    ReviewFix,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Implement => "implement",
            Mode::Review => "review",
            Mode::ReviewFix => "review-fix",
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Pick<'a> {
    Work {
        mode: Mode,
        story: &'a Story,
    },
    /// Every story is done.
    Done,
    Stuck(Stuck<'a>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck<'a> {
    /// There is not one story.
    Empty,
    /// Stories are left and none can be worked on: each of them, with what holds it.
    Blocked(Vec<Blocked<'a>>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked<'a> {
    pub story: &'a str,
    pub why: Why<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why<'a> {
    /// Depends on ids that no story has.
    Unknown(Vec<&'a str>),
    /// Depends on itself: through these, in a circle, and so many more.
    Cycle { way: Vec<&'a str>, more: usize },
    /// Depends on stories that are not done and cannot be worked on either.
    WaitsFor(Vec<&'a str>),
    /// `passes` and `reviewStatus` contradict each other, so no mode takes it.
    Contradiction,
}

/// So many stories of a circle are named: more would not be read.
const CIRCLE_TOLD: usize = 10;

pub fn pick(list: &TaskList, skip_review: bool) -> Pick<'_> {
    if list.stories.is_empty() {
        return Pick::Stuck(Stuck::Empty);
    }
    if list.is_complete(skip_review) {
        return Pick::Done;
    }
    let first = |fits: &dyn Fn(&Story) -> bool| {
        let fitting = list.stories.iter().filter(|story| fits(story));
        // Of equals, `min_by` takes the first.
        fitting.min_by(|a, b| a.priority().total_cmp(&b.priority()))
    };
    let with = |status| first(&|story| !skip_review && story.review_status() == Some(status));
    if let Some(story) = with(ReviewStatus::ChangesRequested) {
        return Pick::Work { mode: Mode::ReviewFix, story };
    }
    if let Some(story) = with(ReviewStatus::NeedsReview) {
        return Pick::Work { mode: Mode::Review, story };
    }
    let done: HashMap<&str, bool> =
        list.stories.iter().map(|story| (story.id(), story.is_done(skip_review))).collect();
    let is_free = |story: &Story| story.depends_on().iter().all(|id| done.get(id) == Some(&true));
    match first(&|story| is_new(story, skip_review) && is_free(story)) {
        Some(story) => Pick::Work { mode: Mode::Implement, story },
        None => Pick::Stuck(Stuck::Blocked(blocked(list, skip_review, &done))),
    }
}

/// Whether an implement iteration may take it.
fn is_new(story: &Story, skip_review: bool) -> bool {
    !story.passes() && (skip_review || story.review_status() == Some(ReviewStatus::Unreviewed))
}

fn blocked<'a>(list: &'a TaskList, skip_review: bool, done: &HashMap<&str, bool>) -> Vec<Blocked<'a>> {
    let circles = Circles::of(list, done);
    let why = |story: &'a Story| {
        if !is_new(story, skip_review) {
            return Why::Contradiction;
        }
        let (known, unknown): (Vec<_>, Vec<_>) =
            story.depends_on().into_iter().partition(|id| done.contains_key(id));
        if !unknown.is_empty() {
            return Why::Unknown(unknown);
        }
        match circles.through(story.id(), CIRCLE_TOLD) {
            Some((way, more)) => Why::Cycle { way, more },
            None => Why::WaitsFor(known.into_iter().filter(|id| done.get(id) == Some(&false)).collect()),
        }
    };
    list.unfinished(skip_review).map(|story| Blocked { story: story.id(), why: why(story) }).collect()
}

/// The unfinished stories that no work on others will ever free: those that depend on ids that no
/// story has, or on themselves.
pub fn dead_ends(list: &TaskList, skip_review: bool) -> Vec<Blocked<'_>> {
    let done: HashMap<&str, bool> =
        list.stories.iter().map(|story| (story.id(), story.is_done(skip_review))).collect();
    let never = |blocked: &Blocked<'_>| matches!(blocked.why, Why::Unknown(_) | Why::Cycle { .. });
    blocked(list, skip_review, &done).into_iter().filter(never).collect()
}

impl fmt::Display for Blocked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let story = self.story;
        match &self.why {
            Why::Unknown(ids) => write!(f, "{story} depends on {}, which does not exist", ids.join(", ")),
            Why::Cycle { way, more } => {
                write!(f, "{story} depends on itself: {} → ", way.join(" → "))?;
                if *more > 0 {
                    write!(f, "({more} more) → ")?;
                }
                f.write_str(story)
            }
            Why::WaitsFor(ids) => write!(f, "{story} waits for {}", ids.join(", ")),
            Why::Contradiction => {
                write!(f, "{story}: passes and reviewStatus contradict each other")
            }
        }
    }
}

/// How many iterations the rest of a list may take: shown at the start, not a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub stories: usize,
    /// Implement, review, and now and then a fix; without reviews, implement.
    pub iterations_each: usize,
}

impl Estimate {
    pub fn of(list: &TaskList, skip_review: bool) -> Estimate {
        let iterations_each = if skip_review { 1 } else { 3 };
        Estimate { stories: list.unfinished(skip_review).count(), iterations_each }
    }

    pub fn iterations(self) -> usize {
        self.stories * self.iterations_each
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize, one: &'static str, more: &'static str| if n == 1 { one } else { more };
        write!(
            f,
            "{} {} × ~{} {} each = ~{} {} needed",
            self.stories,
            plural(self.stories, "story", "stories"),
            self.iterations_each,
            plural(self.iterations_each, "iteration", "iterations"),
            self.iterations(),
            plural(self.iterations(), "iteration", "iterations"),
        )
    }
}
