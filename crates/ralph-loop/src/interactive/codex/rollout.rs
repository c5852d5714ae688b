//! Lines of Codex's rollout.
//!
//! What the model said and called is there as it went over the wire (`response_item`), and most of it once more as
//! the interface shows it (`item_completed`), which has the outputs and exit codes. The first to come is printed.

use super::Codex;
use crate::dialect::Tokens;
use crate::interactive::Effect;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    payload: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    input_tokens: u64,
    cached_input_tokens: u64,
    cache_write_input_tokens: u64,
    output_tokens: u64,
    reasoning_output_tokens: u64,
}

impl Usage {
    /// What came from the cache is part of the input.
    pub(super) fn tokens(self) -> Tokens {
        let cached = self.cached_input_tokens.saturating_add(self.cache_write_input_tokens);
        Tokens {
            input: self.input_tokens.saturating_sub(cached),
            output: self.output_tokens,
            cache_read: self.cached_input_tokens,
            cache_write: self.cache_write_input_tokens,
        }
    }
}

/// How full the context is.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Window {
    last_token_usage: LastUsage,
    model_context_window: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LastUsage {
    total_tokens: u64,
}

impl Window {
    pub(super) fn used_percentage(&self) -> Option<u64> {
        let window = self.model_context_window.filter(|window| *window > 0)?;
        Some(self.last_token_usage.total_tokens.saturating_mul(100) / window)
    }
}

/// Why a turn failed.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Error {
    message: String,
    /// A word, or a word with details.
    codex_error_info: Value,
}

impl Error {
    /// As a headless Codex says it, with the service's word for it where the sentence has none.
    pub(super) fn message(&self) -> String {
        let (word, status) = match &self.codex_error_info {
            Value::String(word) => (word.as_str(), None),
            Value::Object(fields) => match fields.iter().next() {
                Some((word, details)) => (word.as_str(), details["http_status_code"].as_u64()),
                None => ("", None),
            },
            _ => ("", None),
        };
        let kind = match word {
            "usage_limit_exceeded" => "usage_limit",
            "server_overloaded" => "overloaded",
            "internal_server_error" => "server_error",
            "unauthorized" => "authentication_error",
            "http_connection_failed" | "response_stream_connection_failed" => "connection_failed",
            _ => "",
        };
        // Its own JSON says more.
        if self.message.trim_start().starts_with('{') || (kind.is_empty() && status.is_none()) {
            return self.message.clone();
        }
        let body = json!({"error": {"type": kind, "message": self.message}});
        status.map_or_else(|| body.to_string(), |status| format!("{status} {body}"))
    }
}

impl Codex {
    pub(super) fn rollout(&mut self, line: &str, effects: &mut Vec<Effect>) {
        let Ok(Line { kind, payload }) = serde_json::from_str(line) else { return };
        let kind_of_payload = text(&payload["type"]);
        match (&*kind, kind_of_payload) {
            ("event_msg", "item_completed") => self.item(&payload["item"], effects),
            ("response_item", _) => self.response_item(&payload, effects),
            ("token_usage_record", _) => {
                self.used(read(&payload["thread_token_usage"]), effects);
            }
            ("event_msg", "token_count") if payload["info"].is_object() => {
                self.used(read(&payload["info"]["total_token_usage"]), effects);
                self.context(&read(&payload["info"]), effects);
            }
            ("event_msg", "error" | "stream_error") => {
                let line = json!({"type": "error", "message": text(&payload["message"])});
                effects.push(Effect::Print(line.to_string()));
            }
            ("event_msg", "warning") => {
                let item = json!({"type": "error", "message": text(&payload["message"])});
                effects.push(Effect::Print(json!({"type": "item.completed", "item": item}).to_string()));
            }
            ("event_msg", "turn_aborted") => self.person.interrupted(effects),
            ("event_msg", "task_complete") if payload["error"].is_object() => {
                self.fail(&read(&payload["error"]), effects);
            }
            ("event_msg", "task_complete") => self.complete(payload["last_agent_message"].as_str(), effects),
            _ => {}
        }
    }

    /// An item as the interface has it.
    fn item(&mut self, item: &Value, effects: &mut Vec<Effect>) {
        let id = text(&item["id"]).to_owned();
        let printed = match text(&item["type"]) {
            "AgentMessage" => json!({"id": id, "type": "agent_message", "text": texts(&item["content"], "")}),
            "Reasoning" => json!({"id": id, "type": "reasoning", "text": strings(&item["summary_text"])}),
            "CommandExecution" => json!({
                "id": id, "type": "command_execution", "command": command(&item["command"]),
                "aggregated_output": item["aggregated_output"], "exit_code": item["exit_code"],
                "status": item["status"],
            }),
            "FileChange" => json!({
                "id": id, "type": "file_change", "changes": changes(&item["changes"]), "status": item["status"],
            }),
            "McpToolCall" => json!({
                "id": id, "type": "mcp_tool_call", "server": item["server"], "tool": item["tool"],
                "arguments": item["arguments"], "result": item["result"], "error": item["error"],
                "status": item["status"],
            }),
            "WebSearch" => json!({"id": id, "type": "web_search", "query": item["query"]}),
            _ => return,
        };
        match text(&item["type"]) {
            "AgentMessage" | "Reasoning" => self.person.speaks(effects),
            _ => self.person.some_call_ended(&id, effects),
        }
        self.completed(&id, &printed, effects);
    }

    /// An item as it went to the model or came from it.
    fn response_item(&mut self, item: &Value, effects: &mut Vec<Effect>) {
        let (id, call) = (text(&item["id"]), text(&item["call_id"]));
        match text(&item["type"]) {
            "message" if item["role"] == "assistant" => {
                self.person.speaks(effects);
                let words = texts(&item["content"], "");
                self.completed(id, &json!({"id": id, "type": "agent_message", "text": words}), effects);
            }
            "function_call" => {
                let arguments: Value = serde_json::from_str(text(&item["arguments"])).unwrap_or_default();
                self.call(call, text(&item["name"]), &arguments, effects);
            }
            "function_call_output" | "custom_tool_call_output" => self.output(call, &item["output"], effects),
            _ => {}
        }
    }

    /// Only commands begin here: of other tools the item has what there is to show.
    fn call(&mut self, call: &str, name: &str, arguments: &Value, effects: &mut Vec<Effect>) {
        let line = match name {
            "exec_command" => arguments["cmd"].clone(),
            "shell" | "shell_command" => json!(command(&arguments["command"])),
            _ => return,
        };
        self.person.called(call, "Bash", &json!({"command": line}));
        let item = json!({"id": call, "type": "command_execution", "command": line, "aggregated_output": "",
            "exit_code": null, "status": "in_progress"});
        self.started(call, item, effects);
    }

    /// The end of a command whose item has not come. One that still runs has not ended.
    fn output(&mut self, call: &str, output: &Value, effects: &mut Vec<Effect>) {
        let said = output.as_str().unwrap_or_else(|| text(&output["content"]));
        if said.contains("Process running with session ID") {
            return;
        }
        self.person.some_call_ended(call, effects);
        let Some(mut item) = self.open.get(call).cloned() else { return };
        let (head, printed) = said.split_once("Output:\n").unwrap_or(("", said));
        let code = head
            .split_once("exited with code ")
            .and_then(|(_, rest)| rest.lines().next()?.parse::<i64>().ok());
        item["aggregated_output"] = printed.into();
        item["exit_code"] = code.into();
        item["status"] = if code.is_none_or(|code| code == 0) { "completed" } else { "failed" }.into();
        self.completed(call, &item, effects);
    }
}

/// What is missing or odd counts as nothing.
fn read<T: Default + for<'de> Deserialize<'de>>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The texts of a message's parts.
fn texts(content: &Value, between: &str) -> String {
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(between)
}

fn strings(list: &Value) -> String {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// As it would be typed: arguments in quotes where a shell would need them.
fn command(command: &Value) -> String {
    let Some(arguments) = command.as_array() else { return text(command).to_owned() };
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c))
    };
    let quoted = |word: &str| match plain(word) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    arguments.iter().map(|word| quoted(text(word))).collect::<Vec<_>>().join(" ")
}

/// A list of paths, from a map of them or from such a list.
fn changes(changes: &Value) -> Value {
    let Some(by_path) = changes.as_object() else { return changes.clone() };
    by_path.iter().map(|(path, change)| json!({"path": path, "kind": change["type"]})).collect()
}
