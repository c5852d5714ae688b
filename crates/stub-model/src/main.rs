//! `stub-model SCENARIO.json [--log FILE]`: prints its address and answers until it is ended.

#![expect(clippy::disallowed_macros, reason = "a program of its own for tests: it prints its address")]

use std::path::PathBuf;
use std::process::ExitCode;
use stub_model::{Scenario, Server};

const USAGE: &str = "usage: stub-model SCENARIO.json [--log FILE]";

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("stub-model: error: {message}");
            ExitCode::from(2)
        }
    }
}

fn serve() -> Result<(), String> {
    let (scenario, log) = arguments()?;
    let scenario = Scenario::load(&scenario).map_err(|error| error.to_string())?;
    let server = match log {
        Some(file) => Server::start_with_log(scenario, &file),
        None => Server::start(scenario),
    };
    let server = server.map_err(|error| format!("cannot listen: {error}"))?;
    println!("{}", server.url());
    server.serve_forever();
    Ok(())
}

fn arguments() -> Result<(PathBuf, Option<PathBuf>), String> {
    let (mut scenario, mut log) = (None, None);
    let mut args = std::env::args_os().skip(1);
    while let Some(arg) = args.next() {
        if arg == "--log" {
            log = Some(PathBuf::from(args.next().ok_or(USAGE)?));
        } else if scenario.is_none() && !arg.to_string_lossy().starts_with('-') {
            scenario = Some(PathBuf::from(arg));
        } else {
            return Err(USAGE.into());
        }
    }
    Ok((scenario.ok_or(USAGE)?, log))
}
