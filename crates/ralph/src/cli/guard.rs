//! `ralph guard`: what the guard would say of a command, what it goes by, and what it has denied.

mod check;
mod list;
mod log;
mod rules;

use crate::error::CliError;
use clap::{Args, Subcommand};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
The guard denies dangerous tool calls of agents before they run: docs/guard.md. The settings `guard` say what it \
allows.

Examples:
  ralph guard check 'git push --force'
  ralph guard rules git
  ralph guard log")]
pub struct GuardArgs {
    #[command(subcommand)]
    command: GuardCommand,
}

#[derive(Subcommand)]
enum GuardCommand {
    /// Explain what the guard says of a command
    Check(check::CheckArgs),
    /// Print the rules
    Rules(rules::RulesArgs),
    /// Show what was denied and warned of
    Log(log::LogArgs),
}

pub fn guard(args: &GuardArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        GuardCommand::Check(args) => check::check(args),
        GuardCommand::Rules(args) => rules::rules(args),
        GuardCommand::Log(args) => log::log(args),
    }
}
