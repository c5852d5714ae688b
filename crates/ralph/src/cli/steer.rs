//! `ralph pause`, `kill`, `set`, `say`: asking something of a worker or a run.
//!
//! A loop that is there is asked over its socket and writes its journal itself. Where none is,
//! the command holds the run's lock for a moment and writes in its place.

use super::args::{ProjectArgs, TotalArgs};
use super::home;
use super::typing::type_into;
use crate::control::{Command, CommandResult, LONGEST_NOTE, Sender, TalkError, end_listener, talk};
use crate::engine::why_not;
use crate::error::CliError;
use crate::fsx;
use crate::layout::Home;
use crate::lock::RunLock;
use crate::report::{Out, changed, say};
use crate::session;
use crate::settings::{self, MOST};
use crate::target::{self, Target, find_or_here};
use crate::terminal::Want;
use crate::texts::Texts;
use crate::tmux::Tmux;
use crate::worker::record::Status;
use crate::worker::workers;
use clap::Args;
use ralph_loop::ask::{Ask, Changes};
use ralph_loop::done_pattern::DonePattern;
use ralph_loop::event::{Fact, StopReason};
use ralph_loop::text::printable;
use rustix::process::getpid;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
A paused run keeps its directory and its terminal; `ralph resume` continues it.

Examples:
  ralph pause                       # the run in this directory
  ralph pause night
  ralph pause 20261115-2215")]
pub struct PauseArgs {
    /// Worker names, run ids or id prefixes [default: the run in this directory]
    name: Vec<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args)]
#[command(after_help = "\
`ralph resume` runs the interrupted iteration again.

Examples:
  ralph kill                        # the run in this directory
  ralph kill night morning
  ralph kill --all")]
pub struct KillArgs {
    /// Worker names, run ids or id prefixes [default: the run in this directory]
    name: Vec<String>,
    /// Kill all running workers and runs, in all directories
    #[arg(long, conflicts_with_all = ["name", "project_dir"])]
    all: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  ralph set agent --max-iterations 200
  ralph set agent --prompt-file OTHER.md --done-pattern \"No remaining tasks\"
  ralph set agent --min-free-space 100

Changes apply from the next iteration, also to a worker or run that is not running now.")]
pub struct SetArgs {
    /// Worker name, run id or id prefix [default: the run in this directory]
    name: Option<String>,
    #[command(flatten)]
    totals: TotalArgs,
    /// Read the prompt from another file
    #[arg(short = 'f', long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Finish when a line the agent says matches this regular expression
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    done_pattern: Option<String>,
    /// Wait while less disk space than this is free; 0 means never
    #[arg(long, value_name = "MIB", value_parser = mebibytes)]
    min_free_space: Option<u64>,
    #[command(flatten)]
    project: ProjectArgs,
}

/// In bytes.
fn mebibytes(text: &str) -> Result<u64, String> {
    let number = text.parse::<f64>().ok().filter(|n| (0.0..=MOST as f64).contains(n));
    number.map(settings::mebibytes).ok_or_else(|| "expected a number of MiB, 0 or more".to_string())
}

#[derive(Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Examples:
  ralph say \"the tests need a running database\"   # to the run in this directory
  ralph say night \"leave the migrations alone\"
  ralph say night --now \"read the README first\"   # to an interactive agent"
)]
pub struct SayArgs {
    /// Worker name, run id or id prefix [default: the run in this directory]
    name: Option<String>,
    /// Text to add to the next prompt
    text: String,
    /// Type it into the terminal of the agent at work, instead of waiting for the next prompt
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

/// What came of asking.
pub(super) enum Came {
    Done,
    Already,
}

pub fn pause(args: &PauseArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    for target in named(&home, &args.name, &args.project)? {
        match pause_one(&home, &target)? {
            Came::Done => print(&format!("paused ralph loop for {}", target.name)),
            Came::Already => say(&format!("ralph: warning: {target} is already paused")),
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn pause_one(home: &Home, target: &Target) -> Result<Came, CliError> {
    if target.state.status == Status::Paused && !target.alive {
        return Ok(Came::Already);
    }
    if target.state.reason.is_some() {
        return Err(not_running(target));
    }
    let leave = [Fact::Asked(Ask::Leave), Fact::Stopped { reason: StopReason::Paused, note: None }];
    ask(home, target, &Command::Pause, &leave)
}

fn named(home: &Home, names: &[String], project: &ProjectArgs) -> Result<Vec<Target>, CliError> {
    match names {
        [] => Ok(vec![find_or_here(home, None, &project.dir()?)?]),
        names => Ok(names.iter().map(|name| target::find(home, name)).collect::<Result<_, _>>()?),
    }
}

pub fn kill(args: &KillArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    if args.all {
        return kill_all(&home);
    }
    named(&home, &args.name, &args.project)?.iter().try_for_each(|target| kill_one(&home, target))?;
    Ok(ExitCode::SUCCESS)
}

/// One that cannot be killed does not keep the others alive.
fn kill_all(home: &Home) -> Result<ExitCode, CliError> {
    refuse(home, None, "cannot kill all runs from here".to_string())?;
    let (mut targets, problems) = workers::all(home)?;
    for problem in problems {
        say(&format!("ralph: warning: {}", printable(&problem)));
    }
    targets.retain(|worker| worker.alive || worker.is_abandoned());
    targets.extend(target::in_terminals(home)?);
    if targets.is_empty() {
        print("Nothing is running.");
    }
    let killed: Vec<Result<(), CliError>> = targets.iter().map(|target| kill_one(home, target)).collect();
    killed.into_iter().collect::<Result<(), CliError>>()?;
    Ok(ExitCode::SUCCESS)
}

fn kill_one(home: &Home, target: &Target) -> Result<(), CliError> {
    match end_one(home, target)? {
        Came::Done => print(&format!("killed {}", target.name)),
        Came::Already => say(&format!("ralph: warning: {target} is not running")),
    }
    Ok(())
}

/// Ends it if there is something to end, and closes the window of a worker.
pub(super) fn end_one(home: &Home, target: &Target) -> Result<Came, CliError> {
    let goes_on = target.alive || target.is_abandoned() || target.state.reason.as_deref() == Some("paused");
    if goes_on {
        end(home, target)?;
    }
    if target.is_worker() {
        Tmux::of(home).close(&target.name);
    }
    Ok(if goes_on { Came::Done } else { Came::Already })
}

/// Ends a worker or a run; nothing of it is left when this returns.
pub(super) fn end(home: &Home, target: &Target) -> Result<(), CliError> {
    let killed = [Fact::Asked(Ask::Kill), Fact::Stopped { reason: StopReason::Killed, note: None }];
    ask(home, target, &Command::Kill, &killed)?;
    // Twice what it takes to kill a process tree together with its keeper.
    for _ in 0..8 {
        if RunLock::becomes_free(&target.run_dir) {
            return Ok(());
        }
    }
    Err(CliError::failed(format!("some processes of {target} are still running"))
        .hint("`ralph doctor` kills processes that runs left behind"))
}

pub fn set(args: &SetArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let target = find_or_here(&home, args.name.as_deref(), &args.project.dir()?)?;
    change(&home, &target, &changes(args)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Changes what a run may use up or works on, and says so.
pub(super) fn change(home: &Home, target: &Target, changes: &Changes) -> Result<(), CliError> {
    set_one(home, target, changes)?;
    for (what, value) in changed(changes) {
        print(&format!("set {what} of {} to {value}", target.name));
    }
    Ok(())
}

pub(super) fn set_one(home: &Home, target: &Target, changes: &Changes) -> Result<Came, CliError> {
    let waits = [Fact::Asked(Ask::Set(changes.clone()))];
    ask(home, target, &Command::Set(changes.clone()), &waits)
}

fn changes(args: &SetArgs) -> Result<Changes, CliError> {
    let SetArgs { totals, prompt_file, done_pattern, min_free_space, .. } = args;
    if let Some(pattern) = done_pattern {
        DonePattern::new(pattern)?;
    }
    let prompt_file = prompt_file.as_ref().map(|path| {
        let missing = |cause: std::io::Error| match cause.kind() {
            std::io::ErrorKind::NotFound => {
                CliError::usage(format!("prompt file not found: {}", path.display()))
            }
            _ => CliError::usage(format!("cannot read prompt file: {}", path.display())).cause(cause),
        };
        let found = path.canonicalize().map_err(missing)?;
        fsx::read_regular(&found).map_err(missing)?;
        Ok::<_, CliError>(found)
    });
    let changes = Changes {
        totals: totals.totals(),
        prompt_file: prompt_file.transpose()?,
        done_pattern: done_pattern.clone(),
        min_free: *min_free_space,
    };
    if changes.is_empty() {
        return Err(CliError::usage("nothing to set").hint("`ralph set --help` lists what can be set"));
    }
    Ok(changes)
}

pub fn say_to(args: &SayArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let target = find_or_here(&home, args.name.as_deref(), &args.project.dir()?)?;
    if args.now {
        let text = args.text.trim();
        if text.is_empty() {
            return Err(CliError::usage("the note is empty"));
        }
        type_into(&target, &Want::Paste { text: text.to_owned(), submit: true })?;
        print(&format!("typed into {}", target.name));
        return Ok(ExitCode::SUCCESS);
    }
    say_one(&home, &target, &args.text)?;
    print(&format!("added to the next prompt of {}", target.name));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn say_one(home: &Home, target: &Target, text: &str) -> Result<Came, CliError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(CliError::usage("the note is empty"));
    }
    if text.len() > LONGEST_NOTE {
        return Err(CliError::usage(format!("the note is longer than {LONGEST_NOTE} bytes"))
            .hint("put it in a file, and name the file in the note"));
    }
    refuse_agents(home, target)?;
    let hash = Texts::of(&target.run_dir).put_sealed(text);
    let hash = hash.map_err(|cause| CliError::failed("cannot save the note").cause(cause))?;
    let waits = [Fact::Asked(Ask::Say { text: hash })];
    ask(home, target, &Command::Say { text: text.to_string() }, &waits)
}

/// Asks the loop, or writes `instead` where there is none.
fn ask(home: &Home, target: &Target, command: &Command, instead: &[Fact]) -> Result<Came, CliError> {
    refuse_agents(home, target)?;
    let refused = |why: String| CliError::failed(format!("{target} refused")).cause(why);
    // A loop may come or go while it is asked.
    for _ in 0..2 {
        if RunLock::is_held(&target.run_dir) {
            match talk(&target.run_dir, command) {
                Ok(CommandResult::Done) => return Ok(Came::Done),
                Ok(CommandResult::Already) => return Ok(Came::Already),
                Ok(CommandResult::Refused { why }) => return Err(refused(why)),
                Err(TalkError::NotRunning) => {}
                // It does not answer, and it is to end anyway.
                Err(TalkError::Broken(_)) if *command == Command::Kill && end_listener(&target.run_dir) => {}
                Err(cause) => {
                    return Err(CliError::failed(format!("cannot reach {target}")).cause(cause));
                }
            }
        }
        if RunLock::becomes_free(&target.run_dir) {
            if let Command::Set(changes) = command
                && let Some(why) = why_not(&session::run_of(home, &target.run)?, changes)
            {
                return Err(refused(why));
            }
            session::write_in_its_place(home, &target.run, instead)?;
            target.write_files();
            return Ok(Came::Done);
        }
    }
    Err(CliError::failed(format!("{target} does not answer")).hint("try again in a moment"))
}

/// An error if an agent asks. A loop would refuse it by itself; a run that is not running has none.
pub(super) fn refuse_agents(home: &Home, target: &Target) -> Result<(), CliError> {
    refuse(home, Some(&target.run), format!("cannot control {target} from here"))
}

fn refuse(home: &Home, run: Option<&str>, message: String) -> Result<(), CliError> {
    let sender = Sender::of(getpid(), home, run);
    let why = sender.refusal(run.unwrap_or_default());
    let (Sender::Agent { run: around }, Some(why)) = (&sender, why) else { return Ok(()) };
    let hint = format!("this shell or program was started inside run {around}; use a terminal outside of it");
    Err(CliError::failed(message).cause(why).hint(hint))
}

fn not_running(target: &Target) -> CliError {
    CliError::failed(format!("{target} is not running: {}", target.status_line()))
}

fn print(line: &str) {
    let mut out = Out::stdout();
    out.line(line);
    out.flush();
}
