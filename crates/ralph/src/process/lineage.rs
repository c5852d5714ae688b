//! A process and its ancestors: which runs it comes from.
//!
//! A keeper is the subreaper of everything it has started, so the parents of each of these processes
//! lead to the keeper, whatever they do with their sessions, their environment, or the process that
//! started them. A keeper's arguments name the directory of its run.
//!
//! Invariant: a lineage that was returned was true at one moment, link by link. A process that ended
//! while it was read, and whose number another may have by now, is never followed.
//!
//! Deliberately absent: processes that another program started on request (tmux, cron, systemd). They
//! are children of that program.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use super::procfs::Stat;
use super::{KEEPER, ours, sessions};
use crate::layout::RunDir;

/// Ancestors seldom end while they are looked at, and it takes microseconds to look again.
const LOOKS: u32 = 100;

#[derive(Debug, Clone)]
pub struct Lineage {
    /// The process itself first.
    line: Vec<Pid>,
}

impl Lineage {
    /// Nothing if the process is gone.
    pub fn of(pid: Pid) -> Option<Lineage> {
        (0..LOOKS).find_map(|_| look(pid)).map(|line| Lineage { line })
    }

    pub(super) fn pids(&self) -> &[Pid] {
        &self.line
    }

    /// The directories of the runs whose keepers are among the ancestors, the nearest first.
    pub fn keepers(&self) -> Vec<PathBuf> {
        self.line.iter().filter_map(|pid| kept_run(&fs::read(format!("/proc/{pid}/cmdline")).ok()?)).collect()
    }

    /// Whether it came to this process, the engine, from a keeper that has just died.
    pub fn is_left_by_keeper(&self) -> bool {
        let engine = self.line.iter().position(|pid| *pid == getpid());
        let child = engine.and_then(|at| self.line.get(at.checked_sub(1)?));
        child.is_some_and(|child| ours::is_left_by_keeper(*child))
    }

    /// Whether it or an ancestor is in the session of a keeper of the run of this directory, alive or dead.
    pub fn is_in_session_of(&self, run_dir: &Path) -> bool {
        let sessions = sessions::recorded(&RunDir::at(run_dir.to_path_buf()));
        !sessions.is_empty() && self.line.iter().any(|pid| sessions.iter().any(|session| session.has(*pid)))
    }

    /// The runs that are named by `RALPH_RUN` in the environment of the process and its ancestors, the
    /// nearest first. What an agent took out of the environment of its children is still in its own.
    pub fn named_runs(&self) -> Vec<String> {
        let run_of = |pid: &Pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let run = environ.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"RALPH_RUN="))?;
            String::from_utf8(run.to_vec()).ok()
        };
        self.line.iter().filter_map(run_of).collect()
    }
}

/// Nothing if a process of the line ended meanwhile.
fn look(pid: Pid) -> Option<Vec<Pid>> {
    let mut line = vec![pid];
    let Some(mut stat) = Stat::of(pid) else { return is_hidden(pid).then_some(line) };
    loop {
        let (Some(child), Some(parent)) = (line.last().copied(), stat.parent()) else { return Some(line) };
        let above = Stat::of(parent);
        let hidden = above.is_none() && is_hidden(parent);
        // It was the parent when it was looked at, and not another process that has its number.
        if Stat::of(child)?.parent() != Some(parent) {
            return None;
        }
        match above {
            Some(above) => {
                line.push(parent);
                stat = above;
            }
            None => return hidden.then_some(line),
        }
    }
}

/// Whether a process exists although `/proc` does not show it: that of another user, if `/proc` is
/// mounted with `hidepid`. A keeper of this user is not above it in any way that can be seen.
fn is_hidden(pid: Pid) -> bool {
    pidfd_open(pid, PidfdFlags::empty()).is_ok()
}

/// The directory of its run, from the arguments of a keeper.
fn kept_run(arguments: &[u8]) -> Option<PathBuf> {
    let mut arguments = arguments.split(|byte| *byte == 0).skip(1);
    let is_keeper = arguments.next()? == KEEPER.as_bytes();
    let run = arguments.next().filter(|run| is_keeper && !run.is_empty())?;
    Some(PathBuf::from(OsString::from_vec(run.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_keepers_arguments_name_a_run() {
        let kept = |arguments: &[u8]| kept_run(arguments).map(PathBuf::into_os_string);
        assert_eq!(kept(b"ralph\0__keeper\0/h/runs/r\0"), Some("/h/runs/r".into()));
        assert_eq!(
            kept(b"ralph\0__keeper\0/h/runs/\xff\0"),
            Some(OsString::from_vec(b"/h/runs/\xff".into()))
        );
        for other in
            [&b""[..], b"ralph\0", b"ralph\0__keeper\0", b"ralph\0run\0/h/runs/r\0", b"__keeper\0/h\0"]
        {
            assert_eq!(kept(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_lineage_leads_to_the_first_process_and_nowhere_from_one_that_is_gone() {
        let line = Lineage::of(getpid()).unwrap();
        assert_eq!(line.pids().first(), Some(&getpid()));
        let last = *line.pids().last().unwrap();
        assert!(Stat::of(last).unwrap().parent().is_none(), "{line:?}");
        assert!(!line.is_left_by_keeper());
        // No number is as large as this.
        assert!(Lineage::of(Pid::from_raw(i32::MAX).unwrap()).is_none());
    }
}
