//! The view of a run, kept beside its journal so that lists need not read journals.
//!
//! A projection: it counts only as long as the journal is exactly as long as it was when the view was
//! written. Whoever finds another length folds the journal.

use super::{JournalError, replay};
use crate::fsx;
use crate::layout::RunDir;
use ralph_loop::view::{Moments, RunView};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;

#[derive(Serialize, Deserialize)]
struct Written<'v> {
    /// Of the program: another one may see more, or less.
    version: Cow<'v, str>,
    /// The length of the journal.
    journal: u64,
    view: Cow<'v, RunView>,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn write(run_dir: &RunDir, journal: u64, view: &RunView) -> io::Result<()> {
    let written = Written { version: VERSION.into(), journal, view: Cow::Borrowed(view) };
    fsx::write_whole(&run_dir.view(), &serde_json::to_vec(&written)?)
}

/// A run as it is now, as its loop has written it or as its journal tells.
pub fn view(run_dir: &RunDir) -> Result<RunView, JournalError> {
    if let Some(view) = written(run_dir) {
        return Ok(view);
    }
    let mut moments = Moments::default();
    let replayed = replay(run_dir, |run, state, event| drop(moments.follow(run, state, event)))?;
    Ok(moments.view(&replayed.run, &replayed.state))
}

fn written(run_dir: &RunDir) -> Option<RunView> {
    let Written { version, journal, view } =
        serde_json::from_slice(&fsx::read_regular(&run_dir.view()).ok()?).ok()?;
    let length = run_dir.journal().metadata().ok()?.len();
    (version == VERSION && journal == length).then(|| view.into_owned())
}
