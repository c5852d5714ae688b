//! A program that has the user's terminal for a while, like one that a shell starts.
//!
//! It is in ralph's own process group, so keys reach it as they would without ralph: Ctrl+C is its own affair.
//! Invariants: the terminal's modes are afterwards what they were before, however the program ends; if ralph is
//! killed, the program is told to end, so that it does not fight with the shell for the terminal. A program that does not
//! end when ralph is told to is killed when ralph is told again.
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use super::detach::exit_of;
use super::{Command, Exit, exec};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// The subcommand that becomes the program, once it is sure to end with ralph.
pub const FOREGROUND: &str = "__foreground";

/// How the program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreground {
    pub exit: Exit,
    /// Because ralph was told to end.
    pub told: bool,
}

/// Runs a program in this terminal, to its end.
pub fn in_foreground(command: Command) -> io::Result<Foreground> {
    let modes = tcgetattr(rustix::stdio::stdin()).ok();
    let ended = run(command);
    if let Some(modes) = modes {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Drain, &modes);
        // What the terminal has answered to the program meanwhile is no answer of the user's.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
    }
    ended
}

fn run(command: Command) -> io::Result<Foreground> {
    let Command { argv, cwd, env, env_remove, wrapper: _ } = command;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let within = runtime.enter();
    // Handlers, and not ignored: that would be inherited.
    let [mut interrupt, mut quit, mut terminate, mut hangup] = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::quit())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ];
    drop(within);
    let mut program = std::process::Command::new(std::env::current_exe()?);
    program.arg(FOREGROUND).arg(std::process::id().to_string()).args(argv).current_dir(cwd);
    for name in env_remove {
        program.env_remove(name);
    }
    program.envs(env).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut child = program.spawn()?;
    let pid = Pid::from_child(&child);
    let (send, mut ended) = oneshot::channel();
    // The child is bound to the thread that has started it, which is this one.
    let waiting = std::thread::Builder::new().name("foreground".into()).spawn(move || {
        let _ = send.send(child.wait());
    })?;
    let mut told = false;
    let status = runtime.block_on(async {
        loop {
            tokio::select! {
                status = &mut ended => return status,
                // They reach the program as well: it is in the same group.
                _ = interrupt.recv() => {}
                _ = quit.recv() => {}
                _ = terminate.recv() => {
                    let _ = kill_process(pid, if told { Signal::KILL } else { Signal::TERM });
                    told = true;
                }
                _ = hangup.recv() => {
                    let _ = kill_process(pid, if told { Signal::KILL } else { Signal::HUP });
                    told = true;
                }
            }
        }
    });
    let _ = waiting.join();
    let exit = exit_of(status.map_err(io::Error::other)??);
    Ok(Foreground { exit, told })
}

/// `ralph __foreground PARENT PROGRAM ARGS…`: becomes the program. Returns only if that fails.
pub fn foreground_main(args: &[OsString]) -> io::Error {
    let [parent, program, args @ ..] = args else { return io::ErrorKind::InvalidInput.into() };
    if let Err(cause) = end_with_parent(&parent.to_string_lossy()) {
        return cause;
    }
    exec(program, args)
}

#[cfg(target_os = "linux")]
fn end_with_parent(parent: &str) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have died before that.
    let is_there = rustix::process::getppid().is_some_and(|pid| pid.to_string() == parent);
    if is_there { Ok(()) } else { Err(io::Error::other("ralph is gone")) }
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent(_parent: &str) -> io::Result<()> {
    Ok(())
}
