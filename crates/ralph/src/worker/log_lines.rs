//! What has happened to a worker, in the lines that people know: `[START] iteration 1/10` for
//! its log, `[ralph] agent: starting iteration 1/10` for people who watch it.
//!
//! A fold beside the state: live and from a journal the lines are the same.

use crate::report::{AtWork, low_disk, newly_low};
use ralph_loop::ask::{Ask, Silence};
use ralph_loop::dialect::Exit;
use ralph_loop::event::{End, Event, Fact, How, Step, StopReason, Why};
use ralph_loop::plan::Plan;
use ralph_loop::state::Stopped;
use ralph_loop::text::counted;
use ralph_loop::time::seconds;
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::{Run, State};

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

#[derive(Debug, Default)]
pub(super) struct LogWriter {
    /// Of the current iteration.
    exit: Option<Exit>,
    began_ms: Option<u64>,
    /// The agent that the start was told of.
    told_start: Option<usize>,
    at_work: AtWork,
    silent: bool,
    matched: bool,
    /// A pause that is told already.
    paused: bool,
}

impl LogWriter {
    pub(super) fn follow(&mut self, run: &Run, state: &State, event: &Event) -> LogLines {
        let of = state.ledger.limits.iterations;
        self.at_work.follow(event);
        match &event.fact {
            Fact::Resumed { .. } => {
                (self.told_start, self.paused) = (None, false);
                LogLines::log("RESUME", &format!("at iteration {}/{of}", state.iteration()))
            }
            Fact::Began { step: Step::Agent { iteration, agent, .. }, .. } => {
                self.began_ms.get_or_insert(event.up_ms);
                if self.told_start.replace(*agent) == Some(*agent) {
                    return LogLines::default();
                }
                let name = self.at_work.name(run).map(|name| format!(" ({name})")).unwrap_or_default();
                let log = vec![format!("[START] iteration {iteration}/{of}{name}")];
                LogLines { log, lines: vec![format!("starting iteration {iteration}/{of}{name}")] }
            }
            Fact::Cancelled { how: How::Ask, why: Why::Silent(silence), .. } => {
                self.silent = true;
                let Silence { after_ms, tool } = silence;
                let agent = self.at_work.name(run).map(|name| format!("{name}, ")).unwrap_or_default();
                let what = if *tool { "tool" } else { "inactivity" };
                let line = format!("{what} timeout ({agent}{}), restarting", seconds(*after_ms));
                let log = vec![format!("[TIMEOUT] iteration {} {line}", state.iteration())];
                LogLines { log, lines: vec![line] }
            }
            Fact::Ended { end: End::Agent(end), .. } => {
                self.exit = Some(end.exit);
                LogLines::default()
            }
            Fact::Judged(judgement) => self.judged(run, state, judgement, event.up_ms),
            Fact::Asked(Ask::Pause | Ask::Leave) if !std::mem::replace(&mut self.paused, true) => {
                LogLines::both("PAUSE", format!("paused at iteration {}/{of}", state.iteration()))
            }
            Fact::Asked(Ask::Continue) => {
                self.paused = false;
                LogLines::both("RESUME", format!("resumed at iteration {}/{of}", state.iteration()))
            }
            Fact::LowDisk(_) => match newly_low(state, event) {
                Some(shortage) => LogLines::both("WAIT", low_disk(shortage)),
                None => LogLines::default(),
            },
            Fact::Stopped { .. } => {
                let Some(stopped) = &state.stopped else { return LogLines::default() };
                self.stopped(state, stopped)
            }
            Fact::Opened(_)
            | Fact::Began { .. }
            | Fact::Cancelled { .. }
            | Fact::Ended { .. }
            | Fact::Answered { .. }
            | Fact::Asked(_)
            | Fact::Silent { .. }
            | Fact::Blocked { .. }
            | Fact::StopAsked
            | Fact::Woke => LogLines::default(),
        }
    }

    fn judged(&mut self, run: &Run, state: &State, judgement: &Judgement, up_ms: u64) -> LogLines {
        let LogWriter { exit, began_ms, silent, paused, at_work, .. } = std::mem::take(self);
        self.at_work = at_work;
        let pattern = matches!(run.plan, Plan::Prompt(_)) && judgement.claim.matched;
        (self.paused, self.matched) = (paused, pattern && judgement.settlement == Settlement::Settled);
        let (number, exit) = (judgement.iteration, exit.map_or(0, number));
        let took = up_ms.saturating_sub(began_ms.unwrap_or(up_ms));
        let agent = at_work.name(run).map(|name| format!(" agent={name}")).unwrap_or_default();
        let end = format!("iteration {number} exit={exit} duration={}{agent}", duration(took, ""));
        let agent = at_work.name(run).map(|name| format!("{name}, ")).unwrap_or_default();
        let told = LogLines::log("END", &end);
        let (failures, limits) = (state.ledger.streaks.failures, &state.ledger.limits);
        match &judgement.verdict {
            Verdict::AgentFailed { .. } if failures >= limits.max_failures => told,
            Verdict::AgentFailed { .. } if state.ledger.judged >= limits.iterations => {
                told.and(LogLines::both("FAIL", format!("iteration {number} failed ({agent}exit: {exit})")))
            }
            Verdict::AgentFailed { .. } => {
                let wait = seconds(limits.backoff.wait_ms(failures));
                let tries = format!("attempt {failures}/{}", limits.max_failures);
                let line =
                    format!("iteration {number} failed ({agent}exit: {exit}), retrying in {wait} ({tries})");
                told.and(LogLines::both("FAIL", line))
            }
            Verdict::Green { .. } | Verdict::Red { .. } if silent => told,
            Verdict::Green { .. } | Verdict::Red { .. } => {
                let took = duration(took, " ");
                let line = format!("iteration {number} completed ({agent}exit: {exit}, duration: {took})");
                told.and(LogLines { log: vec![], lines: vec![line] })
            }
        }
    }

    fn stopped(&self, state: &State, stopped: &Stopped) -> LogLines {
        let note = stopped.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
        let word = stopped.reason.word();
        match stopped.reason {
            reason if state.is_success(reason) => {
                let done =
                    format!("loop complete after {}", counted(state.ledger.judged.into(), "iteration"));
                if self.matched {
                    let line = "done pattern matched, stopping loop".to_string();
                    return LogLines {
                        log: vec![format!("[DONE] {line}"), format!("[DONE] {done}")],
                        lines: vec![line, done],
                    };
                }
                LogLines::both("DONE", done)
            }
            StopReason::TooManyFailures => LogLines::both(
                "FAIL",
                format!("{} consecutive failures, stopping loop", state.ledger.streaks.failures),
            ),
            StopReason::Paused => LogLines::default(),
            StopReason::Killed => LogLines::both("STOP", "killed".into()),
            StopReason::Halted | StopReason::Outage | StopReason::Authentication | StopReason::Error => {
                LogLines::both("FAIL", format!("{word}{note}, stopping loop"))
            }
            StopReason::Completed
            | StopReason::MaxIterations
            | StopReason::BudgetExhausted
            | StopReason::Timeout
            | StopReason::Stalled
            | StopReason::Interrupted => LogLines::both(
                "STOP",
                format!("stopped after {}: {word}{note}", counted(state.ledger.judged.into(), "iteration")),
            ),
        }
    }
}

/// As a shell would tell it.
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
