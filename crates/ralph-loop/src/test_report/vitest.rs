//! vitest: from ` RUN  v4.1.12` to `Test Files`, `Tests` and `Start at`.
//!
//! The default reporter has a line with counts per file, the verbose one a line per test, the dot
//! reporter neither. Failures are named by all of them.

use super::cut::Cut;
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, Totals, WHOLE, disagreement};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Vitest {
    run: Option<Open>,
}

#[derive(Debug, Default)]
struct Open {
    tests: Tests,
    files: BTreeMap<String, Totals>,
    repeated: bool,
    failures: BTreeSet<String>,
    unloaded: Vec<String>,
    end: End,
}

/// How far the last lines have come. They follow each other directly.
#[derive(Debug, Default)]
enum End {
    #[default]
    Before,
    Files,
    /// What became of the tests, and how many there were.
    Tests(Totals, u64),
}

impl Vitest {
    pub fn is_open(&self) -> bool {
        self.run.is_some()
    }

    pub fn line(&mut self, line: &str, book: &mut Book) {
        if begins(line) {
            self.finish(book);
            self.run = Some(Open::default());
            return;
        }
        let Some(open) = &mut self.run else { return };
        match std::mem::take(&mut open.end) {
            End::Before => {}
            End::Files => {
                if let Some((totals, all)) = tests(line) {
                    open.end = End::Tests(totals, all);
                    return;
                }
            }
            End::Tests(totals, all) => {
                if line.starts_with("   Start at  ") {
                    if let Some(open) = self.run.take() {
                        open.close(totals, all, book);
                    }
                    return;
                }
                // Such as `     Errors  1 error`.
                if line.starts_with("  ") {
                    open.end = End::Tests(totals, all);
                    return;
                }
            }
        }
        if line.starts_with(" Test Files  ") {
            open.end = End::Files;
        } else if line.starts_with("No test files found") {
            if let Some(open) = self.run.take() {
                open.close(Totals::default(), 0, book);
            }
        } else {
            open.line(line);
        }
    }

    pub fn finish(&mut self, book: &mut Book) {
        let Some(open) = self.run.take() else { return };
        let problem = Some(Problem::NoSummary { of: Runner::Vitest.to_string() });
        book.close(Runner::Vitest, Run { tests: open.tests, problem, ..Run::default() });
    }
}

impl Open {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix(" FAIL  ") {
            match name.split_once(" [ ") {
                Some((file, _)) if !name.contains(" > ") => self.unloaded.push(file.to_owned()),
                _ if self.failures.len() < super::NAMES_MAX => {
                    self.failures.insert(name.to_owned());
                }
                _ => {}
            }
            self.unloaded.truncate(super::NAMES_MAX);
        } else if let Some((file, totals)) = file(line) {
            if self.files.len() < super::NAMES_MAX && self.files.insert(file.to_owned(), totals).is_some() {
                self.repeated = true;
            }
        } else if let Some((name, outcome)) = test(line) {
            self.tests.push(name, outcome);
        }
    }

    fn close(mut self, said: Totals, all: u64, book: &mut Book) {
        let of = Runner::Vitest.to_string();
        let named = self.tests.totals();
        let in_files = self.files.values().fold(Totals::default(), |sum, totals| sum.plus(*totals));
        let problem = if self.repeated {
            Some(disagreement(&of, "a file has two outcomes"))
        } else if said.all() != all {
            Some(disagreement(&of, format!("{} of {all} tests have an outcome", said.all())))
        } else if !self.files.is_empty() && in_files != said {
            Some(disagreement(&of, format!("{in_files} in all files, it says {said}")))
        } else if self.files.is_empty() && !self.tests.is_empty() && named != said {
            Some(disagreement(&of, format!("{named} by name, it says {said}")))
        } else if self.failures.len() as u64 > said.failed {
            Some(disagreement(&of, format!("{} failures by name", self.failures.len())))
        } else {
            None
        };
        let mut groups: Vec<(String, Totals)> = self.files.into_iter().collect();
        if self.tests.is_empty() {
            for name in &self.failures {
                self.tests.push(name, Outcome::Failed);
            }
        }
        if groups.is_empty() {
            groups.push((WHOLE.to_owned(), said));
        }
        let unnamed = said.less(self.tests.totals());
        let run = Run { tests: self.tests, unnamed, groups, unloaded: self.unloaded, problem };
        book.close(Runner::Vitest, run);
    }
}

/// ` RUN  v4.1.12 /path`
fn begins(line: &str) -> bool {
    let version = || {
        let mut cut = Cut(line);
        cut.literal(" RUN  v")?;
        cut.number()?;
        cut.literal(".")?;
        cut.number()
    };
    version().is_some()
}

/// `      Tests  1 failed | 5 passed | 1 skipped | 1 todo (8)`, or `no tests`.
fn tests(line: &str) -> Option<(Totals, u64)> {
    let mut cut = Cut(line);
    cut.literal("      Tests  ")?;
    if cut.0 == "no tests" {
        return Some((Totals::default(), 0));
    }
    let (list, total) = cut.0.strip_suffix(')')?.rsplit_once(" (")?;
    Some((counts(list)?, total.parse().ok()?))
}

/// `1 failed | 5 passed`
fn counts(list: &str) -> Option<Totals> {
    let mut totals = Totals::default();
    for part in list.split(" | ") {
        let mut cut = Cut(part);
        let n = cut.number()?;
        totals.add(
            match cut.0 {
                " passed" => Outcome::Passed,
                " failed" => Outcome::Failed,
                " skipped" | " todo" | " expected fail" => Outcome::Skipped,
                _ => return None,
            },
            n,
        );
    }
    Some(totals)
}

/// ` ❯ calc.test.js (6 tests | 1 failed | 1 skipped) 9ms`
fn file(line: &str) -> Option<(&str, Totals)> {
    let rest = [" ✓ ", " ❯ ", " ↓ ", " × "].iter().find_map(|mark| line.strip_prefix(mark))?;
    let (name, rest) = rest.split_once(" (")?;
    let (counted, time) = rest.split_once(')')?;
    if name.contains(" > ") || !(time.is_empty() || time.starts_with(' ')) {
        return None;
    }
    let (all, others) = counted.split_once(" | ").unwrap_or((counted, ""));
    let mut cut = Cut(all);
    let all = cut.number()?;
    if !matches!(cut.0, " test" | " tests") {
        return None;
    }
    let mut totals = if others.is_empty() { Totals::default() } else { counts(others)? };
    // A file of which all tests are skipped counts them as such.
    totals.passed = all.saturating_sub(totals.failed).saturating_sub(totals.skipped);
    Some((name, totals))
}

/// ` ✓ calc.test.js > calc > adds 2ms`
fn test(line: &str) -> Option<(&str, Outcome)> {
    let (outcome, rest) = [
        (" ✓ ", Outcome::Passed),
        (" × ", Outcome::Failed),
        (" ↓ ", Outcome::Skipped),
        (" □ ", Outcome::Skipped),
    ]
    .into_iter()
    .find_map(|(mark, outcome)| Some((outcome, line.strip_prefix(mark)?)))?;
    rest.split_once(" > ")?;
    let timed = || {
        let (name, time) = rest.rsplit_once(' ')?;
        let mut cut = Cut(time);
        cut.number()?;
        (cut.0 == "ms").then_some(name)
    };
    let name = match outcome {
        Outcome::Passed | Outcome::Failed => timed().unwrap_or(rest),
        // It took no time.
        Outcome::Skipped => rest,
    };
    Some((name, outcome))
}
