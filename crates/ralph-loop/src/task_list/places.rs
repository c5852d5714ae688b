//! Where the stories are in the text of a list.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;

#[derive(Deserialize)]
struct Stories<'a> {
    #[serde(borrow, rename = "userStories")]
    stories: Vec<&'a RawValue>,
}

/// The bytes of each story, in the order of the text. None if the text is no list.
pub fn story_places(text: &str) -> Vec<Range<usize>> {
    let list = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let Ok(Stories { stories }) = serde_json::from_str(list) else { return Vec::new() };
    let place = |story: &RawValue| {
        let start = story.get().as_ptr().addr() - text.as_ptr().addr();
        start..start + story.get().len()
    };
    stories.into_iter().map(place).collect()
}

/// The line that each story begins in, from 1.
pub fn story_lines(text: &str) -> Vec<usize> {
    let (mut line, mut at) = (1, 0);
    let begins = |place: Range<usize>| {
        line += text[at..place.start].matches('\n').count();
        at = place.start;
        line
    };
    story_places(text).into_iter().map(begins).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_are_found_where_they_are() {
        let text = "\u{FEFF}{\"é\": [{}], \"userStories\": [\n  {\"id\": \"a\"} ,{\"id\": \"]}\"}\n]}\n";
        let found: Vec<&str> = story_places(text).into_iter().map(|place| &text[place]).collect();
        assert_eq!(found, ["{\"id\": \"a\"}", "{\"id\": \"]}\"}"]);
        for text in ["", "{}", "[]", "{\"userStories\": 1}", "{\"userStories\": [], \"userStories\": []}"] {
            assert!(story_places(text).is_empty(), "{text}");
        }
    }
}
