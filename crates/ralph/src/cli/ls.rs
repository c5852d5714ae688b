//! `ralph ls`: every live run, and all workers.

use super::args::ProjectArgs;
use super::format::ListFormat;
use super::{home, print_list, run_table};
use crate::catalog::project_of;
use crate::error::CliError;
use crate::report::{Out, Style, say};
use crate::target::{self, Target};
use clap::Args;
use jiff::Zoned;
use ralph_loop::text::printable;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Lists the live runs of all projects, workers or not, and then the workers that have ended. A narrow terminal shows \
fewer columns; a pipe gets all of them. `ralph schema view` describes the field `view` of the JSON.

Examples:
  ralph ls --here                   # only this project
  ralph ls --format json | jq '.[] | select(.view.alive) | .view.now'")]
pub struct LsArgs {
    /// Only runs and workers of this project
    #[arg(long)]
    here: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: ListFormat,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn ls(args: &LsArgs) -> Result<ExitCode, CliError> {
    let (mut targets, problems) = target::all(&home()?)?;
    for problem in problems {
        say(&format!("ralph: warning: {}", printable(&problem)));
    }
    if args.here || args.project.project_dir.is_some() {
        let dir = args.project.dir()?;
        let here = project_of(&dir);
        targets.retain(|target| {
            [target.origin(), &target.state.workspace].iter().any(|dir| project_of(dir) == here)
        });
    }
    print_list(args.format, &targets, |target| target.name.clone(), || print_table(&targets));
    Ok(ExitCode::SUCCESS)
}

fn print_table(targets: &[Target]) {
    let mut out = Out::stdout();
    if targets.is_empty() {
        out.line(run_table::NONE);
        return out.flush();
    }
    run_table::lines(targets, &Zoned::now(), Style::table_edge()).iter().for_each(|line| out.line(line));
    out.flush();
}
