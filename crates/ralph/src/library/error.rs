//! What can go wrong for a program that uses ralph.

use crate::catalog::CatalogError;
use crate::git::GitError;
use crate::journal::UnreadableRun;
use crate::request::prompt::PromptError;
use crate::request::stories::StoriesError;
use crate::request::tasks::TasksError;
use crate::session::SessionError;
use crate::settings::SettingsError;
use crate::worktree_removal::Kept;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a run cannot begin or go on, or why something cannot be removed. A run that stops without
/// success is not an error.
///
/// [`report`](Error::report) has the cause and a hint, as the command line prints them.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error("no home directory to keep runs in")]
    NoHome,
    #[error("cannot enter the project directory: {}", dir.display())]
    NoDirectory {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the ralph program is not installed")]
    NoProgram(#[source] which::Error),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The request for a prompt is wrong.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The request for stories is wrong, or the stories are.
    #[error(transparent)]
    Stories(#[from] StoriesError),
    /// The request for tasks is wrong, or the task list is.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    #[error("cannot listen for the agent in {}", dir.display())]
    CannotListen {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot start a thread for the run")]
    NoThread(#[source] io::Error),
    /// The run could not begin, or it was cut short: see [`run`](Error::run).
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Unreadable(#[from] UnreadableRun),
    /// There is no such run.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("the worktree of run {run} was kept: {why}")]
    WorktreeKept { run: String, why: Kept },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("a run is working in this directory: {}", .0.display())]
    DirectoryInUse(PathBuf),
    #[error("cannot remove {}", path.display())]
    CannotRemove {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A bug in ralph.
    #[error("the thread of the run panicked")]
    Panicked,
}

impl Error {
    /// The run that was cut short, which can be resumed.
    pub fn run(&self) -> Option<&str> {
        match self {
            Error::Session(SessionError::CutShort(cut_short)) => Some(&cut_short.run),
            _ => None,
        }
    }
}
