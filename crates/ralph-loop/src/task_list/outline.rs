//! Lists read for as much as a hook needs that finds nothing wrong, which is the usual case.
//!
//! Of the snapshot, ids and review fields tell whether an iteration did only what it may. Of the
//! list as it is, shapes tell whether it is in order: what a text says does not matter, only
//! whether there is one. What is found wrong is told from the whole lists.

use super::json::{Json, Keep, Object, Texts, object};
use super::{Story, TaskList, Unreadable, field};
use serde::Serialize;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// A task list whose texts are there or not, but for ids and states.
pub struct Shapes(pub TaskList);

impl Shapes {
    pub fn parse_bytes(bytes: &[u8]) -> Result<Shapes, Unreadable> {
        let broken = |why: serde_json::Error| Unreadable::Syntax(why.to_string());
        let mut json = serde_json::Deserializer::from_str(super::text_of(bytes)?);
        let list = Texts::Hinted.deserialize(&mut json).map_err(broken)?;
        json.end().map_err(broken)?;
        TaskList::from_json(list).map(Shapes)
    }
}

/// A task list of nothing but stories with `id`, `passes`, `reviewStatus` and `reviewCount`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outline(pub TaskList);

impl Outline {
    pub fn of(list: &TaskList) -> Outline {
        Outline(TaskList {
            fields: stories_only(),
            stories: list.stories.iter().map(Story::outline).collect(),
        })
    }
}

fn stories_only() -> Object {
    [(field::USER_STORIES, Json::Null)].into_iter().collect()
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outline, D::Error> {
        let stories = deserializer.deserialize_map(ListVisitor)?;
        let stories = stories.into_iter().map(|Sketch(story)| story).collect();
        Ok(Outline(TaskList { fields: stories_only(), stories }))
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

struct StoryVisitor;

impl<'de> Visitor<'de> for StoryVisitor {
    type Value = Sketch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a story")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sketch, A::Error> {
        object(map, Texts::Whole, Keep::Standing).map(|fields| Sketch(Story::from_fields(fields)))
    }
}
