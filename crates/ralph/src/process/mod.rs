//! Every process that ralph starts.
//!
//! Agents, checks and ralph's own commits of what they left are spawned by a [`Keeper`], a
//! process of its own, so that nothing of a run outlives it: a step is over only when `wait`
//! says that no child is left, and whatever holds out is frozen, killed and reaped. Other
//! short programs of ralph's own (git, `agent --version`) run through [`tool`] and are not
//! swept, because what they leave behind (gpg-agent, a credential cache) belongs to the user.
//!
//! Invariant: a process of a run dies with the first of its step, its keeper, its engine.
//!
//! Deliberately absent: timeouts of agents (the engine's policy), reading what they print
//! (the caller has the other ends of the pipes), and other users' processes (`sudo`),
//! which only a process with their rights can end.

#[cfg(target_os = "linux")]
mod client;
mod detach;
pub mod dialog;
mod exec;
mod foreground;
#[cfg(not(target_os = "linux"))]
mod groups;
/// Not used on Linux, but kept compiling and tested there.
#[cfg(all(test, target_os = "linux"))]
pub mod groups;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod lineage;
mod on_terminal;
#[cfg(target_os = "linux")]
mod ours;
#[cfg(target_os = "linux")]
mod procfs;
#[cfg(target_os = "linux")]
mod reaper;
#[cfg(target_os = "linux")]
mod sessions;
mod signals;
#[cfg(target_os = "linux")]
mod survivors;
#[cfg(target_os = "linux")]
mod sweep;
mod told;
pub mod tool;
pub mod trusted_path;
#[cfg(target_os = "linux")]
mod wire;
#[cfg(target_os = "linux")]
mod wrapper;

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::process::WaitStatus;

#[cfg(target_os = "linux")]
pub use self::client::Keeper;
#[cfg(not(target_os = "linux"))]
pub use self::groups::{Keeper, Lineage, become_subreaper, end_survivors, is_git_at_work, keeper_main};
#[cfg(target_os = "linux")]
pub use self::keeper::keeper_main;
#[cfg(target_os = "linux")]
pub use self::lineage::Lineage;
#[cfg(target_os = "linux")]
pub use self::procfs::is_git_at_work;
#[cfg(target_os = "linux")]
pub use self::reaper::become_subreaper;
#[cfg(target_os = "linux")]
pub use self::survivors::end_survivors;

pub use self::detach::{Detached, command_in_terminal, in_terminal};
pub use self::exec::exec;
pub use self::foreground::{FOREGROUND, Foreground, foreground_main, in_foreground};
pub use self::on_terminal::{ON_TERMINAL, OnTerminal, on_terminal_main};
pub use self::signals::Signals;
pub use self::told::is_told_to_stop;

pub use ralph_loop::dialect::Exit;

/// `None` for a status that is no end: stopped or continued.
fn exit_of(status: WaitStatus) -> Option<Exit> {
    status.exit_status().map(Exit::Code).or_else(|| status.terminating_signal().map(Exit::Signal))
}

/// How a program ended whose wrapper ended like this. As a shell does, bubblewrap makes an exit code of the
/// signal that ended its program, which cannot be told from a program that exits with that code.
fn wrapped_exit(exit: Exit) -> Exit {
    const LAST_SIGNAL: i32 = 64;
    match exit {
        Exit::Code(code) if (129..=128 + LAST_SIGNAL).contains(&code) => Exit::Signal(code - 128),
        Exit::Code(_) | Exit::Signal(_) => exit,
    }
}

/// The subcommand of a keeper. The directory of its run follows.
pub const KEEPER: &str = "__keeper";

/// What checks are run with. By its path: another `sh` in `PATH` could decide what passes.
pub const SHELL: &str = "/bin/sh";

/// The program that plays the keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperProgram {
    /// This one, which is `ralph`.
    Own,
    /// `ralph`, installed there; for programs that use ralph as a library.
    At(PathBuf),
}

impl KeeperProgram {
    pub fn path(&self) -> io::Result<PathBuf> {
        match self {
            KeeperProgram::Own => std::env::current_exe(),
            KeeperProgram::At(path) => Ok(path.clone()),
        }
    }

    /// How a keeper can start the same program as a process of the run.
    #[cfg(target_os = "linux")]
    pub fn again(&self) -> io::Result<PathBuf> {
        // The keeper's own, whatever stands at its path by now.
        Ok(PathBuf::from("/proc/self/exe"))
    }

    /// How a keeper can start the same program as a process of the run.
    #[cfg(not(target_os = "linux"))]
    pub fn again(&self) -> io::Result<PathBuf> {
        self.path()
    }
}

/// The run that a keeper works for.
#[derive(Debug, Clone, Copy)]
pub struct KeptRun<'a> {
    /// Its directory, by which the keeper is known to be a keeper of this run.
    pub dir: &'a Path,
    /// Kept open by the keeper for as long as it lives.
    pub lock: BorrowedFd<'a>,
    /// Where the keeper records its session.
    pub record: Option<BorrowedFd<'a>>,
}

/// A process to start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. A bare name is looked up in `PATH`; a relative path
    /// is relative to `cwd`.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// Set on top of the environment of the process that starts it.
    pub env: Vec<(OsString, OsString)>,
    /// Removed from that environment.
    pub env_remove: Vec<OsString>,
    /// The program, by its path, that only starts the one that is meant, and waits for it: bubblewrap. It is
    /// not told to end, and a signal that ends the program is what it ends with.
    pub wrapper: Option<PathBuf>,
}

/// What a process gets as its standard streams. Closed here once the keeper has them, so
/// that a reader of the other end sees the end of the stream.
#[derive(Debug)]
pub struct Stdio3 {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// A word from the keeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeeperEvent {
    Started {
        pid: u32,
    },
    /// The answer to a spawn that failed, as the system put it.
    NotStarted {
        error: String,
        kind: io::ErrorKind,
    },
    /// The process ended, and nothing that it started is left.
    Ended {
        exit: Exit,
        /// How many others than the process itself had to be killed.
        swept: u32,
    },
    /// The keeper died. The engine, a subreaper too, has killed what it left behind.
    Gone {
        swept: u32,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot create the keeper's socket")]
    Socket(#[source] io::Error),
    #[error("cannot start the keeper")]
    Start(#[source] io::Error),
    #[error("cannot become the subreaper of orphaned processes")]
    Reaper(#[source] io::Error),
    #[error("the command is too long: {bytes} bytes, the limit is {limit}")]
    TooLong { bytes: usize, limit: usize },
    #[error("the keeper is already running a process")]
    Busy,
    #[error("the keeper is gone")]
    Gone,
    #[error("cannot reach the keeper")]
    Send(#[source] io::Error),
}
