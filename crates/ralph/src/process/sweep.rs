//! Freeze, kill, reap: the end of everything below this process.
//!
//! A tree that is killed one by one can fork away from the killer. Frozen first, it
//! cannot: once a look at all descendants finds none that was not told to stop, all are
//! killed. Orphans come to this process (a subreaper), so the next round finds them.
//!
//! Invariant: a sweep ends. It waits only for processes that took its SIGKILL; those of
//! other users, which cannot be signalled, are left.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

use super::procfs::{Stat, View};
use super::{Exit, exit_of};

/// Enough for a tree that keeps forking: each look is faster than a fork and an exec.
const LOOKS: u32 = 50;

/// Ends all descendants but for the children that are `spared` and what is below those.
/// Returns how many were alive; `reaped` hears of each child that was waited for.
pub(super) fn sweep(spared: impl Fn(Pid) -> bool, mut reaped: impl FnMut(Pid, Exit)) -> u32 {
    let mut killed = 0;
    let mut beyond_reach = Vec::new();
    loop {
        let found = freeze(&spared, &mut beyond_reach);
        if found.is_empty() {
            return killed;
        }
        killed += u32::try_from(found.frozen.len()).unwrap_or(u32::MAX);
        for pid in found.frozen {
            // With the first process of a namespace the kernel has ended the others.
            let _ = kill_process(pid, Signal::KILL);
        }
        for pid in found.children {
            match wait_for(pid) {
                Some(exit) => reaped(pid, exit),
                None => beyond_reach.push(pid),
            }
        }
    }
}

#[derive(Default)]
struct Found {
    /// Alive, and stopped with a signal.
    frozen: Vec<Pid>,
    /// Children of this process, dead or frozen: they can be waited for.
    children: Vec<Pid>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.frozen.is_empty() && self.children.is_empty()
    }
}

fn freeze(spared: impl Fn(Pid) -> bool, beyond_reach: &mut Vec<Pid>) -> Found {
    let mut found = Found::default();
    for _ in 0..LOOKS {
        let view = View::now();
        let children: Vec<Pid> = view.children(getpid()).into_iter().filter(|pid| !spared(*pid)).collect();
        let mut calm = true;
        for pid in view.trees(children.clone()) {
            if found.frozen.contains(&pid) || beyond_reach.contains(&pid) {
                continue;
            }
            if Stat::of(pid).is_some_and(|stat| !stat.is_dead()) {
                match kill_process(pid, Signal::STOP) {
                    Ok(()) => found.frozen.push(pid),
                    Err(Errno::PERM) => beyond_reach.push(pid),
                    Err(_) => {} // It has just been reaped.
                }
                calm = false;
            }
        }
        found.children = children.into_iter().filter(|pid| !beyond_reach.contains(pid)).collect();
        if calm {
            break;
        }
    }
    found
}

fn wait_for(pid: Pid) -> Option<Exit> {
    loop {
        match waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return exit_of(status),
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return None, // Another thread has waited for it.
        }
    }
}
