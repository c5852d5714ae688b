//! The program: parses, dispatches, exits.
#![expect(clippy::disallowed_methods, reason = "main is the one place that exits")]

use std::process::{self, ExitCode};

fn main() -> ExitCode {
    ralph::cli::main(process::exit)
}
