//! What a task list must look like.
//!
//! Fields that the schema does not ask for are not looked at, with exceptions that ralph itself
//! reads: `dependsOn` and `verifyCommands` are lists of strings, and `branchName` is a string, if
//! they exist.

use super::json::Json;
use super::{Story, TaskList, field};
use std::collections::HashSet;
use std::fmt;

/// Why the later one of two stories is wrong.
pub const TWICE: &str = "is used twice; ids must be unique";

/// Something in the list that breaks the schema: where, and why.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The story's id, or its number if it has none; nothing for the list itself.
    pub story: Option<String>,
    pub field: &'static str,
    pub why: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.story {
            Some(story) => write!(f, "Story {story}: {} {}", self.field, self.why),
            None => write!(f, "The task list: {} {}", self.field, self.why),
        }
    }
}

pub(super) fn problems(list: &TaskList) -> Vec<Problem> {
    let mut found: Vec<Problem> = Vec::new();
    for name in [field::PROJECT, field::DESCRIPTION] {
        if let Some(why) = unless(list.field(name), "must be a string", is_string) {
            found.push(Problem { story: None, field: name, why });
        }
    }
    let branch = list.field(field::BRANCH_NAME).filter(|branch| **branch != Json::Null);
    if let Some(why) = branch.and_then(|branch| unless(Some(branch), "must be a string", is_string)) {
        found.push(Problem { story: None, field: field::BRANCH_NAME, why });
    }
    if !is_well_formed_list(list.field(field::VERIFY_COMMANDS)) {
        let why = "must be a list of strings".to_owned();
        found.push(Problem { story: None, field: field::VERIFY_COMMANDS, why });
    }
    let mut ids = HashSet::with_capacity(list.stories.len());
    for (index, story) in list.stories.iter().enumerate() {
        let name = || match story.id() {
            "" => format!("number {}", index + 1),
            id => id.to_owned(),
        };
        let problem = |(field, why)| Problem { story: Some(name()), field, why };
        found.extend(malformed(story).map(problem));
        if !story.id().is_empty() && !ids.insert(story.id()) {
            found.push(problem((field::ID, TWICE.to_owned())));
        }
        if story.passes() && story.notes().trim().is_empty() {
            let why = "must not be empty if passes=true: say what was done".to_owned();
            found.push(problem((field::NOTES, why)));
        }
    }
    found
}

/// The fields of a story that do not have their shape, and why.
pub(crate) fn malformed(story: &Story) -> impl Iterator<Item = (&'static str, String)> {
    let required = RULES
        .iter()
        .filter_map(|(name, wanted, fits)| unless(story.field(name), wanted, fits).map(|why| (*name, why)));
    let depends_on = story.field(field::DEPENDS_ON);
    let why = (!is_well_formed_list(depends_on)).then(|| "must be a list of story ids".to_owned());
    required.chain(why.map(|why| (field::DEPENDS_ON, why)))
}

type Fits = fn(&Json) -> bool;

const RULES: [(&str, &str, Fits); 8] = [
    // It goes into facts, prompts and the environment of agents.
    (field::ID, "must be a string of 1 to 200 characters", |id| {
        id.as_str().is_some_and(|id| (1..=200).contains(&id.chars().count()))
    }),
    (field::TITLE, "must be a string", is_string),
    (field::PASSES, "must be true or false", |json| matches!(json, Json::Bool(_))),
    (field::PRIORITY, "must be a number", |json| matches!(json, Json::Number(_))),
    (
        field::ACCEPTANCE_CRITERIA,
        "must be a non-empty list",
        |json| matches!(json, Json::Array(items) if !items.is_empty()),
    ),
    (field::REVIEW_STATUS, "must be null, \"needs_review\", \"changes_requested\" or \"approved\"", |json| {
        match json {
            Json::Null => true,
            Json::String(word) => matches!(&**word, "needs_review" | "changes_requested" | "approved"),
            Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => false,
        }
    }),
    (
        field::REVIEW_COUNT,
        "must be a non-negative integer",
        |json| matches!(json, Json::Number(number) if number.is_u64()),
    ),
    (field::REVIEW_FEEDBACK, "must be a string", is_string),
];

fn is_string(json: &Json) -> bool {
    matches!(json, Json::String(_))
}

/// A list of strings, or none at all.
fn is_well_formed_list(json: Option<&Json>) -> bool {
    match json {
        None | Some(Json::Null) => true,
        Some(Json::Array(items)) => items.iter().all(is_string),
        Some(Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => false,
    }
}

fn unless(value: Option<&Json>, wanted: &str, fits: impl Fn(&Json) -> bool) -> Option<String> {
    match value {
        Some(value) if fits(value) => None,
        Some(value) => Some(format!("{wanted}, not {}", kind(value))),
        None => Some(format!("is missing; it {wanted}")),
    }
}

/// A value as an error shows it: itself if it is short, else what it is.
pub(crate) fn kind(value: &Json) -> String {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::String(text) if text.chars().count() <= 40 => value.to_string(),
        Json::String(_) => "a long text".to_owned(),
        Json::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}
