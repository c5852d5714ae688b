//! Why a worker cannot be started, found or read.

use crate::journal::JournalError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("cannot start the worker")]
    CannotStart(#[source] io::Error),
    #[error("this process is already a worker")]
    AlreadyWorker,
    #[error("cannot write the worker's files: {}", dir.display())]
    CannotWriteFiles {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot list the workers")]
    CannotList(#[source] io::Error),
    #[error("worker '{name}' not found")]
    Unknown {
        name: String,
        /// The worker that was probably meant.
        nearest: Option<String>,
    },
    #[error("'{0}' is a run, not a worker")]
    IsRun(String),
    #[error("cannot read the record of worker '{name}'")]
    DamagedRecord {
        name: String,
        #[source]
        cause: serde_json::Error,
    },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("worker '{0}' already exists")]
    NameTaken(String),
    #[error("invalid worker name: '{}'", .0.chars().take(80).collect::<String>())]
    InvalidName(String),
    #[error("a worker name cannot look like a run id: '{0}'")]
    NameLooksLikeRun(String),
}
