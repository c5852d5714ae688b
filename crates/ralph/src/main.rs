//! The program: parses, dispatches, exits.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph::cli::main()
}
