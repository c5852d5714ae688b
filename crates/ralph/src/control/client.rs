//! The client side.

use super::{Answering, Asking, Command, CommandResult, LINE_MAX, Line, VERSION, address};
use crate::layout::RunDir;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use thiserror::Error;

/// The loop answers at once; one that does not is stuck.
const PATIENCE: Duration = Duration::from_secs(8);

#[derive(Debug, Error)]
pub enum TalkError {
    #[error("it is not running")]
    NotRunning,
    #[error("it does not answer: {0}")]
    Broken(#[source] io::Error),
}

pub fn talk(run: &RunDir, command: &Command) -> Result<CommandResult, TalkError> {
    let address = address(run).map_err(|_| TalkError::NotRunning)?;
    let stream = UnixStream::connect(&address.path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => TalkError::NotRunning,
        _ => TalkError::Broken(cause),
    })?;
    exchange(stream, command).map_err(|cause| match cause.kind() {
        // It has ended in this moment.
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => {
            TalkError::NotRunning
        }
        _ => TalkError::Broken(cause),
    })
}

/// Ends the process of a loop that does not answer any more: the one that listens on its socket, as the
/// system knows it. False if there is none. Its keeper ends the rest.
#[cfg(target_os = "linux")]
pub fn end_listener(run: &RunDir) -> bool {
    let listener = || {
        let stream = UnixStream::connect(address(run).ok()?.path).ok()?;
        Some(rustix::net::sockopt::socket_peercred(&stream).ok()?.pid)
    };
    listener().is_some_and(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok())
}

#[cfg(not(target_os = "linux"))]
pub fn end_listener(_: &RunDir) -> bool {
    false
}

fn exchange(mut stream: UnixStream, command: &Command) -> io::Result<CommandResult> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_vec(&Line { v: VERSION, body: Asking { command: command.clone() } })?;
    text.push(b'\n');
    stream.write_all(&text)?;
    let mut answer = Vec::new();
    stream.take(LINE_MAX as u64).read_to_end(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice::<Line<Answering>>(&answer)?.body.answer)
}
