//! `go test`: one line per package, `ok example.com/calc 0.003s` with tabs in between.
//!
//! With `-v` and `-json` every test has its name, qualified by its package, and each that began must
//! have an outcome. Without them go prints neither names nor counts of what passed, so a package
//! counts as one test.

use super::cut::{Cut, indent};
use super::go_json::Event;
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, Totals, disagreement};
use std::collections::BTreeMap;

const PACKAGES_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Go {
    /// Plain output has the tests of a package before the line that names it.
    plain: Package,
    /// `-json` names the package in each line, and packages take turns.
    json: BTreeMap<String, Package>,
    /// How many tests the open packages have.
    held: usize,
    too_many: bool,
}

#[derive(Debug, Default)]
struct Package {
    /// In the order they began. `None` while it runs.
    tests: Vec<(String, Option<Outcome>)>,
    /// Where to find the tests that still run.
    running: BTreeMap<String, usize>,
    /// There was no room for more names: outcomes are counted.
    is_full: bool,
    beyond: Totals,
    repeated: bool,
}

enum End {
    Passed,
    Failed,
    NoTests,
    NotBuilt,
}

impl Go {
    pub fn is_open(&self) -> bool {
        !self.plain.tests.is_empty() || !self.json.is_empty()
    }

    pub fn line(&mut self, line: &str, book: &mut Book) {
        if line.starts_with('{')
            && let Some(event) = Event::parse(line)
        {
            self.event(&event, book);
            return;
        }
        if let Some(name) = line.strip_prefix("=== RUN   ") {
            self.held += usize::from(self.plain.begin(name, self.held));
        } else if let Some((package, end)) = package(line) {
            self.held -= self.plain.tests.len();
            std::mem::take(&mut self.plain).close(package, &end, book);
        } else if let Some((name, outcome)) = result(line) {
            self.plain.end(name, outcome);
        }
    }

    pub fn finish(&mut self, book: &mut Book) {
        let plain = std::mem::take(&mut self.plain);
        if !plain.tests.is_empty() {
            plain.unfinished("go test", book);
        }
        for (name, package) in std::mem::take(&mut self.json) {
            package.unfinished(&name, book);
        }
        if std::mem::take(&mut self.too_many) {
            book.note(Runner::GoTest, disagreement("go test", "too many packages at once"));
        }
    }

    fn event(&mut self, event: &Event, book: &mut Book) {
        let Some(name) = &event.package else { return };
        if name.len() > super::TEXT_MAX
            || event.test.as_ref().is_some_and(|test| test.len() > super::TEXT_MAX)
        {
            return;
        }
        if !self.json.contains_key(name) && self.json.len() >= PACKAGES_MAX {
            self.too_many = true;
            return;
        }
        let package = self.json.entry(name.clone()).or_default();
        let Some(test) = &event.test else {
            let end = match event.action.as_str() {
                "pass" => End::Passed,
                "fail" if event.failed_build.is_some() => End::NotBuilt,
                "fail" => End::Failed,
                // A package without test files.
                "skip" => {
                    self.held -= self.json.remove(name).map_or(0, |package| package.tests.len());
                    return;
                }
                _ => return,
            };
            if let Some(package) = self.json.remove(name) {
                self.held -= package.tests.len();
                package.close(name, &end, book);
            }
            return;
        };
        match event.action.as_str() {
            "run" => self.held += usize::from(package.begin(test, self.held)),
            "pass" => package.end(test, Outcome::Passed),
            "fail" => package.end(test, Outcome::Failed),
            "skip" => package.end(test, Outcome::Skipped),
            // Go misses an outcome that follows what a test printed without a newline.
            "output" => {
                let text = event.output.as_deref().unwrap_or_default().trim_end();
                if !text.trim_start().starts_with("--- ")
                    && let Some((name, outcome)) = result(text)
                    && name == test
                {
                    package.end(name, outcome);
                }
            }
            _ => {}
        }
    }
}

impl Package {
    /// Whether it was kept, beside the `held` ones.
    fn begin(&mut self, name: &str, held: usize) -> bool {
        if name.is_empty() || name.contains(' ') {
            return false;
        }
        if held >= super::NAMES_MAX {
            self.is_full = true;
            return false;
        }
        // The same test again, with `-count`, begins when the last one has ended.
        if self.running.insert(name.to_owned(), self.tests.len()).is_some() {
            self.repeated = true;
        }
        self.tests.push((name.to_owned(), None));
        true
    }

    fn end(&mut self, name: &str, outcome: Outcome) {
        let Some(at) = self.running.remove(name) else {
            if self.is_full {
                self.beyond.count(outcome);
            }
            return;
        };
        if let Some((_, ended)) = self.tests.get_mut(at) {
            *ended = Some(outcome);
        }
    }

    fn unfinished(self, of: &str, book: &mut Book) {
        let mut tests = Tests::default();
        for (name, outcome) in &self.tests {
            tests.push(name, outcome.unwrap_or(Outcome::Failed));
        }
        let problem = Some(Problem::NoSummary { of: of.to_owned() });
        book.close(Runner::GoTest, Run { tests, problem, ..Run::default() });
    }

    fn close(self, name: &str, end: &End, book: &mut Book) {
        let mut run = Run::default();
        // What a crash cut short has failed; in a package that is fine there is no such test.
        for (test, outcome) in &self.tests {
            run.tests.push(&format!("{name}.{test}"), outcome.unwrap_or(Outcome::Failed));
        }
        run.unnamed = self.beyond;
        let failed = run.tests.totals().failed > 0;
        let has_tests = !self.tests.is_empty();
        match end {
            End::Passed if self.repeated || failed => {
                run.problem = Some(disagreement(name, "a test without an outcome, or a failed one"));
            }
            End::Passed if !has_tests => run.tests.push(name, Outcome::Passed),
            End::Failed if !has_tests => run.tests.push(name, Outcome::Failed),
            End::NoTests if !has_tests => run.tests.push(name, Outcome::Skipped),
            End::NoTests => run.problem = Some(disagreement(name, "it says that no tests ran")),
            // It failed outside of its tests.
            End::Failed if !failed => run.unloaded.push(name.to_owned()),
            End::NotBuilt => run.unloaded.push(name.to_owned()),
            End::Passed | End::Failed => {}
        }
        run.groups.push((name.to_owned(), run.tests.totals().plus(run.unnamed)));
        book.close(Runner::GoTest, run);
    }
}

/// `ok`, or `FAIL`, the package, and its time or why there is none. One without test files is no package.
fn package(line: &str) -> Option<(&str, End)> {
    let passed = line.strip_prefix("ok  \t");
    let failed = line.strip_prefix("FAIL\t");
    let rest = passed.or(failed)?;
    if failed.is_some()
        && let Some((name, why)) = rest.split_once(" [")
    {
        let is_build = matches!(why, "build failed]" | "setup failed]");
        return (is_build && !name.contains('\t')).then_some((name, End::NotBuilt));
    }
    let (name, time) = rest.split_once('\t')?;
    if name.is_empty() || name.contains(' ') {
        return None;
    }
    let mut cut = Cut(time);
    if cut.literal("(cached)").is_none() {
        cut.decimal()?;
        cut.literal("s")?;
    }
    let end = match (failed, cut.0) {
        (Some(_), _) => End::Failed,
        (None, "" | "\t") => End::Passed,
        (None, more) if more.ends_with("[no tests to run]") => End::NoTests,
        (None, more) if more.starts_with("\tcoverage: ") => End::Passed,
        (None, _) => return None,
    };
    Some((name, end))
}

/// `    --- PASS: TestA/b (0.00s)`, also behind what the test printed without a newline.
fn result(line: &str) -> Option<(&str, Outcome)> {
    let at = line.rfind("--- ")?;
    let (word, rest) = line[at + 4..].split_once(": ")?;
    let outcome = match word {
        "PASS" => Outcome::Passed,
        "FAIL" => Outcome::Failed,
        "SKIP" => Outcome::Skipped,
        _ => return None,
    };
    // What `t.Log` prints comes behind the place in the source.
    let before = indent(&line[..at]).1;
    if before.split_once(": ").is_some_and(|(place, _)| place.contains(".go:")) {
        return None;
    }
    let (name, time) = rest.split_once(" (")?;
    let mut cut = Cut(time);
    cut.decimal()?;
    cut.literal("s)")?;
    cut.end()?;
    Some((name, outcome))
}
