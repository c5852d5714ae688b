//! Signs of life of an agent.
//!
//! A stream of events shows life by every byte, and shows when a tool runs. Text shows life by a
//! line that was not shown before, as far back as is remembered. What is drawn again is therefore
//! no sign of life: an escape code, the same line, a spinner that has gone round once.
//!
//! A sign of life counts from when it was read, however much later the text is looked at.
//!
//! What follows from silence is the policy's business.

use ralph_loop::ask::Silence;
use ralph_loop::dialect::{AgentEvent, Dialect, OutputKind};
use ralph_loop::limits::Patience;
use ralph_loop::text::printable;
use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// So many bytes of a text are looked at, and so many different lines are remembered: more than
/// can be in several screens or in the cycle of any spinner.
const TAIL_BYTES: usize = 16 << 10;
const KNOWN_LINES: usize = 8192;

/// Tools that are known to be running by name; more are not told apart.
const OPEN_TOOLS: usize = 1024;

/// A text is looked at so often, as a part of the silence that is endured: a flood of it must
/// not cost more than reading it.
const LOOKS: u32 = 50;

#[derive(Debug)]
pub(super) struct Activity {
    /// How long silence is endured, and how long while a tool runs.
    silence_ms: Option<u64>,
    tool_ms: Option<u64>,
    last_sign: Instant,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Stream { open_tools: HashSet<String> },
    Text(Text),
}

/// The end of a text, and what has been seen of it.
#[derive(Debug)]
struct Text {
    tail: Vec<u8>,
    /// The text is longer: the first line of the tail may have begun before it.
    cut: bool,
    known: Known,
    looked: Instant,
    /// When the first and the last of what has not been looked at were read.
    unseen: Option<(Instant, Instant)>,
}

/// The last different lines that were shown, as hashes.
#[derive(Debug, Default)]
struct Known {
    lines: HashSet<u64>,
    /// The same, oldest first.
    order: VecDeque<u64>,
}

impl Known {
    /// Returns whether it is new.
    fn add(&mut self, line: u64) -> bool {
        let is_new = self.lines.insert(line);
        if is_new {
            self.order.push_back(line);
        }
        if self.order.len() > KNOWN_LINES
            && let Some(oldest) = self.order.pop_front()
        {
            self.lines.remove(&oldest);
        }
        is_new
    }
}

impl Activity {
    pub(super) fn of(dialect: Dialect, patience: Patience, now: Instant) -> Activity {
        let shown = match dialect.spec().output {
            OutputKind::Stream => Shown::Stream { open_tools: HashSet::new() },
            OutputKind::Text => Shown::Text(Text::new(now)),
        };
        let (silence_ms, tool_ms) = (patience.silence_ms(dialect), patience.tool_ms);
        Activity { silence_ms, tool_ms, last_sign: now, shown }
    }

    /// Output has come.
    pub(super) fn heard(&mut self, bytes: &[u8], now: Instant) {
        let Some(endured) = self.silence_ms else { return };
        match &mut self.shown {
            Shown::Stream { .. } => self.last_sign = now,
            Shown::Text(text) => {
                let sign = text.add(bytes, now, Duration::from_millis(endured) / LOOKS);
                self.last_sign = sign.unwrap_or(self.last_sign);
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
        let endured = if self.tool_runs() { self.tool_ms } else { self.silence_ms };
        self.last_sign.checked_add(Duration::from_millis(endured?))
    }

    /// Asked at the deadline: whether it has been silent all the time.
    pub(super) fn silent(&mut self, now: Instant) -> Option<Silence> {
        if let Shown::Text(text) = &mut self.shown {
            self.last_sign = text.look(now).unwrap_or(self.last_sign);
        }
        let tool = self.tool_runs();
        let after_ms = if tool { self.tool_ms } else { self.silence_ms }?;
        (self.deadline()? <= now).then_some(Silence { after_ms, tool })
    }

    fn tool_runs(&self) -> bool {
        matches!(&self.shown, Shown::Stream { open_tools } if !open_tools.is_empty())
    }
}

impl Text {
    fn new(now: Instant) -> Text {
        Text { tail: Vec::new(), cut: false, known: Known::default(), looked: now, unseen: None }
    }

    /// Returns when there was a sign of life, if a look shows one. Looks are `every` so long apart.
    fn add(&mut self, bytes: &[u8], now: Instant, every: Duration) -> Option<Instant> {
        // What came long before this is not dated by it.
        let stale = self.unseen.is_some_and(|(first, _)| now >= first + every);
        let earlier = if stale { self.look(now) } else { None };
        let new = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let kept = self.tail.len().min(TAIL_BYTES - new.len());
        self.cut |= kept < self.tail.len() || new.len() < bytes.len();
        self.tail.drain(..self.tail.len() - kept);
        self.tail.extend_from_slice(new);
        self.unseen = Some((self.unseen.map_or(now, |(first, _)| first), now));
        let due = now >= self.looked + every;
        if due { self.look(now).or(earlier) } else { earlier }
    }

    /// Returns when the last of what was read since the last look came, if there is a line in it
    /// that was not known.
    fn look(&mut self, now: Instant) -> Option<Instant> {
        self.looked = now;
        let (_, read) = self.unseen.take()?;
        let text = drawn_lines(&self.tail);
        let from = if self.cut { text.find('\n').map_or(0, |at| at + 1) } else { 0 };
        let lines = text[from..].lines().map(str::trim).filter(|line| !line.is_empty());
        let new = lines.filter(|line| self.known.add(hash(line))).count();
        (new > 0).then_some(read)
    }
}

/// The lines of a text without control sequences. A line that is rewound, erased or left for
/// another one has ended: what follows is drawn as a line of its own.
fn drawn_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut drawn = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find(['\r', '\x08', '\x1b']) {
        drawn.push_str(&rest[..at]);
        let len = if rest[at..].starts_with('\x1b') { moves_cursor(&rest[at..]) } else { Some(1) };
        if let Some(len) = len {
            drawn.push('\n');
            rest = &rest[at + len..];
        } else {
            // Left to be removed with all others.
            drawn.push('\x1b');
            rest = &rest[at + 1..];
        }
    }
    drawn.push_str(rest);
    printable(&drawn).into_owned()
}

/// The length of a sequence that moves the cursor or erases, at the start of a text.
fn moves_cursor(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !matches!(c, '\x20'..='\x3f'))?;
    matches!(parameters.as_bytes()[end], b'A'..=b'H' | b'J' | b'K' | b'd' | b'f').then_some(end + 3)
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    const PATIENCE: Patience = Patience { silence_ms: Some(60_000), tool_ms: Some(600_000), text_ms: None };

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
    fn a_sign_counts_from_when_it_was_read() {
        // Read right after a look, and looked at only when the time is up.
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(2, "one\n");
        watch.heard(3, "two\n");
        watch.silent_at(62, false);
        watch.silent_at(63, true);
        // What came long after it is nothing new, and does not make it younger.
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(2, "one\n");
        watch.heard(3, "two\n");
        watch.heard(50, "two\n");
        watch.silent_at(62, false);
        watch.silent_at(63, true);
    }

    #[test]
    fn what_is_drawn_again_is_none() {
        for frames in [
            &["\rworking"][..],
            &["never\n"],
            &["\x1b[2K\x1b[1G- working", "\x1b[2K\x1b[1G\\ working"],
            &["|\x08", "/\x08", "-\x08", "\\\x08"],
            &["\x1b[2A\x1b[Jtitle\n  50%\n"],
            &["\x1b[1mtitle\x1b[0m\n", "title\n"],
        ] {
            let mut watch = Watch::of(Dialect::Plain);
            for (second, frame) in (0..70).zip(frames.iter().cycle()) {
                watch.heard(2 * second, frame);
            }
            watch.silent_at(59, false);
            watch.silent_at(70, true);
        }
    }

    #[test]
    fn a_long_cycle_is_drawn_again_as_well() {
        for length in [25, 56, 1000] {
            let frame = |n: u64| format!("\x1b[2K\rworking on part {}", n % length);
            let mut watch = Watch::of(Dialect::Plain);
            let per_second = length.div_ceil(50);
            for second in 0..200 {
                let frames: String = (second * per_second..(second + 1) * per_second).map(frame).collect();
                watch.heard(second, &frames);
            }
            // Alive until it has gone round once.
            assert!(watch.activity.last_sign <= watch.at(length / per_second + 2), "{length}");
            watch.silent_at(200, true);
        }
    }

    #[test]
    fn so_many_lines_are_remembered_and_no_more() {
        let mut known = Known::default();
        assert!((0..3 * KNOWN_LINES as u64).all(|line| known.add(line)));
        assert_eq!((known.lines.len(), known.order.len()), (KNOWN_LINES, KNOWN_LINES));
        assert!(!known.add(3 * KNOWN_LINES as u64 - 1) && known.add(0));
    }

    #[test]
    fn a_text_longer_than_what_is_looked_at_is_no_sign_by_where_it_is_cut() {
        let mut watch = Watch::of(Dialect::Plain);
        for second in 0..40 {
            watch.heard(2 * second, &"a line that is always the same\n".repeat(700 + second as usize));
        }
        watch.silent_at(70, true);
    }

    #[test]
    fn any_change_of_the_last_lines_is_one() {
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(10, "50%\r");
        watch.heard(60, "51%\r");
        watch.silent_at(119, false);
        watch.silent_at(120, true);
        // What is still in view is no change.
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(2, &format!("first\n{}", "x\n".repeat(20)));
        watch.heard(50, &"x\n".repeat(20));
        watch.silent_at(62, true);
    }

    #[test]
    fn a_flood_costs_no_more_than_its_end() {
        let mut watch = Watch::of(Dialect::Plain);
        watch.heard(1, &"x".repeat(10 * TAIL_BYTES));
        watch.heard(3, "y");
        let Shown::Text(text) = &watch.activity.shown else { panic!() };
        assert_eq!(text.tail.len(), TAIL_BYTES);
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
    fn text_can_have_a_limit_of_its_own() {
        let patience = Patience { silence_ms: Some(600_000), text_ms: Some(60_000), tool_ms: None };
        let began = Instant::now();
        for (dialect, seconds) in [(Dialect::Claude, 600), (Dialect::Codex, 600), (Dialect::Plain, 60)] {
            let activity = Activity::of(dialect, patience, began);
            assert_eq!(activity.deadline(), Some(began + Duration::from_secs(seconds)), "{dialect:?}");
        }
    }

    #[test]
    fn without_a_limit_nothing_is_too_long() {
        let began = Instant::now();
        let activity = Activity::of(Dialect::Plain, Patience::default(), began);
        assert_eq!(activity.deadline(), None);
    }
}
