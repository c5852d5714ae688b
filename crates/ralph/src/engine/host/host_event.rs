//! What can happen while the loop waits, and the waiting for it.

use super::RealHost;
use crate::control::{Control, Request};
use crate::engine::lane::{Current, Lane};
use crate::git::checkpoint::{Restored, Taken};
use crate::process::{Keeper, KeeperEvent};
use crate::tasks::added::Added;
use ralph_loop::event::Branch;
use ralph_loop::scm::TaskOutcome;
use std::future::pending;
use std::io;
use std::time::Instant;
use tokio::net::unix::pipe::Receiver;
use tokio::task::{JoinError, JoinHandle};

/// One thing that can happen while the loop waits.
pub(super) enum HostEvent {
    Signal,
    Asked(Request),
    Silent,
    Woke,
    Tick,
    Keeper(KeeperEvent),
    /// An agent has printed something.
    Readable,
    Snapshot(Box<SnapshotTaken>),
    Restored(Box<Result<Restored, JoinError>>),
    Surveyed(Result<bool, JoinError>),
    Repository(Result<TaskOutcome, JoinError>),
    Unlocked(Result<io::Result<Added>, JoinError>),
    Branch(Result<Option<Branch>, JoinError>),
}

pub(super) type SnapshotTaken = Result<Taken, JoinError>;

impl RealHost<'_> {
    pub(super) async fn next_event(&mut self, wake: Option<Instant>, paused: bool) -> HostEvent {
        let silent_at = if paused { None } else { self.silent_at() };
        let RealHost { lane, signals, control, reporter, last_tick, .. } = self;
        let tick = reporter.tick_every().map(|every| *last_tick + every);
        let Lane { keeper, current, .. } = lane;
        let (stdout, stderr, thread) = match current {
            Current::Agent(step) | Current::Message { step, .. } => {
                (step.stdout.as_ref(), step.stderr.as_ref(), Thread::None)
            }
            Current::Snapshot(handle) => (None, None, Thread::Snapshot(handle)),
            Current::Restore(handle) => (None, None, Thread::Restore(handle)),
            Current::Survey { handle, .. } => (None, None, Thread::Survey(handle)),
            Current::Repository(handle) => (None, None, Thread::Repository(handle)),
            Current::Plan { handle, .. } => (None, None, Thread::Plan(handle)),
            Current::Branch { handle, .. } => (None, None, Thread::Branch(handle)),
            Current::Nothing | Current::KeeperGone | Current::Check(_) | Current::OwnCommit(_) => {
                (None, None, Thread::None)
            }
        };
        tokio::select! {
            biased;
            () = signals.next() => HostEvent::Signal,
            request = asked(control) => HostEvent::Asked(request),
            () = moment(wake) => HostEvent::Woke,
            event = keeper_event(keeper) => HostEvent::Keeper(event),
            () = moment(silent_at) => HostEvent::Silent,
            () = moment(tick) => HostEvent::Tick,
            done = thread.finished() => done,
            // Last: there may always be more of it.
            () = readable(stdout) => HostEvent::Readable,
            () = readable(stderr) => HostEvent::Readable,
        }
    }
}

async fn asked(control: &mut Option<Control>) -> Request {
    match control {
        Some(control) => control.next().await,
        None => pending().await,
    }
}

async fn moment(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when.into()).await,
        None => pending().await,
    }
}

async fn keeper_event(keeper: &mut Option<Keeper>) -> KeeperEvent {
    match keeper {
        Some(keeper) => keeper.event().await,
        None => pending().await,
    }
}

async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // An error shows again when the pipe is read, which ends it.
        Some(pipe) => drop(pipe.readable().await),
        None => pending().await,
    }
}

/// Something that goes on beside the loop.
enum Thread<'t> {
    None,
    Snapshot(&'t mut JoinHandle<Taken>),
    Restore(&'t mut JoinHandle<Restored>),
    Survey(&'t mut JoinHandle<bool>),
    Repository(&'t mut JoinHandle<TaskOutcome>),
    Plan(&'t mut JoinHandle<io::Result<Added>>),
    Branch(&'t mut JoinHandle<Option<Branch>>),
}

impl Thread<'_> {
    async fn finished(self) -> HostEvent {
        match self {
            Thread::None => pending().await,
            Thread::Snapshot(handle) => HostEvent::Snapshot(Box::new(handle.await)),
            Thread::Restore(handle) => HostEvent::Restored(Box::new(handle.await)),
            Thread::Survey(handle) => HostEvent::Surveyed(handle.await),
            Thread::Repository(handle) => HostEvent::Repository(handle.await),
            Thread::Plan(handle) => HostEvent::Unlocked(handle.await),
            Thread::Branch(handle) => HostEvent::Branch(handle.await),
        }
    }
}
