//! A request to the model, understood as far as the script needs it, in one shape for both
//! protocols.

use crate::http::Request;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// `…/messages`
    Anthropic,
    /// `…/responses`
    Responses,
}

impl Protocol {
    pub(crate) fn of_path(path: &str) -> Option<Protocol> {
        match path.trim_end_matches('/').rsplit('/').next() {
            Some("messages") => Some(Protocol::Anthropic),
            Some("responses") => Some(Protocol::Responses),
            _ => None,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Protocol::Anthropic => "anthropic",
            Protocol::Responses => "responses",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) protocol: Protocol,
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) tools: Vec<Tool>,
    /// What the user said before the model first spoke, without what the client put around it.
    pub(crate) opening: String,
    /// The last words of the user or of a tool.
    pub(crate) last_user: String,
    /// All that was said since the model last spoke, also by the client itself.
    pub(crate) heard: String,
    /// All that the model was told so far, its instructions first.
    pub(crate) told: String,
    pub(crate) assistant_turns: usize,
    /// The client's own name for the conversation, if it sends one.
    pub(crate) session: Option<String>,
    /// Housekeeping of the client, not the user's work.
    pub(crate) side: bool,
}

/// A tool that the client offers.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) schema: Value,
}

enum Role {
    User,
    Assistant,
    Tool,
    Other,
}

impl Ask {
    pub(crate) fn of(protocol: Protocol, request: &Request, body: &Value) -> Ask {
        let (turns, tools) = match protocol {
            Protocol::Anthropic => (anthropic_turns(body), anthropic_tools(body)),
            Protocol::Responses => (responses_turns(body), responses_tools(body)),
        };
        let before = turns.iter().take_while(|(role, _)| !matches!(role, Role::Assistant));
        let opening: Vec<&str> =
            before.filter(|(role, _)| matches!(role, Role::User)).map(|(_, text)| text.as_str()).collect();
        let opening = without_context(&opening.join("\n"));
        let last = turns.iter().rfind(|(role, _)| matches!(role, Role::User | Role::Tool));
        let spoke = turns.iter().rposition(|(role, _)| matches!(role, Role::Assistant));
        let since = &turns[spoke.map_or(0, |at| at + 1)..];
        let heard: Vec<&str> = since.iter().map(|(_, text)| text.as_str()).collect();
        let told: Vec<&str> = turns.iter().map(|(_, text)| text.as_str()).collect();
        let told = [text_of(&body["system"]), text_of(&body["instructions"]), told.join("\n")];
        Ask {
            protocol,
            told: told.join("\n"),
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            stream: body["stream"] == true,
            side: is_side(body, &tools, &opening),
            last_user: last.map(|(_, text)| text.clone()).unwrap_or_default(),
            heard: heard.join("\n"),
            assistant_turns: turns.iter().filter(|(role, _)| matches!(role, Role::Assistant)).count(),
            session: session(request, body),
            opening,
            tools,
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// Claude also puts words of its own (role `system`) among the messages.
fn anthropic_turns(body: &Value) -> Vec<(Role, String)> {
    let turn = |message: &Value| (role_of(message), text_of(&message["content"]));
    items(&body["messages"]).map(turn).collect()
}

fn role_of(message: &Value) -> Role {
    match message["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::Other,
    }
}

fn anthropic_tools(body: &Value) -> Vec<Tool> {
    let tool = |tool: &Value| Tool {
        name: tool["name"].as_str().unwrap_or_default().to_owned(),
        kind: tool["type"].as_str().unwrap_or_default().to_owned(),
        schema: tool["input_schema"].clone(),
    };
    items(&body["tools"]).map(tool).collect()
}

fn responses_turns(body: &Value) -> Vec<(Role, String)> {
    if let Some(text) = body["input"].as_str() {
        return vec![(Role::User, text.to_owned())];
    }
    let turn = |item: &Value| match item["type"].as_str().unwrap_or("message") {
        "message" => (role_of(item), text_of(&item["content"])),
        kind if kind.ends_with("_call") => (Role::Assistant, String::new()),
        kind if kind.ends_with("_output") => (Role::Tool, text_of(&item["output"])),
        _ => (Role::Other, String::new()),
    };
    items(&body["input"]).map(turn).collect()
}

/// Tools may stand in groups ("namespace").
fn responses_tools(body: &Value) -> Vec<Tool> {
    let mut tools = Vec::new();
    for entry in items(&body["tools"]) {
        let group = entry["tools"].as_array().map_or(std::slice::from_ref(entry), Vec::as_slice);
        tools.extend(group.iter().map(|tool| {
            let kind = tool["type"].as_str().unwrap_or_default().to_owned();
            let name = tool["name"].as_str().map_or_else(|| kind.clone(), str::to_owned);
            Tool { name, kind, schema: tool["parameters"].clone() }
        }));
    }
    tools
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The words in a content of any shape.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<String> = parts.iter().map(text_of).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(part) => ["text", "content", "output"]
            .iter()
            .find_map(|key| part.get(*key))
            .map(text_of)
            .unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Leaves out what clients put around the user's own words.
fn without_context(text: &str) -> String {
    const TAGS: [&str; 6] = [
        "system-reminder",
        "environment_context",
        "user_instructions",
        "permissions instructions",
        "skills_instructions",
        "INSTRUCTIONS",
    ];
    let mut text = text.to_owned();
    for tag in TAGS {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(from) = text.find(&open)
            && let Some(length) = text[from..].find(&close)
        {
            text.replace_range(from..from + length + close.len(), "");
        }
    }
    text.trim().to_owned()
}

/// A sub-agent of Claude shares the session and is a conversation of its own.
fn session(request: &Request, body: &Value) -> Option<String> {
    const HEADERS: [&str; 4] = ["x-claude-code-session-id", "session_id", "session-id", "conversation_id"];
    let named = HEADERS.iter().find_map(|name| request.header(name)).map(str::to_owned);
    let named = named.or_else(|| body["prompt_cache_key"].as_str().map(str::to_owned))?;
    match request.header("x-claude-code-agent-id") {
        Some(agent) => Some(format!("{named}/{agent}")),
        None => Some(named),
    }
}

/// The user's work always comes with tools, and a shell among them. What comes without them and wants a handful of
/// tokens or a title is the client's own.
fn is_side(body: &Value, tools: &[Tool], opening: &str) -> bool {
    const LOOK_AT: usize = 4000;
    // In a terminal Codex asks for a title with one tool, as if there were something to patch.
    if tools.iter().any(|tool| tool.name != "apply_patch") {
        return false;
    }
    let limit = body["max_tokens"].as_u64().or_else(|| body["max_output_tokens"].as_u64());
    // Codex has long instructions of its own before it asks for a title.
    let begins_with =
        |text: &str, word: &str| text.chars().take(LOOK_AT).collect::<String>().to_lowercase().contains(word);
    let instructions = text_of(&body["system"]) + &text_of(&body["instructions"]);
    let is_about = |word| begins_with(&instructions, word) || begins_with(opening, word);
    limit.is_some_and(|limit| limit <= 16) || is_about("title") || is_about("isnewtopic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_users_own_words_open_a_conversation() {
        let text =
            "<system-reminder>a\nb</system-reminder>\nFix it.\n<environment_context>c</environment_context>";
        assert_eq!(without_context(text), "Fix it.");
        assert_eq!(without_context("a <system-reminder> without end"), "a <system-reminder> without end");
    }

    #[test]
    fn what_claude_itself_puts_among_the_messages_is_not_the_users() {
        let request = Request {
            method: "POST".into(),
            path: "/v1/messages".into(),
            headers: [("x-claude-code-session-id".to_owned(), "s".to_owned())].into(),
            body: Vec::new(),
        };
        let messages = serde_json::json!({"messages": [
            {"role": "user", "content": "Fix it."}, {"role": "system", "content": "# Environment"}]});
        let ask = Ask::of(Protocol::Anthropic, &request, &messages);
        assert_eq!((&*ask.opening, &*ask.last_user), ("Fix it.", "Fix it."));
        assert_eq!(ask.session.as_deref(), Some("s"));
    }

    #[test]
    fn a_title_is_the_clients_own_however_long_its_instructions_are() {
        let long = "You are an agent. ".repeat(1000);
        let title = serde_json::json!({"instructions": long});
        let tool = |name: &str| Tool { name: name.into(), kind: "custom".into(), schema: Value::Null };
        assert!(is_side(&title, &[], "Generate a task title."));
        assert!(is_side(&title, &[tool("apply_patch")], "Generate a task title."));
        assert!(!is_side(&title, &[tool("apply_patch"), tool("exec_command")], "Generate a task title."));
        assert!(!is_side(&title, &[], "Fix it."));
    }

    #[test]
    fn any_prefix_leads_to_the_protocol() {
        assert_eq!(Protocol::of_path("/a/b/v1/messages"), Some(Protocol::Anthropic));
        assert_eq!(Protocol::of_path("/responses"), Some(Protocol::Responses));
        assert_eq!(Protocol::of_path("/v1/messages/count_tokens"), None);
    }
}
