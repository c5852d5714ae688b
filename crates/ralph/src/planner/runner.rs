//! A program under a keeper, driven from outside of an event loop: its output comes as events, one call
//! at a time, so that its caller can ask the user something in between.
//!
//! Invariant: after [`Happened::Ended`] nothing of the program is left, and all of its output has been heard.

use crate::process::{Command, Exit, Keeper, KeeperEvent, KeeperProgram, Signals, Stdio3};
use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;
use std::time::Duration;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep_until, timeout};

/// No process is left to write: what is in the pipes comes at once.
const LEFTOVERS: Duration = Duration::from_secs(5);

/// How long a program that was told to end may take.
const GRACE: Duration = Duration::from_secs(5);

/// What a program reads.
pub enum Input {
    Nothing,
    File(File),
    /// What is sent to it.
    Messages,
}

#[derive(Debug)]
pub enum Happened {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Ended(Ended),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Exit(Exit),
    /// The user pressed Ctrl+C, or ralph was told to end.
    Interrupted,
    TimedOut,
    NotStarted(String),
}

pub struct Runner {
    runtime: Runtime,
    /// None once it was let go.
    keeper: Option<Keeper>,
    stdin: Option<Sender>,
    /// What is not yet in the pipe.
    unsent: Vec<u8>,
    input: InputState,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    signals: Signals,
    deadline: Option<Instant>,
    /// Why it is ended by ralph.
    ending: Option<Ended>,
    ended: Option<Ended>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InputState {
    Open,
    /// What is unsent is the last of it.
    Over,
}

enum Step {
    Wrote(io::Result<usize>),
    Stdout(io::Result<Vec<u8>>),
    Stderr(io::Result<Vec<u8>>),
    Keeper(KeeperEvent),
    Signal,
    Late,
}

impl Runner {
    pub fn start(command: &Command, input: Input, limit: Option<Duration>) -> io::Result<Runner> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let within = runtime.enter();
        let signals = Signals::listen()?;
        let mut keeper = Keeper::start(&KeeperProgram::Own, None, &[]).map_err(io::Error::other)?;
        let (stdin, theirs): (Option<Sender>, OwnedFd) = match input {
            Input::Nothing => (None, File::open("/dev/null")?.into()),
            Input::File(file) => (None, file.into()),
            Input::Messages => {
                let (reader, writer) = io::pipe()?;
                (Some(Sender::from_owned_fd(writer.into())?), reader.into())
            }
        };
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        let stdio = Stdio3 { stdin: theirs, stdout: their_stdout, stderr: their_stderr };
        keeper.spawn(command, stdio).map_err(io::Error::other)?;
        let deadline = limit.map(|limit| Instant::now() + limit);
        drop(within);
        Ok(Runner {
            runtime,
            keeper: Some(keeper),
            stdin,
            unsent: Vec::new(),
            input: InputState::Open,
            stdout: Some(stdout),
            stderr: Some(stderr),
            signals,
            deadline,
            ending: None,
            ended: None,
        })
    }

    /// Sends a message, while its output is listened to. A program that reads no more gets nothing.
    pub fn send(&mut self, message: &str) {
        if self.stdin.is_some() {
            self.unsent.extend_from_slice(message.as_bytes());
        }
    }

    /// Lets it take longer, by the time that it has waited for the user.
    pub fn add_time(&mut self, waited: Duration) {
        if let (Some(deadline), None) = (&mut self.deadline, &self.ending) {
            *deadline += waited;
        }
    }

    /// There is nothing more to read for it, once all was sent.
    pub fn finish_input(&mut self) {
        self.input = InputState::Over;
        self.close_input();
    }

    fn close_input(&mut self) {
        if self.input == InputState::Over && self.unsent.is_empty() {
            self.stdin = None;
        }
    }

    fn wrote(&mut self, written: &io::Result<usize>) {
        match written {
            Ok(count) => drop(self.unsent.drain(..*count)),
            Err(_) => {
                self.unsent.clear();
                self.stdin = None;
            }
        }
        self.close_input();
    }

    /// Ends the program; `Ended` follows.
    pub fn interrupt(&mut self) {
        self.end(Ended::Interrupted);
    }

    /// Waits for the next thing to happen. After `Ended` there is nothing more.
    pub fn next(&mut self) -> Happened {
        loop {
            if let Some(ended) = &self.ended
                && self.stdout.is_none()
                && self.stderr.is_none()
            {
                let ended = ended.clone();
                if let Some(keeper) = self.keeper.take() {
                    let within = self.runtime.enter();
                    keeper.finish();
                    drop(within);
                }
                return Happened::Ended(ended);
            }
            match self.step() {
                Step::Wrote(written) => self.wrote(&written),
                Step::Stdout(read) => match read {
                    Ok(bytes) if !bytes.is_empty() => return Happened::Stdout(bytes),
                    Ok(_) | Err(_) => self.stdout = None,
                },
                Step::Stderr(read) => match read {
                    Ok(bytes) if !bytes.is_empty() => return Happened::Stderr(bytes),
                    Ok(_) | Err(_) => self.stderr = None,
                },
                Step::Keeper(KeeperEvent::Started { .. }) => {}
                Step::Keeper(KeeperEvent::NotStarted { error, .. }) => {
                    self.ended = Some(Ended::NotStarted(error));
                }
                Step::Keeper(KeeperEvent::Ended { exit, .. }) => {
                    self.ended = Some(self.ending.take().unwrap_or(Ended::Exit(exit)));
                }
                Step::Keeper(KeeperEvent::Gone { .. }) => {
                    let gone = Ended::NotStarted("its supervisor process (the keeper) died".to_owned());
                    self.ended = Some(self.ending.take().unwrap_or(gone));
                }
                // The program is gone, and others hold its pipes.
                Step::Late if self.ended.is_some() => (self.stdout, self.stderr) = (None, None),
                Step::Late if self.ending.is_some() => self.sweep(),
                Step::Late => self.end(Ended::TimedOut),
                Step::Signal if self.ending.is_some() => self.sweep(),
                Step::Signal => self.end(Ended::Interrupted),
            }
        }
    }

    fn end(&mut self, why: Ended) {
        self.ending = Some(why);
        self.stdin = None;
        self.deadline = Some(Instant::now() + GRACE);
        if let Some(keeper) = &self.keeper
            && keeper.terminate().is_err()
        {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        self.deadline = None;
        if let Some(keeper) = &self.keeper {
            // One that is gone says so with its next event.
            let _ = keeper.sweep();
        }
    }

    fn step(&mut self) -> Step {
        let Runner { runtime, keeper, stdin, unsent, stdout, stderr, signals, deadline, ended, .. } = self;
        let has_ended = ended.is_some();
        let late = async {
            match (has_ended, *deadline) {
                (false, Some(deadline)) => sleep_until(deadline).await,
                (false, None) => std::future::pending().await,
                (true, _) => {
                    let _ = timeout(LEFTOVERS, std::future::pending::<()>()).await;
                }
            }
        };
        let word = poll_fn(|cx| match keeper.as_mut().filter(|_| !has_ended) {
            Some(keeper) => keeper.poll_event(cx),
            None => Poll::Pending,
        });
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = signals.next() => Step::Signal,
                written = write(stdin, unsent) => Step::Wrote(written),
                read = read(stdout) => Step::Stdout(read),
                read = read(stderr) => Step::Stderr(read),
                word = word => Step::Keeper(word),
                () = late => Step::Late,
            }
        })
    }
}

fn pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((Receiver::from_owned_fd(reader.into())?, writer.into()))
}

/// How much of it was written.
async fn write(pipe: &Option<Sender>, bytes: &[u8]) -> io::Result<usize> {
    let Some(pipe) = pipe.as_ref().filter(|_| !bytes.is_empty()) else { return std::future::pending().await };
    loop {
        pipe.writable().await?;
        match pipe.try_write(bytes) {
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
            written => return written,
        }
    }
}

/// Empty at the end.
async fn read(pipe: &Option<Receiver>) -> io::Result<Vec<u8>> {
    const CHUNK: usize = 64 << 10;
    let Some(pipe) = pipe else { return std::future::pending().await };
    loop {
        pipe.readable().await?;
        let mut bytes = vec![0; CHUNK];
        match pipe.try_read(&mut bytes) {
            Ok(count) => {
                bytes.truncate(count);
                return Ok(bytes);
            }
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
            Err(cause) => return Err(cause),
        }
    }
}
