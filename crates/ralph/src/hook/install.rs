//! How an agent is told to call ralph's hooks.

use ralph_loop::text::shell_word;
use serde_json::{Value, json};
use std::path::Path;

/// Far more than any hook takes; a disk that hangs must not hold up an agent.
const SECONDS: u32 = 30;

/// For `claude --settings`.
pub fn claude_settings(program: &Path) -> Value {
    json!({"hooks": hooks(program)})
}

/// For Codex's `hooks.json`, which has the same form.
pub fn codex_hooks(program: &Path) -> Value {
    json!({"hooks": hooks(program)})
}

fn hooks(program: &Path) -> Value {
    let program = shell_word(&program.to_string_lossy());
    let call = |hook: &str| json!([{"type": "command", "command": format!("{program} hook {hook}"), "timeout": SECONDS}]);
    json!({
        "PostToolUse": [{"matcher": "*", "hooks": call("context-monitor")}],
        "SessionStart": [{"hooks": call("session-start")}],
        "Stop": [{"hooks": call("stop")}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_calls_its_hook_by_absolute_path() {
        let wanted = |hook: &str| json!({"type": "command", "command": format!("'/opt/my ralph' hook {hook}"), "timeout": 30});
        for made in [claude_settings(Path::new("/opt/my ralph")), codex_hooks(Path::new("/opt/my ralph"))] {
            let hooks = &made["hooks"];
            assert_eq!(hooks.as_object().unwrap().len(), 3);
            assert_eq!(hooks["PostToolUse"], json!([{"matcher": "*", "hooks": [wanted("context-monitor")]}]));
            assert_eq!(hooks["SessionStart"], json!([{"hooks": [wanted("session-start")]}]));
            assert_eq!(hooks["Stop"], json!([{"hooks": [wanted("stop")]}]));
        }
    }
}
