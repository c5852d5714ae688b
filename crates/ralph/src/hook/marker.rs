//! `.ralph-active`, the marker in the project that earlier hooks went by.
//!
//! It is read where ralph did not hand out an assignment. An agent can write it, so it is never
//! believed where there is one.

use crate::fsx;
use ralph_loop::review::DEFAULT_REVIEW_CAP;
use ralph_loop::task_list::{Json, Mode, Object, Story, TaskList, field};
use serde::Deserialize;
use std::io;
use std::path::Path;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Marker {
    pub(super) skip_review: bool,
    review_cap: Option<u32>,
    pub(super) iteration_mode: Option<Mode>,
    pre_iteration_snapshot: Option<Json>,
}

impl Marker {
    /// `None` if there is none.
    pub(super) fn read(path: &Path) -> io::Result<Option<Marker>> {
        match fsx::read_regular(path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }

    pub(super) fn review_cap(&self) -> u32 {
        self.review_cap.unwrap_or(DEFAULT_REVIEW_CAP)
    }

    /// A list of stories with nothing but their review fields.
    pub(super) fn snapshot(&self) -> Option<TaskList> {
        let Some(Json::Object(stories)) = &self.pre_iteration_snapshot else { return None };
        let mut list = TaskList::parse(r#"{"userStories": []}"#).ok()?;
        list.stories = stories.fields().map(|(id, fields)| story(id, fields)).collect();
        Some(list)
    }
}

fn story(id: &str, fields: &Json) -> Story {
    let mut story = Story::new(id, "", &[], 0);
    let none = Object::default();
    let fields = if let Json::Object(fields) = fields { fields } else { &none };
    for name in [field::PASSES, field::REVIEW_STATUS, field::REVIEW_COUNT] {
        if let Some(value) = fields.get(name) {
            story.set_field(name, value.clone());
        }
    }
    story
}
