//! Signs of life of an agent.
//!
//! A stream of events shows life by every byte, and tells when a tool runs. Text shows life by
//! what a person would see: the last lines, without control sequences; output that leaves them
//! as they were (an escape code, the same lines again) is no sign of life.
//!
//! What follows from silence is the policy's business.

use ralph_loop::ask::Silence;
use ralph_loop::dialect::{AgentEvent, Dialect};
use ralph_loop::limits::Patience;
use ralph_loop::text::printable;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// What a person sees of a text, in lines, and how many bytes of it are looked at.
const SCREEN_LINES: usize = 20;
const SCREEN_BYTES: usize = 16 << 10;

/// Tools that are known to be running by name; more are not told apart.
const OPEN_TOOLS: usize = 1024;

/// A text is looked at so often, as a part of the silence that is endured: a flood of it must
/// not cost more than reading it.
const LOOKS: u32 = 50;

#[derive(Debug)]
pub(super) struct Activity {
    patience: Patience,
    last_sign: Instant,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Stream { open_tools: HashSet<String> },
    Text { tail: Vec<u8>, screen: String, looked: Instant },
}

impl Activity {
    pub(super) fn of(dialect: Dialect, patience: Patience, now: Instant) -> Activity {
        let shown = match dialect {
            Dialect::Claude | Dialect::Codex | Dialect::Amp => Shown::Stream { open_tools: HashSet::new() },
            Dialect::Plain => Shown::Text { tail: Vec::new(), screen: String::new(), looked: now },
        };
        Activity { patience, last_sign: now, shown }
    }

    /// Output has come.
    pub(super) fn heard(&mut self, bytes: &[u8], now: Instant) {
        let Some(endured) = self.patience.silence_ms else { return };
        match &mut self.shown {
            Shown::Stream { .. } => self.last_sign = now,
            Shown::Text { tail, looked, .. } => {
                let new = &bytes[bytes.len().saturating_sub(SCREEN_BYTES)..];
                let kept = tail.len().min(SCREEN_BYTES - new.len());
                tail.drain(..tail.len() - kept);
                tail.extend_from_slice(new);
                if now >= *looked + Duration::from_millis(endured) / LOOKS {
                    self.look(now);
                }
            }
        }
    }

    pub(super) fn event(&mut self, event: &AgentEvent<'_>) {
        let Shown::Stream { open_tools } = &mut self.shown else { return };
        match event {
            AgentEvent::ToolStart { id, .. } if open_tools.len() < OPEN_TOOLS => {
                open_tools.insert(id.to_string());
            }
            AgentEvent::ToolEnd { id, .. } => {
                open_tools.remove(&**id);
            }
            _ => {}
        }
    }

    /// Time that does not count has passed.
    pub(super) fn excuse(&mut self, now: Instant) {
        self.last_sign = now;
    }

    /// When the silence will have lasted too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let endured = if self.tool_runs() { self.patience.tool_ms } else { self.patience.silence_ms };
        self.last_sign.checked_add(Duration::from_millis(endured?))
    }

    /// Asked at the deadline: whether it has been silent all the time.
    pub(super) fn silent(&mut self, now: Instant) -> Option<Silence> {
        self.look(now);
        let tool = self.tool_runs();
        let after_ms = if tool { self.patience.tool_ms } else { self.patience.silence_ms }?;
        (self.deadline()? <= now).then_some(Silence { after_ms, tool })
    }

    fn tool_runs(&self) -> bool {
        matches!(&self.shown, Shown::Stream { open_tools } if !open_tools.is_empty())
    }

    fn look(&mut self, now: Instant) {
        let Shown::Text { tail, screen, looked } = &mut self.shown else { return };
        *looked = now;
        let text = String::from_utf8_lossy(tail);
        let clean = printable(&text);
        let from = clean.trim_end_matches('\n').rmatch_indices('\n').nth(SCREEN_LINES - 1);
        let lines = &clean[from.map_or(0, |(at, _)| at + 1)..];
        if lines != screen {
            *screen = lines.to_string();
            self.last_sign = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    const PATIENCE: Patience = Patience { silence_ms: Some(60_000), tool_ms: Some(600_000) };

    struct Watch {
        began: Instant,
        activity: Activity,
    }

    impl Watch {
        fn of(dialect: Dialect) -> Watch {
            let began = Instant::now();
            Watch { began, activity: Activity::of(dialect, PATIENCE, began) }
        }

        fn at(&self, seconds: u64) -> Instant {
            self.began + Duration::from_secs(seconds)
        }

        fn heard(&mut self, seconds: u64, text: &str) {
            let now = self.at(seconds);
            self.activity.heard(text.as_bytes(), now);
        }

        #[track_caller]
        fn silent_at(&mut self, seconds: u64, expected: bool) {
            let now = self.at(seconds);
            assert_eq!(self.activity.silent(now).is_some(), expected, "at {seconds} s");
        }
    }

    #[test]
    fn every_byte_of_a_stream_is_a_sign_of_life() {
        let mut watch = Watch::of(Dialect::Claude);
        watch.silent_at(59, false);
        watch.heard(59, " ");
        watch.silent_at(60, false);
        watch.silent_at(119, true);
    }

    #[test]
    fn a_tool_that_runs_has_a_limit_of_its_own() {
        let mut watch = Watch::of(Dialect::Claude);
        let id = || Cow::Borrowed("t");
        watch.activity.event(&AgentEvent::ToolEnd { id: id(), output: Cow::Borrowed(""), is_error: false });
        watch.silent_at(60, true);
        let mut watch = Watch::of(Dialect::Claude);
        if let Shown::Stream { open_tools } = &mut watch.activity.shown {
            open_tools.insert("t".into());
        }
        watch.silent_at(599, false);
        assert_eq!(
            watch.activity.silent(watch.began + Duration::from_secs(600)),
            Some(Silence { after_ms: 600_000, tool: true })
        );
        watch.activity.event(&AgentEvent::ToolEnd { id: id(), output: Cow::Borrowed(""), is_error: false });
        watch.silent_at(60, true);
    }

    #[test]
    fn text_that_leaves_the_screen_as_it_was_is_none() {
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(10, "working\n");
        watch.heard(40, "\x1b[2K\x1b[1m\x1b[0m");
        watch.silent_at(69, false);
        watch.silent_at(70, true);
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(10, &"same\n".repeat(30));
        watch.heard(50, &"same\n".repeat(30));
        watch.silent_at(70, true);
    }

    #[test]
    fn any_change_of_the_last_lines_is_one() {
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(10, "50%\r");
        watch.heard(60, "51%\r");
        watch.silent_at(119, false);
        watch.silent_at(120, true);
        // Only the last 20 lines are seen.
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(2, &format!("first\n{}", "x\n".repeat(20)));
        watch.heard(50, &"x\n".repeat(20));
        watch.silent_at(62, true);
    }

    #[test]
    fn a_flood_costs_no_more_than_its_end() {
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(1, &"x".repeat(10 * SCREEN_BYTES));
        watch.heard(3, "y");
        let Shown::Text { tail, .. } = &watch.activity.shown else { panic!() };
        assert_eq!(tail.len(), SCREEN_BYTES);
    }

    #[test]
    fn excused_time_does_not_count() {
        let mut watch = Watch::of(Dialect::Plain);
        let now = watch.at(1000);
        watch.activity.excuse(now);
        watch.silent_at(1059, false);
        watch.silent_at(1060, true);
    }

    #[test]
    fn without_a_limit_nothing_is_too_long() {
        let began = Instant::now();
        let activity = Activity::of(Dialect::Plain, Patience::default(), began);
        assert_eq!(activity.deadline(), None);
    }
}
