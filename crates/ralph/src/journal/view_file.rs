//! The view of a run, kept beside its journal so that lists need not read journals.
//!
//! A projection: it counts only as long as the journal has the length and the time that it had when the
//! view was written. A reader that finds another one folds the journal. What the agent at work has done so far
//! is in the view and not in the journal: of a run whose processes are gone it does not count, as `ralph resume`
//! does not know it either.

use super::{JournalError, replay};
use crate::fsx;
use crate::layout::RunDir;
use crate::lock::RunLock;
use ralph_loop::view::{AgentNow, Moments, RunView};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

#[derive(Serialize, Deserialize)]
struct Written<'v> {
    /// Of the program: another one may see more, or less.
    version: Cow<'v, str>,
    journal: Stamp,
    view: Cow<'v, RunView>,
}

/// By which a journal that was written to since is known.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    fn of(journal: &Metadata) -> Stamp {
        Stamp { bytes: journal.len(), seconds: journal.mtime(), nanoseconds: journal.mtime_nsec() }
    }
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn write(run_dir: &RunDir, journal: &File, view: &RunView) -> io::Result<()> {
    let journal = Stamp::of(&journal.metadata()?);
    let written = Written { version: VERSION.into(), journal, view: Cow::Borrowed(view) };
    fsx::write_whole(&run_dir.view(), &serde_json::to_vec(&written)?)
}

/// A run as it is now, as its loop has written it or as its journal records it.
pub fn view(run_dir: &RunDir) -> Result<RunView, JournalError> {
    if let Some(view) = written(run_dir) {
        return Ok(view);
    }
    fold(run_dir)
}

/// The same, by the journal alone.
pub fn fold(run_dir: &RunDir) -> Result<RunView, JournalError> {
    let mut moments = Moments::default();
    let replayed = replay(run_dir, |run, state, event| drop(moments.follow(run, state, event)))?;
    Ok(moments.view(&replayed.run, &replayed.state))
}

/// A run as its loop has written it, if nothing was recorded since.
pub fn written(run_dir: &RunDir) -> Option<RunView> {
    let Written { version, journal, view } =
        serde_json::from_slice(&fsx::read_regular(&run_dir.view()).ok()?).ok()?;
    let is_current = version == VERSION && journal == Stamp::of(&run_dir.journal().metadata().ok()?);
    let counts = || view.agent_now == AgentNow::default() || RunLock::is_held(run_dir);
    (is_current && counts()).then(|| view.into_owned())
}
