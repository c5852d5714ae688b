//! The status of a story, in a word or two.

use ralph_loop::review::AT_CAP;
use ralph_loop::task_list::{ReviewStatus, Story, TaskList};
use serde::Serialize;
use std::collections::HashSet;

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "kebab-case")]
pub enum Standing {
    Approved,
    /// The last review there could be had concerns.
    ApprovedAtCap,
    /// Passes without a review.
    Passes,
    /// The modes that take it next.
    ReviewFix,
    Review,
    Implement,
    Waits {
        waits_for: Vec<String>,
    },
}

/// The stories that others need not wait for.
pub fn passing(list: &TaskList) -> HashSet<&str> {
    list.stories.iter().filter(|story| story.passes()).map(Story::id).collect()
}

impl Standing {
    pub fn of(story: &Story, passing: &HashSet<&str>) -> Standing {
        match (story.passes(), story.review_status()) {
            (true, Some(ReviewStatus::Approved)) if story.review_feedback().starts_with(AT_CAP) => {
                Standing::ApprovedAtCap
            }
            (true, Some(ReviewStatus::Approved)) => Standing::Approved,
            (true, _) => Standing::Passes,
            (false, Some(ReviewStatus::ChangesRequested)) => Standing::ReviewFix,
            (false, Some(ReviewStatus::NeedsReview)) => Standing::Review,
            (false, _) => {
                let is_open = |id: &&str| !passing.contains(id);
                let waits_for: Vec<String> =
                    story.depends_on().into_iter().filter(is_open).map(String::from).collect();
                if waits_for.is_empty() { Standing::Implement } else { Standing::Waits { waits_for } }
            }
        }
    }

    pub fn words(&self) -> String {
        match self {
            Standing::Approved => "approved".to_string(),
            Standing::ApprovedAtCap => "approved at cap".to_string(),
            Standing::Passes => "done, unreviewed".to_string(),
            Standing::ReviewFix => "to fix".to_string(),
            Standing::Review => "to review".to_string(),
            Standing::Implement => "to implement".to_string(),
            Standing::Waits { waits_for } => format!("waits for {}", waits_for.join(", ")),
        }
    }
}
