//! What the model says: the scenario file.
//!
//! ```json
//! {"runs": [
//!   {"steps": [
//!     {"text": "I write it.", "tools": [{"shell": "echo hi > a.txt"}]},
//!     {"error": {"status": 529, "message": "Overloaded"}, "times": 2},
//!     {"text": "<response>DONE</response>"}]},
//!   {"match": "commit message", "steps": [{"text": "Add a.txt"}]}]}
//! ```
//!
//! A conversation takes the next free run whose `match` occurs in its opening words, else the
//! next free one without `match`. Each of its requests is answered by the next step, so the retry
//! after an error or a drop gets the step after it. Unknown keys are refused.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;
use thiserror::Error;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub runs: Vec<Run>,
    #[serde(default)]
    pub on_exhausted: OnExhausted,
    #[serde(default = "exhausted_text")]
    pub exhausted_text: String,
    /// The answer to what a client asks for its own sake (titles, topics). It uses up no step.
    #[serde(default = "side")]
    pub side: Step,
}

/// The answers for one conversation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub steps: Vec<Step>,
    #[serde(default)]
    pub name: String,
    /// Words of the conversation's opening; no pattern.
    #[serde(default, rename = "match")]
    pub matches: Option<String>,
    /// Any number of conversations may take it.
    #[serde(default)]
    pub sticky: bool,
}

/// What a conversation gets after its last step.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// `exhausted_text` and no tools.
    #[default]
    Final,
    /// The last step, again and again.
    RepeatLast,
    /// The steps of the next run.
    NextRun,
    /// Status 500.
    Error,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// `{{run}}`, `{{step}}`, `{{last_user}}` and `{{after:WORDS}}` are filled in: the last is the word that
    /// follows these where the model was told them first.
    pub text: Text,
    pub thinking: Text,
    pub tools: Vec<Call>,
    pub usage: Usage,
    pub stop_reason: Option<String>,
    /// The model's name in the answer; else the one that was asked for.
    pub model: Option<String>,
    /// Headers of the response.
    pub headers: Map<String, Value>,
    /// How long it takes until the answer begins.
    pub delay_ms: u64,
    /// How many characters each delta of a stream holds; 0 is all.
    pub chunk_chars: usize,
    pub chunk_delay_ms: u64,
    /// No answer but an error.
    pub error: Option<ErrorSpec>,
    /// The connection is reset.
    pub drop: Option<After>,
    /// Silence in the middle of a stream.
    pub stall: Option<Stall>,
    /// An error event in a stream that began well.
    pub stream_error: Option<StreamError>,
    /// So many requests get this step.
    pub times: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Words(String),
    Repeated { repeat: String, count: usize },
}

impl Default for Text {
    fn default() -> Text {
        Text::Words(String::new())
    }
}

impl Text {
    pub fn words(&self) -> String {
        match self {
            Text::Words(words) => words.clone(),
            Text::Repeated { repeat, count } => repeat.repeat(*count),
        }
    }
}

/// A tool call: in no client's words, or as the client knows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Call {
    Shell {
        shell: String,
    },
    Write {
        write: FileText,
    },
    Raw {
        name: String,
        #[serde(default)]
        input: Value,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileText {
    pub path: String,
    pub content: String,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub reasoning: u64,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage { input: 1000, output: 50, cache_read: 0, cache_write: 0, reasoning: 0 }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorSpec {
    pub status: u16,
    /// Seconds, in the header of that name.
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// Else what belongs to the status.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
    /// The whole body, instead of what the above make.
    #[serde(default)]
    pub body: Option<Value>,
    #[serde(default)]
    pub headers: Map<String, Value>,
}

impl ErrorSpec {
    pub fn of(status: u16, message: &str) -> ErrorSpec {
        let message = Some(message.to_owned());
        ErrorSpec { status, retry_after: None, kind: None, message, body: None, headers: Map::new() }
    }

    pub fn message(&self) -> String {
        self.message.clone().unwrap_or_else(|| format!("stub {}", self.status))
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Events of the stream before it happens; 0 is before the headers.
    #[serde(default)]
    pub after_chunks: usize,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    #[serde(default)]
    pub after_chunks: usize,
    pub ms: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamError {
    #[serde(default)]
    pub after_chunks: usize,
    pub status: u16,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
}

impl StreamError {
    pub fn spec(&self) -> ErrorSpec {
        let (status, kind, message) = (self.status, self.kind.clone(), self.message.clone());
        ErrorSpec { status, retry_after: None, kind, message, body: None, headers: Map::new() }
    }
}

#[derive(Debug, Error)]
pub enum ScenarioError {
    #[error("cannot read the scenario {path}: {cause}")]
    Unreadable { path: String, cause: std::io::Error },
    #[error("the scenario is not as it should be: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl Scenario {
    pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
        let unreadable = |cause| ScenarioError::Unreadable { path: path.display().to_string(), cause };
        Ok(serde_json::from_slice(&std::fs::read(path).map_err(unreadable)?)?)
    }

    pub fn of(value: Value) -> Result<Scenario, ScenarioError> {
        Ok(serde_json::from_value(value)?)
    }
}

fn exhausted_text() -> String {
    "(stub: no more steps)".into()
}

fn side() -> Step {
    Step { text: Text::Words("stub title".into()), ..Step::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let error = Scenario::of(json!({"runs": [{"steps": [{"txet": "x"}]}]})).unwrap_err();
        assert!(error.to_string().contains("txet"), "{error}");
    }

    #[test]
    fn a_call_is_portable_or_raw() {
        let step: Step = serde_json::from_value(json!({"tools": [
            {"shell": "ls"}, {"write": {"path": "a", "content": "b"}}, {"name": "X"}]}))
        .unwrap();
        assert!(matches!(
            step.tools[..],
            [Call::Shell { .. }, Call::Write { .. }, Call::Raw { input: Value::Null, .. }]
        ));
        assert!(serde_json::from_value::<Step>(json!({"tools": [{"input": {}}]})).is_err());
    }

    #[test]
    fn long_texts_are_written_short() {
        let step: Step = serde_json::from_value(json!({"text": {"repeat": "ab", "count": 3}})).unwrap();
        assert_eq!(step.text.words(), "ababab");
    }
}
