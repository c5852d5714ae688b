//! Claude Code's `stream-json`: one JSON object a line.
//!
//! Read with flat structures that borrow from the line. The parts of a message are moved into
//! events as they are; nothing is copied that has no escape in it.
//!
//! What the stream means, where that is not plain to see (measured, see the captures):
//! - A process may print several results. The last one counts: its cost is that of the whole
//!   session, while its usage is only its own turn's, so usage is added up and cost is not.
//! - `usage` leaves out sub-agents. `modelUsage` counts them, for the whole session.
//! - A message comes as several events with one `message.id`. A tag may span those.
//! - Messages of the model `<synthetic>` are Claude Code's own words about a failure.
//! - A sub-agent's messages carry `parent_tool_use_id`. Its words are not the agent's.
//!
//! Deliberately absent: partial messages (`stream_event`), as the whole ones follow: what the model
//! had begun to say when it was cut off was not said.

use crate::dialect::Sink;
use crate::dialect::api_error::ApiError;
use crate::dialect::claim_scanner::ClaimScanner;
use crate::dialect::event::{AgentEvent, ResultInfo, TodoItem, TodoStatus, ToolInput};
use crate::dialect::json::{ERROR_CHARS, ErrorText, Output, count, read_object, with_error, word};
use crate::dialect::lines::Line;
use crate::dialect::loose::{Each, Loose, Object, loose};
use crate::dialect::refusal::Blocker;
use crate::dialect::stream_summary::{StreamSummary, Tokens};
use crate::dialect::task_tools::TaskTools;
use crate::money::Usd;
use crate::text::clip;
use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, SeqAccess};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Whose words a text is that comes from the user's side.
#[derive(Clone, Copy, Debug)]
pub(in crate::dialect) enum UserText {
    /// Those of hooks and signals. To a sub-agent it is its prompt.
    Notice,
    /// The prompt's, said again.
    Prompt,
}

/// Failed tool calls that are remembered.
const FAILED_MAX: usize = 100;
/// Characters of the reason for a denial.
const DENIAL_CHARS: usize = 200;

/// How a piece of a message that is still being written begins.
const PARTIAL: &[u8] = br#"{"type":"stream_event","#;

#[derive(Debug)]
pub(in crate::dialect) struct Claude {
    scanner: ClaimScanner,
    /// The id of the agent's message that is being read.
    message: String,
    /// Why Claude Code itself spoke instead of the model; its result says whether that was final.
    error_kind: Option<String>,
    /// Denied tool calls: the stream reports most of them twice.
    denied: BTreeSet<String>,
    /// What failed tool calls said, by id: a result names the calls that were denied, not why.
    failed: BTreeMap<String, String>,
    tasks: TaskTools,
    user_text: UserText,
    /// The key that it uses can be another one at its next try.
    renews_key: bool,
    /// It tries again, for minutes, with a key that the service has refused.
    refused_key: Option<RefusedKey>,
    usage: TurnUsage,
}

#[derive(Debug)]
struct RefusedKey {
    status: u16,
    kind: String,
}

/// Every line's fields in one structure. `type` need not come first, so a tagged enum would have
/// to buffer; and a field costs nothing where it is missing.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "loose")]
    kind: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    subtype: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    session_id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    parent_tool_use_id: Cow<'a, str>,
    /// assistant, user: an object. permission_denied: a string.
    #[serde(borrow, deserialize_with = "loose")]
    message: Message<'a>,
    /// assistant, api_retry; Amp's result
    #[serde(borrow, deserialize_with = "loose")]
    error: Cow<'a, str>,
    /// init
    #[serde(borrow, deserialize_with = "loose")]
    model: Cow<'a, str>,
    #[serde(borrow, rename = "apiKeySource", deserialize_with = "loose")]
    api_key_source: Cow<'a, str>,
    /// notification
    #[serde(borrow, deserialize_with = "loose")]
    text: Cow<'a, str>,
    /// model_fallback
    #[serde(borrow, deserialize_with = "loose")]
    content: Cow<'a, str>,
    /// permission_denied
    #[serde(borrow, deserialize_with = "loose")]
    tool_name: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    tool_use_id: Cow<'a, str>,
    /// api_retry
    #[serde(deserialize_with = "loose")]
    attempt: u32,
    #[serde(deserialize_with = "loose")]
    max_retries: u32,
    #[serde(deserialize_with = "loose")]
    retry_delay_ms: u64,
    #[serde(deserialize_with = "loose")]
    error_status: Option<f64>,
    #[serde(borrow, deserialize_with = "loose")]
    rate_limit_info: RateLimit<'a>,
    /// result
    #[serde(borrow, deserialize_with = "loose")]
    result: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    is_error: bool,
    #[serde(borrow, deserialize_with = "loose")]
    errors: Vec<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "loose")]
    terminal_reason: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    api_error_status: Option<f64>,
    #[serde(deserialize_with = "loose")]
    total_cost_usd: Option<f64>,
    #[serde(deserialize_with = "loose")]
    usage: Usage,
    #[serde(rename = "modelUsage", deserialize_with = "loose")]
    model_usage: ModelUsage,
    #[serde(deserialize_with = "loose")]
    num_turns: u32,
    #[serde(deserialize_with = "loose")]
    duration_ms: u64,
    #[serde(borrow, deserialize_with = "loose")]
    permission_denials: Vec<Denial<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageBody<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    model: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    content: Content<'a>,
    #[serde(deserialize_with = "loose")]
    usage: Usage,
}

enum Message<'a> {
    Body(MessageBody<'a>),
    Words(Cow<'a, str>),
}

/// A message's parts. A bare string stands for one text part.
#[derive(Default)]
struct Content<'a>(Vec<Block<'a>>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "loose")]
    kind: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    text: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    thinking: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    name: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow, deserialize_with = "loose")]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    content: Output<'a>,
    #[serde(borrow, deserialize_with = "loose")]
    error: ErrorText<'a>,
    #[serde(deserialize_with = "loose")]
    is_error: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RateLimit<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    status: Cow<'a, str>,
    #[serde(rename = "resetsAt", deserialize_with = "loose")]
    resets_at: Option<f64>,
    #[serde(borrow, rename = "rateLimitType", deserialize_with = "loose")]
    kind: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Usage {
    #[serde(deserialize_with = "loose")]
    input_tokens: u64,
    #[serde(deserialize_with = "loose")]
    output_tokens: u64,
    #[serde(deserialize_with = "loose")]
    cache_read_input_tokens: u64,
    #[serde(deserialize_with = "loose")]
    cache_creation_input_tokens: u64,
}

/// What the session has used, over all models.
#[derive(Default)]
struct ModelUsage(Tokens);

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OneModel {
    #[serde(deserialize_with = "loose")]
    input_tokens: u64,
    #[serde(deserialize_with = "loose")]
    output_tokens: u64,
    #[serde(deserialize_with = "loose")]
    cache_read_input_tokens: u64,
    #[serde(deserialize_with = "loose")]
    cache_creation_input_tokens: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Denial<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    tool_name: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    tool_use_id: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TodoWrite<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    todos: Vec<Todo<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Todo<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    content: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    subject: Cow<'a, str>,
    #[serde(deserialize_with = "loose")]
    status: TodoStatus,
}

impl<'de: 'a, 'a> Object<'de> for MessageBody<'a> {}
impl<'de: 'a, 'a> Object<'de> for Block<'a> {}
impl<'de: 'a, 'a> Object<'de> for RateLimit<'a> {}
impl<'de> Object<'de> for Usage {}
impl<'de> Object<'de> for OneModel {}
impl<'de: 'a, 'a> Object<'de> for Denial<'a> {}
impl<'de: 'a, 'a> Object<'de> for Todo<'a> {}

impl Usage {
    fn tokens(&self) -> Tokens {
        Tokens {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cache_read_input_tokens,
            cache_write: self.cache_creation_input_tokens,
        }
    }
}

/// What the answers of a turn have used. Each event of an answer repeats what the answer has used, so only
/// the last one of each counts.
#[derive(Debug, Default)]
struct TurnUsage {
    earlier: Tokens,
    answer: String,
    latest: Tokens,
}

impl TurnUsage {
    /// The sum, if it has changed.
    fn add(&mut self, answer: &str, tokens: Tokens) -> Option<Tokens> {
        if answer != self.answer {
            self.earlier += self.latest;
            self.answer = answer.to_owned();
        } else if tokens == self.latest {
            return None;
        }
        self.latest = tokens;
        let mut sum = self.earlier;
        sum += tokens;
        (tokens != Tokens::default()).then_some(sum)
    }
}

impl Claude {
    pub(in crate::dialect) fn new(user_text: UserText, scanner: ClaimScanner) -> Claude {
        Claude {
            scanner,
            message: String::new(),
            error_kind: None,
            denied: BTreeSet::new(),
            failed: BTreeMap::new(),
            tasks: TaskTools::default(),
            user_text,
            renews_key: false,
            refused_key: None,
            usage: TurnUsage::default(),
        }
    }

    pub(in crate::dialect) fn line(&mut self, line: Line<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        // Most lines are of this kind, and they need not be parsed to be passed over.
        if matches!(line, Line::Whole(bytes) if bytes.starts_with(PARTIAL)) {
            return;
        }
        read_object(line, seen, sink, |text, seen, sink| match serde_json::from_str(text) {
            Ok(event) => {
                self.event(event, seen, sink);
                true
            }
            Err(_) => false,
        });
    }

    pub(in crate::dialect) fn finish(self, seen: &mut StreamSummary) {
        if let Some(RefusedKey { status, kind }) = self.refused_key
            && !seen.result
        {
            seen.error = Some(format!("API error {status}: {kind}"));
            (seen.error_kind, seen.api_status) = (Some(kind), Some(status));
        }
        self.scanner.finish(seen);
    }

    pub(in crate::dialect) fn blocked(&self) -> Option<Blocker> {
        self.refused_key.as_ref().map(|_| Blocker::Login)
    }

    fn event(&mut self, event: Event<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        match &*event.kind {
            "assistant" => self.assistant(event, seen, sink),
            "user" => self.user(event, seen, sink),
            "system" => self.system(event, seen, sink),
            "result" => self.result(event, seen, sink),
            "rate_limit_event" => rate_limit(event.rate_limit_info, seen, sink),
            "stream_event" => {}
            _ => count(&mut seen.other),
        }
    }

    fn assistant(&mut self, event: Event<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        let Message::Body(message) = event.message else {
            return count(&mut seen.other);
        };
        if message.model == "<synthetic>" {
            self.error_kind = word(&event.error);
            return notices(message.content, sink);
        }
        self.refused_key = None;
        let parent = Some(event.parent_tool_use_id).filter(|id| !id.is_empty());
        if parent.is_none() && (message.id.is_empty() || message.id != self.message) {
            self.message.clear();
            self.message.push_str(&message.id);
            self.scanner.boundary();
            count(&mut seen.steps);
        }
        if let Some(tokens) = self.usage.add(&message.id, message.usage.tokens()) {
            sink(AgentEvent::Usage(tokens));
        }
        for block in message.content.0 {
            let parent = parent.clone();
            match &*block.kind {
                "text" if !block.text.trim().is_empty() => {
                    if parent.is_none() {
                        seen.text = true;
                        self.scanner.feed(&block.text);
                    }
                    sink(AgentEvent::Text { text: block.text, parent });
                }
                "thinking" if !block.thinking.trim().is_empty() => {
                    sink(AgentEvent::Thinking { text: block.thinking, parent });
                }
                // Also those that run elsewhere: `server_tool_use`, `mcp_tool_use`.
                kind if kind.ends_with("tool_use") => self.tool_start(block, parent, seen, sink),
                kind if kind.ends_with("tool_result") => self.tool_end(block, seen, sink),
                _ => {}
            }
        }
    }

    fn user(&mut self, event: Event<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        let Message::Body(message) = event.message else {
            return count(&mut seen.other);
        };
        for block in message.content.0 {
            match (&*block.kind, self.user_text) {
                (kind, _) if kind.ends_with("tool_result") => self.tool_end(block, seen, sink),
                ("text", UserText::Notice) if event.parent_tool_use_id.is_empty() => {
                    sink(AgentEvent::Notice { text: block.text });
                }
                _ => {}
            }
        }
    }

    fn system(&mut self, event: Event<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        match &*event.subtype {
            "init" => {
                seen.session = word(&event.session_id).or(seen.session.take());
                self.renews_key = matches!(&*event.api_key_source, "none" | "apiKeyHelper");
                sink(AgentEvent::Session { id: event.session_id, model: event.model });
            }
            "api_retry" => self.retry(event, sink),
            "permission_denied" => {
                let why = match event.message {
                    Message::Words(words) => words,
                    Message::Body(_) => Cow::Borrowed(""),
                };
                let denial = Denial { tool_name: event.tool_name, tool_use_id: event.tool_use_id };
                self.deny(denial, why, seen, sink);
            }
            "notification" => sink(AgentEvent::Notice { text: event.text }),
            "model_fallback" => sink(AgentEvent::Notice { text: event.content }),
            "compact_boundary" => sink(AgentEvent::Notice { text: "conversation compacted".into() }),
            _ => count(&mut seen.other),
        }
    }

    /// A key in the environment stays refused. A login is renewed after the first refusal, also
    /// when another Claude has done so meanwhile, and gets a second try.
    fn retry(&mut self, event: Event<'_>, sink: Sink<'_>) {
        let unauthorized = event.error_status == Some(401.0);
        self.refused_key = (unauthorized && (event.attempt > 1 || !self.renews_key)).then(|| RefusedKey {
            status: 401,
            kind: word(&event.error).unwrap_or_else(|| "authentication_failed".to_owned()),
        });
        sink(AgentEvent::Retry {
            attempt: event.attempt,
            of: event.max_retries,
            delay_ms: event.retry_delay_ms,
            why: match event.error_status {
                Some(status) => Cow::Owned(format!("{status} {}", event.error)),
                None => event.error,
            },
        });
    }

    fn deny(&mut self, denial: Denial<'_>, why: Cow<'_, str>, seen: &mut StreamSummary, sink: Sink<'_>) {
        let Denial { tool_name: tool, tool_use_id: id } = denial;
        let why = match self.failed.remove(&*id) {
            Some(reason) if why.is_empty() => Cow::Owned(reason),
            _ => why,
        };
        if !id.is_empty() && !self.denied.insert(id.into_owned()) {
            return;
        }
        seen.deny(&tool, &why);
        sink(AgentEvent::Denied { tool, why });
    }

    fn tool_start(
        &mut self,
        block: Block<'_>,
        parent: Option<Cow<'_, str>>,
        seen: &mut StreamSummary,
        sink: Sink<'_>,
    ) {
        count(&mut seen.tools);
        let json = block.input.map_or("{}", RawValue::get);
        // A sub-agent's list would take the place of the agent's own.
        let is_own = parent.is_none();
        let changes_tasks = is_own && self.tasks.called(&block.id, &block.name, json);
        let is_list = is_own && matches!(&*block.name, "TodoWrite" | "todo_write");
        sink(AgentEvent::ToolStart { id: block.id, name: block.name, input: ToolInput::new(json), parent });
        if is_list && let Ok(list) = serde_json::from_str::<TodoWrite<'_>>(json) {
            sink(AgentEvent::Todo(list.todos.into_iter().map(Todo::item).collect()));
        } else if changes_tasks {
            sink(AgentEvent::Todo(self.tasks.items()));
        }
    }

    fn tool_end(&mut self, block: Block<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        let is_error = block.is_error || !block.error.0.trim().is_empty();
        let (id, output) = (block.tool_use_id, with_error(block.content.0, &block.error.0));
        if is_error {
            count(&mut seen.tool_errors);
            if self.failed.len() < FAILED_MAX {
                self.failed.insert(id.to_string(), clip(&output, DENIAL_CHARS).into_owned());
            }
        }
        let changes_tasks = self.tasks.ended(&id, &output, is_error);
        sink(AgentEvent::ToolEnd { id, output, is_error });
        if changes_tasks {
            sink(AgentEvent::Todo(self.tasks.items()));
        }
    }

    fn result(&mut self, mut event: Event<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
        for denial in std::mem::take(&mut event.permission_denials) {
            self.deny(denial, Cow::Borrowed(""), seen, sink);
        }
        let api_error = ApiError::read(&event.error);
        let status = event.api_error_status.or(api_error.status.map(f64::from));
        let error = failure(&event, &api_error, status);
        // The result repeats the last words. They are news only if none came before, as with
        // `--output-format json`.
        if error.is_none() && !seen.text && !event.result.trim().is_empty() {
            seen.text = true;
            self.scanner.boundary();
            self.scanner.feed(&event.result);
        }
        let tokens = event.usage.tokens();
        self.usage = TurnUsage::default();
        let cost = event.total_cost_usd.map(Usd::from_dollars);
        let error_kind = self.error_kind.take().or(word(&api_error.kind));
        self.refused_key = None;
        seen.result = true;
        seen.cost = cost.or(seen.cost);
        match event.model_usage.0 {
            unreported if unreported == Tokens::default() => seen.tokens += tokens,
            of_session => seen.tokens = of_session,
        }
        seen.session = word(&event.session_id).or(seen.session.take());
        seen.error_kind = error_kind.filter(|_| error.is_some());
        seen.api_status = status.filter(|_| error.is_some()).map(|status| status as u16);
        seen.error.clone_from(&error);
        let (turns, duration_ms) = (event.num_turns, event.duration_ms);
        sink(AgentEvent::Result(ResultInfo { text: event.result, error, cost, tokens, turns, duration_ms }));
    }
}

fn notices(content: Content<'_>, sink: Sink<'_>) {
    for block in content.0 {
        if !block.text.trim().is_empty() {
            sink(AgentEvent::Notice { text: block.text });
        }
    }
}

fn rate_limit(limit: RateLimit<'_>, seen: &mut StreamSummary, sink: Sink<'_>) {
    let resets_at = limit.resets_at.map(|seconds| seconds as i64);
    seen.blocked_until = resets_at.filter(|_| limit.status == "rejected");
    sink(AgentEvent::RateLimit { status: limit.status, resets_at, kind: limit.kind });
}

/// What a result says went wrong. A failed request is `subtype: "success"` with `is_error`; older
/// versions say `error_max_turns` without it.
fn failure(event: &Event<'_>, api_error: &ApiError<'_>, status: Option<f64>) -> Option<String> {
    if !event.is_error && !event.subtype.starts_with("error") {
        return None;
    }
    let details = [event.result.to_string(), event.errors.join("; "), api_error.text.to_string()];
    let detail = details.iter().find(|detail| !detail.trim().is_empty()).map_or("", String::as_str);
    let reason = [&event.terminal_reason, &event.subtype].into_iter().find(|reason| !reason.is_empty());
    let label = match (status, reason.map_or("", |reason| &**reason)) {
        (Some(status), _) => format!("API error {status}"),
        (None, "api_error") => "API error".to_owned(),
        (None, "") => "error".to_owned(),
        (None, reason) => reason.to_owned(),
    };
    // The text often begins with what the label says.
    let mut detail = detail.trim();
    detail = detail.strip_prefix("API Error:").unwrap_or(detail).trim_start();
    if let Some(status) = status {
        detail = detail.strip_prefix(&status.to_string()).unwrap_or(detail).trim_start();
    }
    let whole = if detail.is_empty() { label } else { format!("{label}: {detail}") };
    Some(clip(&whole, ERROR_CHARS).into_owned())
}

impl<'a> Todo<'a> {
    fn item(self) -> TodoItem<'a> {
        let text = if self.content.trim().is_empty() { self.subject } else { self.content };
        TodoItem { text, status: self.status }
    }
}

impl<'de> Loose<'de> for ModelUsage {
    fn map<A: MapAccess<'de>>(mut map: A) -> Result<ModelUsage, A::Error> {
        let mut sum = Tokens::default();
        while let Some((_, Each(model))) = map.next_entry::<IgnoredAny, Each<OneModel>>()? {
            sum += Tokens {
                input: model.input_tokens,
                output: model.output_tokens,
                cache_read: model.cache_read_input_tokens,
                cache_write: model.cache_creation_input_tokens,
            };
        }
        Ok(ModelUsage(sum))
    }
}

impl Default for Message<'_> {
    fn default() -> Self {
        Message::Body(MessageBody::default())
    }
}

impl<'de: 'a, 'a> Loose<'de> for Message<'a> {
    fn string(text: Cow<'de, str>) -> Message<'a> {
        Message::Words(text)
    }

    fn map<A: MapAccess<'de>>(map: A) -> Result<Message<'a>, A::Error> {
        MessageBody::map(map).map(Message::Body)
    }
}

impl<'de: 'a, 'a> Loose<'de> for Content<'a> {
    fn string(text: Cow<'de, str>) -> Content<'a> {
        Content(vec![Block { kind: Cow::Borrowed("text"), text, ..Block::default() }])
    }

    fn seq<A: SeqAccess<'de>>(seq: A) -> Result<Content<'a>, A::Error> {
        Vec::seq(seq).map(Content)
    }
}
