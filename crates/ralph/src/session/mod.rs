//! One process of a run: from the locks to the last line of the journal.
//!
//! `open` starts a new run, `resume` continues one; both prepare its workspace and then live it
//! (`life`). `facts` is for a run that has no process.

mod ended;
mod error;
mod facts;
mod life;
mod limits;
mod open;
mod result;
mod resume;
mod workspace;

pub use ended::{Ended, summary};
pub use error::{CutShort, LifeError, SessionError};
pub use facts::{end_survivors, run_of, write_in_its_place};
pub use limits::resume_command;
pub use open::open;
pub use result::result_of;
pub use resume::{needed, resume};
pub use workspace::lock_tree;

use crate::engine::StopBy;
use crate::process::KeeperProgram;
use crate::worker::{self, Worker};
use std::io;
use std::path::Path;

/// How a process behaves around a run.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Other runs may work in the same tree.
    pub share_workspace: bool,
    pub stop_by: StopBy,
    /// Which program plays the keeper.
    pub keeper: KeeperProgram,
    /// Of a worker.
    pub worker: Option<&'static Worker>,
    /// The user is there to be asked what to do about a sandbox that is in the way, so that it is no news yet.
    pub asks: bool,
}

impl SessionOptions {
    /// Of `ralph` itself.
    pub fn of_program(share_workspace: bool) -> SessionOptions {
        let worker = worker::current();
        let stop_by = if worker.is_some() { StopBy::WorkerSignals } else { StopBy::Signals };
        SessionOptions { share_workspace, stop_by, keeper: KeeperProgram::Own, worker, asks: false }
    }
}

fn cannot_write(path: &Path, cause: io::Error) -> SessionError {
    SessionError::CannotWrite { path: path.to_path_buf(), cause }
}
