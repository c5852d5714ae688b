//! What has happened to a worker, in the lines that people know: `[START] iteration 1/10` for
//! its log, `[ralph] agent: starting iteration 1/10` for people who watch it.
//!
use crate::report::{awaited_words, low_disk};
use ralph_loop::State;
use ralph_loop::ask::{Ask, Silence};
use ralph_loop::dialect::{Awaited, Exit};
use ralph_loop::event::{How, StopKind, StopReason, Why};
use ralph_loop::state::Stopped;
use ralph_loop::text::counted;
use ralph_loop::time::seconds;
use ralph_loop::verdict::Verdict;
use ralph_loop::view::{Iteration, Moment, Update, Wait};

/// One thing that has happened.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LogLines {
    /// Lines of the log, without their time.
    pub(super) log: Vec<String>,
    /// Lines for people who watch, without the worker's name.
    pub(super) lines: Vec<String>,
}

impl LogLines {
    fn both(tag: &str, text: String) -> LogLines {
        LogLines { log: vec![format!("[{tag}] {text}")], lines: vec![text] }
    }

    fn log(tag: &str, text: &str) -> LogLines {
        LogLines { log: vec![format!("[{tag}] {text}")], lines: vec![] }
    }

    fn and(mut self, other: LogLines) -> LogLines {
        self.log.extend(other.log);
        self.lines.extend(other.lines);
        self
    }
}

/// What an event adds.
pub(super) fn of(update: &Update<'_>) -> LogLines {
    let lines = update.moments.iter().map(|moment| of_moment(update, moment));
    lines.fold(LogLines::default(), LogLines::and)
}

fn of_moment(update: &Update<'_>, moment: &Moment<'_>) -> LogLines {
    let (state, name) = (update.state, update.agent_name());
    let of = state.ledger.limits.iterations;
    let at = || format!("{}/{of}", state.iteration());
    match moment {
        Moment::Resumed => LogLines::log("RESUME", &format!("at iteration {}", at())),
        Moment::AgentBegan { iteration, is_another: true, .. } => {
            let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
            let log = vec![format!("[START] iteration {iteration}/{of}{name}")];
            LogLines { log, lines: vec![format!("starting iteration {iteration}/{of}{name}")] }
        }
        Moment::Cancelled { how: How::Ask, why: Why::Silent(Silence { after_ms, tool }) } => {
            let agent = name.map(|name| format!("{name}, ")).unwrap_or_default();
            let what = if *tool { "tool" } else { "inactivity" };
            let line = format!("{what} timeout ({agent}{}), restarting", seconds(*after_ms));
            let log = vec![format!("[TIMEOUT] iteration {} {line}", state.iteration())];
            LogLines { log, lines: vec![line] }
        }
        Moment::IterationEnded { judgement, iteration, exit, was_silent } => {
            let exit = exit.map_or(0, number);
            iteration_ended(update, &judgement.verdict, iteration, exit, *was_silent)
        }
        Moment::Paused => LogLines::both("PAUSE", format!("paused at iteration {}", at())),
        Moment::Asked(Ask::Continue) => LogLines::both("RESUME", format!("resumed at iteration {}", at())),
        Moment::WaitBegan(Wait::Disk(shortage)) => LogLines::both("WAIT", low_disk(shortage)),
        Moment::WaitBegan(Wait::Person { why, text }) => {
            let awaited = Awaited { why: *why, text: (*text).to_string() };
            LogLines::both("WAIT", format!("waiting for you: {}", awaited_words(&awaited)))
        }
        Moment::Stopped { stopped, success, matched } => ended(state, stopped, *success, *matched),
        _ => LogLines::default(),
    }
}

fn iteration_ended(
    update: &Update<'_>,
    verdict: &Verdict,
    iteration: &Iteration,
    exit: i32,
    was_silent: bool,
) -> LogLines {
    let (number, took) = (iteration.iteration, iteration.duration_ms);
    let name = update.agent_name();
    let agent = name.map(|name| format!(" agent={name}")).unwrap_or_default();
    let end = format!("iteration {number} exit={exit} duration={}{agent}", duration(took, ""));
    let agent = name.map(|name| format!("{name}, ")).unwrap_or_default();
    let lines = LogLines::log("END", &end);
    let (failures, limits) = (update.state.ledger.streaks.failures, &update.state.ledger.limits);
    match verdict {
        Verdict::AgentFailed { .. } if failures >= limits.max_failures => lines,
        Verdict::AgentFailed { .. } if update.state.ledger.judged >= limits.iterations => {
            lines.and(LogLines::both("FAIL", format!("iteration {number} failed ({agent}exit: {exit})")))
        }
        Verdict::AgentFailed { .. } => {
            let wait = seconds(limits.backoff.wait_ms(failures));
            let tries = format!("attempt {failures}/{}", limits.max_failures);
            let line =
                format!("iteration {number} failed ({agent}exit: {exit}), retrying in {wait} ({tries})");
            lines.and(LogLines::both("FAIL", line))
        }
        Verdict::Green { .. } | Verdict::Red { .. } | Verdict::Refused { .. } if was_silent => lines,
        Verdict::Green { .. } | Verdict::Red { .. } | Verdict::Refused { .. } => {
            let took = duration(took, " ");
            let line = format!("iteration {number} completed ({agent}exit: {exit}, duration: {took})");
            lines.and(LogLines { log: vec![], lines: vec![line] })
        }
    }
}

fn ended(state: &State, stopped: &Stopped, success: bool, matched: bool) -> LogLines {
    let note = stopped.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
    let (word, iterations) = (stopped.reason.word(), counted(state.ledger.judged.into(), "iteration"));
    match stopped.reason.kind() {
        _ if success => {
            let done = format!("loop complete after {iterations}");
            if matched {
                let line = "done pattern matched, stopping loop".to_string();
                return LogLines {
                    log: vec![format!("[DONE] {line}"), format!("[DONE] {done}")],
                    lines: vec![line, done],
                };
            }
            LogLines::both("DONE", done)
        }
        _ if stopped.reason == StopReason::TooManyFailures => LogLines::both(
            "FAIL",
            format!("{} consecutive failures, stopping loop", state.ledger.streaks.failures),
        ),
        StopKind::Paused => LogLines::default(),
        StopKind::Killed => LogLines::both("STOP", "killed".into()),
        StopKind::GaveUp | StopKind::Failed | StopKind::Unusable => {
            LogLines::both("FAIL", format!("{word}{note}, stopping loop"))
        }
        StopKind::Done | StopKind::Limit | StopKind::Stalled | StopKind::Interrupted => {
            LogLines::both("STOP", format!("stopped after {iterations}: {word}{note}"))
        }
    }
}

/// As a shell would report it.
fn number(exit: Exit) -> i32 {
    match exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
    }
}

/// `5m42s`, or `5m 42s` with a gap.
fn duration(ms: u64, gap: &str) -> String {
    let total = ms / 1000;
    let (hours, minutes, seconds) = (total / 3600, total / 60 % 60, total % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{gap}{seconds}s"),
        _ => format!("{hours}h{gap}{minutes}m{gap}{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_the_lines_have_them() {
        assert_eq!([342_000, 222_900].map(|ms| duration(ms, "")), ["5m42s", "3m42s"]);
        assert_eq!([222_000, 999, 3_723_000].map(|ms| duration(ms, " ")), ["3m 42s", "0s", "1h 2m 3s"]);
        assert_eq!([Exit::Code(3), Exit::Signal(15)].map(number), [3, 143]);
    }
}
