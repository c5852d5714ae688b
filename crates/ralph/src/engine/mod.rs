//! The loop: awaits one event, records it, folds it, carries out what follows.
//!
//! No policy lives here. What happens next is `ralph_loop::next`, what has happened is
//! the journal; in between is this loop and a [`Host`] that touches the world.

mod activity;
mod assignment;
mod check_log;
mod clock;
mod compose;
mod dry;
mod guarded;
mod host;
mod in_sandbox;
mod lane;
mod log_pipe;
mod own_commit;
mod pipe;
mod projections;
mod raw_log;
mod retention;
mod scm;
mod service;
mod step;
mod stop;
mod story_files;
mod streams;
mod task_files;

pub use clock::{Clock, wall_ms};
pub use dry::{FirstPrompt, first_prompt};
pub use host::{Equipment, RealHost, why_not};
pub use own_commit::{OwnCommit, SUBCOMMAND as OWN_COMMIT};
pub use projections::Projections;
pub use stop::{StopBy, StopRequests};

use ralph_loop::event::{Event, Fact, How, Step, StepId, VERSION};
use ralph_loop::low_disk::Shortage;
use ralph_loop::state::{Illegal, Stopped};
use ralph_loop::{Action, Run, State, next, space_wanted, wake_at};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The world, as far as the loop needs it.
pub trait Host {
    fn now(&self) -> Now;
    /// A fact as it is recorded, shown and gone by: without secrets.
    fn masked(&self, fact: Fact) -> Fact;
    /// Makes an event durable against the end of this process.
    fn record(&mut self, event: &Event) -> io::Result<()>;
    /// Passes a recorded event to the reporters and the files that follow the run.
    fn show(&mut self, run: &Run, state: &State, event: &Event);
    /// Begins a step. It ends by a fact from [`Host::wait`], also if it cannot begin.
    fn start(&mut self, run: &Run, state: &State, id: StepId, step: &Step);
    fn cancel(&mut self, id: StepId, how: How);
    /// The fullest of the disks that the run writes to. None where the system does not say.
    fn room(&self, run: &Run) -> Option<DiskSpace>;
    /// The next thing that happens; [`Fact::Woke`] at the given moment of the run's time.
    async fn wait(&mut self, run: &Run, state: &State, wake_at: Option<u64>) -> Fact;
}

/// The time, as events carry it.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The wall clock, in milliseconds since 1970.
    pub at: i64,
    /// The run's own time.
    pub up_ms: u64,
}

/// The space on a disk. The fullest disk is the least.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskSpace {
    /// Bytes.
    pub free: u64,
    /// A directory on the disk.
    pub at: PathBuf,
}

#[derive(Debug, Error)]
pub enum EngineError {
    #[error("cannot write the journal")]
    Journal(#[source] io::Error),
    #[error("internal error: {0}")]
    Illegal(#[from] Illegal),
}

/// Runs until the run has stopped.
pub async fn drive<H: Host>(run: &Run, state: &mut State, host: &mut H) -> Result<Stopped, EngineError> {
    loop {
        let actions = next(run, state);
        if actions.is_empty() {
            if let Some(stopped) = &state.stopped {
                return Ok(stopped.clone());
            }
            let fact = host.wait(run, state, wake_at(run, state)).await;
            take(run, state, host, fact)?;
            continue;
        }
        for action in actions {
            match low_disk(run, state, host, &action) {
                // The policy is asked again, and waits.
                Some(fact) => {
                    take(run, state, host, fact)?;
                    break;
                }
                None => carry_out(run, state, host, action)?,
            }
        }
    }
}

/// What was measured, where it is too little for an action.
fn low_disk<H: Host>(run: &Run, state: &State, host: &H, action: &Action) -> Option<Fact> {
    let least = space_wanted(run, state, action)?;
    let DiskSpace { free, at } = host.room(run)?;
    (free < least).then_some(Fact::LowDisk(Shortage { free, least, at }))
}

/// Every action is a fact first: a crash in between finds the intent in the journal.
fn carry_out<H: Host>(run: &Run, state: &mut State, host: &mut H, action: Action) -> Result<(), EngineError> {
    match action {
        Action::Start(step) => {
            let id = state.position.steps_begun + 1;
            take(run, state, host, Fact::Began { id, step: step.clone() })?;
            host.start(run, state, id, &step);
        }
        Action::Cancel(id, how, why) => {
            take(run, state, host, Fact::Cancelled { id, how, why })?;
            host.cancel(id, how);
        }
        Action::Judge(judgement) => take(run, state, host, Fact::Judged(judgement))?,
        Action::Stop(reason, note) => take(run, state, host, Fact::Stopped { reason, note })?,
    }
    Ok(())
}

/// Records a fact, folds it, shows it.
pub fn take<H: Host>(run: &Run, state: &mut State, host: &mut H, fact: Fact) -> Result<(), EngineError> {
    let Now { at, up_ms } = host.now();
    let fact = host.masked(fact);
    let resumes = matches!(fact, Fact::Resumed { .. });
    let epoch = state.position.epoch + u32::from(resumes);
    let event = Event { v: VERSION, seq: state.position.seq + 1, epoch, at, up_ms, fact };
    // Found legal before it is recorded: a journal that contradicts itself cannot be resumed.
    let mut after = state.clone();
    after.apply(&event)?;
    host.record(&event).map_err(EngineError::Journal)?;
    *state = after;
    host.show(run, state, &event);
    Ok(())
}
