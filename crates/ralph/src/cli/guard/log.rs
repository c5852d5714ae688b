//! `ralph guard log`: what was denied and warned of.

use crate::catalog::{self, find_or_newest};
use crate::cli::args::ProjectArgs;
use crate::cli::format::{Format, Shape};
use crate::cli::{home, print_json, print_lines};
use crate::error::CliError;
use crate::guard::{self, Entry};
use crate::layout::Home;
use crate::report::Out;
use clap::Args;
use ralph_loop::text::{counted, one_line};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
What is allowed is not logged.

Examples:
  ralph guard log                   # the newest run in this directory
  ralph guard log --all             # all runs, and your own sessions
  ralph guard log --format json | jq -r '.[].command'")]
pub struct LogArgs {
    /// Worker name, run id or id prefix [default: the newest run in this directory]
    run: Option<String>,
    /// Show all runs, and the sessions that ralph did not start
    #[arg(long, conflicts_with = "run")]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    project: ProjectArgs,
}

/// An entry and where it comes from.
#[derive(Serialize)]
struct Line {
    /// None in a session that ralph did not start.
    run: Option<String>,
    #[serde(flatten)]
    entry: Entry,
}

pub fn log(args: &LogArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let mut lines = match args.all {
        true => of_all(&home)?,
        false => {
            let run = find_or_newest(&home, args.run.as_deref(), &args.project.dir()?)?;
            of_run(&home, &run)?
        }
    };
    lines.sort_by(|a, b| a.entry.at.cmp(&b.entry.at));
    match args.format.shape() {
        Shape::Text => print(&lines),
        Shape::Value => print_json(&lines),
        Shape::Lines => print_lines(&lines),
    }
    Ok(ExitCode::SUCCESS)
}

fn of_all(home: &Home) -> Result<Vec<Line>, CliError> {
    let mut lines = read(&home.guard_log(), None)?;
    for run in catalog::all(home)? {
        lines.extend(of_run(home, &run.id)?);
    }
    Ok(lines)
}

fn of_run(home: &Home, run: &str) -> Result<Vec<Line>, CliError> {
    read(&home.run(run).guard_log(), Some(run))
}

fn read(log: &Path, run: Option<&str>) -> Result<Vec<Line>, CliError> {
    let entries = guard::read(log).map_err(|cause| {
        CliError::failed(format!("cannot read the log of the guard: {}", log.display())).cause(cause)
    })?;
    Ok(entries.into_iter().map(|entry| Line { run: run.map(str::to_owned), entry }).collect())
}

fn print(lines: &[Line]) {
    let mut out = Out::stdout();
    for Line { run, entry } in lines {
        let whose = run.as_deref().unwrap_or("own session");
        let rule = entry.rule.as_deref().unwrap_or("-");
        let [at, rule, tool] = [&entry.at, rule, &entry.tool].map(one_line);
        out.text(&format!("{at}  {whose}  {:<6}  {rule}  {tool}", entry.outcome.word()));
        let what = if entry.command.is_empty() { &entry.why } else { &entry.command };
        out.text(&format!("  {}", one_line(what)));
    }
    out.line(&format!("{} of the guard", counted(lines.len() as u64, "entry")));
    out.flush();
}
