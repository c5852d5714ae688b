//! `ralph ls`: the workers there are.

use super::{home, print_json};
use crate::error::CliError;
use crate::report::{Out, Style, fit_end, say};
use crate::seat::workers::{self, Worker};
use clap::{Args, ValueEnum};
use ralph_loop::text::printable;
use serde_json::Value;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph ls --format json | jq '.[] | select(.metadata.ralph == true)'")]
pub struct LsArgs {
    /// What to print
    #[arg(long, value_enum, default_value = "table", value_name = "FORMAT")]
    format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// A line for each worker
    Table,
    /// One array
    Json,
    /// Names only, one a line
    Names,
}

pub fn ls(args: &LsArgs) -> Result<ExitCode, CliError> {
    let (workers, problems) = workers::all(&home()?)?;
    for problem in problems {
        say(&format!("ralph: warning: {}", printable(&problem)));
    }
    match args.format {
        ListFormat::Json => print_json(&workers.iter().map(Worker::json).collect::<Vec<Value>>()),
        ListFormat::Names => {
            let mut out = Out::stdout();
            workers.iter().for_each(|worker| out.line(&worker.name));
            out.flush();
        }
        ListFormat::Table => print_table(&workers),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table(workers: &[Worker]) {
    let (mut out, width) = (Out::stdout(), Style::of_stdout().edge());
    if workers.is_empty() {
        out.line("No workers. `ralph spawn --help` shows how to start one.");
        return out.flush();
    }
    let longest = workers.iter().map(|worker| worker.name.len()).max().unwrap_or(0).max(4);
    out.line(&format!("{:<longest$} {:<26} {:>9} DIRECTORY", "NAME", "STATUS", "ITERATION"));
    for worker in workers {
        let of = format!("{}/{}", worker.state.current_iteration, worker.state.max_iterations);
        let status = if worker.is_abandoned() {
            format!("{}, loop is gone", worker.state.status.word())
        } else {
            worker.status_line()
        };
        let row = format!("{:<longest$} {status:<26} {of:>9} ", worker.name);
        let directory = printable(&worker.state.workspace.display().to_string()).into_owned();
        // The end of a path tells more than its beginning.
        let directory = fit_end(&directory, width.saturating_sub(row.chars().count()).max(16));
        out.line(format!("{row}{directory}").trim_end());
    }
    out.flush();
}
