//! Processes of ralph's own that outlive the one that starts them, and programs that get this
//! terminal.
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use super::Exit;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

/// It is in no terminal, and no part of the run or of the agent's session that it was started from.
const NOT_ITS_OWN: &[&str] = &[
    "TMUX",
    "TMUX_PANE",
    "RALPH_RUN",
    "RALPH_ITERATION",
    "RALPH_MAX_ITERATIONS",
    "RALPH_STORY",
    "RALPH_HOOKS",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PID",
];

/// A process on its way to a life of its own.
#[derive(Debug)]
pub struct Detached {
    child: Child,
    channel: UnixStream,
}

impl Detached {
    /// Starts this program. Its standard input is a channel to us, its complaints are seen here
    /// until it lets go of both.
    pub fn start(args: &[OsString]) -> io::Result<Detached> {
        let (channel, theirs) = UnixStream::pair()?;
        let program =
            if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe()? };
        let mut command = Command::new(program);
        command.arg0("ralph").args(args).stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        for name in NOT_ITS_OWN {
            command.env_remove(name);
        }
        let child = command.spawn()?;
        drop(command);
        Ok(Detached { child, channel })
    }

    /// What it says when it stands on its own feet; how it ended, if it never did.
    pub fn first_words(mut self) -> io::Result<Result<Vec<u8>, Exit>> {
        const MOST: u64 = 64 << 10;
        let mut words = Vec::new();
        (&self.channel).take(MOST).read_to_end(&mut words)?;
        if !words.is_empty() {
            return Ok(Ok(words));
        }
        Ok(Err(exit_of(self.child.wait()?)))
    }
}

/// Runs a program that has this terminal to itself.
pub fn in_terminal(program: &str, args: &[&str], without: &[&str]) -> io::Result<Exit> {
    let mut command = Command::new(program);
    command.args(args);
    for name in without {
        command.env_remove(name);
    }
    command.status().map(exit_of)
}

/// The same for a program with an environment and a directory of its own.
pub fn command_in_terminal(command: super::Command) -> io::Result<Exit> {
    let super::Command { argv, cwd, env, env_remove, wrapper: _ } = command;
    let mut argv = argv.into_iter();
    let mut command = Command::new(argv.next().unwrap_or_default());
    command.args(argv).current_dir(cwd);
    for name in env_remove {
        command.env_remove(name);
    }
    command.envs(env).status().map(exit_of)
}

pub(super) fn exit_of(status: ExitStatus) -> Exit {
    status.code().map_or_else(|| Exit::Signal(status.signal().unwrap_or(0)), Exit::Code)
}
