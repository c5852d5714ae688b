//! Text that stands for a text: "TBD", "Story title", `<description>`.
//!
//! Deliberately absent: the lines of ralph's own templates. Who has the templates finds those.

use super::item::{Item, Placed};
use super::words::{normal, quoted};
use super::{Finding, Rule};

/// Normalized texts that are one as a whole.
const WHOLE: &[&str] = &[
    "acceptance criteria",
    "acceptance criterion",
    "as above",
    "criteria",
    "criterion",
    "description",
    "description here",
    "fill in",
    "fill me in",
    "fill this in",
    "fixme",
    "n/a",
    "none",
    "not defined yet",
    "placeholder",
    "same as above",
    "see above",
    "see prd",
    "see the prd",
    "story description",
    "story title",
    "tba",
    "tbd",
    "title",
    "title here",
    "to be added",
    "to be decided",
    "to be defined",
    "to be determined",
    "to be done",
    "to do",
    "todo",
    "untitled",
    "xxx",
    "your text here",
];

/// With a number after them.
const NUMBERED: &[&str] = &["acceptance criterion", "ac", "criterion", "story", "task", "title"];

pub(super) fn check(item: &Item) -> Vec<Finding> {
    let texts = [&item.title, &item.description].into_iter().chain(&item.criteria);
    let placeholder = |placed: &&Placed| !placed.text.trim().is_empty() && is_placeholder(&placed.text);
    let mut found: Vec<Finding> = texts
        .filter(placeholder)
        .map(|placed| {
            let what = format!("placeholder text: {}", quoted(&placed.text));
            item.fault(Rule::Placeholder, placed.line, what, "write what is meant")
        })
        .collect();
    if item.title.text.trim().is_empty() {
        let fix = "name in a few words what the story adds";
        found.push(item.fault(Rule::Placeholder, item.title.line, "no title", fix));
    }
    found
}

/// Whether a text says that it has yet to be written.
pub(super) fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let words = normal(text);
    let numbered = || {
        let (name, number) = words.rsplit_once(' ').unwrap_or_default();
        NUMBERED.contains(&name) && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    words.is_empty()
        || WHOLE.contains(&words.as_str())
        || numbered()
        || words.starts_with("lorem ipsum")
        || (words.starts_with("insert ") && words.ends_with(" here"))
        || is_marked(text)
        || is_enclosed(text)
}

/// `TODO: …`, `FIXME(later)`, `… TBD`. A list may well be about a to-do list.
fn is_marked(text: &str) -> bool {
    let marked =
        |mark: &str| text.strip_prefix(mark).is_some_and(|rest| rest.starts_with([':', '(', ' ', '-']));
    let todo = |mark: &str| text.strip_prefix(mark).is_some_and(|rest| rest.starts_with([':', '(']));
    let ends = text.trim_end_matches(['.', ')', ']']);
    marked("TBD")
        || marked("FIXME")
        || todo("TODO")
        || [" TBD", "(TBD", "[TBD", "(TODO", "[TODO"].iter().any(|mark| ends.ends_with(mark))
}

/// `<title>`, `[what it does]` and `{{ description }}`, as a whole.
fn is_enclosed(text: &str) -> bool {
    [("<", ">"), ("[", "]"), ("{{", "}}")].iter().any(|(open, close)| {
        let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.is_some_and(|inner| !inner.contains(open) && !inner.contains(close))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_stand_for_a_text_are_found() {
        for text in [
            "TODO",
            "todo",
            "TBD.",
            "...",
            "…",
            "???",
            "TODO: write this",
            "FIXME later",
            "Limit is TBD",
            "The limit (TBD)",
            "Lorem ipsum dolor sit amet",
            "Criterion 1",
            "Acceptance criterion 2",
            "Story title",
            "<title>",
            "[What the user can do]",
            "{{ description }}",
            "Insert description here",
            "n/a",
            "Same as above",
        ] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in [
            "TODO items can be marked as done",
            "Todo list",
            "Add a to-do",
            "The title is shown",
            "None of them is lost",
            "The template `{{ name }}` is filled in",
            "{{a}} and {{b}} are filled in",
            "A price of \"TBD\"",
            "<b> and <i> are kept",
            "[x] ticks it, [ ] does not",
            "Task 1 is shown first",
        ] {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
