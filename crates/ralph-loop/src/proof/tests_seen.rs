//! What a check's output says about tests, as far as a verdict needs it.
//!
//! The whole report lies beside the journal, by hash; here are numbers and a few names.

use crate::test_report::{Outcome, Suite, TestReport, Totals, compare};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsSeen {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Every runner that began has printed its summary.
    pub complete: bool,
    /// The report, by hash.
    pub report: String,
    /// Against the report of the baseline; none before it, or if that had no tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<TestsChanged>,
}

impl TestsSeen {
    pub fn total(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }
}

/// How tests differ from those of the baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsChanged {
    /// Red before, green now.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fixed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub vanished: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub newly_skipped: u64,
    /// Green before, and not run or not green now.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Fewer tests ran than before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fewer: bool,
    /// The first of those that are lost, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl TestsSeen {
    /// What a report says, compared with that of the baseline. `hash` is where the report is kept.
    pub fn of(report: &TestReport, before: Option<&TestReport>, hash: String) -> TestsSeen {
        let Totals { passed, failed, skipped } = report.totals();
        let changed = before.map(|before| TestsChanged::between(before, report));
        TestsSeen { passed, failed, skipped, complete: report.complete(), report: hash, changed }
    }
}

/// So many of the tests that are lost are named.
const NAMED: usize = 5;

impl TestsChanged {
    fn between(before: &TestReport, after: &TestReport) -> TestsChanged {
        let changes = compare(before, after);
        let lost = lost(before, after);
        // A whole runner with fewer tests is less than there was. One file with fewer may have lost
        // them to another.
        let (whole, parts): (Vec<_>, Vec<_>) =
            changes.fewer.iter().partition(|change| change.group.is_none());
        let uncounted = parts.iter().map(|change| change.before.saturating_sub(change.after));
        let skipped = changes.more_skipped.iter().map(|change| change.after.saturating_sub(change.before));
        TestsChanged {
            fixed: changes.fixed.len() as u64,
            added: changes.added.len() as u64,
            vanished: changes.vanished.len() as u64,
            newly_skipped: changes.newly_skipped.len() as u64 + skipped.clone().sum::<u64>(),
            lost: lost.len() as u64 + uncounted.sum::<u64>() + skipped.sum::<u64>(),
            fewer: !whole.is_empty(),
            named: lost.into_iter().take(NAMED).map(String::from).collect(),
        }
    }
}

/// Tests that passed before, and did not run or pass now. A runner that names only failures has lost
/// none by name.
fn lost<'a>(before: &'a TestReport, after: &TestReport) -> Vec<&'a str> {
    let nothing = Suite::default();
    let mut lost = Vec::new();
    for (runner, old) in &before.runners {
        let new = after.runners.get(runner).unwrap_or(&nothing);
        let passed = old.tests.iter().filter(|(_, outcome)| **outcome == Outcome::Passed);
        lost.extend(passed.filter_map(|(name, _)| match new.tests.get(name) {
            Some(Outcome::Passed) => None,
            Some(Outcome::Failed | Outcome::Skipped) => Some(name.as_str()),
            None => new.names_all().then_some(name.as_str()),
        }));
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_report::read;

    const BEFORE: &str = "\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";

    #[track_caller]
    fn check(after: &str, fixed: u64, lost: u64, fewer: bool) {
        let (before, after) = (read(BEFORE.as_bytes()).unwrap(), read(after.as_bytes()).unwrap());
        let changed = TestsSeen::of(&after, Some(&before), String::new()).changed.unwrap();
        assert_eq!((changed.fixed, changed.lost, changed.fewer), (fixed, lost, fewer), "{changed:?}");
    }

    #[test]
    fn a_test_that_was_green_is_lost_unless_it_is_green_again() {
        let end = |counts: &str| {
            format!("test result: ok. {counts}; 0 measured; 0 filtered out; finished in 0.00s\n")
        };
        let both = "\nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\n";
        check(&format!("{both}{}", end("2 passed; 0 failed; 0 ignored")), 1, 0, false);
        let skipped = "\nrunning 2 tests\ntest a ... ignored\ntest b ... ok\n\n";
        check(&format!("{skipped}{}", end("1 passed; 0 failed; 1 ignored")), 1, 1, false);
        let gone = "\nrunning 1 test\ntest b ... ok\n\n";
        check(&format!("{gone}{}", end("1 passed; 0 failed; 0 ignored")), 1, 1, true);
        let renamed = "\nrunning 2 tests\ntest c ... ok\ntest b ... ok\n\n";
        check(&format!("{renamed}{}", end("2 passed; 0 failed; 0 ignored")), 1, 1, false);
    }
}
