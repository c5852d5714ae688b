//! What agents call while they work: `ralph hook …`.
//!
//! A hook gets a JSON object from the agent and may answer with one. It acts only in ralph's
//! own agents, which have `RALPH_RUN` in their environment: a person who works in the same
//! repository is never held up. Hooks run after every tool call, so they read no more than they
//! need and start nothing that they can do without.
//!
//! A hook that guards (`stop`, `guard`) fails closed: if it cannot look, it does not let the agent go.
//! One that only advises fails open. Both say why.

mod assignment;
mod context;
mod guard;
mod install;
mod marker;
mod parts;
mod plan;
mod session;
mod state;
mod stop;
mod turn;

pub use assignment::{ASSIGNMENT, Assignment};
pub use guard::{GuardBy, RUN_CODES, guard, guard_failed};
pub use install::{HookCalls, HookSet, claude_settings, codex_config, codex_has_own};

use crate::layout::Home;
use serde::Deserialize;
use serde_json::{Value, json};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Set in the environment of every agent that ralph starts.
const RUN: &str = "RALPH_RUN";

/// Set in the environment of an agent in which the hooks of ralph's plugin are to do nothing: it has been given hooks by ralph
/// itself, and each would be called twice, or it is to have none. The plugin's own script looks at it.
pub const PLUGINS_HOOKS: &str = "RALPH_HOOKS";
pub const OFF: &str = "off";

/// Tokens in the agent's context, where they are not the usual number.
const WINDOW: &str = "CLAUDE_CONTEXT_WINDOW";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    ContextMonitor,
    SessionStart,
    Stop,
    /// The end of a turn in a planning conversation.
    PlanStop,
    /// Whatever an interactive agent does.
    Turn,
}

/// In whose sessions a hook acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of ralph's agents.
    Ours,
    /// A person's too, because the person said so.
    Everybodys,
}

/// What the agent says to a hook; whatever is missing is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    session_id: String,
    transcript_path: PathBuf,
    cwd: PathBuf,
    hook_event_name: String,
    /// Why a session starts: `startup`, `resume`, `clear`, `compact`.
    source: String,
    /// Whether the agent is at work only because a Stop hook did not let it go.
    stop_hook_active: bool,
}

/// What a hook says to the agent.
#[derive(Debug, PartialEq)]
pub struct HookAnswer {
    pub output: Option<Value>,
    /// For people, on standard error.
    pub remarks: Vec<String>,
    pub exit: HookExit,
}

/// How a hook ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookExit {
    Done,
    /// It could not do its work. Agents take an error of a hook for no more than that.
    Failed,
    /// What the agent was about to do may not be done.
    Denied,
}

/// The exit codes that tell how a hook ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerCodes {
    pub done: u8,
    pub denied: u8,
}

/// What agents understand: 2 is an order not to run a tool.
pub const USUAL_CODES: AnswerCodes = AnswerCodes { done: 0, denied: 2 };

impl HookAnswer {
    fn nothing() -> HookAnswer {
        HookAnswer { output: None, remarks: Vec::new(), exit: HookExit::Done }
    }

    fn failed(remark: String) -> HookAnswer {
        HookAnswer { output: None, remarks: vec![remark], exit: HookExit::Failed }
    }

    /// Text that the agent finds in its context.
    fn context(event: &str, text: &str) -> HookAnswer {
        let output = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}});
        HookAnswer { output: Some(output), ..HookAnswer::nothing() }
    }

    /// Text that the user sees in the agent.
    fn message(text: &str) -> HookAnswer {
        HookAnswer { output: Some(json!({"systemMessage": text})), ..HookAnswer::nothing() }
    }

    /// The agent may not stop yet.
    fn block(reason: &str) -> HookAnswer {
        HookAnswer { output: Some(json!({"decision": "block", "reason": reason})), ..HookAnswer::nothing() }
    }

    fn remark(mut self, remark: impl Into<String>) -> HookAnswer {
        self.remarks.push(remark.into());
        self
    }
}

/// What a hook knows besides its input.
struct Surroundings {
    run: Option<OsString>,
    home: Option<Home>,
}

impl Surroundings {
    fn here() -> Surroundings {
        Surroundings { run: variable(RUN), home: Home::find() }
    }
}

fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Answers an agent. `input` is its JSON, or why that could not be read.
pub fn answer(hook: Hook, whose: Whose, input: Result<&[u8], String>) -> HookAnswer {
    let around = Surroundings::here();
    if hook == Hook::PlanStop {
        return plan::stop(input);
    }
    if around.run.is_none() && whose == Whose::Ours {
        return HookAnswer::nothing();
    }
    if hook == Hook::Turn {
        return input.map_or_else(HookAnswer::failed, turn::pass_on);
    }
    let bytes = input.clone().unwrap_or_default();
    let input = input.and_then(|bytes| serde_json::from_slice::<Input>(bytes).map_err(|why| why.to_string()));
    let answer = answer_known(hook, &around, input);
    let goes_on = answer.output.as_ref().is_some_and(|output| output["decision"] == "block");
    if matches!(hook, Hook::Stop | Hook::SessionStart) && !goes_on {
        let passed_on = turn::pass_on(bytes);
        return passed_on.remarks.into_iter().fold(answer, HookAnswer::remark);
    }
    answer
}

fn answer_known(hook: Hook, around: &Surroundings, input: Result<Input, String>) -> HookAnswer {
    match (hook, input) {
        (Hook::PlanStop | Hook::Turn, _) => HookAnswer::nothing(),
        (Hook::Stop, input) => stop::stop(around, input),
        (Hook::ContextMonitor, Ok(input)) => context::monitor(around, &input),
        (Hook::SessionStart, Ok(input)) => session::start(around, &input),
        (Hook::ContextMonitor | Hook::SessionStart, Err(why)) => {
            HookAnswer::failed(format!("cannot read the hook's input: {why}"))
        }
    }
}
