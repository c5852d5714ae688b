//! What test runners printed: which tests ran, and what became of them.
//!
//! Checks run once before the first agent and again when an agent claims to be done; [`compare`] says
//! what changed between the two. The output comes from programs that an agent may have changed, so
//! shapes are matched strictly, every summary is held against the lines before it, and what does not
//! fit is a [`Problem`] of the report instead of a guess.
//!
//! Invariants: the report does not depend on how the output is cut into reads; memory is bounded
//! (lines, names, groups, problems); nothing is counted twice. While one runner is between its first
//! line and its summary, the lines belong to it alone: what its tests print cannot open another one.
//!
//! What text alone cannot tell:
//! - A test that prints all that its runner would have printed, and then ends the process, looks like
//!   a run that passed. Only a test that vanished from the names or the counts shows it.
//! - cargo nextest and `node --test` start a process per test or file. One that ends with
//!   `exit(0)` in the middle counts as passed there; for node its tests vanish, for nextest nothing
//!   does.
//! - unittest without `-v` prints only a number. `go test` without `-v` does not even print that: a
//!   package is one test. `pytest -q -s` is never complete.
//! - Runners that write at the same time (`make -j`) are mixed up, and so not complete.
//! - A test that passes because it was emptied is a test that passes.
//!
//! Deliberately absent: the exit code, which is the check's, and any decision on what is proven.

mod compare;
mod cut;
mod go;
mod go_json;
mod jest;
mod junit;
mod libtest;
mod nextest;
mod node;
mod only;
mod pytest;
mod pytest_lines;
mod report;
mod tap;
mod unittest;
mod vitest;
mod xml;

pub use compare::{CountChange, TestChanges, compare};
pub use junit::junit;
pub use only::{PassOnly, pass_only};
pub use report::{NAMES_MAX, Outcome, Problem, Runner, Suite, TestReport, Totals};

use crate::dialect::{Line, Lines};
use crate::text::printable;
use report::Book;

/// Longer lines are not read. `go test -json` has the longest that matter.
const LINE_MAX: usize = 64 << 10;

/// All others are shorter, and names are kept up to this length while a runner is open.
const TEXT_MAX: usize = 2 << 10;

/// Reads the output of a check as it comes.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    runners: Runners,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader { lines: Lines::with_cap(LINE_MAX), runners: Runners::default() }
    }
}

impl Reader {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.lines.feed(bytes, &mut |line| self.runners.read(line));
    }

    /// `None` if no test runner was recognized.
    pub fn finish(mut self) -> Option<TestReport> {
        self.lines.finish(&mut |line| self.runners.read(line));
        self.runners.finish()
    }
}

/// A report of an output that is in memory.
pub fn read(output: &[u8]) -> Option<TestReport> {
    let mut reader = Reader::default();
    reader.feed(output);
    reader.finish()
}

#[derive(Debug, Default)]
struct Runners {
    libtest: libtest::Libtest,
    nextest: nextest::Nextest,
    pytest: pytest::Pytest,
    unittest: unittest::Unittest,
    go: go::Go,
    jest: jest::Jest,
    vitest: vitest::Vitest,
    node: node::Node,
    tap: tap::Tap,
    book: Book,
}

impl Runners {
    fn read(&mut self, line: Line<'_>) {
        let Line::Whole(bytes) = line else { return };
        let text = String::from_utf8_lossy(bytes);
        // What a terminal would have overwritten was still printed.
        for line in text.trim_end_matches('\r').split('\r') {
            let line = printable(line);
            if line.len() <= TEXT_MAX || line.starts_with('{') {
                self.line(&line);
            }
        }
    }

    fn line(&mut self, line: &str) {
        let book = &mut self.book;
        if self.nextest.is_open() {
            self.nextest.line(line, book);
        } else if self.libtest.is_open() {
            self.libtest.line(line, book);
        } else if self.pytest.is_open() {
            self.pytest.line(line, book);
        } else if self.go.is_open() {
            self.go.line(line, book);
        } else if self.jest.is_open() {
            self.jest.line(line, book);
        } else if self.vitest.is_open() {
            self.vitest.line(line, book);
        } else if self.tap.is_open() {
            self.tap.line(line, book);
        } else {
            self.nextest.line(line, book);
            self.libtest.line(line, book);
            self.pytest.line(line, book);
            self.go.line(line, book);
            self.jest.line(line, book);
            self.vitest.line(line, book);
            self.tap.line(line, book);
            self.node.line(line, book);
            self.unittest.line(line, book);
        }
    }

    fn finish(mut self) -> Option<TestReport> {
        let book = &mut self.book;
        self.nextest.finish(book);
        self.libtest.finish(book);
        self.pytest.finish(book);
        self.go.finish(book);
        self.jest.finish(book);
        self.vitest.finish(book);
        self.tap.finish(book);
        self.unittest.finish(book);
        self.book.finish()
    }
}
