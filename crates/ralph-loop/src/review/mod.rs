//! What an iteration may change in the task list, and what it may not.
//!
//! [`violations`] is asked twice: by the Stop hook, so that the agent can fix things while it
//! runs, and by the engine once it has ended, which then believes [`restore()`]'s list and not
//! the agent's. Both compare with a snapshot that ralph took, never with anything that the
//! agent can write.
//!
//! Check 1 is the schema, check 2 what must hold of any list, check 2.5 what may become of
//! one in an iteration of a mode. What was wrong in the snapshot already is not a
//! violation: the agent did not do it and may not be allowed to fix it. Its stories must have ids
//! of their own, though: by them they are found again.

mod fast_path;
mod restore;
mod reworded;
mod transitions;

pub use fast_path::{Difference, differing, is_harmless, may_change_nothing, places_for_fast_path};
pub use restore::restore;
pub use reworded::{Reworded, Wording, reworded};
pub use transitions::{owed, transitions};

use crate::task_list::{Mode, ReviewStatus, Story, TaskList, Unreadable, field};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;

/// What the last allowed review writes before the concerns that it leaves to a person.
pub const AT_CAP: &str = "[AUTO-APPROVED AT CAP]";

/// Reviews of one story before it is approved as it is.
pub const DEFAULT_REVIEW_CAP: u32 = 5;

/// What decides which changes of the list an iteration may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewRules<'a> {
    pub mode: Mode,
    /// The story that was given out; where only one may change, it is the first choice.
    pub story: Option<&'a str>,
    /// No reviews: implement iterations set `passes`.
    pub skip_review: bool,
    pub review_cap: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Violation {
    pub rule: Rule,
    /// The story's id, if it is about one.
    pub story: Option<String>,
    /// For the agent: what is wrong, and what to do.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Check 1: there is no list.
    Unreadable,
    /// Check 1: a field does not have its shape.
    Schema,
    /// Check 2: `passes` without `approved`.
    NotApproved,
    /// Check 2: `approved` without `passes`.
    OutOfSync,
    /// Check 2: changes requested without feedback.
    FeedbackRequired,
    /// Check 2: more reviews than there can have been.
    TooManyReviews,
    /// Check 2.5: a change that this mode may not make.
    IllegalTransition,
    /// Check 2.5: a second story changed where one may.
    OneStory,
    /// Check 2.5: a new story that does not begin at the beginning.
    NotInitial,
    /// Check 2.5: an unfinished story is gone.
    Vanished,
    /// Check 2.5: changes requested in the last review there is.
    AtCap,
    /// Check 2.5: sent back to review with the old feedback.
    FeedbackLeft,
    /// Check 2.5: a review without a verdict.
    NoVerdict,
    /// Check 2.5: a field beside the stories that no agent may change.
    Reserved,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Violation {
    fn of(rule: Rule, story: &str, message: String) -> Violation {
        Violation { rule, story: Some(story.to_owned()), message }
    }
}

/// Everything that an iteration has made of a list and must not have. Without a snapshot of
/// the list before, only the list itself can be judged.
pub fn violations(
    before: Option<&TaskList>,
    after: Result<&TaskList, &Unreadable>,
    rules: &ReviewRules<'_>,
) -> Vec<Violation> {
    let mut found = standing(after, rules);
    if let Some(before) = before {
        if !found.is_empty() {
            let old: HashSet<Violation> = standing(Ok(before), rules).into_iter().collect();
            found.retain(|violation| !old.contains(violation));
        }
        if let Ok(after) = after {
            found.extend(reserved(before, after));
            found.extend(transitions(before, after, rules));
        }
    }
    found
}

/// The fields beside the stories that decide what counts as proof, and where. An agent that may
/// change them chooses by what it is judged in the next run, and what ralph executes for it.
const RESERVED: [&str; 2] = [field::VERIFY_COMMANDS, field::BRANCH_NAME];

fn reserved(before: &TaskList, after: &TaskList) -> impl Iterator<Item = Violation> {
    let changed = RESERVED.into_iter().filter(|name| before.field(name) != after.field(name));
    changed.map(|name| {
        let message = format!(
            "The task list: {name} was changed. Only the user may change it: restore it, and write in notes what it should be."
        );
        Violation { rule: Rule::Reserved, story: None, message }
    })
}

/// Checks 1 and 2: what is wrong with a list, whatever caused it.
pub fn standing(list: Result<&TaskList, &Unreadable>, rules: &ReviewRules<'_>) -> Vec<Violation> {
    let list = match list {
        Ok(list) => list,
        Err(why) => return vec![Violation { rule: Rule::Unreadable, story: None, message: why.to_string() }],
    };
    let schema = list.problems().into_iter().map(|problem| Violation {
        rule: Rule::Schema,
        message: problem.to_string(),
        story: problem.story,
    });
    let mut found: Vec<Violation> = schema.collect();
    if !rules.skip_review {
        found.extend(list.stories.iter().flat_map(|story| invariants(story, rules.review_cap)));
    }
    found
}

/// Check 2. Fields without their shape are the schema's affair.
fn invariants(story: &Story, review_cap: u32) -> Vec<Violation> {
    let (Some(status), id) = (story.review_status(), story.id()) else { return Vec::new() };
    let mut found = Vec::new();
    if story.passes() && status != ReviewStatus::Approved {
        let message = format!(
            "Story {id} has passes=true but reviewStatus is '{status}', not 'approved'. Only review \
             iterations may approve stories. Set passes back to false or complete the review cycle."
        );
        found.push(Violation::of(Rule::NotApproved, id, message));
    }
    if status == ReviewStatus::Approved && !story.passes() {
        let message = format!(
            "Story {id} has reviewStatus 'approved' but passes=false: the two are out of sync. An \
             approved story has passes=true."
        );
        found.push(Violation::of(Rule::OutOfSync, id, message));
    }
    if status == ReviewStatus::ChangesRequested && story.review_feedback().trim().is_empty() {
        let message = format!(
            "Story {id} has reviewStatus 'changes_requested' but an empty reviewFeedback: feedback \
             required. Say what needs to be fixed, and where."
        );
        found.push(Violation::of(Rule::FeedbackRequired, id, message));
    }
    let most = u64::from(review_cap) + 1;
    if let Some(count) = story.review_count()
        && count > most
    {
        let message = format!(
            "Story {id} has reviewCount {count}, but with a review cap of {review_cap} it cannot exceed {most}."
        );
        found.push(Violation::of(Rule::TooManyReviews, id, message));
    }
    found
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
