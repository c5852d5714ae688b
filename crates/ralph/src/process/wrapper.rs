//! Processes that only start a program and wait for it: bubblewrap's.
//!
//! bubblewrap has one process outside of the sandbox and, in a process namespace, one inside, which is the
//! parent of orphans there. If either ends, the program is killed at once. So what is asked to end is the
//! program and all that it has started, and the wrapper ends after it.
//!
//! Invariant: a wrapper's process is known by the file that it executes, not by a name, which any program
//! can give itself.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, Signal, getpid, kill_process};

use super::procfs::View;

/// The file of a wrapper. It is the same file in every mount namespace, and stays so when another is
/// installed in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wrapper {
    device: u64,
    inode: u64,
}

impl Wrapper {
    pub(super) fn at(program: &Path) -> io::Result<Wrapper> {
        let file = fs::metadata(program)?;
        Ok(Wrapper { device: file.dev(), inode: file.ino() })
    }

    /// Sends SIGTERM to everything below this process but for the wrapper, all at one look: what they start
    /// in order to end cleanly is not told to end. False if there is nothing but the wrapper.
    pub(super) fn terminate_wrapped(self) -> bool {
        let view = View::now();
        let mut wrappers = Vec::new();
        let mut wrapped = Vec::new();
        let mut next = view.children(getpid());
        while let Some(pid) = next.pop() {
            if !self.is_executed_by(pid) {
                wrapped.push(pid);
            } else if !wrappers.contains(&pid) {
                wrappers.push(pid);
                next.extend(view.children(pid));
            }
        }
        let wrapped = view.trees(wrapped);
        for pid in &wrapped {
            let _ = kill_process(*pid, Signal::TERM);
        }
        // A stopped one hears only after it goes on.
        for pid in wrapped.iter().chain(&wrappers) {
            let _ = kill_process(*pid, Signal::CONT);
        }
        !wrapped.is_empty()
    }

    /// How many processes of the wrapper there are below this process.
    pub(super) fn count_below(self) -> u32 {
        let view = View::now();
        let below = view.trees(view.children(getpid()));
        u32::try_from(below.into_iter().filter(|pid| self.is_executed_by(*pid)).count()).unwrap_or(u32::MAX)
    }

    fn is_executed_by(self, pid: Pid) -> bool {
        Wrapper::at(Path::new(&format!("/proc/{pid}/exe"))).is_ok_and(|file| file == self)
    }
}
