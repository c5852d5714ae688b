//! The YAML between the first two `---` lines of a spec.
//!
//! Only that is parsed, however long the spec is. What is missing or broken is a warning, since
//! a spec is a prompt first of all; a field of the wrong type is an error, since the user relies
//! on it.
//!
//! Deliberately absent: fields that ralph does not use. The agent reads those.

use super::node::Node;
use super::problem::{Place, SpecProblem};
use ralph_loop::story_id::StoryId;
use serde_saphyr::{Spanned, UserMessageFormatter};
use std::collections::BTreeMap;
use std::ops::Range;

/// Where the frontmatter of a spec is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The spec does not begin with `---`.
    Missing,
    /// It does, but no second `---` follows.
    Unclosed,
    /// The bytes between the two lines.
    At(Range<usize>),
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const FENCE: &[u8] = b"---";

pub fn find(spec: &[u8]) -> Block {
    let mut begin = if spec.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut block = None;
    for line in spec[begin..].split_inclusive(|byte| *byte == b'\n') {
        let fence = line.trim_ascii_end() == FENCE;
        match block {
            None if !fence => return Block::Missing,
            None => block = Some(begin + line.len()),
            Some(start) if fence => return Block::At(start..begin),
            Some(_) => {}
        }
        begin += line.len();
    }
    if block.is_some() { Block::Unclosed } else { Block::Missing }
}

/// What ralph acts on.
#[derive(Debug, Default, PartialEq)]
pub struct Frontmatter {
    pub title: Option<String>,
    pub status: Option<String>,
    pub depends_on: Vec<(StoryId, Place)>,
    pub problems: Vec<SpecProblem>,
}

pub fn read(spec: &[u8]) -> Frontmatter {
    let broken = |at, text: String, hint: &str| Frontmatter {
        problems: vec![SpecProblem::warning(at, text, hint)],
        ..Frontmatter::default()
    };
    match find(spec) {
        Block::Missing => broken(
            Place::START,
            "no frontmatter".to_string(),
            "start the file with `---`, fields such as `status: pending`, and another `---`",
        ),
        Block::Unclosed => broken(
            Place::START,
            "the frontmatter that starts here has no end".to_string(),
            "add a line `---` after its fields",
        ),
        Block::At(range) => {
            // Bytes that are no text are reported where the whole file is read.
            let yaml = String::from_utf8_lossy(&spec[range]);
            parse(&yaml).unwrap_or_else(|(at, why)| {
                let text = format!("ignoring the frontmatter, which is not valid YAML: {why}");
                broken(at, text, "fix it; until then the story has no title, status or dependencies")
            })
        }
    }
}

type Fields = BTreeMap<String, Spanned<Node>>;

fn parse(yaml: &str) -> Result<Frontmatter, (Place, String)> {
    // `status: yes` is a word, as YAML 1.2 has it.
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        // Far more than a person writes by hand.
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
    };
    let fields: Option<Fields> = serde_saphyr::from_str_with_options(yaml, options).map_err(|cause| {
        let at = cause.location().map_or(Place::START, |at| place(at.line(), at.column()));
        let why = cause.render_with_formatter(&UserMessageFormatter);
        // The parser counts lines from the beginning of the frontmatter.
        let why = why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why);
        (at, why.to_string())
    })?;
    Ok(understood(yaml, &fields.unwrap_or_default()))
}

/// In the lines of the file, whose first is the `---` above the frontmatter.
fn place(line: u64, column: u64) -> Place {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Place { line: number(line).saturating_add(1), column: number(column).max(1) }
}

fn understood(yaml: &str, fields: &Fields) -> Frontmatter {
    let mut read = Frontmatter::default();
    read.title = text_field("title", fields, &mut read.problems);
    read.status = text_field("status", fields, &mut read.problems);
    let Some(field) = fields.get("depends_on") else { return read };
    let items = match &field.value {
        Node::Nothing => &[][..],
        Node::List(items) => items,
        Node::Switch | Node::Number | Node::Text(_) | Node::Map => std::slice::from_ref(field),
    };
    for item in items {
        let at = place(item.referenced.line(), item.referenced.column());
        match dependency(yaml, item) {
            Ok(id) if read.depends_on.iter().any(|(known, _)| *known == id) => {}
            Ok(id) => read.depends_on.push((id, at)),
            Err(why) => read.problems.push(SpecProblem::error(
                at,
                format!("depends_on: {why}"),
                "write the ids of stories: depends_on: [\"7.4\", \"7.10\"]",
            )),
        }
    }
    read
}

fn text_field(name: &str, fields: &Fields, problems: &mut Vec<SpecProblem>) -> Option<String> {
    let field = fields.get(name)?;
    match &field.value {
        Node::Nothing => None,
        Node::Text(text) => Some(text.trim().to_string()).filter(|text| !text.is_empty()),
        Node::Switch | Node::Number | Node::List(_) | Node::Map => {
            let at = place(field.referenced.line(), field.referenced.column());
            let text = format!("{name}: expected text, found {}", field.value.kind());
            problems.push(SpecProblem::error(at, text, "put it in quotes if it is text"));
            None
        }
    }
}

fn dependency(yaml: &str, item: &Spanned<Node>) -> Result<StoryId, String> {
    let text = match &item.value {
        Node::Text(text) => text.trim(),
        Node::Number => number_as_written(yaml, item),
        Node::Nothing | Node::Switch | Node::List(_) | Node::Map => {
            return Err(format!("expected the id of a story, found {}", item.value.kind()));
        }
    };
    text.parse::<StoryId>().map_err(|cause| cause.to_string())
}

/// As a number, 7.10 would be 7.1: what counts is what the author wrote.
fn number_as_written<'y>(yaml: &'y str, item: &Spanned<Node>) -> &'y str {
    let span = item.defined.span();
    let written = || {
        let begin = usize::try_from(span.byte_offset()?).ok()?;
        let length = usize::try_from(span.byte_len()?).ok()?;
        yaml.get(begin..begin.checked_add(length)?)
    };
    written().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stories::problem::Severity;

    /// What a spec with this frontmatter says, line by line.
    #[track_caller]
    fn check(yaml: &str, expected: &str) {
        let spec = format!("---\n{yaml}---\n# A story\n");
        for spec in [spec.clone(), spec.replace('\n', "\r\n"), format!("\u{feff}{spec}")] {
            assert_eq!(shown(&read(spec.as_bytes())), expected, "{spec:?}");
        }
    }

    fn shown(read: &Frontmatter) -> String {
        let mut lines = Vec::new();
        lines.extend(read.title.iter().map(|title| format!("title {title}")));
        lines.extend(read.status.iter().map(|status| format!("status {status}")));
        let places = read.depends_on.iter().map(|(id, at)| format!("needs {id} {}:{}", at.line, at.column));
        lines.extend(places);
        for SpecProblem { severity, at, text, .. } in &read.problems {
            lines.push(format!("{}:{} {}: {text}", at.line, at.column, severity.word()));
        }
        lines.join("\n")
    }

    #[test]
    fn the_fields_are_read_and_others_left_alone() {
        check(
            "title: Log in\nstatus: pending\npriority: 1\nfrs: [FR-1, FR-2]\n",
            "title Log in\nstatus pending",
        );
        check("title: 'yes: quoted' # really\nstatus: |\n  done\n", "title yes: quoted\nstatus done");
        check("title:\nstatus: ~\ndepends_on:\n", "");
        check("", "");
        check("# nothing but a comment\n", "");
    }

    #[test]
    fn depends_on_7_10_is_the_tenth_story_and_not_the_first() {
        check("depends_on: [7.10]\n", "needs 7.10 2:14");
        check("depends_on: 7.10\n", "needs 7.10 2:13");
        check("depends_on:\n  - 7.1\n  - 7.10\n  - '7.10'\n", "needs 7.1 3:5\nneeds 7.10 4:5");
        check("é: é\nx: &x 7.10\ndepends_on: [*x]\n", "needs 7.10 4:14");
    }

    #[test]
    fn dependencies_are_a_list_of_ids_or_one_id() {
        check("depends_on: [\"7.4\", 8.1]\n", "needs 7.4 2:14\nneeds 8.1 2:21");
        check("depends_on: \"7.4\"\n", "needs 7.4 2:13");
        check("depends_on: []\n", "");
    }

    #[test]
    fn wrong_types_are_errors_with_line_and_column() {
        check("title: 2024\n", "2:8 error: title: expected text, found a number");
        check("a: 1\nstatus: true\n", "3:9 error: status: expected text, found true or false");
        check("status: [done]\n", "2:9 error: status: expected text, found a list");
        check("depends_on: {a: 1}\n", "2:13 error: depends_on: expected the id of a story, found a mapping");
        check(
            "depends_on: [1.1, ~]\n",
            "needs 1.1 2:14\n2:19 error: depends_on: expected the id of a story, found nothing",
        );
    }

    #[test]
    fn ids_like_these_are_errors() {
        for bad in ["../x", "8", "08.3", "8.3.1", "1e3", "+7.1", "-7.1", "7.1, 7.2"] {
            let quoted = format!("depends_on: [\"{bad}\"]\n");
            let why = format!("error: depends_on: not a story id: `{bad}` (expected EPIC.STORY, like 8.3)");
            check(&quoted, &format!("2:14 {why}"));
            if !bad.contains(',') {
                check(&format!("depends_on:\n- {bad}\n"), &format!("3:3 {why}"));
            }
        }
    }

    #[test]
    fn broken_frontmatter_is_a_warning_in_the_lines_of_the_file() {
        let broken = "ignoring the frontmatter, which is not valid YAML";
        check(
            "title: x\nstatus: [a\nb: 2\n",
            &format!("4:2 warning: {broken}: illegal placement of ':' indicator"),
        );
        check(
            "title: a: b\n",
            &format!("2:9 warning: {broken}: mapping values are not allowed in this context"),
        );
        check("a: 1\na: 2\n", &format!("3:1 warning: {broken}: duplicate mapping key: a not allowed here"));
        check("- a\n", &format!("2:1 warning: {broken}: expected mapping start"));
    }

    #[test]
    fn missing_and_endless_frontmatter_are_warnings() {
        for spec in ["", "# A story\n", "\n---\n---\n", "----\n", "--- x\n---\n"] {
            assert_eq!(shown(&read(spec.as_bytes())), "1:1 warning: no frontmatter", "{spec:?}");
        }
        for spec in ["---", "---\n", "---\nstatus: pending\n", "---\n ---\n"] {
            let expected = "1:1 warning: the frontmatter that starts here has no end";
            assert_eq!(shown(&read(spec.as_bytes())), expected, "{spec:?}");
        }
        assert_eq!(shown(&read(b"--- \t\nstatus: x\n---")), "status x");
    }

    #[test]
    fn nothing_behind_the_frontmatter_is_parsed() {
        let mut spec = b"---\nstatus: pending\n---\n".to_vec();
        spec.extend_from_slice(b"status: [{\xff\n---\n");
        let read = read(&spec);
        assert_eq!((read.status.as_deref(), &read.problems[..]), (Some("pending"), &[][..]));
    }

    #[test]
    fn a_bomb_of_aliases_is_broken_and_nothing_worse() {
        let mut yaml = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            yaml.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        let read = read(format!("{yaml}---\n").as_bytes());
        assert_eq!(read.problems.len(), 1);
        assert_eq!(read.problems[0].severity, Severity::Warning);
    }
}
