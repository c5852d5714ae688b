//! One process of ralph, from its start to its end.

use crate::procs::Process;
use crate::stage::about;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

pub struct Life {
    /// None for a worker, which is not a child of this process.
    child: Option<Child>,
    pub ralph: Process,
    pidfd: OwnedFd,
    began: Instant,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    Exit(i32),
    Signal(i32),
    /// Only its parent learns how it ended.
    Unknown,
}

impl Death {
    fn of(status: ExitStatus) -> Death {
        status.code().map_or_else(|| Death::Signal(status.signal().unwrap_or(0)), Death::Exit)
    }
}

impl Life {
    /// What it prints goes to `LOG.out` and `LOG.err`.
    pub fn begin(mut command: Command, log: &Path) -> Result<Life, String> {
        let (stdout, stderr) = (log.with_extension("out"), log.with_extension("err"));
        command.stdout(File::create(&stdout).map_err(about("log"))?);
        command.stderr(File::create(&stderr).map_err(about("log"))?);
        let child = command.spawn().map_err(about("ralph"))?;
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(about("pidfd"))?;
        let ralph = Process::child(pid).ok_or("a child without a stat")?;
        Ok(Life { child: Some(child), ralph, pidfd, began: Instant::now(), stdout, stderr })
    }

    /// A process that was started elsewhere and prints to `LOG.out` and `LOG.err`.
    pub fn of(ralph: Process, log: &Path) -> Option<Life> {
        let pidfd = pidfd_open(ralph.pid, PidfdFlags::empty()).ok()?;
        let (stdout, stderr) = (log.with_extension("out"), log.with_extension("err"));
        ralph.is_alive().then(|| Life { child: None, ralph, pidfd, began: Instant::now(), stdout, stderr })
    }

    /// Waits for the end, but no longer than this.
    pub fn wait(&mut self, limit: Duration) -> Option<Death> {
        let deadline = Instant::now() + limit;
        loop {
            match &mut self.child {
                Some(child) => {
                    if let Ok(Some(status)) = child.try_wait() {
                        return Some(Death::of(status));
                    }
                }
                None if !self.ralph.is_alive() => return Some(Death::Unknown),
                None => {}
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let left = Timespec::try_from(left).ok();
            let _ = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], left.as_ref());
        }
    }

    pub fn kill(&mut self) -> bool {
        self.ralph.signal(Signal::KILL)
    }

    pub fn age_ms(&self) -> u128 {
        self.began.elapsed().as_millis()
    }

    pub fn keeper(&self) -> Option<Process> {
        self.ralph.children().into_iter().find(|child| child.name() == "ralph-keeper")
    }

    /// Whether something runs that its agent does not wait for.
    pub fn has_leftovers(&self) -> bool {
        let below = self.keeper().map(Process::descendants).unwrap_or_default();
        below.into_iter().any(|process| process.arguments().contains("--linger"))
    }

    pub fn last_words(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
