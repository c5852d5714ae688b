//! `ralph show`: the story of one run.

use super::args::Format;
use super::runs::find;
use super::{home, print_json};
use crate::error::{CliError, Code};
use crate::journal::{self, Entry, JournalError};
use crate::layout::RunDir;
use crate::report::Out;
use crate::session::result_of;
use clap::Args;
use ralph_loop::event::Fact;
use ralph_loop::history::{History, Iteration};
use ralph_loop::text::printable;
use ralph_loop::time::span;
use ralph_loop::{Run, State};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph show 20261115-2215")]
pub struct ShowArgs {
    /// The run's id, or the beginning of it
    run: String,
    /// What to print; ndjson is the journal itself
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

pub fn show(args: &ShowArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let run_dir = home.run(&find(&home, &args.run)?);
    match args.format {
        Format::Json => print_json(&result_of(&run_dir)?),
        Format::Ndjson => {
            print_journal(&run_dir).map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
        }
        Format::Human => tell(&run_dir)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// As it was written, also what a newer version wrote.
fn print_journal(run_dir: &RunDir) -> Result<(), JournalError> {
    let mut out = Out::stdout();
    journal::read(run_dir, |_, entry| {
        match entry {
            Entry::Known(event) => {
                if let Ok(line) = serde_json::to_string(&event) {
                    out.line(&line);
                }
            }
            Entry::Newer { line, .. } => out.line(&line),
        }
        Ok(())
    })?;
    out.flush();
    Ok(())
}

fn tell(run_dir: &RunDir) -> Result<(), CliError> {
    let mut out = Out::stdout();
    let mut history = History::default();
    let replayed = journal::replay(run_dir, |run, state, event| {
        match &event.fact {
            Fact::Opened(run) => opened(&mut out, run),
            Fact::Resumed { .. } => out.line(&format!("resumed at iteration {}", state.iteration())),
            _ => {}
        }
        if let Some(iteration) = history.follow(run, event) {
            told(&mut out, run_dir, &iteration);
        }
    });
    let replayed = replayed.map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
    out.line(&ending(&replayed.state));
    out.flush();
    Ok(())
}

fn opened(out: &mut Out, run: &Run) {
    out.line(&format!("run        {}", run.id));
    out.line(&format!("directory  {}", run.workspace.display()));
    let agents: Vec<&str> = run.agents.iter().map(|agent| agent.name.as_str()).collect();
    out.line(&format!("agent      {}", agents.join(", ")));
    for check in &run.checks {
        out.line(&format!("check      {}", printable(&check.command)));
    }
    out.line("");
}

fn told(out: &mut Out, run_dir: &RunDir, iteration: &Iteration) {
    let word = match (&iteration.error, iteration.all_checks_passed, iteration.settled) {
        (Some(_), _, _) => "agent failed",
        (None, _, true) => "done",
        (None, true, false) => "checks passed",
        (None, false, false) => "checks failed",
    };
    let number = iteration.iteration;
    out.line(&format!(
        "iteration {number}: {word} ({} steps, {}, {})",
        iteration.steps_taken,
        iteration.cost,
        span(iteration.duration_ms)
    ));
    if let Some(error) = &iteration.error {
        out.line(&format!("  agent: {}", printable(error)));
    }
    for check in &iteration.check_results {
        out.line(&format!("  check: {}: {}", printable(&check.name), printable(&check.output)));
    }
    out.line(&format!("  output: {}", run_dir.stdout(number, 1).display()));
}

fn ending(state: &State) -> String {
    let took = format!("{} iterations, cost: {}, time: {}", state.judged, state.spent, span(state.up_ms));
    match &state.stopped {
        Some(stopped) => {
            let note =
                stopped.note.as_deref().map(|note| format!(": {}", printable(note))).unwrap_or_default();
            format!("{}{note} ({took})", stopped.reason.word())
        }
        None => format!("not ended ({took})"),
    }
}
