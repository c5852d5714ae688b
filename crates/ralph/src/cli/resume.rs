//! `ralph resume`: continue a run that is paused, or carry on with one that did not end by itself.

use super::advice::ALL_RUNS;
use super::args::{OutputArgs, ProjectArgs, TotalArgs};
use super::spawn::seat_worker;
use super::steer::{change, refuse_agents};
use super::typing::type_into;
use super::workers::show_window;
use super::{Stream, code, home, report_on};
use crate::catalog::{self, RunLine};
use crate::control::{Command, CommandResult, TalkError, talk};
use crate::error::CliError;
use crate::layout::Home;
use crate::lock::{LockError, RunLock};
use crate::report::{Out, awaited_words, say};
use crate::session::{self, SessionOptions};
use crate::target::{self, Kind, Target};
use crate::terminal::Want;
use crate::worker;
use crate::worker::record::Status;
use crate::worker::workers;
use clap::Args;
use ralph_loop::ask::Changes;
use ralph_loop::dialect::{Awaited, NeedsPerson};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
The plan, limits, counters and cost carry over; an interrupted iteration runs again. \
A run that reached a limit needs a higher one: the values are new totals for the whole run. \
Without RUN, continues the paused run in this directory; if there is none, the newest run there that \
can be resumed. An interactive agent that you interrupted with Esc is told to continue.

Examples:
  ralph resume
  ralph resume -n 20                # 20 iterations in total, not 20 more
  ralph resume --max-cost 30 --max-time 12h 20261115-221503-4f2a")]
#[command(mut_arg("max_iterations", |arg| arg.help("Allow this many iterations in total")))]
#[command(mut_arg("max_cost", |arg| arg.help("Allow this much cost in total")))]
#[command(mut_arg("max_time", |arg| arg.help("Allow this much time in total")))]
pub struct ResumeArgs {
    /// Worker name, run id or id prefix
    run: Option<String>,
    #[command(flatten)]
    totals: TotalArgs,
    /// Allow other runs in the same directory
    #[arg(long)]
    share_workspace: bool,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn resume(args: &ResumeArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    if worker::current().is_none()
        && let Some(target) = live_or_worker(&home, args)?
        && let Some(code) = continue_it(&home, &target, args)?
    {
        return Ok(code);
    }
    let changes = args.changes();
    let id = match &args.run {
        Some(name) => catalog::find(&home, name)?,
        None => newest_resumable(&home, &args.project.dir()?, &changes)?,
    };
    let options = SessionOptions::of_program(args.share_workspace);
    let ended = report_on(&args.output, Stream::Shown, |reporter| {
        session::resume(&home, &id, &changes, &options, reporter)
    })?;
    Ok(code(&ended))
}

impl ResumeArgs {
    fn changes(&self) -> Changes {
        Changes { totals: self.totals.totals(), ..Changes::default() }
    }
}

/// The worker that is named, or a run whose loop is there to be talked to. Without a name, one that
/// is paused here.
fn live_or_worker(home: &Home, args: &ResumeArgs) -> Result<Option<Target>, CliError> {
    let Some(name) = &args.run else {
        let mut here = target::here(home, &args.project.dir()?)?;
        here.retain(|target| matches!(target.state.status, Status::Paused | Status::Waiting));
        return Ok(target::only(here)?);
    };
    if let Some(worker) = workers::look_for(home, name)? {
        return Ok(Some(worker));
    }
    let target = target::of_run(home, &catalog::find(home, name)?);
    // What is wrong with its record is reported when it is replayed.
    Ok(target.ok().filter(|target| target.alive))
}

/// A loop that is paused goes on, and a worker that is gone is started again from its journal.
/// Nothing for a run whose loop is gone: it is resumed in this terminal.
fn continue_it(home: &Home, target: &Target, args: &ResumeArgs) -> Result<Option<ExitCode>, CliError> {
    refuse_agents(home, target)?;
    let name = &target.name;
    if target.alive && !args.changes().is_empty() {
        change(home, target, &args.changes())?;
    }
    let asked = target.alive.then(|| talk(&target.run_dir, &Command::Continue));
    if let (Some(Ok(CommandResult::Already)), Some(awaited)) = (&asked, target.waits_for_person()) {
        return continue_agent(target, awaited).map(Some);
    }
    match (asked, &target.kind) {
        (Some(Ok(CommandResult::Done)), _) => {}
        (Some(Ok(CommandResult::Already)), Kind::Worker { .. }) => {
            say(&format!("ralph: warning: {target} is not paused"));
            return Ok(Some(ExitCode::SUCCESS));
        }
        (Some(Ok(CommandResult::Already)), Kind::Terminal) => {
            return Err(LockError::RunAlive { run: target.run.clone() }.into());
        }
        (Some(Ok(CommandResult::Refused { why })), _) => {
            return Err(CliError::failed(format!("{target} cannot be resumed")).cause(why));
        }
        (Some(Err(TalkError::Broken(cause))), _) => {
            return Err(CliError::failed(format!("cannot reach {target}")).cause(cause));
        }
        // Its keeper may still be sweeping up; the new life waits for that.
        (Some(Err(TalkError::NotRunning)) | None, Kind::Worker { share_workspace, .. }) => {
            let mut words = ["resume", &target.run].map(OsString::from).to_vec();
            if args.share_workspace || *share_workspace {
                words.push("--share-workspace".into());
            }
            words.extend(args.totals.totals().flags().map(OsString::from));
            if let Err(code) = seat_worker(name, &words)? {
                return Ok(Some(code));
            }
        }
        (Some(Err(TalkError::NotRunning)) | None, Kind::Terminal) => return Ok(None),
    }
    if target.is_worker() {
        show_window(home, name);
    }
    let mut out = Out::stdout();
    out.line(&format!("resumed ralph loop for {name}"));
    out.flush();
    Ok(Some(ExitCode::SUCCESS))
}

/// What an agent that was interrupted is told.
const CONTINUE: &str = "Continue.";

/// An agent that a person has interrupted is told to go on. One that needs something else is not.
fn continue_agent(target: &Target, awaited: &Awaited) -> Result<ExitCode, CliError> {
    let name = &target.name;
    let waits = || CliError::failed(format!("{target} is waiting for you: {}", awaited_words(awaited)));
    match awaited.why {
        Some(NeedsPerson::Interrupted | NeedsPerson::Idle) => {
            type_into(target, &Want::Paste { text: CONTINUE.to_string(), submit: true })?;
            let mut out = Out::stdout();
            out.line(&format!("typed \"{CONTINUE}\" into the terminal of {name}"));
            out.flush();
            Ok(ExitCode::SUCCESS)
        }
        Some(NeedsPerson::Permission) => {
            Err(waits().hint(format!("ralph answer {name} yes, or ralph answer {name} no")))
        }
        Some(NeedsPerson::Question) => Err(waits().hint(format!("ralph answer {name} TEXT"))),
        Some(NeedsPerson::NotReady) | None if target.is_worker() => {
            Err(waits().hint(format!("look at its terminal: ralph attach {name}")))
        }
        Some(NeedsPerson::NotReady) | None => Err(waits().hint("look at the terminal that it runs in")),
    }
}

fn newest_resumable(home: &Home, dir: &Path, changes: &Changes) -> Result<String, CliError> {
    let here = |line: &RunLine| line.is_of(dir);
    let mut lines = catalog::all(home)?;
    // The newest may have been killed a moment ago: then its tree is still being swept up.
    if let Some(newest) = lines.iter().find(|line| here(line))
        && newest.alive
        && RunLock::becomes_free(&home.run(&newest.id))
    {
        lines = catalog::all(home)?;
    }
    let fits = |line: &&RunLine| line.resumable || (line.limit_reached && !changes.is_empty());
    if let Some(line) = lines.iter().filter(|line| here(line)).find(fits) {
        return Ok(line.id.clone());
    }
    let limited = lines.iter().find(|line| here(line) && line.limit_reached);
    let hint = match limited {
        Some(RunLine { id, status, .. }) => {
            let command = session::resume_command(home, id)?;
            let command = command.unwrap_or_else(|| format!("ralph resume {id}"));
            format!("run {id} reached a limit ({status}); raise it: {command}")
        }
        None => ALL_RUNS.to_string(),
    };
    Err(CliError::failed(format!("no run to resume in this directory: {}", dir.display())).hint(hint))
}
