//! Lines that ralph itself adds to an agent's stream.
//!
//! An agent in a terminal is heard by `interactive`, which reports in the format that the same agent prints when
//! it is headless. These lines say what a headless agent has no words for. Both ends are here, so that what is
//! written is what is read.

use super::Sink;
use super::event::AgentEvent;
use super::json::count;
use super::stream_summary::{StreamSummary, Tokens};
use crate::money::Usd;
use crate::text::clip;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How each of them begins. No agent prints it: what an agent says is inside of other objects.
const START: &str = r#"{"type":"ralph","#;

/// Characters of what a person is waited for that go into the journal.
const TEXT_CHARS: usize = 500;

/// Why an agent waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedsPerson {
    /// It has not shown that it is ready; a dialog may be open.
    NotReady,
    /// It may not run a tool without leave.
    Permission,
    /// It has asked a question.
    Question,
    /// A person has interrupted it.
    Interrupted,
    /// It has nothing to do.
    Idle,
}

impl NeedsPerson {
    pub fn word(self) -> &'static str {
        match self {
            NeedsPerson::NotReady => "not_ready",
            NeedsPerson::Permission => "permission",
            NeedsPerson::Question => "question",
            NeedsPerson::Interrupted => "interrupted",
            NeedsPerson::Idle => "idle",
        }
    }

    /// For people.
    pub fn phrase(self) -> &'static str {
        match self {
            NeedsPerson::NotReady => "not ready",
            NeedsPerson::Permission => "permission",
            NeedsPerson::Question => "question",
            NeedsPerson::Interrupted => "interrupted",
            NeedsPerson::Idle => "idle",
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OwnLine<'a> {
    Waiting { why: NeedsPerson, text: Cow<'a, str> },
    Working,
    Typed { text: Cow<'a, str> },
    Received { bytes: u64, whole: bool },
    Cost(Usd),
    Used(Tokens),
    Notice { text: Cow<'a, str> },
}

/// As it is written; the first field that is there says which line it is.
#[derive(Default, Serialize, Deserialize)]
struct Written<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waiting: Option<NeedsPerson>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    working: Option<bool>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    typed: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    received: Option<Received>,
    /// Dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<Tokens>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    notice: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Received {
    bytes: u64,
    whole: bool,
}

impl<'a> OwnLine<'a> {
    /// Whether a line of a stream is one of these.
    pub(super) fn begins(line: &[u8]) -> bool {
        line.starts_with(START.as_bytes())
    }

    pub(super) fn read(line: &'a str) -> Option<OwnLine<'a>> {
        let Written { kind: _, waiting, text, working, typed, received, cost, used, notice } =
            serde_json::from_str(line).ok()?;
        match (waiting, working, typed, received) {
            (Some(why), ..) => return Some(OwnLine::Waiting { why, text: text.unwrap_or_default() }),
            (_, Some(true), ..) => return Some(OwnLine::Working),
            (_, _, Some(text), _) => return Some(OwnLine::Typed { text }),
            (_, _, _, Some(Received { bytes, whole })) => return Some(OwnLine::Received { bytes, whole }),
            _ => {}
        }
        let cost = cost.map(|dollars| OwnLine::Cost(Usd::from_dollars(dollars)));
        cost.or(used.map(OwnLine::Used)).or(notice.map(|text| OwnLine::Notice { text }))
    }

    /// The line as text, without a newline.
    pub(crate) fn write(self) -> String {
        let empty = Written { kind: Cow::Borrowed("ralph"), ..Written::default() };
        let written = match self {
            OwnLine::Waiting { why, text } => Written { waiting: Some(why), text: Some(text), ..empty },
            OwnLine::Working => Written { working: Some(true), ..empty },
            OwnLine::Typed { text } => Written { typed: Some(text), ..empty },
            OwnLine::Received { bytes, whole } => {
                Written { received: Some(Received { bytes, whole }), ..empty }
            }
            OwnLine::Cost(usd) => Written { cost: Some(usd.dollars()), ..empty },
            OwnLine::Used(tokens) => Written { used: Some(tokens), ..empty },
            OwnLine::Notice { text } => Written { notice: Some(text), ..empty },
        };
        // A structure of texts and numbers can always be written.
        serde_json::to_string(&written).unwrap_or_default()
    }
}

/// What an agent in a terminal waits for a person to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// Nothing where the journal does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<NeedsPerson>,
    pub text: String,
}

/// What an agent in a terminal waits for, as its stream has said so far.
#[derive(Debug, Default)]
pub(super) struct Person {
    pub(super) awaited: Option<Awaited>,
    /// Lines of ralph's own count, whatever the dialect.
    pub(super) is_heard: bool,
}

impl Person {
    /// Takes a line of the stream if it is one of ralph's own.
    pub(super) fn takes(&mut self, line: &[u8], seen: &mut StreamSummary, sink: Sink<'_>) -> bool {
        if !OwnLine::begins(line) {
            return false;
        }
        let text = String::from_utf8_lossy(line);
        match OwnLine::read(&text) {
            Some(line) => self.hear(line, seen, sink),
            None => count(&mut seen.other),
        }
        true
    }

    fn hear(&mut self, line: OwnLine<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        match line {
            OwnLine::Waiting { why, text } => {
                let clipped = clip(&text, TEXT_CHARS).into_owned();
                self.awaited = Some(Awaited { why: Some(why), text: clipped });
                sink(AgentEvent::Waiting { why, text });
            }
            OwnLine::Working => {
                self.awaited = None;
                sink(AgentEvent::Working);
            }
            OwnLine::Typed { text } => sink(AgentEvent::Typed { text }),
            OwnLine::Received { bytes, whole } => sink(AgentEvent::Received { bytes, whole }),
            OwnLine::Cost(usd) => {
                seen.cost = Some(usd);
                sink(AgentEvent::Cost(usd));
            }
            OwnLine::Used(tokens) => sink(AgentEvent::Usage(tokens)),
            OwnLine::Notice { text } => sink(AgentEvent::Notice { text }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let tokens = Tokens { input: 3, output: 4, ..Tokens::default() };
        for (line, written) in [
            (
                OwnLine::Waiting { why: NeedsPerson::NotReady, text: "look at \"it\"".into() },
                r#"{"type":"ralph","waiting":"not_ready","text":"look at \"it\""}"#,
            ),
            (OwnLine::Working, r#"{"type":"ralph","working":true}"#),
            (OwnLine::Typed { text: "a\nb".into() }, r#"{"type":"ralph","typed":"a\nb"}"#),
            (
                OwnLine::Received { bytes: 7, whole: false },
                r#"{"type":"ralph","received":{"bytes":7,"whole":false}}"#,
            ),
            (OwnLine::Cost(Usd::from_dollars(0.25)), r#"{"type":"ralph","cost":0.25}"#),
            (OwnLine::Used(tokens), r#"{"type":"ralph","used":{"input":3,"output":4}}"#),
            (OwnLine::Notice { text: "full".into() }, r#"{"type":"ralph","notice":"full"}"#),
        ] {
            assert!(OwnLine::begins(written.as_bytes()));
            assert_eq!(OwnLine::read(written).as_ref(), Some(&line));
            assert_eq!(line.write(), written);
        }
        assert_eq!(OwnLine::read(r#"{"type":"ralph","later":1}"#), None);
        assert!(!OwnLine::begins(br#"{"type":"assistant","text":"{\"type\":\"ralph\",\"working\":true}"}"#));
    }
}
