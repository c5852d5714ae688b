//! What the agent lets others see, in the dialect of the script.
//!
//! Every event is one write to an unbuffered stdout: nothing is held back when the agent
//! is killed, and nothing is flushed after it promised silence.

use crate::events::{Event, Usage};
use crate::failure::Failure;
use crate::script::{Dialect, Outcome, Tokens, Tool};
use serde_json::{Map, Value};
use std::collections::hash_map::RandomState;
use std::env;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::Instant;

pub(crate) struct Voice {
    out: File,
    session: String,
    speech: Speech,
}

enum Speech {
    Plain,
    Claude(Claude),
}

/// What the events so far imply for those to come.
struct Claude {
    started: Instant,
    messages: u64,
    tools: u64,
    /// The message that a tool call still belongs to: its text has been said, and no
    /// tool has answered since.
    open_message: Option<u64>,
    last_said: String,
    cost: f64,
    tokens: Tokens,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The stream still needs a result at its end.
    Owed,
    /// The script gave one.
    Given,
}

impl Voice {
    /// Begins to speak: Claude greets with an init event.
    pub(crate) fn begin(dialect: Dialect) -> Result<Voice, Failure> {
        let out = io::stdout().as_fd().try_clone_to_owned().map_err(Failure::output)?;
        let speech = match dialect {
            Dialect::Plain => Speech::Plain,
            Dialect::Claude => Speech::Claude(Claude::new()),
        };
        let mut voice = Voice { out: File::from(out), session: random_id(), speech };
        match dialect {
            Dialect::Plain => {}
            Dialect::Claude => {
                let cwd = env::current_dir().unwrap_or_default().display().to_string();
                emit(&mut voice.out, &Event::init(&voice.session, cwd))?;
            }
        }
        Ok(voice)
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Bytes as they are, whatever the dialect.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(Failure::output)
    }

    pub(crate) fn say(&mut self, text: &str) -> Result<(), Failure> {
        let Voice { out, session, speech } = self;
        match speech {
            Speech::Plain => out.write_all(format!("{text}\n").as_bytes()).map_err(Failure::output),
            Speech::Claude(claude) => {
                let message = claude.next_message();
                claude.open_message = Some(message);
                text.clone_into(&mut claude.last_said);
                emit(out, &Event::text(session, message, text))
            }
        }
    }

    /// A tool that was never run.
    pub(crate) fn tool(&mut self, tool: &Tool, output: &str) -> Result<(), Failure> {
        match self.speech {
            Speech::Plain => self.raw(format!("[tool] {}\n", tool.name).as_bytes()),
            Speech::Claude(_) => {
                self.tool_starts(&tool.name, &tool.input)?;
                self.tool_ends(output, tool.error)
            }
        }
    }

    /// Announces what the agent is about to do. Plain does its work silently.
    pub(crate) fn tool_starts(&mut self, name: &str, input: &Map<String, Value>) -> Result<(), Failure> {
        let Voice { out, session, speech } = self;
        match speech {
            Speech::Plain => Ok(()),
            Speech::Claude(claude) => {
                let message = claude.open_message.take().unwrap_or_else(|| claude.next_message());
                claude.tools += 1;
                emit(out, &Event::tool_use(session, message, claude.tools, name, input))
            }
        }
    }

    /// The answer to the tool that was announced last.
    pub(crate) fn tool_ends(&mut self, output: &str, error: bool) -> Result<(), Failure> {
        let Voice { out, session, speech } = self;
        match speech {
            Speech::Plain => Ok(()),
            Speech::Claude(claude) => emit(out, &Event::tool_result(session, claude.tools, output, error)),
        }
    }

    pub(crate) fn set_cost(&mut self, dollars: f64) {
        match &mut self.speech {
            Speech::Plain => {}
            Speech::Claude(claude) => claude.cost = dollars,
        }
    }

    pub(crate) fn set_tokens(&mut self, tokens: Tokens) {
        match &mut self.speech {
            Speech::Plain => {}
            Speech::Claude(claude) => claude.tokens = tokens,
        }
    }

    /// A result that the script asked for. It may ask for several, as Claude prints
    /// several when one process takes more than one turn.
    pub(crate) fn result(&mut self, outcome: &Outcome) -> Result<(), Failure> {
        let Voice { out, session, speech } = self;
        match speech {
            Speech::Plain => Ok(()),
            Speech::Claude(claude) => {
                claude.verdict = Verdict::Given;
                emit(out, &claude.result_event(session, outcome))
            }
        }
    }

    /// The end of the list of actions.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        match &self.speech {
            Speech::Claude(claude) if claude.verdict == Verdict::Owed => self.result(&Outcome::default()),
            Speech::Claude(_) | Speech::Plain => Ok(()),
        }
    }
}

impl Claude {
    fn new() -> Claude {
        Claude {
            started: Instant::now(),
            messages: 0,
            tools: 0,
            open_message: None,
            last_said: String::new(),
            cost: 0.0,
            tokens: Tokens::default(),
            verdict: Verdict::Owed,
        }
    }

    fn next_message(&mut self) -> u64 {
        self.messages += 1;
        self.messages
    }

    fn result_event<'a>(&'a self, session_id: &'a str, outcome: &'a Outcome) -> Event<'a> {
        let Tokens { input, output, cache_read, cache_creation } = self.tokens;
        Event::Result {
            stop_reason: "end_turn",
            session_id,
            total_cost_usd: self.cost,
            usage: Usage {
                input_tokens: input,
                cache_creation_input_tokens: cache_creation,
                cache_read_input_tokens: cache_read,
                output_tokens: output,
            },
            permission_denials: [],
            terminal_reason: match outcome.api_error_status {
                Some(_) => "api_error",
                None => "completed",
            },
            is_error: outcome.is_error,
            // Every tool's answer is a turn of its own, and the last one ends the talk.
            num_turns: self.tools + 1,
            subtype: &outcome.subtype,
            api_error_status: outcome.api_error_status,
            result: outcome.text.as_deref().unwrap_or(&self.last_said),
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            r#type: "result",
        }
    }
}

fn emit(out: &mut File, event: &Event<'_>) -> Result<(), Failure> {
    event.line().and_then(|line| out.write_all(&line)).map_err(Failure::output)
}

/// A session id in the shape of a UUID. The standard library seeds its hash maps from
/// the system's randomness, which is all that is needed for ids that differ.
fn random_id() -> String {
    let [high, low] = [0u8, 1].map(|n| RandomState::new().hash_one(n));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0xfff,
        low & 0xffff_ffff_ffff
    )
}
