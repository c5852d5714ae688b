//! How full an agent's context is, and what to tell it about that.
//!
//! Agents keep a transcript, one JSON object a line, and note in it what each answer of the
//! model has used. The last such note says how much of the window is in use; it is looked for
//! from the end, and lines that cannot have one are not parsed.

use memchr::memmem::Finder;
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt;

/// Tokens in a context, unless configured otherwise.
pub const DEFAULT_WINDOW: u64 = 200_000;

/// For transcripts without numbers.
const BYTES_A_TOKEN: u64 = 4;

/// Per cent of the window at which the agent is told, once each.
pub const THRESHOLDS: [u8; 5] = [50, 60, 70, 80, 90];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub tokens: u64,
    /// The window, where the transcript says it.
    pub window: Option<u64>,
}

impl Usage {
    /// A guess from the size of the whole transcript.
    pub fn of_size(bytes: u64) -> Usage {
        Usage { tokens: bytes / BYTES_A_TOKEN, window: None }
    }
}

/// The last usage that the end of a transcript reports. Unless it is the whole of it, the
/// first line may be cut and does not count.
pub fn last_usage(tail: &[u8], whole: bool) -> Option<Usage> {
    let marks = [Finder::new(b"\"usage\""), Finder::new(b"\"last_token_usage\"")];
    let mut rest = tail;
    loop {
        let start = memchr::memrchr(b'\n', rest);
        let line = match start {
            Some(at) => &rest[at + 1..],
            None if whole => rest,
            None => return None,
        };
        if marks.iter().any(|mark| mark.find(line).is_some())
            && let Some(usage) = serde_json::from_slice(line).ok().and_then(|line: Line<'_>| line.usage())
        {
            return Some(usage);
        }
        rest = &rest[..start?];
    }
}

/// A line of Claude's transcript, or of Codex's.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    /// Of a sub-agent, which has a context of its own.
    #[serde(rename = "isSidechain", default)]
    sidechain: bool,
    message: Option<Message>,
    payload: Option<Payload>,
}

#[derive(Deserialize)]
struct Message {
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Payload {
    info: Option<Info>,
}

#[derive(Deserialize)]
struct Info {
    last_token_usage: Option<Counts>,
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Line<'_> {
    fn usage(self) -> Option<Usage> {
        let (counts, window) = match &*self.kind {
            "assistant" if !self.sidechain => (self.message?.usage?, None),
            "event_msg" => {
                let info = self.payload?.info?;
                (info.last_token_usage?, info.model_context_window)
            }
            _ => return None,
        };
        let parts = [
            counts.input_tokens,
            counts.cache_creation_input_tokens,
            counts.cache_read_input_tokens,
            counts.output_tokens,
        ];
        let tokens = parts.into_iter().flatten().fold(0, u64::saturating_add);
        // An error that the agent words as an answer of the model has used nothing.
        (tokens > 0).then_some(Usage { tokens, window })
    }
}

/// A threshold that has been reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alert {
    pub threshold: u8,
    usage: Usage,
    window: u64,
}

impl Alert {
    /// The highest threshold that is reached. `window` is the user's word, if there is one.
    pub fn reached(usage: Usage, window: Option<u64>) -> Option<Alert> {
        let window = window.or(usage.window).filter(|window| *window > 0).unwrap_or(DEFAULT_WINDOW);
        let full =
            |threshold: &u8| u128::from(usage.tokens) * 100 >= u128::from(window) * u128::from(*threshold);
        let threshold = THRESHOLDS.into_iter().rfind(full)?;
        Some(Alert { threshold, usage, window })
    }
}

/// What the agent is told.
impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, advice) = match self.threshold {
            ..70 => (
                "NOTICE",
                "Be mindful of remaining space. Plan to finish your current task within this session. If you \
                 discover follow-up work, add new stories to tasks.json — the next iteration will pick them up.",
            ),
            70..90 => (
                "WARNING",
                "Finish your current task and commit soon. Do not start additional tasks. If work remains, \
                 create new stories in tasks.json for the next iteration and capture any implementation details \
                 or insights in progress.txt so the next iteration has full context.",
            ),
            90.. => (
                "CRITICAL",
                "Wrap up immediately. Do NOT start new work. Instead: (1) create tasks in tasks.json for any \
                 remaining work, (2) write implementation details, insights, and handoff notes to progress.txt, \
                 (3) commit all changes, (4) stop. The next iteration will continue from where you left off.",
            ),
        };
        let (tokens, window) = (self.usage.tokens, self.window);
        let percent = u128::from(tokens) * 100 / u128::from(window);
        write!(
            f,
            "{severity}: about {percent}% of the context is used ({tokens} of {window} tokens). {advice}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = r#"{"parentUuid":"x","isSidechain":false,"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"the \"usage\" of it"}],"usage":{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":90000,"output_tokens":7,"service_tier":"standard"}},"uuid":"y"}"#;
    const RESULT: &str = r#"{"isSidechain":false,"type":"user","message":{"role":"user","content":"\"usage\": 5"},"toolUseResult":{"usage":{"input_tokens":9}}}"#;
    const CODEX: &str = r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900,"cached_input_tokens":800,"output_tokens":90,"reasoning_output_tokens":1,"total_tokens":990},"last_token_usage":{"input_tokens":500,"cached_input_tokens":400,"output_tokens":40,"reasoning_output_tokens":1,"total_tokens":540},"model_context_window":1000},"rate_limits":null}}"#;

    #[track_caller]
    fn check(lines: &[&str], tokens: Option<u64>) {
        let text = lines.join("\n");
        for text in [text.clone(), format!("{text}\n")] {
            assert_eq!(last_usage(text.as_bytes(), true).map(|usage| usage.tokens), tokens, "{lines:?}");
            // With something before it, the end is the same.
            let longer = format!("cut off\"}}\n{text}");
            assert_eq!(last_usage(longer.as_bytes(), false).map(|usage| usage.tokens), tokens, "{lines:?}");
        }
    }

    #[test]
    fn the_last_answer_of_the_model_tells_what_is_used() {
        check(&[CLAUDE], Some(90_110));
        check(&[CLAUDE, RESULT, "", "{\"type\":\"system\"}"], Some(90_110));
        let later = CLAUDE.replace("90000", "95000");
        check(&[CLAUDE, RESULT, &later, RESULT], Some(95_110));
        check(&[CODEX], Some(540));
        assert_eq!(last_usage(CODEX.as_bytes(), true).unwrap().window, Some(1000));
    }

    #[test]
    fn what_is_no_answer_of_this_context_is_passed_over() {
        let sidechain = CLAUDE.replace("\"isSidechain\":false", "\"isSidechain\":true");
        let nothing = r#"{"type":"assistant","message":{"usage":{"input_tokens":0,"output_tokens":0}}}"#;
        let half = &CLAUDE[..CLAUDE.len() - 20];
        let odd = r#"{"type":"assistant","message":{"usage":{"input_tokens":"many"}}}"#;
        check(&[CLAUDE, &sidechain, nothing, half, odd, RESULT], Some(90_110));
        check(&[RESULT, "no JSON with \"usage\""], None);
        check(
            &[r#"{"type":"event_msg","payload":{"type":"token_count","info":null,"x":"last_token_usage"}}"#],
            None,
        );
        check(&[], None);
    }

    #[test]
    fn a_first_line_that_may_be_cut_does_not_count() {
        assert_eq!(last_usage(CLAUDE.as_bytes(), false), None);
        assert!(last_usage(format!("\n{CLAUDE}").as_bytes(), false).is_some());
    }

    #[test]
    fn the_highest_threshold_speaks() {
        let threshold = |tokens, window| {
            Alert::reached(Usage { tokens, window: None }, window).map(|alert| alert.threshold)
        };
        assert_eq!(threshold(99_999, None), None);
        for (tokens, wanted) in
            [(100_000, 50), (120_000, 60), (159_999, 70), (160_000, 80), (180_000, 90), (u64::MAX, 90)]
        {
            assert_eq!(threshold(tokens, None), Some(wanted), "{tokens}");
        }
        assert_eq!(threshold(599, Some(1000)), Some(50));
        // A window of nothing is no window.
        assert_eq!(threshold(100_000, Some(0)), Some(50));
        let usage = Usage { tokens: 540, window: Some(1000) };
        assert_eq!(Alert::reached(usage, None).unwrap().threshold, 50);
        assert_eq!(Alert::reached(usage, Some(10_000)), None);
    }

    #[test]
    fn there_are_three_severities() {
        let text = |tokens| Alert::reached(Usage { tokens, window: None }, Some(100)).unwrap().to_string();
        for (tokens, severity, advice) in [
            (
                50,
                "NOTICE: about 50% of the context is used (50 of 100 tokens). ",
                "Be mindful of remaining space.",
            ),
            (
                65,
                "NOTICE: about 65%",
                "add new stories to tasks.json — the next iteration will pick them up.",
            ),
            (70, "WARNING: about 70%", "Finish your current task and commit soon."),
            (89, "WARNING: about 89%", "so the next iteration has full context."),
            (91, "CRITICAL: about 91%", "Wrap up immediately. Do NOT start new work."),
        ] {
            let text = text(tokens);
            assert!(text.starts_with(severity) && text.contains(advice), "{text}");
        }
    }
}
