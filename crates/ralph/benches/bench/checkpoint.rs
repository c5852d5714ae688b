//! A checkpoint with its diff, against one `git status` of the same tree.
//!
//! The agent of these runs is the bench itself: it changes files, times `git status` in the
//! tree as it then is, and looks at what ralph has written.

use crate::lab::{Lab, Outcome, journal, median, millis, timed};
use crate::table::{Goal, Table};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

pub const ROLE: &str = "__bench_agent";

pub const FILES: u32 = 5_000;
pub const CHANGED: u32 = 5;
/// Runs whose first checkpoint is measured.
const RUNS: usize = 7;

pub fn measure(lab: &Lab, table: &mut Table) -> Outcome<()> {
    tree(&lab.project(), FILES)?;
    // Files that have just been written have to be read again, by git as by ralph.
    thread::sleep(Duration::from_secs(3));
    let mut first = Vec::new();
    for _ in 0..RUNS {
        timed(&mut lab.run(1, &["/bin/echo", "hi"])?)?;
        first.extend(snapshots(lab)?.first());
        lab.new_home()?;
    }
    let own = std::env::current_exe()?;
    let own = own.to_str().ok_or("the bench has no name")?;
    let log = lab.path("log").to_string_lossy().into_owned();

    timed(&mut lab.run(31, &[own, ROLE, "change", &log])?)?;
    let taken = snapshots(lab)?;
    let status = median(numbers(&lab.path("log"))?);
    let with_diff = median(taken.into_iter().skip(1).collect());
    table.ratio(
        "checkpoint and diff after 5 changes, 5,000 files",
        (with_diff, status),
        "ms",
        &Goal::AtMost(3.0),
    );
    table.ratio("the first checkpoint of a run", (median(first), status), "ms", &Goal::None);

    lab.new_home()?;
    fs::remove_file(lab.path("log"))?;
    timed(&mut lab.run(21, &[own, ROLE, "look", &log])?)?;
    let status = median(numbers(&lab.path("log"))?);
    let idle = median(snapshots(lab)?.into_iter().skip(1).collect());
    table.ratio("checkpoint when nothing has changed", (idle, status), "ms", &Goal::AtMost(3.0));
    let seen: BTreeSet<String> =
        fs::read_to_string(lab.path("log.looks"))?.lines().map(str::to_owned).collect();
    let found = if seen.len() == 1 { "nothing" } else { "something" };
    table.holds("written when nothing has changed", found, "nothing", seen.len() == 1);
    Ok(())
}

/// A repository of so many small files, fifty in a directory.
pub fn tree(dir: &Path, files: u32) -> Outcome<()> {
    for number in 0..files {
        let path = file(dir, number);
        if number % 50 == 0 {
            fs::create_dir_all(path.parent().unwrap_or(dir))?;
        }
        let lines: String = (0..40).map(|line| format!("line {line} of file {number}\n")).collect();
        fs::write(path, lines)?;
    }
    let identity =
        ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"];
    let commit = ["commit", "-q", "-m", "begin"];
    for args in [&["init", "-q"][..], &["add", "."], &[&identity[..], &commit[..]].concat()] {
        if !git(dir, args).status()?.success() {
            return Err(format!("git {} failed", args.join(" ")).into());
        }
    }
    Ok(())
}

pub fn file(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("dir{}/file{number}.txt", number / 50))
}

pub fn git(dir: &Path, args: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
    git
}

/// Milliseconds of each checkpoint, as the journal tells them.
fn snapshots(lab: &Lab) -> Outcome<Vec<f64>> {
    let mut began = None;
    let mut taken = Vec::new();
    for event in journal(&lab.newest_run()?)? {
        let now = event["up_ms"].as_f64().unwrap_or(0.0);
        if !event["fact"]["began"]["step"]["snapshot"].is_null() {
            began = Some(now);
        }
        let end = &event["fact"]["ended"]["end"]["snapshot"];
        if let (Some(began), false) = (began, end.is_null()) {
            if end["tree"].is_null() {
                return Err(format!("a checkpoint failed: {end}").into());
            }
            taken.push(now - began);
        }
    }
    Ok(taken)
}

pub fn numbers(log: &Path) -> Outcome<Vec<f64>> {
    Ok(fs::read_to_string(log)?.lines().map(str::parse).collect::<Result<_, _>>()?)
}

/// The agent: `change LOG`, `claim LOG` or `look LOG`.
pub fn agent(args: &[String]) -> ExitCode {
    let [what, log] = args else { return ExitCode::FAILURE };
    match act(what, Path::new(log)) {
        Ok(()) => {
            println!("{}", if what == "claim" { "<response>DONE</response>" } else { "hi" });
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn act(what: &str, log: &Path) -> Outcome<()> {
    let here = std::env::current_dir()?;
    if what == "claim" {
        // Two claims within a second would be a wait for the next (docs/decisions.md).
        thread::sleep(Duration::from_millis(1100));
    }
    if what != "look" {
        let iteration: u32 = std::env::var("RALPH_ITERATION")?.parse()?;
        for number in 0..CHANGED {
            let path = file(&here, number * FILES / CHANGED);
            append(&path, &format!("changed in iteration {iteration}"))?;
        }
    } else {
        let home = std::env::var_os("RALPH_HOME").ok_or("no home")?;
        let run = std::env::var_os("RALPH_RUN").ok_or("no run")?;
        let mut looks = log.as_os_str().to_owned();
        looks.push(".looks");
        let repository = Path::new(&home).join("runs").join(run).join("checkpoints.git");
        append(Path::new(&looks), &fingerprint(&repository)?)?;
    }
    let took = timed(&mut git(&here, &["status", "--porcelain"]))?;
    append(log, &millis(took).to_string())?;
    Ok(())
}

pub fn append(path: &Path, line: &str) -> io::Result<()> {
    writeln!(File::options().append(true).create(true).open(path)?, "{line}")
}

/// Changes whenever a file below a directory is made, removed or written.
fn fingerprint(dir: &Path) -> Outcome<String> {
    let mut found = Vec::new();
    let mut ahead = vec![dir.to_path_buf()];
    while let Some(dir) = ahead.pop() {
        for entry in fs::read_dir(dir)? {
            let (path, meta) = {
                let entry = entry?;
                (entry.path(), entry.metadata()?)
            };
            let written = meta.modified()?.duration_since(UNIX_EPOCH)?.as_nanos();
            let name = path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned();
            found.push(format!("{name}:{written}"));
            if meta.is_dir() {
                ahead.push(path);
            }
        }
    }
    found.sort();
    Ok(found.join(" "))
}
