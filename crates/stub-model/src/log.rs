//! What was asked and what it got.
//!
//! A request is in the log before its answer begins, so a test that sees it there knows that the
//! client is waiting for the model.

use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// One request.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// What it is answered with; 0 is no answer, a connection that is reset.
    pub status: u16,
    /// `anthropic` or `responses`; none where it was not the model that was asked.
    pub protocol: Option<&'static str>,
    /// Which run and step of the scenario answered.
    pub run: Option<usize>,
    pub step: usize,
    /// Housekeeping of the client.
    pub side: bool,
    pub session: Option<String>,
    pub model: String,
    pub stream: bool,
    /// Names of the tools that the client offers.
    pub tools: Vec<String>,
    /// The user's words that began the conversation.
    pub opening: String,
    /// The last words of the user or of a tool.
    pub last_user: String,
    /// All that was said since the model last spoke, also by the client itself.
    pub heard: String,
    pub assistant_turns: usize,
    /// What the model says, and the tools that it calls.
    pub said: String,
    pub called: Vec<String>,
    /// What went wrong, if it was not asked for.
    pub note: Option<String>,
}

#[derive(Default)]
pub(crate) struct Log {
    entries: Mutex<Vec<Seen>>,
    file: Option<Mutex<File>>,
}

impl Log {
    pub(crate) fn to_file(path: &Path) -> io::Result<Log> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Log { entries: Mutex::default(), file: Some(Mutex::new(file)) })
    }

    pub(crate) fn add(&self, seen: Seen) {
        if let Some(file) = &self.file
            && let Ok(line) = serde_json::to_string(&seen)
        {
            // If the log cannot be written, its readers notice; the model goes on.
            let _ = writeln!(file.lock().unwrap_or_else(PoisonError::into_inner), "{line}");
        }
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    }

    pub(crate) fn entries(&self) -> Vec<Seen> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
