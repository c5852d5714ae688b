//! The status line at the bottom of a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ralph_loop::text::printable;
use ralph_loop::time;
use ralph_loop::view::{Doing, RunView, Work};
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
pub(super) fn describe(view: &RunView, up_ms: u64) -> String {
    let of = view.max_iterations;
    let iteration = (view.judged + 1).min(of);
    let story = view.story.as_ref().map_or_else(String::new, |id| format!("story {id} | "));
    let (time, doing) = (whole(up_ms), doing(view, up_ms));
    format!("{story}iteration {iteration}/{of} | {time} | {} | {doing}", view.cost())
}

/// The current step and how long it has taken.
pub(super) fn doing(view: &RunView, up_ms: u64) -> String {
    let (work, since_ms) = match &view.doing {
        Doing::Step { work, since_ms } => (work, *since_ms),
        Doing::Waiting { .. } if view.paused => return "paused, continue with: ralph resume".to_string(),
        Doing::Waiting { until_ms } => {
            let left = until_ms.map_or(0, |at| at.saturating_sub(up_ms));
            let what = if view.low_disk.is_some() { "waiting for disk space" } else { "waiting" };
            return format!("{what}, {} left", whole(left));
        }
    };
    let what = match work {
        Work::Agent { name } => name,
        Work::Check { command } => command,
        Work::Checkpoint => "taking a checkpoint",
        Work::PrepareCopy => "making a clean copy",
        Work::CommitMessage => "commit message",
        Work::CommitWorktree => "committing the rest",
        Work::Restore => "resetting the files",
        Work::ReadTasks => "reading the task list",
        Work::LookForUncommitted => "checking for uncommitted changes",
        Work::Scm { task } => task,
    };
    let what: Vec<&str> = what.split_whitespace().collect();
    let then = if view.paused { ", then paused" } else { "" };
    format!("{} {}{then}", printable(&what.join(" ")), whole(up_ms.saturating_sub(since_ms)))
}

/// The same at a moment of the wall clock, with what the agent at work is doing, as far as it shows.
pub fn doing_now(view: &RunView, now_ms: i64) -> String {
    let since_last = u64::try_from(now_ms.saturating_sub(view.last_at)).unwrap_or(0);
    let doing = doing(view, view.up_ms.saturating_add(since_last));
    match (view.agent_now.tool(), &view.agent_now.words) {
        (Some(tool), _) => format!("{doing}: {tool}"),
        (None, Some(words)) => format!("{doing}: {words}"),
        (None, None) => doing,
    }
}

/// Whole seconds: tenths would only flicker.
fn whole(ms: u64) -> String {
    if ms < 60_000 { format!("{}s", ms / 1000) } else { time::span(ms) }
}
