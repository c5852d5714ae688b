//! Processes of a run whose engine and keeper were both killed at once.
//!
//! They are found by `RALPH_RUN=<id>` in the environment they were started with. That
//! catches what nobody tried to hide; a sandbox is for the rest.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
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
pub fn end_leftovers(run_id: &str) -> u32 {
    let deadline = Instant::now() + LIMIT;
    let marker = format!("RALPH_RUN={run_id}");
    let spared = lineage();
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

/// Stops all that match, and looks again until there are no new ones. Processes that may
/// not be signalled are not among them.
fn freeze(marker: &[u8], spared: &[Pid], deadline: Instant) -> Vec<(Pid, OwnedFd)> {
    let mut frozen: Vec<(Pid, OwnedFd)> = Vec::new();
    loop {
        let mut calm = true;
        for pid in procfs::all() {
            if spared.contains(&pid) || frozen.iter().any(|(known, _)| *known == pid) {
                continue;
            }
            if let Some(pidfd) = stop_if_marked(pid, marker) {
                frozen.push((pid, pidfd));
                calm = false;
            }
        }
        if calm || Instant::now() >= deadline {
            return frozen;
        }
    }
}

/// The pidfd is opened first, so that what is signalled is what was looked at, whoever has
/// the number by then.
fn stop_if_marked(pid: Pid, marker: &[u8]) -> Option<OwnedFd> {
    if fs::metadata(format!("/proc/{pid}")).ok()?.uid() != geteuid().as_raw() {
        return None;
    }
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    // A zombie's environment is empty.
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    if !environ.split(|byte| *byte == 0).any(|entry| entry == marker) {
        return None;
    }
    pidfd_send_signal(&pidfd, Signal::STOP).ok().map(|()| pidfd)
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

/// This process and its ancestors.
fn lineage() -> Vec<Pid> {
    let mut line = vec![getpid()];
    while let Some(parent) = line.last().and_then(|pid| Stat::of(*pid)?.parent()) {
        line.push(parent);
    }
    line
}
