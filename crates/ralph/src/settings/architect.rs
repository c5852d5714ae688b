//! The block `ralph_loop:` that architect's loop reads from its configuration file.
//!
//! Its keys become ralph's in a file given with `--config`. Where the same file also has
//! ralph's own key, that one counts.

use super::check::{Findings, check_group};
use super::merge;
use super::table::{Fallback, Key, Kind};
use serde_json::{Value, json};

const BLOCK: &str = "ralph_loop";

/// architect's name for its default agent, which is whatever ralph's is.
pub const DEFAULT_AGENT: &str = "build";

const KEYS: &[Key] = &[
    key("max_iterations", Kind::Count { least: 1 }),
    key("max_cost", Kind::Number { zero: false }),
    key("max_time", Kind::Number { zero: false }),
    key("completion_tag", Kind::Text),
    key("agent", Kind::Text),
];

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, default: Fallback::Nothing, doc: "" }
}

/// Moves the block's values to where ralph keeps them.
pub fn translate(file: &mut Value) -> Findings {
    let Some(mut block) = file.as_object_mut().and_then(|file| file.remove(BLOCK)) else {
        return Findings::default();
    };
    if block.is_null() {
        return Findings::default();
    }
    let findings = check_group(KEYS, BLOCK, &mut block);
    let Value::Object(block) = block else { return findings };
    let mut translated = json!({});
    for (name, value) in block {
        let layer = match (&name[..], value) {
            ("max_iterations", value) => json!({ "maximumIterations": value }),
            ("max_cost", value) => json!({ "maxCost": value }),
            ("max_time", value) => json!({ "maxTime": value }),
            ("completion_tag", value) => json!({ "completionResponse": value }),
            ("agent", Value::String(agent)) if agent == DEFAULT_AGENT => continue,
            ("agent", Value::Null) => continue,
            ("agent", value) => json!({ "agent": { "command": value } }),
            // Reported as unknown already.
            _ => continue,
        };
        merge(&mut translated, layer);
    }
    // What is wrong was reported under the name that the block gives it.
    if findings.problems.is_empty() {
        merge(&mut translated, std::mem::take(file));
        *file = translated;
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_becomes_ralphs_own_keys_which_win_over_it() {
        let mut file = json!({
            "ralph_loop": {
                "max_iterations": 25, "max_cost": null, "max_time": 60,
                "completion_tag": "COMPLETE", "agent": "codex",
            },
            "maxTime": 90,
        });
        let findings = translate(&mut file);
        assert!(findings.problems.is_empty() && findings.warnings.is_empty(), "{findings:?}");
        let ours = json!({
            "maximumIterations": 25, "maxCost": null, "maxTime": 90,
            "completionResponse": "COMPLETE", "agent": {"command": "codex"},
        });
        assert_eq!(file, ours);
    }

    #[test]
    fn its_default_agent_is_ralphs() {
        let mut file = json!({"ralph_loop": {"agent": "build"}});
        translate(&mut file);
        assert_eq!(file, json!({}));
    }

    #[test]
    fn problems_are_told_under_the_blocks_own_names() {
        let mut file = json!({"ralph_loop": {"max_iterations": 0, "completion_tags": "X"}});
        let findings = translate(&mut file);
        assert_eq!(findings.problems[0].at, "ralph_loop.max_iterations");
        let warning = "unknown key: ralph_loop.completion_tags; did you mean ralph_loop.completion_tag?";
        assert_eq!(findings.warnings, [warning]);
    }
}
