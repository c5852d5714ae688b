//! Processes of a run whose engine and keeper were both killed at once.
//!
//! They are found by the sessions that the run's keepers have recorded, by `RALPH_RUN=<id>` in the
//! environment that agents are started with, and by being below one of these. That catches what did not
//! try to hide; a sandbox is for the rest.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, getpid, pidfd_open, pidfd_send_signal};

use super::lineage::Lineage;
use super::procfs::{self, Stat, View};
use super::sessions::{self, Session};
use crate::layout::RunDir;

/// How long the whole search may take. Killed processes are gone in milliseconds.
const LIMIT: Duration = Duration::from_secs(5);

/// How the processes of a run are recognized.
struct Signs {
    sessions: Vec<Session>,
    marker: Vec<u8>,
}

/// Ends the processes of this user that belong to the run of this directory, other than this process and its
/// ancestors, and returns how many. To be called with the run's lock held and before its
/// keeper is started, so that nothing of a live keeper is taken for a leftover.
pub fn end_survivors(run_dir: &Path) -> u32 {
    let deadline = Instant::now() + LIMIT;
    let run = RunDir::at(run_dir.to_path_buf());
    let signs =
        Signs { sessions: sessions::recorded(&run), marker: format!("RALPH_RUN={}", run.id()).into_bytes() };
    let spared = Lineage::of(getpid()).map_or_else(|| vec![getpid()], |line| line.pids().to_vec());
    let mut killed = 0;
    while Instant::now() < deadline {
        let frozen = freeze(&signs, &spared, deadline);
        if frozen.is_empty() {
            break;
        }
        for (_, pidfd) in &frozen {
            // One that is gone was ended by its keeper, which sweeps as soon as the first of them is.
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

/// Stops all that match, and what is below them. Processes that may not be signalled are not among them.
///
/// It is over when every process of one list has been looked at. A single pass is not
/// enough: who hands over to a new process every few milliseconds is gone when its turn
/// comes, but the new process is in the next list.
fn freeze(signs: &Signs, spared: &[Pid], deadline: Instant) -> Vec<(Pid, OwnedFd)> {
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
            match stop_if_marked(pid, signs) {
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
        calm &= !freeze_below(&mut frozen, spared);
        if calm || Instant::now() >= deadline {
            return frozen;
        }
    }
}

/// Stops what is below those that are stopped already, which may have left the session and have another
/// environment. Whether there was anything.
fn freeze_below(frozen: &mut Vec<(Pid, OwnedFd)>, spared: &[Pid]) -> bool {
    let before = frozen.len();
    let roots = frozen.iter().map(|(pid, _)| *pid).collect();
    for pid in View::now().trees(roots) {
        let is_frozen = |pid: Pid| frozen.iter().any(|(known, _)| *known == pid);
        if is_frozen(pid) || spared.contains(&pid) {
            continue;
        }
        let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let is_below = |stat: Stat| !stat.is_dead() && stat.parent().is_some_and(is_frozen);
        if Stat::of(pid).is_some_and(is_below) && pidfd_send_signal(&pidfd, Signal::STOP).is_ok() {
            frozen.push((pid, pidfd));
        }
    }
    frozen.len() > before
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
fn stop_if_marked(pid: Pid, signs: &Signs) -> Look {
    let foreign = |meta: fs::Metadata| meta.uid() != geteuid().as_raw();
    if fs::metadata(format!("/proc/{pid}")).map_or(true, foreign) {
        return Look::NotOurs;
    }
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return Look::NotOurs };
    let stop = |pidfd| match pidfd_send_signal(&pidfd, Signal::STOP) {
        Ok(()) => Look::Stopped(pidfd),
        Err(_) => Look::NotOurs,
    };
    if signs.sessions.iter().any(|session| session.has(pid)) {
        return stop(pidfd);
    }
    let Ok(environ) = fs::read(format!("/proc/{pid}/environ")) else { return Look::NotOurs };
    if environ.is_empty() && has_memory(pid) {
        return Look::Unclear;
    }
    match environ.split(|byte| *byte == 0).any(|entry| entry == signs.marker) {
        true => stop(pidfd),
        false => Look::NotOurs,
    }
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
