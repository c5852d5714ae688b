//! `ralph status`: the status of a worker or run, or of all of them.

use super::format::{Format, Shape};
use super::{home, print_json, print_lines};
use crate::engine::wall_ms;
use crate::error::CliError;
use crate::layout::Home;
use crate::report::{Out, Style, doing_now, fit, say};
use crate::target::{self, Target};
use crate::worker::workers;
use clap::Args;
use ralph_loop::text::printable;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph status night --format json | jq -r .reason")]
pub struct StatusArgs {
    /// Worker name, run id or id prefix [default: all workers and active runs]
    name: Option<String>,
    /// Refresh every two seconds until Ctrl+C
    #[arg(long)]
    watch: bool,
    /// Output format; json prints a single object if NAME is given
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
        let targets = asked_for(&home, args.name.as_deref())?;
        match (args.format.shape(), targets.as_slice()) {
            (Shape::Text, targets) => {
                if args.watch {
                    out.bytes(CLEAR);
                }
                all_lines(targets).iter().for_each(|line| out.text(line));
                out.flush();
            }
            (Shape::Value, [target]) if args.name.is_some() => print_json(target),
            (Shape::Value, targets) => print_json(&targets),
            (Shape::Lines, targets) => print_lines(targets),
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

fn asked_for(home: &Home, name: Option<&str>) -> Result<Vec<Target>, CliError> {
    if let Some(name) = name {
        return Ok(vec![target::find(home, name)?]);
    }
    let (mut targets, problems) = workers::all(home)?;
    for problem in problems {
        say(&format!("ralph: warning: {}", printable(&problem)));
    }
    targets.extend(target::in_terminals(home)?);
    Ok(targets)
}

fn all_lines(targets: &[Target]) -> Vec<String> {
    if targets.is_empty() {
        return vec![
            "No workers and no active runs. `ralph spawn --help` shows how to start a worker.".into(),
        ];
    }
    let parts: Vec<Vec<String>> = targets.iter().map(lines).collect();
    parts.join(&String::new())
}

fn lines(target: &Target) -> Vec<String> {
    let state = &target.state;
    // `2024-01-15T10:30:00.000000` as people write it.
    let time = |text: &str| text.split('.').next().unwrap_or(text).replace('T', " ");
    let mut lines = vec![
        format!("Ralph Loop: {}", target.name),
        format!("Status: {}", target.status_line()),
        format!("Iteration: {}/{}", state.current_iteration, state.max_iterations),
        format!("Started: {}", time(&state.started)),
    ];
    if !target.is_worker() {
        lines.push(format!("Directory: {}", printable(&state.workspace.display().to_string())));
    }
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
    if let Some(view) = target.now() {
        let now = format!("Now: {}", doing_now(&view, wall_ms()));
        lines.push(fit(&now, Style::of_stdout().edge()));
    }
    if let Some(note) = &state.note {
        lines.push(format!("Note: {}", printable(note)));
    }
    lines
}
