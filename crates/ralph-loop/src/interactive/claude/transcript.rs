//! Lines of Claude's transcript. Most of them are notes of Claude's to itself and are skipped.

use super::result::Usage;
use super::{Claude, Turn};
use crate::interactive::Effect;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What a person's Esc leaves in the transcript, with an addition where a tool was running.
const INTERRUPTED: &str = "[Request interrupted by user";
/// What a Stop hook that keeps the agent at work has to say.
const HOOK_FEEDBACK: &str = "Stop hook feedback";
/// The parent of a sub-agent's messages, where the transcript does not name it.
const SOME_PARENT: &str = "sidechain";

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    subtype: String,
    is_sidechain: bool,
    #[serde(alias = "parentToolUseID", alias = "parent_tool_use_id")]
    parent_tool_use_id: Option<String>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    /// stop_hook_summary
    hook_errors: Vec<Value>,
    /// api_error
    retry_attempt: Option<f64>,
    max_retries: Option<f64>,
    retry_in_ms: Option<f64>,
    error: Value,
    /// Of a message in the place of the model's: the limit that was hit.
    quota_limits: Value,
    api_error_params: Value,
    /// cost-state
    #[serde(rename = "totalCostUSD")]
    total_cost_usd: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    id: String,
    model: String,
    content: Value,
    usage: Usage,
}

impl Message {
    fn blocks(&self) -> impl Iterator<Item = &Value> {
        self.content.as_array().into_iter().flatten()
    }

    /// Its texts; a content that is one is the only one.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let texts =
            self.blocks().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
        self.content.as_str().into_iter().chain(texts)
    }
}

impl Claude {
    pub(super) fn transcript(&mut self, now_ms: u64, line: &str, effects: &mut Vec<Effect>) {
        let Ok(line) = serde_json::from_str::<Line<'_>>(line) else { return };
        self.has_transcript = true;
        match (&*line.kind, &*line.subtype) {
            ("assistant", _) => self.assistant(&line, effects),
            ("user", _) => self.user(&line, effects),
            ("cost-state", _) => self.cost_state(&line, effects),
            ("system", "turn_duration") if matches!(self.turn, Turn::Stopping { .. }) => {
                return self.complete(now_ms, effects);
            }
            ("system", "stop_hook_summary") => self.hooks_ended(line.hook_errors.is_empty()),
            ("system", "api_error") => effects.push(Effect::Print(retry(&line))),
            ("system", "compact_boundary") => {
                effects.push(Effect::Print(
                    json!({"type": "system", "subtype": "compact_boundary"}).to_string(),
                ));
            }
            _ => return,
        }
        if let Turn::Stopping { heard_ms, .. } = &mut self.turn {
            *heard_ms = now_ms;
        }
    }

    /// After the end of the turn only the cost of all of it is news.
    pub(super) fn late_cost(&mut self, line: &str, effects: &mut Vec<Effect>) {
        if let Ok(line) = serde_json::from_str::<Line<'_>>(line)
            && line.kind == "cost-state"
        {
            self.cost_state(&line, effects);
        }
    }

    fn cost_state(&mut self, line: &Line<'_>, effects: &mut Vec<Effect>) {
        if let Some(dollars) = line.total_cost_usd {
            self.cost(dollars, effects);
        }
    }

    fn assistant(&mut self, line: &Line<'_>, effects: &mut Vec<Effect>) {
        let Some(message) = read(line) else { return };
        // Claude's own words about a failure; StopFailure has them too.
        if message.model == "<synthetic>" {
            self.limits.hit(&line.quota_limits);
            self.limits.hit(&line.api_error_params["rate_limit_info"]);
            return;
        }
        let parent = parent(line);
        self.spent.answer(parent.unwrap_or_default(), &message.id, &message.usage);
        if parent.is_none() {
            if let Some(words) = message.texts().filter(|text| !text.trim().is_empty()).last() {
                words.clone_into(&mut self.words);
            }
            self.person.speaks(effects);
        }
        for call in message.blocks().filter(|block| block["type"] == "tool_use") {
            let (id, name) =
                (call["id"].as_str().unwrap_or_default(), call["name"].as_str().unwrap_or_default());
            self.person.called(id, name, &call["input"]);
        }
        effects.extend(printed("assistant", line, parent, &self.session));
    }

    fn user(&mut self, line: &Line<'_>, effects: &mut Vec<Effect>) {
        let Some(message) = read(line) else { return };
        let parent = parent(line);
        let results: Vec<&str> = message
            .blocks()
            .filter(|block| block["type"] == "tool_result")
            .filter_map(|block| block["tool_use_id"].as_str())
            .collect();
        for call in &results {
            self.person.call_ended(call, effects);
        }
        let has_feedback = message.texts().any(|text| text.starts_with(HOOK_FEEDBACK));
        if parent.is_none() && has_feedback {
            self.turn = Turn::Open;
        }
        if !results.is_empty() || (parent.is_none() && has_feedback) {
            effects.extend(printed("user", line, parent, &self.session));
        }
        if parent.is_none() && message.texts().any(|text| text.starts_with(INTERRUPTED)) {
            self.turn = Turn::Open;
            self.person.interrupted(effects);
        }
    }

    /// One that reports an error keeps the agent at work.
    fn hooks_ended(&mut self, all_agree: bool) {
        match (&mut self.turn, all_agree) {
            (Turn::Stopping { hooks_ended, .. }, true) => *hooks_ended = true,
            (turn @ Turn::Stopping { .. }, false) => *turn = Turn::Open,
            _ => {}
        }
    }
}

fn read(line: &Line<'_>) -> Option<Message> {
    serde_json::from_str(line.message?.get()).ok()
}

/// The call that started the sub-agent whose line this is.
fn parent<'a>(line: &'a Line<'_>) -> Option<&'a str> {
    line.is_sidechain.then(|| line.parent_tool_use_id.as_deref().unwrap_or(SOME_PARENT))
}

/// The line as a headless Claude prints it: the same message.
fn printed(kind: &str, line: &Line<'_>, parent: Option<&str>, session: &str) -> Option<Effect> {
    let message: Value = serde_json::from_str(line.message?.get()).ok()?;
    let line = json!({"type": kind, "message": message, "parent_tool_use_id": parent, "session_id": session});
    Some(Effect::Print(line.to_string()))
}

fn retry(line: &Line<'_>) -> String {
    let status = line.error["status"].as_u64();
    // Where there is no word for it, the sentence.
    let words = [&line.error["error"]["error"]["type"], &line.error["type"], &line.error["message"]];
    let word = words.into_iter().find_map(Value::as_str).unwrap_or_default();
    let word = if status == Some(401) { "authentication_failed" } else { word };
    let count = |number: Option<f64>| number.unwrap_or_default() as u64;
    json!({"type": "system", "subtype": "api_retry", "attempt": count(line.retry_attempt),
        "max_retries": count(line.max_retries), "retry_delay_ms": count(line.retry_in_ms),
        "error_status": status, "error": word})
    .to_string()
}
