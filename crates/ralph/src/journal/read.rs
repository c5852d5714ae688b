//! Reading a journal back: for `show` as far as it can be understood, for `resume` exactly.

use crate::layout::RunDir;
use ralph_loop::event::{Event, Fact, VERSION};
use ralph_loop::secrets::plain_marks;
use ralph_loop::state::Illegal;
use ralph_loop::{Run, State};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
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

impl JournalError {
    pub fn of_run(self, run: &str) -> UnreadableRun {
        UnreadableRun { run: run.to_string(), cause: self }
    }
}

/// A run whose journal cannot be replayed. It reads as the journal's own error; the name is for
/// those who can do something about the run.
#[derive(Debug)]
pub struct UnreadableRun {
    pub run: String,
    pub cause: JournalError,
}

impl fmt::Display for UnreadableRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for UnreadableRun {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
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

/// Reads a journal line by line, also one that is still written: what is whole later is read later.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    run: String,
    lines: BufReader<File>,
    /// The length up to the end of the last whole line, and how many there were.
    whole: u64,
    number: u64,
}

impl Reader {
    pub fn open(run: &RunDir) -> Result<Reader, JournalError> {
        let path = run.journal();
        let file =
            File::open(&path).map_err(|cause| JournalError::Unreadable { path: path.clone(), cause })?;
        let lines = BufReader::with_capacity(256 << 10, file);
        Ok(Reader { path, run: run.id(), lines, whole: 0, number: 0 })
    }

    /// The next whole line and its number, if it is there.
    pub fn next(&mut self) -> Result<Option<(u64, Entry)>, JournalError> {
        let (mut line, number) = (Vec::new(), self.number + 1);
        let length = self.lines.read_until(b'\n', &mut line).map_err(|cause| self.unreadable(cause))?;
        if line.last() != Some(&b'\n') {
            return self.not_yet();
        }
        let entry = match parse_shown(&line, &self.run, number) {
            Ok(entry) => entry,
            // A power cut can leave the last line there in length only. One that is whole and
            // not understood is no torn line.
            Err(_) if is_torn(&line) && self.is_at_end()? => return self.not_yet(),
            Err(cause) => return Err(JournalError::Damaged { path: self.path.clone(), line: number, cause }),
        };
        (self.whole, self.number) = (self.whole + length as u64, number);
        Ok(Some((number, entry)))
    }

    /// What comes after the last whole line is read again the next time: it may be cut off and replaced.
    fn not_yet(&mut self) -> Result<Option<(u64, Entry)>, JournalError> {
        self.lines.seek(SeekFrom::Start(self.whole)).map_err(|cause| self.unreadable(cause))?;
        Ok(None)
    }

    fn is_at_end(&mut self) -> Result<bool, JournalError> {
        match self.lines.fill_buf().map(<[u8]>::is_empty) {
            Ok(is_empty) => Ok(is_empty),
            Err(cause) => Err(self.unreadable(cause)),
        }
    }

    fn unreadable(&self, cause: io::Error) -> JournalError {
        JournalError::Unreadable { path: self.path.clone(), cause }
    }
}

/// The run as it was asked for, from the first line alone, for people.
pub fn opened(run: &RunDir) -> Option<Run> {
    run_in(parse_shown(&first_line(run)?, &run.id(), 1).ok()?)
}

/// The same with the marks that its secrets can be put back from.
pub fn sealed(run: &RunDir) -> Option<Run> {
    run_in(parse(&first_line(run)?).ok()?)
}

fn run_in(entry: Entry) -> Option<Run> {
    match entry {
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

/// Only the first line has sealed marks.
fn parse_shown(line: &[u8], run: &str, number: u64) -> Result<Entry, serde_json::Error> {
    match std::str::from_utf8(line) {
        Ok(text) if number == 1 => parse(plain_marks(text, run).as_bytes()),
        Ok(_) | Err(_) => parse(line),
    }
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

/// A run as its journal records it.
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

impl Replayed {
    /// What a journal's first event opens.
    fn open(event: &Event) -> Result<Replayed, Illegal> {
        let state = State::open(event)?;
        let Fact::Opened(run) = &event.fact else { return Err(Illegal::NotOpened) };
        let run = Run::clone(run);
        Ok(Replayed { run, state, opened_at: event.at, last_at: event.at, whole: 0 })
    }

    fn apply(&mut self, event: &Event) -> Result<(), Illegal> {
        self.state.apply(event)?;
        self.last_at = event.at;
        Ok(())
    }
}

/// Folds a journal, as far as it is written, and can go on once there is more of it.
#[derive(Debug)]
pub struct Fold {
    reader: Reader,
    folded: Option<Replayed>,
}

impl Fold {
    pub fn open(run_dir: &RunDir) -> Result<Fold, JournalError> {
        Ok(Fold { reader: Reader::open(run_dir)?, folded: None })
    }

    /// The next event, if it is there, and the run and its state after it.
    pub fn next(&mut self) -> Result<Option<(&Run, &State, Event)>, JournalError> {
        let Some((line, entry)) = self.reader.next()? else { return Ok(None) };
        let path = || self.reader.path.clone();
        let event = match entry {
            Entry::Known(event) => *event,
            Entry::Newer { version, .. } => return Err(JournalError::Newer { path: path(), found: version }),
        };
        let illegal = |cause| JournalError::Illegal { path: path(), line, cause };
        let folded = match self.folded.take() {
            None => Replayed::open(&event).map_err(illegal)?,
            Some(mut folded) => {
                folded.apply(&event).map_err(illegal)?;
                folded
            }
        };
        let Replayed { run, state, .. } = self.folded.insert(folded);
        Ok(Some((run, state, event)))
    }
}

impl Fold {
    /// The run and its state after what was read.
    pub fn now(&self) -> Option<(&Run, &State)> {
        let folded = self.folded.as_ref()?;
        Some((&folded.run, &folded.state))
    }
}

/// Folds a journal; `also` sees every event after it was found legal.
pub fn replay(
    run_dir: &RunDir,
    mut also: impl FnMut(&Run, &State, &Event),
) -> Result<Replayed, JournalError> {
    let mut fold = Fold::open(run_dir)?;
    while let Some((run, state, event)) = fold.next()? {
        also(run, state, &event);
    }
    let Fold { reader, folded } = fold;
    let replayed = folded.ok_or(JournalError::Empty { path: reader.path })?;
    Ok(Replayed { whole: reader.whole, ..replayed })
}
