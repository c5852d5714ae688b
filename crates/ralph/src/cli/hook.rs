//! `ralph hook`: what agents call while they work.

use crate::error::CliError;
use crate::hook::{self, AnswerCodes, GuardBy, Hook, HookAnswer, HookExit, USUAL_CODES, Whose};
use crate::report::{Out, say, say_panic};
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::io::{self, Read};
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

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
    /// Deny dangerous tool calls
    #[command(after_help = "\
Called before a tool runs. Exits with 2 if it may not run, and says on standard error why and what to do instead. A \
call that cannot be judged is denied: docs/guard.md.

Examples:
  ralph hook guard --always < call.json
  ralph guard check 'git push --force'    # the same, explained")]
    Guard(GuardArgs),
    /// Tell ralph what an agent on a terminal does
    #[command(after_help = "\
Example:
  ralph hook turn < call.json")]
    Turn,
    /// Check the drafts after a turn of a planning conversation
    #[command(after_help = "\
Example:
  ralph hook plan-stop < call.json")]
    PlanStop,
}

#[derive(Args)]
struct GuardArgs {
    #[command(flatten)]
    whose: WhoseArgs,
    /// Go by the policy of a run, as ralph has written it; exits with 10 if the tool may run, and with 12 if not
    #[arg(long, value_name = "FILE", conflicts_with = "always")]
    policy: Option<PathBuf>,
}

impl GuardArgs {
    fn by(&self) -> GuardBy {
        match &self.policy {
            Some(file) => GuardBy::Policy(file.clone()),
            None => GuardBy::Session(self.whose.whose()),
        }
    }
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

pub fn hook(args: &HookArgs, exit: Exit) -> Result<ExitCode, CliError> {
    let (hook, whose) = match &args.hook {
        HookCommand::Guard(args) => return Ok(answer_guard(&args.by(), exit)),
        HookCommand::ContextMonitor(args) => (Hook::ContextMonitor, args.whose()),
        HookCommand::SessionStart(args) => (Hook::SessionStart, args.whose()),
        HookCommand::Stop => (Hook::Stop, Whose::Ours),
        HookCommand::Turn => (Hook::Turn, Whose::Ours),
        HookCommand::PlanStop => (Hook::PlanStop, Whose::Ours),
    };
    Ok(answer(hook, whose))
}

/// A hook runs after every tool call: the usual ones do not wait for the command line to be
/// parsed. Everything else after `ralph hook` is left to clap.
pub fn at_once(args: &[OsString], exit: Exit) -> Option<ExitCode> {
    let words: Vec<&str> = args.iter().map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let (hook, whose) = match &words[..] {
        ["context-monitor"] => (Hook::ContextMonitor, Whose::Ours),
        ["context-monitor", "--always"] => (Hook::ContextMonitor, Whose::Everybodys),
        ["session-start"] => (Hook::SessionStart, Whose::Ours),
        ["stop"] => (Hook::Stop, Whose::Ours),
        ["turn"] => (Hook::Turn, Whose::Ours),
        ["guard", "--policy", file] => return Some(answer_guard(&GuardBy::Policy(file.into()), exit)),
        ["guard", "--always"] => return Some(answer_guard(&GuardBy::Session(Whose::Everybodys), exit)),
        ["guard"] => return Some(answer_guard(&GuardBy::Session(Whose::Ours), exit)),
        _ => return None,
    };
    Some(answer(hook, whose))
}

fn answer(hook: Hook, whose: Whose) -> ExitCode {
    let mut input = Vec::new();
    let input = read(&mut input);
    let answer = hook::answer(hook, whose, input);
    print(&answer, USUAL_CODES)
}

/// What the agent says. Read to its end even if nothing is done with it: the agent is writing it.
fn read(input: &mut Vec<u8>) -> Result<&[u8], String> {
    match io::stdin().lock().take(INPUT_MAX + 1).read_to_end(input) {
        Ok(_) if input.len() as u64 > INPUT_MAX => Err(format!("more than {INPUT_MAX} bytes")),
        Ok(_) => Ok(&input[..]),
        Err(cause) => Err(cause.to_string()),
    }
}

fn print(answer: &HookAnswer, codes: AnswerCodes) -> ExitCode {
    for remark in &answer.remarks {
        say(&format!("ralph hook: {remark}"));
    }
    if let Some(output) = &answer.output {
        let mut out = Out::stdout();
        out.line(&output.to_string());
        out.flush();
    }
    match answer.exit {
        HookExit::Done => ExitCode::from(codes.done),
        HookExit::Failed => ExitCode::FAILURE,
        HookExit::Denied => ExitCode::from(codes.denied),
    }
}

/// How the program can be ended from another thread. Only `main` has it.
pub type Exit = fn(i32) -> !;

/// Agents wait longer than this for a hook, and then run the tool.
const GUARD_PATIENCE: Duration = Duration::from_secs(8);

/// A guard that fails denies, whatever it fails of.
fn answer_guard(by: &GuardBy, exit: Exit) -> ExitCode {
    let codes = by.codes();
    let by_panic = by.clone();
    panic::set_hook(Box::new(move |panic| {
        say_panic(&panic.to_string());
        print(&hook::guard_failed(&by_panic, "internal error"), codes);
        exit(i32::from(codes.denied));
    }));
    let (sender, receiver) = mpsc::channel();
    let by_thread = by.clone();
    let judge = move || {
        let mut input = Vec::new();
        // Nothing is lost if it is no longer waited for.
        let _ = sender.send(hook::guard(&by_thread, read(&mut input)));
    };
    let answer = match thread::Builder::new().spawn(judge) {
        Ok(_) => receiver.recv_timeout(GUARD_PATIENCE).unwrap_or_else(|_| {
            hook::guard_failed(by, &format!("no answer within {} seconds", GUARD_PATIENCE.as_secs()))
        }),
        Err(cause) => hook::guard_failed(by, &cause.to_string()),
    };
    print(&answer, codes)
}
