//! What a run may use up, what it has used, and what it waits for.

use crate::dialect::Refusal;
use crate::limits::Limits;
use crate::low_disk::LowDisk;
use crate::money::{Cost, Usd};
use crate::plan::Advance;
use crate::verdict::{Judgement, Settlement, Verdict};
use std::collections::VecDeque;

#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// As of now.
    pub limits: Limits,
    /// Iterations that are over; the current one is the next number.
    pub judged: u32,
    pub spent: Cost,
    pub costs: Costs,
    pub streaks: Streaks,
    pub stall: Stall,
    /// What keeps each agent from being started; nothing where missing.
    pub blocked: Vec<Hold>,
    pub service: Service,
    pub heard: Heard,
    /// The run waits for free space on a disk.
    pub low_disk: Option<LowDisk>,
}

impl Ledger {
    pub(super) fn new(limits: Limits) -> Ledger {
        Ledger {
            limits,
            judged: 0,
            spent: Cost::default(),
            costs: Costs::default(),
            streaks: Streaks::default(),
            stall: Stall::default(),
            blocked: Vec::new(),
            service: Service::default(),
            heard: Heard::default(),
            low_disk: None,
        }
    }

    /// Nothing that kept the run waiting does so any more: a person has looked.
    pub(crate) fn end_waits(&mut self) {
        self.blocked.clear();
        self.service = Service::default();
        self.low_disk = None;
    }

    /// An agent has failed, counted in a row.
    pub(super) fn fail(&mut self, now: u64) {
        self.streaks.failures += 1;
        self.streaks.failed_at_ms = now;
    }
}

/// What keeps an agent from being started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Its service refuses until then, in the run's own time.
    Until(u64),
    /// It refuses, and that will not change by itself.
    ForGood { why: String, about: Refusal },
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
    /// What the last iteration left red, until the next snapshot shows what it changed.
    unsettled: Option<Vec<usize>>,
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
            // Whatever else it has done: it goes round in circles.
            (_, Advance::NothingAgain) => {
                self.iterations += 1;
                self.failed = failed.to_vec();
            }
            (Verdict::Red { .. } | Verdict::Refused { .. }, _)
            | (Verdict::Green { .. }, Advance::Nothing) => {
                self.unsettled = Some(failed.to_vec());
            }
            (Verdict::Green { .. }, Advance::Unknown | Advance::Made) => self.iterations = 0,
        }
    }

    /// The tree is where the attempt began, so only what it had changed distinguishes it from others.
    pub(super) fn put_back(&mut self, change: Option<&str>) {
        let Some(failed) = self.unsettled.take() else { return };
        let alike = failed == self.failed && self.change.as_deref() == change;
        self.iterations = if alike { self.iterations + 1 } else { 1 };
        (self.failed, self.change) = (failed, change.map(String::from));
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
