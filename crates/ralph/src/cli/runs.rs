//! `ralph runs`: what has run, newest first.

use super::args::Format;
use super::{home, print_json, print_lines};
use crate::catalog::{self, RunLine};
use crate::error::CliError;
use crate::report::{Out, Style, fit_end};
use clap::Args;
use ralph_loop::text::printable;
use ralph_loop::time::span;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Status is how a run ended (completed, max_iterations, interrupted …), running, or crashed: its \
process is gone without a word, and `ralph resume` carries on.

Example:
  ralph runs --format json | jq '.[0].id'")]
pub struct RunsArgs {
    /// What to print
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

pub fn runs(args: &RunsArgs) -> Result<ExitCode, CliError> {
    let lines = catalog::all(&home()?)?;
    match args.format {
        Format::Json => print_json(&lines),
        Format::Ndjson => print_lines(&lines),
        Format::Human => print_table(&lines),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table(lines: &[RunLine]) {
    let (mut out, width) = (Out::stdout(), Style::of_stdout().edge());
    if lines.is_empty() {
        out.line("No runs yet. `ralph demo` shows one.");
    } else {
        out.line(&format!(
            "{:<20} {:<17} {:>7} {:>8} {:>7} DIRECTORY",
            "RUN", "STATUS", "DONE", "COST", "TIME"
        ));
    }
    for line in lines {
        let workspace = line.workspace.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        let of = format!("{}/{}", line.iterations, line.max_iterations);
        let cost = line.cost.to_string();
        let time = span((line.duration * 1000.0) as u64);
        let row = format!("{:<20} {:<17} {of:>7} {cost:>8} {time:>7} ", line.id, line.status);
        // The end of a path tells more than its beginning.
        let directory = fit_end(&printable(&workspace), width.saturating_sub(row.chars().count()).max(16));
        out.line(format!("{row}{directory}").trim_end());
        if let Some(problem) = &line.problem {
            out.tell(&format!("  {}", printable(problem)));
        }
    }
    out.flush();
}
