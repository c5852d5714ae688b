//! Why a run cannot begin, go on or be written to.

use crate::engine::EngineError;
use crate::git::GitError;
use crate::journal::UnreadableRun;
use crate::lock::LockError;
use crate::place::PlaceError;
use crate::place::PrepareError;
use crate::planner::PlannerError;
use crate::request::root::RefusesRoot;
use crate::sandbox::SandboxError;
use crate::worker::WorkerError;
use ralph_loop::secrets::SealedMark;
use ralph_loop::state::Illegal;
use std::path::PathBuf;
use std::{fmt, io};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum SessionError {
    #[error("cannot write: {}", path.display())]
    CannotWrite {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The directory of all records cannot be used.
    #[error("cannot write: {}", path.display())]
    HomeUnwritable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Unreadable(#[from] UnreadableRun),
    #[error(transparent)]
    Illegal(#[from] Illegal),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error("--branch needs a git repository: {}", .0.display())]
    BranchOutsideRepository(PathBuf),
    #[error(transparent)]
    CannotSwitch(GitError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error(transparent)]
    Root(#[from] RefusesRoot),
    /// A part of a plan could not be taken back.
    #[error(transparent)]
    Planner(#[from] PlannerError),
    #[error(transparent)]
    Secret(#[from] SealedMark),
    #[error("run {run} is already complete")]
    Complete {
        run: String,
        /// The command that starts another one like it.
        command: &'static str,
    },
    #[error("run {run} has used {used}")]
    LimitReached {
        run: String,
        used: String,
        /// The command that resumes it with a higher limit.
        resume: String,
    },
    #[error("the run's directory is gone: {}", .0.display())]
    DirectoryGone(PathBuf),
    #[error("cannot use the project's .ralph directory")]
    RalphDirIsLink(#[source] io::Error),
    #[error("cannot write to the project directory: {}", dir.display())]
    ProjectUnwritable {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot exclude ralph's files from git")]
    CannotExclude(#[source] io::Error),
    #[error(transparent)]
    CutShort(#[from] Box<CutShort>),
}

/// A run that has begun and could not go on. It reads as what happened to it.
#[derive(Debug)]
pub struct CutShort {
    pub run: String,
    pub cause: LifeError,
    /// Its record is what is wrong, so that it cannot be resumed.
    pub record: Option<UnreadableRun>,
}

#[derive(Debug, Error)]
pub enum LifeError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot write: {}", path.display())]
    CannotWrite {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for CutShort {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}
