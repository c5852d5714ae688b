//! `ralph resume`: carry on with a run that did not end by itself.

use super::args::{OutputArgs, ProjectArgs, dollars, duration};
use super::spawn::seat_worker;
use super::steer::change;
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
use ralph_loop::ask::Changes;
use ralph_loop::money::Usd;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
The plan, limits, counters and cost carry over; an iteration that was cut short runs again. \
A run that reached a limit needs a higher one: the numbers are new totals for the whole run. \
Without RUN, resumes the newest run of this directory that can be resumed.

Examples:
  ralph resume
  ralph resume -n 20                        # 20 iterations in all, not 20 more
  ralph resume --max-cost 30 --max-time 12h 20261115-221503-4f2a")]
pub struct ResumeArgs {
    /// A worker's name, or a run's id or the beginning of it
    run: Option<String>,
    /// Allow this many iterations in all
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,
    /// Allow this much money in all
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Usd>,
    /// Allow this much time in all
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_time: Option<u64>,
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
        return resume_worker(&home, &worker, args);
    }
    let changes = args.changes();
    let id = match &args.run {
        Some(name) => catalog::find(&home, name)?,
        None => newest_resumable(&home, &args.project.dir()?, &changes)?,
    };
    let conduct = Conduct::of_program(args.share_workspace);
    report_on(&args.output, Stream::Shown, |reporter| {
        session::resume(&home, &id, &changes, &conduct, reporter)
    })
}

impl ResumeArgs {
    fn changes(&self) -> Changes {
        let ResumeArgs { max_iterations, max_cost, max_time, .. } = self;
        Changes {
            max_iterations: *max_iterations,
            max_cost: *max_cost,
            max_time_ms: *max_time,
            ..Changes::default()
        }
    }

    /// The same as flags, for another ralph.
    fn limit_flags(&self) -> Vec<OsString> {
        let iterations = self.max_iterations.map(|most| format!("--max-iterations={most}"));
        let cost = self.max_cost.map(|most| format!("--max-cost={}", most.dollars()));
        let time = self.max_time.map(|most| format!("--max-time={}", most as f64 / 1000.0));
        [iterations, cost, time].into_iter().flatten().map(OsString::from).collect()
    }
}

/// A loop that is paused goes on; one that is gone is started again from its journal.
fn resume_worker(home: &Home, worker: &Worker, args: &ResumeArgs) -> Result<ExitCode, CliError> {
    let name = &worker.name;
    if worker.alive && !args.changes().is_empty() {
        change(home, worker, &args.changes())?;
    }
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
            if args.share_workspace || worker.share_workspace {
                words.push("--share-workspace".into());
            }
            words.extend(args.limit_flags());
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
        Some(RunLine { id, status, .. }) => format!(
            "run {id} reached a limit ({status}); raise it with -n, --max-cost or --max-time: \
             ralph resume -n N {id}"
        ),
        None => "`ralph runs` lists all runs".to_string(),
    };
    Err(CliError::failed(format!("no run to resume in this directory: {}", dir.display())).hint(hint))
}
