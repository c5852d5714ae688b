//! The sessions of a run's keepers, recorded in its directory.
//!
//! A keeper leads a session of its own, and what it starts is in that session unless it leaves it. So
//! one line per keeper is enough to find, after engine and keeper were killed together, what they had
//! started: no variable in the environment is needed for that.
//!
//! Invariant: a process is taken for a member only if it is in the session of that keeper, and not in
//! one that got the same number later. A number is not used again while a session of that number has
//! members; and the kernel's number of the session's scheduling group (`autogroup`), where there is
//! one, is never used again.
//!
//! Deliberately absent: processes that have left the session (`setsid`).

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, RawPid, getpid};
use serde::{Deserialize, Serialize};

use super::procfs::Stat;
use crate::fsx;
use crate::layout::RunDir;

/// Far more than the keepers of a run can be, and still little to read.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// Where and since when numbers of processes mean what they do.
    machine: String,
    /// The keeper, which is the leader.
    pid: RawPid,
    start: u64,
    autogroup: Option<String>,
}

/// Records the session of this process, a keeper, before it starts anything.
pub(super) fn record(file: OwnedFd) {
    let Some(session) = Session::own() else { return };
    let Ok(mut line) = serde_json::to_vec(&session) else { return };
    line.push(b'\n');
    // On a full disk only the survivors of two kills at once would miss it.
    let _ = fsx::append_to(&mut File::from(file), &line);
}

/// The sessions of the run's keepers, without those whose number another process has by now.
pub(super) fn recorded(run: &RunDir) -> Vec<Session> {
    let mut lines = String::new();
    let file = fsx::open_regular(&run.keepers());
    if file.map(|file| file.take(MOST_BYTES).read_to_string(&mut lines)).is_err() || lines.is_empty() {
        return Vec::new();
    }
    let Some(machine) = machine() else { return Vec::new() };
    let sessions = lines.lines().filter_map(|line| serde_json::from_str::<Session>(line).ok());
    sessions.filter(|session| session.machine == machine && !session.is_replaced()).collect()
}

impl Session {
    fn own() -> Option<Session> {
        let (pid, machine) = (getpid(), machine()?);
        let start = Stat::of(pid)?.start();
        Some(Session { machine, pid: pid.as_raw_nonzero().get(), start, autogroup: autogroup(pid) })
    }

    /// Another process has its number, so that no member of this session can be left.
    fn is_replaced(&self) -> bool {
        let there = Pid::from_raw(self.pid).and_then(Stat::of);
        there.is_some_and(|stat| stat.start() != self.start)
    }

    /// Whether a process is in this session, and alive. The keeper is no member: one that is alive ends
    /// the others by itself.
    pub(super) fn has(&self, pid: Pid) -> bool {
        let Some(stat) = Stat::of(pid) else { return false };
        stat.session() == self.pid
            && pid.as_raw_nonzero().get() != self.pid
            && stat.start() >= self.start
            && !stat.is_dead()
            && self.autogroup.as_ref().is_none_or(|own| autogroup(pid).is_none_or(|its| its == *own))
    }
}

/// This start of the system, and the namespace that numbers of processes belong to.
fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// `/autogroup-123`. Each session gets the next number when it begins.
fn autogroup(pid: Pid) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()?;
    line.split_ascii_whitespace().next().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded_as(session: &Session) -> Vec<Session> {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::at(dir.path().to_path_buf());
        let line = serde_json::to_string(session).unwrap();
        fsx::append(&run.keepers(), format!("{line}\n{{\"pid\":1}}\n{}", &line[..9]).as_bytes()).unwrap();
        recorded(&run)
    }

    #[test]
    fn a_session_of_another_machine_or_number_is_not_there_any_more() {
        let own = Session::own().unwrap();
        assert_eq!(recorded_as(&own), std::slice::from_ref(&own));
        assert_eq!(recorded_as(&Session { machine: "another".into(), ..own.clone() }), []);
        assert_eq!(recorded_as(&Session { start: own.start + 1, ..own.clone() }), []);
        let gone = Session { pid: i32::MAX, ..own };
        assert_eq!(recorded_as(&gone), std::slice::from_ref(&gone), "its members may be left");
    }

    #[test]
    fn a_run_without_a_record_has_no_sessions() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(recorded(&RunDir::at(dir.path().to_path_buf())), []);
    }

    #[test]
    fn members_are_told_by_session_start_and_scheduling_group() {
        let me = getpid();
        let stat = Stat::of(me).unwrap();
        let of = |pid, start, autogroup| Session { machine: String::new(), pid, start, autogroup };
        let session = stat.session();
        if session == me.as_raw_nonzero().get() {
            return; // This process leads one, and a leader is no member.
        }
        assert!(of(session, 0, None).has(me));
        assert!(of(session, 0, autogroup(me)).has(me));
        assert!(!of(session + 1, 0, None).has(me));
        assert!(!of(session, stat.start() + 1, None).has(me));
        if autogroup(me).is_some() {
            assert!(!of(session, 0, Some("/autogroup-0".into())).has(me));
        }
    }
}
