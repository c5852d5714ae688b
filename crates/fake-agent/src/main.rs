//! The scripted agent as a program of its own, for tests.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    fake_agent::main(&args)
}
