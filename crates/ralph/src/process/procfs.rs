//! What `/proc` says about processes and their children.
//!
//! A view is true for a moment: processes come and go while it is read. `sweep` therefore looks
//! again until nothing changes.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, RawPid};

/// The fields of `/proc/<pid>/stat` that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    state: u8,
    parent: RawPid,
    session: RawPid,
    threads: u32,
    /// In ticks since the machine was started.
    start: u64,
}

impl Stat {
    pub(super) fn of(pid: Pid) -> Option<Stat> {
        Stat::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is the program's name in parentheses and may hold anything,
    /// parentheses and spaces too, so the fields are counted from the last one.
    fn parse(stat: &[u8]) -> Option<Stat> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace();
        Some(Stat {
            state: *fields.next()?.as_bytes().first()?,
            parent: fields.next()?.parse().ok()?,
            session: fields.nth(1)?.parse().ok()?,
            threads: fields.nth(13)?.parse().ok()?,
            start: fields.nth(1)?.parse().ok()?,
        })
    }

    pub(super) fn parent(self) -> Option<Pid> {
        Pid::from_raw(self.parent)
    }

    pub(super) fn session(self) -> RawPid {
        self.session
    }

    pub(super) fn start(self) -> u64 {
        self.start
    }

    /// Ended and only waiting to be reaped. A leader that ended before its threads looks
    /// like a zombie too but still works.
    pub(super) fn is_dead(self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }
}

/// Whether a git works in a directory or below it, apart from those that ralph has started on a git
/// directory of its own.
pub fn is_git_at_work(tree: &Path) -> bool {
    all().any(|pid| {
        let of = |name: &str| format!("/proc/{pid}/{name}");
        let is_git = fs::read(of("comm")).is_ok_and(|name| name.trim_ascii() == b"git");
        is_git
            && fs::read_link(of("cwd")).is_ok_and(|dir| dir.starts_with(tree))
            && fs::read(of("cmdline"))
                .is_ok_and(|line| !line.split(|byte| *byte == 0).any(|word| word.starts_with(b"--git-dir=")))
    })
}

/// Who is whose child.
pub(super) enum View {
    /// The kernel lists the children of each thread.
    Lists,
    /// It does not (CONFIG_PROC_CHILDREN is off): process and parent, of all processes.
    Table(Vec<(Pid, Pid)>),
}

impl View {
    pub(super) fn now() -> View {
        if fs::exists("/proc/thread-self/children").unwrap_or(false) { View::Lists } else { View::table() }
    }

    fn table() -> View {
        View::Table(all().filter_map(|pid| Some((pid, Stat::of(pid)?.parent()?))).collect())
    }

    pub(super) fn children(&self, parent: Pid) -> Vec<Pid> {
        match self {
            View::Lists => numbered(&format!("/proc/{parent}/task"))
                .filter_map(|thread| {
                    fs::read_to_string(format!("/proc/{parent}/task/{thread}/children")).ok()
                })
                .flat_map(|list| list.split_ascii_whitespace().filter_map(pid).collect::<Vec<_>>())
                .collect(),
            View::Table(table) => {
                table.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child).collect()
            }
        }
    }

    /// The `roots` and all below them, parents first.
    pub(super) fn trees(&self, roots: Vec<Pid>) -> Vec<Pid> {
        let mut found = roots;
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            // A process that moves while the tree is read may be seen twice.
            for child in self.children(*parent) {
                if !found.contains(&child) {
                    found.push(child);
                }
            }
            next += 1;
        }
        found
    }
}

/// All processes.
pub(super) fn all() -> impl Iterator<Item = Pid> {
    numbered("/proc")
}

fn numbered(directory: &str) -> impl Iterator<Item = Pid> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str().and_then(pid))
}

fn pid(digits: &str) -> Option<Pid> {
    digits.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use rustix::process::{Signal, getpid, kill_process};

    use super::super::ours;
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = b"12 (a) Z 7 (b) S 34 5 6 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 99 1 1";
        let stat = Stat { state: b'S', parent: 34, session: 6, threads: 3, start: 99 };
        assert_eq!(Stat::parse(line), Some(stat));
        assert_eq!(Stat::parse(b"12 (a) S"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn a_leader_with_threads_left_is_not_dead() {
        let with = |state, threads| Stat { state, parent: 1, session: 1, threads, start: 1 };
        assert!(with(b'Z', 1).is_dead());
        assert!(!with(b'Z', 2).is_dead());
        assert!(!with(b'T', 1).is_dead());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]
    fn both_views_see_a_child_and_its_child() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 60 & echo; wait"]).stdout(Stdio::piped());
        let mut child = ours::spawn(&mut shell, ours::Kind::Tool).unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let shell = Pid::from_child(&child);
        for view in [View::Lists, View::table()] {
            assert!(view.children(getpid()).contains(&shell));
            let tree = view.trees(vec![shell]);
            assert_eq!((tree.len(), tree[0]), (2, shell));
        }
        for pid in View::now().trees(vec![shell]) {
            kill_process(pid, Signal::KILL).unwrap();
        }
        child.wait().unwrap();
        ours::forget(&child);
    }
}
