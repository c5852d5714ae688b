//! `ralph runs`: what has run, newest first.

use super::args::ProjectArgs;
use super::format::ListFormat;
use super::table::{Column, Shape, table};
use super::{home, print_list};
use crate::catalog::{self, RunLine};
use crate::error::CliError;
use crate::layout::Home;
use crate::report::{Out, Style, ViewJson, assignment, up_now};
use clap::Args;
use jiff::Zoned;
use ralph_loop::text::{one_line, printable};
use ralph_loop::time::span;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
PLAN is what the run works through: a prompt, stories or tasks. STATUS is how it ended (completed, \
max_iterations, interrupted …), running, or crashed: its process died, and `ralph resume` continues it. \
DONE counts the stories of the plan, or the iterations of a prompt. A narrow terminal shows fewer columns; a pipe gets all of them. `ralph schema view` \
describes the field `view` of the JSON.

Example:
  ralph runs --format json | jq '.[0].view.asked'")]
pub struct RunsArgs {
    /// Only runs of this project
    #[arg(long)]
    here: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: ListFormat,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn runs(args: &RunsArgs) -> Result<ExitCode, CliError> {
    let (home, now) = (home()?, Zoned::now());
    let lines = match args.here {
        true => catalog::of_project(&home, &args.project.dir()?)?,
        false => catalog::all(&home)?,
    };
    if args.format == ListFormat::Human {
        print_table(&home, &lines);
        return Ok(ExitCode::SUCCESS);
    }
    let mut shown = Vec::new();
    for line in &lines {
        let run_dir = home.run(&line.id);
        let view = line.view.as_ref().map(|view| ViewJson::of(view, &run_dir, line.is_alive(), &now));
        shown.push(Shown { line, view });
    }
    print_list(args.format, &shown, |shown| shown.line.id.clone(), || {});
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Shown<'r> {
    #[serde(flatten)]
    line: &'r RunLine,
    view: Option<ViewJson<'r>>,
}

fn print_table(home: &Home, lines: &[RunLine]) {
    let mut out = Out::stdout();
    if lines.is_empty() {
        out.line("No runs yet. `ralph demo` shows one.");
        return out.flush();
    }
    let rows = rows(home, lines, Style::table_edge());
    let problems = lines.iter().map(|line| line.problem.as_deref());
    for (row, problem) in rows.iter().zip(std::iter::once(None).chain(problems)) {
        out.line(row);
        if let Some(problem) = problem {
            out.text(&format!("  {}", printable(problem)));
        }
    }
    out.flush();
}

const COLUMNS: [Column; 8] = [
    Column { head: "RUN", shape: Shape::Left, worth: 9 },
    Column { head: "PLAN", shape: Shape::Left, worth: 1 },
    Column { head: "STATUS", shape: Shape::Left, worth: 8 },
    Column { head: "ASKED", shape: Shape::Title, worth: 7 },
    Column { head: "DONE", shape: Shape::Right, worth: 6 },
    Column { head: "COST", shape: Shape::Right, worth: 4 },
    Column { head: "TIME", shape: Shape::Right, worth: 5 },
    Column { head: "DIRECTORY", shape: Shape::Path, worth: 3 },
];

fn rows(home: &Home, lines: &[RunLine], width: usize) -> Vec<String> {
    let now = Zoned::now();
    let cells = |line: &RunLine| {
        let view = line.view.as_deref();
        let workspace = line.workspace.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        let up_ms = view.map_or(0, |view| if line.is_alive() { up_now(view, &now) } else { view.up_ms });
        [
            line.id.clone(),
            line.plan.clone().unwrap_or_else(|| "-".to_string()),
            line.status.clone(),
            view.map(|view| assignment(&view.assignment, &home.run(&line.id))).unwrap_or_default(),
            match view.and_then(|view| view.progress) {
                Some(progress) => format!("{}/{}", progress.done, progress.of),
                None => format!("{}/{}", line.iterations, line.max_iterations),
            },
            line.cost.to_string(),
            span(up_ms),
            one_line(&workspace),
        ]
    };
    table(&COLUMNS, &lines.iter().map(cells).collect::<Vec<_>>(), width)
}
