//! The plan of `ralph tasks`: a list that the agent may edit and ralph believes only after it
//! has looked.
//!
//! Before an iteration the list is read: what changed since is a person's and counts. After
//! the agent it is compared with what was there before, and what the mode does not allow is
//! undone. An approval counts only with green checks: what is red goes back with their output,
//! and at the review cap a person is asked for instead. An agent that was not judged has not
//! changed the list.

mod file_work;
mod state;

pub use file_work::{Comparison, FileWork};
pub use state::TasksState;

use super::Progress;
use crate::review::{ReviewRules, Reworded};
use crate::task_list::{Mode, Story, TaskList, field};
use crate::text::clip;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// What an agent says when it thinks that all is done. Whether it is, the list shows.
pub const COMPLETE: &str = "COMPLETE";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksPlan {
    /// The directory of the list, its progress and its prompt; relative to the workspace.
    pub dir: PathBuf,
    /// The agent that implements a story also sets `passes`; there are no reviews.
    pub skip_review: bool,
    /// Reviews of one story before it is approved as it is.
    pub review_cap: u32,
    /// Commit what an agent has left uncommitted.
    pub commit_left: bool,
    /// Hand hooks to agents that take them.
    #[serde(default = "yes")]
    pub hooks: bool,
}

fn yes() -> bool {
    true
}

impl TasksPlan {
    /// Not known before the list was read.
    pub(super) fn progress(&self, state: &TasksState) -> Option<Progress> {
        let list = &state.known.as_ref()?.list;
        let done = list.stories.iter().filter(|story| story.is_done(self.skip_review)).count();
        Some(Progress { done, of: list.stories.len() })
    }

    pub fn rules<'a>(&self, mode: Mode, story: &'a str) -> ReviewRules<'a> {
        ReviewRules { mode, story: Some(story), skip_review: self.skip_review, review_cap: self.review_cap }
    }

    /// For what was not sent to change the list: a commit, its hooks, a check after a person's edit.
    /// It may do what every agent may: add stories, and change fields that decide nothing.
    pub fn rules_for_others(&self) -> ReviewRules<'static> {
        ReviewRules { mode: Mode::Implement, story: None, skip_review: false, review_cap: self.review_cap }
    }

    pub(super) fn start(&self) -> TasksState {
        TasksState::new(self.skip_review, self.review_cap)
    }
}

/// A list as ralph knows it: what is picked from, and the whole text by hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    pub text: String,
    /// Only what is needed to choose and to report: see [`outline`].
    pub list: Arc<TaskList>,
}

/// The list without its long texts.
pub fn outline(list: &TaskList) -> TaskList {
    const KEPT: [&str; 5] =
        [field::PRIORITY, field::PASSES, field::REVIEW_STATUS, field::REVIEW_COUNT, field::DEPENDS_ON];
    /// No banner shows more, and every fact about the list carries all of them.
    const TITLE_CHARS: usize = 200;
    let short = |story: &Story| {
        let mut short = Story::new(story.id(), &clip(story.title(), TITLE_CHARS), &[], 0);
        for name in KEPT {
            short.take_field(story, name);
        }
        short
    };
    TaskList::of(list.stories.iter().map(short).collect())
}

/// What came of reading, comparing or writing the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TasksEnd {
    pub known: Known,
    /// What the agent may not have changed, and what was undone, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// What the agent has changed of what is asked of a story. It may, and the user is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reworded: Vec<Reworded>,
    /// A person, or a commit, has changed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// What stood there and was written over, by hash: it may be a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<String>,
    /// Fields that were missing in a person's list and were added, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filled: Vec<String>,
}

impl TasksEnd {
    /// The list is as it is known, and there is nothing to report.
    pub fn of(known: Known) -> TasksEnd {
        TasksEnd {
            known,
            violations: Vec::new(),
            reworded: Vec::new(),
            edited: false,
            displaced: None,
            filled: Vec::new(),
        }
    }
}

/// What ralph itself changes in the list after an iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amendment {
    pub stories: Vec<String>,
    pub how: Amend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amend {
    /// Said to be right, and the checks are red: back, with their output.
    RequestChanges,
    /// Said to be right by an agent that failed: as if it had not been said.
    Unsay,
}
