//! `ralph status`: how a worker is, or all of them.

use super::args::Format;
use super::{home, print_json, print_lines};
use crate::error::CliError;
use crate::layout::Home;
use crate::report::{Out, say};
use crate::seat::workers::{self, Worker};
use clap::Args;
use ralph_loop::text::printable;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph status night --format json | jq -r .reason")]
pub struct StatusArgs {
    /// The worker; without one, all of them
    name: Option<String>,
    /// Show it anew every two seconds, until Ctrl+C
    #[arg(long)]
    watch: bool,
    /// What to print; json is one object for one worker
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

const EVERY: Duration = Duration::from_secs(2);
/// To the upper left corner, and everything below it gone.
const CLEAR: &[u8] = b"\x1b[H\x1b[J";

pub fn status(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let mut out = Out::stdout();
    loop {
        let workers = asked_for(&home, args.name.as_deref())?;
        match (args.format, workers.as_slice()) {
            (Format::Human, workers) => {
                if args.watch {
                    out.bytes(CLEAR);
                }
                told(workers).iter().for_each(|line| out.tell(line));
                out.flush();
            }
            (Format::Json, [worker]) if args.name.is_some() => print_json(worker),
            (Format::Json, workers) => print_json(&workers),
            (Format::Ndjson, workers) => print_lines(workers),
        }
        if !args.watch {
            return Ok(ExitCode::SUCCESS);
        }
        if !out.is_heard() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(EVERY);
    }
}

fn asked_for(home: &Home, name: Option<&str>) -> Result<Vec<Worker>, CliError> {
    if let Some(name) = name {
        return Ok(vec![workers::find(home, name)?]);
    }
    let (workers, problems) = workers::all(home)?;
    for problem in problems {
        say(&format!("ralph: warning: {}", printable(&problem)));
    }
    Ok(workers)
}

fn told(workers: &[Worker]) -> Vec<String> {
    if workers.is_empty() {
        return vec!["No workers. `ralph spawn --help` shows how to start one.".to_string()];
    }
    let told: Vec<Vec<String>> = workers.iter().map(lines).collect();
    told.join(&String::new())
}

fn lines(worker: &Worker) -> Vec<String> {
    let state = &worker.state;
    // `2024-01-15T10:30:00.000000` as people write it.
    let time = |text: &str| text.split('.').next().unwrap_or(text).replace('T', " ");
    let mut lines = vec![
        format!("Ralph Loop: {}", worker.name),
        format!("Status: {}", worker.status_line()),
        format!("Iteration: {}/{}", state.current_iteration, state.max_iterations),
        format!("Started: {}", time(&state.started)),
    ];
    if let Some(started) = &state.last_iteration_started {
        lines.push(format!("Current iteration started: {}", time(started)));
    }
    lines.push(format!("Consecutive failures: {}", state.consecutive_failures));
    lines.push(format!("Total failures: {}", state.total_failures));
    if let Some(seconds) = &state.inactivity_timeout {
        lines.push(format!("Inactivity timeout: {seconds}s"));
    }
    if let Some(pattern) = &state.done_pattern {
        lines.push(format!("Done pattern: {}", printable(pattern)));
    }
    if let Some(note) = &state.note {
        lines.push(format!("Note: {}", printable(note)));
    }
    lines
}
