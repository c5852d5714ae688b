//! The status line at the bottom of a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ralph_loop::event::Step;
use ralph_loop::plan::Pick;
use ralph_loop::state::Flight;
use ralph_loop::text::printable;
use ralph_loop::{Run, State, time, wake_at};
use std::io::IsTerminal;

pub(super) struct StatusLine {
    bar: ProgressBar,
}

impl StatusLine {
    /// Only where both streams are a terminal: output and line share the screen.
    pub(super) fn on_terminal() -> Option<StatusLine> {
        if !rustix::stdio::stdout().is_terminal() || !rustix::stdio::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
            bar.set_style(style);
        }
        Some(StatusLine { bar })
    }

    pub(super) fn show(&self, text: String) {
        self.bar.set_message(text);
        self.bar.tick();
    }

    /// Runs something that prints, with the line out of its way.
    pub(super) fn aside(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The status of the run, on one line.
pub(super) fn describe(run: &Run, state: &State, up_ms: u64) -> String {
    let iteration = state.iteration().min(state.ledger.limits.iterations);
    let of = state.ledger.limits.iterations;
    let story = match &state.work.pick {
        Pick::Work(item) => item.story().map_or_else(String::new, |id| format!("story {id} | ")),
        Pick::Done | Pick::Stuck(_) => String::new(),
    };
    let (time, doing) = (whole(up_ms), doing(run, state, up_ms));
    format!("{story}iteration {iteration}/{of} | {time} | {} | {doing}", state.ledger.spent)
}

/// The current step and how long it has taken.
pub(super) fn doing(run: &Run, state: &State, up_ms: u64) -> String {
    let paused = state.asked.paused();
    let Some(Flight { step, since_ms, .. }) = state.first_flight() else {
        if paused {
            return "paused, continue with: ralph resume".to_string();
        }
        let left = wake_at(run, state).map_or(0, |at| at.saturating_sub(up_ms));
        let what = if state.ledger.low_disk.is_some() { "waiting for disk space" } else { "waiting" };
        return format!("{what}, {} left", whole(left));
    };
    let what = match step {
        Step::Agent { agent, .. } => run.agents.get(*agent).map_or("agent", |agent| &agent.name),
        Step::Check { index, .. } => run.checks.get(*index).map_or("check", |check| &check.command),
        Step::Snapshot { .. } => "taking a checkpoint",
        Step::Message { .. } => "commit message",
        Step::CommitWorktree => "committing the rest",
        Step::Restore { .. } => "resetting the files",
        Step::Plan { .. } => "reading the task list",
        Step::Uncommitted { .. } => "checking for uncommitted changes",
        Step::Scm { task, .. } => {
            run.scm.as_ref().and_then(|scm| scm.tasks.get(*task)).map_or("scm", String::as_str)
        }
    };
    let what: Vec<&str> = what.split_whitespace().collect();
    let then = if paused { ", then paused" } else { "" };
    format!("{} {}{then}", printable(&what.join(" ")), whole(up_ms.saturating_sub(*since_ms)))
}

/// Whole seconds: tenths would only flicker.
fn whole(ms: u64) -> String {
    if ms < 60_000 { format!("{}s", ms / 1000) } else { time::span(ms) }
}
