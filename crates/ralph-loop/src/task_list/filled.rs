//! What lists of other loops leave out.
//!
//! Loops without reviews write `id`, `title`, `acceptanceCriteria`, `priority`, `passes` and `notes`
//! of a story, and know no review fields. A person's list is filled in when it is read; of an agent,
//! which has seen all fields, a missing one is an error.

use super::json::Json;
use super::{ReviewStatus, Story, TaskList, field};

/// What is noted on a story that passed before there were reviews.
const PASSED_BEFORE: &str = "Passed before this list had reviews.";

impl TaskList {
    /// Adds the fields that are missing and have an obvious value. Returns their names, in the
    /// order of the schema; empty if the list is unchanged.
    pub fn fill_missing(&mut self, project: &str) -> Vec<&'static str> {
        let mut filled = Vec::new();
        for (number, story) in (1i64..).zip(&mut self.stories) {
            fill_story(story, number, &mut filled);
        }
        let name = self.field("name").and_then(Json::as_str).unwrap_or(project).to_owned();
        for (field, value) in [(field::PROJECT, name.as_str()), (field::DESCRIPTION, "")] {
            if self.field(field).is_none() {
                self.set_field(field, value.into());
                filled.push(field);
            }
        }
        let is_filled = |name: &&str| filled.contains(name);
        field::ALL.into_iter().filter(is_filled).collect()
    }
}

fn fill_story(story: &mut Story, number: i64, filled: &mut Vec<&'static str>) {
    let reviewed = story.field(field::REVIEW_STATUS).is_some();
    let status = if story.passes() { ReviewStatus::Approved } else { ReviewStatus::Unreviewed };
    for (field, value) in [
        (field::PRIORITY, Json::Number(number.into())),
        (field::PASSES, Json::Bool(false)),
        (field::REVIEW_STATUS, status.as_json()),
        (field::REVIEW_COUNT, Json::Number(0.into())),
        (field::REVIEW_FEEDBACK, "".into()),
    ] {
        if story.field(field).is_none() {
            story.set_field(field, value);
            filled.push(field);
        }
    }
    if !reviewed && story.passes() && story.notes().trim().is_empty() {
        story.set_notes(PASSED_BEFORE);
        filled.push(field::NOTES);
    }
}
