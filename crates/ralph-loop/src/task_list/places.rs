//! Where the stories and their fields are in the text of a list.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
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
    let lines = LineStarts::of(text);
    story_places(text).into_iter().map(|place| lines.of_byte(place.start)).collect()
}

/// The lines of values in the text of a list, from 1; `None` for what is not there.
pub struct Places<'t> {
    text: &'t str,
    lines: LineStarts,
    fields: HashMap<String, &'t RawValue>,
    stories: Vec<(&'t RawValue, HashMap<String, &'t RawValue>)>,
}

impl<'t> Places<'t> {
    pub fn of(text: &'t str) -> Places<'t> {
        let list = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let fields = fields(list);
        let stories = fields.get(super::field::USER_STORIES).map(|stories| elements(stories));
        let stories = stories.unwrap_or_default().into_iter().map(|story| (story, self::fields(story.get())));
        let stories = stories.collect();
        Places { text, lines: LineStarts::of(text), fields, stories }
    }

    /// A field beside the stories.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.get(name).map(|value| self.line(value))
    }

    /// An element of a list beside the stories; both count from 0.
    pub fn element(&self, name: &str, element: usize) -> Option<usize> {
        self.fields.get(name).and_then(|list| self.line_in(list, element))
    }

    pub fn story(&self, story: usize) -> Option<usize> {
        self.stories.get(story).map(|(value, _)| self.line(value))
    }

    pub fn story_field(&self, story: usize, name: &str) -> Option<usize> {
        self.stories.get(story)?.1.get(name).map(|value| self.line(value))
    }

    pub fn story_element(&self, story: usize, name: &str, element: usize) -> Option<usize> {
        self.stories.get(story)?.1.get(name).and_then(|list| self.line_in(list, element))
    }

    fn line_in(&self, list: &'t RawValue, element: usize) -> Option<usize> {
        elements(list).get(element).map(|value| self.line(value))
    }

    fn line(&self, value: &RawValue) -> usize {
        self.lines.of_byte(value.get().as_ptr().addr() - self.text.as_ptr().addr())
    }
}

fn fields(object: &str) -> HashMap<String, &RawValue> {
    serde_json::from_str(object).unwrap_or_default()
}

fn elements(list: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(list.get()).unwrap_or_default()
}

/// Where each line of a text begins.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> LineStarts {
        let after_newlines =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        LineStarts(std::iter::once(0).chain(after_newlines).collect())
    }

    fn of_byte(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_are_found_where_they_are() {
        let text = "\u{FEFF}{\"é\": [{}], \"userStories\": [\n  {\"id\": \"a\"} ,{\"id\": \"]}\"}\n]}\n";
        let found: Vec<&str> = story_places(text).into_iter().map(|place| &text[place]).collect();
        assert_eq!(found, ["{\"id\": \"a\"}", "{\"id\": \"]}\"}"]);
        assert_eq!(story_lines(text), [2, 2]);
        for text in ["", "{}", "[]", "{\"userStories\": 1}", "{\"userStories\": [], \"userStories\": []}"] {
            assert!(story_places(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn fields_and_their_elements_are_found_by_line() {
        let text = "\u{FEFF}{\"verifyCommands\": [\n\"a\",\n\"b\"],\n\"userStories\": [\n{\"id\": \"x\",\n\
                    \"d\\u0065scription\":\n\"two\\nlines\", \"acceptanceCriteria\": [\"c\",\n\"d\"]}]}";
        let places = Places::of(text);
        assert_eq!((places.field("verifyCommands"), places.field("other")), (Some(1), None));
        assert_eq!(
            (places.element("verifyCommands", 1), places.element("verifyCommands", 2)),
            (Some(3), None)
        );
        assert_eq!((places.story(0), places.story(1)), (Some(5), None));
        assert_eq!((places.story_field(0, "description"), places.story_field(0, "id")), (Some(7), Some(5)));
        let criteria = [0, 1, 2].map(|number| places.story_element(0, "acceptanceCriteria", number));
        assert_eq!(criteria, [Some(7), Some(8), None]);
        assert_eq!(Places::of("no list").story(0), None);
    }
}
