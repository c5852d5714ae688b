//! Limits on all processes of a run together: processes and memory, by cgroups.
//!
//! A limit of each process does not stop a fork bomb, and a limit of a user's processes does not hold for
//! root. Where this process may make cgroups, a run gets its own, and what is started for it enters them
//! before it becomes the program (`cgroups` in an [`Entry`](super::enter::Entry)).
//!
//! Deliberately absent: asking systemd for a scope, and moving other processes to make room.
#![expect(clippy::disallowed_methods, reason = "cgroups are files of the kernel, not state")]

mod hierarchies;
mod plan;

use hierarchies::Hierarchy;
use plan::Plan;
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// What all processes of a run may use together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupLimits {
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Bytes, including cached files. Beyond that, a process is killed.
    pub memory: Option<u64>,
}

/// The cgroups of a run. Dropped, they are removed, and what is left in them is killed.
#[derive(Debug, Default)]
pub struct Cgroups {
    dirs: Vec<PathBuf>,
    unlimited: Vec<Unlimited>,
}

/// Why a limit does not hold.
#[derive(Debug, Error)]
pub enum Unlimited {
    #[error("there is no cgroup for {what} that ralph may use")]
    NoController { what: &'static str },
    #[error("cannot make a cgroup in {}", dir.display())]
    NotMade { dir: PathBuf, source: io::Error },
    #[error("cannot write to {}", file.display())]
    NotSet { file: PathBuf, source: io::Error },
}

const PROCESSES: &str = "cgroup.procs";

/// Removing takes as long as the killed processes take to end.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// A system with this many cgroups is not searched to its end.
const MOST_SEARCHED: usize = 50_000;

impl CgroupLimits {
    /// Makes the cgroups of a run. Limits that do not hold are in [`Cgroups::unlimited`]; if none does, that
    /// is the error.
    pub fn make(self, run_id: &str) -> Result<Cgroups, Unlimited> {
        self.make_in(&hierarchies::mounted(), run_id)
    }

    fn make_in(self, hierarchies: &[Hierarchy], run_id: &str) -> Result<Cgroups, Unlimited> {
        let (plans, mut unlimited) = plan::plans(self, hierarchies);
        let mut dirs = Vec::new();
        for plan in plans {
            match plan.carry_out(run_id) {
                Ok(dir) => dirs.push(dir),
                Err(why) => unlimited.push(why),
            }
        }
        match unlimited.pop() {
            Some(why) if dirs.is_empty() => Err(why),
            why => Ok(Cgroups { dirs, unlimited: unlimited.into_iter().chain(why).collect() }),
        }
    }
}

impl Plan {
    fn carry_out(&self, run_id: &str) -> Result<PathBuf, Unlimited> {
        let dir = self.parent.join(name(run_id));
        let made = match fs::create_dir(&dir) {
            // Of a process of this run that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove(&dir).and_then(|()| fs::create_dir(&dir))
            }
            made => made,
        };
        made.map_err(|source| Unlimited::NotMade { dir: self.parent.clone(), source })?;
        for (controller, most) in &self.limits {
            let (needed, also) = controller.files(self.version, *most);
            let also = also.filter(|(file, _)| dir.join(file).exists());
            for (file, most) in [needed].into_iter().chain(also) {
                let file = dir.join(file);
                if let Err(source) = fs::write(&file, most.to_string()) {
                    let _ = remove(&dir);
                    return Err(Unlimited::NotSet { file, source });
                }
            }
        }
        Ok(dir)
    }
}

impl Cgroups {
    /// What the processes of the run have to enter.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The limits that do not hold.
    pub fn unlimited(&self) -> &[Unlimited] {
        &self.unlimited
    }

    /// Kills what is left in them and removes them. What cannot be removed is tried again when this is
    /// dropped.
    pub fn remove(&mut self) -> io::Result<()> {
        // The first of them may be the one that can stop the others from growing.
        self.dirs.iter().for_each(|dir| kill_all(dir));
        while let Some(dir) = self.dirs.last() {
            remove(dir)?;
            self.dirs.pop();
        }
        Ok(())
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        let _ = Cgroups::remove(self);
    }
}

/// Moves this process.
pub(super) fn enter(dir: &Path) -> io::Result<()> {
    fs::write(dir.join(PROCESSES), "0")
}

/// Removes what a killed process has left of a run's cgroups, wherever that process was, and kills what is
/// still in them. Returns how many there were.
pub fn remove_stale(run_id: &str) -> usize {
    let hierarchies = hierarchies::mounted();
    let used = hierarchies.iter().filter(|hierarchy| plan::is_used(hierarchy));
    used.map(|hierarchy| remove_named(&hierarchy.mount, &name(run_id))).sum()
}

fn remove_named(mount: &Path, name: &str) -> usize {
    let mut dirs = vec![mount.to_path_buf()];
    let mut removed = 0;
    for searched in 0..MOST_SEARCHED {
        let Some(dir) = dirs.get(searched) else { break };
        let below = below(dir);
        for dir in below {
            match dir.file_name().is_some_and(|found| found == name) {
                true => removed += usize::from(remove(&dir).is_ok()),
                false => dirs.push(dir),
            }
        }
    }
    removed
}

fn name(run_id: &str) -> String {
    format!("ralph-{run_id}")
}

fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// With all below it: a run inside of the run has cgroups there.
fn remove(dir: &Path) -> io::Result<()> {
    let mut attempt = 0;
    loop {
        for dir in below(dir) {
            remove(&dir)?;
        }
        kill_all(dir);
        match fs::remove_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if attempt < ATTEMPTS => {
                attempt += 1;
                thread::sleep(PAUSE);
            }
            removed => return removed,
        }
    }
}

fn kill_all(dir: &Path) {
    if dir.join("cgroup.kill").exists() && fs::write(dir.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    // What cannot fork does not grow again meanwhile.
    let no_more = dir.join("pids.max");
    if no_more.exists() {
        let _ = fs::write(no_more, "0");
    }
    let pids = fs::read_to_string(dir.join(PROCESSES)).unwrap_or_default();
    let pids = pids.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    for pid in pids.filter(|pid| *pid != getpid()) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Exit;
    use crate::process::tool::Tool;

    /// Version 2 is mounted nearly everywhere, with or without controllers.
    #[test]
    #[expect(clippy::disallowed_macros, reason = "a test that cannot run here says so")]
    fn a_removed_cgroup_takes_its_processes_along() {
        let mounted = hierarchies::mounted();
        let dirs = mounted
            .iter()
            .filter(|hierarchy| plan::is_used(hierarchy))
            .map(|hierarchy| hierarchy.own.join(name(&format!("unit-test-{}", std::process::id()))));
        let dirs: Vec<PathBuf> = dirs.filter(|dir| fs::create_dir_all(dir.join("below")).is_ok()).collect();
        if dirs.is_empty() {
            eprintln!("skipped: no cgroup can be made here");
        }
        for dir in dirs {
            let below = dir.join("below");
            let script = "echo 0 > \"$0/cgroup.procs\" && exec sleep 1000";
            let arg = below.clone();
            let sleep = thread::spawn(move || Tool::new("sh").args(["-c", script]).arg(arg).run());
            while fs::read_to_string(below.join(PROCESSES)).unwrap().is_empty() {
                assert!(!sleep.is_finished(), "{:?}", sleep.join());
                thread::sleep(PAUSE);
            }
            remove(&dir).unwrap();
            assert!(!dir.exists());
            assert_eq!(sleep.join().unwrap().unwrap().exit, Exit::Signal(9), "{}", dir.display());
        }
    }
}
