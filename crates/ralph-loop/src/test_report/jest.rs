//! jest: a `PASS` or `FAIL` line per file, then `Test Suites:`, `Tests:`, `Snapshots:` and `Time:`.
//!
//! Names are printed with `--verbose` or for a single file. Otherwise only failures have one.

use super::cut::{Cut, indent, without_time};
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, Totals, WHOLE, disagreement};
use crate::text::counted;
use std::collections::{BTreeMap, BTreeSet};

const EXTENSIONS: [&str; 9] = [".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue"];

const DEPTH_MAX: usize = 50;

#[derive(Debug, Default)]
pub(super) struct Jest {
    run: Option<Open>,
}

#[derive(Debug, Default)]
struct Open {
    files: BTreeSet<String>,
    file: String,
    repeated: bool,
    /// The tree of a file's tests follows its line, up to an empty one.
    in_tree: bool,
    path: Vec<String>,
    tests: Tests,
    /// Files whose tests are named.
    trees: BTreeMap<String, Totals>,
    failures: BTreeSet<String>,
    unloaded: Vec<String>,
    /// All failures again, at the end of a long output.
    is_recap: bool,
    end: End,
}

/// How far the last lines have come. They follow each other directly.
#[derive(Debug, Default)]
enum End {
    #[default]
    Before,
    Suites(u64),
    Tests(u64, Totals),
    Snapshots(u64, Totals),
}

impl Jest {
    pub fn is_open(&self) -> bool {
        self.run.is_some()
    }

    pub fn line(&mut self, line: &str, book: &mut Book) {
        if self.run.is_none() && (file(line).is_some() || suites(line).is_some()) {
            self.run = Some(Open::default());
        }
        let Some(open) = &mut self.run else { return };
        match std::mem::take(&mut open.end) {
            End::Before => {}
            End::Suites(files) => {
                if let Some(totals) = tests(line) {
                    open.end = End::Tests(files, totals);
                    return;
                }
            }
            End::Tests(files, totals) if line.starts_with("Snapshots: ") => {
                open.end = End::Snapshots(files, totals);
                return;
            }
            End::Snapshots(files, totals) if line.starts_with("Time: ") => {
                if let Some(open) = self.run.take() {
                    open.close(files, totals, book);
                }
                return;
            }
            End::Tests(..) | End::Snapshots(..) => {}
        }
        match suites(line) {
            Some(files) => open.end = End::Suites(files),
            None => open.line(line),
        }
    }

    pub fn finish(&mut self, book: &mut Book) {
        let Some(open) = self.run.take() else { return };
        let problem = Some(Problem::NoSummary { of: Runner::Jest.to_string() });
        book.close(Runner::Jest, Run { tests: open.tests, problem, ..Run::default() });
    }
}

impl Open {
    fn line(&mut self, line: &str) {
        if line == "Summary of all failing tests" {
            self.is_recap = true;
        }
        if self.is_recap {
            return;
        }
        if let Some(name) = file(line) {
            self.file = name.to_owned();
            if self.files.len() < super::NAMES_MAX && !self.files.insert(name.to_owned()) {
                self.repeated = true;
            }
            self.in_tree = true;
            self.path.clear();
            return;
        }
        if let Some(title) = line.strip_prefix("  ● ") {
            self.in_tree = false;
            self.failure(title);
        } else if line.is_empty() {
            self.in_tree = false;
        } else if self.in_tree {
            self.tree(line);
        }
    }

    /// `  ● calc › adds`
    fn failure(&mut self, title: &str) {
        if title == "Test suite failed to run" {
            if self.unloaded.len() < super::NAMES_MAX {
                self.unloaded.push(self.file.clone());
            }
        } else if title != "Console"
            && !title.is_empty()
            && !title.starts_with(' ')
            && self.failures.len() < super::NAMES_MAX
        {
            self.failures.insert(format!("{} > {}", self.file, title.replace(" › ", " > ")));
        }
    }

    fn tree(&mut self, line: &str) {
        let (spaces, text) = indent(line);
        if spaces < 2 || spaces % 2 != 0 {
            return;
        }
        let depth = spaces / 2 - 1;
        if depth > DEPTH_MAX {
            return;
        }
        let Some((outcome, name)) = leaf(text) else {
            if depth <= self.path.len() {
                self.path.truncate(depth);
                self.path.push(text.to_owned());
            }
            return;
        };
        self.path.truncate(depth);
        let mut parts = vec![self.file.as_str()];
        parts.extend(self.path.iter().map(String::as_str));
        parts.push(name);
        self.tests.push(&parts.join(" > "), outcome);
        if self.trees.len() < super::NAMES_MAX {
            self.trees.entry(self.file.clone()).or_default().count(outcome);
        }
    }

    fn close(mut self, files: u64, said: Totals, book: &mut Book) {
        let of = Runner::Jest.to_string();
        let named = self.tests.totals();
        let problem = if self.repeated || files != self.files.len() as u64 {
            Some(disagreement(
                &of,
                format!("{}, it counts {files}", counted(self.files.len() as u64, "file")),
            ))
        } else if self.failures.len() as u64 > said.failed {
            Some(disagreement(&of, format!("{} failures by name", self.failures.len())))
        } else if self.trees.len() + self.unloaded.len() >= self.files.len()
            && (named.passed, named.failed) != (said.passed, said.failed)
        {
            // Every file has its tree; a file with nothing but skipped tests has none.
            Some(disagreement(&of, format!("{named} by name, it says {said}")))
        } else {
            None
        };
        if self.tests.is_empty() {
            for name in &self.failures {
                self.tests.push(name, Outcome::Failed);
            }
        }
        let unnamed = said.less(self.tests.totals());
        let mut groups: Vec<(String, Totals)> = Vec::new();
        if unnamed.all() == 0 {
            groups.extend(self.trees);
        } else {
            groups.push((WHOLE.to_owned(), said));
        }
        let run = Run { tests: self.tests, unnamed, groups, unloaded: self.unloaded, problem };
        book.close(Runner::Jest, run);
    }
}

/// `PASS src/calc.test.js (5.1 s)`
fn file(line: &str) -> Option<&str> {
    // In colours it has a margin.
    let line = line.strip_prefix(' ').unwrap_or(line);
    let rest = line.strip_prefix("PASS ").or_else(|| line.strip_prefix("FAIL "))?.trim_start();
    let name = without_time(rest, &[" ms", " s"]);
    let name = name.split(" (").next().unwrap_or(name);
    let is_file = EXTENSIONS.iter().any(|extension| name.ends_with(extension));
    (is_file && !name.contains(" > ")).then_some(name)
}

/// `Test Suites: 2 failed, 1 passed, 3 total`, also `1 of 3 total`: the files that ran.
fn suites(line: &str) -> Option<u64> {
    let list = line.strip_prefix("Test Suites: ")?;
    let mut ran = 0;
    for part in list.split(", ") {
        let mut cut = Cut(part);
        let n = cut.number()?;
        match cut.0 {
            " failed" | " passed" => ran += n,
            // A skipped file has a line only if it ran and skipped all of its tests.
            " skipped" | " total" => {}
            more if more.starts_with(" of ") && more.ends_with(" total") => {}
            _ => return None,
        }
    }
    Some(ran)
}

/// `Tests:       1 failed, 1 skipped, 1 todo, 5 passed, 8 total`
fn tests(line: &str) -> Option<Totals> {
    let mut cut = Cut(line);
    cut.literal("Tests:")?;
    cut.gap()?;
    let mut totals = Totals::default();
    let mut total = None;
    for part in cut.0.split(", ") {
        let mut cut = Cut(part);
        let n = cut.number()?;
        match cut.0 {
            " passed" => totals.add(Outcome::Passed, n),
            " failed" => totals.add(Outcome::Failed, n),
            " skipped" | " todo" => totals.add(Outcome::Skipped, n),
            " total" => total = Some(n),
            _ => return None,
        }
    }
    (total == Some(totals.all())).then_some(totals)
}

/// `✓ adds (2 ms)`, `✕ subtracts`, `○ skipped slow`, `✎ todo divides`.
fn leaf(text: &str) -> Option<(Outcome, &str)> {
    let (mark, name) = text.split_once(' ')?;
    match mark {
        "✓" | "√" => Some((Outcome::Passed, without_time(name, &[" ms", " s"]))),
        "✕" | "×" => Some((Outcome::Failed, without_time(name, &[" ms", " s"]))),
        "○" => Some((Outcome::Skipped, name.strip_prefix("skipped ")?)),
        "✎" => Some((Outcome::Skipped, name.strip_prefix("todo ")?)),
        _ => None,
    }
}
