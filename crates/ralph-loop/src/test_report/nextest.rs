//! `cargo nextest run`: from `Starting 7 tests` to `Summary`.

use super::cut::{Cut, indent};
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, Totals, WHOLE, disagreement};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Nextest {
    run: Option<Open>,
}

#[derive(Debug)]
struct Open {
    expected: u64,
    tests: BTreeMap<String, Outcome>,
    /// Beyond the most names that are kept.
    beyond: Totals,
    repeated: bool,
}

impl Nextest {
    pub fn is_open(&self) -> bool {
        self.run.is_some()
    }

    pub fn line(&mut self, line: &str, book: &mut Book) {
        if let Some(expected) = starting(line) {
            self.finish(book);
            self.run =
                Some(Open { expected, tests: BTreeMap::new(), beyond: Totals::default(), repeated: false });
            return;
        }
        if let Some(summary) = summary(line) {
            match self.run.take() {
                None => book.note(Runner::Nextest, Problem::StraySummary { of: Runner::Nextest.to_string() }),
                Some(open) => open.close(&summary, book),
            }
            return;
        }
        if let (Some(open), Some(status)) = (&mut self.run, status(line)) {
            open.add(&status);
        }
    }

    pub fn finish(&mut self, book: &mut Book) {
        let Some(open) = self.run.take() else { return };
        let problem = Some(Problem::NoSummary { of: Runner::Nextest.to_string() });
        book.close(Runner::Nextest, Run { tests: open.into_tests(), problem, ..Run::default() });
    }
}

impl Open {
    fn add(&mut self, status: &Status<'_>) {
        if self.tests.len() >= super::NAMES_MAX {
            self.beyond.count(status.outcome);
            return;
        }
        // A test is tried again: the last try counts.
        if self.tests.insert(status.name.to_owned(), status.outcome).is_some() && !status.again {
            self.repeated = true;
        }
    }

    fn into_tests(self) -> Tests {
        let mut tests = Tests::default();
        for (name, outcome) in self.tests {
            tests.push(&name, outcome);
        }
        tests
    }

    fn close(self, summary: &Summary, book: &mut Book) {
        let of = Runner::Nextest.to_string();
        let (expected, repeated, beyond) = (self.expected, self.repeated, self.beyond);
        let tests = self.into_tests();
        let named = tests.totals().plus(beyond);
        let said = summary.totals;
        let ran = said.passed.saturating_add(said.failed);
        let problem = if summary.ran != ran || summary.expected != expected {
            Some(disagreement(&of, format!("{expected} tests started, {ran} ran")))
        } else if repeated {
            Some(disagreement(&of, "a test has two outcomes"))
        } else if named.failed != said.failed || (named.passed != said.passed && named.passed != 0) {
            // With `--status-level fail` no passed test is named.
            Some(disagreement(&of, format!("{named} by name, it says {said}")))
        } else {
            None
        };
        let unnamed = said.less(tests.totals());
        let groups = vec![(WHOLE.to_owned(), said)];
        book.close(Runner::Nextest, Run { tests, unnamed, groups, unloaded: Vec::new(), problem });
    }
}

struct Summary {
    ran: u64,
    expected: u64,
    totals: Totals,
}

struct Status<'a> {
    outcome: Outcome,
    again: bool,
    name: &'a str,
}

/// `    Starting 7 tests across 3 binaries (2 tests skipped)`
fn starting(line: &str) -> Option<u64> {
    let mut cut = Cut(line);
    cut.literal("    Starting ")?;
    let expected = cut.number()?;
    cut.literal(if expected == 1 { " test across " } else { " tests across " })?;
    cut.number()?;
    cut.literal(" binar")?;
    Some(expected)
}

/// `     Summary [   0.024s] 7 tests run: 5 passed (1 slow), 2 failed, 2 skipped`
fn summary(line: &str) -> Option<Summary> {
    let mut cut = Cut(line);
    cut.literal("     Summary [")?;
    cut.spaces();
    cut.decimal()?;
    cut.literal("s] ")?;
    let ran = cut.number()?;
    let expected = if cut.literal("/").is_some() { cut.number()? } else { ran };
    cut.literal(if expected == 1 { " test run: " } else { " tests run: " })?;
    let mut totals = Totals::default();
    for part in top_level(cut.0) {
        let mut cut = Cut(part);
        let n = cut.number()?;
        cut.literal(" ")?;
        let word = cut.0.split(" (").next().unwrap_or_default();
        totals.add(
            match word {
                "passed" => Outcome::Passed,
                "failed" | "exec failed" | "timed out" => Outcome::Failed,
                "skipped" => Outcome::Skipped,
                _ => return None,
            },
            n,
        );
    }
    Some(Summary { ran, expected, totals })
}

/// The parts between commas that are not in parentheses.
fn top_level(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim_start)
}

/// `        PASS [   0.005s] (1/7) calc tests::adds`
fn status(line: &str) -> Option<Status<'_>> {
    let (indented, rest) = indent(line);
    if indented == 0 {
        return None;
    }
    let (word, rest) = rest.split_once(" [")?;
    let (time, rest) = rest.split_once("] ")?;
    let mut cut = Cut(time.trim_start());
    if !cut.0.is_empty() {
        cut.decimal()?;
        cut.literal("s")?;
        cut.end()?;
    }
    let name = match rest.strip_prefix('(') {
        Some(counter) => counter.split_once(") ")?.1,
        None => rest,
    };
    // The binary, then the test.
    name.split_once(' ')?;
    let (again, word) = match word.strip_prefix("TRY ") {
        Some(attempt) => {
            let mut cut = Cut(attempt);
            cut.number()?;
            cut.literal(" ")?;
            (true, cut.0)
        }
        None => (word.starts_with("FLAKY "), word),
    };
    let outcome = match word {
        "PASS" | "LEAK" => Outcome::Passed,
        _ if word.starts_with("FLAKY ") => Outcome::Passed,
        "SKIP" => Outcome::Skipped,
        "FAIL" | "ABORT" | "TIMEOUT" | "TMT" | "XFAIL" | "EXEC FAIL" | "LEAK-FAIL" | "FAIL + LEAK" => {
            Outcome::Failed
        }
        _ if word.starts_with("SIG") && !word.contains(' ') => Outcome::Failed,
        _ => return None,
    };
    Some(Status { outcome, again, name })
}
