//! `ralph __enter` and `ralph __foreground`: what is started in place of a program that is to be restricted, or
//! that gets the terminal.

use super::fail;
use super::format::Format;
use crate::error::{CliError, with_causes};
use crate::process::{foreground_main, on_terminal_main};
use crate::report::say;
use crate::sandbox::enter::{EnterError, Entry};
use ralph_loop::text::printable;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

pub(super) fn main(args: &[OsString]) -> ExitCode {
    let [entry, program, args @ ..] = args else {
        return fail(&CliError::usage("this command is for internal use"), Format::Human);
    };
    let Some(entry) = entry.to_str().and_then(|entry| serde_json::from_str::<Entry>(entry).ok()) else {
        return fail(&CliError::usage("this command is for internal use"), Format::Human);
    };
    let error = entry.enter(program, args);
    say(&printable(&format!("ralph: error: {}", with_causes(&error))));
    ExitCode::from(exit_code(&error))
}

/// `ralph __foreground`: what is started in place of a program that gets the terminal.
pub(super) fn foreground(args: &[OsString]) -> ExitCode {
    let error = foreground_main(args);
    cannot_start(args.get(1), &error)
}

/// `ralph __on_terminal`: what is started in place of a program that gets a terminal of its own.
pub(super) fn on_terminal(args: &[OsString]) -> ExitCode {
    let error = on_terminal_main(args);
    cannot_start(args.first(), &error)
}

fn cannot_start(program: Option<&OsString>, error: &io::Error) -> ExitCode {
    let program = program.map(|program| program.to_string_lossy()).unwrap_or_default();
    say(&printable(&format!("ralph: error: cannot start {program}: {error}")));
    ExitCode::from(127)
}

/// As shells, `env` and `timeout` have them.
fn exit_code(error: &EnterError) -> u8 {
    match error {
        EnterError::Cgroup { .. }
        | EnterError::Limit { .. }
        | EnterError::Network(_)
        | EnterError::Rules(_)
        | EnterError::Keyrings(_)
        | EnterError::Capabilities(_) => 125,
        EnterError::NotExecutable { .. } => 126,
        EnterError::NotFound { .. } => 127,
    }
}
