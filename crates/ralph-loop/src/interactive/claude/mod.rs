//! Claude Code in a terminal, in the words of its `stream-json`.
//!
//! What its signs mean (measured, see the captures of interactive agents):
//! - SessionStart comes when it is ready, and not while the dialog about trust is open.
//! - Stop comes when a turn ends. With a task in the background another one follows; a Stop hook of the user's
//!   may keep it at work. When all Stop hooks have ended the transcript has `stop_hook_summary`, and
//!   `turn_duration` once the turn is over.
//! - StopFailure comes instead of Stop when the service fails, after all retries. Until when a limit lasts is in the
//!   transcript and on the status line, each of which may come before or after it.
//! - Esc calls no hook; the transcript says `[Request interrupted by user`.
//! - Hooks and transcript come on two ways: a line of the transcript may be read after a hook that came later.

mod result;
mod transcript;

use super::answer::Keys;
use super::hook::Hook;
use super::person::{Person, Ready};
use super::prompt::Handover;
use super::{Effect, Expects, Input};
use crate::dialect::{NeedsPerson, OwnLine};
use crate::money::Usd;
use result::{Failure, Limits, RATE_LIMIT, Spent, Windows};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;

/// How long nothing more may come after the end of all Stop hooks, or after a Stop where there is no transcript to
/// tell when that is.
const QUIET_MS: u64 = 1_500;
/// How long Stop hooks of the user's may take: they run beside ralph's.
const STOP_HOOKS_MS: u64 = 60_000;

/// The prompts that Claude writes itself when something in the background has ended.
const OWN_PROMPT: &str = "<task-notification>";

#[derive(Debug)]
pub(super) struct Claude {
    expects: Expects,
    ready: Ready,
    pub(super) person: Person,
    handover: Handover,
    turn: Turn,
    session: String,
    model: String,
    spent: Spent,
    limits: Limits,
    /// The last words of the agent that were printed.
    words: String,
    /// Lines of this session's transcript are coming in.
    has_transcript: bool,
}

/// How far the turn is.
#[derive(Debug)]
enum Turn {
    Open,
    /// It works on, in the background.
    Background,
    /// It has hit a limit, and until when is not known yet.
    Limited {
        words: String,
        heard_ms: u64,
    },
    /// Stop came; it is over unless something else comes.
    Stopping {
        words: String,
        /// All Stop hooks have ended.
        hooks_ended: bool,
        /// When something was heard last.
        heard_ms: u64,
    },
    Over,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusLine {
    cost: StatusCost,
    context_window: ContextWindow,
    rate_limits: Windows,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusCost {
    total_cost_usd: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContextWindow {
    used_percentage: Option<f64>,
}

impl Claude {
    pub(super) fn new(expects: Expects) -> Claude {
        Claude {
            ready: Ready::Unstarted,
            person: Person::default(),
            handover: Handover::new(&expects),
            turn: Turn::Open,
            session: String::new(),
            model: String::new(),
            spent: Spent::default(),
            limits: Limits::default(),
            words: String::new(),
            has_transcript: false,
            expects,
        }
    }

    pub(super) fn hear(&mut self, now_ms: u64, input: Input<'_>) -> Vec<Effect> {
        let mut effects = Vec::new();
        if matches!(self.turn, Turn::Over) {
            // What it has cost in all is known only when it ends.
            if let Input::Transcript(line) = input {
                self.late_cost(line, &mut effects);
            }
            return effects;
        }
        match input {
            Input::Hook(json) => {
                if let Some(hook) = Hook::read(json) {
                    self.hook(now_ms, &hook, &mut effects);
                }
            }
            Input::StatusLine(json) => self.status_line(now_ms, json, &mut effects),
            Input::Transcript(line) => self.transcript(now_ms, line, &mut effects),
            Input::Time => {}
        }
        self.ready.tick(now_ms, &self.expects, &mut self.person, &mut effects);
        let is_quiet = self.quiet_at().is_some_and(|at| now_ms >= at);
        match &self.turn {
            Turn::Limited { words, .. } if is_quiet || self.limits.event().is_some() => {
                let words = words.clone();
                self.fail(now_ms, &Failure::read(RATE_LIMIT, &words), &mut effects);
            }
            Turn::Stopping { .. } if is_quiet => self.complete(now_ms, &mut effects),
            _ => {}
        }
        effects
    }

    pub(super) fn keys_for(&self, text: &str) -> Result<Vec<u8>, &'static str> {
        self.person.keys_for(text, &Keys { grant: "1" })
    }

    pub(super) fn wake_at(&self) -> Option<u64> {
        if matches!(self.turn, Turn::Over) {
            return None;
        }
        [self.ready.wake_at(), self.quiet_at()].into_iter().flatten().min()
    }

    /// When a turn that has stopped or failed counts as over.
    fn quiet_at(&self) -> Option<u64> {
        match self.turn {
            Turn::Stopping { hooks_ended: false, heard_ms, .. } if self.has_transcript => {
                Some(heard_ms.saturating_add(STOP_HOOKS_MS))
            }
            Turn::Stopping { heard_ms, .. } | Turn::Limited { heard_ms, .. } => {
                Some(heard_ms.saturating_add(QUIET_MS))
            }
            Turn::Open | Turn::Background | Turn::Over => None,
        }
    }

    fn hook(&mut self, now_ms: u64, hook: &Hook, effects: &mut Vec<Effect>) {
        match &*hook.hook_event_name {
            "SessionStart" => self.session_start(hook, effects),
            "UserPromptSubmit" => {
                self.ready.is_now(&mut self.person, effects);
                self.person.works(effects);
                self.turn = Turn::Open;
                self.spent.begin(now_ms);
                if !hook.prompt.starts_with(OWN_PROMPT) {
                    self.handover.submitted(&hook.prompt, effects);
                }
            }
            "PermissionRequest" => match hook.leave(self.expects.permissions) {
                Some(answer) => effects.push(answer),
                None => self.asks(hook, effects),
            },
            "PreToolUse" if hook.is_question() => self.asks(hook, effects),
            "PostToolUse" | "PostToolUseFailure" => {
                self.person.called(&hook.tool_use_id, &hook.tool_name, &hook.tool_input);
                self.person.call_ended(&hook.tool_use_id, effects);
            }
            "Notification" => self.notified(hook, effects),
            "Stop" => self.stopped(now_ms, hook, effects),
            "StopFailure" => {
                let words = hook.last_assistant_message.clone().unwrap_or_default();
                match &*hook.error {
                    RATE_LIMIT => self.turn = Turn::Limited { words, heard_ms: now_ms },
                    kind => self.fail(now_ms, &Failure::read(kind, &words), effects),
                }
            }
            // A person has closed it: what it has done until then is what there is.
            "SessionEnd" if hook.reason == "prompt_input_exit" => self.complete(now_ms, effects),
            _ => {}
        }
    }

    fn session_start(&mut self, hook: &Hook, effects: &mut Vec<Effect>) {
        self.ready.is_now(&mut self.person, effects);
        // The same session goes on after its context was shortened.
        if hook.session_id == self.session {
            return;
        }
        let is_first = self.session.is_empty();
        self.session.clone_from(&hook.session_id);
        if let Some(model) = &hook.model {
            self.model.clone_from(model);
        }
        self.has_transcript = false;
        // A login may be renewed after a first refusal, and whether there is one is not known here.
        let init = json!({"type": "system", "subtype": "init", "session_id": self.session, "model": self.model,
            "apiKeySource": "none"});
        effects.push(Effect::Print(init.to_string()));
        effects.extend(hook.transcript_path.as_ref().map(|path| Effect::Follow(path.into())));
        if !is_first || self.expects.prompt.is_empty() {
            self.person.wait(NeedsPerson::Idle, "the agent is ready for a prompt", effects);
        }
    }

    fn asks(&mut self, hook: &Hook, effects: &mut Vec<Effect>) {
        let (why, text) = hook.wants();
        self.person.asks(why, &hook.tool_name, &hook.tool_input, text, effects);
        if !hook.tool_use_id.is_empty() {
            self.person.called(&hook.tool_use_id, &hook.tool_name, &hook.tool_input);
        }
    }

    fn notified(&mut self, hook: &Hook, effects: &mut Vec<Effect>) {
        let why = match &*hook.notification_type {
            "permission_prompt" => NeedsPerson::Permission,
            // It will be woken by what runs in the background.
            "idle_prompt" if !matches!(self.turn, Turn::Background) => NeedsPerson::Idle,
            _ => return,
        };
        self.person.wait(why, &hook.message, effects);
    }

    fn stopped(&mut self, now_ms: u64, hook: &Hook, effects: &mut Vec<Effect>) {
        self.person.works(effects);
        let words = hook.last_assistant_message.clone().unwrap_or_default();
        self.turn = match hook.has_running_tasks() {
            true => Turn::Background,
            false => Turn::Stopping { words, hooks_ended: false, heard_ms: now_ms },
        };
    }

    fn status_line(&mut self, now_ms: u64, json: &str, effects: &mut Vec<Effect>) {
        let Ok(status) = serde_json::from_str::<StatusLine>(json) else { return };
        self.limits.update(status.rate_limits);
        if let Some(dollars) = status.cost.total_cost_usd {
            self.cost(dollars, effects);
        }
        let used = status.context_window.used_percentage.unwrap_or_default();
        if let Some(most) = self.expects.end_at_context.filter(|most| used >= f64::from(*most)) {
            let text =
                format!("{used:.0} % of the context are in use, the limit is {most} %: ending the turn");
            effects.push(Effect::Print(OwnLine::Notice { text: Cow::Owned(text) }.write()));
            self.complete(now_ms, effects);
        }
    }

    fn cost(&mut self, dollars: f64, effects: &mut Vec<Effect>) {
        let usd = Usd::from_dollars(dollars);
        if self.spent.cost.replace(usd) != Some(usd) {
            effects.push(Effect::Print(OwnLine::Cost(usd).write()));
        }
    }

    /// The turn is over and went well.
    fn complete(&mut self, now_ms: u64, effects: &mut Vec<Effect>) {
        self.person.works(effects);
        let words = match std::mem::replace(&mut self.turn, Turn::Over) {
            Turn::Stopping { words, .. } if !words.trim().is_empty() => words,
            _ => self.words.clone(),
        };
        // They may not have been in the transcript yet. Of several texts the last one is known.
        if !words.contains(self.words.trim()) || (self.words.trim().is_empty() && !words.trim().is_empty()) {
            let message = json!({"id": "last", "model": self.model, "role": "assistant",
                "content": [{"type": "text", "text": words}]});
            let line = json!({"type": "assistant", "message": message, "session_id": self.session});
            effects.push(Effect::Print(line.to_string()));
        }
        effects.push(Effect::Print(self.spent.result(&self.session, &words, now_ms)));
        effects.push(Effect::End);
    }

    fn fail(&mut self, now_ms: u64, failure: &Failure<'_>, effects: &mut Vec<Effect>) {
        self.person.works(effects);
        self.turn = Turn::Over;
        let limit = failure.is_limit().then(|| self.limits.event()).flatten();
        effects.extend(limit.map(Effect::Print));
        effects.push(Effect::Print(failure.message(&self.session)));
        effects.push(Effect::Print(self.spent.failed(&self.session, failure, now_ms)));
        effects.push(Effect::End);
    }
}
