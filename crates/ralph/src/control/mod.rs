//! Words to a loop that runs, from another process of the same user.
//!
//! A unix socket in the directory of the run (which only its user can enter). One line of JSON
//! each way: a [`Command`], an [`CommandResult`]. Only the loop writes its journal: it answers once
//! what was asked is recorded.
//!
//! Invariant: no client can block the loop. Connections are read beside it, are few,
//! small and short.

mod client;
mod server;

pub use client::{TalkError, end_listener, talk};
pub use server::{Control, Request};

use crate::layout::{CONTROL, Home, RunDir, is_safe_name};
use crate::process;
use ralph_loop::ask::Changes;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// The version of the language.
const VERSION: u32 = 1;

/// No line is longer.
const LINE_MAX: usize = 256 << 10;

/// The longest note: prompts have to stay readable.
pub const LONGEST_NOTE: usize = 64 << 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    Pause,
    Continue,
    Kill,
    Set(Changes),
    Say { text: String },
}

/// Who gives a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    User,
    /// An agent or a check of this run, or a process that one of them started.
    Agent {
        run: String,
    },
}

impl Sender {
    /// Only runs of this home count: ralph itself may be built and tested by an agent.
    pub fn of(pid: Pid, home: &Home) -> Sender {
        let is_ours = |run: &String| is_safe_name(run) && home.run(run).dir().exists();
        match process::runs_around(pid).into_iter().find(is_ours) {
            Some(run) => Sender::Agent { run },
            None => Sender::User,
        }
    }

    /// Why the sender may not control a run. An agent could decide by itself when it is done, end a pause,
    /// pass its words off as the user's, or kill the work of others.
    pub fn refusal(&self, of: &str) -> Option<&'static str> {
        match self {
            Sender::User => None,
            Sender::Agent { run } if run == of => Some("an agent cannot control its own run"),
            Sender::Agent { .. } => Some("an agent cannot control other runs"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandResult {
    /// It is recorded.
    Done,
    /// It was so already.
    Already,
    Refused {
        why: String,
    },
}

/// A line, either way.
#[derive(Debug, Serialize, Deserialize)]
struct Line<T> {
    v: u32,
    #[serde(flatten)]
    body: T,
}

#[derive(Debug, Serialize, Deserialize)]
struct Asking {
    command: Command,
}

#[derive(Debug, Serialize, Deserialize)]
struct Answering {
    answer: CommandResult,
}

/// A socket's path has little more than 100 bytes, a home may have more. The directory is then
/// reached through its descriptor, which has to stay open as long as the path is used.
pub struct Address {
    pub path: PathBuf,
    _dir: Option<File>,
}

const PATH_MAX: usize = 100;

fn address(run: &RunDir) -> io::Result<Address> {
    address_of(run, CONTROL)
}

/// Of a socket in the directory of a run.
pub fn address_of(run: &RunDir, socket: &str) -> io::Result<Address> {
    let path = run.dir().join(socket);
    if path.as_os_str().len() <= PATH_MAX {
        return Ok(Address { path, _dir: None });
    }
    let dir = File::open(run.dir())?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&dir);
    Ok(Address { path: PathBuf::from(format!("/proc/self/fd/{number}/{socket}")), _dir: Some(dir) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;
    use crate::layout::Home;

    fn with_server(name: &str, then: impl FnOnce(&RunDir) + Send + 'static) {
        let dir = tempfile::tempdir().unwrap();
        let run = Home::at(dir.path().join(name)).run("r");
        fsx::private_dir(run.dir()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut control = Control::listen(&run).unwrap();
            let there = run.clone();
            let asking = tokio::task::spawn_blocking(move || then(&there));
            let serving = async {
                loop {
                    let Request { command, answer, .. } = control.next().await;
                    let _ = answer.send(match command {
                        Command::Say { text } => CommandResult::Refused { why: text },
                        _ => CommandResult::Done,
                    });
                }
            };
            tokio::select! {
                () = serving => {}
                asked = asking => asked.unwrap(),
            }
        });
        drop(runtime);
    }

    #[test]
    fn what_is_asked_is_answered_also_where_paths_are_long() {
        for name in ["h", &"long".repeat(40)] {
            with_server(name, |run| {
                assert!(matches!(talk(run, &Command::Pause), Ok(CommandResult::Done)));
                let said = talk(run, &Command::Say { text: "x".repeat(LONGEST_NOTE) }).unwrap();
                assert!(matches!(said, CommandResult::Refused { why } if why.len() == LONGEST_NOTE));
            });
        }
    }

    #[test]
    fn an_invalid_request_is_refused_and_the_next_is_served() {
        use std::io::{Read, Write};
        use std::os::unix::net::UnixStream;
        with_server("h", |run| {
            for nonsense in ["\n", "{\"v\":1}\n", "{\"v\":99,\"command\":\"pause\"}\n", "\0\n"] {
                let mut stream = UnixStream::connect(run.control()).unwrap();
                stream.write_all(nonsense.as_bytes()).unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                assert!(answer.contains("refused"), "{nonsense:?}: {answer}");
            }
            // Too much is not even read to its end.
            let mut stream = UnixStream::connect(run.control()).unwrap();
            let _ = stream.write_all(&vec![b'x'; 4 * LINE_MAX]);
            drop(stream);
            assert!(matches!(talk(run, &Command::Pause), Ok(CommandResult::Done)));
        });
    }

    #[test]
    fn a_run_without_a_loop_is_reported_as_not_running() {
        let dir = tempfile::tempdir().unwrap();
        let run = Home::at(dir.path().to_path_buf()).run("r");
        assert!(matches!(talk(&run, &Command::Pause), Err(TalkError::NotRunning)));
    }
}
