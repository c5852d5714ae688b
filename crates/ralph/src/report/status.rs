//! The status of a run, on one line.

use super::awaited::awaited_words;
use super::status_line::{Status, Taskbar};
use super::style::{count, fit};
use jiff::{SignedDuration, Zoned};
use ralph_loop::WaitsFor;
use ralph_loop::text::{one_line, printable};
use ralph_loop::view::{Doing, RunView, Work};
use unicode_width::UnicodeWidthStr;

/// Between the parts.
const DOT: &str = " \u{b7} ";

/// A part of the line. The higher its worth, the longer it stays on a line that is too long.
struct Part {
    text: String,
    /// Behind it, and never cut.
    tail: String,
    worth: u8,
    /// The text may be cut to so many columns.
    least: usize,
}

impl Part {
    fn whole(worth: u8, text: String) -> Part {
        Part { text: String::new(), tail: text, worth, least: 0 }
    }

    fn width(&self) -> usize {
        self.text.width() + self.tail.width()
    }
}

/// How far the run is, what it is doing and what it has cost, in so many columns.
pub fn describe(view: &RunView, up_ms: u64, now: &Zoned, width: usize) -> String {
    let mut parts = Vec::new();
    if view.stops_asked == 1 {
        parts.push(Part::whole(9, "stopping after this step, Ctrl+C: now".to_string()));
    }
    parts.push(Part::whole(6, progress(view)));
    if let Some(story) = &view.story {
        let title = view.title.as_deref().unwrap_or_default();
        let text = printable(&format!("{story} {title}")).trim_end().to_string();
        parts.push(Part { least: story.width() + 8, text, tail: String::new(), worth: 4 });
    }
    if let Some((text, tail)) = what_and_how_long(view, up_ms, now) {
        parts.push(Part { text, tail, worth: 8, least: 16 });
    }
    parts.push(Part::whole(5, view.cost().rounded()));
    let tokens = view.tokens.total();
    if tokens > 0 {
        parts.push(Part::whole(2, format!("{} tok", count(tokens))));
    }
    parts.push(Part::whole(3, short(up_ms)));
    in_one_line(parts, width)
}

/// What the terminal shows beside it.
pub(super) fn status(view: &RunView, up_ms: u64, now: &Zoned, width: usize) -> Status {
    let percent = view.progress.and_then(|progress| (progress.done * 100).checked_div(progress.of));
    let name = view.workspace.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Status {
        line: describe(view, up_ms, now, width),
        title: printable(&format!("ralph {}{DOT}{name}", progress(view))).into_owned(),
        taskbar: match (&view.doing, percent) {
            (Doing::Waiting { until_ms: Some(at), .. }, _) if *at <= up_ms => Taskbar::Busy,
            (Doing::Waiting { .. }, percent) => Taskbar::Waiting(percent.unwrap_or(0)),
            (Doing::Step { .. }, percent) if view.waits_for_person.is_some() => {
                Taskbar::Waiting(percent.unwrap_or(0))
            }
            (Doing::Step { .. }, Some(percent)) => Taskbar::Percent(percent),
            (Doing::Step { .. }, None) => Taskbar::Busy,
        },
    }
}

/// Cuts what may be cut, and then leaves out what is worth the least.
fn in_one_line(mut parts: Vec<Part>, width: usize) -> String {
    loop {
        let dots = DOT.width() * parts.len().saturating_sub(1);
        let used = dots + parts.iter().map(Part::width).sum::<usize>();
        let mut over = used.saturating_sub(width);
        let is_alone = parts.len() == 1;
        let can_give = |part: &Part| part.text.width().saturating_sub(if is_alone { 0 } else { part.least });
        if is_alone || over <= parts.iter().map(can_give).sum() {
            for part in parts.iter_mut().rev() {
                let gives = can_give(part).min(over);
                part.text = fit(&part.text, part.text.width() - gives);
                over -= gives;
            }
            let texts: Vec<String> = parts.into_iter().map(|part| part.text + &part.tail).collect();
            return fit(&texts.join(DOT), width);
        }
        let least = parts.iter().map(|part| part.worth).min();
        parts.retain(|part| Some(part.worth) != least);
    }
}

/// `stories 3/12`, `iteration 2/10`.
pub fn progress(view: &RunView) -> String {
    match view.progress {
        Some(progress) => format!("{} {}/{}", view.plan, progress.done, progress.of),
        None => format!("iteration {}/{}", view.iteration, view.max_iterations),
    }
}

/// The current step and how long it has taken.
pub(super) fn doing(view: &RunView, up_ms: u64, now: &Zoned) -> String {
    match what_and_how_long(view, up_ms, now) {
        Some((what, how_long)) => fit(&what, MOST_OF_A_COMMAND) + &how_long,
        None => "between two steps".to_string(),
    }
}

/// Nothing between two steps, unless the run waits there.
fn what_and_how_long(view: &RunView, up_ms: u64, now: &Zoned) -> Option<(String, String)> {
    let (work, since_ms) = match &view.doing {
        Doing::Step { work, since_ms } => (work, *since_ms),
        Doing::Waiting { .. } if view.paused => {
            return Some((String::new(), "paused, continue with: ralph resume".to_string()));
        }
        Doing::Waiting { until_ms, waits_for } => {
            let left_ms = until_ms.map_or(0, |at| at.saturating_sub(up_ms));
            let waits = left_ms > 0 || waits_for.is_some();
            return waits.then(|| (String::new(), waiting(*waits_for, left_ms, now)));
        }
    };
    let (what, since_ms) = match (work, &view.waits_for_person, &view.agent_now.tool) {
        (_, Some(waits), _) => {
            (format!("waiting for you: {}", awaited_words(&waits.awaited)), waits.since_ms)
        }
        (Work::Agent { .. }, None, Some(tool)) => {
            (format!("{} {}", tool.name, tool.input), tool.since_ms.unwrap_or(since_ms))
        }
        (work, None, _) => (name(work).to_string(), since_ms),
    };
    let what: Vec<&str> = what.split_whitespace().collect();
    let then = if view.paused { ", then paused" } else { "" };
    let how_long = format!(" {}{then}", short(up_ms.saturating_sub(since_ms)));
    Some((printable(&what.join(" ")).into_owned(), how_long))
}

/// Columns of a command on a line with other things.
const MOST_OF_A_COMMAND: usize = 60;

fn name(work: &Work) -> &str {
    match work {
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
    }
}

/// `usage limit, 43m left, until 02:10`.
fn waiting(waits_for: Option<WaitsFor>, left_ms: u64, now: &Zoned) -> String {
    let what = match waits_for {
        Some(WaitsFor::Space) => "waiting for disk space",
        Some(WaitsFor::UsageLimit) => "usage limit",
        Some(WaitsFor::Service) => "service unavailable",
        Some(WaitsFor::Backoff) => "waiting after a failure",
        None => "waiting",
    };
    let left = i64::try_from(left_ms).map_or(SignedDuration::MAX, SignedDuration::from_millis);
    match now.checked_add(left) {
        // Less than that is watched.
        Ok(until) if left_ms >= 60_000 => {
            format!("{what}, {} left, until {}", short(left_ms), until.strftime("%H:%M"))
        }
        Ok(_) | Err(_) => format!("{what}, {} left", short(left_ms)),
    }
}

/// The same at a moment of the wall clock, with what the agent at work has said, as far as it shows.
pub fn doing_now(view: &RunView, now: &Zoned) -> String {
    let doing = doing(view, up_now(view, now), now);
    match (&view.agent_now.tool, &view.agent_now.words) {
        (None, Some(words)) if view.waits_for_person.is_none() => format!("{doing}: {words}"),
        (None, Some(_)) | (Some(_), _) | (None, None) => doing,
    }
}

/// The same for a list, which has the other things in other columns.
pub fn in_list(view: &RunView, now: &Zoned) -> String {
    match (&view.doing, what_and_how_long(view, up_now(view, now), now)) {
        (Doing::Waiting { .. }, _) if view.paused => "paused".to_string(),
        (_, Some((what, how_long))) => one_line(&format!("{what}{how_long}")),
        (_, None) => String::new(),
    }
}

/// The time that a run which goes on has taken by now.
pub fn up_now(view: &RunView, now: &Zoned) -> u64 {
    let since_last = now.timestamp().as_millisecond().saturating_sub(view.last_at);
    view.up_ms.saturating_add(u64::try_from(since_last).unwrap_or(0))
}

/// As short as it can be told: tenths would only flicker.
pub fn short(ms: u64) -> String {
    let (seconds, minutes, hours) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    match minutes {
        0 => format!("{seconds}s"),
        1..10 => format!("{minutes}m{:02}s", seconds % 60),
        10..60 => format!("{minutes}m"),
        _ => format!("{hours}h{:02}m", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        vec![
            Part::whole(6, "stories 3/12".into()),
            Part { text: "1.4 Log in with a password".into(), tail: String::new(), worth: 4, least: 11 },
            Part { text: "Bash cargo test --workspace".into(), tail: " 1m40s".into(), worth: 8, least: 16 },
            Part::whole(5, "~$0.84".into()),
            Part::whole(2, "41k tok".into()),
            Part::whole(3, "12m".into()),
        ]
    }

    #[track_caller]
    fn check(width: usize, expected: &str) {
        let line = in_one_line(parts(), width);
        assert_eq!(line, expected);
        assert!(line.width() <= width, "{} of {width}", line.width());
    }

    #[test]
    fn a_line_that_is_too_long_loses_what_is_worth_the_least() {
        check(
            200,
            "stories 3/12 · 1.4 Log in with a password · Bash cargo test --workspace 1m40s · ~$0.84 · 41k tok · 12m",
        );
        check(
            90,
            "stories 3/12 · 1.4 Log in with a passwo… · Bash cargo test… 1m40s · ~$0.84 · 41k tok · 12m",
        );
        check(70, "stories 3/12 · 1.4 Log in wit… · Bash cargo test… 1m40s · ~$0.84 · 12m");
        check(60, "stories 3/12 · 1.4 Log in… · Bash cargo test… 1m40s · ~$0.84");
        check(40, "stories 3/12 · Bash cargo test --… 1m40s");
        check(20, "Bash cargo te… 1m40s");
    }

    #[test]
    fn times_are_as_short_as_they_can_be_told() {
        let spans = [0, 999, 59_999, 100_000, 599_000, 720_000, 3_599_000, 12_000_000];
        assert_eq!(spans.map(short), ["0s", "0s", "59s", "1m40s", "9m59s", "12m", "59m", "3h20m"]);
    }

    #[test]
    fn a_wait_counts_down_and_says_until_when() {
        let now: Zoned = "2026-11-17T01:27:00+00:00[UTC]".parse().unwrap();
        let limit = Some(WaitsFor::UsageLimit);
        assert_eq!(waiting(limit, 43 * 60_000, &now), "usage limit, 43m left, until 02:10");
        assert_eq!(waiting(Some(WaitsFor::Backoff), 8_400, &now), "waiting after a failure, 8s left");
        assert_eq!(waiting(limit, u64::MAX, &now), "usage limit, 5124095576030h25m left");
    }
}
