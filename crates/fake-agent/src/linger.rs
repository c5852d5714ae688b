//! Processes that stay when the agent has gone.
//!
//! A leftover is this program again in another role, because a safe program cannot fork.
//! It gets its order as an argument and a pipe as stderr, on which it says that it has
//! started or why it has not: the agent goes on only when the leftover is really there.
//! Every leftover knows when to end, on the clock that all processes share.

use crate::SUBCOMMAND;
use crate::failure::Failure;
use crate::files;
use crate::script::{Leave, LeaveKind};
use crate::signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The first argument of a leftover.
pub(crate) const ROLE: &str = "--linger";

const STANDALONE: &str = "fake-agent";
const LONGEST: Duration = Duration::from_secs(3600);
const GENERATION: Duration = Duration::from_millis(5);
const START_LIMIT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
const READY: &[u8] = b"ready\n";

/// What a leftover is to do.
#[derive(Serialize, Deserialize)]
struct Order {
    kind: LeaveKind,
    ignore_term: bool,
    pid_file: Option<PathBuf>,
    /// When it ends, in milliseconds of the monotonic clock.
    until_ms: u64,
}

/// Leaves a process behind, and returns once it runs.
pub(crate) fn leave(leave: &Leave, pid_file: Option<PathBuf>) -> Result<(), Failure> {
    let stay = Duration::from_secs(leave.seconds).min(LONGEST);
    let order = Order {
        kind: leave.kind,
        ignore_term: leave.ignore_term,
        pid_file,
        until_ms: now_ms().saturating_add(millis(stay)),
    };
    let stdout = if leave.hold_stdout { Stdio::inherit() } else { Stdio::null() };
    let (reader, writer) = io::pipe().map_err(Failure::system("make a pipe"))?;
    let mut child = spawn(&order, stdout, writer.into())?;
    await_ready(reader)?;
    match leave.kind {
        LeaveKind::Child | LeaveKind::Setsid => {}
        // The process that was started here ends at once by design; it must not stay
        // behind as a zombie that looks like the leftover.
        LeaveKind::DoubleFork | LeaveKind::Refork => {
            child.wait().map_err(Failure::system("wait for a process"))?;
        }
    }
    Ok(())
}

/// The life of a leftover.
pub(crate) fn linger(args: &[OsString]) -> Result<u8, Failure> {
    let order = read_order(args)?;
    match order.kind {
        LeaveKind::Child => {}
        LeaveKind::DoubleFork => {
            // The grandchild gets the pipe and reports in place of this process.
            spawn(&Order { kind: LeaveKind::Setsid, ..order }, Stdio::inherit(), Stdio::inherit())?;
            return Ok(0);
        }
        // A generation that stayed in the old session would be found through it.
        LeaveKind::Setsid | LeaveKind::Refork => {
            rustix::process::setsid().map_err(io::Error::from).map_err(Failure::system("get a session"))?;
        }
    }
    if order.ignore_term {
        signals::ignore(&signals::POLITE_AND_HANGUP)?;
    }
    if let Some(path) = &order.pid_file {
        files::append(path, format!("{}\n", std::process::id()).as_bytes())?;
    }
    // An agent that was killed meanwhile does not listen any more.
    let _ = io::stderr().write_all(READY);

    let left = Duration::from_millis(order.until_ms.saturating_sub(now_ms()));
    match order.kind {
        LeaveKind::Refork if left > GENERATION => {
            thread::sleep(GENERATION);
            spawn(&order, Stdio::inherit(), Stdio::null())?;
        }
        LeaveKind::Child | LeaveKind::Setsid | LeaveKind::DoubleFork | LeaveKind::Refork => {
            thread::sleep(left);
        }
    }
    Ok(0)
}

fn read_order(args: &[OsString]) -> Result<Order, Failure> {
    let json = args.first().map(|arg| arg.to_string_lossy()).unwrap_or_default();
    serde_json::from_str(&json)
        .map_err(io::Error::from)
        .map_err(Failure::system("understand what the leftover is told"))
}

/// Starts this program again as a leftover.
fn spawn(order: &Order, stdout: Stdio, stderr: Stdio) -> Result<Child, Failure> {
    let exe = env::current_exe().map_err(Failure::system("find the own program"))?;
    let json = serde_json::to_string(order)
        .map_err(io::Error::from)
        .map_err(Failure::system("say what the leftover is told"))?;
    let mut command = Command::new(&exe);
    if !is_standalone(&exe) {
        command.arg(SUBCOMMAND);
    }
    command
        .arg(ROLE)
        .arg(json)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .map_err(Failure::system("start a process"))
}

/// Whether this is the program `fake-agent`, and not another one that has the agent as
/// its subcommand.
fn is_standalone(exe: &Path) -> bool {
    exe.file_stem().is_some_and(|name| name == STANDALONE)
}

/// Waits until the leftover says that it runs. When it ends first, the pipe is closed.
fn await_ready(mut heard: PipeReader) -> Result<(), Failure> {
    let mut fds = [PollFd::new(&heard, PollFlags::IN)];
    let news = rustix::io::retry_on_intr(|| poll(&mut fds, Some(&START_LIMIT)))
        .map_err(io::Error::from)
        .map_err(Failure::system("wait for the leftover"))?;
    if news == 0 {
        return Err(Failure::Leftover("it said nothing in time".to_owned()));
    }
    let mut said = [0; 4096];
    let length = heard.read(&mut said).map_err(Failure::system("hear the leftover"))?;
    match &said[..length] {
        READY => Ok(()),
        b"" => Err(Failure::Leftover("it ended at once".to_owned())),
        other => Err(Failure::Leftover(String::from_utf8_lossy(other).trim_end().to_owned())),
    }
}

/// Monotonic, because a leftover must also end when the clock is set back.
fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let millis = u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000;
    seconds.saturating_mul(1000).saturating_add(millis)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::is_standalone;
    use std::path::Path;

    #[test]
    fn only_the_program_of_its_own_goes_without_the_subcommand() {
        assert!(is_standalone(Path::new("/t/debug/fake-agent")));
        assert!(!is_standalone(Path::new("/usr/bin/ralph")));
        assert!(!is_standalone(Path::new("/t/fake-agent/ralph")));
    }
}
