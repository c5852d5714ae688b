//! A worker: the same loop as any other, in a process without a terminal.
//!
//! `ralph spawn` starts `ralph __worker NAME -- …` with the words of any loop command, or with the
//! flags of a prompt alone. That process leaves its session, takes its name, and lives the run; the spawning process sees its
//! complaints until the run is open, and nothing of it afterwards. What can be known of a worker
//! is its run's journal and lock: `state.json` and `iterations.log` are projections of the
//! former, written by [`record`].
//!
//! Deliberately absent: a loop, a state, a way to spawn agents. Those are the engine's.

mod error;
mod files;
mod log_lines;
pub mod output;
pub mod record;
mod state_file;
pub mod workers;

pub use error::WorkerError;
pub use files::WorkerFiles;

use crate::fsx;
use crate::layout::{self, Home, WorkerDir};
use crate::lock::NameLock;
use ralph_loop::{Run, State};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The first word of a worker's command line; it never meets clap.
pub const WORKER: &str = "__worker";

/// The first of its own words, where it was spawned without a plan's name: the rest are a prompt's flags.
pub const PROMPT: &str = "__prompt";

/// This process as a worker.
#[derive(Debug)]
pub struct Worker {
    pub name: String,
    /// It was spawned without a plan's name, with the flags of a prompt.
    pub unplanned: bool,
    /// To the process that spawned it, until the run is open.
    spawner: Mutex<Option<File>>,
    _name: NameLock,
}

static WORKER_PROCESS: OnceLock<Worker> = OnceLock::new();

/// What a worker tells the process that spawned it, once its run is open.
#[derive(Debug, Serialize, Deserialize)]
pub struct Opened {
    pub run: String,
    pub iteration: u32,
    pub of: u32,
}

/// Which run is a worker's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerRecord {
    pub name: String,
    pub run: String,
    /// Other runs may work in the same tree, also when it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_workspace: bool,
}

/// The run of a worker, if there is one of that name.
pub fn run_of(home: &Home, name: &str) -> Option<String> {
    let record = fsx::read_regular(&home.worker(name).record()).ok()?;
    let record: WorkerRecord = serde_json::from_slice(&record).ok()?;
    Some(record.run).filter(|run| layout::is_safe_name(run))
}

/// The workers that a run is the current one of.
pub fn workers_of(home: &Home, run: &str) -> Vec<WorkerDir> {
    let Ok(entries) = fs_err::read_dir(home.workers()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| run_of(home, name).as_deref() == Some(run)).map(|name| home.worker(&name)).collect()
}

/// The worker of this process, if it is a worker.
pub fn current() -> Option<&'static Worker> {
    WORKER_PROCESS.get()
}

/// Makes this process the worker of that name. Its standard input is the way to its spawner.
pub fn take(home: &Home, name: &str, unplanned: bool) -> Result<(), WorkerError> {
    let failed = WorkerError::CannotStart;
    // A process that was started by a shell may lead its group and then keeps its session.
    let _ = rustix::process::setsid();
    let spawner = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(|e| failed(e.into()))?;
    let nothing = File::open("/dev/null").map_err(failed)?;
    rustix::stdio::dup2_stdin(&nothing).map_err(|cause| failed(cause.into()))?;
    [home.root().to_path_buf(), home.locks(), home.workers()]
        .iter()
        .try_for_each(|dir| fsx::private_dir(dir))
        .map_err(failed)?;
    let lock = NameLock::acquire(home, name).map_err(failed)?;
    let lock = lock.ok_or_else(|| WorkerError::NameTaken(name.to_string()))?;
    let worker =
        Worker { name: name.to_string(), unplanned, spawner: Mutex::new(Some(spawner.into())), _name: lock };
    WORKER_PROCESS.set(worker).map_err(|_| WorkerError::AlreadyWorker)
}

/// How a worker begins.
#[derive(Clone, Copy, Debug)]
pub struct Takeover {
    /// Its run begins; what another worker of this name has left is not its own.
    pub fresh: bool,
    pub share_workspace: bool,
}

impl Worker {
    pub fn dir(&self, home: &Home) -> WorkerDir {
        home.worker(&self.name)
    }

    /// The run is open: from here on this process speaks to its files.
    pub fn take_over(&self, home: &Home, run: &Run, state: &State, how: Takeover) -> Result<(), WorkerError> {
        self.settle_in(home, run, state, how).map_err(|cause| {
            let dir = self.dir(home).dir().to_path_buf();
            WorkerError::CannotWriteFiles { dir, cause }
        })
    }

    fn settle_in(&self, home: &Home, run: &Run, state: &State, how: Takeover) -> io::Result<()> {
        let Takeover { fresh, share_workspace } = how;
        let dir = self.dir(home);
        fsx::private_dir(dir.dir())?;
        if fresh {
            for left in [dir.state(), dir.iterations()] {
                let _ = fsx::remove(&left);
            }
            output::remove(&dir.output());
        }
        let record = WorkerRecord { name: self.name.clone(), run: run.id.clone(), share_workspace };
        fsx::write_whole(&dir.record(), &serde_json::to_vec(&record)?)?;
        output::print_to(&dir.output())?;
        let opened =
            Opened { run: run.id.clone(), iteration: state.iteration(), of: state.ledger.limits.iterations };
        let mut spawner = self.spawner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut spawner) = spawner.take() {
            // A spawner that has gone meanwhile is not needed any more.
            let _ = spawner.write_all(&serde_json::to_vec(&opened)?);
        }
        Ok(())
    }
}
