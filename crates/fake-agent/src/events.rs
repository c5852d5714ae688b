//! The events of Claude's stream-json, as far as the agent prints them.
//!
//! The fields and their order follow recorded streams, since a reader's speed and its
//! mistakes can depend on both: a `result` carries its `type` at the end.

use serde::Serialize;
use serde_json::{Map, Value};
use std::io;

/// The model that every message claims to come from.
pub(crate) const MODEL: &str = "fake";

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Event<'a> {
    Init {
        r#type: &'static str,
        subtype: &'static str,
        cwd: String,
        session_id: &'a str,
        tools: [&'static str; 4],
        mcp_servers: [&'static str; 0],
        model: &'static str,
        #[serde(rename = "permissionMode")]
        permission_mode: &'static str,
    },
    Assistant {
        r#type: &'static str,
        message: Message<'a>,
        parent_tool_use_id: Option<&'a str>,
        session_id: &'a str,
    },
    User {
        r#type: &'static str,
        message: Answer<'a>,
        parent_tool_use_id: Option<&'a str>,
        session_id: &'a str,
    },
    Result {
        stop_reason: &'static str,
        session_id: &'a str,
        total_cost_usd: f64,
        usage: Usage,
        permission_denials: [&'static str; 0],
        terminal_reason: &'static str,
        is_error: bool,
        num_turns: u64,
        subtype: &'a str,
        api_error_status: Option<u16>,
        result: &'a str,
        duration_ms: u64,
        r#type: &'static str,
    },
}

#[derive(Serialize)]
pub(crate) struct Message<'a> {
    id: String,
    r#type: &'static str,
    role: &'static str,
    model: &'static str,
    content: [Block<'a>; 1],
    stop_reason: Option<&'a str>,
    stop_sequence: Option<&'a str>,
    usage: Usage,
}

#[derive(Serialize)]
pub(crate) struct Answer<'a> {
    role: &'static str,
    content: [Block<'a>; 1],
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Block<'a> {
    Text { text: &'a str },
    ToolUse { id: String, name: &'a str, input: &'a Map<String, Value> },
    ToolResult { tool_use_id: String, content: &'a str, is_error: bool },
}

#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Usage {
    pub(crate) input_tokens: u64,
    pub(crate) cache_creation_input_tokens: u64,
    pub(crate) cache_read_input_tokens: u64,
    pub(crate) output_tokens: u64,
}

impl<'a> Event<'a> {
    pub(crate) fn init(session_id: &'a str, cwd: String) -> Event<'a> {
        Event::Init {
            r#type: "system",
            subtype: "init",
            cwd,
            session_id,
            tools: ["Bash", "Edit", "Read", "Write"],
            mcp_servers: [],
            model: MODEL,
            permission_mode: "bypassPermissions",
        }
    }

    pub(crate) fn text(session_id: &'a str, message: u64, text: &'a str) -> Event<'a> {
        Event::assistant(session_id, message, Block::Text { text })
    }

    pub(crate) fn tool_use(
        session_id: &'a str,
        message: u64,
        tool: u64,
        name: &'a str,
        input: &'a Map<String, Value>,
    ) -> Event<'a> {
        Event::assistant(session_id, message, Block::ToolUse { id: tool_id(tool), name, input })
    }

    pub(crate) fn tool_result(session_id: &'a str, tool: u64, content: &'a str, is_error: bool) -> Event<'a> {
        let block = Block::ToolResult { tool_use_id: tool_id(tool), content, is_error };
        let message = Answer { role: "user", content: [block] };
        Event::User { r#type: "user", message, parent_tool_use_id: None, session_id }
    }

    fn assistant(session_id: &'a str, message: u64, block: Block<'a>) -> Event<'a> {
        let message = Message {
            id: format!("msg_fake{message:020}"),
            r#type: "message",
            role: "assistant",
            model: MODEL,
            content: [block],
            stop_reason: None,
            stop_sequence: None,
            // Claude prints a placeholder here as well; the numbers are in the result.
            usage: Usage { output_tokens: 1, ..Usage::default() },
        };
        Event::Assistant { r#type: "assistant", message, parent_tool_use_id: None, session_id }
    }

    /// The event as one line, with its line feed.
    pub(crate) fn line(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

fn tool_id(number: u64) -> String {
    format!("toolu_fake{number:018}")
}
