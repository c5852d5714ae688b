//! `ralph status`: the status of a worker or run, or of all of them.

use super::format::{Format, Shape};
use super::{home, run_table};
use crate::error::CliError;
use crate::layout::Home;
use crate::report::{Out, Style, doing_now, fit, say, short, shown, up_now};
use crate::target::{self, Target};
use crate::worker::record::Status;
use clap::Args;
use jiff::Zoned;
use ralph_loop::text::{one_line, printable};
use std::io;
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args)]
#[command(after_help = "\
Without a terminal, --watch prints once. `ralph schema view` describes the field `view` of the JSON.

Example:
  ralph status night --format json | jq -r .reason")]
pub struct StatusArgs {
    /// Worker name, run id or id prefix [default: all workers and active runs]
    name: Option<String>,
    /// Show one line per run and refresh it every second until Ctrl+C
    #[arg(long)]
    watch: bool,
    /// Output format; json prints a single object if NAME is given
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

const EVERY: Duration = Duration::from_secs(1);

pub fn status(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    // What cannot be drawn on gets the lines once.
    if args.watch && args.format.shape() == Shape::Text && Style::screen().is_some() {
        return watch(&home, args.name.as_deref());
    }
    let mut out = Out::stdout();
    loop {
        let (targets, problems) = asked_for(&home, args.name.as_deref())?;
        for problem in problems {
            say(&format!("ralph: warning: {}", printable(&problem)));
        }
        match (args.format.shape(), targets.as_slice()) {
            (Shape::Text, targets) => {
                let lines = match args.watch && args.name.is_none() && !targets.is_empty() {
                    true => run_table::lines(targets, &Zoned::now(), Style::table_edge()),
                    false => all_lines(targets, args.name.is_some()),
                };
                lines.iter().for_each(|line| out.text(line));
                out.flush();
                return Ok(ExitCode::SUCCESS);
            }
            (Shape::Value, [target]) if args.name.is_some() => out.json(target),
            (Shape::Value, targets) => out.json(&targets),
            (Shape::Lines, targets) => targets.iter().for_each(|target| out.json_line(target)),
        }
        out.flush();
        if !args.watch || !out.is_heard() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(EVERY);
    }
}

/// Redraws the screen until the user ends it.
fn watch(home: &Home, name: Option<&str>) -> Result<ExitCode, CliError> {
    let failed = |cause: io::Error| CliError::failed("cannot watch").cause(cause);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    runtime.block_on(async {
        let mut ends = Vec::new();
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            ends.push(signal(kind).map_err(failed)?);
        }
        let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
        let [interrupt, terminate, hangup] = &mut ends[..] else { return Ok(ExitCode::SUCCESS) };
        let mut canvas = Canvas::enter();
        loop {
            // A terminal that is gone has no size.
            let Some((columns, rows)) = Style::screen() else { return Ok(ExitCode::SUCCESS) };
            let (targets, problems) = asked_for(home, name)?;
            let table = || run_table::lines(&targets, &Zoned::now(), columns);
            let mut lines = match (name, targets.is_empty()) {
                (None, false) => table(),
                (None, true) => all_lines(&targets, false),
                // All that is known of a run, or a line if that does not fit.
                (Some(_), _) => {
                    Some(all_lines(&targets, false)).filter(|all| all.len() <= rows).unwrap_or_else(table)
                }
            };
            lines.extend(problems.iter().map(|problem| one_line(&format!("warning: {problem}"))));
            canvas.draw(&on_screen(lines, columns, rows));
            tokio::select! {
                _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
                _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
                _ = hangup.recv() => return Ok(ExitCode::SUCCESS),
                _ = resized.recv() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    })
}

/// What fits of these lines, and how many do not.
fn on_screen(mut lines: Vec<String>, columns: usize, rows: usize) -> Vec<String> {
    if lines.len() > rows {
        let left = lines.len() - (rows - 1);
        lines.truncate(rows - 1);
        lines.push(format!("\u{2026} and {left} more"));
    }
    lines.iter().map(|line| fit(line, columns)).collect()
}

/// The other screen of the terminal, so that the first one is as it was afterwards.
struct Canvas {
    out: Out,
}

impl Canvas {
    fn enter() -> Canvas {
        let mut out = Out::stdout();
        out.bytes(b"\x1b[?1049h\x1b[?25l");
        Canvas { out }
    }

    /// From the upper left corner; the rest of each line and of the screen is cleared.
    fn draw(&mut self, lines: &[String]) {
        let lines: Vec<String> = lines.iter().map(|line| format!("{}\x1b[K", shown(line))).collect();
        self.out.now(format!("\x1b[H{}\x1b[J", lines.join("\r\n")).as_bytes());
    }
}

impl Drop for Canvas {
    fn drop(&mut self) {
        self.out.now(b"\x1b[?25h\x1b[?1049l");
    }
}

/// With what is wrong with others.
fn asked_for(home: &Home, name: Option<&str>) -> Result<(Vec<Target>, Vec<String>), CliError> {
    match name {
        Some(name) => Ok((vec![target::find(home, name)?], Vec::new())),
        None => Ok(target::all(home)?),
    }
}

/// `exactly`: with what the agent is doing at this moment, which takes reading its whole output.
fn all_lines(targets: &[Target], exactly: bool) -> Vec<String> {
    if targets.is_empty() {
        return vec![run_table::NONE.to_string()];
    }
    let parts: Vec<Vec<String>> = targets.iter().map(|target| lines(target, exactly)).collect();
    parts.join(&String::new())
}

fn lines(target: &Target, exactly: bool) -> Vec<String> {
    let (state, now) = (&target.state, Zoned::now());
    let live = match exactly {
        true => target.now(),
        false => target.view.as_deref().filter(|_| target.is_live()).cloned(),
    };
    let view = live.as_ref().or(target.view.as_deref());
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
    if let Some(view) = &live {
        let doing = format!("Now: {}", doing_now(view, &now));
        lines.push(fit(&doing, Style::of_stdout().edge()));
    }
    if let Some(view) = view {
        let up_ms = if live.is_some() { up_now(view, &now) } else { view.up_ms };
        lines.push(fit(&format!("Asked: {}", target.assignment()), Style::of_stdout().edge()));
        lines.push(format!("Time: {}", short(up_ms)));
        lines.push(format!("Cost: {}", view.cost()));
    }
    // A loop that is gone has no agent that could be answered.
    let awaited = state.status == Status::Waiting && target.is_abandoned();
    if let Some(note) = state.note.as_ref().filter(|_| !awaited) {
        lines.push(format!("Note: {}", printable(note)));
    }
    lines
}
