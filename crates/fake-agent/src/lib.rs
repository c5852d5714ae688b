//! A scripted stand-in for a coding agent.
//!
//! It plays a coding agent from the outside: it takes a prompt on stdin, prints text or
//! events, changes files, leaves processes behind, and ends in every way a real one
//! does. A JSON file says what happens in which run; [`script`] explains it. The same
//! code is the hidden subcommand [`SUBCOMMAND`] of ralph and the program `fake-agent`.
//!
//! Everything ends by itself: no hang and no leftover lasts forever.
//!
//! Deliberately absent: any knowledge of ralph beyond the variable `RALPH_ITERATION`,
//! and any thinking. A script that needs conditions is two scripts.

#![expect(
    clippy::disallowed_methods,
    reason = "the scripted agent plays an outside program: it spawns, writes and prints by design"
)]

mod counter;
mod events;
mod failure;
mod files;
mod flood;
mod linger;
mod placeholders;
mod play;
mod prompt;
pub mod script;
mod signals;
mod voice;

use failure::Failure;
use std::ffi::OsString;
use std::process::ExitCode;

/// The name under which ralph offers this agent: `ralph __agent SCRIPT [ARGS…]`.
pub const SUBCOMMAND: &str = "__agent";

/// Plays the script that the first argument names.
///
/// `args` are those after the program and subcommand names. All but the first are free:
/// a prompt or an agent's flags may stand there, and only `save_args` looks at them.
///
/// Exit codes of its own: 64 for a script that cannot be used, 70 for a script that has
/// no entry for this run, 74 for an action that failed. A reader that closes the pipe
/// early is no failure: the agent ends quietly with 0.
pub fn main(args: &[OsString]) -> ExitCode {
    let ended = match args.split_first() {
        None => Err(Failure::NoScript),
        Some((role, task)) if role == linger::ROLE => linger::linger(task),
        Some((script, free)) => play::play(script.as_ref(), free),
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(),
    }
}
