//! JUnit XML, which most runners can write to a file.
//!
//! A file is read as a whole by the caller. It is complete if every element is closed and each suite
//! has as many cases as it says, unless it also has suites inside it: those are counted differently
//! by every runner.

use super::report::{Book, Outcome, Problem, Run, Runner, TestReport, Totals, disagreement};
use super::xml::{Tag, Tags, attribute};
use crate::text::printable;

const DEPTH_MAX: usize = 100;

/// What the text of a JUnit XML file reports. `None` if it is no such file.
pub fn junit(text: &str) -> Option<TestReport> {
    let mut reading = Reading::default();
    let mut tags = Tags::new(text.trim_start_matches('\u{feff}'));
    let closed = loop {
        match tags.next() {
            Ok(Some(tag)) => {
                if !reading.tag(&tag) {
                    break false;
                }
            }
            Ok(None) => break reading.open.is_empty(),
            Err(_) => break false,
        }
    };
    if !reading.is_junit {
        return None;
    }
    let mut book = Book::default();
    let mut run = reading.run;
    if !closed {
        run.problem = Some(Problem::NoSummary { of: "the file".to_owned() });
    }
    book.close(Runner::Junit, run);
    book.finish()
}

#[derive(Default)]
struct Reading<'a> {
    open: Vec<&'a str>,
    suites: Vec<OpenSuite>,
    case: Option<Case>,
    run: Run,
    is_junit: bool,
}

struct OpenSuite {
    name: String,
    said: Option<u64>,
    cases: Totals,
    has_suites: bool,
}

struct Case {
    name: String,
    depth: usize,
    failed: bool,
    skipped: bool,
    /// No test, but a file that could not be loaded.
    is_file: bool,
}

impl<'a> Reading<'a> {
    /// Whether the document is still well formed.
    fn tag(&mut self, tag: &Tag<'a>) -> bool {
        match *tag {
            Tag::Open { name, attributes, is_empty } => {
                if self.open.is_empty() {
                    if !matches!(name, "testsuites" | "testsuite") || self.is_junit {
                        return false;
                    }
                    self.is_junit = true;
                }
                if self.open.len() >= DEPTH_MAX {
                    return false;
                }
                self.begin(name, attributes);
                self.open.push(name);
                !is_empty || self.close(name)
            }
            Tag::Close { name } => self.close(name),
        }
    }

    fn begin(&mut self, name: &str, attributes: &str) {
        let value = |key: &str| attribute(attributes, key).map(|value| printable(&value).into_owned());
        if let Some(case) = &mut self.case {
            // Not what is inside of the output of a case.
            if self.open.len() == case.depth + 1 {
                case.failed |= matches!(name, "failure" | "error");
                case.skipped |= name == "skipped";
                // That is pytest's word for it.
                case.is_file |= name == "error" && value("message").as_deref() == Some("collection failure");
            }
            return;
        }
        match name {
            "testsuite" => {
                if let Some(outer) = self.suites.last_mut() {
                    outer.has_suites = true;
                }
                let said = value("tests").and_then(|n| n.parse().ok());
                let name = value("name").unwrap_or_default();
                self.suites.push(OpenSuite { name, said, cases: Totals::default(), has_suites: false });
            }
            "testcase" => {
                let mut parts: Vec<String> = Vec::new();
                match value("classname").filter(|class| !class.is_empty() && class != "test") {
                    Some(class) => parts.push(class),
                    // Without a class the suites around it say where it is.
                    None => parts.extend(self.suites.iter().map(|suite| suite.name.clone())),
                }
                parts.push(value("name").unwrap_or_default());
                let skipped = matches!(value("status").as_deref(), Some("notrun" | "skipped" | "disabled"));
                let name = parts.join(" > ");
                self.case =
                    Some(Case { name, depth: self.open.len(), failed: false, skipped, is_file: false });
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) -> bool {
        if self.open.pop() != Some(name) {
            return false;
        }
        if let Some(case) = self.case.take_if(|case| case.depth == self.open.len()) {
            // One that is still to be done may fail: it is both.
            let outcome = match (case.skipped, case.failed) {
                (true, _) => Outcome::Skipped,
                (false, true) => Outcome::Failed,
                (false, false) => Outcome::Passed,
            };
            if case.is_file {
                self.run.unloaded.push(case.name);
            } else {
                self.run.tests.push(&case.name, outcome);
            }
            if let Some(suite) = self.suites.last_mut() {
                suite.cases.count(outcome);
            }
        } else if name == "testsuite"
            && self.case.is_none()
            && let Some(suite) = self.suites.pop()
        {
            let cases = suite.cases.all();
            if let Some(said) = suite.said.filter(|said| *said != cases && !suite.has_suites) {
                let why = format!("{cases} cases, it says {said}");
                self.run.problem.get_or_insert_with(|| disagreement(&suite.name, why));
            }
            self.run.groups.push((suite.name, suite.cases));
        }
        true
    }
}
