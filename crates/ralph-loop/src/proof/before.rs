//! What was known of the checks before an agent worked, and what has been proven since.

use super::{InTheWay, Prepared, Proof, Round, RoundState, Rounds, Site, TestsSeen, Word, in_the_way};
use crate::check::{CheckOutcome, CheckResult};
use std::collections::BTreeMap;

/// What a run knows about proof between its iterations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProofState {
    /// How many checks the run has.
    checks: usize,
    /// Its programs run in a sandbox.
    confined: bool,
    pub baseline: Baseline,
    /// The tree that a claim is compared with: the run's first, later the last proven one.
    pub base: Option<String>,
    /// Where the proof runs; not known before the baseline.
    pub site: Option<Site>,
    /// There was a copy, and the baseline has shown that it does not do.
    pub fell_back: bool,
    /// Checks that the sandbox breaks: no agent is started.
    pub in_the_way: Vec<InTheWay>,
    /// Checks that were red before the first agent.
    red: Vec<CheckResult>,
    /// How often each word was earned.
    pub words: BTreeMap<Word, u32>,
    /// The last proof.
    pub last: Option<Proof>,
    /// Claims in a row whose failing checks all pass in the workspace.
    pub only_in_place: u32,
}

/// The checks before the first agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Baseline {
    /// Not wanted, or not begun.
    #[default]
    Unknown,
    Running(Rounds),
    /// By check.
    Known(Vec<CheckBefore>),
}

/// What one check was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckBefore {
    /// None if it took too long to tell.
    pub passed: Option<bool>,
    pub tests: Option<TestsSeen>,
    /// Tests and checks that it writes to.
    pub touched: Vec<String>,
}

impl CheckBefore {
    fn of(result: &CheckResult) -> CheckBefore {
        let passed = match result.outcome {
            CheckOutcome::Passed => Some(true),
            CheckOutcome::Failed(_) => Some(false),
            CheckOutcome::TimedOut { .. } => None,
        };
        CheckBefore { passed, tests: result.tests.clone(), touched: result.touched.clone() }
    }
}

impl ProofState {
    pub(crate) fn new(checks: usize, confined: bool) -> ProofState {
        ProofState { checks, confined, ..ProofState::default() }
    }

    pub fn check_before(&self, index: usize) -> Option<&CheckBefore> {
        match &self.baseline {
            Baseline::Known(checks) => checks.get(index),
            Baseline::Unknown | Baseline::Running(_) => None,
        }
    }

    pub fn is_in_place(&self) -> bool {
        matches!(self.site, Some(Site::Workspace { .. }))
    }

    /// The weakest word of what was proven: a chain is as strong as that.
    pub fn weakest(&self) -> Option<Word> {
        self.words.keys().copied().max()
    }

    /// The results of a baseline that is not over.
    pub fn so_far(&self) -> impl Iterator<Item = &CheckResult> {
        let rounds = match &self.baseline {
            Baseline::Running(rounds) => Some(rounds),
            Baseline::Unknown | Baseline::Known(_) => None,
        };
        rounds.into_iter().flat_map(Rounds::all).flat_map(|round| &round.results)
    }

    /// The hashes of reports that something may still be compared with.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &str> {
        let known = match &self.baseline {
            Baseline::Known(checks) => checks.as_slice(),
            Baseline::Unknown | Baseline::Running(_) => &[],
        };
        known.iter().filter_map(|check| Some(check.tests.as_ref()?.report.as_str()))
    }

    /// Something is proven: what comes next is compared with it.
    pub(crate) fn proven(&mut self, proof: &Proof, results: &[CheckResult]) {
        *self.words.entry(proof.word).or_default() += 1;
        if proof.tree.is_some() {
            self.base.clone_from(&proof.tree);
        }
        if !results.is_empty() {
            self.baseline = Baseline::Known(results.iter().map(CheckBefore::of).collect());
        }
        self.last = Some(proof.clone());
    }

    pub(crate) fn begin_baseline(&mut self, prepared: &Prepared) {
        let mut rounds = Rounds::default();
        rounds.prepare(Round::Baseline, prepared.clone());
        if prepared.tree.is_some() {
            self.base.clone_from(&prepared.tree);
        }
        self.baseline = Baseline::Running(rounds);
    }

    /// What an iteration has shown: `failures` are its checks that failed. One that claims nothing and
    /// is green says nothing about the copy.
    pub(crate) fn judged(&mut self, failures: &[CheckResult], is_proof: bool) {
        match failures.iter().all(|failure| failure.only_on_copy.is_some()) {
            true if !failures.is_empty() => self.only_in_place += 1,
            true if !is_proof => {}
            true | false => self.only_in_place = 0,
        }
    }

    /// Where the proof can run, and what the sandbox breaks, is to be found out again.
    pub(crate) fn forget_site(&mut self) {
        (self.baseline, self.site, self.fell_back) = (Baseline::Unknown, None, false);
        self.in_the_way.clear();
    }

    /// Checks of the baseline that are known to be red.
    pub(crate) fn red_before(&self) -> Vec<CheckResult> {
        self.red.clone()
    }

    /// A setup command of the baseline has ended.
    pub(crate) fn baseline_set_up(&mut self, round: Round, failure: Option<String>) {
        if let Baseline::Running(rounds) = &mut self.baseline {
            rounds.set_up(round, failure);
        }
    }

    /// A check of the baseline has ended.
    pub(crate) fn baseline_checked(&mut self, round: Round, result: CheckResult) {
        let Baseline::Running(rounds) = &mut self.baseline else { return };
        rounds.add(round, result);
        if let Some(Settled { results, site, in_the_way }) = settled(rounds, self.checks, self.confined) {
            let red = |result: &&CheckResult| matches!(result.outcome, CheckOutcome::Failed(_));
            self.fell_back =
                site != Site::Copy && rounds.get(Round::Baseline).is_some_and(RoundState::is_on_copy);
            self.red = results.iter().filter(red).cloned().collect();
            self.baseline = Baseline::Known(results.iter().map(CheckBefore::of).collect());
            self.site = Some(site);
            self.in_the_way = in_the_way;
        }
    }
}

/// The checks that are red on the copy, and are to be run in the workspace as well.
pub(super) fn red_on_copy(baseline: &RoundState) -> impl Iterator<Item = usize> {
    let red = |result: &&CheckResult| matches!(result.outcome, CheckOutcome::Failed(_));
    let recorded = baseline.prepared.as_ref().is_some_and(|prepared| prepared.recorded);
    let comparable = baseline.is_on_copy() && !recorded;
    let results = if comparable { baseline.results.as_slice() } else { &[] };
    results.iter().filter(red).map(|result| result.index)
}

/// What a baseline that is over has shown.
struct Settled {
    results: Vec<CheckResult>,
    /// Where the proof will run: in place if a check passes only there.
    site: Site,
    in_the_way: Vec<InTheWay>,
}

fn settled(rounds: &Rounds, checks: usize, confined: bool) -> Option<Settled> {
    let baseline = rounds.get(Round::Baseline).filter(|baseline| baseline.results.len() == checks)?;
    let in_place = rounds.get(Round::BaselineInPlace);
    let mut results = baseline.results.clone();
    let mut site = baseline.prepared.as_ref().map(|prepared| prepared.site.clone()).unwrap_or_default();
    for index in red_on_copy(baseline) {
        let there = in_place.and_then(|round| round.result(index))?;
        if there.outcome.passed() {
            let why = baseline.result(index).and_then(|result| result.summary.clone());
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let why = format!("a check passes in the working tree and fails on a clean copy{why}");
            site = Site::Workspace { why: Some(why) };
            if let Some(result) = results.get_mut(index) {
                *result = there.clone();
            }
        }
    }
    let in_the_way = if confined { in_the_way::found(rounds)? } else { Vec::new() };
    Some(Settled { results, site, in_the_way })
}
