//! Secrets in a stream of JSON lines that has a text in fragments.
//!
//! Claude prints what the model says while it says it: one line per fragment (`stream_event`), the whole text
//! later. A secret can be cut anywhere between two of them, with JSON in between. Here the fragments of a text
//! are masked as one text, and what is not certain yet is moved into the next line. All other lines, and
//! what is no line of JSON, are passed on as they come.

use super::{MaskedStream, Masker};
use memchr::memchr;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a line with a fragment begins.
const BEGINNING: &[u8] = b"{\"type\":\"stream_event\"";

/// A longer line is passed on: no fragment is so long.
const LONGEST_LINE: usize = 1 << 20;

/// Texts that are open at the same time, of an agent and its sub-agents.
const MOST_OPEN: usize = 64;

#[derive(Debug)]
pub struct Fragments {
    masker: Arc<Masker>,
    line: Line,
    /// The beginning of the line at hand, as long as it may be one with a fragment.
    held: Vec<u8>,
    open: BTreeMap<(String, u64), Open>,
    passed: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// It may be one with a fragment.
    Held,
    Passed,
}

/// A text that has begun.
#[derive(Debug)]
struct Open {
    stream: MaskedStream,
    /// Its last line, up to its text and after it.
    around: (Vec<u8>, Vec<u8>),
}

impl Fragments {
    pub fn new(masker: Arc<Masker>) -> Fragments {
        Fragments { masker, line: Line::Held, held: Vec::new(), open: BTreeMap::new(), passed: Vec::new() }
    }

    /// Takes the next piece of a stream; returns what can be passed on by now.
    pub fn feed<'b>(&'b mut self, piece: &'b [u8]) -> &'b [u8] {
        if self.masker.is_idle() {
            return piece;
        }
        self.passed.clear();
        let mut rest = piece;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest).map(|at| at + 1);
            let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
            match self.line {
                Line::Passed => self.passed.extend_from_slice(part),
                Line::Held => self.hold(part, end.is_some()),
            }
            if end.is_some() {
                self.line = Line::Held;
            }
            rest = after;
        }
        &self.passed
    }

    /// The stream has ended; returns the rest.
    pub fn finish(&mut self) -> &[u8] {
        self.passed.clear();
        self.close_all();
        // A torn line with a fragment may have the rest of a secret.
        if !self.held.starts_with(BEGINNING) {
            self.passed.extend_from_slice(&self.held);
        }
        self.held.clear();
        &self.passed
    }

    fn hold(&mut self, part: &[u8], is_whole: bool) {
        let known = part.len().min(BEGINNING.len());
        if self.held.is_empty() && part[..known] != BEGINNING[..known] {
            self.line = Line::Passed;
            return self.passed.extend_from_slice(part);
        }
        self.held.extend_from_slice(part);
        let known = self.held.len().min(BEGINNING.len());
        let may_be = self.held[..known] == BEGINNING[..known] && self.held.len() <= LONGEST_LINE;
        if may_be && !is_whole {
            return;
        }
        let line = std::mem::take(&mut self.held);
        match may_be && known == BEGINNING.len() {
            true => self.pass_event(&line),
            false => self.passed.extend_from_slice(&line),
        }
        self.line = Line::Passed;
        self.held = line;
        self.held.clear();
    }

    fn pass_event(&mut self, line: &[u8]) {
        let event = serde_json::from_slice::<Event<'_>>(line).ok();
        let Some(Event { event: Some(event), parent_tool_use_id: parent }) = event else {
            return self.passed.extend_from_slice(line);
        };
        let key = (parent.unwrap_or_default(), event.index.unwrap_or_default());
        match (event.delta.and_then(Delta::text), event.kind.as_deref()) {
            (Some((raw, text)), _) => self.pass_fragment(key, line, raw, &text),
            (None, Some("content_block_stop")) => {
                self.close(&key);
                self.passed.extend_from_slice(line);
            }
            (None, _) => self.passed.extend_from_slice(line),
        }
    }

    /// Passes on a line, with as much of the text as is certain in place of its own.
    fn pass_fragment(&mut self, key: (String, u64), line: &[u8], raw: &str, text: &str) {
        if self.open.len() >= MOST_OPEN && !self.open.contains_key(&key) {
            self.close_all();
        }
        let Some(at) = position(line, raw) else { return self.passed.extend_from_slice(line) };
        let new = || Open { stream: MaskedStream::new(Arc::clone(&self.masker)), around: Default::default() };
        let open = self.open.entry(key).or_insert_with(new);
        let certain = open.stream.feed(text.as_bytes());
        let (before, after) = (&line[..at], &line[at + raw.len()..]);
        if certain == text.as_bytes() {
            self.passed.extend_from_slice(line);
        } else {
            add_line(&mut self.passed, before, certain, after);
        }
        open.around.0.clear();
        open.around.0.extend_from_slice(before);
        open.around.1.clear();
        open.around.1.extend_from_slice(after);
    }

    /// The text is over: what was held back of it is in a line of its own.
    fn close(&mut self, key: &(String, u64)) {
        let Some(Open { mut stream, around: (before, after) }) = self.open.remove(key) else { return };
        let rest = stream.finish();
        if !rest.is_empty() {
            add_line(&mut self.passed, &before, rest, &after);
        }
    }

    fn close_all(&mut self) {
        let keys: Vec<_> = self.open.keys().cloned().collect();
        keys.iter().for_each(|key| self.close(key));
    }
}

fn add_line(to: &mut Vec<u8>, before: &[u8], text: &[u8], after: &[u8]) {
    to.extend_from_slice(before);
    let text = serde_json::to_vec(&String::from_utf8_lossy(text)).unwrap_or_else(|_| b"\"\"".to_vec());
    to.extend_from_slice(&text);
    to.extend_from_slice(after);
}

/// Where a part of a line is in it.
fn position(line: &[u8], part: &str) -> Option<usize> {
    let at = (part.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
    (line.get(at..at + part.len())? == part.as_bytes()).then_some(at)
}

#[derive(Deserialize)]
struct Event<'l> {
    #[serde(borrow)]
    event: Option<Inner<'l>>,
    parent_tool_use_id: Option<String>,
}

#[derive(Deserialize)]
struct Inner<'l> {
    #[serde(rename = "type")]
    kind: Option<String>,
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'l>>,
}

#[derive(Deserialize)]
struct Delta<'l> {
    #[serde(borrow)]
    text: Option<&'l RawValue>,
    #[serde(borrow)]
    thinking: Option<&'l RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'l RawValue>,
}

impl<'l> Delta<'l> {
    /// The text as it is in the line, and what it means.
    fn text(self) -> Option<(&'l str, String)> {
        let raw = self.text.or(self.thinking).or(self.partial_json)?.get();
        Some((raw, serde_json::from_str(raw).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Secret;
    use super::*;
    use serde_json::{Value, json};

    const TOKEN: &str = "tok-12345678";

    fn delta(index: u64, parent: Option<&str>, text: &str) -> String {
        let text = json!({"type": "text_delta", "text": text}).to_string();
        let parent = json!(parent);
        format!(
            "{{\"type\":\"stream_event\",\"event\":{{\"type\":\"content_block_delta\",\"index\":{index},\
             \"delta\":{text}}},\"parent_tool_use_id\":{parent}}}\n"
        )
    }

    fn stop(index: u64) -> String {
        format!(
            "{{\"type\":\"stream_event\",\"event\":{{\"type\":\"content_block_stop\",\"index\":{index}}}}}\n"
        )
    }

    /// What is passed on in pieces of this size.
    fn passed(lines: &str, size: usize) -> String {
        let masker = Masker::new(&[Secret { name: "TOKEN".into(), value: TOKEN.into() }]);
        let (mut fragments, mut all) = (Fragments::new(Arc::new(masker)), Vec::new());
        for piece in lines.as_bytes().chunks(size) {
            all.extend_from_slice(fragments.feed(piece));
        }
        all.extend_from_slice(fragments.finish());
        String::from_utf8(all).unwrap()
    }

    /// The text of a block, all fragments together.
    fn said(lines: &str, index: u64, parent: Option<&str>) -> String {
        let values = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let own = values
            .filter(|value| value["event"]["index"] == index && value["parent_tool_use_id"] == json!(parent));
        own.filter_map(|value| value["event"]["delta"]["text"].as_str().map(str::to_owned)).collect()
    }

    #[test]
    fn a_secret_in_fragments_is_masked_wherever_it_is_cut() {
        let text = format!("It is \"{TOKEN}\" and tok-");
        let cuts = text.char_indices().map(|(at, _)| at);
        for (one, two) in cuts.flat_map(|a| [a, a + 1, a + 5].map(|b| (a, b.min(text.len())))) {
            let lines = [&text[..one], &text[one..two], &text[two..]].map(|part| delta(0, None, part));
            let lines = format!("{{\"type\":\"system\"}}\n{}{}not JSON\n", lines.concat(), stop(0));
            for size in [1, 7, 64, 1 << 20] {
                let passed = passed(&lines, size);
                assert_eq!(said(&passed, 0, None), "It is \"***TOKEN***\" and tok-", "{one} {two}");
                assert!(!passed.contains(TOKEN) && passed.ends_with("not JSON\n"), "{passed}");
            }
        }
    }

    #[test]
    fn texts_that_are_open_at_the_same_time_are_not_mixed_up() {
        let lines = [
            delta(0, None, "a tok-1234"),
            delta(1, None, "b tok-12"),
            delta(0, Some("p"), "c 5678"),
            delta(1, None, "345678"),
            delta(0, None, "9"),
            stop(1),
            delta(0, Some("p"), " d"),
        ];
        let passed = passed(&lines.concat(), 50);
        assert_eq!(said(&passed, 0, None), "a tok-12349");
        assert_eq!(said(&passed, 1, None), "b ***TOKEN***");
        assert_eq!(said(&passed, 0, Some("p")), "c 5678 d");
    }

    #[test]
    fn everything_else_is_passed_on_as_it_comes() {
        let lines = format!(
            "{}{{\"type\":\"stream_event\"\n{{\"type\":\"stream_event\",\"event\":{{}}}}\n{{\"type\":\"result\"}}\nend",
            delta(0, None, "nothing of it, é \u{1f600}")
        );
        for size in [1, 3, 1000] {
            assert_eq!(passed(&lines, size), lines);
        }
        let torn = format!("{}{}", delta(0, None, "tok-"), &delta(0, None, "12345678")[..120]);
        assert!(!passed(&torn, 9).contains("1234"), "a torn line may have the rest of a secret");
        let mut fragments =
            Fragments::new(Arc::new(Masker::new(&[Secret { name: "T".into(), value: TOKEN.into() }])));
        assert_eq!(fragments.feed(b"{\"type\":\"stream_no"), b"{\"type\":\"stream_no", "no longer held");
        assert_eq!(fragments.feed(b"t"), b"t");
    }
}
