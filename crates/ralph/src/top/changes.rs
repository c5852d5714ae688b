//! What the chosen run has changed, loaded by a thread of its own: git may take a while.

use super::text::{Row, exact_rows};
use crate::layout::Home;
use crate::report::Tone;
use crate::run_history::RunHistory;
use std::io;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

/// Of which run, of which iteration, and how far the run was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub run: String,
    pub iteration: Option<u32>,
    /// Iterations that were over: with another one the answer may be another one.
    pub judged: u32,
    pub width: usize,
}

/// What is known of them.
#[derive(Debug, Default)]
pub struct Changes {
    asked: Option<Asked>,
    coming: Option<Receiver<Result<Vec<Row>, String>>>,
    /// Rows, or why there are none; nothing while they are loaded for the first time.
    pub known: Option<Result<Vec<Row>, String>>,
}

/// Bytes of a diff that are shown.
const MOST: usize = 512 << 10;

impl Changes {
    /// Loads them if this is something else than before.
    pub fn want(&mut self, home: &Home, asked: Asked) -> io::Result<()> {
        let is_same = |known: &Asked| known.run == asked.run && known.iteration == asked.iteration;
        if self.asked.as_ref() == Some(&asked)
            || (self.coming.is_some() && self.asked.as_ref().is_some_and(is_same))
        {
            return Ok(());
        }
        if !self.asked.as_ref().is_some_and(is_same) {
            self.known = None;
        }
        let (send, receive) = mpsc::channel();
        let (home, of) = (home.clone(), asked.clone());
        thread::Builder::new().name("changes".into()).spawn(move || send.send(load(&home, &of)))?;
        (self.asked, self.coming) = (Some(asked), Some(receive));
        Ok(())
    }

    /// Takes what was loaded; whether there is something new.
    pub fn receive(&mut self) -> bool {
        let received = self.coming.as_ref().map(Receiver::try_recv);
        match received {
            Some(Ok(known)) => (self.known, self.coming) = (Some(known), None),
            Some(Err(TryRecvError::Disconnected)) => self.coming = None,
            Some(Err(TryRecvError::Empty)) | None => return false,
        }
        true
    }

    pub fn is_loading(&self) -> bool {
        self.coming.is_some()
    }
}

fn load(home: &Home, asked: &Asked) -> Result<Vec<Row>, String> {
    let history = RunHistory::read(home, &asked.run).map_err(|cause| cause.to_string())?;
    let shadow = history.shadow().map_err(|cause| cause.to_string())?;
    let flags = ["--no-color", "--stat", "--patch"];
    let diff = history.diff(&shadow, asked.iteration, &flags, MOST).map_err(|cause| cause.to_string())?;
    let mut shown: Vec<Row> =
        String::from_utf8_lossy(&diff).lines().flat_map(|line| diff_rows(line, asked.width)).collect();
    if shown.is_empty() {
        shown.push(Row::toned(Tone::Quiet, "nothing has changed"));
    }
    if diff.len() >= MOST {
        shown.push(Row::toned(Tone::Warn, format!("too long to show: ralph diff {}", asked.run)));
    }
    Ok(shown)
}

fn diff_rows(line: &str, width: usize) -> Vec<Row> {
    let tone = match line.as_bytes() {
        [b'd', b'i', b'f', b'f', b' ', ..] => Some(Tone::Strong),
        [b'+', ..] => Some(Tone::Good),
        [b'-', ..] => Some(Tone::Bad),
        [b'@', b'@', ..] => Some(Tone::Quiet),
        _ => None,
    };
    let rows = exact_rows(line, width).into_iter();
    rows.map(|row| Row(vec![(tone, row.text())])).collect()
}
