//! A step whose program is under the keeper, and the ends that it can come to.

use super::Shared;
use super::prepare::checks_at_top;
use crate::engine::own_commit::OwnCommitStep;
use crate::engine::scm::{self, MessageIn};
use crate::engine::step::{AgentStep, CheckStep, ProgramEnd, SetupStep};
use crate::proof::after_check::AfterCheck;
use crate::proof::copy::CleanCopy;
use crate::proof::only_outside::RanInside;
use crate::proof::watched::WatchedTree;
use crate::report::Reporter;
use crate::texts::Texts;
use ralph_loop::check::CheckResult;
use ralph_loop::event::End;
use ralph_loop::proof::{Prepared, Round};
use ralph_loop::{Run, State};

pub(in crate::engine) enum Program {
    /// It could not be started because the keeper is dead. It ends when that is noticed.
    Unstarted,
    Agent(Box<AgentStep>),
    /// An agent that is asked for a commit message, and where it says it.
    Message {
        step: Box<AgentStep>,
        words: MessageIn,
    },
    Check(CheckStep),
    /// A command that installs dependencies.
    Setup(SetupStep),
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
            Program::Check(_) | Program::Setup(_) => {
                End::Impossible { why: format!("cannot start the shell: {error}") }
            }
            Program::OwnCommit(step) => step.failed(format!("cannot run git: {error}")),
        }
    }

    /// It has ended, and everything that it had started.
    pub(in crate::engine) fn finish(self, run: &Run, ended: ProgramEnd, sinks: Sinks<'_>) -> End {
        let Sinks { buffer, reporter, texts } = sinks;
        match self {
            Program::Unstarted => lost("it was not started".to_string()),
            Program::Agent(step) => step.finish(ended, buffer, reporter),
            Program::Message { step, words } => {
                scm::message_end(step.finish(ended, buffer, reporter), &words)
            }
            Program::Check(step) => step.finish(run, ended, texts),
            Program::Setup(step) => step.finish(ended),
            Program::OwnCommit(step) => step.finish(ended),
        }
    }

    /// The keeper has died, and everything that it had started has been ended.
    pub(in crate::engine) fn lost(self, sinks: Sinks<'_>) -> End {
        let why = "its supervisor process (the keeper) died".to_string();
        let Sinks { buffer, reporter, .. } = sinks;
        match self {
            Program::Agent(step) | Program::Message { step, .. } => step.lost(why, buffer, reporter),
            Program::Unstarted | Program::Check(_) | Program::Setup(_) | Program::OwnCommit(_) => lost(why),
        }
    }

    /// Where to look for what a check that has ended has left.
    pub(in crate::engine) fn after_check(
        &self,
        run: &Run,
        state: &State,
        shared: &Shared,
    ) -> Option<AfterCheck> {
        let Program::Check(CheckStep { output, index, began, round, .. }) = self else { return None };
        let spec = run.proof.as_ref()?;
        let on_copy = state.prepared(*round).is_some_and(Prepared::is_copy);
        let copy = shared.copy.as_ref().filter(|_| on_copy);
        let watched = shared.watched.as_ref().filter(|_| !on_copy);
        let compared = match round {
            Round::Baseline | Round::BaselineInPlace | Round::BaselineOutside | Round::Delivered => copy
                .and_then(|copy| copy.compared_with(run))
                .or_else(|| watched.and_then(|watched| watched.compared_with(run))),
            Round::Workspace | Round::StartGates | Round::OldSource => None,
        };
        let top = copy.map(CleanCopy::top).or_else(|| watched.map(WatchedTree::top));
        let before = state.proof.check_before(*index).and_then(|before| before.tests.as_ref());
        Some(AfterCheck {
            output: output.try_clone().ok()?,
            junit: spec.junit.clone(),
            dir: copy.map_or_else(|| run.workspace.clone(), |copy| copy.seen_at(&run.workspace)),
            began: *began,
            before: before.map(|tests| tests.report.clone()),
            run_dir: shared.run_dir.clone(),
            compared,
            checks: checks_at_top(run, top.unwrap_or(&run.workspace)),
            pins: spec.pin.clone(),
            inside: if *round == Round::BaselineOutside {
                ran_inside(run, state, shared, *index)
            } else {
                None
            },
        })
    }

    /// The agent that prints into ralph's pipes.
    pub(super) fn printing(&self) -> Option<&AgentStep> {
        match self {
            Program::Agent(step) | Program::Message { step, .. } => Some(step),
            Program::Unstarted | Program::Check(_) | Program::Setup(_) | Program::OwnCommit(_) => None,
        }
    }

    pub(super) fn printing_mut(&mut self) -> Option<&mut AgentStep> {
        match self {
            Program::Agent(step) | Program::Message { step, .. } => Some(step),
            Program::Unstarted | Program::Check(_) | Program::Setup(_) | Program::OwnCommit(_) => None,
        }
    }
}

/// How a check that runs outside has run in the sandbox.
fn ran_inside(run: &Run, state: &State, shared: &Shared, index: usize) -> Option<RanInside> {
    let sandbox = shared.sandbox.clone()?;
    let results: Vec<&CheckResult> = state.proof.so_far().filter(|result| result.index == index).collect();
    let reports = results.iter().map(|result| result.tests.as_ref().map(|tests| tests.report.clone()));
    let (reports, log) = (reports.collect(), run.workspace.join(&results.last()?.log));
    Some(RanInside { sandbox, log, reports })
}

fn lost(why: String) -> End {
    End::Lost { why, cost: None, estimate: None }
}
