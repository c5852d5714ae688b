//! Processes of a run whose engine and keeper were both killed at once.
//!
//! They are found by `RALPH_RUN=<id>` in the environment they were started with. That
//! catches what did not try to hide; a sandbox is for the rest.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, getpid, pidfd_open, pidfd_send_signal};

use super::procfs::{self, Stat};

/// How long the whole search may take. Killed processes are gone in milliseconds.
const LIMIT: Duration = Duration::from_secs(5);

/// Ends the processes of this user that belong to the run, other than this process and its
/// ancestors, and returns how many. To be called with the run's lock held and before its
/// keeper is started, so that no live keeper is taken for a leftover.
pub fn end_survivors(run_id: &str) -> u32 {
    let deadline = Instant::now() + LIMIT;
    let marker = format!("RALPH_RUN={run_id}");
    let spared = lineage(getpid());
    let mut killed = 0;
    while Instant::now() < deadline {
        let frozen = freeze(marker.as_bytes(), &spared, deadline);
        if frozen.is_empty() {
            break;
        }
        for (_, pidfd) in &frozen {
            if pidfd_send_signal(pidfd, Signal::KILL).is_ok() {
                killed += 1;
            }
        }
        for (_, pidfd) in &frozen {
            wait_until(pidfd, deadline);
        }
    }
    killed
}

/// Stops all that match. Processes that may not be signalled are not among them.
///
/// It is over when every process of one list has been looked at. A single pass is not
/// enough: who hands over to a new process every few milliseconds is gone when its turn
/// comes, but the new process is in the next list.
fn freeze(marker: &[u8], spared: &[Pid], deadline: Instant) -> Vec<(Pid, OwnedFd)> {
    let mut frozen: Vec<(Pid, OwnedFd)> = Vec::new();
    let mut seen: HashSet<Pid> = spared.iter().copied().collect();
    let mut unclear: HashMap<Pid, u32> = HashMap::new();
    loop {
        let mut calm = true;
        for pid in procfs::all() {
            if seen.contains(&pid) {
                continue;
            }
            calm = false;
            match stop_if_marked(pid, marker) {
                Look::Stopped(pidfd) => frozen.push((pid, pidfd)),
                Look::NotOurs => {}
                Look::Unclear => {
                    let looks = unclear.entry(pid).or_default();
                    *looks += 1;
                    if *looks < UNCLEAR_LOOKS {
                        thread::sleep(UNCLEAR_PAUSE);
                        continue;
                    }
                }
            }
            seen.insert(pid);
        }
        if calm || Instant::now() >= deadline {
            return frozen;
        }
    }
}

enum Look {
    Stopped(OwnedFd),
    NotOurs,
    /// Without an environment: in the middle of an `exec`, or started without one.
    Unclear,
}

/// An `exec` takes well under a millisecond; far more than that in all.
const UNCLEAR_LOOKS: u32 = 50;
const UNCLEAR_PAUSE: Duration = Duration::from_micros(200);

/// The pidfd is opened first, so that the process that is signalled is the one that was looked
/// at, even if another has its number by then.
fn stop_if_marked(pid: Pid, marker: &[u8]) -> Look {
    let foreign = |meta: fs::Metadata| meta.uid() != geteuid().as_raw();
    if fs::metadata(format!("/proc/{pid}")).map_or(true, foreign) {
        return Look::NotOurs;
    }
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return Look::NotOurs };
    let Ok(environ) = fs::read(format!("/proc/{pid}/environ")) else { return Look::NotOurs };
    if environ.is_empty() && has_memory(pid) {
        return Look::Unclear;
    }
    if !environ.split(|byte| *byte == 0).any(|entry| entry == marker) {
        return Look::NotOurs;
    }
    pidfd_send_signal(&pidfd, Signal::STOP).map_or(Look::NotOurs, |()| Look::Stopped(pidfd))
}

/// Zombies and threads of the kernel have none, and never an environment.
fn has_memory(pid: Pid) -> bool {
    fs::read(format!("/proc/{pid}/statm")).is_ok_and(|sizes| !sizes.starts_with(b"0 "))
}

fn wait_until(pidfd: &OwnedFd, deadline: Instant) {
    loop {
        let Ok(left) = Timespec::try_from(deadline.saturating_duration_since(Instant::now())) else {
            return;
        };
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// The runs whose agents or checks started a process or one of its ancestors, the nearest first. What
/// an agent took out of the environment of its children is still in its own.
pub fn runs_around(pid: Pid) -> Vec<String> {
    let run_of = |pid: &Pid| {
        let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let run = environ.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"RALPH_RUN="))?;
        String::from_utf8(run.to_vec()).ok()
    };
    lineage(pid).iter().filter_map(run_of).collect()
}

/// A process and its ancestors.
fn lineage(pid: Pid) -> Vec<Pid> {
    let mut line = vec![pid];
    while let Some(parent) = line.last().and_then(|pid| Stat::of(*pid)?.parent()) {
        line.push(parent);
    }
    line
}
