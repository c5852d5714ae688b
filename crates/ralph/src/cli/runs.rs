//! `ralph runs`: what has run, newest first.

use super::format::ListFormat;
use super::table::{Column, Shape, table};
use super::{home, print_list};
use crate::catalog::{self, RunLine};
use crate::error::CliError;
use crate::report::{Out, Style};
use clap::Args;
use ralph_loop::text::printable;
use ralph_loop::time::span;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
PLAN is what the run works through: a prompt, stories or tasks. STATUS is how it ended (completed, \
max_iterations, interrupted …), running, or crashed: its process died, and `ralph resume` continues it. \
DONE counts iterations.

Example:
  ralph runs --format json | jq '.[0].id'")]
pub struct RunsArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: ListFormat,
}

pub fn runs(args: &RunsArgs) -> Result<ExitCode, CliError> {
    let lines = catalog::all(&home()?)?;
    print_list(args.format, &lines, |line| line.id.clone(), || print_table(&lines));
    Ok(ExitCode::SUCCESS)
}

fn print_table(lines: &[RunLine]) {
    let mut out = Out::stdout();
    if lines.is_empty() {
        out.line("No runs yet. `ralph demo` shows one.");
        return out.flush();
    }
    let rows = rows(lines, Style::of_stdout().edge());
    let problems = lines.iter().map(|line| line.problem.as_deref());
    for (row, problem) in rows.iter().zip(std::iter::once(None).chain(problems)) {
        out.line(row);
        if let Some(problem) = problem {
            out.text(&format!("  {}", printable(problem)));
        }
    }
    out.flush();
}

const COLUMNS: [Column; 7] = [
    Column { head: "RUN", shape: Shape::Left },
    Column { head: "PLAN", shape: Shape::Left },
    Column { head: "STATUS", shape: Shape::Left },
    Column { head: "DONE", shape: Shape::Right },
    Column { head: "COST", shape: Shape::Right },
    Column { head: "TIME", shape: Shape::Right },
    Column { head: "DIRECTORY", shape: Shape::Path },
];

fn rows(lines: &[RunLine], width: usize) -> Vec<String> {
    let cells = |line: &RunLine| {
        let workspace = line.workspace.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        [
            line.id.clone(),
            line.plan.clone().unwrap_or_else(|| "-".to_string()),
            line.status.clone(),
            format!("{}/{}", line.iterations, line.max_iterations),
            line.cost.to_string(),
            span((line.duration * 1000.0) as u64),
            printable(&workspace).into_owned(),
        ]
    };
    table(&COLUMNS, &lines.iter().map(cells).collect::<Vec<_>>(), width)
}
