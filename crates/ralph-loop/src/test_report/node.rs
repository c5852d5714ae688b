//! `node --test` with its reporter for people (spec): a line per test, a few `ℹ` lines at the end.
//!
//! It has no first line, so the names before `ℹ tests 11` are its own only when that comes. A test
//! with tests inside it, and a suite, are printed when their tests are done; only the innermost are
//! counted here, and all of them are held against the end. Names have no file.

use super::cut::{Cut, indent};
use super::report::{Book, Outcome, Run, Runner, Tests, Totals, WHOLE, disagreement};

#[derive(Debug, Default)]
pub(super) struct Node {
    tests: Tests,
    /// Suites, and tests with tests inside them.
    parents: u64,
    path: Vec<String>,
    end: Vec<(String, u64)>,
    /// After the end every failure is printed again, each below its place.
    after_place: bool,
}

/// The words of the last lines, in their order.
pub(super) const END: [&str; 7] = ["tests", "suites", "pass", "fail", "cancelled", "skipped", "todo"];

impl Node {
    pub fn line(&mut self, line: &str, book: &mut Book) {
        let is_repeated = std::mem::replace(&mut self.after_place, line.starts_with("test at "));
        if let Some(text) = line.strip_prefix("ℹ ") {
            self.end_line(text, book);
            return;
        }
        self.end.clear();
        let (spaces, text) = indent(line);
        let depth = spaces / 2;
        if let Some(name) = text.strip_prefix("▶ ") {
            if spaces % 2 == 0 && depth <= self.path.len() && depth < 50 {
                self.path.truncate(depth);
                self.path.push(name.to_owned());
            }
            return;
        }
        let Some((name, outcome)) = test(text) else { return };
        if is_repeated || spaces % 2 != 0 || depth > self.path.len() {
            return;
        }
        // The line that closes a parent has its name and its depth.
        if self.path.len() == depth + 1 && self.path.last().is_some_and(|parent| parent == name) {
            self.path.pop();
            self.parents += 1;
            return;
        }
        self.path.truncate(depth);
        let mut parts: Vec<&str> = self.path.iter().map(String::as_str).collect();
        parts.push(name);
        self.tests.push(&parts.join(" > "), outcome);
    }

    fn end_line(&mut self, text: &str, book: &mut Book) {
        let Some((word, n)) = text.split_once(' ') else { return };
        if word == "duration_ms" && self.end.len() == END.len() {
            std::mem::take(self).close(book);
            return;
        }
        let due = END.get(self.end.len()).copied();
        match n.parse() {
            Ok(n) if due == Some(word) => self.end.push((word.to_owned(), n)),
            _ => self.end.clear(),
        }
    }

    fn close(self, book: &mut Book) {
        let said = |word: &str| self.end.iter().find(|(known, _)| known == word).map_or(0, |(_, n)| *n);
        let problem = check(self.tests.totals(), self.parents, said)
            .map(|why| disagreement(&Runner::NodeTest.to_string(), why));
        let groups = vec![(WHOLE.to_owned(), self.tests.totals())];
        book.close(Runner::NodeTest, Run { tests: self.tests, groups, problem, ..Run::default() });
    }
}

/// Why node's own counts do not fit: they count parents too, suites apart from tests.
pub(super) fn check(seen: Totals, parents: u64, said: impl Fn(&str) -> u64) -> Option<String> {
    let (all, counted) = (seen.all() + parents, said("tests").saturating_add(said("suites")));
    if all != counted {
        return Some(format!("{all} tests and suites by name, it counts {counted}"));
    }
    let sum = ["pass", "fail", "cancelled", "skipped", "todo"]
        .iter()
        .fold(0, |sum: u64, word| sum.saturating_add(said(word)));
    let failed = said("fail").saturating_add(said("cancelled"));
    let fits = sum == said("tests") && seen.passed <= said("pass") && (seen.failed == 0) == (failed == 0);
    (!fits).then(|| format!("{seen} by name, it counts {} passed, {failed} failed", said("pass")))
}

/// `✔ adds (0.64ms)`, `✖ subtracts (0.88ms)`, `﹣ slow (0.1ms) # SKIP`, `✔ divides (0.08ms) # TODO`.
fn test(text: &str) -> Option<(&str, Outcome)> {
    let (mark, rest) = text.split_once(' ')?;
    let (rest, note) = match rest.rsplit_once("ms) # ") {
        Some((rest, note)) => (rest, Some(note)),
        None => (rest.strip_suffix("ms)")?, None),
    };
    let (name, time) = rest.rsplit_once(" (")?;
    let mut cut = Cut(time);
    cut.decimal()?;
    cut.end()?;
    let outcome = match (mark, note) {
        ("✔", None) => Outcome::Passed,
        ("✖", None) => Outcome::Failed,
        // With a note it is to be skipped, or still to be done.
        ("﹣" | "✔" | "✖" | "⚠", _) => Outcome::Skipped,
        _ => return None,
    };
    Some((name, outcome))
}
