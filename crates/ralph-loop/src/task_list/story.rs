//! One story of the list.

use super::field;
use super::json::{Json, Object};
use serde::{Serialize, Serializer};
use std::fmt;

/// The object in the file. Known fields are read as far as they have their shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Story {
    fields: Object,
}

/// Where a story stands in the review cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewStatus {
    /// `null`: not yet implemented.
    Unreviewed,
    /// Implemented and committed, to be looked at by fresh eyes.
    NeedsReview,
    /// A review found something; `reviewFeedback` says what.
    ChangesRequested,
    Approved,
}

impl ReviewStatus {
    pub fn as_json(self) -> Json {
        match self {
            ReviewStatus::Unreviewed => Json::Null,
            ReviewStatus::NeedsReview => "needs_review".into(),
            ReviewStatus::ChangesRequested => "changes_requested".into(),
            ReviewStatus::Approved => "approved".into(),
        }
    }

    fn from_json(json: &Json) -> Option<ReviewStatus> {
        match json {
            Json::Null => Some(ReviewStatus::Unreviewed),
            Json::String(word) => match &**word {
                "needs_review" => Some(ReviewStatus::NeedsReview),
                "changes_requested" => Some(ReviewStatus::ChangesRequested),
                "approved" => Some(ReviewStatus::Approved),
                _ => None,
            },
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }
}

/// The word in the file, without quotes.
impl fmt::Display for ReviewStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReviewStatus::Unreviewed => "null",
            ReviewStatus::NeedsReview => "needs_review",
            ReviewStatus::ChangesRequested => "changes_requested",
            ReviewStatus::Approved => "approved",
        })
    }
}

impl Story {
    /// A story as it begins: nothing done, nothing reviewed.
    pub fn new(id: &str, title: &str, acceptance_criteria: &[&str], priority: i64) -> Story {
        let criteria = acceptance_criteria.iter().map(|criterion| Json::from(*criterion)).collect();
        let fields = [
            (field::ID, id.into()),
            (field::TITLE, title.into()),
            (field::DESCRIPTION, "".into()),
            (field::ACCEPTANCE_CRITERIA, Json::Array(criteria)),
            (field::PRIORITY, Json::Number(priority.into())),
            (field::PASSES, Json::Bool(false)),
            (field::REVIEW_STATUS, Json::Null),
            (field::REVIEW_COUNT, Json::Number(0.into())),
            (field::REVIEW_FEEDBACK, "".into()),
            (field::NOTES, "".into()),
            (field::DEPENDS_ON, Json::Array(Vec::new())),
        ];
        Story { fields: fields.into_iter().collect() }
    }

    pub(super) fn from_fields(fields: Object) -> Story {
        Story { fields }
    }

    pub fn field(&self, name: &str) -> Option<&Json> {
        self.fields.get(name)
    }

    /// All of them, in the order of the file.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.fields.fields()
    }

    pub fn set_field(&mut self, name: &str, value: Json) {
        self.fields.set(name, value);
    }

    /// Makes a field what it is in another story, absence included.
    pub fn take_field(&mut self, other: &Story, name: &str) {
        self.fields.take_from(&other.fields, name);
    }

    fn text(&self, name: &str) -> &str {
        self.field(name).and_then(Json::as_str).unwrap_or_default()
    }

    pub fn id(&self) -> &str {
        self.text(field::ID)
    }

    pub fn title(&self) -> &str {
        self.text(field::TITLE)
    }

    pub fn description(&self) -> &str {
        self.text(field::DESCRIPTION)
    }

    pub fn notes(&self) -> &str {
        self.text(field::NOTES)
    }

    pub fn review_feedback(&self) -> &str {
        self.text(field::REVIEW_FEEDBACK)
    }

    pub fn acceptance_criteria(&self) -> Vec<&str> {
        self.field(field::ACCEPTANCE_CRITERIA).and_then(Json::as_strings).unwrap_or_default()
    }

    pub fn depends_on(&self) -> Vec<&str> {
        self.field(field::DEPENDS_ON).and_then(Json::as_strings).unwrap_or_default()
    }

    /// The smaller, the sooner. What is no number comes last.
    pub fn priority(&self) -> f64 {
        match self.field(field::PRIORITY) {
            Some(Json::Number(number)) => number.as_f64().unwrap_or(f64::INFINITY),
            _ => f64::INFINITY,
        }
    }

    pub fn passes(&self) -> bool {
        self.field(field::PASSES) == Some(&Json::Bool(true))
    }

    /// `None` if it is missing or no status.
    pub fn review_status(&self) -> Option<ReviewStatus> {
        ReviewStatus::from_json(self.field(field::REVIEW_STATUS)?)
    }

    /// How often fresh eyes have looked at it; `None` if that is no count.
    pub fn review_count(&self) -> Option<u64> {
        match self.field(field::REVIEW_COUNT) {
            Some(Json::Number(number)) => number.as_u64(),
            _ => None,
        }
    }

    pub fn set_passes(&mut self, passes: bool) {
        self.set_field(field::PASSES, Json::Bool(passes));
    }

    pub fn set_review_status(&mut self, status: ReviewStatus) {
        self.set_field(field::REVIEW_STATUS, status.as_json());
    }

    pub fn set_review_count(&mut self, count: u64) {
        self.set_field(field::REVIEW_COUNT, Json::Number(count.into()));
    }

    pub fn set_review_feedback(&mut self, feedback: &str) {
        self.set_field(field::REVIEW_FEEDBACK, feedback.into());
    }

    pub fn set_notes(&mut self, notes: &str) {
        self.set_field(field::NOTES, notes.into());
    }

    /// Approved by a review and passing; without reviews, passing alone.
    pub fn is_done(&self, skip_review: bool) -> bool {
        self.passes() && (skip_review || self.review_status() == Some(ReviewStatus::Approved))
    }
}

impl Serialize for Story {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}
