//! What a check that fails in the sandbox shows outside of it: tests that pass only there, and what its output
//! inside says is missing.

use crate::layout::RunDir;
use crate::sandbox::Sandbox;
use ralph_loop::proof::OnlyOutside;
use ralph_loop::test_report::{PassOnly, TestReport, pass_only};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So much is read of the beginning of an output, and of its end.
const READ: u64 = 2 << 20;

/// A check in the sandbox, before it runs outside.
pub struct RanInside {
    pub sandbox: Arc<Sandbox>,
    /// What it printed last.
    pub log: PathBuf,
    /// The tests of each time that it ran, by the hash of their report.
    pub reports: Vec<Option<String>>,
}

impl RanInside {
    /// `passed` and `tests` are of the check outside.
    pub fn compare(&self, run_dir: &RunDir, passed: bool, tests: Option<&TestReport>) -> OnlyOutside {
        let read = |hash: &String| serde_json::from_slice(&fs::read(run_dir.text(hash)).ok()?).ok();
        let inside: Vec<Option<TestReport>> =
            self.reports.iter().map(|hash| hash.as_ref().and_then(read)).collect();
        let PassOnly { tests, named } = tests.map(|tests| pass_only(tests, &inside)).unwrap_or_default();
        // What is red everywhere lacks something else.
        let is_broken = passed || tests > 0;
        let output = if is_broken { output(&self.log).unwrap_or_default() } else { String::new() };
        OnlyOutside { tests, named, needs: self.sandbox.lacks(&output) }
    }
}

fn output(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.by_ref().take(READ).read_to_end(&mut bytes)?;
    if length > READ {
        file.seek(SeekFrom::Start((length - READ).max(READ)))?;
        bytes.push(b'\n');
        file.take(READ).read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
