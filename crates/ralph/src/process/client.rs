//! The engine's end of a keeper.
//!
//! Invariant: every process of a keeper is gone once its `Ended` or `Gone` has been
//! returned. `Gone` comes after the keeper itself has been waited for, because only then
//! have its orphans come to the engine.
//!
//! Deliberately absent: starting a new keeper after `Gone`. The caller decides that.
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use std::ffi::OsString;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg,
    socketpair, sockopt,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::ReadBuf;
use tokio::net::UnixDatagram;

use super::ours::{self, Kind};
use super::reaper::adopts;
use super::survivors::end_survivors;
use super::sweep::sweep;
use super::wire::{self, Reply};
use super::{Command, KEEPER, KeeperEvent, KeeperProgram, KeptRun, ProcessError, Stdio3};

/// How long a keeper may take to end what is left at the end of a run.
const FINISH: Duration = Duration::from_secs(5);

/// A keeper process: starts one process at a time and leaves nothing of it.
///
/// Dropped, it closes its socket, and the keeper ends everything and exits by itself.
#[derive(Debug)]
pub struct Keeper {
    process: Child,
    /// A SEQPACKET socket: tokio has no type for those, and the one for datagrams does what
    /// is needed, receive one packet.
    socket: UnixDatagram,
    state: State,
    /// The directory of the run whose processes it starts.
    run: Option<PathBuf>,
    /// The last request, kept for its capacity.
    body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Busy,
    Gone,
}

impl Keeper {
    /// Starts this program's `__keeper`. To be called within a tokio runtime.
    ///
    /// `env` is set on top of this process's environment, for the keeper and so for all that
    /// it starts.
    pub fn start(
        program: &KeeperProgram,
        run: Option<KeptRun<'_>>,
        env: &[(OsString, OsString)],
    ) -> Result<Keeper, ProcessError> {
        let program = match program {
            // The link, not the path behind it: the program on disk may have been replaced by
            // another version since, which would not understand us.
            KeeperProgram::Own => Path::new("/proc/self/exe"),
            KeeperProgram::At(path) => path,
        };
        Keeper::start_with(program, run, env)
    }

    /// As `start`, with a program that has this subcommand.
    pub fn start_with(
        program: &Path,
        run: Option<KeptRun<'_>>,
        env: &[(OsString, OsString)],
    ) -> Result<Keeper, ProcessError> {
        let (socket, theirs) = channel().map_err(ProcessError::Socket)?;
        ours::note_adopted();
        let mut command = std::process::Command::new(program);
        command.arg0("ralph").arg(KEEPER).args(run.map(|run| run.dir));
        command.envs(env.iter().map(|(name, value)| (name, value)));
        // The keeper may outlive the engine by the time of a sweep. It must not hold open
        // the pipe of `ralph run | head`, nor keep a directory of the user's from being
        // unmounted, so it has neither the streams nor the directory.
        command.current_dir("/").stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let process = ours::spawn(&mut command, Kind::Keeper).map_err(ProcessError::Start)?;
        let kept = run.map(|run| run.dir.to_path_buf());
        let keeper = Keeper { process, socket, state: State::Idle, run: kept, body: Vec::new() };
        if let Some(KeptRun { lock, record, .. }) = run {
            let held: Vec<_> = [lock].into_iter().chain(record).collect();
            // There is no keeper yet whose end could be waited for.
            keeper.send(wire::HOLD, &held).map_err(|cause| ProcessError::Start(io::Error::other(cause)))?;
        }
        Ok(keeper)
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Asks for a process; the answer is the event `Started` or `NotStarted`. The error
    /// `Gone` means that the event `Gone` follows, or has been.
    pub fn spawn(&mut self, command: &Command, stdio: Stdio3) -> Result<(), ProcessError> {
        match self.state {
            State::Idle => {}
            State::Busy => return Err(ProcessError::Busy),
            State::Gone => return Err(ProcessError::Gone),
        }
        let Stdio3 { stdin, stdout, stderr } = stdio;
        let mut body = std::mem::take(&mut self.body);
        wire::encode_spawn(command, &mut body);
        let sent = self.send(&body, &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]);
        self.body = body;
        sent?;
        self.state = State::Busy;
        Ok(())
    }

    /// Sends SIGTERM to the group of the current process, if there is one; if it is wrapped, to all that
    /// its wrapper has started.
    pub fn terminate(&self) -> Result<(), ProcessError> {
        self.send(wire::TERMINATE, &[])
    }

    /// Kills the current process, if there is one, and all that it started; `Ended`
    /// follows. A process that has ended in the meantime is not followed by a second one.
    pub fn sweep(&self) -> Result<(), ProcessError> {
        self.send(wire::SWEEP, &[])
    }

    /// Ends a keeper that does not do its work. `Gone` follows, with the sweep.
    pub fn kill(&self) -> Result<(), ProcessError> {
        let pid = Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
            .map_err(|cause| ProcessError::Send(cause.into()))
    }

    /// Waits for the next word from the keeper. Nothing is lost when the future is dropped.
    pub async fn event(&mut self) -> KeeperEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Likewise, for a task that waits for several keepers at once.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<KeeperEvent> {
        if self.state == State::Gone {
            return Poll::Ready(KeeperEvent::Gone { swept: 0 });
        }
        Poll::Ready(match ready!(self.poll_reply(cx)) {
            Some(Reply::Started { pid }) => KeeperEvent::Started { pid },
            Some(Reply::NotStarted { errno, text }) => {
                self.state = State::Idle;
                let error = errno.map_or_else(|| io::Error::other(text), io::Error::from_raw_os_error);
                KeeperEvent::NotStarted { kind: error.kind(), error: error.to_string() }
            }
            Some(Reply::Ended { exit, swept }) => {
                self.state = State::Idle;
                KeeperEvent::Ended { exit, swept }
            }
            None => {
                self.state = State::Gone;
                KeeperEvent::Gone { swept: self.kill_and_reap() }
            }
        })
    }

    /// A clean end: lets the keeper end what is left and exit, and waits for that.
    pub fn finish(mut self) {
        if self.state == State::Gone {
            return;
        }
        let _ = self.socket.shutdown(Shutdown::Both);
        wait_at_most(&self.process, FINISH);
        self.kill_and_reap();
    }

    /// Makes sure that the keeper is dead, and ends what it has left behind.
    fn kill_and_reap(&mut self) -> u32 {
        // The socket closes before the orphans are handed over; the wait comes after that.
        let _ = self.process.kill();
        let ended = self.process.wait();
        ours::forget(&self.process);
        if adopts() {
            return sweep(ours::contains, |_, _| ());
        }
        // One that has come to its end has left nothing.
        match ended {
            Ok(status) if status.success() => 0,
            _ => self.run.as_deref().map_or(0, end_survivors),
        }
    }

    /// `None` when the keeper is gone, or talks nonsense, which is no better.
    fn poll_reply(&self, cx: &mut Context<'_>) -> Poll<Option<Reply>> {
        let mut body = [MaybeUninit::uninit(); wire::REPLY_LIMIT];
        let mut body = ReadBuf::uninit(&mut body);
        let received = ready!(self.socket.poll_recv(cx, &mut body));
        Poll::Ready(received.ok().and_then(|()| Reply::decode(body.filled())))
    }

    fn send(&self, body: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), ProcessError> {
        let too_long = ProcessError::TooLong { bytes: body.len(), limit: wire::LIMIT };
        if self.state == State::Gone {
            return Err(ProcessError::Gone);
        }
        if body.len() > wire::LIMIT {
            return Err(too_long);
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let packet = [IoSlice::new(body)];
        match rustix::io::retry_on_intr(|| {
            sendmsg(&self.socket, &packet, &mut ancillary, SendFlags::NOSIGNAL)
        }) {
            Ok(_) => Ok(()),
            Err(Errno::MSGSIZE) => Err(too_long),
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Err(ProcessError::Gone),
            Err(error) => Err(ProcessError::Send(error.into())),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        ours::release(&self.process);
    }
}

/// Our end does not block; the keeper's does.
fn channel() -> io::Result<(UnixDatagram, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_send_buffer_size(&ours, 2 * wire::LIMIT)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((UnixDatagram::from_std(ours.into())?, theirs))
}

fn wait_at_most(process: &Child, limit: Duration) {
    let (Ok(pidfd), Ok(timeout)) =
        (pidfd_open(Pid::from_child(process), PidfdFlags::empty()), Timespec::try_from(limit))
    else {
        return;
    };
    // After an interruption it waits again: only SIGCHLD comes here, and not often.
    let _ = rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout)));
}
