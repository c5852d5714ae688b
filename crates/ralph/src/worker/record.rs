//! `state.json` and `iterations.log` of a worker, folded from its journal.
//!
//! Projections: to be certain, fold the journal with [`Record::replay`],
//! which gives the same. A life that takes a worker up rewrites what a crash has kept from the files.

use super::log_lines::{self, LogLines};
use super::state_file::StateFile;
use crate::fsx;
use crate::journal::{self, JournalError};
use crate::layout::{RunDir, WorkerDir};
use crate::report::{Seen, low_disk, waits_for_you};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_loop::event::{StopKind, StopReason};
use ralph_loop::state::Resumable;
use ralph_loop::view::{Moments, RunView, Update};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use std::io;
use std::path::PathBuf;

/// The word for how a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Running,
    /// Its agent cannot go on before a person has done something in its terminal.
    Waiting,
    Paused,
    /// Done, at a limit, or killed.
    Stopped,
    Failed,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Waiting => "waiting",
            Status::Paused => "paused",
            Status::Stopped => "stopped",
            Status::Failed => "failed",
        }
    }

    /// Only while its process is there.
    pub fn is_at_work(self) -> bool {
        matches!(self, Status::Running | Status::Waiting)
    }

    fn of(view: &RunView) -> Status {
        match view.reason.map(StopReason::kind) {
            None if view.paused || view.leaving => Status::Paused,
            None if view.waits_for_person.is_some() => Status::Waiting,
            None => Status::Running,
            Some(StopKind::Paused | StopKind::Interrupted) => Status::Paused,
            Some(StopKind::Done | StopKind::Limit | StopKind::Stalled | StopKind::Killed) => Status::Stopped,
            Some(StopKind::GaveUp | StopKind::Failed | StopKind::Unusable) => Status::Failed,
        }
    }
}

/// `state.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerState {
    pub worker_name: String,
    pub prompt_file: Option<PathBuf>,
    pub max_iterations: u32,
    pub current_iteration: u32,
    pub status: Status,
    pub started: String,
    pub last_iteration_started: Option<String>,
    pub consecutive_failures: u32,
    pub total_failures: u32,
    pub done_pattern: Option<String>,
    /// Seconds.
    pub inactivity_timeout: Option<Number>,
    /// Why it has stopped, and a word more; also what it waits for.
    pub reason: Option<String>,
    pub note: Option<String>,
    /// Whether what was asked is done.
    pub success: bool,
    /// Whether it can be taken up where it is.
    pub resumable: bool,
    pub run: String,
    pub plan: String,
    pub workspace: PathBuf,
    /// US dollars.
    pub cost: f64,
}

impl WorkerState {
    pub fn of(name: &str, view: RunView) -> WorkerState {
        let precise = |at| local(at, "%Y-%m-%dT%H:%M:%S%.6f");
        let status = Status::of(&view);
        // A run without a worker goes by its id.
        let seen = if name == view.id { Seen::ItsTerminal } else { Seen::Window };
        WorkerState {
            worker_name: name.to_string(),
            max_iterations: view.max_iterations,
            current_iteration: view.iteration,
            status,
            started: precise(view.opened_at),
            last_iteration_started: view.agent_began_at.map(precise),
            consecutive_failures: view.consecutive_failures,
            total_failures: view.total_failures,
            inactivity_timeout: view.silence_ms.and_then(in_seconds),
            note: match (view.reason, &view.waits_for_person, &view.low_disk) {
                (Some(_), ..) => view.note.clone(),
                (None, Some(waits), _) => Some(waits_for_you(&waits.awaited, name, seen)),
                (None, None, Some(shortage)) => Some(low_disk(shortage)),
                // A user who wants to edit the same files should know.
                (None, None, None) if status == Status::Paused && !view.is_between_steps() => {
                    Some(format!("iteration {} is not finished yet", view.iteration))
                }
                (None, None, None) => None,
            },
            reason: view.reason.map(|reason| reason.word().to_string()),
            success: view.success,
            resumable: view.resumable == Resumable::Now,
            cost: view.spent.dollars(),
            run: view.id,
            plan: view.plan,
            workspace: view.workspace,
            prompt_file: view.prompt_file,
            done_pattern: view.done_pattern,
        }
    }
}

/// Follows a worker's events.
pub struct Record {
    name: String,
    dir: WorkerDir,
    state: Option<WorkerState>,
    /// Lines that are not in the log yet; until the first write, all lines there are.
    log: String,
    /// The files as they were left.
    state_written: Option<WorkerState>,
    log_joined: bool,
    file: StateFile,
}

impl Record {
    pub fn new(name: &str, dir: WorkerDir) -> Record {
        Record {
            name: name.to_string(),
            file: StateFile::of(&dir),
            dir,
            state: None,
            log: String::new(),
            state_written: None,
            log_joined: false,
        }
    }

    /// A worker as its journal records it.
    pub fn replay(name: &str, dir: WorkerDir, run: &RunDir) -> Result<Record, JournalError> {
        let (mut record, mut moments) = (Record::new(name, dir), Moments::default());
        journal::replay(run, |run, state, event| drop(record.follow(&moments.follow(run, state, event))))?;
        Ok(record)
    }

    /// The lines of `iterations.log`, of a run that has no such file.
    pub fn events_of(run: &RunDir) -> Result<String, JournalError> {
        Record::of_run(run).map(|record| record.log)
    }

    /// To be read only: no worker has such a name, and nothing is written there.
    fn of_run(run: &RunDir) -> Result<Record, JournalError> {
        let id = run.id();
        Record::replay(&id, run.home().worker(&id), run)
    }

    pub fn dir(&self) -> &WorkerDir {
        &self.dir
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what there is to say to who watches.
    pub fn follow(&mut self, update: &Update<'_>) -> Vec<String> {
        let LogLines { log, lines } = log_lines::of(update);
        for line in log {
            self.log.push_str(&format!("{} {line}\n", local(update.event.at, "%Y-%m-%dT%H:%M:%S")));
        }
        self.state = Some(WorkerState::of(&self.name, update.view()));
        lines
    }

    /// Brings the files up to what was followed.
    pub fn write(&mut self) -> io::Result<()> {
        self.write_log()?;
        if self.state == self.state_written {
            return Ok(());
        }
        let Some(state) = &self.state else { return Ok(()) };
        let mut text = serde_json::to_vec_pretty(state)?;
        text.push(b'\n');
        self.file.put(text)?;
        self.state_written.clone_from(&self.state);
        Ok(())
    }

    /// Appended to, so that `tail -f` sees it. The first time in a life the log is compared with
    /// what it should be: a crash may have kept lines from it.
    fn write_log(&mut self) -> io::Result<()> {
        let path = self.dir.iterations();
        if !self.log_joined {
            let there = fsx::read_regular(&path).unwrap_or_default();
            match self.log.as_bytes().strip_prefix(&there[..]) {
                Some(missing) => self.log = String::from_utf8_lossy(missing).into_owned(),
                None => {
                    fsx::write_whole(&path, self.log.as_bytes())?;
                    self.log.clear();
                }
            }
            self.log_joined = true;
        }
        if !self.log.is_empty() {
            fsx::append(&path, self.log.as_bytes())?;
            self.log.clear();
        }
        Ok(())
    }
}

fn in_seconds(ms: u64) -> Option<Number> {
    if ms.is_multiple_of(1000) { Some((ms / 1000).into()) } else { Number::from_f64(ms as f64 / 1000.0) }
}

/// In the local time zone.
fn local(ms: i64, format: &str) -> String {
    let time = Timestamp::from_millisecond(ms).map(|time| time.to_zoned(TimeZone::system()));
    time.map_or_else(|_| String::from("?"), |time| time.strftime(format).to_string())
}
