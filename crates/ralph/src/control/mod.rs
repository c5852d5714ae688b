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
use crate::process::Lineage;
use ralph_loop::ask::Changes;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

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
    /// A process that has ended since. It may have handed its connection to another one.
    Gone,
}

impl Sender {
    /// Who a process is to a run that it wants to control, or to all runs. Only runs of this home count:
    /// ralph itself may be built and tested by an agent.
    pub fn of(pid: Pid, home: &Home, run: Option<&str>) -> Sender {
        match Lineage::of(pid) {
            Some(lineage) => {
                run_around(&lineage, home, run).map_or(Sender::User, |run| Sender::Agent { run })
            }
            None => Sender::Gone,
        }
    }

    /// Why the sender may not control a run. An agent could decide by itself when it is done, end a pause,
    /// pass its words off as the user's, or kill the work of others.
    pub fn refusal(&self, of: &str) -> Option<&'static str> {
        match self {
            Sender::User => None,
            Sender::Agent { run } if run == of => Some("an agent cannot control its own run"),
            Sender::Agent { .. } => Some("an agent cannot control other runs"),
            Sender::Gone => Some("the process that sent the command has ended"),
        }
    }
}

/// The run that a process is part of. What counts is where it comes from; its environment, which it can
/// change, only where that says nothing.
fn run_around(lineage: &Lineage, home: &Home, run: Option<&str>) -> Option<String> {
    let kept = lineage.keepers().into_iter().map(RunDir::at);
    let here = kept.filter(|kept| is_same_dir(kept.home().root(), home.root())).map(|kept| kept.id()).next();
    let left = || {
        let is_left =
            |run: &&str| lineage.is_left_by_keeper() || lineage.is_in_session_of(home.run(run).dir());
        run.filter(is_left).map(String::from)
    };
    let is_ours = |run: &String| is_safe_name(run) && home.run(run).dir().exists();
    here.or_else(left).or_else(|| lineage.named_runs().into_iter().find(is_ours))
}

/// However it is spelled.
fn is_same_dir(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
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

    /// It could have been anyone, and another process may hold the connection.
    #[test]
    fn a_sender_that_is_gone_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_path_buf());
        // No process has a number as large as this.
        let sender = Sender::of(Pid::from_raw(i32::MAX).unwrap(), &home, Some("r"));
        assert_eq!(sender, Sender::Gone);
        assert!(sender.refusal("r").is_some());
        assert_eq!(Sender::of(rustix::process::getpid(), &home, Some("r")), Sender::User);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes a link")]
    fn a_home_is_the_same_however_it_is_spelled() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("home"), dir.path().join("elsewhere"));
        fsx::private_dir(&one).unwrap();
        std::os::unix::fs::symlink(&one, dir.path().join("link")).unwrap();
        assert!(is_same_dir(&one, &dir.path().join("link")));
        assert!(is_same_dir(&other, &other), "also if it is gone");
        assert!(!is_same_dir(&one, &other));
        assert!(!is_same_dir(&one, dir.path()));
    }

    #[test]
    fn a_run_without_a_loop_is_reported_as_not_running() {
        let dir = tempfile::tempdir().unwrap();
        let run = Home::at(dir.path().to_path_buf()).run("r");
        assert!(matches!(talk(&run, &Command::Pause), Err(TalkError::NotRunning)));
    }
}
