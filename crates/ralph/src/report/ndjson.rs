//! A run as a stream of JSON lines, for other programs.
//!
//! `{"type":"event", …}` is a fact as the journal has it, `{"type":"agent", "kind": …}` a
//! piece of the agent's stream, `{"type":"result", …}` the last line.

use super::screen::Screen;
use super::{Reporter, RunResult, stop_asked};
use ralph_loop::dialect::{AgentEvent, TodoStatus};
use ralph_loop::view::{Moment, RunView, Update};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

pub struct Ndjson {
    screen: Screen,
}

#[derive(Serialize)]
struct Tagged<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

impl Ndjson {
    pub fn stdout() -> Ndjson {
        Ndjson { screen: Screen::new(None, false) }
    }

    pub fn close(&mut self, result: &RunResult) {
        self.put(&Tagged { kind: "result", body: result });
        self.screen.flush();
    }

    fn put(&mut self, line: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(line) {
            self.screen.data(&text);
        }
    }
}

impl Reporter for Ndjson {
    fn update(&mut self, update: &Update<'_>) {
        if let [Moment::StopAsked] = update.moments[..] {
            self.screen.aside(stop_asked(update.state));
        }
        self.put(&Tagged { kind: "event", body: update.event });
    }

    fn agent(&mut self, event: &AgentEvent<'_>) {
        self.put(&agent_json(event));
    }

    fn agent_stderr(&mut self, line: &str) {
        self.put(&json!({"type": "agent", "kind": "stderr", "text": line}));
    }

    fn aside(&mut self, text: &str) {
        self.screen.aside(text);
    }

    fn rest(&mut self) {
        self.screen.rest();
    }

    fn tick_every(&mut self) -> Option<Duration> {
        None
    }

    fn tick(&mut self, _: &RunView, _: u64) {}
}

fn agent_json(event: &AgentEvent<'_>) -> Value {
    let mut line = match event {
        AgentEvent::Session { id, model } => json!({"kind": "session", "id": id, "model": model}),
        AgentEvent::Text { text, parent } => json!({"kind": "text", "text": text, "parent": parent}),
        AgentEvent::Thinking { text, parent } => json!({"kind": "thinking", "text": text, "parent": parent}),
        AgentEvent::ToolStart { id, name, input, parent } => {
            json!({"kind": "tool_start", "id": id, "name": name, "input": input.summary(), "parent": parent})
        }
        AgentEvent::ToolEnd { id, output, is_error } => {
            json!({"kind": "tool_end", "id": id, "output": output, "is_error": is_error})
        }
        AgentEvent::Todo(items) => {
            let word = |status| match status {
                TodoStatus::Pending => "pending",
                TodoStatus::InProgress => "in_progress",
                TodoStatus::Completed => "completed",
            };
            let items: Vec<_> =
                items.iter().map(|i| json!({"text": i.text, "status": word(i.status)})).collect();
            json!({"kind": "todo", "items": items})
        }
        AgentEvent::Retry { attempt, of, delay_ms, why } => {
            json!({"kind": "retry", "attempt": attempt, "of": of, "delay_ms": delay_ms, "why": why})
        }
        AgentEvent::RateLimit { status, resets_at, kind } => {
            json!({"kind": "rate_limit", "status": status, "resets_at": resets_at, "limit": kind})
        }
        AgentEvent::Denied { tool, why } => json!({"kind": "denied", "tool": tool, "why": why}),
        AgentEvent::Usage(tokens) => json!({"kind": "usage", "tokens": tokens}),
        AgentEvent::Cost(usd) => json!({"kind": "cost", "cost": usd.dollars()}),
        AgentEvent::Waiting { why, text } => json!({"kind": "waiting", "why": why, "text": text}),
        AgentEvent::Working => json!({"kind": "working"}),
        AgentEvent::Typed { text } => json!({"kind": "typed", "text": text}),
        AgentEvent::Received { bytes, whole } => {
            json!({"kind": "received", "bytes": bytes, "whole": whole})
        }
        AgentEvent::Result(info) => json!({
            "kind": "result", "text": info.text, "error": info.error, "cost": info.cost.map(ralph_loop::money::Usd::dollars),
            "turns": info.turns, "duration_ms": info.duration_ms, "tokens": info.tokens,
        }),
        AgentEvent::Notice { text } => json!({"kind": "notice", "text": text}),
        AgentEvent::Unparsed { bytes, sample } => {
            json!({"kind": "unparsed", "bytes": bytes, "sample": sample})
        }
    };
    line["type"] = "agent".into();
    line
}
