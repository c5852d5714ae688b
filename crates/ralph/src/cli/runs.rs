//! `ralph runs`: what has run, newest first.

use super::args::Format;
use super::{home, print_json};
use crate::error::CliError;
use crate::journal::{self, JournalError, Replayed};
use crate::layout::{self, Home};
use crate::lock::RunLock;
use crate::report::Out;
use clap::Args;
use jiff::Timestamp;
use ralph_loop::time::span;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Status is how a run ended (completed, max_iterations, interrupted …), running, or crashed: its
process is gone without a word, and `ralph resume` carries on.

Example:
  ralph runs --format json | jq '.[0].id'")]
pub struct RunsArgs {
    /// What to print
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
}

/// One run, as a line or an object.
#[derive(Debug, Serialize)]
pub struct RunLine {
    pub id: String,
    pub plan: Option<&'static str>,
    pub status: String,
    pub iterations: u32,
    pub max_iterations: u32,
    /// US dollars.
    pub cost: f64,
    /// Seconds, downtime left out.
    pub duration: f64,
    pub started_at: Option<String>,
    pub last_event_at: Option<String>,
    pub workspace: Option<PathBuf>,
    pub resumable: bool,
    /// Why the record cannot be read.
    pub problem: Option<String>,
    /// Something of it was running when this line was made.
    #[serde(skip)]
    pub alive: bool,
    #[serde(skip)]
    opened_at: i64,
}

impl RunLine {
    fn sort_key(&self) -> (&str, i64, &str) {
        const SECOND: usize = "20261115-221503".len();
        (self.id.get(..SECOND).unwrap_or(&self.id), self.opened_at, &self.id)
    }
}

pub fn runs(args: &RunsArgs) -> Result<ExitCode, CliError> {
    let lines = all(&home()?)?;
    match args.format {
        Format::Json => print_json(&lines),
        Format::Ndjson => {
            let mut out = Out::stdout();
            lines.iter().filter_map(|line| serde_json::to_string(line).ok()).for_each(|line| out.line(&line));
            out.flush();
        }
        Format::Human => print_table(&lines),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_table(lines: &[RunLine]) {
    let mut out = Out::stdout();
    if lines.is_empty() {
        out.line("No runs yet. `ralph demo` shows one.");
    } else {
        out.line(&format!(
            "{:<22} {:<18} {:>10} {:>9} {:>8}  {}",
            "RUN", "STATUS", "ITERATIONS", "COST", "TIME", "DIRECTORY"
        ));
    }
    for line in lines {
        let workspace = line.workspace.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        let of = format!("{}/{}", line.iterations, line.max_iterations);
        let cost = ralph_loop::money::Usd::from_dollars(line.cost).to_string();
        let time = span((line.duration * 1000.0) as u64);
        let row = format!("{:<22} {:<18} {of:>10} {cost:>9} {time:>8}  {workspace}", line.id, line.status);
        out.line(row.trim_end());
        if let Some(problem) = &line.problem {
            out.line(&format!("  {problem}"));
        }
    }
    out.flush();
}

/// Every run, newest first.
pub fn all(home: &Home) -> Result<Vec<RunLine>, CliError> {
    let mut lines: Vec<RunLine> = ids(home)?.into_iter().map(|id| line(home, id)).collect();
    // Ids tell runs of different seconds apart, also where the record cannot be read.
    lines.sort_unstable_by(|a, b| b.sort_key().cmp(&a.sort_key()));
    Ok(lines)
}

fn ids(home: &Home) -> Result<Vec<String>, CliError> {
    let entries = match fs_err::read_dir(home.runs()) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(CliError::failed("cannot list the runs").cause(cause)),
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| layout::is_safe_name(name)).collect())
}

/// The run with this id, or the only one whose id begins like this.
pub fn find(home: &Home, name: &str) -> Result<String, CliError> {
    let unknown = || CliError::failed(format!("no such run: {name}")).hint("`ralph runs` lists them");
    if !layout::is_safe_name(name) {
        return Err(unknown());
    }
    let mut fitting: Vec<String> = ids(home)?.into_iter().filter(|id| id.starts_with(name)).collect();
    if let Some(exact) = fitting.iter().find(|id| *id == name) {
        return Ok(exact.clone());
    }
    match fitting.len() {
        0 => Err(unknown()),
        1 => Ok(fitting.remove(0)),
        _ => {
            fitting.sort_unstable();
            Err(CliError::failed(format!("several runs begin with {name}: {}", fitting.join(", "))))
        }
    }
}

fn line(home: &Home, id: String) -> RunLine {
    let run_dir = home.run(&id);
    let alive = RunLock::is_held(&run_dir);
    match journal::replay(&run_dir, |_, _, _| {}) {
        Ok(replayed) => told(id, &replayed, alive),
        Err(cause) => untold(id, &cause, alive),
    }
}

fn told(id: String, replayed: &Replayed, alive: bool) -> RunLine {
    let Replayed { run, state, opened_at, last_at, .. } = replayed;
    let status = match &state.stopped {
        _ if alive => "running",
        Some(stopped) => stopped.reason.word(),
        None => "crashed",
    };
    RunLine {
        id,
        plan: Some(run.plan.name()),
        status: status.to_string(),
        iterations: state.judged,
        max_iterations: run.limits.iterations,
        cost: state.spent.dollars(),
        duration: state.up_ms as f64 / 1000.0,
        started_at: time(*opened_at),
        last_event_at: time(*last_at),
        workspace: Some(run.workspace.clone()),
        resumable: !alive && state.stopped.as_ref().is_none_or(|stopped| stopped.reason.resumable()),
        problem: None,
        alive,
        opened_at: *opened_at,
    }
}

fn untold(id: String, cause: &JournalError, alive: bool) -> RunLine {
    let status = match cause {
        JournalError::Empty { .. } | JournalError::Unreadable { .. } if alive => "starting",
        JournalError::Newer { .. } => "newer",
        JournalError::Empty { .. }
        | JournalError::Unreadable { .. }
        | JournalError::Damaged { .. }
        | JournalError::Illegal { .. } => "damaged",
    };
    let cause_of = std::error::Error::source(cause).map(|source| format!(": {source}")).unwrap_or_default();
    RunLine {
        id,
        plan: None,
        status: status.to_string(),
        iterations: 0,
        max_iterations: 0,
        cost: 0.0,
        duration: 0.0,
        started_at: None,
        last_event_at: None,
        workspace: None,
        resumable: false,
        problem: Some(format!("{cause}{cause_of}")),
        alive,
        opened_at: 0,
    }
}

/// As RFC 3339, in UTC.
fn time(ms: i64) -> Option<String> {
    Timestamp::from_millisecond(ms).ok().map(|time| time.to_string())
}
