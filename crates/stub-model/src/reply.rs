//! One answer, ready to be put into either protocol.

use crate::ask::{Ask, Protocol};
use crate::director::Turn;
use crate::scenario::{Call, ErrorSpec, Usage};
use crate::{anthropic, responses, tools};
use serde_json::Value;

pub(crate) struct Reply {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Usage,
    pub(crate) stop_reason: Option<String>,
    chunk_chars: usize,
}

pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    /// The client declared it as one that takes free text.
    pub(crate) custom: bool,
}

/// An event of a stream: its name and its data.
pub(crate) type Event = (&'static str, Value);

impl Reply {
    /// `number` makes the ids: each is used once.
    pub(crate) fn of(turn: &Turn, ask: &Ask, number: u64) -> Result<Reply, String> {
        let step = &turn.step;
        let fill = |text: &str| filled(text, turn, ask);
        let mut calls = Vec::new();
        for (at, call) in step.tools.iter().enumerate() {
            let (name, input) = tools::resolve(&filled_call(call, &fill), ask)?;
            let custom = ask.tool(&name).is_some_and(|tool| tool.kind == "custom") || input.is_string();
            calls.push(ToolCall { id: format!("{number:020x}{at:04x}"), name, input, custom });
        }
        Ok(Reply {
            id: format!("{number:024x}"),
            model: step.model.clone().unwrap_or_else(|| ask.model.clone()),
            thinking: fill(&step.thinking.words()),
            text: fill(&step.text.words()),
            calls,
            usage: step.usage,
            stop_reason: step.stop_reason.clone(),
            chunk_chars: step.chunk_chars,
        })
    }

    pub(crate) fn says_text(&self) -> bool {
        !self.text.is_empty() || self.calls.is_empty()
    }

    /// A text in the pieces that a stream brings it in.
    pub(crate) fn pieces(&self, text: &str) -> Vec<String> {
        if self.chunk_chars == 0 {
            return Some(text.to_owned()).into_iter().filter(|text| !text.is_empty()).collect();
        }
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(self.chunk_chars).map(|piece| piece.iter().collect()).collect()
    }

    pub(crate) fn whole(&self, protocol: Protocol) -> Value {
        match protocol {
            Protocol::Anthropic => anthropic::whole(self),
            Protocol::Responses => responses::whole(self),
        }
    }

    pub(crate) fn events(&self, protocol: Protocol) -> Vec<Event> {
        match protocol {
            Protocol::Anthropic => anthropic::events(self),
            Protocol::Responses => responses::events(self),
        }
    }
}

pub(crate) fn error(protocol: Protocol, spec: &ErrorSpec) -> Value {
    match (&spec.body, protocol) {
        (Some(body), _) => body.clone(),
        (None, Protocol::Anthropic) => anthropic::error(spec),
        (None, Protocol::Responses) => responses::error(spec),
    }
}

pub(crate) fn stream_error(protocol: Protocol, spec: &ErrorSpec) -> Event {
    match protocol {
        Protocol::Anthropic => ("error", anthropic::error(spec)),
        Protocol::Responses => responses::stream_error(spec),
    }
}

fn filled(text: &str, turn: &Turn, ask: &Ask) -> String {
    if !text.contains("{{") {
        return text.to_owned();
    }
    let run = turn.run.map_or_else(|| "none".to_owned(), |run| run.to_string());
    let text = text.replace("{{run}}", &run).replace("{{step}}", &turn.at.to_string());
    with_words_after(&text.replace("{{last_user}}", &ask.last_user), &ask.told)
}

/// Fills in `{{after:WORDS}}`: the word that follows these where the model was first told them.
fn with_words_after(text: &str, told: &str) -> String {
    const GAP: &str = "{{after:";
    let Some((before, rest)) = text.split_once(GAP) else { return text.to_owned() };
    let Some((words, after)) = rest.split_once("}}") else { return text.to_owned() };
    let word =
        told.split_once(words).and_then(|(_, rest)| rest.split_whitespace().next()).unwrap_or_default();
    format!("{before}{word}{}", with_words_after(after, told))
}

fn filled_call(call: &Call, fill: &dyn Fn(&str) -> String) -> Call {
    match call {
        Call::Shell { shell } => Call::Shell { shell: fill(shell) },
        Call::Write { write } => {
            let mut write = write.clone();
            (write.path, write.content) = (fill(&write.path), fill(&write.content));
            Call::Write { write }
        }
        Call::Raw { .. } => call.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::with_words_after;

    #[test]
    fn a_word_that_the_model_was_told_can_be_used() {
        let told = "write to /tmp/a b, not to /tmp/c";
        assert_eq!(with_words_after("{{after:write to }}/x {{after:not to }}", told), "/tmp/a/x /tmp/c");
        assert_eq!(with_words_after("{{after:never}}/x", told), "/x");
        assert_eq!(with_words_after("{{after:open", told), "{{after:open");
    }
}
