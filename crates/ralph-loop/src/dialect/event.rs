//! What an agent does, in the words of no particular agent.
//!
//! Events borrow from the line they were read from and live as long as the sink's call.
//! Texts are as the agent wrote them, control sequences included: who shows them cleans them
//! (`text::printable`), who logs them does not.
//!
//! Deliberately absent: judgement. Whether a run went well is in `StreamSummary` and `answer`.

use super::loose::{Loose, Object, loose};
use super::own_line::NeedsPerson;
use super::stream_summary::Tokens;
use crate::money::Usd;
use crate::text::{clip, printable};
use serde::Deserialize;
use std::borrow::Cow;

/// The length of a summary that still fits beside a tool's name on a wide terminal.
const SUMMARY_CHARS: usize = 200;

/// One thing that an agent did or said.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent<'a> {
    /// A session started, or restarted in the same process.
    Session {
        id: Cow<'a, str>,
        model: Cow<'a, str>,
    },
    /// Words of the agent, or of a sub-agent if there is a parent. From a plain agent: one line.
    Text {
        text: Cow<'a, str>,
        parent: Option<Cow<'a, str>>,
    },
    Thinking {
        text: Cow<'a, str>,
        parent: Option<Cow<'a, str>>,
    },
    ToolStart {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: ToolInput<'a>,
        /// The tool call that started the sub-agent which makes this call.
        parent: Option<Cow<'a, str>>,
    },
    ToolEnd {
        id: Cow<'a, str>,
        output: Cow<'a, str>,
        is_error: bool,
    },
    /// The agent's own list of things to do, whole each time.
    Todo(Vec<TodoItem<'a>>),
    /// The model's service failed and the agent tries again by itself.
    Retry {
        attempt: u32,
        of: u32,
        delay_ms: u64,
        why: Cow<'a, str>,
    },
    RateLimit {
        status: Cow<'a, str>,
        /// Unix seconds.
        resets_at: Option<i64>,
        kind: Cow<'a, str>,
    },
    /// A tool call was refused, by a rule or because no one can be asked.
    Denied {
        tool: Cow<'a, str>,
        why: Cow<'a, str>,
    },
    /// What this turn has used so far, as far as it shows before its result.
    Usage(Tokens),
    /// What the session has cost so far, before its result.
    Cost(Usd),
    /// An agent in a terminal cannot go on before a person has done something there.
    Waiting {
        why: NeedsPerson,
        text: Cow<'a, str>,
    },
    /// It goes on.
    Working,
    /// What a person typed into its terminal.
    Typed {
        text: Cow<'a, str>,
    },
    /// What reached an agent in a terminal as its prompt.
    Received {
        bytes: u64,
        /// It is what was handed over.
        whole: bool,
    },
    Result(ResultInfo<'a>),
    /// Something worth showing that is neither the agent's words nor a tool's.
    Notice {
        text: Cow<'a, str>,
    },
    /// A line that is not in the agent's dialect, or too long to be read.
    Unparsed {
        bytes: u64,
        /// The first 200 characters.
        sample: Cow<'a, str>,
    },
}

/// The stream's own summary of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultInfo<'a> {
    pub text: Cow<'a, str>,
    /// Why the turn failed, if it did.
    pub error: Option<String>,
    /// What the session has cost so far, earlier turns included.
    pub cost: Option<Usd>,
    /// What this turn used.
    pub tokens: Tokens,
    pub turns: u32,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem<'a> {
    pub text: Cow<'a, str>,
    pub status: TodoStatus,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TodoStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
}

/// A tool's input as the agent wrote it: JSON, not yet looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolInput<'a>(&'a str);

/// The fields by which the tools of all agents differ.
#[derive(Default, Deserialize)]
#[serde(default)]
struct KnownFields<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    file_path: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    notebook_path: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    command: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    cmd: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    pattern: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    path: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    url: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    query: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    description: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    subject: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    prompt: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    changes: Vec<Change<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Change<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    path: Cow<'a, str>,
}

impl<'de: 'a, 'a> Object<'de> for Change<'a> {}

impl<'a> ToolInput<'a> {
    pub fn new(json: &'a str) -> ToolInput<'a> {
        ToolInput(json)
    }

    pub fn json(self) -> &'a str {
        self.0
    }

    /// What the tool is asked to do, on one line, at most 200 characters, fit for a terminal.
    pub fn summary(self) -> String {
        let known: KnownFields<'_> = match serde_json::from_str(self.0) {
            Ok(known) => known,
            Err(_) => return one_line(self.0),
        };
        if !known.pattern.is_empty() && !known.path.is_empty() {
            return one_line(&format!("{} in {}", known.pattern, known.path));
        }
        if !known.changes.is_empty() {
            let paths: Vec<&str> = known.changes.iter().map(|change| &*change.path).collect();
            return one_line(&paths.join(", "));
        }
        let fields = [
            known.file_path,
            known.notebook_path,
            known.command,
            known.cmd,
            known.pattern,
            known.path,
            known.url,
            known.query,
            known.description,
            known.subject,
            known.prompt,
        ];
        match fields.iter().find(|field| !field.trim().is_empty()) {
            Some(field) => one_line(field),
            None if self.0 == "{}" => String::new(),
            None => one_line(self.0),
        }
    }
}

fn one_line(text: &str) -> String {
    let clean = printable(text);
    let mut line = String::new();
    for word in clean.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        // Four bytes a character at most: enough is read to know that it will be cut.
        if line.len() > 4 * SUMMARY_CHARS {
            break;
        }
    }
    clip(&line, SUMMARY_CHARS).into_owned()
}

impl<'de> Loose<'de> for TodoStatus {
    fn string(text: Cow<'de, str>) -> TodoStatus {
        match &*text {
            "in_progress" | "in-progress" | "inProgress" => TodoStatus::InProgress,
            "completed" => TodoStatus::Completed,
            _ => TodoStatus::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_call_is_told_in_one_line() {
        for (input, summary) in [
            (r#"{"command":"cargo test\n  --all","description":"tests"}"#, "cargo test --all"),
            (r#"{"content":"long","file_path":"/a/b.rs"}"#, "/a/b.rs"),
            (r#"{"pattern":"fn main","path":"src"}"#, "fn main in src"),
            (r#"{"pattern":"*.rs"}"#, "*.rs"),
            (r#"{"url":"https://x","prompt":"read"}"#, "https://x"),
            (r#"{"command":["bash","-lc","ls"]}"#, r#"{"command":["bash","-lc","ls"]}"#),
            (r#"{"cmd":"ls","cwd":"/a"}"#, "ls"),
            (r#"{"changes":[{"path":"a.rs","kind":"add"},{"path":"b.rs","kind":"update"}]}"#, "a.rs, b.rs"),
            (r#"{"odd":1}"#, r#"{"odd":1}"#),
            ("{}", ""),
            (r#"{"command":"\u001b[31mred"}"#, "red"),
            (r#"{"command":"\ud800"}"#, r#"{"command":"\ud800"}"#),
        ] {
            assert_eq!(ToolInput::new(input).summary(), summary, "{input}");
        }
        let long = format!(r#"{{"command":"{}"}}"#, "ü ".repeat(50_000));
        assert_eq!(ToolInput::new(&long).summary().chars().count(), SUMMARY_CHARS);
    }
}
