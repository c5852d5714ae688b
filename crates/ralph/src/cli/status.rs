//! `ralph status`: how a worker is, or all of them.

use super::home;
use crate::error::CliError;
use crate::layout::Home;
use crate::report::{Out, say};
use crate::seat::workers::{self, Worker};
use clap::Args;
use ralph_loop::text::printable;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
pub struct StatusArgs {
    /// The worker; without one, all of them
    name: Option<String>,
    /// Show it anew every two seconds, until Ctrl+C
    #[arg(long)]
    watch: bool,
}

const EVERY: Duration = Duration::from_secs(2);
/// To the upper left corner, and everything below it gone.
const CLEAR: &[u8] = b"\x1b[H\x1b[J";

pub fn status(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let mut out = Out::stdout();
    loop {
        let lines = told(&home, args.name.as_deref())?;
        if args.watch {
            out.bytes(CLEAR);
        }
        lines.iter().for_each(|line| out.tell(line));
        out.flush();
        if !args.watch {
            return Ok(ExitCode::SUCCESS);
        }
        if !out.is_heard() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(EVERY);
    }
}

fn told(home: &Home, name: Option<&str>) -> Result<Vec<String>, CliError> {
    if let Some(name) = name {
        return Ok(lines(&workers::find(home, name)?));
    }
    let (workers, problems) = workers::all(home)?;
    for problem in problems {
        say(&format!("ralph: warning: {}", printable(&problem)));
    }
    if workers.is_empty() {
        return Ok(vec!["No workers. `ralph spawn --help` shows how to start one.".to_string()]);
    }
    let told: Vec<Vec<String>> = workers.iter().map(lines).collect();
    Ok(told.join(&String::new()))
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
