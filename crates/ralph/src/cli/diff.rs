//! `ralph diff`: what a run, or one iteration of it, has changed.

use super::args::{ProjectArgs, count};
use super::home;
use super::undo::how_to_restore;
use crate::catalog::find_or_newest;
use crate::error::{CliError, Code};
use crate::report::{Out, Style, say};
use crate::run_history::{RunHistory, TreeError};
use clap::Args;
use ralph_loop::text::printable;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Includes new files, whether git tracks them or not. Without ITERATION, shows everything since the run \
started.

Examples:
  ralph diff                        # the newest run in this directory
  ralph diff 20261115-2215          # that run
  ralph diff 20261115-2215 3        # its third iteration
  ralph diff 20261115-2215 --stat")]
pub struct DiffArgs {
    /// Worker name, run id or id prefix [default: the newest run in this directory]
    run: Option<String>,
    /// Show only this iteration
    #[arg(value_parser = count)]
    iteration: Option<u32>,
    /// Show only file names and line counts
    #[arg(long)]
    stat: bool,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn diff(args: &DiffArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let history =
        RunHistory::read(&home, &find_or_newest(&home, args.run.as_deref(), &args.project.dir()?)?)?;
    let shadow = history.shadow()?;
    let begun = history.last_begun();
    if let Some(iteration) = args.iteration.filter(|iteration| *iteration > begun) {
        return Err(CliError::failed(format!("run {} has no iteration {iteration}", history.run.id))
            .hint(format!("iterations so far: {begun}")));
    }
    let color = if Style::of_stdout().color { "--color=always" } else { "--no-color" };
    let flags: &[&str] = if args.stat { &[color, "--stat"] } else { &[color] };
    let bytes = history.diff(&shadow, args.iteration, flags, usize::MAX).map_err(|error| match error {
        TreeError::History(cause) => cause.into(),
        TreeError::Shadow(cause) => CliError::from_error(&cause, Code::Failed),
    })?;
    let mut out = Out::stdout();
    out.foreign(&bytes);
    out.flush();
    if !history.left_out.is_empty() {
        say(&format!("not in the checkpoints: {}", printable(&history.left_out.join(", "))));
    }
    if let Some(hint) = how_to_restore(&shadow, &history.run.id) {
        say(&hint);
    }
    Ok(ExitCode::SUCCESS)
}
