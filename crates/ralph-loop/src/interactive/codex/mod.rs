//! Codex in a terminal, in the words of its `exec --json`.
//!
//! What its signs mean (measured, see the captures of interactive agents):
//! - No hook is called before the first prompt, so the first hook is the sign that it is ready.
//! - Its Stop hook came once while a command was still running, and there is none for failures: the end of a turn
//!   is `task_complete` in the rollout, with the error if there was one.
//! - Esc leaves `turn_aborted` in the rollout.
//! - A title for the session is made in a thread of its own, which is not this rollout.

mod rollout;

use super::answer::Keys;
use super::hook::Hook;
use super::person::{Person, Ready};
use super::prompt::Handover;
use super::{Effect, Expects, Input};
use crate::dialect::{NeedsPerson, OwnLine, Tokens};
use rollout::{Error, Usage, Window};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// Items whose end is remembered: an item is in the rollout in two forms.
const REMEMBERED: usize = 1000;

#[derive(Debug)]
pub(super) struct Codex {
    expects: Expects,
    ready: Ready,
    pub(super) person: Person,
    handover: Handover,
    thread: String,
    is_over: bool,
    /// Of the whole thread.
    usage: Usage,
    /// Items that have begun, as they were printed.
    open: BTreeMap<String, Value>,
    /// The ids of items that were printed whole.
    done: VecDeque<String>,
    /// The agent has said something.
    spoke: bool,
}

impl Codex {
    pub(super) fn new(expects: Expects) -> Codex {
        Codex {
            ready: Ready::Unstarted,
            person: Person::default(),
            handover: Handover::new(&expects),
            thread: String::new(),
            is_over: false,
            usage: Usage::default(),
            open: BTreeMap::new(),
            done: VecDeque::new(),
            spoke: false,
            expects,
        }
    }

    pub(super) fn hear(&mut self, now_ms: u64, input: Input<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.is_over {
            return effects;
        }
        // It gives no sign before the first prompt, and there will be none.
        if matches!(self.ready, Ready::Unstarted) && self.expects.prompt.is_empty() {
            self.ready = Ready::Yes;
            self.person.wait(NeedsPerson::Idle, "the agent is ready for a prompt", &mut effects);
        }
        match input {
            Input::Hook(json) => {
                if let Some(hook) = Hook::read(json) {
                    self.hook(&hook, &mut effects);
                }
            }
            Input::Transcript(line) => self.rollout(line, &mut effects),
            Input::StatusLine(_) | Input::Time => {}
        }
        self.ready.tick(now_ms, &self.expects, &mut self.person, &mut effects);
        effects
    }

    pub(super) fn keys_for(&self, text: &str) -> Result<Vec<u8>, &'static str> {
        self.person.keys_for(text, &Keys { grant: "y" })
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        if self.is_over { None } else { self.ready.wake_at() }
    }

    fn hook(&mut self, hook: &Hook, effects: &mut Vec<Effect>) {
        self.ready.is_now(&mut self.person, effects);
        self.begin(hook, effects);
        match &*hook.hook_event_name {
            "UserPromptSubmit" => {
                self.person.works(effects);
                self.handover.submitted(&hook.prompt, effects);
                effects.push(Effect::Print(json!({"type": "turn.started"}).to_string()));
            }
            "PermissionRequest" => match hook.leave(self.expects.permissions) {
                Some(answer) => effects.push(answer),
                None => {
                    let (why, text) = hook.wants();
                    self.person.asks(why, &hook.tool_name, &hook.tool_input, text, effects);
                }
            },
            "PreToolUse" => self.person.called(&hook.tool_use_id, &hook.tool_name, &hook.tool_input),
            "PostToolUse" => self.person.some_call_ended(&hook.tool_use_id, effects),
            _ => {}
        }
    }

    /// Each hook names the session; the first one that does begins it.
    fn begin(&mut self, hook: &Hook, effects: &mut Vec<Effect>) {
        if hook.session_id.is_empty() || hook.session_id == self.thread {
            return;
        }
        self.thread.clone_from(&hook.session_id);
        let started = json!({"type": "thread.started", "thread_id": self.thread, "model": hook.model});
        effects.push(Effect::Print(started.to_string()));
        effects.extend(hook.transcript_path.as_ref().map(|path| Effect::Follow(path.into())));
    }

    /// The beginning of a tool's item.
    fn started(&mut self, id: &str, item: Value, effects: &mut Vec<Effect>) {
        if self.is_done(id) || self.open.contains_key(id) || self.open.len() >= REMEMBERED {
            return;
        }
        effects.push(Effect::Print(json!({"type": "item.started", "item": item}).to_string()));
        self.open.insert(id.to_owned(), item);
    }

    /// The whole of an item, in the first of its forms.
    fn completed(&mut self, id: &str, item: &Value, effects: &mut Vec<Effect>) {
        if !id.is_empty() && self.is_done(id) {
            return;
        }
        self.open.remove(id);
        if self.done.len() >= REMEMBERED {
            self.done.pop_front();
        }
        self.done.push_back(id.to_owned());
        self.spoke |= item["type"] == "agent_message";
        effects.push(Effect::Print(json!({"type": "item.completed", "item": item}).to_string()));
    }

    fn is_done(&self, id: &str) -> bool {
        self.done.iter().any(|done| done == id)
    }

    fn used(&mut self, usage: Usage, effects: &mut Vec<Effect>) {
        if usage == self.usage {
            return;
        }
        self.usage = usage;
        let tokens: Tokens = usage.tokens();
        effects.push(Effect::Print(OwnLine::Used(tokens).write()));
    }

    fn context(&mut self, window: &Window, effects: &mut Vec<Effect>) {
        let Some(used) = window.used_percentage() else { return };
        if let Some(most) = self.expects.end_at_context.filter(|most| used >= u64::from(*most)) {
            let text = format!("{used} % of the context are in use, the limit is {most} %: ending the turn");
            effects.push(Effect::Print(OwnLine::Notice { text: Cow::Owned(text) }.write()));
            self.complete(None, effects);
        }
    }

    /// The turn is over and went well.
    fn complete(&mut self, words: Option<&str>, effects: &mut Vec<Effect>) {
        self.person.works(effects);
        if let Some(words) = words.filter(|words| !self.spoke && !words.trim().is_empty()) {
            self.completed("", &json!({"id": "last", "type": "agent_message", "text": words}), effects);
        }
        effects.push(Effect::Print(json!({"type": "turn.completed", "usage": self.usage}).to_string()));
        self.end(effects);
    }

    fn fail(&mut self, error: &Error, effects: &mut Vec<Effect>) {
        self.person.works(effects);
        let message = error.message();
        effects
            .push(Effect::Print(json!({"type": "turn.failed", "error": {"message": message}}).to_string()));
        self.end(effects);
    }

    fn end(&mut self, effects: &mut Vec<Effect>) {
        self.is_over = true;
        effects.push(Effect::End);
    }
}
