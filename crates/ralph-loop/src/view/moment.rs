//! Something that has happened in a run, with all that it takes to report it.

use super::history::Iteration;
use super::run_view::{RunView, Totals};
use crate::ask::Ask;
use crate::check::{CheckEnd, CheckOutcome, CheckSpec};
use crate::dialect::{Blocker, Exit, NeedsPerson};
use crate::event::{AgentEnd, Event, How, RestoreEnd, SnapshotEnd, UncommittedEnd, Why};
use crate::low_disk::Shortage;
use crate::plan::Item;
use crate::plan::tasks::TasksEnd;
use crate::proof::{Prepared, Round};
use crate::run::{AgentSpec, Run};
use crate::scm::{MessageOutcome, TaskOutcome};
use crate::state::{State, Stopped};
use crate::verdict::Judgement;

#[derive(Clone, Debug)]
pub enum Moment<'e> {
    Opened,
    /// A new process has taken the run up.
    Resumed,
    AgentBegan {
        iteration: u32,
        attempt: u32,
        item: &'e Item,
        /// Another agent than before in this iteration, or the first.
        is_another: bool,
    },
    /// What a round of checks runs on is made ready.
    PrepareBegan(Round),
    Prepared {
        round: Round,
        prepared: &'e Prepared,
    },
    /// A command installs dependencies into the copy.
    SetupBegan {
        command: &'e str,
    },
    SetupEnded(&'e CheckEnd),
    /// It is known what was red before the first agent; the state has it.
    BaselineKnown,
    CheckBegan {
        check: &'e CheckSpec,
        round: Round,
    },
    /// An agent is asked for a commit message.
    MessageAsked,
    ScmBegan {
        /// The command.
        task: &'e str,
    },
    /// A step is ended early.
    Cancelled {
        how: How,
        why: Why,
    },
    AgentEnded {
        iteration: u32,
        attempt: u32,
        /// Which of the run's agents.
        agent: usize,
        end: &'e AgentEnd,
        /// Why ralph has ended it, if it did and it had not answered.
        cancelled: Option<Why>,
    },
    /// The service has refused: the same iteration begins again after a wait.
    RetryAfter {
        wait_ms: u64,
    },
    CheckEnded {
        check: &'e CheckSpec,
        round: Round,
        outcome: CheckOutcome,
        end: &'e CheckEnd,
    },
    /// A check was cut short and has shown nothing.
    CheckCutShort(&'e CheckEnd),
    Checkpoint {
        iteration: u32,
        end: &'e SnapshotEnd,
        /// It was taken after an empty answer, not before the iteration.
        after_answer: bool,
        /// The first in this life of the run that could not be taken, or that leaves something out.
        problem_is_new: bool,
        left_out_is_new: bool,
    },
    MessageEnded(&'e MessageOutcome),
    ScmEnded {
        task: String,
        outcome: &'e TaskOutcome,
    },
    /// What was left in the run's own worktree.
    WorktreeCommitted(&'e TaskOutcome),
    Restored(&'e RestoreEnd),
    TasksRead {
        end: &'e TasksEnd,
        /// In this life of the run.
        is_first: bool,
    },
    /// What an iteration has left uncommitted.
    Uncommitted(&'e UncommittedEnd),
    /// The step begins again.
    StepLost {
        why: &'e str,
    },
    StepImpossible {
        why: &'e str,
    },
    IterationEnded {
        judgement: &'e Judgement,
        iteration: Box<Iteration>,
        /// Of its last agent.
        exit: Option<Exit>,
        /// An agent of it was ended for its silence.
        was_silent: bool,
    },
    StopAsked,
    Asked(&'e Ask),
    /// A pause, where none was asked for before.
    Paused,
    /// The agent has been silent for too long.
    Silent,
    Blocked(Option<Blocker>),
    /// The run begins to wait for something: reported once, however often it looks.
    WaitBegan(Wait<'e>),
    /// Work begins again after a wait for free space.
    EnoughSpace,
    Stopped {
        stopped: &'e Stopped,
        /// The run did what was asked of it.
        success: bool,
        /// The last iteration matched the pattern that ends the run.
        matched: bool,
    },
}

/// What a run waits for.
#[derive(Clone, Copy, Debug)]
pub enum Wait<'e> {
    Disk(&'e Shortage),
    Network,
    Service {
        why: &'e str,
    },
    /// In the agent's terminal.
    Person {
        why: Option<NeedsPerson>,
        text: &'e str,
    },
}

/// One event, and what it means.
#[derive(Clone, Debug)]
pub struct Update<'e> {
    pub run: &'e Run,
    /// After the event.
    pub state: &'e State,
    pub event: &'e Event,
    pub moments: Vec<Moment<'e>>,
    /// The agent that began last.
    pub(super) agent: usize,
    pub(super) totals: Totals,
}

impl<'e> Update<'e> {
    /// The agent at work, or the one that was the last.
    pub fn agent(&self) -> Option<&'e AgentSpec> {
        self.run.agents.get(self.agent)
    }

    /// Its name, if the run has several agents.
    pub fn agent_name(&self) -> Option<&'e str> {
        let agent = self.agent().filter(|_| self.run.agents.len() > 1)?;
        Some(&agent.name)
    }

    /// Its name, or what it is called in a run with one agent.
    pub fn agent_or(&self, alone: &'e str) -> &'e str {
        self.agent_name().unwrap_or(alone)
    }

    /// The run as it is now.
    pub fn view(&self) -> RunView {
        RunView::of(self.run, self.state, &self.totals)
    }
}
