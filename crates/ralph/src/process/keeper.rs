//! The keeper: the process that starts the agents and checks of one lane.
//!
//! It has a session of its own, so a terminal's Ctrl-C does not reach it, and is a child
//! subreaper, so whatever an agent starts and abandons becomes its child. It sleeps in one
//! `poll` on its socket and on the pidfd of the process it runs.
//!
//! Invariant: `Ended` is sent only after `wait` has found no child left (or only such as
//! belong to other users), and the keeper exits only after the same. While it lives it
//! holds the run's lock, so a free lock means that nothing of the run is alive.
//!
//! Deliberately absent: timers, signals handled, knowledge of runs. It does what it is told
//! and, when the socket ends because the engine is gone, ends everything.
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags, recvmsg, send,
};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, setsid, wait};

use super::reaper::reap_orphans;
use super::sessions;
use super::sweep::sweep;
use super::wire::{self, Reply, Request};
use super::wrapper::Wrapper;
use super::{Command, Exit, exit_of, wrapped_exit};

/// The body of the hidden subcommand `ralph __keeper`. Standard input is the socket.
pub fn keeper_main() -> ExitCode {
    // There is no one to report to: the engine sees the socket close.
    match Server::new() {
        Ok(mut server) => {
            server.serve();
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

struct Server {
    socket: OwnedFd,
    /// Open for as long as the keeper lives; never read.
    lock: Option<OwnedFd>,
    current: Option<Current>,
    body: Vec<u8>,
}

/// The process that the engine asked for.
struct Current {
    pid: Pid,
    pidfd: OwnedFd,
    /// Known once it has been reaped.
    exit: Option<Exit>,
    wrapper: Option<Wrapper>,
}

/// Why `poll` returned.
struct Woken {
    request: bool,
    child: bool,
}

#[derive(Clone, Copy)]
enum Children {
    None,
    Some,
}

impl Server {
    fn new() -> io::Result<Server> {
        // An agent that is started never has the socket: the copy closes on exec, and so
        // does whatever else arrives over it.
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        // A session leader that was started as one (`setsid ralph __keeper`) is fine too.
        let _ = setsid();
        rustix::thread::set_name(c"ralph-keeper")?;
        reap_orphans()?;
        Ok(Server { socket, lock: None, current: None, body: vec![0; wire::LIMIT] })
    }

    fn serve(&mut self) {
        loop {
            let woken = self.sleep();
            if woken.child {
                self.reap();
            }
            if woken.request && !self.answer() {
                // The engine is gone, so there is no one to report to.
                sweep(|_| false, |_, _| ());
                return;
            }
        }
    }

    fn sleep(&self) -> Woken {
        let socket = PollFd::new(&self.socket, PollFlags::IN);
        let polled = match &self.current {
            Some(current) => {
                let mut fds = [socket, PollFd::new(&current.pidfd, PollFlags::IN)];
                poll(&mut fds, None).map(|_| Woken {
                    request: !fds[0].revents().is_empty(),
                    child: !fds[1].revents().is_empty(),
                })
            }
            None => poll(&mut [socket], None).map(|_| Woken { request: true, child: false }),
        };
        // Only SIGCHLD interrupts: an orphan died.
        polled.unwrap_or(Woken { request: false, child: true })
    }

    /// Takes in what has ended. When that is the current process, ends what it left.
    fn reap(&mut self) {
        let left = self.reap_the_dead();
        if self.current.as_ref().is_some_and(|current| current.exit.is_some()) {
            self.end_current(left);
        }
    }

    fn reap_the_dead(&mut self) -> Children {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.note_exit(pid, exit_of(status)),
                Ok(None) => return Children::Some,
                Err(Errno::INTR) => {}
                Err(_) => return Children::None, // ECHILD: proof that nothing is left.
            }
        }
    }

    fn note_exit(&mut self, pid: Pid, exit: Option<Exit>) {
        if let Some(current) = &mut self.current
            && current.pid == pid
        {
            current.exit = exit;
        }
    }

    fn end_current(&mut self, left: Children) {
        let swept = match left {
            Children::None => 0,
            Children::Some => self.sweep(),
        };
        if let Some(Current { exit, wrapper, .. }) = self.current.take() {
            // Its status is lost only to a program that reaped our children for us.
            let exit = exit.unwrap_or(Exit::Signal(0));
            let exit = if wrapper.is_some() { wrapped_exit(exit) } else { exit };
            self.reply(&Reply::Ended { exit, swept });
        }
    }

    /// Ends everything and returns how many others than the current process, and what it is wrapped in, there
    /// were.
    fn sweep(&mut self) -> u32 {
        let own = match &self.current {
            // One that is about to end no longer says what it executes, and all inside end with it.
            Some(Current { wrapper: Some(wrapper), .. }) => wrapper.count_below().max(1),
            Some(Current { exit: None, .. }) => 1,
            Some(_) | None => 0,
        };
        let swept = sweep(|_| false, |pid, exit| self.note_exit(pid, Some(exit)));
        swept.saturating_sub(own)
    }

    /// Carries out one request. False when there will be no more.
    fn answer(&mut self) -> bool {
        let (request, descriptors) = match self.receive() {
            Ok(Some(received)) => received,
            Ok(None) => return false,
            Err(error) => {
                self.reply(&Reply::not_started(&error));
                return true;
            }
        };
        match request {
            Request::Hold => {
                let mut descriptors = descriptors.into_iter();
                self.lock = descriptors.next();
                if let Some(record) = descriptors.next() {
                    sessions::record(record);
                }
            }
            Request::Spawn(command) => self.spawn(&command, descriptors),
            Request::Terminate => self.terminate(),
            Request::Sweep => {
                if self.current.is_some() {
                    self.end_current(Children::Some);
                }
            }
        }
        true
    }

    /// `None` when the engine is gone, an error for a message that makes no sense.
    fn receive(&mut self) -> io::Result<Option<(Request, Vec<OwnedFd>)>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received = loop {
            let body = &mut [IoSliceMut::new(&mut self.body)];
            match recvmsg(&self.socket, body, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Ok(received) if received.bytes > 0 => break received,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return Ok(None),
            }
        };
        let descriptors = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(rights) => Some(rights),
                _ => None,
            })
            .flatten()
            .collect();
        // Descriptors are cut off when this process may not open as many.
        if received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(io::Error::other("the keeper received an incomplete request"));
        }
        match Request::decode(&self.body[..received.bytes]) {
            Some(request) => Ok(Some((request, descriptors))),
            None => Err(io::Error::other("the keeper received an unknown request")),
        }
    }

    fn spawn(&mut self, command: &Command, descriptors: Vec<OwnedFd>) {
        let reply = match self.start(command, descriptors) {
            Ok(current) => {
                let pid = current.pid.as_raw_nonzero().get().cast_unsigned();
                self.current = Some(current);
                Reply::Started { pid }
            }
            Err(error) => Reply::not_started(&error),
        };
        self.reply(&reply);
    }

    fn start(&self, command: &Command, descriptors: Vec<OwnedFd>) -> io::Result<Current> {
        if self.current.is_some() {
            return Err(io::Error::other("the keeper is already running a process"));
        }
        let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(descriptors) else {
            return Err(io::Error::other("the request does not have three file descriptors"));
        };
        let Some((program, args)) = command.argv.split_first() else {
            return Err(io::Error::other("the command is empty"));
        };
        let wrapper = command.wrapper.as_deref().map(Wrapper::at).transpose()?;
        let mut spawned = std::process::Command::new(program);
        spawned.args(args).current_dir(&command.cwd).process_group(0);
        for name in &command.env_remove {
            spawned.env_remove(name);
        }
        spawned.envs(command.env.iter().map(|(name, value)| (name, value)));
        spawned.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
        let pid = Pid::from_child(&spawned.spawn()?);
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Current { pid, pidfd, exit: None, wrapper }),
            Err(error) => {
                // It runs, but its end could not be seen: better that it had not started.
                sweep(|_| false, |_, _| ());
                Err(error.into())
            }
        }
    }

    fn terminate(&self) {
        let Some(Current { pid, wrapper, .. }) = &self.current else { return };
        // A wrapper that has not started its program yet has no more to lose than that.
        if wrapper.is_none_or(|wrapper| !wrapper.terminate_wrapped()) {
            // A group that is gone cannot be told anything. A stopped one hears only after
            // it goes on.
            let _ = kill_process_group(*pid, Signal::TERM);
            let _ = kill_process_group(*pid, Signal::CONT);
        }
    }

    fn reply(&self, reply: &Reply) {
        // An engine that is gone shows as the end of the socket.
        let _ = rustix::io::retry_on_intr(|| send(&self.socket, &reply.encode(), SendFlags::NOSIGNAL));
    }
}
