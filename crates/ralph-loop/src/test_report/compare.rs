//! What changed between two reports of the same checks.
//!
//! Tests are compared by name where both reports name all that ran, else by count: per file, package
//! or binary, and in all. A renamed test has vanished, and another was added.

use super::report::{Outcome, Runner, Suite, TestReport, Totals, WHOLE};
use crate::text::counted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The most names in a sentence.
const SHOWN: usize = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestChanges {
    /// Failed before, passed now.
    pub fixed: Vec<String>,
    pub added: Vec<(String, Outcome)>,
    /// Passed or failed before, did not run now. Where skipped tests have no names, they are here too.
    pub vanished: Vec<String>,
    /// Passed or failed before, skipped now.
    pub newly_skipped: Vec<String>,
    /// Failed now, and did not before.
    pub broken: Vec<String>,
    /// Skipped before, passed now.
    pub unskipped: Vec<String>,
    /// Failed before and is not named now, by a runner that only names failures: it may have passed,
    /// it may be gone.
    pub no_longer_failing: Vec<String>,
    /// Files and packages that could not be loaded before, and can be now.
    pub loaded: Vec<String>,
    /// Runners, files and packages with fewer tests than before.
    pub fewer: Vec<CountChange>,
    /// More are skipped than before, and the runner does not say which.
    pub more_skipped: Vec<CountChange>,
    /// Named before, and the runner does not name all tests now.
    pub unnamed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountChange {
    pub runner: Runner,
    /// The file, package or binary; `None` is all of the runner.
    pub group: Option<String>,
    pub before: u64,
    pub after: u64,
}

pub fn compare(before: &TestReport, after: &TestReport) -> TestChanges {
    let mut changes = TestChanges::default();
    let none = Suite::default();
    let runners: BTreeSet<Runner> = before.runners.keys().chain(after.runners.keys()).copied().collect();
    for runner in runners {
        let old = before.runners.get(&runner).unwrap_or(&none);
        let new = after.runners.get(&runner).unwrap_or(&none);
        changes.names(old, new);
        changes.counts(runner, old, new);
    }
    changes
}

impl TestChanges {
    fn names(&mut self, old: &Suite, new: &Suite) {
        for (name, before) in &old.tests {
            match (*before, new.tests.get(name).copied()) {
                (Outcome::Failed, Some(Outcome::Passed)) => self.fixed.push(name.clone()),
                (Outcome::Passed | Outcome::Failed, Some(Outcome::Skipped)) => {
                    self.newly_skipped.push(name.clone());
                }
                (Outcome::Passed | Outcome::Skipped, Some(Outcome::Failed)) => self.broken.push(name.clone()),
                (Outcome::Skipped, Some(Outcome::Passed)) => self.unskipped.push(name.clone()),
                (Outcome::Passed, Some(Outcome::Passed))
                | (Outcome::Failed, Some(Outcome::Failed))
                | (Outcome::Skipped, Some(Outcome::Skipped)) => {}
                (Outcome::Passed | Outcome::Failed, None) if new.names_all() => {
                    self.vanished.push(name.clone());
                }
                (Outcome::Failed, None) => self.no_longer_failing.push(name.clone()),
                (Outcome::Passed, None) => self.unnamed += 1,
                (Outcome::Skipped, None) => {
                    if new.named.skipped == new.totals.skipped && new.names_all() {
                        self.vanished.push(name.clone());
                    }
                }
            }
        }
        for (name, after) in &new.tests {
            if old.tests.contains_key(name) {
                continue;
            }
            match after {
                // It was not named, so it did not fail.
                Outcome::Failed if !old.names_all() => self.broken.push(name.clone()),
                Outcome::Passed | Outcome::Failed | Outcome::Skipped if old.names_all() => {
                    self.added.push((name.clone(), *after));
                }
                Outcome::Passed | Outcome::Failed | Outcome::Skipped => {}
            }
        }
        self.loaded.extend(old.unloaded.difference(&new.unloaded).cloned());
        self.broken.extend(new.unloaded.difference(&old.unloaded).cloned());
    }

    fn counts(&mut self, runner: Runner, old: &Suite, new: &Suite) {
        let mut note = |group: Option<&str>, before: Totals, after: Totals| {
            let change =
                |before, after| CountChange { runner, group: group.map(str::to_owned), before, after };
            if after.all() < before.all() {
                self.fewer.push(change(before.all(), after.all()));
            }
            let named = |suite: &Suite| suite.named.skipped == suite.totals.skipped;
            if after.skipped > before.skipped && !(named(old) && named(new)) {
                self.more_skipped.push(change(before.skipped, after.skipped));
            }
        };
        note(None, old.totals, new.totals);
        if old.names_all() && new.names_all() {
            return;
        }
        // One that prints files now and did not before, or the other way, can only be compared in all.
        if is_whole(old) != is_whole(new) {
            return;
        }
        for (group, totals) in old.groups.iter().filter(|(group, _)| !group.starts_with(WHOLE)) {
            note(Some(group), *totals, new.groups.get(group).copied().unwrap_or_default());
        }
        if new.totals.all() < old.totals.all() {
            return;
        }
        // Another run may hide what this one lost. They are compared by size, as they have no names.
        let (before, after) = (sizes(old), sizes(new));
        for (at, before) in before.iter().enumerate().filter(|_| before.len().max(after.len()) > 1) {
            let after = after.get(at).copied().unwrap_or_default();
            if after < *before {
                let group = Some(WHOLE.to_owned());
                self.fewer.push(CountChange { runner, group, before: *before, after });
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == TestChanges::default()
    }

    /// `3 tests went from red to green, 2 new, 1 vanished: test_login`.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        let mut say = |n: usize, what: &str, names: &[String]| {
            let tests = match (parts.is_empty(), what) {
                // The first number says what is counted.
                (true, "new") if n == 1 => "new test".to_owned(),
                (true, "new") => "new tests".to_owned(),
                (true, _) if n == 1 => format!("test {what}"),
                (true, _) => format!("tests {what}"),
                (false, _) => what.to_owned(),
            };
            if n > 0 {
                parts.push(format!("{n} {tests}{}", listed(names)));
            }
        };
        say(self.fixed.len(), "went from red to green", &[]);
        say(self.no_longer_failing.len(), "no longer reported as failing", &[]);
        say(self.added.len(), "new", &[]);
        say(self.unskipped.len(), "no longer skipped", &[]);
        say(self.broken.len(), "broken", &self.broken);
        say(self.newly_skipped.len(), "newly skipped", &self.newly_skipped);
        say(self.vanished.len(), "vanished", &self.vanished);
        if !self.loaded.is_empty() {
            parts.push(format!("{} loaded again", counted(self.loaded.len() as u64, "file")));
        }
        for change in self.more_skipped.iter().take(SHOWN) {
            parts.push(format!("{} skipped, {} before{}", change.after, change.before, change.place()));
        }
        // What vanished by name is not said again as a number.
        let fewer = self.fewer.iter().filter(|_| self.vanished.is_empty());
        for change in fewer.take(SHOWN) {
            let tests = counted(change.after, "test");
            parts.push(format!("{tests}, {} before{}", change.before, change.place()));
        }
        if parts.is_empty() { "no test changed".to_owned() } else { parts.join(", ") }
    }
}

/// Whether a runner that does not name its groups was counted.
fn is_whole(suite: &Suite) -> bool {
    suite.groups.keys().any(|group| group.starts_with(WHOLE))
}

/// The sizes of the runs without a name, the largest first.
fn sizes(suite: &Suite) -> Vec<u64> {
    let whole = suite.groups.iter().filter(|(group, _)| group.starts_with(WHOLE));
    let mut sizes: Vec<u64> = whole.map(|(_, totals)| totals.all()).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes
}

impl CountChange {
    fn place(&self) -> String {
        match &self.group {
            Some(group) if group != WHOLE => format!(" ({group})"),
            Some(_) | None => format!(" ({})", self.runner),
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!(": {shown} and {more} more"),
        _ => format!(": {shown}"),
    }
}
