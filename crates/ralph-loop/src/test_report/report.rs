//! What the runners of one output reported.
//!
//! Invariant: a test is counted once. `totals` are the tests that ran; `named` says how many of
//! them are in `tests`.

use crate::text::clip;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// The most names that one report keeps. Tests beyond it are counted.
pub const NAMES_MAX: usize = 50_000;
const GROUPS_MAX: usize = 10_000;
const PROBLEMS_MAX: usize = 20;
/// The group of a run that has no smaller ones.
pub(super) const WHOLE: &str = "(all)";
/// In characters.
const NAME_LONGEST: usize = 300;

/// A program that runs tests and prints what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    CargoTest,
    Nextest,
    Pytest,
    Unittest,
    GoTest,
    Jest,
    Vitest,
    NodeTest,
    Tap,
    Junit,
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Runner::CargoTest => "cargo test",
            Runner::Nextest => "cargo nextest",
            Runner::Pytest => "pytest",
            Runner::Unittest => "unittest",
            Runner::GoTest => "go test",
            Runner::Jest => "jest",
            Runner::Vitest => "vitest",
            Runner::NodeTest => "node --test",
            Runner::Tap => "TAP",
            Runner::Junit => "JUnit",
        })
    }
}

/// What became of one test. An expected failure counts as skipped: it proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// How many tests there were, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Totals {
    pub fn all(self) -> u64 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        self.add(outcome, 1);
    }

    pub(super) fn add(&mut self, outcome: Outcome, n: u64) {
        let counter = match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Skipped => &mut self.skipped,
        };
        *counter = counter.saturating_add(n);
    }

    pub(super) fn plus(self, other: Totals) -> Totals {
        Totals {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }

    /// What is left of each, never below zero.
    pub(super) fn less(self, other: Totals) -> Totals {
        Totals {
            passed: self.passed.saturating_sub(other.passed),
            failed: self.failed.saturating_sub(other.failed),
            skipped: self.skipped.saturating_sub(other.skipped),
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Why a runner's output proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "problem")]
pub enum Problem {
    /// The runner began and never printed its summary: it crashed, or a test ended it.
    NoSummary { of: String },
    /// The summary says something else than the lines before it.
    Disagreement { of: String, why: String },
    /// A summary without a run that it could belong to.
    StraySummary { of: String },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoSummary { of } => write!(f, "{of} ended without its summary"),
            Problem::Disagreement { of, why } => write!(f, "the summary of {of} does not match: {why}"),
            Problem::StraySummary { of } => write!(f, "{of} printed a summary without a run"),
        }
    }
}

/// Everything that one runner reported, in all its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suite {
    pub totals: Totals,
    /// How many of `totals` have their name in `tests`.
    pub named: Totals,
    /// Qualified by binary, package or file. The second test of a name ends in ` #2`.
    #[serde(default)]
    pub tests: BTreeMap<String, Outcome>,
    /// Totals per binary, package or file, as far as the runner prints that, or per run.
    #[serde(default)]
    pub groups: BTreeMap<String, Totals>,
    /// Files and packages whose tests could not be loaded: import errors, build errors.
    #[serde(default)]
    pub unloaded: BTreeSet<String>,
    #[serde(default)]
    pub problems: Vec<Problem>,
}

impl Suite {
    /// Whether a test that is not in `tests` has neither passed nor failed.
    pub fn names_all(&self) -> bool {
        self.named.passed == self.totals.passed && self.named.failed == self.totals.failed
    }
}

/// What all runners of an output reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    pub runners: BTreeMap<Runner, Suite>,
    /// There were more than [`NAMES_MAX`] names; the others are only counted.
    #[serde(default)]
    pub names_cut: bool,
}

impl TestReport {
    /// Whether every runner that began printed its summary, and the summaries match what they sum up.
    pub fn complete(&self) -> bool {
        self.problems().next().is_none()
    }

    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.runners.values().flat_map(|suite| &suite.problems)
    }

    pub fn totals(&self) -> Totals {
        self.runners.values().fold(Totals::default(), |sum, suite| sum.plus(suite.totals))
    }

    pub fn tests(&self) -> impl Iterator<Item = (&str, Outcome)> {
        self.runners.values().flat_map(|suite| &suite.tests).map(|(name, outcome)| (name.as_str(), *outcome))
    }
}

/// One run of a runner, as its parser leaves it.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub tests: Tests,
    /// Counted by the runner, not named.
    pub unnamed: Totals,
    pub groups: Vec<(String, Totals)>,
    pub unloaded: Vec<String>,
    pub problem: Option<Problem>,
}

/// The named tests of a run, in the order they were printed.
#[derive(Debug, Default)]
pub(super) struct Tests {
    named: Vec<(String, Outcome)>,
    totals: Totals,
}

impl Tests {
    /// Names beyond the most that a report keeps are only counted.
    pub fn push(&mut self, name: &str, outcome: Outcome) {
        self.totals.count(outcome);
        if self.named.len() < NAMES_MAX {
            self.named.push((clip(name, NAME_LONGEST).into_owned(), outcome));
        }
    }

    pub fn totals(&self) -> Totals {
        self.totals
    }

    pub fn is_empty(&self) -> bool {
        self.totals.all() == 0
    }
}

/// Collects the runs of all runners into a report.
#[derive(Debug, Default)]
pub(super) struct Book {
    report: TestReport,
    names: usize,
    /// How often a name was used, per runner.
    uses: HashMap<(Runner, String), u32>,
    group_uses: HashMap<(Runner, String), u32>,
}

impl Book {
    pub fn close(&mut self, runner: Runner, run: Run) {
        let suite = self.report.runners.entry(runner).or_default();
        suite.totals = suite.totals.plus(run.tests.totals).plus(run.unnamed);
        if run.tests.named.len() as u64 != run.tests.totals.all() {
            self.report.names_cut = true;
        }
        for (name, outcome) in run.tests.named {
            if self.names == NAMES_MAX {
                self.report.names_cut = true;
                break;
            }
            self.names += 1;
            suite.named.count(outcome);
            let name = numbered(&mut self.uses, runner, &name, |name| suite.tests.contains_key(name));
            suite.tests.insert(name, outcome);
        }
        for (group, totals) in run.groups {
            if suite.groups.len() < GROUPS_MAX {
                let group = clip(&group, NAME_LONGEST).into_owned();
                let group =
                    numbered(&mut self.group_uses, runner, &group, |group| suite.groups.contains_key(group));
                suite.groups.insert(group, totals);
            }
        }
        for name in run.unloaded {
            if suite.unloaded.len() < GROUPS_MAX {
                suite.unloaded.insert(clip(&name, NAME_LONGEST).into_owned());
            }
        }
        if let Some(problem) = run.problem {
            self.note(runner, problem);
        }
    }

    pub fn note(&mut self, runner: Runner, problem: Problem) {
        let suite = self.report.runners.entry(runner).or_default();
        if suite.problems.len() < PROBLEMS_MAX {
            suite.problems.push(problem);
        }
    }

    /// `None` if no runner was found.
    pub fn finish(self) -> Option<TestReport> {
        (!self.report.runners.is_empty()).then_some(self.report)
    }
}

/// The name, or `name #2` if it is the second of its kind. Two tests may share a name: a runner that
/// is started twice, two files in a runner that prints no file names.
fn numbered(
    uses: &mut HashMap<(Runner, String), u32>,
    runner: Runner,
    name: &str,
    taken: impl Fn(&str) -> bool,
) -> String {
    let count = uses.entry((runner, name.to_owned())).or_insert(0);
    loop {
        *count += 1;
        let candidate = if *count == 1 { name.to_owned() } else { format!("{name} #{count}") };
        if !taken(&candidate) {
            return candidate;
        }
    }
}

/// The problem, if the summary and what was seen differ.
pub(super) fn disagreement(of: &str, why: impl Into<String>) -> Problem {
    Problem::Disagreement { of: clip(of, NAME_LONGEST).into_owned(), why: why.into() }
}

impl TestReport {
    /// Takes in what another output of the same check reported.
    pub fn add(&mut self, other: TestReport) {
        let mut book = Book { report: std::mem::take(self), ..Book::default() };
        book.names = book.report.runners.values().map(|suite| suite.tests.len()).sum();
        for (runner, suite) in other.runners {
            let unnamed = suite.totals.less(suite.named);
            let tests = Tests { named: suite.tests.into_iter().collect(), totals: suite.named };
            let (groups, unloaded) =
                (suite.groups.into_iter().collect(), suite.unloaded.into_iter().collect());
            book.close(runner, Run { tests, unnamed, groups, unloaded, problem: None });
            for problem in suite.problems {
                book.note(runner, problem);
            }
        }
        book.report.names_cut |= other.names_cut;
        *self = book.report;
    }
}
