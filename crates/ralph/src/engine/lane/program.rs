//! A step whose program is under the keeper, and the ends that it can come to.

use crate::engine::own_commit::OwnCommitStep;
use crate::engine::scm;
use crate::engine::step::{AgentStep, CheckStep, ProgramEnd};
use crate::report::Reporter;
use crate::texts::Texts;
use ralph_loop::Run;
use ralph_loop::dialect::Dialect;
use ralph_loop::event::End;
use std::path::PathBuf;

pub(in crate::engine) enum Program {
    /// It could not be started because the keeper is dead. It ends when that is noticed.
    Unstarted,
    Agent(Box<AgentStep>),
    /// An agent that is asked for a commit message, and where it says it.
    Message {
        step: Box<AgentStep>,
        words: PathBuf,
        read_as: Dialect,
    },
    Check(CheckStep),
    OwnCommit(OwnCommitStep),
}

/// Where the rest of what a program has printed goes, and the buffer that it is read into.
pub(in crate::engine) struct Sinks<'a> {
    pub(in crate::engine) buffer: &'a mut [u8],
    pub(in crate::engine) reporter: &'a mut dyn Reporter,
    pub(in crate::engine) texts: &'a mut Texts,
}

impl Program {
    /// The keeper could not start it.
    pub(in crate::engine) fn not_started(self, error: &str) -> End {
        match self {
            Program::Unstarted => lost(error.to_string()),
            Program::Agent(step) => step.not_started(error),
            Program::Message { .. } => scm::no_message(format!("cannot start the agent: {error}")),
            Program::Check(_) => End::Impossible { why: format!("cannot start the shell: {error}") },
            Program::OwnCommit(step) => step.failed(format!("cannot run git: {error}")),
        }
    }

    /// It has ended, and everything that it had started.
    pub(in crate::engine) fn finish(self, run: &Run, ended: ProgramEnd, sinks: Sinks<'_>) -> End {
        let Sinks { buffer, reporter, texts } = sinks;
        match self {
            Program::Unstarted => lost("it was not started".to_string()),
            Program::Agent(step) => step.finish(ended, buffer, reporter),
            Program::Message { step, words, read_as } => {
                scm::message_end(step.finish(ended, buffer, reporter), &words, read_as)
            }
            Program::Check(step) => step.finish(run, ended, texts),
            Program::OwnCommit(step) => step.finish(ended),
        }
    }

    /// The keeper has died, and everything that it had started has been ended.
    pub(in crate::engine) fn lost(self, sinks: Sinks<'_>) -> End {
        let why = "its supervisor process (the keeper) died".to_string();
        let Sinks { buffer, reporter, .. } = sinks;
        match self {
            Program::Agent(step) | Program::Message { step, .. } => step.lost(why, buffer, reporter),
            Program::Unstarted | Program::Check(_) | Program::OwnCommit(_) => lost(why),
        }
    }

    /// The agent that prints into ralph's pipes.
    pub(super) fn printing(&self) -> Option<&AgentStep> {
        match self {
            Program::Agent(step) | Program::Message { step, .. } => Some(step),
            Program::Unstarted | Program::Check(_) | Program::OwnCommit(_) => None,
        }
    }

    pub(super) fn printing_mut(&mut self) -> Option<&mut AgentStep> {
        match self {
            Program::Agent(step) | Program::Message { step, .. } => Some(step),
            Program::Unstarted | Program::Check(_) | Program::OwnCommit(_) => None,
        }
    }
}

fn lost(why: String) -> End {
    End::Lost { why, cost: None, estimate: None }
}
