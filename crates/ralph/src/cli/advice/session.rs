//! A run that cannot begin, go on or be written to.

use super::RALPH_HOME;
use crate::error::{CliError, Code, continue_with};
use crate::lock::LockError;
use crate::place::PrepareError;
use crate::session::{CutShort, SessionError};

impl From<&SessionError> for CliError {
    fn from(error: &SessionError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            SessionError::CannotWrite { .. } | SessionError::Illegal(_) => failed,
            SessionError::HomeUnwritable { .. } => failed.hint(RALPH_HOME),
            SessionError::Secret(mark) => failed.hint(format!(
                "records have only the names of secrets: set {} in the environment or the settings as it was",
                mark.name
            )),
            SessionError::Lock(error) => error.into(),
            SessionError::Unreadable(error) => error.into(),
            SessionError::Place(error) => error.into(),
            SessionError::Sandbox(error) => error.into(),
            SessionError::Prepare(error) => error.into(),
            SessionError::BranchOutsideRepository(_) => usage,
            SessionError::CannotSwitch(_) => {
                usage.hint("choose another branch, or commit the changes that are in the way")
            }
            SessionError::Worker(error) => error.into(),
            SessionError::Root(error) => error.into(),
            SessionError::Planner(error) => error.into(),
            SessionError::Complete { command, .. } => {
                failed.hint(format!("start a new run with `ralph {command}`"))
            }
            SessionError::LimitReached { resume, .. } => failed.hint(format!("raise the limit: {resume}")),
            SessionError::DirectoryGone(_) => usage.hint("restore it to continue, or start a new run"),
            SessionError::RalphDirIsLink(_) => {
                usage.hint("replace the link with a directory: ralph only writes inside the project")
            }
            SessionError::ProjectUnwritable { .. } => {
                usage.hint("make it writable, or choose another directory with -C")
            }
            SessionError::CannotExclude(_) => usage,
            SessionError::CutShort(error) => error.as_ref().into(),
        }
    }
}

impl From<&PrepareError> for CliError {
    fn from(error: &PrepareError) -> CliError {
        match error {
            PrepareError::Place(error) => error.into(),
            PrepareError::CannotExclude(_) | PrepareError::Git(_) | PrepareError::CannotCreate(_) => {
                CliError::from_error(error, Code::Failed)
            }
        }
    }
}

impl From<&CutShort> for CliError {
    fn from(error: &CutShort) -> CliError {
        let hint = match &error.record {
            None => Some(continue_with(&error.run)),
            Some(unreadable) => CliError::from(unreadable).hint,
        };
        CliError { run: Some(error.run.clone()), hint, ..CliError::from_error(error, Code::Failed) }
    }
}

impl From<&LockError> for CliError {
    fn from(error: &LockError) -> CliError {
        let usage = CliError::from_error(error, Code::Usage);
        match error {
            LockError::WorkspaceTaken { .. } => usage.hint(
                "use --worktree to work in a separate tree, or --share-workspace if they won't conflict",
            ),
            LockError::RunAlive { run } => usage.hint(format!("watch it with: ralph logs {run} -f")),
            LockError::Io { .. } => usage.hint(RALPH_HOME),
        }
    }
}
