//! The task list: `ralph/tasks.json`.
//!
//! A list is the file: whatever is in it, known or not, is kept and written back in its
//! order. [`Story`] reads the known fields and takes nothing for granted, because agents
//! write this file; [`TaskList::problems`] says what is wrong with it, [`pick()`] what to
//! work on next.
//!
//! Deliberately absent: what an agent may change. That is [`crate::review`].

mod added;
mod circles;
mod filled;
mod json;
mod pick;
mod places;
mod schema;
mod story;

pub use json::{Json, Object};
pub use pick::{Blocked, Estimate, Mode, Pick, Stuck, Why, dead_ends, pick};
pub use places::{Places, story_lines, story_places};
pub use schema::{Problem, TWICE};
pub use story::{ReviewStatus, Story};

pub(crate) use schema::{kind, malformed};

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// The names of the schema.
pub mod field {
    pub const PROJECT: &str = "project";
    pub const BRANCH_NAME: &str = "branchName";
    pub const DESCRIPTION: &str = "description";
    pub const VERIFY_COMMANDS: &str = "verifyCommands";
    pub const USER_STORIES: &str = "userStories";
    pub const ID: &str = "id";
    pub const TITLE: &str = "title";
    pub const ACCEPTANCE_CRITERIA: &str = "acceptanceCriteria";
    pub const PRIORITY: &str = "priority";
    pub const PASSES: &str = "passes";
    pub const REVIEW_STATUS: &str = "reviewStatus";
    pub const REVIEW_COUNT: &str = "reviewCount";
    pub const REVIEW_FEEDBACK: &str = "reviewFeedback";
    pub const NOTES: &str = "notes";
    pub const DEPENDS_ON: &str = "dependsOn";

    /// How many fields a story has; they come first.
    pub const OF_A_STORY: usize = 11;

    pub const ALL: [&str; 15] = [
        ID,
        TITLE,
        DESCRIPTION,
        ACCEPTANCE_CRITERIA,
        PRIORITY,
        PASSES,
        REVIEW_STATUS,
        REVIEW_COUNT,
        REVIEW_FEEDBACK,
        NOTES,
        DEPENDS_ON,
        PROJECT,
        BRANCH_NAME,
        VERIFY_COMMANDS,
        USER_STORIES,
    ];
}

#[derive(Clone, Debug, PartialEq)]
pub struct TaskList {
    /// All but the stories, for which there is a null in their place.
    fields: Object,
    pub stories: Vec<Story>,
}

/// Why there is no list to look at.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    #[error("the task list is missing")]
    Missing,
    /// The words of the parser, which end with line and column.
    #[error("the task list is not valid JSON: {0}")]
    Syntax(String),
    #[error("the task list must be an object with a list `userStories`")]
    NotAnObject,
    #[error("the task list has no `userStories`")]
    NoStories,
    #[error("`userStories` must be a list of objects, not {found}")]
    StoriesNotAList { found: String },
    #[error("every entry of `userStories` must be an object, but number {number} is {found}")]
    StoryNotAnObject { number: usize, found: String },
    /// It is there, but the disk or its owner does not give it.
    #[error("cannot read the task list: {0}")]
    Denied(String),
}

impl TaskList {
    /// Stories, and nothing beside them.
    pub fn of(stories: Vec<Story>) -> TaskList {
        TaskList { fields: [(field::USER_STORIES, Json::Null)].into_iter().collect(), stories }
    }

    /// A list of these fields, stories included.
    pub(crate) fn of_fields<'a>(
        fields: impl IntoIterator<Item = (&'a str, Json)>,
    ) -> Result<TaskList, Unreadable> {
        TaskList::from_json(Json::Object(fields.into_iter().collect()))
    }

    pub fn parse(text: &str) -> Result<TaskList, Unreadable> {
        let json: Json = serde_json::from_str(text).map_err(|why| Unreadable::Syntax(why.to_string()))?;
        TaskList::from_json(json)
    }

    /// The content of a file; no text but UTF-8 is JSON.
    pub fn parse_bytes(bytes: &[u8]) -> Result<TaskList, Unreadable> {
        TaskList::parse(text_of(bytes)?)
    }

    fn from_json(json: Json) -> Result<TaskList, Unreadable> {
        let Json::Object(mut fields) = json else { return Err(Unreadable::NotAnObject) };
        let entries = match fields.take_out(field::USER_STORIES) {
            Some(Json::Array(entries)) => entries,
            Some(other) => return Err(Unreadable::StoriesNotAList { found: kind(&other) }),
            None => return Err(Unreadable::NoStories),
        };
        let mut stories = Vec::with_capacity(entries.len());
        for entry in entries {
            match entry {
                Json::Object(fields) => stories.push(Story::from_fields(fields)),
                other => {
                    let number = stories.len() + 1;
                    return Err(Unreadable::StoryNotAnObject { number, found: kind(&other) });
                }
            }
        }
        Ok(TaskList { fields, stories })
    }

    /// As it is written: indented by two spaces, with a line end.
    pub fn to_text(&self) -> String {
        // Strings, numbers and lists of them cannot fail to be written.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn field(&self, name: &str) -> Option<&Json> {
        self.fields.get(name)
    }

    /// All but the stories, in the order of the file.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.fields.fields().filter(|(name, _)| *name != field::USER_STORIES)
    }

    /// Sets a field beside the stories.
    pub fn set_field(&mut self, name: &str, value: Json) {
        debug_assert_ne!(name, field::USER_STORIES);
        self.fields.set(name, value);
    }

    /// Makes a field what it is in another list, absence included.
    pub fn take_field(&mut self, other: &TaskList, name: &str) {
        self.fields.take_from(&other.fields, name);
    }

    pub fn project(&self) -> &str {
        self.text(field::PROJECT)
    }

    pub fn branch_name(&self) -> &str {
        self.text(field::BRANCH_NAME)
    }

    pub fn description(&self) -> &str {
        self.text(field::DESCRIPTION)
    }

    fn text(&self, name: &str) -> &str {
        self.field(name).and_then(Json::as_str).unwrap_or_default()
    }

    pub fn verify_commands(&self) -> Vec<&str> {
        self.field(field::VERIFY_COMMANDS).and_then(Json::as_strings).unwrap_or_default()
    }

    pub fn story(&self, id: &str) -> Option<&Story> {
        self.stories.iter().find(|story| story.id() == id)
    }

    pub fn story_mut(&mut self, id: &str) -> Option<&mut Story> {
        self.stories.iter_mut().find(|story| story.id() == id)
    }

    /// Everything that breaks the schema; empty if nothing does.
    pub fn problems(&self) -> Vec<Problem> {
        schema::problems(self)
    }

    /// Whether every story is done. A list without stories is not done but empty.
    pub fn is_complete(&self, skip_review: bool) -> bool {
        !self.stories.is_empty() && self.stories.iter().all(|story| story.is_done(skip_review))
    }

    pub fn unfinished(&self, skip_review: bool) -> impl Iterator<Item = &Story> {
        self.stories.iter().filter(move |story| !story.is_done(skip_review))
    }
}

/// Without the mark that some editors begin a file with.
fn text_of(bytes: &[u8]) -> Result<&str, Unreadable> {
    let text = str::from_utf8(bytes).map_err(|why| Unreadable::Syntax(why.to_string()))?;
    Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text))
}

impl Serialize for TaskList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.fields.fields() {
            match name {
                field::USER_STORIES => map.serialize_entry(name, &self.stories)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TaskList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TaskList, D::Error> {
        TaskList::from_json(Json::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
