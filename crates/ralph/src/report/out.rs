//! Standard output and standard error, buffered, and indifferent to a reader that left.
#![expect(clippy::disallowed_methods, reason = "this is where reports are printed")]

use super::style::{Style, fold, stderr_edge};
use crate::secrets;
use ralph_loop::text::{printable, printable_json, printable_or_painted};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

/// Standard output. Once its reader is gone, or the disk behind it is full, what is written
/// here goes nowhere: the work matters more than the report of it.
pub struct Out {
    buffer: Option<BufWriter<Stdout>>,
}

impl Out {
    pub fn stdout() -> Out {
        Out { buffer: Some(BufWriter::with_capacity(64 << 10, io::stdout())) }
    }

    pub fn line(&mut self, text: &str) {
        self.part(text);
        self.bytes(b"\n");
    }

    /// Something on a line that goes on, such as a question.
    pub fn part(&mut self, text: &str) {
        self.bytes(shown(text).as_bytes());
    }

    /// Lines for people, folded for a terminal.
    pub fn text(&mut self, text: &str) {
        // A secret that is folded is not found.
        self.line(&fold(&shown(text), Style::of_stdout().edge()));
    }

    /// A value as programs read it.
    pub fn json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.data(&text);
        }
    }

    /// The same on one line.
    pub fn json_line(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(value) {
            self.data(&text);
        }
    }

    /// Lines of JSON.
    pub fn data(&mut self, json: &str) {
        self.bytes(shown_json(json).as_bytes());
        self.bytes(b"\n");
    }

    /// What another program has written: as it is, or without control sequences on a terminal. A sequence that
    /// is cut by the end of a piece is no sequence any more.
    pub fn foreign(&mut self, bytes: &[u8]) {
        match rustix::stdio::stdout().is_terminal() {
            true => self.bytes(printable_or_painted(&String::from_utf8_lossy(bytes)).as_bytes()),
            false => self.bytes(bytes),
        }
    }

    /// Exactly this.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.buffer.as_mut().is_some_and(|buffer| buffer.write_all(bytes).is_err()) {
            self.leave();
        }
    }

    pub fn flush(&mut self) {
        if self.buffer.as_mut().is_some_and(|buffer| buffer.flush().is_err()) {
            self.leave();
        }
    }

    /// Prints at once.
    pub fn now(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.flush();
    }

    /// Whether there is still a reader, as far as is known.
    pub fn is_heard(&self) -> bool {
        self.buffer.is_some()
    }

    fn leave(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            // What is still buffered must not be tried again when it is dropped.
            drop(buffer.into_parts());
        }
    }
}

/// A text as it may be printed: without secrets, and without control sequences but for colors. What comes from
/// agents and files is cleaned of colors where it is put into a text; this is for what that has missed.
pub fn shown(text: &str) -> Cow<'_, str> {
    match secrets::mask(text) {
        Cow::Borrowed(text) => printable_or_painted(text),
        Cow::Owned(text) => Cow::Owned(printable_or_painted(&text).into_owned()),
    }
}

/// The same for JSON, which means the same afterwards.
pub(super) fn shown_json(json: &str) -> Cow<'_, str> {
    match secrets::mask(json) {
        Cow::Borrowed(json) => printable_json(json),
        Cow::Owned(json) => Cow::Owned(printable_json(&json).into_owned()),
    }
}

/// Lines on standard error, folded for a terminal. If even that is closed, the text is dropped.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", fold(&shown(text), stderr_edge()));
}

/// A panic, masked as far as that is possible in the middle of one.
pub fn say_panic(text: &str) {
    let masked = secrets::masker_in_panic().map(|masker| printable(&masker.mask(text)).into_owned());
    let text = masked.unwrap_or_else(|| "panicked".to_owned());
    let trace = std::backtrace::Backtrace::capture();
    let trace = match trace.status() {
        std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
        _ => String::new(),
    };
    let _ = writeln!(io::stderr().lock(), "ralph: internal error: {text}{trace}");
}

/// Control sequences for the terminal behind standard error. They take no room on it.
pub(super) fn signal_terminal(sequences: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(sequences.as_bytes()).and_then(|()| stderr.flush());
}
