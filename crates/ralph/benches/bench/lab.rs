//! A scratch directory with a project and a home of ralph's own, and how to use them.

use serde_json::Value;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// The program that is measured: this build's, or another version's, to compare the two.
pub fn program() -> OsString {
    std::env::var_os("RALPH_BENCH_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_ralph").into())
}

/// The settings of the bare loop.
pub const BARE: &str = r#"{"context": false, "checkpoints": false}"#;

pub struct Lab {
    root: TempDir,
}

impl Lab {
    pub fn new() -> Outcome<Lab> {
        let lab = Lab { root: tempfile::Builder::new().prefix("ralph-bench-").tempdir()? };
        fs::create_dir_all(lab.project().join(".ralph"))?;
        Ok(lab)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub fn settings(&self, json: &str) -> io::Result<()> {
        fs::write(self.project().join(".ralph/settings.json"), json)
    }

    /// Ralph in the project, its report going to a file.
    pub fn ralph(&self, args: &[&str]) -> io::Result<Command> {
        let mut command = Command::new(program());
        command
            .args(args)
            .current_dir(self.project())
            .env("RALPH_HOME", self.path("home"))
            .env("RALPH_SANDBOX", "none");
        command.stdin(Stdio::null()).stdout(File::create(self.path("report"))?).stderr(Stdio::null());
        Ok(command)
    }

    /// `ralph run` for so many iterations of an agent.
    pub fn run(&self, iterations: u32, agent: &[&str]) -> io::Result<Command> {
        let mut command = self.ralph(&["run", "--prompt", "go on", "-n", &iterations.to_string(), "--"])?;
        command.args(agent);
        Ok(command)
    }

    /// The directory of the newest run.
    pub fn newest_run(&self) -> Outcome<PathBuf> {
        let runs = fs::read_dir(self.path("home").join("runs"))?;
        let mut runs: Vec<PathBuf> = runs.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        runs.sort_by_key(|run| run.join("journal.jsonl").metadata().and_then(|meta| meta.modified()).ok());
        runs.pop().ok_or_else(|| "there is no run".into())
    }

    /// The next run begins in an empty home. The old one is kept until the bench ends: a file
    /// system that has just lost thousands of files is slow to make new ones.
    pub fn new_home(&self) -> io::Result<()> {
        let homes = fs::read_dir(self.root.path())?.count();
        fs::rename(self.path("home"), self.path(&format!("home-{homes}")))
    }

    /// The same, for runs that are few files and much to keep.
    pub fn forget_runs(&self) -> io::Result<()> {
        fs::remove_dir_all(self.path("home"))
    }
}

/// The events of a run.
pub fn journal(run: &Path) -> Outcome<Vec<Value>> {
    let file = BufReader::new(File::open(run.join("journal.jsonl"))?);
    file.lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// How long a command takes from its start to its end.
pub fn timed(command: &mut Command) -> io::Result<Duration> {
    let start = Instant::now();
    command.spawn()?.wait()?;
    Ok(start.elapsed())
}

pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Ends a process that must not outlive its measure.
pub struct Ending(pub Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
