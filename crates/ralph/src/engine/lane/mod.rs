//! Lanes: each is a keeper and the step that it is busy with.
//!
//! A lane begins a step and knows what shows that the step has ended. What belongs to the run and
//! not to a step is in [`Shared`]. Every program of a step is started by the lane's keeper, but for
//! the git that records and restores trees and that carries out source control tasks: that runs on
//! a [`Thread`].

mod agent;
mod check;
mod commit;
mod lanes;
mod on_terminal;
mod prepare;
mod program;
mod shared;
mod thread;
mod tree;

pub(super) use agent::AgentStart;
pub(super) use check::CheckStart;
pub(super) use lanes::{LaneNumber, Lanes, Silence};
pub(super) use prepare::MadeReady;
pub(super) use program::{Program, Sinks};
pub(super) use shared::Shared;
pub(super) use thread::{ProgramEnded, SnapshotTaken, Thread, ThreadEnd};

use super::compose::ComposeError;
use super::step::AgentStep;
use super::task_files::TaskFileError;
use crate::git;
use crate::place;
use crate::process::{self, Keeper, KeeperEvent, ProcessError, Stdio3};
use crate::sandbox::{Inside, Role};
use on_terminal::OnTerminal;
use ralph_loop::Run;
use ralph_loop::dialect::CommandLineError;
use ralph_loop::event::{End, Fact, How, StepId};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::task::{Context, Poll};
use std::time::Instant;
use thiserror::Error;

#[derive(Default)]
pub(super) struct Lane {
    /// It stays between steps: starting one takes longer than most of what is between two agents.
    keeper: Option<Keeper>,
    /// A lane that is not busy is free.
    busy: Option<Busy>,
}

/// The step that a lane is busy with.
struct Busy {
    id: StepId,
    work: Work,
}

/// What a step consists of now.
pub(super) enum Work {
    /// Under the keeper.
    Program(Program),
    /// Beside the loop.
    Thread(Thread),
}

/// What can happen in a lane.
pub(super) enum LaneEvent {
    Keeper(KeeperEvent),
    /// The agent has shown no sign of life for too long.
    Silent,
    Thread(ThreadEnd),
    /// The agent has printed something.
    Readable,
}

/// What has become of a step that was to begin.
pub(super) enum Begun {
    Working(Work),
    Over(End),
}

impl From<Program> for Begun {
    fn from(program: Program) -> Begun {
        Begun::Working(Work::Program(program))
    }
}

impl From<Thread> for Begun {
    fn from(thread: Thread) -> Begun {
        Begun::Working(Work::Thread(thread))
    }
}

/// Why a step could not begin.
#[derive(Debug, Error)]
pub(super) enum StartError {
    #[error("{0}")]
    Compose(#[from] ComposeError),
    #[error("{0}")]
    CommandLine(#[from] CommandLineError),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{}", with_cause(.0))]
    Process(#[from] ProcessError),
    #[error("{0}")]
    Tasks(#[from] TaskFileError),
    #[error("the run has no agent number {0}")]
    NoSuchAgent(usize),
    #[error("the run has no check number {0}")]
    NoSuchCheck(usize),
    #[error(
        "hooks have appeared in .codex/ since the run began, so {agent} would work without the guard: remove them, or start another run"
    )]
    GuardLost { agent: String },
    #[error(
        "ralph cannot hear {agent} on a terminal without its hooks: it has settings or hooks of its own (agent.flags, .codex/)"
    )]
    NotHeard { agent: String },
    #[error("internal error: there is no copy to check")]
    NoCopy,
}

fn with_cause(error: &ProcessError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// A program that the keeper is to start.
struct Launch<'a> {
    argv: Vec<OsString>,
    cwd: &'a Path,
    stdio: Stdio3,
    told: Told,
    site: LaunchSite<'a>,
    terminal: Option<OnTerminal>,
}

/// On which side of the run's sandbox a program runs.
enum LaunchSite<'a> {
    Inside(Inside<'a>),
    /// With the user's rights: a check, before any agent has worked.
    Outside,
}

/// What a program finds in its environment beside that of ralph's start.
enum Told {
    /// The run, the iteration, its work, and something of its own.
    Run { iteration: u32, extra: Vec<(&'static str, String)> },
    /// Nothing, and nothing of ralph's settings either: a check must not behave differently under ralph.
    Nothing,
}

impl Told {
    /// What is set, and what is removed from the environment that ralph was started with.
    fn env(self, run: &Run, shared: &Shared) -> (Vec<(&'static str, String)>, Vec<OsString>) {
        match self {
            Told::Run { iteration, extra } => {
                (shared.env(run, iteration).into_iter().chain(extra).collect(), Vec::new())
            }
            Told::Nothing => {
                (Vec::new(), std::env::vars_os().map(|(name, _)| name).filter(is_ralphs).collect())
            }
        }
    }
}

fn is_ralphs(name: &OsString) -> bool {
    name.as_encoded_bytes().starts_with(b"RALPH_")
}

impl Lane {
    pub(super) fn begin(&mut self, id: StepId, work: Work) {
        self.busy = Some(Busy { id, work });
    }

    /// Its step is over, or goes on as something else.
    pub(super) fn free(&mut self) -> Option<StepId> {
        self.busy.take().map(|busy| busy.id)
    }

    /// The program that the keeper has spoken of; a step on a thread is not the keeper's.
    pub(super) fn take_program(&mut self) -> Option<(StepId, Program)> {
        match self.busy.take() {
            Some(Busy { id, work: Work::Program(program) }) => Some((id, program)),
            elsewhere => {
                self.busy = elsewhere;
                None
            }
        }
    }

    /// The keeper is dead: the next program gets a new one.
    pub(super) fn forget_keeper(&mut self) {
        self.keeper = None;
    }

    /// Whatever prints: an agent at work, or one that is asked for a commit message.
    pub(super) fn printing(&mut self) -> Option<&mut AgentStep> {
        match &mut self.busy.as_mut()?.work {
            Work::Program(program) => program.printing_mut(),
            Work::Thread(_) => None,
        }
    }

    /// The agent at work.
    pub(super) fn agent(&mut self) -> Option<(StepId, &mut AgentStep)> {
        match self.busy.as_mut()? {
            Busy { id, work: Work::Program(Program::Agent(step)) } => Some((*id, step)),
            Busy { .. } => None,
        }
    }

    /// When its agent will have been silent for too long.
    fn silent_at(&self) -> Option<Instant> {
        match &self.busy.as_ref()?.work {
            Work::Program(Program::Agent(step)) => step.silent_at(),
            Work::Program(_) | Work::Thread(_) => None,
        }
    }

    /// Returns the end of a step that is no longer waited for. Others end by themselves after this.
    fn cancel(&mut self, how: How) -> Option<Fact> {
        match self.busy.take()? {
            Busy { id, work: Work::Thread(thread) } if how >= How::Kill => {
                Some(Fact::Ended { id, end: thread.abandon() })
            }
            busy => {
                if let Work::Program(_) = busy.work {
                    self.end_program(how);
                }
                self.busy = Some(busy);
                None
            }
        }
    }

    /// A keeper that cannot be reached has died, and says so by itself.
    pub(super) fn end_program(&self, how: How) {
        let Some(keeper) = &self.keeper else { return };
        let _ = match how {
            How::Ask => keeper.terminate(),
            How::Kill => keeper.sweep(),
            How::KillKeeper => keeper.kill(),
        };
    }

    fn spawn(&mut self, run: &Run, shared: &Shared, launch: Launch<'_>) -> Result<(), StartError> {
        let Launch { argv, cwd, mut stdio, told, site, terminal } = launch;
        let (env, mut env_remove) = told.env(run, shared);
        if terminal.is_some() {
            env_remove.extend(on_terminal::OTHER_TERMINALS.map(OsString::from));
        }
        let env = env.into_iter().map(|(name, value)| (name.to_string(), value));
        // For checks, too: what git leaves running in the background is ended with its step, half way
        // and with its lock.
        let env = env.chain(git::tidy_in_foreground()).map(|(name, value)| (name.into(), value.into()));
        let env = env.collect();
        let command = process::Command { argv, cwd: cwd.to_path_buf(), env, env_remove, wrapper: None };
        let command = match site {
            LaunchSite::Inside(inside) => {
                if let Some(sandbox) = &shared.sandbox {
                    sandbox.before_step();
                }
                place::command(shared.sandbox.as_deref(), &inside, command)
            }
            LaunchSite::Outside => place::command(None, &Inside::of(Role::Check), command),
        };
        let command = match terminal {
            Some(terminal) => {
                let (command, told) = terminal.command(command, shared)?;
                stdio.stdin = told.into();
                command
            }
            None => command,
        };
        let keeper = match &mut self.keeper {
            Some(keeper) => keeper,
            none => none.insert(shared.start_keeper()?),
        };
        Ok(keeper.spawn(&command, stdio)?)
    }

    fn poll_keeper(&mut self, cx: &mut Context<'_>) -> Poll<LaneEvent> {
        match &mut self.keeper {
            Some(keeper) => keeper.poll_event(cx).map(LaneEvent::Keeper),
            None => Poll::Pending,
        }
    }

    fn poll_work(&mut self, cx: &mut Context<'_>) -> Poll<LaneEvent> {
        match self.busy.as_mut().map(|busy| &mut busy.work) {
            Some(Work::Thread(thread)) => thread.poll(cx).map(LaneEvent::Thread),
            Some(Work::Program(program)) => match program.printing() {
                Some(step) => step.poll_readable(cx).map(|()| LaneEvent::Readable),
                None => Poll::Pending,
            },
            None => Poll::Pending,
        }
    }

    /// Ends whatever runs; returns when nothing is left.
    fn close(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.finish();
        }
    }
}
