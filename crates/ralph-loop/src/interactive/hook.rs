//! What Claude and Codex give to a hook: the same fields, as far as both have them.

use super::{Effect, Permissions};
use crate::dialect::{NeedsPerson, ToolInput, questions_of};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Hook {
    pub(super) hook_event_name: String,
    pub(super) session_id: String,
    pub(super) transcript_path: Option<String>,
    pub(super) model: Option<String>,
    /// UserPromptSubmit
    pub(super) prompt: String,
    /// PreToolUse, PostToolUse, PermissionRequest
    pub(super) tool_name: String,
    pub(super) tool_input: Value,
    pub(super) tool_use_id: String,
    /// Notification
    pub(super) message: String,
    pub(super) notification_type: String,
    /// Stop, StopFailure
    pub(super) last_assistant_message: Option<String>,
    pub(super) background_tasks: Vec<BackgroundTask>,
    /// StopFailure
    pub(super) error: String,
    /// SessionEnd
    pub(super) reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BackgroundTask {
    pub(super) status: String,
}

impl Hook {
    /// None for what is not a hook's object.
    pub(super) fn read(json: &str) -> Option<Hook> {
        serde_json::from_str(json).ok().filter(|hook: &Hook| !hook.hook_event_name.is_empty())
    }

    /// What a person is asked: `Bash: touch perm.txt`, `Which database? (SQLite, Postgres)`.
    pub(super) fn wants(&self) -> (NeedsPerson, String) {
        let questions: Vec<String> = questions_of(&self.tool_input)
            .into_iter()
            .map(|question| {
                let choices: Vec<&str> =
                    question.choices.iter().map(|choice| choice.label.as_str()).collect();
                if choices.is_empty() {
                    question.text
                } else {
                    format!("{} ({})", question.text, choices.join(", "))
                }
            })
            .collect();
        if self.is_question() && !questions.is_empty() {
            return (NeedsPerson::Question, questions.join("; "));
        }
        let summary = ToolInput::new(&self.tool_input.to_string()).summary();
        (NeedsPerson::Permission, format!("{}: {summary}", self.tool_name))
    }

    /// It asks whatever the mode, and an answer that allows it has no answer to its questions.
    pub(super) fn is_question(&self) -> bool {
        self.tool_name == "AskUserQuestion"
    }

    pub(super) fn has_running_tasks(&self) -> bool {
        self.background_tasks.iter().any(|task| task.status == "running")
    }

    /// The answer by policy, if there is one.
    pub(super) fn leave(&self, permissions: Permissions) -> Option<Effect> {
        let allows = permissions == Permissions::Allow && !self.is_question();
        let decision = json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}});
        allows.then(|| Effect::Answer(json!({ "hookSpecificOutput": decision })))
    }
}
