//! `ralph ls`: all workers.

use super::format::ListFormat;
use super::table::{Column, Shape, table};
use super::{home, print_list};
use crate::error::CliError;
use crate::report::{Out, Style, say};
use crate::target::Target;
use crate::worker::workers;
use clap::Args;
use ralph_loop::text::printable;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph ls --format json | jq '.[] | select(.metadata.ralph == true)'")]
pub struct LsArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: ListFormat,
}

pub fn ls(args: &LsArgs) -> Result<ExitCode, CliError> {
    let (workers, problems) = workers::all(&home()?)?;
    for problem in problems {
        say(&format!("ralph: warning: {}", printable(&problem)));
    }
    print_list(args.format, &workers, |worker| worker.name.clone(), || print_table(&workers));
    Ok(ExitCode::SUCCESS)
}

fn print_table(workers: &[Target]) {
    let mut out = Out::stdout();
    if workers.is_empty() {
        out.line("No workers. `ralph spawn --help` shows how to start one.");
        return out.flush();
    }
    rows(workers, Style::of_stdout().edge()).iter().for_each(|row| out.line(row));
    out.flush();
}

const COLUMNS: [Column; 5] = [
    Column { head: "NAME", shape: Shape::Left },
    Column { head: "PLAN", shape: Shape::Left },
    Column { head: "STATUS", shape: Shape::Left },
    Column { head: "ITERATION", shape: Shape::Right },
    Column { head: "DIRECTORY", shape: Shape::Path },
];

fn rows(workers: &[Target], width: usize) -> Vec<String> {
    let cells = |worker: &Target| {
        let state = &worker.state;
        let status = match worker.is_abandoned() {
            true => format!("{}, process is gone", state.status.word()),
            false => worker.status_line(),
        };
        [
            worker.name.clone(),
            printable(&state.plan).into_owned(),
            status,
            format!("{}/{}", state.current_iteration, state.max_iterations),
            printable(&state.workspace.display().to_string()).into_owned(),
        ]
    };
    table(&COLUMNS, &workers.iter().map(cells).collect::<Vec<_>>(), width)
}
