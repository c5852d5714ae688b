//! Runs that cannot be found, read or compared.

use crate::catalog::CatalogError;
use crate::error::{CliError, Code};
use crate::journal::{JournalError, UnreadableRun};
use crate::run_history::HistoryError;
use crate::similar;
use crate::target::TargetError;
use std::io;

/// Where all runs are listed.
pub const ALL_RUNS: &str = "`ralph runs` lists all runs";

impl From<&CatalogError> for CliError {
    fn from(error: &CatalogError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match error {
            CatalogError::NoRunHere(_) => failed.hint(ALL_RUNS),
            CatalogError::Unknown { nearest, .. } => {
                let all = "`ralph runs` lists runs, `ralph ls` lists workers";
                failed.hint(similar::hint(nearest.as_deref(), all))
            }
            CatalogError::Worker(error) => error.into(),
            // What git says is enough; its own cause would only repeat it.
            CatalogError::CannotForgetAttempts { cause, .. } => failed.cause(cause),
            CatalogError::CannotList(_)
            | CatalogError::Ambiguous { .. }
            | CatalogError::CannotRemoveRecord { .. } => failed,
        }
    }
}

impl From<&UnreadableRun> for CliError {
    fn from(error: &UnreadableRun) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match &error.cause {
            JournalError::Newer { .. } => failed.hint("update ralph"),
            JournalError::Unreadable { cause, .. } if cause.kind() != io::ErrorKind::NotFound => failed,
            JournalError::Unreadable { .. }
            | JournalError::Empty { .. }
            | JournalError::Damaged { .. }
            | JournalError::Illegal { .. } => failed.hint(format!(
                "it cannot be resumed, but its files are untouched: start a new run, and remove this one with: ralph clean {} --force",
                error.run
            )),
        }
    }
}

impl From<&HistoryError> for CliError {
    fn from(error: &HistoryError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match error {
            HistoryError::Unreadable(error) => error.into(),
            HistoryError::Place(error) => error.into(),
            HistoryError::NoCheckpoints { .. } => failed,
            HistoryError::DirectoryGone { run, top } => {
                let top = top.display();
                failed.hint(format!("restore it: mkdir -p {top} && ralph undo {run} --restore-git -C {top}"))
            }
            HistoryError::CheckpointRemoved { oldest, .. } => {
                let oldest = oldest.map(|of| format!("the oldest one left is the one before iteration {of}"));
                failed.cause("the oldest checkpoints are removed first (keepCheckpoints)").hint_if(oldest)
            }
            HistoryError::NotRecorded { last, .. } => failed.hint(match last {
                None => "checkpoints need a git repository and the setting `checkpoints`".to_string(),
                Some(last) => format!("there are checkpoints for iterations 1 to {last}"),
            }),
        }
    }
}

impl From<&TargetError> for CliError {
    fn from(error: &TargetError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match error {
            TargetError::NothingHere(_) => {
                failed.hint("give the name of a worker (`ralph ls`) or a run id (`ralph runs`)")
            }
            TargetError::SeveralHere(_) => failed.hint("give the id of one of them"),
            TargetError::Catalog(error) => error.into(),
            TargetError::Worker(error) => error.into(),
            TargetError::Unreadable(error) => error.into(),
        }
    }
}
