//! What the kernel knows of a process.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::Outcome;

/// A field of a status file in `/proc`, 0 if it or the process is not there.
fn field(path: &str, name: &str) -> u64 {
    let status = fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The most memory that a process has held at once, in KiB.
fn peak_kib(pid: u32) -> u64 {
    field(&format!("/proc/{pid}/status"), "VmHWM")
}

/// The memory of a process, what it shares with others divided among them, in KiB.
pub fn pss_kib(pid: u32) -> u64 {
    field(&format!("/proc/{pid}/smaps_rollup"), "Pss")
}

/// The memory of a process without mapped files, in KiB.
pub fn anonymous_kib(pid: u32) -> u64 {
    field(&format!("/proc/{pid}/status"), "RssAnon")
}

/// How often all threads of a process have been switched to.
pub fn switches(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .map(|thread| {
            let status = thread.path().join("status").to_string_lossy().into_owned();
            field(&status, "voluntary_ctxt_switches") + field(&status, "nonvoluntary_ctxt_switches")
        })
        .sum()
}

/// How many processes wanted to run in the last minute. More than a few: others were busy too.
pub fn load() -> String {
    let average = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let average: f64 = average.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    format!("{average} on {processors} processors")
}

/// Seconds for which all threads of a process have run.
pub fn cpu_seconds(pid: u32) -> f64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// The keeper of an engine: its child of that name.
pub fn keeper(engine: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{engine}/task/{engine}/children")).ok()?;
    let mut children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    children.find(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim() == "ralph-keeper"
    })
}

/// How long ralph took, and the peak of its memory with its keeper's, in MB.
///
/// The peak is the kernel's own mark and only read now and then: what the last moments
/// before the end may add is missed, anything earlier is not.
pub fn timed_with_peak(command: &mut Command) -> Outcome<(Duration, f64)> {
    let start = Instant::now();
    let mut child: Child = command.spawn()?;
    let engine = child.id();
    let (mut of_engine, mut of_keeper) = (0, 0);
    while child.try_wait()?.is_none() {
        of_engine = of_engine.max(peak_kib(engine));
        of_keeper = of_keeper.max(keeper(engine).map_or(0, peak_kib));
        thread::sleep(Duration::from_millis(5));
    }
    Ok((start.elapsed(), (of_engine + of_keeper) as f64 * 1024.0 / 1e6))
}
