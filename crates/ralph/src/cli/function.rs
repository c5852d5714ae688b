//! `ralph __function`: what the keeper starts where the agent is a function of a program that uses
//! ralph as a library.
#![expect(clippy::disallowed_methods, reason = "what it prints is the agent's output, byte by byte")]

use super::fail;
use super::format::Format;
use crate::error::CliError;
use crate::layout::RunDir;
use crate::library;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::ExitCode;

pub(super) fn main(args: &[OsString]) -> ExitCode {
    let [run_dir] = args else {
        return fail(&CliError::usage("this command is for internal use"), Format::Human);
    };
    match relay(&RunDir::at(run_dir.into())) {
        Ok(code) => ExitCode::from(code),
        Err(cause) => {
            let _ = writeln!(io::stderr(), "ralph: error: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn relay(run_dir: &RunDir) -> io::Result<u8> {
    let mut prompt = Vec::new();
    io::stdin().read_to_end(&mut prompt)?;
    let prompt = String::from_utf8_lossy(&prompt).into_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(library::relay(run_dir, prompt, &mut io::stdout(), &mut io::stderr()))
}
