//! Any bytes, read as any dialect's output.
//!
//! The first byte says which dialect, which prompt, and how the rest is cut into reads. Nothing
//! may panic, the cut may change neither events nor record, and the record keeps its limits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_loop::dialect::{AgentEvent, Dialect, Exit, Listen, Seen, StreamReader, answer};
use std::borrow::Cow;
use std::fmt::Write;

const DIALECTS: [Dialect; 4] = [Dialect::Claude, Dialect::Codex, Dialect::Amp, Dialect::Plain];

fuzz_target!(|input: &[u8]| {
    let Some((&how, output)) = input.split_first() else { return };
    let dialect = DIALECTS[usize::from(how & 3)];
    let prompt = prompt(how >> 2 & 3, output);
    let whole = read(dialect, &prompt, [output]);
    let cut = read(dialect, &prompt, Reads { rest: output, how: u32::from(how >> 4) });
    assert_eq!(whole, cut, "{dialect:?}, prompt {prompt:?}");
    let seen = whole.1;
    for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(15)] {
        let _ = answer(dialect, exit, &seen);
    }
    assert!(seen.tag.is_none_or(|tag| tag.chars().count() <= 200));
    assert!(seen.error.is_none_or(|error| error.chars().count() <= 500));
});

/// What the agent was asked: a plain agent's echo of it is filtered.
fn prompt(kind: u8, output: &[u8]) -> Cow<'_, str> {
    match kind {
        0 => Cow::Borrowed(""),
        1 => Cow::Borrowed("Say <response>DONE</response>"),
        2 => Cow::Borrowed("Do it.\nSay <response>DONE</response>\nNow.\n\nGo.\n"),
        // Whatever it is, the output begins with it.
        _ => String::from_utf8_lossy(&output[..output.len() / 2]),
    }
}

fn read<'a>(dialect: Dialect, prompt: &str, reads: impl IntoIterator<Item = &'a [u8]>) -> (String, Seen) {
    let mut events = String::new();
    let mut sink = |event: AgentEvent<'_>| {
        let _ = writeln!(events, "{event:?}");
        if let AgentEvent::ToolStart { input, .. } = &event {
            events.push_str(&input.summary());
        }
    };
    let mut reader = StreamReader::new(dialect, prompt, Listen::Signals);
    for bytes in reads {
        reader.feed(bytes, &mut sink);
    }
    let seen = reader.finish(&mut sink);
    (events, seen)
}

/// The output in pieces: byte by byte for 0, else of lengths that only look random.
struct Reads<'a> {
    rest: &'a [u8],
    how: u32,
}

impl<'a> Iterator for Reads<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.how =
            self.how.wrapping_mul(1_664_525).wrapping_add(if self.how == 0 { 0 } else { 1_013_904_223 });
        // Mostly a few bytes, sometimes many, sometimes none, as a pipe would give them.
        let length = match self.how {
            0 => 1,
            random => (random >> 8) as usize % (1 << (random >> 29)),
        };
        let (read, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        Some(read)
    }
}
