//! What "done" is worth: which checks ran on which files, and the word that follows.
//!
//! A claim is proven on what would be delivered, with the tests and checks as they were at the
//! start, and compared with what was red before. [`rounds::due`] names the next round of checks,
//! [`word::judge`] turns the rounds into one [`Word`]. Both are pure: what a round ran on is
//! recorded as a fact ([`Prepared`]) by those who have looked at the disk.
//!
//! Deliberately absent: which files decide over a verdict ([`crate::gates`]), and what a test
//! runner prints ([`crate::test_report`]).

mod before;
pub mod in_the_way;
pub mod rounds;
mod tests_seen;
pub mod word;

pub use before::{Baseline, CheckBefore, ProofState};
pub use in_the_way::{InTheWay, OnlyOutside};
pub use tests_seen::{TestsChanged, TestsSeen};
pub use word::{Proof, Word};

use crate::check::CheckResult;
use crate::gates::GateChange;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How a run is to prove its work. Runs of earlier versions have none and prove nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofSpec {
    pub mode: ProofMode,
    /// Run the checks once before the first agent.
    pub baseline: bool,
    /// Commands that install dependencies into the copy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<String>,
    /// Ignored paths that are taken into the copy as they are, beside what is detected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carry: Vec<String>,
    /// Globs of files that decide over a verdict, beside what is detected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<String>,
    /// Globs of JUnit files that checks write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub junit: Vec<String>,
    /// Trees that were recorded before, instead of those of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// What is proven again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// For people: `run 20261115-2215`.
    pub of: String,
    /// The tree that the work began with, and the one that it led to.
    pub base: String,
    pub delivered: String,
    /// Where their objects are, if not in the user's repository.
    pub objects: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofMode {
    /// On a clean copy where that is possible, else in place.
    #[default]
    Auto,
    /// In the workspace, as the agent has left it.
    InPlace,
    /// On a clean copy, or not at all.
    Clean,
    /// The same, and what is green only with changed tests is refused.
    Strict,
}

impl ProofMode {
    pub const ALL: [ProofMode; 4] =
        [ProofMode::Auto, ProofMode::InPlace, ProofMode::Clean, ProofMode::Strict];

    /// As in flags, settings and the journal.
    pub fn word(self) -> &'static str {
        match self {
            ProofMode::Auto => "auto",
            ProofMode::InPlace => "in-place",
            ProofMode::Clean => "clean",
            ProofMode::Strict => "strict",
        }
    }

    pub fn wants_copy(self) -> bool {
        match self {
            ProofMode::Auto | ProofMode::Clean | ProofMode::Strict => true,
            ProofMode::InPlace => false,
        }
    }

    pub fn requires_copy(self) -> bool {
        match self {
            ProofMode::Clean | ProofMode::Strict => true,
            ProofMode::Auto | ProofMode::InPlace => false,
        }
    }
}

/// Which files a round of checks runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Round {
    /// The workspace, as the agent has left it.
    #[default]
    Workspace,
    /// The untouched files, before the first agent, where the proof will run.
    Baseline,
    /// The same in the workspace, for checks that are red on the copy.
    BaselineInPlace,
    /// The same outside the sandbox, for checks that are red inside.
    BaselineOutside,
    /// What would be delivered.
    Delivered,
    /// The same, with tests and checks as they were at the start.
    StartGates,
    /// The files of the start, with new and changed tests.
    OldSource,
}

impl Round {
    pub fn is_workspace(&self) -> bool {
        *self == Round::Workspace
    }

    /// Whether something has to be recorded or copied before its checks can run.
    pub fn needs_preparation(self) -> bool {
        match self {
            Round::Baseline | Round::Delivered | Round::StartGates | Round::OldSource => true,
            Round::Workspace | Round::BaselineInPlace | Round::BaselineOutside => false,
        }
    }

    /// Before the first agent.
    pub fn is_baseline(self) -> bool {
        match self {
            Round::Baseline | Round::BaselineInPlace | Round::BaselineOutside => true,
            Round::Workspace | Round::Delivered | Round::StartGates | Round::OldSource => false,
        }
    }
}

/// What a round of checks runs on, as it was found and made ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    pub site: Site,
    /// The tree that the checks see; none where trees are not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Whether the tree differs from the one that the work began with, apart from ralph's own files.
    /// Not known without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Tests, checks and their configuration that differ from the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateChange>,
    /// Whether there are tests to run on the old source.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_tests: bool,
    /// Directories that are used as they are in the workspace, and have changed since the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<String>,
    /// Paths that no tree holds, taken along from the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_along: Vec<String>,
    /// It is a tree that was recorded before, of which the workspace says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// The setup commands have to run first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub setup: bool,
    /// Ignored files that were made since the start: they are not delivered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// How long it took to make the copy the same as the tree, beside all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_ms: Option<u64>,
}

/// Where the checks of a round run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// On a clean copy.
    #[default]
    Copy,
    /// In the workspace; why, where a copy was wanted.
    Workspace { why: Option<String> },
}

impl Prepared {
    pub fn is_copy(&self) -> bool {
        self.site == Site::Copy
    }

    /// Changed gates, without tests that are only new.
    pub fn lowered(&self) -> impl Iterator<Item = &GateChange> {
        self.gates.iter().filter(|gate| gate.needs_second_run())
    }
}

/// A round of checks, as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundState {
    pub round: Round,
    /// None for rounds that need no preparation.
    pub prepared: Option<Prepared>,
    /// Setup commands that have succeeded.
    pub set_up: usize,
    pub results: Vec<CheckResult>,
}

impl RoundState {
    pub fn result(&self, index: usize) -> Option<&CheckResult> {
        self.results.iter().find(|result| result.index == index)
    }

    pub fn passed(&self, index: usize) -> Option<bool> {
        self.result(index).map(|result| result.outcome.passed())
    }

    pub fn is_green(&self) -> bool {
        self.results.iter().all(|result| result.outcome.passed())
    }

    /// The setup command that has to run before its checks.
    pub fn setup_due(&self, commands: usize) -> Option<usize> {
        let wanted = self.prepared.as_ref().is_some_and(|prepared| prepared.is_copy() && prepared.setup);
        (wanted && self.set_up < commands).then_some(self.set_up)
    }

    pub fn is_on_copy(&self) -> bool {
        self.prepared.as_ref().is_some_and(Prepared::is_copy)
    }
}

/// The rounds of one iteration, or of the baseline, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rounds(Vec<RoundState>);

impl Rounds {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, round: Round) -> Option<&RoundState> {
        self.0.iter().find(|state| state.round == round)
    }

    pub fn last(&self) -> Option<&RoundState> {
        self.0.last()
    }

    pub fn all(&self) -> impl Iterator<Item = &RoundState> {
        self.0.iter()
    }

    /// The round whose results are the verdict.
    pub fn deciding(&self) -> Option<&RoundState> {
        self.get(Round::Delivered).or_else(|| self.get(Round::Workspace))
    }

    /// Whether a check can run: no result of its round is left out, or there are others by which some
    /// are not wanted.
    pub(crate) fn may_check(&self, round: Round, index: usize) -> bool {
        let done = self.get(round);
        let selected = match round {
            Round::Workspace => self.get(Round::Delivered).is_some(),
            Round::BaselineInPlace | Round::BaselineOutside => true,
            Round::Baseline | Round::Delivered | Round::StartGates | Round::OldSource => false,
        };
        let is_ready = done.is_some() || !round.needs_preparation();
        let results = done.map_or(&[] as &[CheckResult], |done| &done.results);
        is_ready
            && if selected {
                done.is_none_or(|done| done.result(index).is_none())
            } else {
                results.len() == index
            }
    }

    pub(crate) fn prepare(&mut self, round: Round, prepared: Prepared) {
        self.0.retain(|state| state.round != round);
        self.0.push(RoundState { round, prepared: Some(prepared), set_up: 0, results: Vec::new() });
    }

    /// A setup command has ended. If it failed, the copy cannot be used.
    pub(crate) fn set_up(&mut self, round: Round, failure: Option<String>) {
        let Some(state) = self.0.iter_mut().find(|state| state.round == round) else { return };
        match (failure, &mut state.prepared) {
            (Some(why), Some(prepared)) => prepared.site = Site::Workspace { why: Some(why) },
            _ => state.set_up += 1,
        }
    }

    pub(crate) fn add(&mut self, round: Round, result: CheckResult) {
        match self.0.iter_mut().find(|state| state.round == round) {
            Some(state) => state.results.push(result),
            None => self.0.push(RoundState { round, prepared: None, set_up: 0, results: vec![result] }),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
