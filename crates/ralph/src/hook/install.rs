//! How agents are configured to call ralph's hooks.

use crate::fsx;
use ralph_loop::text::shell_word;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Far more than any hook takes; a disk that hangs must not hold up an agent.
const SECONDS: u32 = 30;

/// The guard itself answers in a few seconds at most. An agent that gives up on it earlier would run the tool.
const GUARD_SECONDS: u32 = 600;

/// Which hooks an agent is to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSet {
    /// Those of an agent that works on a task list.
    Tasks,
    /// That of an agent in a planning conversation.
    Planning,
}

/// What an agent is to call.
#[derive(Clone, Copy, Debug)]
pub struct HookCalls<'a> {
    pub program: &'a Path,
    pub set: Option<HookSet>,
    /// The script that asks the guard.
    pub guard: Option<&'a Path>,
    /// Whether the agent is on a terminal, whose host has to hear what it does.
    pub terminal: bool,
}

/// What the host of a terminal hears of Claude. What else there is shows in its transcript.
const CLAUDE_EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

/// The same of Codex, which knows fewer.
const CODEX_EVENTS: &[&str] =
    &["SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop"];

/// For `claude --settings`.
pub fn claude_settings(calls: &HookCalls<'_>) -> Value {
    let mut hooks = hooks(calls, CLAUDE_EVENTS);
    // A hook that takes too long denies.
    if let Some(guard) = hooks.get_mut("PreToolUse").and_then(|calls| calls.pointer_mut("/0/hooks/0")) {
        guard["onFailure"] = "block".into();
    }
    let mut settings = json!({"hooks": hooks});
    if calls.terminal {
        let command = format!("{} hook turn", shell_word(&calls.program.to_string_lossy()));
        settings["statusLine"] = json!({"type": "command", "command": command});
        // It asks before it works without asking.
        settings["skipDangerousModePermissionPrompt"] = true.into();
    }
    settings
}

/// For `codex -c`: a line an event. There is no file that could be left behind in a
/// project.
pub fn codex_config(calls: &HookCalls<'_>) -> Vec<String> {
    hooks(calls, CODEX_EVENTS).iter().map(|(event, calls)| format!("hooks.{event}={}", toml(calls))).collect()
}

/// Whether Codex would find hooks of the project's own. To have ours called it must trust all
/// there are, also unreviewed ones: an agent can write them.
pub fn codex_has_own(workspace: &Path) -> bool {
    let is_top = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
    let top = workspace.ancestors().find(is_top).unwrap_or(workspace);
    let dirs = workspace.ancestors().take_while(|dir| dir.starts_with(top)).map(|dir| dir.join(".codex"));
    dirs.into_iter().any(|dir| {
        let config = fsx::read_regular(&dir.join("config.toml"));
        dir.join("hooks.json").symlink_metadata().is_ok()
            || config.is_ok_and(|text| String::from_utf8_lossy(&text).contains("hooks"))
    })
}

/// JSON as TOML on one line. A string in JSON is one in TOML.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}={}", toml(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn hooks(calls: &HookCalls<'_>, terminal_events: &[&str]) -> Map<String, Value> {
    let program = shell_word(&calls.program.to_string_lossy());
    let call = |hook: &str| json!([{"type": "command", "command": format!("{program} hook {hook}"), "timeout": SECONDS}]);
    let mut hooks = Map::new();
    match calls.set {
        Some(HookSet::Tasks) => {
            hooks.insert("PostToolUse".into(), json!([{"matcher": "*", "hooks": call("context-monitor")}]));
            hooks.insert("SessionStart".into(), json!([{"hooks": call("session-start")}]));
            hooks.insert("Stop".into(), json!([{"hooks": call("stop")}]));
        }
        Some(HookSet::Planning) => {
            hooks.insert("Stop".into(), json!([{"hooks": call("plan-stop")}]));
        }
        None => {}
    }
    if calls.terminal {
        for event in terminal_events {
            // The others pass it on themselves.
            let turn = || json!([{"hooks": call("turn")}]);
            hooks.entry(*event).or_insert_with(turn);
        }
    }
    if let Some(script) = calls.guard {
        let command = format!("/bin/sh {}", shell_word(&script.to_string_lossy()));
        let call = json!([{"type": "command", "command": command, "timeout": GUARD_SECONDS}]);
        hooks.insert("PreToolUse".into(), json!([{"matcher": "*", "hooks": call}]));
    }
    hooks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_calls_its_hook_by_absolute_path() {
        let wanted = |hook: &str| json!({"type": "command", "command": format!("'/opt/my ralph' hook {hook}"), "timeout": 30});
        let made = claude_settings(&HookCalls {
            program: Path::new("/opt/my ralph"),
            set: Some(HookSet::Tasks),
            guard: Some(Path::new("/runs/r 1/guard.sh")),
            terminal: false,
        });
        let hooks = &made["hooks"];
        assert_eq!(hooks.as_object().unwrap().len(), 4);
        let guard = json!({"type": "command", "command": "/bin/sh '/runs/r 1/guard.sh'", "timeout": 600, "onFailure": "block"});
        assert_eq!(hooks["PreToolUse"], json!([{"matcher": "*", "hooks": [guard]}]));
        assert_eq!(hooks["PostToolUse"], json!([{"matcher": "*", "hooks": [wanted("context-monitor")]}]));
        assert_eq!(hooks["SessionStart"], json!([{"hooks": [wanted("session-start")]}]));
        assert_eq!(hooks["Stop"], json!([{"hooks": [wanted("stop")]}]));
    }

    #[test]
    fn codex_gets_a_line_of_toml_an_event() {
        let call = |hook: &str| {
            let program = r#"'/opt/my \"ralph\"'"#;
            format!(r#"{{command="{program} hook {hook}",timeout=30,type="command"}}"#)
        };
        assert_eq!(
            codex_config(&HookCalls {
                program: Path::new("/opt/my \"ralph\""),
                set: Some(HookSet::Tasks),
                guard: Some(Path::new("/runs/1/guard.sh")),
                terminal: false,
            }),
            [
                format!("hooks.PostToolUse=[{{hooks=[{}],matcher=\"*\"}}]", call("context-monitor")),
                "hooks.PreToolUse=[{hooks=[{command=\"/bin/sh '/runs/1/guard.sh'\",timeout=600,type=\"command\"}],matcher=\"*\"}]".to_owned(),
                format!("hooks.SessionStart=[{{hooks=[{}]}}]", call("session-start")),
                format!("hooks.Stop=[{{hooks=[{}]}}]", call("stop")),
            ]
        );
    }

    #[test]
    fn hooks_of_the_projects_own_are_found_up_to_its_top() {
        let dir = tempfile::tempdir().unwrap();
        let [above, top, below] = ["", "repo", "repo/a/b"].map(|name| dir.path().join(name));
        fsx::dir(&top.join(".git")).unwrap();
        let write = |dir: &Path, name: &str, text: &str| {
            fsx::dir(&dir.join(".codex")).unwrap();
            fsx::write_whole(&dir.join(".codex").join(name), text.as_bytes()).unwrap();
        };
        // codex does not look above the repository.
        write(&above, "hooks.json", "{}");
        write(&top, "config.toml", "model = \"x\"");
        fsx::dir(&below).unwrap();
        assert!(!codex_has_own(&below));
        write(&top, "config.toml", "[hooks]\n");
        assert!(codex_has_own(&below));
        fsx::remove(&top.join(".codex/config.toml")).unwrap();
        write(&below, "hooks.json", "{}");
        assert!(codex_has_own(&below) && !codex_has_own(&top));
    }
}
