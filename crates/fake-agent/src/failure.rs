//! Why the agent could not play its script, and the exit code that says so.

use crate::script::LoadError;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: u8 = 64;
const EXHAUSTED: u8 = 70;
const IO: u8 = 74;

#[derive(Debug)]
pub(crate) enum Failure {
    NoScript,
    Script(LoadError),
    /// The script goes by iteration, and this is what `RALPH_ITERATION` held.
    NoIteration(String),
    Exhausted {
        call: u64,
        script: PathBuf,
    },
    File {
        what: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    System {
        what: &'static str,
        cause: io::Error,
    },
    /// A leftover did not start; it said this.
    Leftover(String),
    /// The reader of the output is gone. It may go at any time, so this is no error.
    OutputClosed,
}

impl Failure {
    /// For `map_err` on an operation on a file.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
        move |cause| Failure::File { what, path: path.to_owned(), cause }
    }

    /// For `map_err` on any other call to the system.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Failure {
        move |cause| Failure::System { what, cause }
    }

    /// For `map_err` on a write to stdout.
    pub(crate) fn output(cause: io::Error) -> Failure {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::System { what: "write to stdout", cause },
        }
    }

    /// Says it on stderr in one write, so that messages of several agents do not mix.
    pub(crate) fn report(&self) -> ExitCode {
        if !matches!(self, Failure::OutputClosed) {
            let message = format!("fake-agent: error: {self}\n");
            // With stderr closed as well, there is nowhere left to report to.
            let _ = io::stderr().write_all(message.as_bytes());
        }
        ExitCode::from(self.code())
    }

    fn code(&self) -> u8 {
        match self {
            Failure::NoScript | Failure::Script(_) | Failure::NoIteration(_) => USAGE,
            Failure::Exhausted { .. } => EXHAUSTED,
            Failure::File { .. } | Failure::System { .. } | Failure::Leftover(_) => IO,
            Failure::OutputClosed => 0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoScript => write!(f, "no script given\n  usage: fake-agent SCRIPT [ARGS...]"),
            Failure::Script(error) => error.fmt(f),
            Failure::NoIteration(held) => {
                write!(f, "the script goes by iteration, but RALPH_ITERATION is no positive number: {held:?}")
            }
            Failure::Exhausted { call, script } => {
                write!(f, "the script has no entry for call {call}: {}", script.display())
            }
            Failure::File { what, path, cause } => {
                write!(f, "cannot {what}: {}\n  cause: {cause}", path.display())
            }
            Failure::System { what, cause } => write!(f, "cannot {what}\n  cause: {cause}"),
            Failure::Leftover(said) => write!(f, "the leftover did not start\n  cause: {said}"),
            Failure::OutputClosed => write!(f, "stdout was closed"),
        }
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        Failure::Script(error)
    }
}
