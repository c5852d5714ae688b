//! A step that runs on a thread beside the loop, so that signals are heard meanwhile.

use super::MadeReady;
use crate::git::checkpoint::{Restored, Taken};
use crate::proof::after_check::{AfterCheck, Found};
use crate::sandbox::Sandbox;
use crate::tasks::added::Added;
use ralph_loop::check::CheckEnd;
use ralph_loop::event::{AgentEnd, Branch, End};
use ralph_loop::plan::PlanStep;
use ralph_loop::scm::TaskOutcome;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::{JoinError, JoinHandle};

pub(in crate::engine) enum Thread {
    Snapshot(JoinHandle<Taken>),
    Restore(JoinHandle<Restored>),
    /// Making ready what a round of checks runs on.
    Prepare(JoinHandle<MadeReady>),
    /// Finding out whether there is anything to commit.
    Survey {
        handle: JoinHandle<bool>,
        iteration: u32,
        agent: usize,
    },
    /// A source control task.
    Task(JoinHandle<TaskOutcome>),
    /// Waiting for another process that edits the plan's files.
    Plan {
        handle: JoinHandle<io::Result<Added>>,
        what: PlanStep,
    },
    /// Looking at what a check that has ended has left.
    AfterCheck {
        handle: JoinHandle<Found>,
        end: Box<CheckEnd>,
    },
    /// Taking over what a program has done in its sandbox.
    Settle(JoinHandle<ProgramEnded>),
    /// Finding out which branch an agent that has ended has left.
    Branch {
        handle: JoinHandle<Option<Branch>>,
        end: Box<AgentEnd>,
    },
}

/// A program that has ended, and what is to be looked at after it.
pub(in crate::engine) struct ProgramEnded {
    pub(in crate::engine) end: End,
    pub(in crate::engine) after: Option<AfterCheck>,
}

/// What came of it.
pub(in crate::engine) enum ThreadEnd {
    Snapshot(Box<SnapshotTaken>),
    Restored(Box<Result<Restored, JoinError>>),
    Prepared(Box<Result<MadeReady, JoinError>>),
    Surveyed { nothing_to_commit: bool, iteration: u32, agent: usize },
    Task(TaskOutcome),
    Unlocked { added: io::Result<Added>, what: PlanStep },
    Branch(Box<AgentEnd>),
    Settled(Box<Result<ProgramEnded, JoinError>>),
    AfterCheck { found: Box<Found>, end: Box<CheckEnd> },
}

pub(in crate::engine) type SnapshotTaken = Result<Taken, JoinError>;

impl Thread {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ThreadEnd> {
        match self {
            Thread::Snapshot(handle) => done(handle, cx).map(|taken| ThreadEnd::Snapshot(Box::new(taken))),
            Thread::Restore(handle) => done(handle, cx).map(|put| ThreadEnd::Restored(Box::new(put))),
            Thread::Prepare(handle) => done(handle, cx).map(|made| ThreadEnd::Prepared(Box::new(made))),
            Thread::Survey { handle, iteration, agent } => done(handle, cx).map(|surveyed| {
                let nothing_to_commit = surveyed.unwrap_or(false);
                ThreadEnd::Surveyed { nothing_to_commit, iteration: *iteration, agent: *agent }
            }),
            Thread::Task(handle) => done(handle, cx).map(|outcome| {
                let failed = |cause: JoinError| TaskOutcome::Failed { why: cause.to_string() };
                ThreadEnd::Task(outcome.unwrap_or_else(failed))
            }),
            Thread::Plan { handle, what } => done(handle, cx).map(|added| {
                let added = added.unwrap_or_else(|cause| Err(cause.into()));
                ThreadEnd::Unlocked { added, what: what.clone() }
            }),
            Thread::AfterCheck { handle, end } => done(handle, cx).map(|found| {
                let found = Box::new(found.unwrap_or_default());
                ThreadEnd::AfterCheck { found, end: end.clone() }
            }),
            Thread::Settle(handle) => done(handle, cx).map(|ended| ThreadEnd::Settled(Box::new(ended))),
            Thread::Branch { handle, end } => done(handle, cx).map(|branch| {
                let branch = branch.unwrap_or_default();
                ThreadEnd::Branch(Box::new(AgentEnd { branch, ..AgentEnd::clone(end) }))
            }),
        }
    }

    pub(in crate::engine) fn settle(sandbox: &Arc<Sandbox>, ended: ProgramEnded) -> Thread {
        let sandbox = Arc::clone(sandbox);
        let settle = move || {
            sandbox.after_step();
            ended
        };
        Thread::Settle(tokio::task::spawn_blocking(settle))
    }

    /// It is no longer waited for. Git leaves its repository whole by itself.
    pub(super) fn abandon(self) -> End {
        match self {
            Thread::AfterCheck { end, .. } => End::Check(*end),
            // The agent itself has ended by itself.
            Thread::Branch { end, .. } => End::Agent(end),
            Thread::Snapshot(_)
            | Thread::Restore(_)
            | Thread::Prepare(_)
            | Thread::Survey { .. }
            | Thread::Settle(_)
            | Thread::Task(_)
            | Thread::Plan { .. } => {
                End::Lost { why: "stopped waiting for it".to_string(), cost: None, estimate: None }
            }
        }
    }
}

fn done<T>(handle: &mut JoinHandle<T>, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(cx)
}
