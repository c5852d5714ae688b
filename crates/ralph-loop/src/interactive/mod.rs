//! Agents that run in a terminal, heard without looking at their screen.
//!
//! A [`Listener`] is told what an agent says to its hooks, to its status line and to its transcript, and says
//! what is to be done: lines to print, a file to follow, an answer to a hook, the end. The lines are in the format
//! that the same agent prints when it is headless (`dialect`), so everything behind them stays as it is; for what a
//! headless agent has no words for there are ralph's own (`dialect/own_line.rs`).
//!
//! Pure, as all of the policy: time comes in with each input, and [`Listener::wake_at`] says by when one has to.
//!
//! Any other program is watched on its screen: [`Watcher`].

mod answer;
mod claude;
mod codex;
mod hook;
mod person;
mod prompt;
mod screen;

pub use prompt::dropped_characters;
pub use screen::{LAST_LINES, LOOK_EVERY_MS, Patterns, ScreenEffect, Watcher};

use crate::dialect::Dialect;
use claude::Claude;
use codex::Codex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// What happens around an agent in its terminal.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The JSON object that the agent gave to one of ralph's hooks.
    Hook(&'a str),
    /// What Claude gives to its status line command.
    StatusLine(&'a str),
    /// A whole line of the transcript or rollout.
    Transcript(&'a str),
    /// Nothing but time.
    Time,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A line for standard output, without a newline.
    Print(String),
    /// This file is its transcript: follow it from the beginning.
    Follow(PathBuf),
    /// The answer to the hook that was just heard. A hook without one gets nothing.
    Answer(Value),
    /// The turn is over: end the agent. Lines of its transcript may still be told.
    End,
}

/// What is known about a turn before it begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expects {
    /// As handed over; may be empty.
    pub prompt: String,
    /// What of it was added in front, so that it is taken as text.
    pub lead_in: String,
    /// Without a sign of life for so long, a person has to look.
    pub ready_within_ms: u64,
    pub permissions: Permissions,
    /// The turn ends once so many per cent of the context are in use.
    pub end_at_context: Option<u8>,
}

/// Who answers when an agent asks for leave to use a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    Ask,
    Allow,
}

/// Hears one agent from its start to the end of its turn.
#[derive(Debug)]
pub struct Listener(Kind);

#[derive(Debug)]
enum Kind {
    Claude(Box<Claude>),
    Codex(Box<Codex>),
}

impl Listener {
    /// None for agents without hooks and transcripts that are known.
    pub fn new(dialect: Dialect, expects: Expects) -> Option<Listener> {
        match dialect {
            Dialect::Claude => Some(Listener(Kind::Claude(Box::new(Claude::new(expects))))),
            Dialect::Codex => Some(Listener(Kind::Codex(Box::new(Codex::new(expects))))),
            Dialect::Amp | Dialect::Plain => None,
        }
    }

    /// Time is in milliseconds of any clock that does not run backwards. It begins with the first input, which
    /// is due as soon as the agent is started.
    pub fn hear(&mut self, now_ms: u64, input: Input<'_>) -> Vec<Effect> {
        match &mut self.0 {
            Kind::Claude(claude) => claude.hear(now_ms, input),
            Kind::Codex(codex) => codex.hear(now_ms, input),
        }
    }

    /// What has to be typed to give the agent an answer that it waits for, or why nothing is.
    pub fn keys_for(&self, text: &str) -> Result<Vec<u8>, &'static str> {
        match &self.0 {
            Kind::Claude(claude) => claude.keys_for(text),
            Kind::Codex(codex) => codex.keys_for(text),
        }
    }

    /// Why a text cannot be typed now: it would be taken for an answer.
    pub fn wants_answer(&self) -> Option<&'static str> {
        match &self.0 {
            Kind::Claude(claude) => claude.person.wants_answer(),
            Kind::Codex(codex) => codex.person.wants_answer(),
        }
    }

    /// By when [`Input::Time`] has to come.
    pub fn wake_at(&self) -> Option<u64> {
        match &self.0 {
            Kind::Claude(claude) => claude.wake_at(),
            Kind::Codex(codex) => codex.wake_at(),
        }
    }
}
