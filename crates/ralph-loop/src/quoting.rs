//! What surrounds a plain agent's words: quote marks, numbering, code fences, JSON.
//!
//! [`bare`] takes the marks off a line, so that an echo is recognised however it is shown.
//! [`Surroundings`] follows an output line by line and says whether a line is the agent's own
//! statement. Invariant: both look at one line at a time and keep a few bytes between lines.
//!
//! Deliberately absent: quotes that span lines. They are found as echoes, or not at all.

use std::ops::Range;

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Own,
    /// In quotes, in a code fence, or a line of a file as tools show it.
    Quoted,
    /// Part of a JSON value.
    Json,
}

/// Signs that programs put before a line that they show.
const BEFORE: &[char] = &[
    '>', '|', '│', '┃', '▌', '└', '├', '╰', '╭', '┌', '─', '⎿', '"', '\'', '`', '“', '”', '„', '«', '»', '‹',
    '›', '❯', '-', '+', '*', '•', '●', '⏺', '#', '$',
];
/// The same for its end.
const AFTER: &[char] = &['|', '│', '┃', '┘', '╯', '┐', '╮', '"', '\'', '`', '“', '”', '«', '»', '‹', '›'];
/// The first character of a line that is shown, not said.
const QUOTES: &[char] = &['>', '|', '│', '┃', '▌', '└', '├', '╰', '⎿', '❯', '$', '\''];
/// What separates a line number from the line.
const GUTTERS: &[char] = &['|', '│', '┃', '→', ':', '\t'];

/// Where the text of a line is, without indentation, quote marks and numbering. A code fence is
/// text.
pub(crate) fn bare(line: &str) -> Range<usize> {
    // Most lines have nothing around their text.
    if let (Some(b'a'..=b'z' | b'A'..=b'Z' | b'<'), Some(b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'>')) =
        (line.as_bytes().first(), line.as_bytes().last())
    {
        return 0..line.len();
    }
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        if fence(rest).is_some() {
            break;
        }
        let less = rest.strip_prefix(BEFORE).unwrap_or_else(|| without_number(rest));
        if less.len() == rest.len() {
            break;
        }
        rest = less;
    }
    let from = line.len() - rest.len();
    let to = if fence(rest).is_some() {
        rest.trim_end().len()
    } else {
        rest.trim_end_matches(|c: char| c.is_whitespace() || AFTER.contains(&c)).len()
    };
    from..from + to
}

/// `1. x`, `1) x`, `12 | x`, `12→x`, `12 x`, or nothing but a number.
fn without_number(text: &str) -> &str {
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() == text.len() || after.is_empty() {
        return after;
    }
    let spaced = after.trim_start_matches(' ');
    if let Some(rest) = spaced.strip_prefix(['|', '│', '┃', '→']) {
        return rest;
    }
    let rest = after.strip_prefix(['.', ')', ':']).unwrap_or(after);
    if rest.is_empty() || rest.starts_with(char::is_whitespace) { rest } else { text }
}

/// Follows the lines of one output.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    fence: Option<Fence>,
    json: Json,
}

#[derive(Clone, Copy, Debug)]
struct Fence {
    mark: u8,
    length: usize,
}

impl Surroundings {
    /// How the next line is meant.
    pub(crate) fn follow(&mut self, line: &str) -> Manner {
        // Most lines have neither a tag nor a sign that begins anything.
        let bytes = line.as_bytes();
        if self.fence.is_none()
            && self.json.depth == 0
            && memchr::memchr3(b'<', b'`', b'~', bytes).is_none()
            && memchr::memchr2(b'{', b'[', bytes).is_none()
        {
            return Manner::Own;
        }
        let text = line.trim();
        match (self.fence, fence(text)) {
            (Some(open), Some(found)) => {
                let closes =
                    found.mark == open.mark && found.length >= open.length && found.length == text.len();
                self.fence = Some(open).filter(|_| !closes);
                Manner::Quoted
            }
            (Some(_), None) => Manner::Quoted,
            (None, Some(found)) => {
                self.fence = Some(found);
                Manner::Quoted
            }
            (None, None) if self.json.follow(text) => Manner::Json,
            (None, None) if is_quoted(text) => Manner::Quoted,
            (None, None) => Manner::Own,
        }
    }

    /// A line that could not be read.
    pub(crate) fn skip(&mut self) {
        self.json = Json::default();
    }
}

/// Three or more backticks or tildes, and what a fence may have after them.
fn fence(text: &str) -> Option<Fence> {
    let mark = *text.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = text.bytes().take_while(|byte| *byte == mark).count();
    let is_fence = length >= 3 && !(mark == b'`' && text[length..].contains('`'));
    is_fence.then_some(Fence { mark, length })
}

/// Whether a line is shown instead of said, by its beginning, or ends inside a quote.
fn is_quoted(text: &str) -> bool {
    // Behind the time stamp of a log.
    if let Some((stamp, rest)) = text.split_once(']')
        && stamp.strip_prefix('[').is_some_and(|stamp| stamp.starts_with(|c: char| c.is_ascii_digit()))
    {
        return is_quoted(rest.trim_start());
    }
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number.len() < text.len()
        && (number.starts_with('\t') || number.trim_start_matches(' ').starts_with(GUTTERS));
    let added = text.strip_prefix(['+', '-']).is_some_and(|rest| rest.starts_with('<'));
    // Only a line with a tag on it has to be read to its end.
    text.starts_with(QUOTES) || numbered || added || (text.contains('<') && ends_inside_quote(text))
}

/// Whether a quote is open at the end. A quote mark after a letter or digit opens none, and an
/// apostrophe before a space opens none either, nor does one before a letter or digit close any.
fn ends_inside_quote(text: &str) -> bool {
    let mut open = None;
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next().unwrap_or(' ');
        open = match (open, c) {
            (None, '"' | '`') if !before.is_alphanumeric() => Some(c),
            (None, '\'') if !before.is_alphanumeric() && !after.is_whitespace() => Some(c),
            (None, '“') => Some('”'),
            (None, '«') => Some('»'),
            (Some('\''), '\'') if after.is_alphanumeric() => open,
            (Some(close), c) if close == c => None,
            (open, _) => open,
        };
        before = c;
    }
    open.is_some()
}

/// Follows JSON values over lines: their braces, strings and signs, not their grammar.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Json {
    depth: u32,
}

impl Json {
    /// Whether the whole line belongs to a value. A line that does not ends the value.
    fn follow(&mut self, line: &str) -> bool {
        let line = line.trim();
        if self.depth == 0 && !line.starts_with(['{', '[']) {
            return false;
        }
        let depth = depth_after(self.depth, line.as_bytes());
        self.depth = depth.unwrap_or(0);
        depth.is_some()
    }
}

fn depth_after(mut depth: u32, line: &[u8]) -> Option<u32> {
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        at += 1;
        match byte {
            b' ' | b'\t' => {}
            b'{' | b'[' => depth = depth.saturating_add(1),
            _ if depth == 0 => return None,
            b'}' | b']' => depth -= 1,
            b'"' => at += string_len(&line[at..])?,
            b':' | b',' | b'-' | b'+' | b'.' | b'0'..=b'9' | b'e' | b'E' => {}
            _ => {
                let rest = &line[at - 1..];
                let word =
                    [&b"true"[..], b"false", b"null"].into_iter().find(|word| rest.starts_with(word))?;
                at += word.len() - 1;
            }
        }
    }
    Some(depth)
}

/// The length of a string after its opening quote, the closing one included.
fn string_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..])? + 1;
        if bytes[at - 1] == b'"' {
            return Some(at);
        }
        at += 1;
    }
}

/// Whether an output is JSON and nothing else.
#[derive(Debug, Default)]
pub(crate) enum JsonOnly {
    #[default]
    Nothing,
    Json(Json),
    Text,
}

impl JsonOnly {
    pub(crate) fn follow(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let mut json = match self {
            JsonOnly::Nothing => Json::default(),
            JsonOnly::Json(json) => *json,
            JsonOnly::Text => return,
        };
        *self = if json.follow(line) { JsonOnly::Json(json) } else { JsonOnly::Text };
    }

    pub(crate) fn is_json(&self) -> bool {
        matches!(self, JsonOnly::Json(_))
    }
}

/// The strings in a line of JSON, with their escapes read.
pub(crate) fn json_strings(line: &str) -> impl Iterator<Item = String> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let open = rest.find('"')? + 1;
        let length = string_len(&rest.as_bytes()[open..])?;
        let quoted = &rest[open - 1..open + length];
        rest = &rest[open + length..];
        Some(serde_json::from_str(quoted).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_numbers_and_indentation_are_no_part_of_a_line() {
        for line in [
            "Say it.",
            "  Say it.  ",
            "> Say it.",
            ">> > Say it.",
            "│ Say it.   │",
            "\"Say it.\"",
            "`Say it.`",
            "1. Say it.",
            "12) Say it.",
            " 12 | Say it.",
            "   12\tSay it.",
            "12→Say it.",
            "12: Say it.",
            "12 Say it.",
            "> 3. \"Say it.\"",
            "- Say it.",
            "# Say it.",
            "$ Say it.",
            "  └ Say it.",
            "├─ Say it.",
            "  ⎿  Say it.",
            "╰ Say it. ╯",
        ] {
            assert_eq!(&line[bare(line)], "Say it.", "{line:?}");
        }
        for (line, text) in [
            ("3.14 is pi", "3.14 is pi"),
            ("    12\t", ""),
            ("12", ""),
            ("> ", ""),
            ("│", ""),
            ("> ```rust", "```rust"),
            ("```", "```"),
            ("", ""),
            ("‹ü›", "ü"),
        ] {
            assert_eq!(&line[bare(line)], text, "{line:?}");
        }
    }

    #[track_caller]
    fn check(lines: &[(&str, Manner)]) {
        let mut surroundings = Surroundings::default();
        for (line, manner) in lines {
            assert_eq!(surroundings.follow(line), *manner, "{line:?} in {lines:?}");
        }
    }

    #[test]
    fn quotes_are_told_by_their_marks() {
        for own in [
            "Done. <x>",
            "  <x>",
            "1. <x>",
            "- <x>",
            "● <x>",
            "said \"yes\", so <x>",
            "`a` and `b`: <x>",
            "[12:01:02] <x>",
            "the 5\" disk works <x>",
            "don't <x>",
            "the tests' output is 'fine', so <x>",
            "it said 'don't', and I did <x>",
            "“a” <x>",
            "\"a\" <x>",
        ] {
            check(&[(own, Manner::Own)]);
        }
        for quoted in [
            "> <x>",
            "│ <x>",
            "  | <x>",
            "\"<x>",
            "say \"a <x>",
            "say `a <x>",
            "he said 'print <x>",
            "he said ('don't print <x>",
            "└ <x>",
            "  ├ <x>",
            "  ⎿  <x>",
            "╰ <x>",
            "$ <x>",
            "[12:01:02]   │ <x>",
            "“a <x>",
            " 12 | <x>",
            "12\t<x>",
            "12→<x>",
            "12: <x>",
            "+<x>",
        ] {
            check(&[(quoted, Manner::Quoted)]);
        }
    }

    #[test]
    fn a_fence_reaches_to_its_own_end() {
        use Manner::{Own, Quoted};
        check(&[("```sh", Quoted), ("<x>", Quoted), ("```", Quoted), ("<x>", Own)]);
        check(&[("````", Quoted), ("```", Quoted), ("~~~~", Quoted), ("````", Quoted), ("x", Own)]);
        check(&[("  ~~~", Quoted), ("{", Quoted), ("~~~ x", Quoted), ("  ~~~~ ", Quoted), ("x", Own)]);
        check(&[("```x``` <x>", Own), ("<x>", Own)]);
    }

    #[test]
    fn json_is_told_from_prose() {
        use Manner::{Json, Own};
        check(&[(r#"{"a":"<x>"}"#, Json), ("<x>", Own)]);
        check(&[("{", Json), (r#"  "a": ["<x>\"","#, Json), ("1e5, null]", Json), ("", Json), ("}", Json)]);
        check(&[("{", Json), ("<x>", Own), ("}", Own)]);
        check(&[(r#"{"a":1} {"b":2}"#, Json), (r#"{"a":1} <x>"#, Own), ("[DONE]", Own), ("[1, 2]", Json)]);
        check(&[("[tests]", Own), ("{false: release}", Own), ("[true,false,null, 1e5]", Json)]);
        check(&[(r#"{"torn":"<x>"#, Manner::Quoted), ("<x>", Own)]);
        check(&[(r#"{"a":"\\"}"#, Json), (r#"{"a":"\""}"#, Json), (r#"{"a":"\"#, Own)]);
    }

    #[test]
    fn an_output_of_json_alone_is_told_from_any_other() {
        let only = |text: &str| {
            let mut only = JsonOnly::default();
            text.lines().for_each(|line| only.follow(line));
            only.is_json()
        };
        assert!(only("{\"a\":1}\n\n{\"b\":[2]}\n"));
        assert!(only("{\n  \"a\": 1\n}\n"));
        assert!(!only(""));
        assert!(!only("\n\n"));
        assert!(!only("hello\n{\"a\":1}\n"));
        assert!(!only("{\"a\":1}\nbye\n"));
        assert!(!only("[tests]\n[results]\n"));
    }

    #[test]
    fn strings_are_read_out_of_json() {
        let strings: Vec<String> = json_strings(r#"{"a":"x\ny","b":["\u003cz\"",1]} "torn"#).collect();
        assert_eq!(strings, ["a", "x\ny", "b", "<z\""]);
    }
}
