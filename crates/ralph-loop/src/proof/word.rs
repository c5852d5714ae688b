//! The one word that a result is worth.
//!
//! The order of [`Word`] is that of strength, the strongest first, so that the weakest of several
//! can be found. [`judge`] reads like the list in docs/proof.md.

use super::{Prepared, ProofState, Round, RoundState, Rounds, Site, TestsSeen};
use crate::gates::{Change, GateChange, GateKind, in_one_line};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Checks or tests were red and are green, on a clean copy of what is delivered.
    Proven,
    /// The same, with dependencies or other surroundings as the agent left them.
    ProvenAsLeft,
    /// The same, in the workspace as the agent left it.
    ProvenInPlace,
    /// A fresh reviewer has approved it, and no check was red before.
    Reviewed,
    /// They were green before as well.
    PassAsBefore,
    /// Whether they were green before is not known.
    Pass,
    /// Without git it is not known what was changed, tests included.
    Unrecorded,
    /// The tree is as it was.
    NothingChanged,
    /// With the tests and checks of the start it is red.
    ChangedTests,
    /// Fewer tests than before, or a runner without its summary.
    TestsMissing,
    /// There is only the agent's word.
    NoChecks,
}

impl Word {
    /// As in JSON and in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Word::Proven => "proven",
            Word::ProvenAsLeft => "proven_as_left",
            Word::ProvenInPlace => "proven_in_place",
            Word::Reviewed => "reviewed",
            Word::PassAsBefore => "pass_as_before",
            Word::Pass => "pass",
            Word::Unrecorded => "unrecorded",
            Word::NothingChanged => "nothing_changed",
            Word::ChangedTests => "changed_tests",
            Word::TestsMissing => "tests_missing",
            Word::NoChecks => "no_checks",
        }
    }

    /// For the last line.
    pub fn sentence(self) -> &'static str {
        match self {
            Word::Proven => "proven",
            Word::ProvenAsLeft => "proven, with surroundings as the agent left them",
            Word::ProvenInPlace => "proven in place",
            Word::Reviewed => "reviewed",
            Word::PassAsBefore => "checks pass, as they did before",
            Word::Pass => "checks pass; they were not run before",
            Word::Unrecorded => "checks pass; what changed is not known without git",
            Word::NothingChanged => "checks pass, but nothing changed",
            Word::ChangedTests => "done, but green only with changed tests",
            Word::TestsMissing => "done, but tests are missing",
            Word::NoChecks => "said to be done, no checks",
        }
    }

    /// Whether the user should look before using it.
    pub fn is_doubtful(self) -> bool {
        match self {
            Word::ChangedTests | Word::TestsMissing | Word::NothingChanged | Word::NoChecks => true,
            Word::Proven
            | Word::ProvenAsLeft
            | Word::ProvenInPlace
            | Word::Reviewed
            | Word::PassAsBefore
            | Word::Pass
            | Word::Unrecorded => false,
        }
    }

    /// Whether `--proof strict` sends it back to the agent.
    pub fn is_refused_when_strict(self) -> bool {
        match self {
            Word::ChangedTests | Word::TestsMissing => true,
            Word::Proven
            | Word::ProvenAsLeft
            | Word::ProvenInPlace
            | Word::Reviewed
            | Word::PassAsBefore
            | Word::Pass
            | Word::Unrecorded
            | Word::NothingChanged
            | Word::NoChecks => false,
        }
    }
}

/// What was shown, and on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub word: Word,
    pub site: Site,
    /// The tree that the checks ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The tree that it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether each check passed before; none where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Option<bool>>,
    /// Checks that were red and are green, by their places in the run's list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<usize>,
    /// Checks that are red with new tests on the old source, and green now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_tests: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateChange>,
    /// Whether the checks are green with the gates of the start; none if that was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_gates: Option<bool>,
    /// What the tests of all checks amount to; none if no check prints any that ralph can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestsSeen>,
    /// Directories that are as the agent left them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_along: Vec<String>,
    /// Delivered files that a check changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by_checks: Vec<String>,
}

impl Proof {
    /// Changed gates in one line, without tests that are only new.
    pub fn changed_gates(&self) -> String {
        let changed = self.gates.iter().filter(|gate| gate.lowers());
        let changed: Vec<GateChange> = changed.cloned().collect();
        in_one_line(&changed, 10)
    }
}

/// Whether a fresh reviewer stands behind a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    None,
    Approved,
}

/// What the rounds of a green iteration that concludes something amount to.
pub fn judge(state: &ProofState, rounds: &Rounds, review: Review) -> Proof {
    let unchecked = RoundState { round: Round::Delivered, prepared: None, set_up: 0, results: Vec::new() };
    let delivered = rounds.deciding().unwrap_or(&unchecked);
    let nothing = Prepared::default();
    let prepared = delivered.prepared.as_ref().unwrap_or(&nothing);
    let fixed = fixed(state, delivered);
    let new_tests = new_tests(state, rounds, delivered);
    // One that could not be made shows nothing.
    let start_gates = rounds.get(Round::StartGates).map(|round| round.is_on_copy() && round.is_green());
    let missing = tests_missing(state, rounds, delivered);
    let touched = touched(state, delivered);
    let acts_on_tests = prepared.gates.iter().any(|gate| gate.change == Change::ActsOnTests);
    let start_gates_hold = prepared.lowered().next().is_none() || start_gates == Some(true);
    let gates_hold = touched.is_empty() && !acts_on_tests && start_gates_hold;
    let word = if delivered.results.is_empty() {
        if review == Review::Approved { Word::Reviewed } else { Word::NoChecks }
    } else if prepared.tree.is_none() {
        Word::Unrecorded
    } else if prepared.changed == Some(false) {
        Word::NothingChanged
    } else if missing {
        Word::TestsMissing
    } else if !gates_hold {
        Word::ChangedTests
    } else if !fixed.is_empty() || !new_tests.is_empty() {
        match (prepared.is_copy(), prepared.carried.is_empty()) {
            (true, true) => Word::Proven,
            (true, false) => Word::ProvenAsLeft,
            (false, _) => Word::ProvenInPlace,
        }
    } else if review == Review::Approved {
        Word::Reviewed
    } else if was_known(state, delivered) {
        Word::PassAsBefore
    } else {
        Word::Pass
    };
    Proof {
        word,
        site: prepared.site.clone(),
        tree: prepared.tree.clone(),
        base: state.base.clone(),
        before: delivered.results.iter().map(|result| state.check_before(result.index)?.passed).collect(),
        fixed,
        new_tests,
        gates: prepared.gates.iter().cloned().chain(touched).collect(),
        start_gates,
        tests: all_tests(delivered),
        carried: prepared.carried.clone(),
        taken_along: prepared.taken_along.clone(),
        changed_by_checks: changed_by_checks(delivered),
    }
}

/// Each path once: what one check has changed is still so for the next one.
fn changed_by_checks(delivered: &RoundState) -> Vec<String> {
    let changed: BTreeSet<&String> = delivered.results.iter().flat_map(|result| &result.changed).collect();
    changed.into_iter().cloned().collect()
}

/// Checks that were red before and are green now.
fn fixed(state: &ProofState, delivered: &RoundState) -> Vec<usize> {
    let was_red =
        |index: &usize| state.check_before(*index).is_some_and(|before| before.passed == Some(false));
    let green = delivered.results.iter().filter(|result| result.outcome.passed());
    green.map(|result| result.index).filter(was_red).collect()
}

/// Checks that are red if only the tests are new. They were green before, or it is not the new tests
/// that show it.
fn new_tests(state: &ProofState, rounds: &Rounds, delivered: &RoundState) -> Vec<usize> {
    let old_source = rounds.get(Round::OldSource).filter(|round| round.is_on_copy());
    let Some(old_source) = old_source else { return Vec::new() };
    let was_green =
        |index: usize| state.check_before(index).is_some_and(|before| before.passed == Some(true));
    let shows = |index: &usize| {
        old_source.passed(*index) == Some(false)
            && delivered.passed(*index) == Some(true)
            && was_green(*index)
    };
    old_source.results.iter().map(|result| result.index).filter(shows).collect()
}

/// Fewer tests than before; a runner that did not come to its end; a test that was green and is not
/// shown to be, neither as delivered nor with the tests of the start.
fn tests_missing(state: &ProofState, rounds: &Rounds, delivered: &RoundState) -> bool {
    let start_gates = rounds.get(Round::StartGates);
    delivered.results.iter().any(|result| {
        let before = state.check_before(result.index).and_then(|before| before.tests.as_ref());
        let Some(now) = &result.tests else {
            // There were tests, and now no runner says anything.
            return before.is_some_and(|before| before.total() > 0);
        };
        let lost = |tests: &TestsSeen| tests.changed.as_ref().is_some_and(|changed| changed.lost > 0);
        let fewer = now.changed.as_ref().is_some_and(|changed| changed.fewer);
        let shown = start_gates.and_then(|round| round.result(result.index)?.tests.as_ref());
        let shown = shown.is_some_and(|tests| tests.complete && !lost(tests));
        // A runner that has seen a failure should have ended with one.
        let contradicts = now.failed > 0;
        !now.complete || contradicts || fewer || (lost(now) && !shown)
    })
}

/// Tests and checks that were written to while they ran, and not before the first agent either: code
/// that changes its own tests shows nothing.
fn touched(state: &ProofState, delivered: &RoundState) -> Vec<GateChange> {
    let before = |index| state.check_before(index).map_or(&[] as &[String], |before| &before.touched);
    let new = delivered
        .results
        .iter()
        .flat_map(|result| result.touched.iter().filter(move |path| !before(result.index).contains(path)));
    let details = vec!["written to by a check".to_string()];
    let note = |path: &String| GateChange {
        path: path.clone(),
        kind: GateKind::Test,
        change: Change::Changed,
        details: details.clone(),
    };
    new.map(note).collect()
}

/// Whether it is known that no check was red before.
fn was_known(state: &ProofState, delivered: &RoundState) -> bool {
    let known = |index| state.check_before(index).is_some_and(|before| before.passed.is_some());
    delivered.results.iter().all(|result| known(result.index))
}

fn all_tests(delivered: &RoundState) -> Option<TestsSeen> {
    let seen = delivered.results.iter().filter_map(|result| result.tests.as_ref());
    seen.cloned().reduce(|mut sum, next| {
        sum.passed += next.passed;
        sum.failed += next.failed;
        sum.skipped += next.skipped;
        sum.complete &= next.complete;
        sum.changed = match (sum.changed.take(), next.changed) {
            (Some(mut sum), Some(next)) => {
                sum.fixed += next.fixed;
                sum.added += next.added;
                sum.vanished += next.vanished;
                sum.newly_skipped += next.newly_skipped;
                sum.lost += next.lost;
                sum.fewer |= next.fewer;
                sum.named.extend(next.named);
                Some(sum)
            }
            (one, other) => one.or(other),
        };
        sum
    })
}
