//! A sandbox that keeps checks from passing, found before the first agent.

use super::{Round, RoundState, Rounds};
use crate::check::{CheckOutcome, CheckResult};
use crate::run::Run;
use crate::sandbox::needs::Need;
use crate::text::counted;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a check that fails in the sandbox shows outside of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnlyOutside {
    /// How many tests pass only there, and the first of them by name.
    #[serde(default)]
    pub tests: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// What its output inside says is missing there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
}

/// A check that the sandbox breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTheWay {
    pub check: usize,
    /// It passes outside as a whole; else some of its tests do.
    pub whole: bool,
    pub seen: OnlyOutside,
    /// What it printed inside, and outside.
    pub log: PathBuf,
    pub log_outside: PathBuf,
}

/// The last result in the sandbox of each check that is red wherever it ran there: the workspace itself, or the
/// copy and the workspace. A tree of a record is not in the workspace.
pub(super) fn red_inside(rounds: &Rounds) -> impl Iterator<Item = &CheckResult> {
    let is_red = |result: &&CheckResult| matches!(result.outcome, CheckOutcome::Failed(_));
    let recorded =
        |baseline: &RoundState| baseline.prepared.as_ref().is_some_and(|prepared| prepared.recorded);
    let baseline = rounds.get(Round::Baseline).filter(|baseline| !recorded(baseline));
    let on_copy = baseline.is_some_and(RoundState::is_on_copy);
    let round = if on_copy { rounds.get(Round::BaselineInPlace) } else { baseline };
    round.into_iter().flat_map(|round| &round.results).filter(is_red)
}

/// What the sandbox breaks, once everything that is red inside has run outside as well.
pub(super) fn found(rounds: &Rounds) -> Option<Vec<InTheWay>> {
    let outside = rounds.get(Round::BaselineOutside);
    let mut found = Vec::new();
    for inside in red_inside(rounds) {
        let there = outside.and_then(|round| round.result(inside.index))?;
        let seen = there.only_outside.as_deref().cloned().unwrap_or_default();
        let whole = there.outcome.passed();
        if whole || seen.tests > 0 {
            let (log, log_outside) = (inside.log.clone(), there.log.clone());
            found.push(InTheWay { check: inside.index, whole, seen, log, log_outside });
        }
    }
    Some(found)
}

/// Why a run cannot go on in its sandbox: which checks, and the likely reasons.
pub fn why(run: &Run, broken: &[InTheWay]) -> Option<String> {
    let checks =
        broken.iter().map(|broken| broken.sentence(run)).reduce(|all, next| format!("{all}; {next}"))?;
    let needs = distinct(broken);
    let reasons = needs.iter().take(REASONS).map(|need| match need.what.setting() {
        Some((key, _)) => format!("{} (sandbox.{key})", need.what.sentence()),
        None => need.what.sentence(),
    });
    let reasons = reasons.collect::<Vec<_>>().join(", ");
    Some(if reasons.is_empty() { checks } else { format!("{checks}: {reasons}") })
}

/// The first of them are in the sentence.
const REASONS: usize = 3;

/// What all of them lack, each once.
pub fn distinct(broken: &[InTheWay]) -> Vec<&Need> {
    let mut needs: Vec<&Need> = Vec::new();
    for need in broken.iter().flat_map(|broken| &broken.seen.needs) {
        if needs.iter().all(|known| known.what != need.what) {
            needs.push(need);
        }
    }
    needs.sort_by_key(|need| need.what.setting().is_none());
    needs
}

impl InTheWay {
    fn sentence(&self, run: &Run) -> String {
        let command = run.checks.get(self.check).map_or("a check", |check| &check.command);
        if self.whole {
            return format!("`{command}` passes only outside the sandbox");
        }
        let verb = if self.seen.tests == 1 { "passes" } else { "pass" };
        let names = match &self.seen.named[..] {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        format!("{} of `{command}` {verb} only outside the sandbox{names}", counted(self.seen.tests, "test"))
    }
}
