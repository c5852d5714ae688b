//! Processes as `/proc` shows them: who is there, whose child, with which environment.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::time::{Duration, Instant};

/// A process for as long as it lives: numbers are used again, start times are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: Pid,
    start: u64,
}

struct Stat {
    name: String,
    state: u8,
    start: u64,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (head, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    Some(Stat {
        name: head.split_once('(')?.1.to_string(),
        state: *fields.next()?.as_bytes().first()?,
        start: fields.nth(18)?.parse().ok()?,
    })
}

impl Process {
    /// A process that is alive; zombies are not.
    pub fn of(pid: Pid) -> Option<Process> {
        let stat = stat(pid)?;
        (!matches!(stat.state, b'Z' | b'X')).then_some(Process { pid, start: stat.start })
    }

    /// A child of this process that has not been waited for, dead or alive.
    pub fn child(pid: Pid) -> Option<Process> {
        stat(pid).map(|stat| Process { pid, start: stat.start })
    }

    pub fn is_alive(self) -> bool {
        Process::of(self.pid) == Some(self)
    }

    pub fn name(self) -> String {
        stat(self.pid).map(|stat| stat.name).unwrap_or_default()
    }

    /// The arguments, each ended by a NUL.
    pub fn arguments(self) -> String {
        let bytes = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn variable(self, name: &str) -> Option<String> {
        let environ = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let prefix = format!("{name}=");
        let mut entries = environ.split(|byte| *byte == 0);
        entries.find_map(|entry| Some(String::from_utf8_lossy(entry).strip_prefix(&prefix)?.to_string()))
    }

    /// Of an agent, by its environment; of a check, which knows nothing of ralph, by the name of its log.
    pub fn iteration(self) -> Option<u32> {
        let logged = || {
            let log = fs::read_link(format!("/proc/{}/fd/1", self.pid)).ok()?;
            let name = log.file_name()?.to_str()?.strip_prefix("guardrail_")?;
            Some(name.split_once('_')?.0.to_string())
        };
        self.variable("RALPH_ITERATION").or_else(logged)?.parse().ok()
    }

    pub fn children(self) -> Vec<Process> {
        let tasks = format!("/proc/{}/task", self.pid);
        let lists = numbered(&tasks).filter_map(|t| fs::read_to_string(format!("{tasks}/{t}/children")).ok());
        let pids: Vec<Pid> = lists
            .flat_map(|list| list.split_ascii_whitespace().filter_map(pid).collect::<Vec<_>>())
            .collect();
        pids.into_iter().filter_map(Process::of).collect()
    }

    pub fn descendants(self) -> Vec<Process> {
        let mut found = self.children();
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            let children = parent.children();
            found.extend(children.into_iter().filter(|child| child.pid != self.pid));
            next += 1;
        }
        found
    }

    /// False when it had ended before.
    pub fn signal(self, signal: Signal) -> bool {
        // What the descriptor refers to stays the same from here on.
        let Ok(pidfd) = pidfd_open(self.pid, PidfdFlags::empty()) else { return false };
        self.is_alive() && pidfd_send_signal(pidfd, signal).is_ok()
    }

    pub fn described(self) -> String {
        format!("{} {} {}", self.pid, self.name(), self.arguments().replace('\0', " "))
    }
}

/// Everything alive whose environment has this.
pub fn with_variable(name: &str, value: &str) -> Vec<Process> {
    let all = numbered("/proc").filter_map(Process::of);
    all.filter(|process| process.variable(name).as_deref() == Some(value)).collect()
}

/// Looks until nothing is found any more; what was found last when the time is over.
pub fn until_none(limit: Duration, mut look: impl FnMut() -> Vec<Process>) -> Vec<Process> {
    // One that hands over to a new process all the time slips through a look or two.
    const EMPTY_LOOKS: u32 = 6;
    let deadline = Instant::now() + limit;
    let (mut last, mut empty) = (Vec::new(), 0);
    loop {
        match look() {
            found if found.is_empty() => empty += 1,
            found => (last, empty) = (found, 0),
        }
        if empty == EMPTY_LOOKS {
            return Vec::new();
        }
        if Instant::now() >= deadline {
            return last;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn numbered(directory: &str) -> impl Iterator<Item = Pid> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str().and_then(pid))
}

pub fn pid(digits: &str) -> Option<Pid> {
    digits.parse().ok().and_then(Pid::from_raw)
}
