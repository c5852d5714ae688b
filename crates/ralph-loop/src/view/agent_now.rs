//! What an agent is doing right now, as far as its stream shows it.

use crate::dialect::{AgentEvent, Tokens};
use crate::text::{clip, printable};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentNow {
    /// The tool that began last and has not ended: its id, and what it is asked to do.
    tool: Option<(String, String)>,
    /// Its last words, on one line.
    pub words: Option<String>,
    /// Of the turns that it has finished.
    pub tokens: Tokens,
}

/// More words than this are not kept.
const WORDS: usize = 200;

impl AgentNow {
    pub fn follow(&mut self, event: &AgentEvent<'_>) {
        match event {
            AgentEvent::Text { text, parent: None } if !text.trim().is_empty() => {
                let words: Vec<&str> = text.split_whitespace().take(WORDS).collect();
                self.words = Some(clip(&printable(&words.join(" ")), WORDS).into_owned());
            }
            AgentEvent::ToolStart { id, name, input, .. } => {
                let call = format!("{}({})", printable(name), input.summary());
                self.tool = Some((id.to_string(), call));
            }
            AgentEvent::ToolEnd { id, .. } if self.tool.as_ref().is_some_and(|(open, _)| open == &**id) => {
                self.tool = None;
            }
            AgentEvent::Result(result) => self.tokens += result.tokens,
            _ => {}
        }
    }

    /// The tool at work, and what it is asked to do.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_ref().map(|(_, call)| call.as_str())
    }
}
