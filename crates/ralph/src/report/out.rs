//! Standard output and standard error, buffered, and indifferent to a reader that left.
#![expect(clippy::disallowed_methods, reason = "this is where reports are printed")]

use super::style::{Style, fold, stderr_edge};
use serde::Serialize;
use std::io::{self, BufWriter, Stdout, Write};

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
        self.bytes(text.as_bytes());
        self.bytes(b"\n");
    }

    /// Lines for people, folded for a terminal.
    pub fn text(&mut self, text: &str) {
        self.line(&fold(text, Style::of_stdout().edge()));
    }

    /// A value as programs read it.
    pub fn json(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string_pretty(value) {
            self.line(&text);
        }
    }

    /// The same on one line.
    pub fn json_line(&mut self, value: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(value) {
            self.line(&text);
        }
    }

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

/// Lines on standard error, folded for a terminal. If even that is closed, the text is dropped.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", fold(text, stderr_edge()));
}

/// Control sequences for the terminal behind standard error. They take no room on it.
pub(super) fn signal_terminal(sequences: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(sequences.as_bytes()).and_then(|()| stderr.flush());
}
