//! Codex's `exec --json`: one JSON object a line.
//!
//! What the stream means, where that is not plain to see (measured, see the captures):
//! - `error` alone decides nothing. `Reconnecting… 1/5` is a retry; any other is final only if
//!   the turn fails or the stream ends with it.
//! - An item of type `error` is a warning.
//! - Usage is that of the whole thread, also after a resume, so the last one counts and nothing
//!   is added up. Its input includes what came from the cache, its output the reasoning.
//! - An item may be reported at its end only, and its beginning is then reported with it.
//! - Without a network it does not fail: `Reconnecting... waiting for network`, again and again.
//!
//! Deliberately absent: the time at which a usage limit ends. It is in the error's text.

use super::sentences::kind_of;
use crate::dialect::Sink;
use crate::dialect::api_error::ApiError;
use crate::dialect::claim_scanner::ClaimScanner;
use crate::dialect::event::{AgentEvent, ResultInfo, TodoItem, TodoStatus, ToolInput};
use crate::dialect::json::{ERROR_CHARS, ErrorText, Output, count, read_object, with_error, word};
use crate::dialect::lines::Line;
use crate::dialect::loose::{Object, loose};
use crate::dialect::refusal::Blocker;
use crate::dialect::stream_summary::{StreamSummary, Tokens};
use crate::text::clip;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Items that are begun at the same time. Beyond that a beginning may be reported twice.
const OPEN_MAX: usize = 1000;
/// Room for a service's whole answer, which cannot be read once it is cut.
const COMPLAINT_CHARS: usize = 8000;

#[derive(Debug)]
pub(in crate::dialect) struct Codex {
    scanner: ClaimScanner,
    /// The ids of items whose beginning was reported.
    open: BTreeSet<String>,
    /// What an `error` event said, until it is known whether that was the end.
    complaint: Option<String>,
    /// Why it waits for the network.
    offline: Option<String>,
}

/// Every line's fields in one structure: a field costs nothing where it is missing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "loose")]
    kind: Cow<'a, str>,
    /// thread.started
    #[serde(borrow, deserialize_with = "loose")]
    thread_id: Cow<'a, str>,
    /// Only of one in a terminal.
    #[serde(borrow, deserialize_with = "loose")]
    model: Cow<'a, str>,
    /// item.*
    #[serde(borrow, deserialize_with = "loose")]
    item: Item<'a>,
    /// error
    #[serde(borrow, deserialize_with = "loose")]
    message: Cow<'a, str>,
    /// turn.failed
    #[serde(borrow, deserialize_with = "loose")]
    error: ErrorText<'a>,
    /// turn.completed
    #[serde(deserialize_with = "loose")]
    usage: Usage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    id: Cow<'a, str>,
    #[serde(borrow, rename = "type", deserialize_with = "loose")]
    kind: Cow<'a, str>,
    /// `in_progress`, `completed`, `failed`, `declined`
    #[serde(borrow, deserialize_with = "loose")]
    status: Cow<'a, str>,
    /// agent_message, reasoning
    #[serde(borrow, deserialize_with = "loose")]
    text: Cow<'a, str>,
    /// error
    #[serde(borrow, deserialize_with = "loose")]
    message: Cow<'a, str>,
    /// command_execution
    #[serde(borrow)]
    command: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "loose")]
    aggregated_output: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    exit_code: Option<f64>,
    /// file_change
    #[serde(borrow)]
    changes: Option<&'a RawValue>,
    /// mcp_tool_call; collab_tool_call has only a tool and a prompt
    #[serde(borrow, deserialize_with = "loose")]
    server: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    tool: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "loose")]
    result: ToolResult<'a>,
    #[serde(borrow, deserialize_with = "loose")]
    error: ErrorText<'a>,
    /// web_search
    #[serde(borrow)]
    query: Option<&'a RawValue>,
    /// todo_list, plan
    #[serde(borrow, deserialize_with = "loose")]
    items: Vec<Todo<'a>>,
    #[serde(borrow, deserialize_with = "loose")]
    plan: Vec<Todo<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ToolResult<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    content: Output<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Todo<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    text: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    step: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    completed: bool,
    #[serde(deserialize_with = "loose")]
    status: TodoStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(deserialize_with = "loose")]
    input_tokens: u64,
    #[serde(deserialize_with = "loose")]
    cached_input_tokens: u64,
    #[serde(deserialize_with = "loose")]
    cache_write_input_tokens: u64,
    #[serde(deserialize_with = "loose")]
    output_tokens: u64,
}

impl<'de: 'a, 'a> Object<'de> for Item<'a> {}
impl<'de: 'a, 'a> Object<'de> for ToolResult<'a> {}
impl<'de: 'a, 'a> Object<'de> for Todo<'a> {}
impl<'de> Object<'de> for Usage {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Updated,
    Completed,
}

impl Codex {
    pub(in crate::dialect) fn new(scanner: ClaimScanner) -> Codex {
        Codex { scanner, open: BTreeSet::new(), complaint: None, offline: None }
    }

    pub(in crate::dialect) fn line(&mut self, line: Line<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        read_object(line, seen, sink, |text, seen, sink| match serde_json::from_str(text) {
            Ok(event) => {
                self.event(event, seen, sink);
                true
            }
            Err(_) => false,
        });
    }

    pub(in crate::dialect) fn finish(mut self, seen: &mut StreamSummary) {
        if !seen.result {
            if let Some(complaint) = self.complaint.take() {
                record_failure(&complaint, seen);
            } else if let Some(why) = self.offline.take() {
                seen.error = Some(clip(&why, ERROR_CHARS).into_owned());
                seen.error_kind = Some("connection_failed".to_owned());
            }
        }
        self.scanner.finish(seen);
    }

    pub(in crate::dialect) fn blocked(&self) -> Option<Blocker> {
        self.offline.as_ref().map(|_| Blocker::Network)
    }

    fn event(&mut self, event: Event<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        // Whatever else it reports, it got through.
        if event.kind != "error" {
            self.offline = None;
        }
        match &*event.kind {
            "item.started" => self.item(Stage::Started, event.item, seen, sink),
            "item.updated" => self.item(Stage::Updated, event.item, seen, sink),
            "item.completed" => self.item(Stage::Completed, event.item, seen, sink),
            "error" => self.complain(&event.message, sink),
            "turn.completed" => self.turn_completed(&event.usage, seen, sink),
            "turn.failed" => self.turn_failed(&event.error.0, seen, sink),
            "thread.started" => {
                seen.session = word(&event.thread_id).or(seen.session.take());
                sink(AgentEvent::Session { id: event.thread_id, model: event.model });
            }
            "turn.started" => {}
            _ => count(&mut seen.other),
        }
    }

    fn item(&mut self, stage: Stage, item: Item<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        match &*item.kind {
            "agent_message" | "reasoning" | "error" if stage != Stage::Completed => {}
            "agent_message" if !item.text.trim().is_empty() => {
                count(&mut seen.steps);
                seen.text = true;
                self.scanner.boundary();
                self.scanner.feed(&item.text);
                sink(AgentEvent::Text { text: item.text, parent: None });
            }
            "reasoning" if !item.text.trim().is_empty() => {
                sink(AgentEvent::Thinking { text: item.text, parent: None });
            }
            "agent_message" | "reasoning" => {}
            "error" => sink(AgentEvent::Notice { text: item.message }),
            // A plan is a list of steps, or a text.
            "plan" if item.items.is_empty() && item.plan.is_empty() => {
                if stage == Stage::Completed && !item.text.trim().is_empty() {
                    sink(AgentEvent::Notice { text: item.text });
                }
            }
            "todo_list" | "plan" => self.todo_list(stage, item, sink),
            _ => match tool(&item) {
                Some((name, input)) => self.tool(stage, item, name, &input, seen, sink),
                None => count(&mut seen.other),
            },
        }
    }

    /// Its end, at the end of the turn, only says again what the last update said.
    fn todo_list(&mut self, stage: Stage, item: Item<'_>, sink: Sink<'_>) {
        let already_shown = match stage {
            Stage::Started | Stage::Updated => {
                self.begin(&item.id);
                false
            }
            Stage::Completed => self.open.remove(&*item.id),
        };
        if !already_shown {
            sink(AgentEvent::Todo(item.items.into_iter().chain(item.plan).map(todo).collect()));
        }
    }

    fn tool(
        &mut self,
        stage: Stage,
        item: Item<'_>,
        name: Cow<'_, str>,
        input: &str,
        seen: &mut StreamSummary,
        sink: Sink<'_>,
    ) {
        let begins = match stage {
            // What is searched for may be known only at the end.
            Stage::Started => item.kind != "web_search" || !matches!(input, "{}" | r#"{"query":""}"#),
            Stage::Updated => false,
            Stage::Completed => !self.open.remove(&*item.id),
        };
        if begins {
            count(&mut seen.tools);
            let (id, name) = (Cow::Borrowed(&*item.id), Cow::Borrowed(&*name));
            sink(AgentEvent::ToolStart { id, name, input: ToolInput::new(input), parent: None });
        }
        match stage {
            Stage::Started if begins => self.begin(&item.id),
            Stage::Started | Stage::Updated => {}
            Stage::Completed => tool_end(item, name, seen, sink),
        }
    }

    fn begin(&mut self, id: &str) {
        if self.open.len() < OPEN_MAX {
            self.open.insert(id.to_owned());
        }
    }

    fn complain(&mut self, message: &str, sink: Sink<'_>) {
        match Reconnecting::read(message) {
            Some(Reconnecting { attempt, of, why }) => {
                self.offline = why.starts_with("waiting for network").then(|| why.to_owned());
                sink(AgentEvent::Retry { attempt, of, delay_ms: 0, why: Cow::Borrowed(why) });
            }
            None if message.trim().is_empty() => {}
            None => self.complaint = Some(clip(message, COMPLAINT_CHARS).into_owned()),
        }
    }

    fn turn_completed(&mut self, usage: &Usage, seen: &mut StreamSummary, sink: Sink<'_>) {
        if let Some(survived) = self.complaint.take() {
            sink(AgentEvent::Notice { text: Cow::Owned(survived) });
        }
        let cached = usage.cached_input_tokens.saturating_add(usage.cache_write_input_tokens);
        let tokens = Tokens {
            input: usage.input_tokens.saturating_sub(cached),
            output: usage.output_tokens,
            cache_read: usage.cached_input_tokens,
            cache_write: usage.cache_write_input_tokens,
        };
        seen.result = true;
        seen.tokens = tokens;
        (seen.error, seen.error_kind, seen.api_status) = (None, None, None);
        sink(AgentEvent::Result(ResultInfo { tokens, ..ResultInfo::default() }));
    }

    fn turn_failed(&mut self, message: &str, seen: &mut StreamSummary, sink: Sink<'_>) {
        let complaint = self.complaint.take().unwrap_or_default();
        let message =
            [message, &complaint, "the turn failed"].into_iter().find(|text| !text.trim().is_empty());
        seen.result = true;
        record_failure(message.unwrap_or_default(), seen);
        sink(AgentEvent::Result(ResultInfo { error: seen.error.clone(), ..ResultInfo::default() }));
    }
}

fn record_failure(message: &str, seen: &mut StreamSummary) {
    let error = ApiError::read(message);
    // By its own sentence, else by the word of the service where it hands that on.
    let kind = if error.kind.starts_with("usage_limit") { "usage_limit" } else { &error.kind };
    seen.error_kind = kind_of(&error.text).map(str::to_owned).or_else(|| word(kind));
    seen.api_status = error.status;
    seen.error = Some(clip(&error.text, ERROR_CHARS).into_owned());
}

/// A tool's name and input, if the item is a tool's call at all.
fn tool<'a>(item: &Item<'a>) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
    let (name, input) = match &*item.kind {
        "command_execution" => (Cow::Borrowed("shell"), field("command", item.command)),
        "file_change" => (Cow::Borrowed("Edit"), field("changes", item.changes)),
        "web_search" => (Cow::Borrowed("WebSearch"), field("query", item.query)),
        "mcp_tool_call" => {
            let input = item.arguments.map_or("{}", RawValue::get);
            (Cow::Owned(format!("{}.{}", item.server, item.tool)), Cow::Borrowed(input))
        }
        "collab_tool_call" => (item.tool.clone(), field("prompt", item.prompt)),
        _ => return None,
    };
    Some((name, input))
}

/// An object of one field, its value as it was written.
fn field<'a>(name: &str, value: Option<&RawValue>) -> Cow<'a, str> {
    match value {
        Some(value) => Cow::Owned(format!("{{\"{name}\":{}}}", value.get())),
        None => Cow::Borrowed("{}"),
    }
}

fn tool_end(item: Item<'_>, name: Cow<'_, str>, seen: &mut StreamSummary, sink: Sink<'_>) {
    let declined = item.status == "declined";
    let is_error = declined
        || item.status == "failed"
        || item.exit_code.is_some_and(|code| code != 0.0)
        || !item.error.0.is_empty();
    let outputs = [item.aggregated_output, item.result.content.0];
    let output = outputs.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    let output = with_error(output, &item.error.0);
    if is_error {
        count(&mut seen.tool_errors);
    }
    if declined {
        seen.deny(&name, &output);
        sink(AgentEvent::Denied { tool: name, why: Cow::Borrowed(&*output) });
    }
    sink(AgentEvent::ToolEnd { id: item.id, output, is_error });
}

fn todo(todo: Todo<'_>) -> TodoItem<'_> {
    let status = if todo.completed { TodoStatus::Completed } else { todo.status };
    TodoItem { text: if todo.text.is_empty() { todo.step } else { todo.text }, status }
}

/// `Reconnecting... 1/5 (why)`, with dots or an ellipsis.
struct Reconnecting<'a> {
    attempt: u32,
    of: u32,
    why: &'a str,
}

impl Reconnecting<'_> {
    fn read(message: &str) -> Option<Reconnecting<'_>> {
        let rest = message.strip_prefix("Reconnecting")?.trim_start_matches(['.', '…', ' ']);
        let (counts, why) = rest.split_once(' ').unwrap_or((rest, ""));
        let counts =
            counts.split_once('/').and_then(|(attempt, of)| Some((attempt.parse().ok()?, of.parse().ok()?)));
        let Some((attempt, of)) = counts else {
            return Some(Reconnecting { attempt: 0, of: 0, why: rest });
        };
        let inner = why.strip_prefix('(').and_then(|why| why.strip_suffix(')'));
        Some(Reconnecting { attempt, of, why: inner.unwrap_or(why) })
    }
}
