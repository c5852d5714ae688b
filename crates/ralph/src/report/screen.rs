//! Where reports for people go: standard output, with a status line below it on a terminal.
//!
//! Lines on standard error go through here as well, so that they never run into the status
//! line, and never overtake what was printed before them.

use super::out::{Out, say};
use super::status::StatusLine;
use jiff::Zoned;
use ralph_loop::{Run, State};

pub(super) struct Screen {
    out: Out,
    status: Option<StatusLine>,
    timestamps: bool,
}

impl Screen {
    pub(super) fn new(status: Option<StatusLine>, timestamps: bool) -> Screen {
        Screen { out: Out::stdout(), status, timestamps }
    }

    /// One line, or several; each with its time if that was asked for.
    pub(super) fn line(&mut self, text: &str) {
        if !self.timestamps {
            self.out.line(text);
            return;
        }
        let time = Zoned::now().strftime("[%H:%M:%S] ").to_string();
        for line in text.split('\n') {
            self.out.bytes(time.as_bytes());
            self.out.line(line);
        }
    }

    /// Lines on standard error.
    pub(super) fn aside(&mut self, text: &str) {
        self.flush();
        match &self.status {
            Some(status) => status.aside(|| say(text)),
            None => say(text),
        }
    }

    pub(super) fn flush(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let out = &mut self.out;
        match &self.status {
            Some(status) => status.aside(|| out.flush()),
            None => out.flush(),
        }
    }

    pub(super) fn has_status(&self) -> bool {
        self.status.is_some()
    }

    pub(super) fn show_status(&mut self, run: &Run, state: &State, up_ms: u64) {
        self.flush();
        if let Some(status) = &self.status {
            status.show(run, state, up_ms);
        }
    }

    /// The last lines are about to come: the status line is over.
    pub(super) fn clear_status(&mut self) {
        if let Some(status) = self.status.take() {
            status.clear();
        }
    }
}
