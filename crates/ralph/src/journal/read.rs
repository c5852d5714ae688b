//! Reading a journal back: for `show` as far as it can be understood, for `resume` exactly.

use crate::layout::RunDir;
use ralph_loop::event::{Event, Fact, VERSION};
use ralph_loop::state::Illegal;
use ralph_loop::{Run, State};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum JournalError {
    #[error("cannot read the journal: {path}")]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the journal is damaged at line {line}: {path}")]
    Damaged {
        path: PathBuf,
        line: u64,
        #[source]
        cause: serde_json::Error,
    },
    #[error(
        "the journal was written by a newer ralph (version {found}, this one supports {VERSION}): {path}"
    )]
    Newer { path: PathBuf, found: u32 },
    #[error("the journal is inconsistent at line {line}: {path}")]
    Illegal {
        path: PathBuf,
        line: u64,
        #[source]
        cause: Illegal,
    },
    #[error("the journal is empty: {path}")]
    Empty { path: PathBuf },
}

/// One line of a journal.
#[derive(Debug)]
pub enum Entry {
    Known(Box<Event>),
    /// Written by a newer version: it can be shown, not resumed.
    Newer {
        version: u32,
        line: String,
    },
}

/// Calls `each` for every whole line; returns the length up to the end of the last one.
pub fn read(
    run: &RunDir,
    mut each: impl FnMut(u64, Entry) -> Result<(), JournalError>,
) -> Result<u64, JournalError> {
    let path = run.journal();
    let unreadable = |cause| JournalError::Unreadable { path: path.clone(), cause };
    let mut lines = BufReader::with_capacity(256 << 10, File::open(&path).map_err(unreadable)?);
    let (mut whole, mut number, mut line) = (0, 0, Vec::new());
    loop {
        line.clear();
        let length = lines.read_until(b'\n', &mut line).map_err(unreadable)?;
        if length == 0 || line.last() != Some(&b'\n') {
            return Ok(whole);
        }
        number += 1;
        let entry = match parse(&line) {
            Ok(entry) => entry,
            // A power cut can leave the last line there in length only. One that is whole and
            // not understood is no torn line.
            Err(_) if is_torn(&line) && lines.fill_buf().map_err(unreadable)?.is_empty() => return Ok(whole),
            Err(cause) => return Err(JournalError::Damaged { path, line: number, cause }),
        };
        each(number, entry)?;
        whole += length as u64;
    }
}

/// The run as it was asked for, from the first line alone.
pub fn opened(run: &RunDir) -> Option<Run> {
    match parse(&first_line(run)?).ok()? {
        Entry::Known(event) => match event.fact {
            Fact::Opened(run) => Some(*run),
            _ => None,
        },
        Entry::Newer { .. } => None,
    }
}

/// Whether there is a whole line, whatever it says.
pub fn has_lines(run: &RunDir) -> bool {
    first_line(run).is_some()
}

fn first_line(run: &RunDir) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(File::open(run.journal()).ok()?).read_until(b'\n', &mut line).ok()?;
    line.ends_with(b"\n").then_some(line)
}

fn is_torn(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err()
}

fn parse(line: &[u8]) -> Result<Entry, serde_json::Error> {
    match serde_json::from_slice::<Event>(line) {
        Ok(event) if event.v <= VERSION => Ok(Entry::Known(Box::new(event))),
        other => {
            #[derive(serde::Deserialize)]
            struct Head {
                v: u32,
            }
            match (serde_json::from_slice::<Head>(line), other) {
                (Ok(Head { v }), _) if v > VERSION => Ok(Entry::Newer {
                    version: v,
                    line: String::from_utf8_lossy(line).trim_end().to_string(),
                }),
                (_, Err(cause)) => Err(cause),
                (Err(cause), Ok(_)) => Err(cause),
                (Ok(_), Ok(event)) => Ok(Entry::Known(Box::new(event))),
            }
        }
    }
}

/// A run as its journal tells it.
#[derive(Debug)]
pub struct Replayed {
    pub run: Run,
    pub state: State,
    /// Wall clock of the first and of the last event.
    pub opened_at: i64,
    pub last_at: i64,
    /// Where the next line goes.
    pub whole: u64,
}

/// Folds a journal; `also` sees every event after it was found legal.
pub fn replay(
    run_dir: &RunDir,
    mut also: impl FnMut(&Run, &State, &Event),
) -> Result<Replayed, JournalError> {
    let path = run_dir.journal();
    let mut folded: Option<Replayed> = None;
    let whole = read(run_dir, |line, entry| {
        let event = match entry {
            Entry::Known(event) => event,
            Entry::Newer { version, .. } => {
                return Err(JournalError::Newer { path: path.clone(), found: version });
            }
        };
        let illegal = |cause| JournalError::Illegal { path: path.clone(), line, cause };
        match &mut folded {
            None => {
                let state = State::open(&event).map_err(illegal)?;
                let Fact::Opened(run) = &event.fact else { return Err(illegal(Illegal::NotOpened)) };
                also(run, &state, &event);
                let run = Run::clone(run);
                folded = Some(Replayed { run, state, opened_at: event.at, last_at: event.at, whole: 0 });
            }
            Some(so_far) => {
                so_far.state.apply(&event).map_err(illegal)?;
                so_far.last_at = event.at;
                also(&so_far.run, &so_far.state, &event);
            }
        }
        Ok(())
    })?;
    let mut replayed = folded.ok_or(JournalError::Empty { path })?;
    replayed.whole = whole;
    Ok(replayed)
}
