//! A process that becomes another program.
#![expect(clippy::disallowed_methods, reason = "process/ is the one place that spawns")]

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Replaces this process by a program, which is looked up in `PATH` if it is a bare name. Environment,
/// directory and descriptors stay as they are. Returns only if that fails.
pub fn exec(program: &OsStr, args: &[OsString]) -> io::Error {
    Command::new(program).args(args).exec()
}
