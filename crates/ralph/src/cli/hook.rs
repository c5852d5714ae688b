//! `ralph hook`: what agents call while they work.

use crate::error::CliError;
use crate::hook::{self, Hook, Whose};
use crate::report::{Out, say};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::io::{self, Read};
use std::process::ExitCode;

/// What an agent may say to a hook. A tool's whole result is part of it.
const INPUT_MAX: u64 = 64 << 20;

#[derive(Args)]
#[command(after_help = "\
ralph configures the agents it starts to call these hooks; you do not need to set them up. A hook reads \
the agent's JSON from standard input, and does nothing in sessions that ralph did not start.

Example:
  ralph hook context-monitor --always    # in the settings of your own agent")]
pub struct HookArgs {
    #[command(subcommand)]
    hook: HookCommand,
}

#[derive(Subcommand)]
enum HookCommand {
    /// Warn the agent when its context fills up
    #[command(after_help = "\
Example:
  ralph hook context-monitor < call.json")]
    ContextMonitor(WhoseArgs),
    /// Reset the warnings when a session starts
    #[command(after_help = "\
Example:
  ralph hook session-start < call.json")]
    SessionStart(WhoseArgs),
    /// Keep the agent from stopping until its task list is valid
    #[command(after_help = "\
Example:
  ralph hook stop < call.json")]
    Stop,
    /// Check the drafts after a turn of a planning conversation
    #[command(after_help = "\
Example:
  ralph hook plan-stop < call.json")]
    PlanStop,
}

#[derive(Args)]
struct WhoseArgs {
    /// Work in every session, not only in those that ralph started
    #[arg(long)]
    always: bool,
}

impl WhoseArgs {
    fn whose(&self) -> Whose {
        if self.always { Whose::Everybodys } else { Whose::Ours }
    }
}

pub fn hook(args: &HookArgs) -> Result<ExitCode, CliError> {
    let (hook, whose) = match &args.hook {
        HookCommand::ContextMonitor(args) => (Hook::ContextMonitor, args.whose()),
        HookCommand::SessionStart(args) => (Hook::SessionStart, args.whose()),
        HookCommand::Stop => (Hook::Stop, Whose::Ours),
        HookCommand::PlanStop => (Hook::PlanStop, Whose::Ours),
    };
    Ok(answer(hook, whose))
}

/// A hook runs after every tool call: the usual ones do not wait for the command line to be
/// parsed. Everything else after `ralph hook` is left to clap.
pub fn at_once(args: &[OsString]) -> Option<ExitCode> {
    let words: Vec<&str> = args.iter().map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let (hook, whose) = match &words[..] {
        ["context-monitor"] => (Hook::ContextMonitor, Whose::Ours),
        ["context-monitor", "--always"] => (Hook::ContextMonitor, Whose::Everybodys),
        ["session-start"] => (Hook::SessionStart, Whose::Ours),
        ["stop"] => (Hook::Stop, Whose::Ours),
        _ => return None,
    };
    Some(answer(hook, whose))
}

fn answer(hook: Hook, whose: Whose) -> ExitCode {
    // Read to its end even if nothing is done with it: the agent is writing it.
    let mut input = Vec::new();
    let input = match io::stdin().lock().take(INPUT_MAX + 1).read_to_end(&mut input) {
        Ok(_) if input.len() as u64 > INPUT_MAX => Err(format!("more than {INPUT_MAX} bytes")),
        Ok(_) => Ok(&input[..]),
        Err(cause) => Err(cause.to_string()),
    };
    let answer = hook::answer(hook, whose, input);
    for remark in &answer.remarks {
        say(&format!("ralph hook: {remark}"));
    }
    if let Some(output) = &answer.output {
        let mut out = Out::stdout();
        out.line(&output.to_string());
        out.flush();
    }
    if answer.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
