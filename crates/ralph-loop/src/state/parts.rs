//! The parts of the state that have a life of their own.

use crate::ask::Silence;
use crate::check::CheckResult;
use crate::dialect::{Blocker, Refusal};
use crate::event::{Head, How, Step, StepId, StopReason, VERSION, Why};
use crate::money::Usd;
use crate::plan::Advance;
use crate::verdict::{Claim, Judgement, Settlement, Verdict};
use std::collections::VecDeque;
use thiserror::Error;

/// A tree and the place in the user's repository that it was recorded at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub tree: String,
    pub head: Head,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Between iterations.
    Ready {
        /// The tree before the coming iteration is recorded.
        snapshot_taken: bool,
    },
    /// The agent has answered, or was ended for its silence; the checks are next.
    Answered { claim: Claim, reply: Reply, results: Vec<CheckResult> },
    /// The agent has failed.
    Failed { why: String },
}

/// What came with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Words,
    /// It was ended for its silence, whatever it had said before.
    Silent(Silence),
    /// Nothing. `idle`: its stream shows that it has used no tool.
    Empty {
        idle: bool,
    },
    /// Nothing, and the tree is as it was.
    EmptyUnchanged,
    /// Nothing, but the agent has worked on the tree.
    EmptyChanged,
}

impl Reply {
    pub fn is_empty(self) -> bool {
        match self {
            Reply::Words | Reply::Silent(_) => false,
            Reply::Empty { .. } | Reply::EmptyUnchanged | Reply::EmptyChanged => true,
        }
    }

    pub fn silence(self) -> Option<Silence> {
        match self {
            Reply::Silent(silence) => Some(silence),
            Reply::Words | Reply::Empty { .. } | Reply::EmptyUnchanged | Reply::EmptyChanged => None,
        }
    }
}

/// A tree and the commit that it is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub tree: String,
    pub commit: Option<String>,
}

/// A step that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    pub id: StepId,
    pub step: Step,
    pub since_ms: u64,
    /// When the agent gave its last answer.
    pub answered_ms: Option<u64>,
    /// It has shown no sign of life for too long.
    pub silence: Option<Silence>,
    /// It tells that it cannot go on.
    pub blocked: Option<Blocked>,
    pub cancel: Option<Cancel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    pub by: Blocker,
    pub since_ms: u64,
}

/// What keeps an agent from being started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Its service refuses until then, in the run's own time.
    Until(u64),
    /// It refuses, and that will not change by itself.
    ForGood { why: String, about: Refusal },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    pub how: How,
    pub why: Why,
    pub since_ms: u64,
}

/// Things in a row that a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streaks {
    pub failures: u32,
    pub failed_at_ms: u64,
    /// Within the current iteration.
    pub empty_answers: u32,
    pub losses: u32,
}

/// What iterations cost, to tell whether another one fits into the budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// What was spent when the current iteration began.
    before: Usd,
    /// Of the last iterations.
    recent: VecDeque<Usd>,
}

/// So many iterations are looked back on.
const RECENT_COSTS: usize = 15;

impl Costs {
    pub(super) fn judged(&mut self, spent: Usd) {
        if self.recent.len() == RECENT_COSTS {
            self.recent.pop_front();
        }
        self.recent.push_back(spent.less(self.before));
        self.before = spent;
    }

    /// What an iteration mostly costs; nothing is known before the first.
    pub fn median(&self) -> Usd {
        let mut sorted: Vec<Usd> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }
}

/// How the agents' services treat the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Refusals in a row that did not say for how long.
    pub(super) waits: u32,
    /// Since when no service has been reached.
    pub down_since_ms: Option<u64>,
}

/// What the agents' output could be read as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// By agent: it has printed something besides JSON.
    text: Vec<bool>,
    /// The last one printed nothing but JSON, as always before.
    pub json_only: bool,
}

impl Heard {
    pub(super) fn answered(&mut self, agent: usize, json: bool) {
        if self.text.len() <= agent {
            self.text.resize(agent + 1, false);
        }
        self.text[agent] |= !json;
        self.json_only = !self.text[agent];
    }
}

/// Iterations in a row that were no use: they left the same checks red and the tree as it was, or
/// brought the plan no further. Attempts that are put back are compared with each other instead:
/// they failed the same checks with the same change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    pub iterations: u32,
    tree: Option<String>,
    failed: Vec<usize>,
    /// What the last attempt that was put back had changed.
    change: Option<String>,
    /// What the last iteration left red, until the next snapshot tells what it changed.
    unsettled: Option<Vec<usize>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    pub reason: StopReason,
    pub note: Option<String>,
}

/// Whether a run that is not alive can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumable {
    Now,
    /// Once it may use more iterations, money or time.
    WithHigherLimit,
    /// It is done.
    Never,
}

/// A fact that cannot follow from those before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Illegal {
    #[error("a journal must start with `opened`")]
    NotOpened,
    #[error("written with journal version {0}, this ralph supports up to {VERSION}")]
    Version(u32),
    #[error("expected event {expected}, found {found}")]
    Sequence { expected: u64, found: u64 },
    #[error("expected epoch {expected}, found {found}")]
    Epoch { expected: u32, found: u32 },
    #[error("time goes backwards")]
    Backwards,
    #[error("the run has already stopped")]
    AlreadyStopped,
    #[error("a run that ended as `{0}` cannot be resumed")]
    NotResumable(&'static str),
    #[error("`{0}` is not possible at this point")]
    OutOfPlace(&'static str),
    #[error("step {0} is not running")]
    NoSuchStep(StepId),
}

impl Default for Hold {
    fn default() -> Hold {
        Hold::Until(0)
    }
}

impl Hold {
    /// When it ends.
    pub fn until_ms(&self) -> u64 {
        match self {
            Hold::Until(ms) => *ms,
            Hold::ForGood { .. } => u64::MAX,
        }
    }
}

impl Stall {
    pub(super) fn judge(&mut self, judgement: &Judgement, advance: Advance) {
        let failed = judgement.verdict.failed_checks();
        self.unsettled = None;
        match (&judgement.verdict, advance) {
            (Verdict::AgentFailed { .. }, _) => self.iterations = 0,
            (Verdict::Green { .. }, _) if matches!(judgement.settlement, Settlement::Retry { .. }) => {
                self.unsettled = Some(failed.to_vec());
            }
            // Whatever it has done beside: it goes round in circles.
            (_, Advance::NothingAgain) => {
                self.iterations += 1;
                self.failed = failed.to_vec();
            }
            (Verdict::Red { .. }, _) | (Verdict::Green { .. }, Advance::Nothing) => {
                self.unsettled = Some(failed.to_vec());
            }
            (Verdict::Green { .. }, Advance::Untold | Advance::Made) => self.iterations = 0,
        }
    }

    /// The tree is where the attempt began, so only what it had changed tells it from others.
    pub(super) fn put_back(&mut self, change: Option<&str>) {
        let Some(failed) = self.unsettled.take() else { return };
        let alike = failed == self.failed && self.change.as_deref() == change;
        self.iterations = if alike { self.iterations + 1 } else { 1 };
        (self.failed, self.change) = (failed, change.map(String::from));
    }

    /// Whether a tree is the one that the iteration began with.
    pub(super) fn knows(&self, tree: &str) -> bool {
        self.tree.as_deref() == Some(tree)
    }

    /// The tree as the last iteration left it. An unknown tree is a changed one: a run is
    /// never ended on a guess.
    pub(super) fn learn(&mut self, tree: Option<&str>) {
        let unchanged = tree.is_some() && self.tree.as_deref() == tree;
        self.tree = tree.map(String::from);
        let Some(failed) = self.unsettled.take() else { return };
        self.iterations = match (unchanged, failed == self.failed) {
            (true, true) => self.iterations + 1,
            (true, false) => 1,
            (false, _) => 0,
        };
        self.failed = failed;
    }
}
