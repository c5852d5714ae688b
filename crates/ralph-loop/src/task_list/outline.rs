//! A list read for where its stories stand, and for nothing else.
//!
//! Whether an iteration did only what it may is told by ids and review fields alone. A hook that
//! finds nothing wrong needs no more of the snapshot, and most of the time nothing is wrong.

use super::json::{Json, Object, object};
use super::{Story, TaskList, field};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// A task list whose stories have their id and review fields only.
pub struct Outline(pub TaskList);

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outline, D::Error> {
        let stories = deserializer.deserialize_map(ListVisitor)?;
        let mut fields = Object::default();
        fields.set(field::USER_STORIES, Json::Null);
        Ok(Outline(TaskList { fields, stories: stories.into_iter().map(|Sketch(story)| story).collect() }))
    }
}

struct Sketch(Story);

impl<'de> Deserialize<'de> for Sketch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sketch, D::Error> {
        deserializer.deserialize_map(StoryVisitor)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = Vec<Sketch>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a task list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Sketch>, A::Error> {
        let mut stories = None;
        while let Some(name) = map.next_key::<String>()? {
            match &*name {
                field::USER_STORIES => stories = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        stories.ok_or_else(|| A::Error::missing_field(field::USER_STORIES))
    }
}

const KEPT: [&str; 5] =
    [field::ID, field::PASSES, field::REVIEW_STATUS, field::REVIEW_COUNT, field::REVIEW_FEEDBACK];

struct StoryVisitor;

impl<'de> Visitor<'de> for StoryVisitor {
    type Value = Sketch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a story")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sketch, A::Error> {
        object(map, KEPT.len(), |name| KEPT.contains(&name)).map(|fields| Sketch(Story::from_fields(fields)))
    }
}
