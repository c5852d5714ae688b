//! The process that stands for a function.
//!
//! Every agent of a run is a process under its keeper. For a function it is `ralph __function`, which
//! connects to a socket in the directory of the run, sends what it was asked, prints what it is
//! answered and exits with the code that it is given. So timeouts, streams, the record and the end of
//! a run need not know that there are functions.
//!
//! Invariant: calls follow each other. If ralph has ended a process whose function goes on, the next
//! call waits until that function has returned.

use super::agent::{AgentCall, AgentFunction};
use crate::control;
use crate::fsx;
use crate::layout::{FUNCTION, RunDir};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};

/// The hidden subcommand; its one argument is the directory of the run.
pub const SUBCOMMAND: &str = "__function";

/// The process sends its request at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// A prompt with everything that it may quote is far shorter.
const LONGEST_REQUEST: u64 = 64 << 20;

/// What the process was asked. The function's answers follow until the last.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    prompt: String,
    dir: PathBuf,
    /// What ralph tells every agent.
    env: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Stdout(String),
    Stderr(String),
    /// The exit code; nothing follows.
    Exit(u8),
}

/// Answers the processes of a run; no longer once it is dropped.
pub(super) struct FunctionServer {
    run: RunDir,
    stopped: Arc<AtomicBool>,
}

impl FunctionServer {
    pub(super) fn listen(run: &RunDir, function: AgentFunction) -> io::Result<FunctionServer> {
        fsx::private_dir(run.dir())?;
        let socket = run.dir().join(FUNCTION);
        // Left by a process that was killed.
        let _ = fsx::remove(&socket);
        let address = control::address_of(run, FUNCTION)?;
        let listener = UnixListener::bind(&address.path)?;
        fsx::only_for_user(&socket)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let server = FunctionServer { run: run.clone(), stopped: Arc::clone(&stopped) };
        thread::Builder::new().name("ralph-agent".into()).spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                // The process says what it has not been answered.
                let _ = stream.and_then(|stream| serve(stream, &function));
            }
        })?;
        Ok(server)
    }
}

impl Drop for FunctionServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread. A function that goes on is not waited for.
        let _ = control::address_of(&self.run, FUNCTION).map(|address| UnixStream::connect(&address.path));
        let _ = fsx::remove(&self.run.dir().join(FUNCTION));
    }
}

fn serve(stream: UnixStream, function: &AgentFunction) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(LONGEST_REQUEST)).read_line(&mut line)?;
    let Request { prompt, dir, env } = serde_json::from_str(&line)?;
    let call = AgentCall { prompt, dir, env, connection: Connection(stream) };
    let code = match catch_unwind(AssertUnwindSafe(|| function.call(&call))) {
        Ok(Ok(words)) => {
            let end = if words.is_empty() || words.ends_with('\n') { "" } else { "\n" };
            call.print(&format!("{words}{end}"));
            0
        }
        Ok(Err(error)) => {
            call.connection.send(&Reply::Stderr(format!("{error}\n")))?;
            1
        }
        Err(_) => {
            call.connection.send(&Reply::Stderr("the agent's function panicked\n".into()))?;
            1
        }
    };
    call.connection.send(&Reply::Exit(code))
}

/// The way back to the process.
#[derive(Debug)]
pub(super) struct Connection(UnixStream);

impl Connection {
    pub(super) fn print(&self, text: &str) {
        if !text.is_empty() {
            let _ = self.send(&Reply::Stdout(text.to_string()));
        }
    }

    /// After its request the process sends only the end.
    pub(super) fn is_closed(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
    }

    fn send(&self, reply: &Reply) -> io::Result<()> {
        let mut line = serde_json::to_vec(reply)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }
}

/// The body of the process: returns its exit code. At SIGTERM it tells the function and still waits for
/// its answer, until ralph ends it.
pub async fn relay(
    run: &RunDir,
    prompt: String,
    stdout: &mut impl Write,
    stderr: &mut impl Write,
) -> io::Result<u8> {
    let address = control::address_of(run, FUNCTION)?;
    let Ok(stream) = tokio::net::UnixStream::connect(&address.path).await else {
        return Err(io::Error::other("the agent is a function of a program that is not running"));
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let (from, mut to) = stream.into_split();
    let env = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("RALPH_"))?;
        Some((name, value.into_string().ok()?))
    });
    let request = Request { prompt, dir: std::env::current_dir()?, env: env.collect() };
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    to.write_all(&line).await?;
    let mut replies = tokio::io::BufReader::new(from).lines();
    loop {
        let line = tokio::select! {
            line = replies.next_line() => line?,
            _ = terminate.recv() => {
                to.shutdown().await?;
                continue;
            }
        };
        let Some(line) = line else {
            return Err(io::Error::other("the program has ended before the agent's function returned"));
        };
        match serde_json::from_str(&line)? {
            Reply::Stdout(text) => stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())?,
            Reply::Stderr(text) => stderr.write_all(text.as_bytes())?,
            Reply::Exit(code) => return Ok(code),
        }
    }
}
