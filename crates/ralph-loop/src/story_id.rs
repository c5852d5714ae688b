//! The number of a story: `8.3`, the third of epic 8.
//!
//! Numbers are compared as numbers, so 1.10 comes after 1.9. One story has one spelling:
//! `08.3` is none, since it would name the same story twice.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct StoryId {
    pub epic: u32,
    pub story: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a story id: `{0}` (expected EPIC.STORY, like 8.3)")]
pub struct NoStoryId(pub String);

impl FromStr for StoryId {
    type Err = NoStoryId;

    fn from_str(text: &str) -> Result<StoryId, NoStoryId> {
        let refused = || NoStoryId(text.chars().take(64).collect());
        let number = |digits: &str| {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            let padded = digits.len() > 1 && digits.starts_with('0');
            if plain && !padded { digits.parse::<u32>().map_err(|_| refused()) } else { Err(refused()) }
        };
        let (epic, story) = text.split_once('.').ok_or_else(refused)?;
        Ok(StoryId { epic: number(epic)?, story: number(story)? })
    }
}

impl TryFrom<String> for StoryId {
    type Error = NoStoryId;

    fn try_from(text: String) -> Result<StoryId, NoStoryId> {
        text.parse()
    }
}

impl From<StoryId> for String {
    fn from(id: StoryId) -> String {
        id.to_string()
    }
}

impl fmt::Display for StoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epic, self.story)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_two_plain_numbers() {
        for good in ["8.3", "0.1", "1.10", "12.0"] {
            assert_eq!(good.parse::<StoryId>().map(String::from).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "8",
            "8.",
            ".3",
            "08.3",
            "8.03",
            "8.3.1",
            "../x",
            "+8.3",
            "8 .3",
            "8.3 ",
            "a.b",
            "99999999999.1",
        ] {
            assert!(bad.parse::<StoryId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let id = |text: &str| text.parse::<StoryId>().unwrap();
        assert!(id("1.9") < id("1.10"));
        assert!(id("2.1") > id("1.10"));
    }
}
