//! What a check has left: what its output says about tests, and delivered files that it has changed.
//! Runs on a thread beside the loop.

use super::watched::Compared;
use crate::layout::RunDir;
use crate::proof::only_outside::RanInside;
use ralph_loop::gates::{Gates, Glob};
use ralph_loop::proof::{OnlyOutside, TestsSeen};
use ralph_loop::test_report::{Reader, TestReport, junit};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// More of an output is not read. What ends a runner's output is then missing.
const MOST_READ: u64 = 256 << 20;
const CHUNK: usize = 1 << 20;
/// So many changed files are named.
const MOST_NAMED: usize = 10;
/// More of a project is not searched for JUnit files, and larger ones are not read.
const MOST_ENTRIES: usize = 200_000;
const LARGEST_JUNIT: u64 = 64 << 20;

/// Where to look when a check has ended.
pub struct AfterCheck {
    /// The log, as the check has it open.
    pub output: File,
    pub junit: Vec<String>,
    /// The directory that JUnit files are in.
    pub dir: PathBuf,
    pub began: SystemTime,
    /// The report of the baseline, by hash.
    pub before: Option<String>,
    pub run_dir: RunDir,
    /// The files that it ran on, if those are the start or what is delivered.
    pub compared: Option<Compared>,
    /// The commands of all checks, as if they ran at the top of the work tree, and the user's globs.
    pub checks: Vec<String>,
    pub pins: Vec<String>,
    /// It ran outside the sandbox, and inside before.
    pub inside: Option<RanInside>,
}

#[derive(Default)]
pub struct Found {
    pub tests: Option<TestsRead>,
    pub changed: Vec<String>,
    /// Tests and checks that were written to, whatever is in them now.
    pub touched: Vec<String>,
    pub only_outside: Option<Box<OnlyOutside>>,
}

/// A report, and what a verdict needs of it. The report has to be kept under the hash of its text.
pub struct TestsRead {
    pub text: String,
    report: TestReport,
    before: Option<TestReport>,
}

impl TestsRead {
    pub fn seen(&self, hash: String) -> TestsSeen {
        TestsSeen::of(&self.report, self.before.as_ref(), hash)
    }
}

impl AfterCheck {
    pub fn look(mut self, passed: bool) -> Found {
        let (changed, touched) = match self.compared.take().filter(|compared| !compared.is_untouched()) {
            Some(compared) => (compared.changed(MOST_NAMED), self.touched(&compared)),
            None => (Vec::new(), Vec::new()),
        };
        let tests = self.tests();
        let report = tests.as_ref().map(|tests| &tests.report);
        let only_outside = self.inside.as_ref().map(|inside| inside.compare(&self.run_dir, passed, report));
        Found { tests, changed, touched, only_outside: only_outside.map(Box::new) }
    }

    fn touched(&self, compared: &Compared) -> Vec<String> {
        let written = compared.written();
        if written.is_empty() {
            return Vec::new();
        }
        let checks: Vec<&str> = self.checks.iter().map(String::as_str).collect();
        let read = |path: &str| fs::read_to_string(compared.dir().join(path)).ok();
        let gates = Gates::new(&checks, &self.pins, &read);
        written.into_iter().filter(|path| gates.classify(path).is_some()).take(MOST_NAMED).collect()
    }

    /// Nothing if there are none.
    fn tests(&mut self) -> Option<TestsRead> {
        let mut report = self.output_report();
        for found in self.junit_reports() {
            match &mut report {
                Some(report) => report.add(found),
                none => *none = Some(found),
            }
        }
        let report = report?;
        let text = serde_json::to_string(&report).ok()?;
        let before = self.before.as_ref().and_then(|hash| fs::read(self.run_dir.text(hash)).ok());
        let before = before.and_then(|text| serde_json::from_slice(&text).ok());
        Some(TestsRead { text, report, before })
    }

    fn output_report(&mut self) -> Option<TestReport> {
        let mut reader = Reader::default();
        self.output.rewind().ok()?;
        let (mut buffer, mut left) = (vec![0; CHUNK], MOST_READ);
        while left > 0 {
            let n = self.output.read(&mut buffer).ok().filter(|n| *n > 0);
            let Some(n) = n else { break };
            reader.feed(&buffer[..n]);
            left = left.saturating_sub(n as u64);
        }
        reader.finish()
    }

    fn junit_reports(&self) -> Vec<TestReport> {
        let globs: Vec<Glob> = self.junit.iter().map(|glob| Glob::new(glob)).collect();
        if globs.is_empty() {
            return Vec::new();
        }
        let mut files = matching(&self.dir, &globs);
        files.sort();
        let text = |path: &PathBuf| {
            let meta = path.metadata().ok().filter(|meta| meta.len() <= LARGEST_JUNIT)?;
            // One from before the check says nothing about it.
            (meta.modified().ok()? >= self.began).then(|| fs::read_to_string(path).ok()).flatten()
        };
        files.iter().filter_map(text).filter_map(|text| junit(&text)).collect()
    }
}

fn matching(dir: &Path, globs: &[Glob]) -> Vec<PathBuf> {
    let (mut found, mut dirs, mut seen) = (Vec::new(), vec![dir.to_path_buf()], 0);
    while let Some(at) = dirs.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            seen += 1;
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            let below = path.strip_prefix(dir).ok().and_then(Path::to_str);
            if kind.is_dir() && seen < MOST_ENTRIES && entry.file_name() != ".git" {
                dirs.push(path);
            } else if kind.is_file()
                && below.is_some_and(|below| globs.iter().any(|glob| glob.matches(below)))
            {
                found.push(path);
            }
        }
    }
    found
}
