//! `ralph resume`: carry on with a run that did not end by itself.

use super::args::{OutputArgs, ProjectArgs};
use super::spawn::seat_worker;
use super::workers::show_window;
use super::{Stream, home, report_on};
use crate::catalog::{self, RunLine};
use crate::control::{Answer, Command, TalkError, talk};
use crate::error::CliError;
use crate::layout::Home;
use crate::lock::RunLock;
use crate::report::{Out, say};
use crate::seat;
use crate::seat::workers::{self, Worker};
use crate::session::{self, Conduct};
use clap::Args;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
The plan, the limits, the counters and the cost carry on; the iteration that was cut short is \
run again. Without RUN the newest one of this directory that can be resumed is taken.

Example:
  ralph resume 20261115-221503-4f2a")]
pub struct ResumeArgs {
    /// A worker's name, or a run's id or the beginning of it
    run: Option<String>,
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
    if let Some(name) = &args.run
        && seat::current().is_none()
        && let Some(worker) = workers::look_for(&home, name)?
    {
        return resume_worker(&home, &worker, args.share_workspace);
    }
    let id = match &args.run {
        Some(name) => catalog::find(&home, name)?,
        None => newest_resumable(&home, &args.project.dir()?)?,
    };
    let conduct = Conduct::of_program(args.share_workspace);
    report_on(&args.output, Stream::Shown, |reporter| session::resume(&home, &id, &conduct, reporter))
}

/// A loop that is paused goes on; one that is gone is started again from its journal.
fn resume_worker(home: &Home, worker: &Worker, share: bool) -> Result<ExitCode, CliError> {
    let name = &worker.name;
    let asked = worker.alive.then(|| talk(&worker.run_dir, &Command::Continue));
    match asked {
        Some(Ok(Answer::Done)) => {}
        Some(Ok(Answer::Already)) => {
            say(&format!("ralph: warning: worker '{name}' is not paused"));
            return Ok(ExitCode::SUCCESS);
        }
        Some(Ok(Answer::Refused { why })) => {
            return Err(CliError::failed(format!("worker '{name}' cannot be resumed")).cause(why));
        }
        Some(Err(TalkError::Broken(cause))) => {
            return Err(CliError::failed(format!("cannot reach worker '{name}'")).cause(cause));
        }
        // Its keeper may still be sweeping up; the new life waits for that.
        Some(Err(TalkError::Nobody)) | None => {
            let mut words = ["resume", &worker.run].map(OsString::from).to_vec();
            if share || worker.share_workspace {
                words.push("--share-workspace".into());
            }
            if let Err(code) = seat_worker(name, &words)? {
                return Ok(code);
            }
        }
    }
    show_window(home, name);
    let mut out = Out::stdout();
    out.line(&format!("resumed ralph loop for {name}"));
    out.flush();
    Ok(ExitCode::SUCCESS)
}

fn newest_resumable(home: &Home, dir: &Path) -> Result<String, CliError> {
    let here = |line: &RunLine| line.is_of(dir);
    let mut lines = catalog::all(home)?;
    // The newest may have been killed a moment ago: then its tree is still being swept up.
    if let Some(newest) = lines.iter().find(|line| here(line))
        && newest.alive
        && RunLock::becomes_free(&home.run(&newest.id))
    {
        lines = catalog::all(home)?;
    }
    lines.into_iter().find(|line| line.resumable && here(line)).map(|line| line.id).ok_or_else(|| {
        CliError::failed(format!("no run to resume in this directory: {}", dir.display()))
            .hint("`ralph runs` lists all of them")
    })
}
