//! A pipe from an agent to the loop: large, and read without blocking.

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::io;
use std::os::fd::OwnedFd;
use tokio::net::unix::pipe::Receiver;

/// Fewer, larger reads; the system may allow less.
const PIPE_BYTES: usize = 1 << 20;

/// The end to read, and the end for the agent.
pub(super) fn large() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let _ = fcntl_setpipe_size(&reader, PIPE_BYTES);
    Ok((Receiver::from_owned_fd(reader)?, writer))
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
