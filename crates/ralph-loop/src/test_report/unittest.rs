//! Python's unittest: `Ran 3 tests in 0.001s`, an empty line, then `OK` or `FAILED (failures=1)`.
//!
//! Failures have a header each, whose number must match the last line. With `-v` every test has its
//! name, and they must be as many as ran. Without `-v` passed tests are only counted, and nothing but
//! the failures can be held against the count.

use super::cut::Cut;
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, Totals, WHOLE, disagreement};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Unittest {
    names: BTreeMap<String, Outcome>,
    /// With `-v`: a test that was begun and has no outcome yet.
    pending: Option<String>,
    /// A test began, with `-v`.
    has_begun: bool,
    failed: BTreeSet<String>,
    /// Failures that are no methods, such as doctests.
    others: u64,
    unloaded: Vec<String>,
    /// Modules that could not be imported count as tests that ran.
    missing: u64,
    failures: u64,
    errors: u64,
    /// Unexpected successes with a header, which older versions do not print.
    unexpected: u64,
    end: End,
    previous: Rule,
}

/// How far the three last lines have come.
#[derive(Debug, Default)]
enum End {
    #[default]
    Before,
    Ran(u64),
}

/// What the line before was: headers and the end follow a ruler.
#[derive(Debug, Default, PartialEq)]
enum Rule {
    #[default]
    None,
    Double,
    Single,
}

impl Unittest {
    pub fn line(&mut self, line: &str, book: &mut Book) {
        let previous = std::mem::take(&mut self.previous);
        if line.len() == 70 && line.bytes().all(|byte| byte == b'=') {
            self.previous = Rule::Double;
            return;
        }
        if line.len() == 70 && line.bytes().all(|byte| byte == b'-') {
            self.previous = Rule::Single;
            return;
        }
        if let End::Ran(tests) = self.end {
            if line.is_empty() {
                return;
            }
            self.end = End::Before;
            if let Some(counts) = last(line) {
                std::mem::take(self).close(tests, &counts, book);
                return;
            }
        }
        match previous {
            Rule::Single => {
                if let Some(tests) = ran(line) {
                    self.end = End::Ran(tests);
                }
            }
            Rule::Double => self.header(line),
            Rule::None => self.verbose(line),
        }
    }

    pub fn finish(&mut self, book: &mut Book) {
        let open = std::mem::take(self);
        if open.names.is_empty() && !open.has_begun {
            return;
        }
        let problem = Some(Problem::NoSummary { of: Runner::Unittest.to_string() });
        book.close(Runner::Unittest, Run { tests: open.into_tests(), problem, ..Run::default() });
    }

    /// `FAIL: test_a (tests.test_b.C.test_a) (n=1)`
    fn header(&mut self, line: &str) {
        let Some((word, rest)) = line.split_once(": ") else { return };
        let outcome = match word {
            "FAIL" => {
                self.failures += 1;
                Outcome::Failed
            }
            "ERROR" => {
                self.errors += 1;
                Outcome::Failed
            }
            "UNEXPECTED SUCCESS" => {
                self.unexpected += 1;
                Outcome::Failed
            }
            _ => return,
        };
        let Some((id, _)) = id(rest) else {
            self.others += 1;
            return;
        };
        match id.kind {
            Kind::Test if self.failed.len() < super::NAMES_MAX => {
                self.failed.insert(id.name.clone());
                self.set(id.name, outcome);
            }
            Kind::Module => {
                self.missing += 1;
                self.unloaded(id.name);
            }
            Kind::Fixture => self.unloaded(id.name),
            Kind::Test => {}
        }
    }

    fn unloaded(&mut self, name: String) {
        if self.unloaded.len() < super::NAMES_MAX {
            self.unloaded.push(name);
        }
    }

    fn verbose(&mut self, line: &str) {
        // A failed part of a test is indented below it.
        let is_part = line.starts_with("  ");
        if let Some((id, rest)) = id(line.trim_start()) {
            if id.kind != Kind::Test {
                return;
            }
            let status = rest.split_once(" ... ").map(|(_, status)| status);
            match (status.and_then(outcome), is_part) {
                (Some(outcome), false) => {
                    self.pending = None;
                    self.set(id.name, outcome);
                }
                (Some(Outcome::Failed), true) => self.set(id.name, Outcome::Failed),
                (Some(_), true) | (None, true) => {}
                // Older versions do not end the line of a test with failed parts.
                (None, false) if status.is_some_and(|status| id_of_test(status).is_some()) => {
                    self.verbose(status.unwrap_or_default());
                }
                // Without a status, the first line of its docstring follows, and then the outcome.
                (None, false) if status.is_some() || rest.is_empty() => {
                    self.has_begun |= status.is_some();
                    self.pending = Some(id.name);
                }
                (None, false) => {}
            }
            return;
        }
        let status = line.rsplit_once(" ... ").map_or(line, |(_, status)| status);
        if let Some(outcome) = outcome(status)
            && let Some(name) = self.pending.take()
        {
            self.set(name, outcome);
        }
    }

    /// A test with a failed part has failed, whatever else is said of it.
    fn set(&mut self, name: String, outcome: Outcome) {
        let known = self.names.get(&name).copied();
        if known == Some(Outcome::Failed) || (known.is_none() && self.names.len() >= super::NAMES_MAX) {
            return;
        }
        self.names.insert(name, outcome);
    }

    fn into_tests(self) -> Tests {
        let mut tests = Tests::default();
        for (name, outcome) in &self.names {
            tests.push(name, *outcome);
        }
        tests
    }

    fn close(self, ran: u64, counts: &Last, book: &mut Book) {
        let of = Runner::Unittest.to_string();
        let ran = ran.saturating_sub(self.missing);
        // With `-v` also those that did not fail.
        let is_verbose = self.names.len() > self.failed.len();
        let unexpected = counts.unexpected.saturating_sub(self.unexpected);
        let failed = (self.failed.len() as u64).saturating_add(self.others).saturating_add(unexpected);
        let skipped = counts.skipped.saturating_add(counts.expected);
        let named = self.names.len() as u64;
        let mut problem = None;
        if counts.ok != (self.failures + self.errors + counts.unexpected == 0) {
            problem = Some(disagreement(&of, format!("{failed} failures by name")));
        } else if (self.failures, self.errors) != (counts.failures, counts.errors) {
            let why = format!(
                "{} failures and {} errors by name, it says {} and {}",
                self.failures, self.errors, counts.failures, counts.errors
            );
            problem = Some(disagreement(&of, why));
        } else if failed > ran || (is_verbose && named != ran && named < super::NAMES_MAX as u64) {
            problem = Some(disagreement(&of, format!("{named} tests by name, {ran} ran")));
        }
        let unloaded = self.unloaded.clone();
        let passed = ran.saturating_sub(failed).saturating_sub(skipped);
        let totals = Totals { passed, failed, skipped: skipped.min(ran.saturating_sub(failed)) };
        let tests = self.into_tests();
        let unnamed = totals.less(tests.totals());
        let groups = vec![(WHOLE.to_owned(), totals)];
        book.close(Runner::Unittest, Run { tests, unnamed, groups, unloaded, problem });
    }
}

#[derive(Default)]
struct Last {
    ok: bool,
    failures: u64,
    errors: u64,
    skipped: u64,
    expected: u64,
    unexpected: u64,
}

/// `Ran 11 tests in 0.001s`
fn ran(line: &str) -> Option<u64> {
    let mut cut = Cut(line);
    cut.literal("Ran ")?;
    let tests = cut.number()?;
    cut.literal(if tests == 1 { " test in " } else { " tests in " })?;
    cut.decimal()?;
    cut.literal("s")?;
    cut.end()?;
    Some(tests)
}

/// `OK`, `OK (skipped=1)`, `FAILED (failures=1, errors=1)`, `NO TESTS RAN`.
fn last(line: &str) -> Option<Last> {
    let (word, details) = match line.split_once(" (") {
        Some((word, details)) => (word, details.strip_suffix(')')?),
        None => (line, ""),
    };
    let ok = match word {
        "OK" | "NO TESTS RAN" => true,
        "FAILED" => false,
        _ => return None,
    };
    let mut last = Last { ok, ..Last::default() };
    for detail in details.split(", ").filter(|detail| !detail.is_empty()) {
        let (what, n) = detail.split_once('=')?;
        let n = n.parse().ok()?;
        match what {
            "failures" => last.failures = n,
            "errors" => last.errors = n,
            "skipped" => last.skipped = n,
            "expected failures" => last.expected = n,
            "unexpected successes" => last.unexpected = n,
            _ => return None,
        }
    }
    Some(last)
}

struct Id {
    name: String,
    kind: Kind,
}

#[derive(PartialEq)]
enum Kind {
    Test,
    /// The preparation of a class or module, which stands for all its tests.
    Fixture,
    /// A module that could not be imported.
    Module,
}

/// Another test at the beginning of a status.
fn id_of_test(status: &str) -> Option<Id> {
    let (id, rest) = id(status)?;
    (id.kind == Kind::Test && rest.starts_with(" ... ")).then_some(id)
}

/// `test_a (tests.test_b.C.test_a)`, in older versions without the last part: the test, and the rest.
fn id(line: &str) -> Option<(Id, &str)> {
    let (method, rest) = line.split_once(" (")?;
    let (class, rest) = rest.split_once(')')?;
    let is_name = |text: &str| {
        let first = text.chars().next();
        first.is_some_and(|c| c.is_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    };
    if !is_name(method) || !is_name(class) {
        return None;
    }
    let fixtures = ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"];
    let id = if fixtures.contains(&method) {
        Id { name: format!("{class} ({method})"), kind: Kind::Fixture }
    } else if class.starts_with("unittest.loader.") {
        Id { name: method.to_owned(), kind: Kind::Module }
    } else if !class.contains('.') || !(method.starts_with("test") || method == "runTest") {
        return None;
    } else if class.rsplit('.').next() == Some(method) {
        Id { name: class.to_owned(), kind: Kind::Test }
    } else {
        Id { name: format!("{class}.{method}"), kind: Kind::Test }
    };
    Some((id, rest))
}

fn outcome(status: &str) -> Option<Outcome> {
    match status {
        "ok" => Some(Outcome::Passed),
        "FAIL" | "ERROR" | "unexpected success" => Some(Outcome::Failed),
        "expected failure" => Some(Outcome::Skipped),
        _ => {
            let quoted = status.strip_prefix("skipped ")?;
            quoted.starts_with(['\'', '"']).then_some(Outcome::Skipped)
        }
    }
}
