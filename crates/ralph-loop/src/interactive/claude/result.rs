//! What a turn has used and how it ended, as headless Claude reports it.

use crate::dialect::Tokens;
use crate::money::Usd;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Sums over the turn.
#[derive(Debug, Default)]
pub(super) struct Spent {
    /// Of the session, as Claude says it.
    pub(super) cost: Option<Usd>,
    /// Of the answers that are complete.
    earlier: Tokens,
    /// The answers that more may come of, by id: one of the agent, and one of each sub-agent.
    open: BTreeMap<String, (String, Tokens)>,
    answers: u32,
    began_ms: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
}

impl Spent {
    /// A prompt came in.
    pub(super) fn begin(&mut self, now_ms: u64) {
        self.began_ms.get_or_insert(now_ms);
    }

    /// Each part of an answer repeats what the whole answer has used. `speaker` is empty for the agent itself.
    pub(super) fn answer(&mut self, speaker: &str, id: &str, usage: &Usage) {
        let tokens = Tokens {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_input_tokens,
            cache_write: usage.cache_creation_input_tokens,
        };
        let before = self.open.insert(speaker.to_owned(), (id.to_owned(), tokens));
        match before {
            Some((same, _)) if same == id => return,
            Some((_, complete)) => self.earlier += complete,
            None => {}
        }
        self.answers += u32::from(speaker.is_empty());
    }

    fn tokens(&self) -> Tokens {
        let mut sum = self.earlier;
        for (_, tokens) in self.open.values() {
            sum += *tokens;
        }
        sum
    }

    pub(super) fn result(&self, session: &str, words: &str, now_ms: u64) -> String {
        let mut result = self.numbers(session, words, now_ms);
        result["is_error"] = false.into();
        result.to_string()
    }

    pub(super) fn failed(&self, session: &str, failure: &Failure<'_>, now_ms: u64) -> String {
        let mut result = self.numbers(session, failure.text, now_ms);
        result["is_error"] = true.into();
        result["terminal_reason"] = "api_error".into();
        result["api_error_status"] = failure.status.into();
        result.to_string()
    }

    fn numbers(&self, session: &str, words: &str, now_ms: u64) -> Value {
        let Tokens { input, output, cache_read, cache_write } = self.tokens();
        let duration_ms = self.began_ms.map_or(0, |began| now_ms.saturating_sub(began));
        let mut result = json!({
            "type": "result", "subtype": "success", "session_id": session, "result": words,
            "num_turns": self.answers, "duration_ms": duration_ms,
            "usage": {"input_tokens": input, "output_tokens": output, "cache_read_input_tokens": cache_read,
                "cache_creation_input_tokens": cache_write},
        });
        if let Some(cost) = self.cost {
            result["total_cost_usd"] = cost.dollars().into();
        }
        result
    }
}

/// A limit, in the words of StopFailure.
pub(super) const RATE_LIMIT: &str = "rate_limit";

/// Why the service did not answer, in Claude's words.
#[derive(Debug)]
pub(super) struct Failure<'a> {
    kind: &'a str,
    text: &'a str,
    status: Option<u16>,
}

impl<'a> Failure<'a> {
    pub(super) fn read(kind: &'a str, text: &'a str) -> Failure<'a> {
        Failure { kind, text, status: status(text) }
    }

    pub(super) fn is_limit(&self) -> bool {
        self.kind == RATE_LIMIT
    }

    /// Claude's own words in the place of the model's, with the kind of the failure.
    pub(super) fn message(&self, session: &str) -> String {
        let message = json!({"model": "<synthetic>", "role": "assistant",
            "content": [{"type": "text", "text": self.text}]});
        json!({"type": "assistant", "message": message, "error": self.kind, "session_id": session})
            .to_string()
    }
}

/// `API Error: 400 bad`, `API Error: Request rejected (429) · …`.
fn status(text: &str) -> Option<u16> {
    let (_, after) = text.split_once("API Error: ")?;
    let within = after.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(inner, _)| inner);
    let first = after.split(|character: char| !character.is_ascii_digit()).next();
    [first, within].into_iter().flatten().find_map(|word| {
        word.parse().ok().filter(|status: &u16| word.len() == 3 && (400..600).contains(status))
    })
}

/// The limits of a subscription.
#[derive(Debug, Default)]
pub(super) struct Limits {
    windows: Windows,
    /// The one that was hit, as the transcript has it: in the words of a headless Claude.
    hit: Option<Value>,
}

/// As the status line has them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Windows {
    five_hour: Option<Window>,
    seven_day: Option<Window>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Window {
    used_percentage: Option<f64>,
    /// Unix seconds.
    resets_at: Option<f64>,
}

impl Limits {
    pub(super) fn update(&mut self, windows: Windows) {
        self.windows = windows;
    }

    /// What the transcript says about a limit.
    pub(super) fn hit(&mut self, info: &Value) {
        if info["status"] == "rejected" && info["resetsAt"].is_number() {
            self.hit = Some(info.clone());
        }
    }

    /// The event of a limit that is used up.
    pub(super) fn event(&self) -> Option<String> {
        let info = self.hit.clone().or_else(|| self.windows.used_up())?;
        Some(json!({"type": "rate_limit_event", "rate_limit_info": info}).to_string())
    }
}

impl Windows {
    /// Of several, the one that lasts longest.
    fn used_up(&self) -> Option<Value> {
        let used_up = |(kind, window): (&'static str, Option<Window>)| {
            let window = window.filter(|window| window.used_percentage.is_some_and(|used| used >= 100.0))?;
            Some((kind, window.resets_at? as i64))
        };
        let windows = [("five_hour", self.five_hour), ("seven_day", self.seven_day)];
        let (kind, resets_at) = windows.into_iter().filter_map(used_up).max_by_key(|(_, at)| *at)?;
        Some(json!({"status": "rejected", "resetsAt": resets_at, "rateLimitType": kind}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_where_claude_writes_it() {
        for (text, expected) in [
            ("API Error: 400 bad", Some(400)),
            ("API Error: Request rejected (429) · usage limit", Some(429)),
            ("Please run /login · API Error: 401 bad key", Some(401)),
            ("API Error: the connection (tcp) failed", None),
            ("API Error: 4001 bad", None),
            ("API Error: 200 well", None),
            ("Prompt is too long", None),
            ("404 lines", None),
        ] {
            assert_eq!(status(text), expected, "{text}");
        }
    }

    #[test]
    fn the_limit_that_is_used_up_and_lasts_longest_says_when_to_come_back() {
        let event = |json: &str| {
            let mut limits = Limits::default();
            limits.update(serde_json::from_str(json).unwrap());
            limits.event()
        };
        assert_eq!(event("{}"), None);
        assert_eq!(event(r#"{"five_hour":{"used_percentage":99.4,"resets_at":5}}"#), None);
        let both = r#"{"five_hour":{"used_percentage":100,"resets_at":5},"seven_day":{"used_percentage":101.5,"resets_at":9}}"#;
        let line: Value = serde_json::from_str(&event(both).unwrap()).unwrap();
        let info = &line["rate_limit_info"];
        assert_eq!((&info["resetsAt"], &info["rateLimitType"]), (&json!(9), &json!("seven_day")));
    }

    #[test]
    fn the_limit_that_was_hit_goes_before_all_others() {
        let mut limits = Limits::default();
        limits
            .update(serde_json::from_str(r#"{"five_hour":{"used_percentage":100,"resets_at":5}}"#).unwrap());
        limits.hit(&json!({"status": "allowed", "resetsAt": 7}));
        limits.hit(&json!({"status": "rejected"}));
        assert!(limits.event().unwrap().contains(r#""resetsAt":5"#));
        limits.hit(&json!({"status": "rejected", "resetsAt": 8, "rateLimitType": "seven_day_opus"}));
        assert!(limits.event().unwrap().contains(r#""resetsAt":8"#));
    }
}
