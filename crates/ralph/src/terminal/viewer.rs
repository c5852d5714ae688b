//! This process's terminal as a window onto the agent's.
//!
//! Invariant: the modes of the terminal are afterwards what they were before, and nothing of what the agent has set
//! stays: no other screen, no hidden cursor, no mouse.

#![expect(clippy::disallowed_methods, reason = "this terminal is lent to the agent")]

use super::client::connect;
use super::people::{Frame, Want};
use crate::layout::RunDir;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{SignalKind, signal};

/// What agents switch on: drawing held back, a scroll region, another screen, pasting and focus told apart, mice, other
/// keys, a hidden cursor, colors. The cursor is saved first: leaving the other screen puts it where it was saved last,
/// also if the agent never was there.
const AS_BEFORE: &[u8] = b"\x1b[?2026l\x1b7\x1b[r\x1b8\x1b[?1049l\x1b[?2004l\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[<u\x1b[>4m\x1b[?1l\x1b>\x1b[?7h\x1b[?25h\x1b[0m\r\n";

/// What came of looking at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// There was none.
    Nothing,
    /// Until its agent had ended.
    ToTheEnd,
    /// Until this terminal was gone.
    ViewerGone,
}

/// Shows the terminal of the run's agent in this process's terminal, and passes on what is typed, until the agent ends.
/// `at_end` is called then, before the run goes on.
pub fn watch(run: &RunDir, at_end: impl FnOnce()) -> io::Result<Watched> {
    let stream = match connect(run) {
        Ok(stream) => stream,
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(Watched::Nothing);
        }
        Err(cause) => return Err(cause),
    };
    stream.set_nonblocking(true)?;
    // The host waits until it is closed.
    let held = stream.try_clone()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let raw = RawTerminal::enter()?;
    let watched = runtime.block_on(async { relay(UnixStream::from_std(stream)?).await });
    drop(raw);
    if matches!(watched, Ok(Watched::ToTheEnd)) {
        at_end();
    }
    drop(held);
    watched
}

async fn relay(mut stream: UnixStream) -> io::Result<Watched> {
    let (mut from_agent, mut to_agent) = stream.split();
    let mut resized = signal(SignalKind::window_change())?;
    // It is no pipe, but tokio waits for it as for one.
    let mut keys = Receiver::from_file_unchecked(File::from(rustix::stdio::stdin().try_clone_to_owned()?))?;
    let (rows, columns) = size();
    let mut hello = serde_json::to_vec(&Want::View { rows, columns })?;
    hello.push(b'\n');
    if to_agent.write_all(&hello).await.is_err() {
        // It has ended in this moment.
        return Ok(Watched::Nothing);
    }
    let (mut shown, mut typed) = (vec![0; 64 << 10], vec![0; 4096]);
    loop {
        let frame = tokio::select! {
            read = from_agent.read(&mut shown) => match read {
                Ok(read) if read > 0 => {
                    if show(&shown[..read]).is_err() {
                        return Ok(Watched::ViewerGone);
                    }
                    continue;
                }
                Ok(_) | Err(_) => return Ok(Watched::ToTheEnd),
            },
            read = keys.read(&mut typed) => match read {
                Ok(read) if read > 0 => Frame::Typed(typed[..read].to_vec()),
                Ok(_) | Err(_) => return Ok(Watched::ViewerGone),
            },
            _ = resized.recv() => {
                let (rows, columns) = size();
                Frame::Size { rows, columns }
            }
        };
        if to_agent.write_all(&frame.encode()).await.is_err() {
            return Ok(Watched::ToTheEnd);
        }
    }
}

fn show(piece: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut left = piece;
    while !left.is_empty() {
        match out.write(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => left = &left[written..],
            // Standard output may be the same open file as standard input, which does not wait.
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => wait_until_writable(out.as_fd())?,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    loop {
        match out.flush() {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => wait_until_writable(out.as_fd())?,
            done => return done,
        }
    }
}

fn wait_until_writable(out: BorrowedFd<'_>) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    poll(&mut [PollFd::from_borrowed_fd(out, PollFlags::OUT)], None)?;
    Ok(())
}

fn size() -> (u16, u16) {
    let size = tcgetwinsize(rustix::stdio::stdout());
    size.map_or((super::ROWS, super::COLUMNS), |size| (size.ws_row.max(1), size.ws_col.max(1)))
}

/// A terminal that passes on every key as it is, until this is dropped.
struct RawTerminal {
    modes: Termios,
    flags: OFlags,
}

impl RawTerminal {
    fn enter() -> io::Result<RawTerminal> {
        let stdin = rustix::stdio::stdin();
        let (modes, flags) = (tcgetattr(stdin)?, fcntl_getfl(stdin)?);
        let mut raw = modes.clone();
        raw.make_raw();
        tcsetattr(stdin, OptionalActions::Drain, &raw)?;
        let entered = RawTerminal { modes, flags };
        fcntl_setfl(stdin, flags | OFlags::NONBLOCK)?;
        Ok(entered)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        let stdin = rustix::stdio::stdin();
        let _ = fcntl_setfl(stdin, self.flags);
        let _ = show(AS_BEFORE);
        let _ = tcsetattr(stdin, OptionalActions::Drain, &self.modes);
    }
}
