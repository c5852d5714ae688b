//! What people and programs get to see of a run.
//!
//! Reporters watch: they see what each event means, and the agent's stream.
//! They decide nothing and cannot fail the run; a pipe that is closed is simply no longer
//! written to.

mod asked;
mod assignment;
mod awaited;
mod human;
pub mod in_the_way;
mod log;
mod ndjson;
mod out;
mod plans;
pub mod proof;
mod refusal;
mod result;
mod screen;
mod status;
mod status_line;
mod stream;
mod style;
mod tasks_left;
mod verbose;
mod view_json;
mod view_schema;

pub use asked::{asked, changed};
pub use assignment::assignment;
pub use awaited::{Seen, awaited_words, waits_for_you};
pub use human::{AgentsTerminals, Display, Human, HumanOptions};
pub use log::{Logged, log_lines};
pub use ndjson::Ndjson;
pub use out::{Out, say, say_panic, shown};
pub use plans::{command_name, mark};
pub use proof::ProofReport;
pub use refusal::advice as refusal_advice;
pub use result::{ChangedLines, ErrorReport, NetworkReport, RunResult, StoriesLeft, Summary, WITHOUT_COPY};
pub use status::{describe, doing_now, in_list, short, up_now};
pub use style::{Style, Tone, count, fit, fit_end, fit_middle, fold};
pub use tasks_left::{TaskResult, TasksLeft};
pub use verbose::Verbose;
pub use view_json::{TokensJson, ViewJson};
pub use view_schema::schema as view_schema;

use ralph_loop::dialect::{AgentEvent, Line};
use ralph_loop::event::UncommittedEnd;
use ralph_loop::low_disk::Shortage;
use ralph_loop::plan::Plan;
use ralph_loop::plan::tasks::TasksPlan;
use ralph_loop::scm::{MessageOutcome, TaskOutcome};
use ralph_loop::text::printable;
use ralph_loop::view::{Moment, RunView, Update, Wait};
use ralph_loop::{Run, State};
use std::time::Duration;

pub trait Reporter {
    /// A fact of the run, already recorded and folded.
    fn update(&mut self, update: &Update<'_>) {
        if let Some(behind) = self.behind() {
            behind.update(update);
        }
    }

    /// The wrapped reporter, which gets everything that this one does not handle.
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        None
    }

    /// What the agent that just began is asked.
    fn prompt(&mut self, text: &str) {
        if let Some(behind) = self.behind() {
            behind.prompt(text);
        }
    }

    /// A piece of the agent's stream, which lives only for this call.
    fn agent(&mut self, event: &AgentEvent<'_>) {
        if let Some(behind) = self.behind() {
            behind.agent(event);
        }
    }

    /// A line of its standard error.
    fn agent_stderr(&mut self, line: &str) {
        if let Some(behind) = self.behind() {
            behind.agent_stderr(line);
        }
    }

    /// The same, as it is read.
    fn agent_stderr_line(&mut self, line: &Line<'_>) {
        match line {
            Line::Whole(bytes) => self.agent_stderr(&String::from_utf8_lossy(bytes)),
            Line::TooLong { bytes } => self.agent_stderr(&format!("(a line of {bytes} bytes)")),
        }
    }

    /// Lines beside the report, on standard error.
    fn aside(&mut self, text: &str) {
        if let Some(behind) = self.behind() {
            behind.aside(text);
        }
    }

    /// The loop is about to look for signals and timers: show what is held back.
    fn rest(&mut self) {
        if let Some(behind) = self.behind() {
            behind.rest();
        }
    }

    /// How often time passing has to be shown.
    fn tick_every(&mut self) -> Option<Duration> {
        self.behind()?.tick_every()
    }

    fn tick(&mut self, view: &RunView, up_ms: u64) {
        if let Some(behind) = self.behind() {
            behind.tick(view, up_ms);
        }
    }

    /// Something that went wrong without hurting the run.
    fn warn(&mut self, message: &str) {
        self.aside(&format!("ralph: warning: {}", printable(message)));
    }
}

/// The answer to a signal, whatever the format.
fn stop_asked(state: &State) -> &'static str {
    match state.asked.stops {
        1 => {
            "Received signal, shutting down...\n(finishing the current step; press Ctrl+C again to stop now)"
        }
        _ => "Received signal, stopping now.",
    }
}

/// Shown when the user has edited the task list.
const EDITED: &str = "the task list was edited between iterations; using the new version";

/// Shown when fields that the task list did not have were added.
fn filled_in(plan: &TasksPlan, fields: &[String]) -> String {
    let list = plan.dir.join("tasks.json");
    format!("added missing fields to {}: {}", list.display(), fields.join(", "))
}

/// A disk that is nearly full, in words.
pub fn low_disk(shortage: &Shortage) -> String {
    let Shortage { free, least, at } = shortage;
    let (free, least) = (bytes(*free), bytes(*least));
    format!("low disk space: {free} free, {least} required (minFreeSpace): {}", at.display())
}

/// `950 bytes`, `1.5 KiB`, `312 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return if n == 1 { "1 byte".to_string() } else { format!("{n} bytes") };
    }
    let (mut value, mut unit) = (n as f64 / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = usize::from(value < 10.0);
    format!("{value:.digits$} {}", UNITS[unit])
}

/// What an iteration has left uncommitted, in words.
fn left(run: &Run, end: &UncommittedEnd) -> Option<String> {
    let files = match end.paths {
        1 => "1 file".to_string(),
        n => format!("{n} files"),
    };
    match (&end.problem, end.committed, end.paths) {
        (Some(why), _, _) => Some(format!("cannot commit what the agent left uncommitted: {why}")),
        (None, _, 0) => None,
        (None, true, _) if matches!(run.plan, Plan::Stories(_)) => Some(format!("committed: {files}")),
        (None, true, _) => Some(format!("committed what the agent left: {files}")),
        (None, false, _) => Some(format!("left uncommitted: {files}")),
    }
}

/// An agent in a terminal has received something else than its prompt.
pub fn not_whole(bytes: u64) -> String {
    format!("the agent received {}, which are not its whole prompt", ralph_loop::text::counted(bytes, "byte"))
}

/// What went wrong without ending the run, for reports that show nothing else.
pub fn trouble(moment: &Moment<'_>) -> Option<String> {
    match moment {
        Moment::WaitBegan(Wait::Disk(shortage)) => {
            Some(format!("{}; waiting for free space", low_disk(shortage)))
        }
        Moment::MessageEnded(MessageOutcome::Failed { why }) => {
            Some(format!("no commit message, skipping the scm tasks: {why}"))
        }
        Moment::ScmEnded { outcome: TaskOutcome::Failed { why }, .. } => {
            Some(format!("an scm task failed: {why}"))
        }
        Moment::WorktreeCommitted(TaskOutcome::Failed { why }) => {
            Some(format!("cannot commit the remaining changes in the worktree: {why}"))
        }
        Moment::Checkpoint { end, .. } => {
            end.problem.as_ref().map(|why| format!("cannot take a checkpoint: {why}"))
        }
        _ => None,
    }
}

/// Shows nothing: for `--format json`, whose one object comes at the end.
pub struct Silent;

impl Reporter for Silent {
    fn update(&mut self, update: &Update<'_>) {
        for moment in &update.moments {
            if let Moment::StopAsked = moment {
                say(stop_asked(update.state));
            }
            if let Some(trouble) = trouble(moment) {
                self.warn(&trouble);
            }
        }
    }

    fn aside(&mut self, text: &str) {
        say(text);
    }
}
