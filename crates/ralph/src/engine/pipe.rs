//! A pipe from an agent to the loop: large, and read without blocking.

use rustix::io::{Errno, read, retry_on_intr};
use std::io;
use std::os::fd::OwnedFd;
use tokio::net::unix::pipe::Receiver;

/// Fewer, larger reads; the system may allow less.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// No pipe of ours holds more.
pub(super) const MOST_BYTES: usize = 2 << 20;

/// The end to read, and the end for the agent.
pub(super) fn large() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&reader, PIPE_BYTES);
    Ok((Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// What one read found.
pub(super) enum Got {
    Bytes(usize),
    /// Nothing now; the writer is still there.
    Dry,
    End,
}

pub(super) fn try_read(pipe: &Receiver, into: &mut [u8]) -> Got {
    match pipe.try_read(into) {
        Ok(0) => Got::End,
        Ok(n) => Got::Bytes(n),
        Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Got::Dry,
        // A pipe that cannot be read has nothing more to say.
        Err(_) => Got::End,
    }
}

/// Reads what is there, whether the runtime has heard of it yet or not: to `try_read` a
/// pipe that was written to a moment ago is dry.
pub(super) fn read_now(pipe: &Receiver, into: &mut [u8]) -> Got {
    match retry_on_intr(|| read(pipe, &mut *into)) {
        Ok(0) => Got::End,
        Ok(n) => Got::Bytes(n),
        Err(Errno::AGAIN) => Got::Dry,
        Err(_) => Got::End,
    }
}
