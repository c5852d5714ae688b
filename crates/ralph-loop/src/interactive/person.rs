//! Whether the agent waits for a person, and the lines that say so.
//!
//! Several tools may ask for leave at the same time, and the agent waits until the last of them has an answer.

use super::{Effect, Expects};
use crate::dialect::{NeedsPerson, OwnLine};
use serde_json::Value;
use std::borrow::Cow;

/// Requests and calls that are remembered. The agent shows one dialog after the other.
const REMEMBERED: usize = 100;

/// What a person is waited for.
#[derive(Debug, Default)]
pub(super) struct Person {
    /// What was reported, and not taken back.
    waits: Option<NeedsPerson>,
    requests: Vec<Request>,
    /// Tool calls of the transcript that have not ended.
    calls: Vec<Call>,
}

/// A tool that needs leave, or a question.
#[derive(Debug)]
struct Request {
    why: NeedsPerson,
    text: String,
    tool: String,
    input: Value,
    /// The id of its call. Hooks do not have it, and the transcript may be read later.
    call: Option<String>,
}

#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
    input: Value,
}

impl Person {
    /// Reports a reason to wait, unless there is one already.
    pub(super) fn wait(&mut self, why: NeedsPerson, text: &str, effects: &mut Vec<Effect>) {
        if self.waits.is_none() {
            self.report(why, text, effects);
        }
    }

    /// The agent was interrupted: whatever it wanted to do, it does not do it now.
    pub(super) fn interrupted(&mut self, effects: &mut Vec<Effect>) {
        self.requests.clear();
        if self.waits != Some(NeedsPerson::Interrupted) {
            self.report(NeedsPerson::Interrupted, "a person has interrupted the agent", effects);
        }
    }

    /// A turn begins or ends: nothing is waited for.
    pub(super) fn works(&mut self, effects: &mut Vec<Effect>) {
        self.requests.clear();
        if self.waits.take().is_some() {
            effects.push(Effect::Print(OwnLine::Working.write()));
        }
    }

    /// The agent has said something. That may have been before it asked for leave.
    pub(super) fn speaks(&mut self, effects: &mut Vec<Effect>) {
        if self.requests.is_empty() {
            self.works(effects);
        }
    }

    /// A tool or a question needs a person. The same one may be reported by several hooks.
    pub(super) fn asks(
        &mut self,
        why: NeedsPerson,
        tool: &str,
        input: &Value,
        text: String,
        effects: &mut Vec<Effect>,
    ) {
        let is_known = self.requests.iter().any(|request| request.tool == tool && request.input == *input);
        if is_known || self.requests.len() >= REMEMBERED {
            return;
        }
        if self.requests.is_empty() {
            self.report(why, &text, effects);
        }
        let is_free = |id: &str| self.requests.iter().all(|request| request.call.as_deref() != Some(id));
        let is_this = |call: &&Call| call.tool == tool && same(&call.input, input) && is_free(&call.id);
        let call = self.calls.iter().find(is_this).map(|call| call.id.clone());
        self.requests.push(Request { why, text, tool: tool.to_owned(), input: input.clone(), call });
    }

    /// Why a person is waited for.
    pub(super) fn waits(&self) -> Option<NeedsPerson> {
        self.waits
    }

    /// What is waited for now, and the input of its tool.
    pub(super) fn first_request(&self) -> Option<(NeedsPerson, &Value)> {
        self.requests.first().map(|request| (request.why, &request.input))
    }

    /// A tool call began.
    pub(super) fn called(&mut self, id: &str, tool: &str, input: &Value) {
        let is_this = |request: &&mut Request| {
            request.call.is_none() && request.tool == tool && same(&request.input, input)
        };
        if let Some(request) = self.requests.iter_mut().find(is_this) {
            request.call = Some(id.to_owned());
        }
        if self.calls.len() < REMEMBERED && self.calls.iter().all(|call| call.id != id) {
            self.calls.push(Call { id: id.to_owned(), tool: tool.to_owned(), input: input.clone() });
        }
    }

    /// A tool call ended. Others that wait for leave go on waiting.
    pub(super) fn call_ended(&mut self, id: &str, effects: &mut Vec<Effect>) {
        self.calls.retain(|call| call.id != id);
        self.keep(|request| request.call.as_deref() != Some(id), effects);
    }

    /// The same where requests cannot always be told by their calls.
    pub(super) fn some_call_ended(&mut self, id: &str, effects: &mut Vec<Effect>) {
        self.calls.retain(|call| call.id != id);
        self.keep(|request| request.call.as_deref().is_some_and(|known| known != id), effects);
    }

    fn keep(&mut self, keeps: impl Fn(&Request) -> bool, effects: &mut Vec<Effect>) {
        let first = self.requests.first().map(|request| request.text.clone());
        self.requests.retain(keeps);
        match self.requests.first() {
            None => self.works(effects),
            Some(Request { why, text, .. }) if Some(text) != first.as_ref() => {
                let (why, text) = (*why, text.clone());
                self.report(why, &text, effects);
            }
            Some(_) => {}
        }
    }

    fn report(&mut self, why: NeedsPerson, text: &str, effects: &mut Vec<Effect>) {
        self.waits = Some(why);
        effects.push(Effect::Print(OwnLine::Waiting { why, text: Cow::Borrowed(text) }.write()));
    }
}

/// Hooks and transcripts differ in what else they say about a command.
fn same(left: &Value, right: &Value) -> bool {
    left == right || (left["command"].is_string() && left["command"] == right["command"])
}

/// By when the agent has to have shown that it is ready.
#[derive(Debug)]
pub(super) enum Ready {
    /// Nothing has been heard, not even the time.
    Unstarted,
    By(u64),
    /// It was not, which is reported.
    Late,
    Yes,
}

impl Ready {
    /// The time goes on.
    pub(super) fn tick(
        &mut self,
        now_ms: u64,
        expects: &Expects,
        person: &mut Person,
        effects: &mut Vec<Effect>,
    ) {
        match *self {
            Ready::Unstarted => *self = Ready::By(now_ms.saturating_add(expects.ready_within_ms)),
            Ready::By(by_ms) if now_ms >= by_ms => {
                *self = Ready::Late;
                let seconds = expects.ready_within_ms / 1000;
                let text =
                    format!("the agent has not started to work within {seconds} s: look at its terminal");
                person.wait(NeedsPerson::NotReady, &text, effects);
            }
            Ready::By(_) | Ready::Late | Ready::Yes => {}
        }
    }

    /// A sign of life has come.
    pub(super) fn is_now(&mut self, person: &mut Person, effects: &mut Vec<Effect>) {
        if matches!(std::mem::replace(self, Ready::Yes), Ready::Late) {
            person.works(effects);
        }
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        match self {
            Ready::Unstarted => Some(0),
            Ready::By(by_ms) => Some(*by_ms),
            Ready::Late | Ready::Yes => None,
        }
    }
}
