//! What the readers of JSON lines have in common.
//!
//! Invariant: a line is either understood or reported as `Unparsed`; none is lost in silence, and
//! none is an error.
//!
//! Deliberately absent: what the lines mean. Each dialect has structures of its own.

use super::Sink;
use super::event::AgentEvent;
use super::lines::Line;
use super::loose::{Loose, Object, loose};
use super::stream_summary::StreamSummary;
use crate::text::clip;
use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess};
use std::borrow::Cow;

pub(super) const ERROR_CHARS: usize = 500;
const SAMPLE_CHARS: usize = 200;
/// Ids and kinds are short; a stream that says otherwise does not fill the journal.
const WORD_CHARS: usize = 100;

/// Hands a line's text to `read`, which says whether it could make sense of it.
pub(super) fn read_object(
    line: Line<'_>,
    seen: &mut StreamSummary,
    sink: Sink<'_>,
    mut read: impl FnMut(&str, &mut StreamSummary, Sink<'_>) -> bool,
) {
    let bytes = match line {
        Line::Whole(bytes) => bytes.trim_ascii(),
        Line::TooLong { bytes } => return unparsed(bytes, Cow::Borrowed(""), seen, sink),
    };
    if bytes.is_empty() {
        return;
    }
    // A structure could also be read from a list, so the first byte is asked. Checking the
    // text once as a whole is faster than at every string in it.
    if bytes.first() == Some(&b'{')
        && (str::from_utf8(bytes).is_ok_and(|text| read(text, seen, sink))
            || read(&repaired(bytes), seen, sink))
    {
        return;
    }
    // Four bytes a character: as many as the sample can take.
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SAMPLE_CHARS)]);
    unparsed(bytes.len() as u64, clip(&start, SAMPLE_CHARS), seen, sink);
}

fn unparsed(bytes: u64, sample: Cow<'_, str>, seen: &mut StreamSummary, sink: Sink<'_>) {
    count(&mut seen.unparsed);
    sink(AgentEvent::Unparsed { bytes, sample });
}

pub(super) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

pub(super) fn word(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| clip(text, WORD_CHARS).into_owned())
}

/// A tool's output: a string, or the texts of a list.
#[derive(Default)]
pub(super) struct Output<'a>(pub(super) Cow<'a, str>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct OutputPart<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "loose")]
    kind: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    text: Cow<'a, str>,
}

impl<'de: 'a, 'a> Object<'de> for OutputPart<'a> {}

/// What went wrong: a string, or an object with a `message`.
#[derive(Default)]
pub(super) struct ErrorText<'a>(pub(super) Cow<'a, str>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct ErrorObject<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    message: Cow<'a, str>,
}

impl<'de: 'a, 'a> Object<'de> for ErrorObject<'a> {}

impl<'de: 'a, 'a> Loose<'de> for ErrorText<'a> {
    fn string(text: Cow<'de, str>) -> ErrorText<'a> {
        ErrorText(text)
    }

    fn map<A: MapAccess<'de>>(map: A) -> Result<ErrorText<'a>, A::Error> {
        ErrorObject::map(map).map(|error| ErrorText(error.message))
    }
}

/// A tool's output followed by its error, unless the output has it already.
pub(super) fn with_error<'a>(output: Cow<'a, str>, error: &str) -> Cow<'a, str> {
    match (output.trim().is_empty(), error.trim()) {
        (_, "") => output,
        (true, error) => Cow::Owned(error.to_owned()),
        (false, error) if output.contains(error) => output,
        (false, error) => Cow::Owned(format!("{}\n{error}", output.trim_end())),
    }
}

impl<'de: 'a, 'a> Loose<'de> for Output<'a> {
    fn string(text: Cow<'de, str>) -> Output<'a> {
        Output(text)
    }

    fn seq<A: SeqAccess<'de>>(seq: A) -> Result<Output<'a>, A::Error> {
        let mut whole = Cow::Borrowed("");
        for part in Vec::<OutputPart<'a>>::seq(seq)? {
            let text = match &*part.kind {
                "image" => Cow::Borrowed("[image]"),
                _ => part.text,
            };
            if whole.is_empty() {
                whole = text;
            } else if !text.is_empty() {
                let whole = whole.to_mut();
                whole.push('\n');
                whole.push_str(&text);
            }
        }
        Ok(Output(whole))
    }
}

/// A line without what JSON's rules for text forbid: bytes that are not UTF-8, and halves of
/// surrogate pairs, which JavaScript prints when it has cut a text between them. Both become U+FFFD.
fn repaired(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut repaired = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        repaired.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match (utf16_escape(rest), rest.get(6..).and_then(utf16_escape)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                repaired.push('\u{FFFD}');
                rest = &rest[6..];
                continue;
            }
            // Past the escaped character too, lest `\\u` be taken for an escape.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        repaired.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    repaired.push_str(rest);
    repaired
}

/// The code unit of `\uXXXX` at the start of a text.
fn utf16_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}
