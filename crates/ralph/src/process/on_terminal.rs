//! A program on a terminal of its own: it leads a session, and the terminal is that session's, so keys like Ctrl+C and
//! changes of size reach it and what it starts, as in a window of a person's.
//!
//! Becoming a session's leader takes a step between fork and exec, so the program is started through [`ON_TERMINAL`].
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use super::detach::exit_of;
use super::{Exit, exec};
use rustix::process::{Pid, Signal, ioctl_tiocsctty, kill_process_group, setsid};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use tokio::sync::oneshot;

#[cfg(target_os = "linux")]
use super::wrapper::Wrapper;

/// The subcommand that becomes the program, once the terminal is its own.
pub const ON_TERMINAL: &str = "__on_terminal";

/// A program that runs on a terminal.
pub struct OnTerminal {
    pid: Pid,
    /// What it was started in, by its path: bubblewrap.
    #[cfg(target_os = "linux")]
    wrapper: Option<Wrapper>,
    ended: oneshot::Receiver<io::Result<Exit>>,
}

impl OnTerminal {
    /// Without a standard input of its own the program reads from the terminal.
    pub fn start(
        argv: &[OsString],
        wrapper: Option<&Path>,
        terminal: &OwnedFd,
        stdin: Option<OwnedFd>,
    ) -> io::Result<OnTerminal> {
        let stdin = match stdin {
            Some(stdin) => stdin,
            None => terminal.try_clone()?,
        };
        #[cfg(target_os = "linux")]
        let wrapper = wrapper.map(Wrapper::at).transpose()?;
        #[cfg(not(target_os = "linux"))]
        let _ = wrapper;
        let mut program = Command::new(std::env::current_exe()?);
        program.arg(ON_TERMINAL).args(argv).stdin(Stdio::from(stdin));
        program.stdout(Stdio::from(terminal.try_clone()?)).stderr(Stdio::from(terminal.try_clone()?));
        let mut child = program.spawn()?;
        let pid = Pid::from_child(&child);
        let (send, ended) = oneshot::channel();
        std::thread::Builder::new().name("on-terminal".into()).spawn(move || {
            let _ = send.send(child.wait().map(exit_of));
        })?;
        #[cfg(target_os = "linux")]
        return Ok(OnTerminal { pid, wrapper, ended });
        #[cfg(not(target_os = "linux"))]
        Ok(OnTerminal { pid, ended })
    }

    /// Asks it to end, and what it has started.
    pub fn terminate(&self) {
        #[cfg(target_os = "linux")]
        if self.wrapper.is_some_and(Wrapper::terminate_wrapped) {
            return;
        }
        // One that is gone cannot be told anything; a stopped one hears only after it goes on.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let _ = kill_process_group(self.pid, Signal::CONT);
    }

    /// Returns once it has ended; to be asked no more afterwards.
    pub async fn ended(&mut self) -> io::Result<Exit> {
        match (&mut self.ended).await {
            Ok(exit) => exit,
            Err(_) => Err(io::Error::other("the thread that waits for it is gone")),
        }
    }
}

/// `ralph __on_terminal PROGRAM ARGS…`, with the terminal as standard output: becomes the program. Returns only if that
/// fails.
pub fn on_terminal_main(args: &[OsString]) -> io::Error {
    let [program, args @ ..] = args else { return io::ErrorKind::InvalidInput.into() };
    match setsid().and_then(|_| ioctl_tiocsctty(rustix::stdio::stdout())) {
        Ok(()) => exec(program, args),
        Err(cause) => cause.into(),
    }
}
