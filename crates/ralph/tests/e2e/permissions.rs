//! An agent that may not do what it wants to.

use crate::stage::{DONE, Real, Stage};
use serde_json::{Value, json};

/// Claude would have asked, and there is no user to ask.
#[test]
fn claude_is_denied_a_tool_and_ralph_tells() {
    let Some((stage, events)) = try_to_write(Real::Claude) else { return };
    let denied = events.iter().find(|event| event["kind"] == "denied").unwrap();
    assert_eq!(denied["tool"], "Bash", "{denied:#}");
    assert!(stage.turns()[1].last_user.contains("approval"), "{}", stage.turns()[1].last_user);
}

/// Codex does not ask: its sandbox is read-only then, and the command fails. Its stream often
/// leaves such a command out, the faster it fails the likelier; where it is there, it has failed.
#[test]
fn codex_writes_in_vain_and_the_checks_show_it() {
    if !Stage::codex_has_a_sandbox() {
        return;
    }
    let Some((stage, events)) = try_to_write(Real::Codex) else { return };
    assert!(stage.turns()[1].last_user.contains("Read-only file system"), "{}", stage.turns()[1].last_user);
    for end in events.iter().filter(|event| event["kind"] == "tool_end") {
        assert_eq!(end["is_error"], true, "{end:#}");
    }
}

/// One iteration without leave to act; what ralph reports about the agent.
fn try_to_write(real: Real) -> Option<(Stage, Vec<Value>)> {
    let stage = Stage::set(
        real,
        &json!([{"steps": [
            {"text": "I write.", "tools": [{"shell": "echo made > made.txt"}]},
            {"text": format!("I believe that I have. {DONE}")}]}]),
    )?;
    stage.settings(json!({"agent": {"autonomous": false}}));
    let args = ["run", "--format", "ndjson", "make it", "-n", "1", "--check", "test -f made.txt"];
    let ran = stage.start(&args).end();
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.stdout, ran.stderr);
    assert!(!stage.path("made.txt").exists());
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
    let events = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Some((stage, events))
}
