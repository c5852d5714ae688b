//! A pipe from a check into its log, for what must not be in the log.
//!
//! A thread masks what comes. It ends when the pipe does, or when the check is over: a process that was handed
//! a descriptor may keep the pipe open, and is not waited for.

use super::pipe::MOST_BYTES;
use crate::fsx;
use ralph_loop::secrets::{MaskedStream, Masker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, retry_on_intr};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// As much as a pipe holds by default.
const READ_BYTES: usize = 64 << 10;

pub(super) struct LogPipe {
    thread: JoinHandle<io::Result<()>>,
    /// Closed when the check is over.
    running: PipeWriter,
}

impl LogPipe {
    /// Also returns the end that the check writes to.
    pub(super) fn into(log: File, masker: Arc<Masker>) -> io::Result<(OwnedFd, LogPipe)> {
        let (reader, writer) = io::pipe()?;
        let (over, running) = io::pipe()?;
        let copy = move || copy(&reader, &over, log, MaskedStream::new(masker));
        let thread = thread::Builder::new().name("check-output".into()).spawn(copy)?;
        Ok((writer.into(), LogPipe { thread, running }))
    }

    /// The check is over: returns once everything that it has printed is in its log.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.running);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it has panicked")))
    }
}

fn copy(from: &PipeReader, over: &PipeReader, mut log: File, mut stream: MaskedStream) -> io::Result<()> {
    let mut buffer = vec![0; READ_BYTES];
    // Once the check is over: how much its pipe can still hold.
    let mut left: Option<usize> = None;
    while left != Some(0) {
        let mut ready = [PollFd::new(from, PollFlags::IN), PollFd::new(over, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let waiting = if left.is_some() { &mut ready[..1] } else { &mut ready[..] };
        match poll(waiting, left.is_some().then_some(&now)) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
        if left.is_none() && !ready[1].revents().is_empty() {
            left = Some(MOST_BYTES);
            continue;
        }
        if ready[0].revents().is_empty() {
            continue;
        }
        match retry_on_intr(|| read(from, &mut *buffer))? {
            0 => break,
            n => {
                left = left.map(|left| left.saturating_sub(n));
                fsx::append_to(&mut log, stream.feed(&buffer[..n]))?;
            }
        }
    }
    fsx::append_to(&mut log, stream.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_loop::secrets::Secret;
    use std::io::Write;

    fn masker() -> Arc<Masker> {
        Arc::new(Masker::new(&[Secret { name: "TOKEN".into(), value: "tok-12345678".into() }]))
    }

    #[test]
    fn everything_that_was_printed_is_in_the_log_without_secrets() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let (writer, pipe) = LogPipe::into(log.reopen().unwrap(), masker()).unwrap();
        let mut writer = File::from(writer);
        for piece in ["a tok-", "1234", "5678 b\n"] {
            writer.write_all(piece.as_bytes()).unwrap();
        }
        writer.write_all(&b"0123456789\n".repeat(50_000)).unwrap();
        drop(writer);
        pipe.finish().unwrap();
        let logged = std::fs::read_to_string(log.path()).unwrap();
        assert_eq!(logged.len(), "a ***TOKEN*** b\n".len() + 550_000);
        assert!(logged.starts_with("a ***TOKEN*** b\n0123"));
    }

    #[test]
    fn a_descriptor_that_is_still_open_elsewhere_does_not_hold_up_the_end() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let (writer, pipe) = LogPipe::into(log.reopen().unwrap(), masker()).unwrap();
        let mut elsewhere = File::from(writer);
        elsewhere.write_all(b"the last words, tok-123456").unwrap();
        pipe.finish().unwrap();
        assert_eq!(std::fs::read_to_string(log.path()).unwrap(), "the last words, ***TOKEN***");
        assert!(elsewhere.write_all(b"x").is_err(), "there is no reader any more");
    }
}
