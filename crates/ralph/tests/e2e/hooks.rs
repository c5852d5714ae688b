//! ralph's hooks in the real programs: loaded, run, obeyed, and without effect outside of a run.

use crate::stage::{Real, Stage};
use serde_json::{Value, json};
use std::fs;

pub fn story(fields: &Value) -> Value {
    let mut story = json!({
        "id": "US-001", "title": "Greet", "description": "", "acceptanceCriteria": ["It greets"], "priority": 1,
        "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "greets",
        "dependsOn": [],
    });
    for (name, value) in fields.as_object().unwrap() {
        story[name] = value.clone();
    }
    json!({"project": "p", "branchName": "", "description": "", "verifyCommands": [], "userStories": [story]})
}

/// The model's order to write this list and commit.
pub fn write_list(fields: &Value) -> Value {
    json!({"shell": format!(
        "cat > ralph/tasks.json <<'END'\n{}\nEND\ngit add -A && git commit -q -m work || echo cannot commit", story(fields)
    )})
}

pub fn lay_out(stage: &Stage) {
    fs::create_dir_all(stage.path("ralph")).unwrap();
    fs::write(stage.path("ralph/tasks.json"), story(&json!({})).to_string()).unwrap();
    stage.git(&["add", "."]);
    stage.git(&["commit", "-q", "-m", "tasks"]);
}

pub fn status(stage: &Stage) -> Value {
    let list: Value = serde_json::from_str(&stage.read("ralph/tasks.json")).unwrap();
    list["userStories"][0]["reviewStatus"].clone()
}

#[test]
fn claude_is_blocked_once_by_the_stop_hook_and_obeys() {
    is_blocked_once_by_the_stop_hook_and_obeys("none", Real::Claude);
}

#[test]
fn codex_is_blocked_once_by_the_stop_hook_and_obeys() {
    is_blocked_once_by_the_stop_hook_and_obeys("none", Real::Codex);
}

#[test]
fn claude_obeys_the_stop_hook_inside_bubblewrap() {
    is_blocked_once_by_the_stop_hook_and_obeys("bwrap", Real::Claude);
}

#[test]
fn codex_obeys_the_stop_hook_inside_bubblewrap() {
    is_blocked_once_by_the_stop_hook_and_obeys("bwrap", Real::Codex);
}

fn is_blocked_once_by_the_stop_hook_and_obeys(sandbox: &'static str, real: Real) {
    if let Some(stage) = is_blocked_once(sandbox, real, |_| ()) {
        stage.asked_only_the_model();
    }
}

/// An agent that approves itself hears of it before it can end, and takes it back.
pub fn is_blocked_once(sandbox: &'static str, real: Real, prepare: impl FnOnce(&Stage)) -> Option<Stage> {
    let cheat = write_list(&json!({"passes": true, "reviewStatus": "approved"}));
    let back = write_list(&json!({"reviewStatus": "needs_review"}));
    let stage = Stage::set_inside(
        sandbox,
        real,
        &json!([{"steps": [
            {"text": "I do it.", "tools": [cheat]}, {"text": "All is done."},
            {"text": "I see.", "tools": [back]}, {"text": "Now a review may come."}]}]),
    )?;
    lay_out(&stage);
    prepare(&stage);
    let ran = stage.start(&["tasks", "--format", "json", "-n", "1"]).end();
    ran.stops(1, "max_iterations", 1);
    assert_eq!(status(&stage), "needs_review");

    let heard: Vec<String> = stage.turns().into_iter().map(|turn| turn.heard).collect();
    assert_eq!(heard.len(), 4, "{heard:#?}");
    let blocked: Vec<bool> = heard.iter().map(|heard| heard.contains("The task list has errors")).collect();
    assert_eq!(blocked, [false, false, true, false], "{heard:#?}");
    assert!(heard[2].contains("Story US-001 had illegal transition: passes false → true."), "{}", heard[2]);
    assert!(heard[2].contains("(Block 1 of 5.)") && !heard[2].contains("(Block 2 of 5.)"), "{}", heard[2]);
    // It was taken back in time, so that ralph had nothing to undo.
    let journal = stage.journal();
    assert!(!journal.contains("violations"), "{journal}");
    // Nothing of the hooks lies in the project.
    assert!(!stage.path(".claude").exists() && !stage.path(".codex").exists());
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
    // In its own sandbox Codex cannot commit and is not asked to. In ralph's it has none of its own.
    let by_itself = real == Real::Claude || sandbox != "none" || !Stage::codex_has_a_sandbox();
    let last = stage.git(&["log", "-1", "--format=%s"]);
    assert_eq!(last.trim(), if by_itself { "work" } else { "wip: [US-001] uncommitted work of iteration 1" });
    let opening = &stage.turns()[0].opening;
    assert_eq!(opening.contains("You cannot commit in your sandbox"), !by_itself, "{opening}");
    assert_eq!(stage.alive(), []);
    Some(stage)
}

#[test]
fn claude_hears_that_its_context_is_full() {
    hears_that_its_context_is_full(Real::Claude);
}

#[test]
fn codex_hears_that_its_context_is_full() {
    hears_that_its_context_is_full(Real::Codex);
}

fn hears_that_its_context_is_full(real: Real) {
    let ready = write_list(&json!({"reviewStatus": "needs_review"}));
    // Far more than the size of the transcript stands for: an agent may write an answer's numbers down
    // only after the hook of its first tool has looked.
    let usage = json!({"input": 122_000, "output": 20});
    let Some(stage) = Stage::set(
        real,
        &json!([{"steps": [
            {"text": "One.", "tools": [{"shell": "echo one"}], "usage": usage},
            {"text": "Two.", "tools": [{"shell": "echo two"}], "usage": usage},
            {"text": "Three.", "tools": [ready], "usage": usage},
            {"text": "Implemented.", "usage": usage}]}]),
    ) else {
        return;
    };
    lay_out(&stage);
    let ran = stage
        .start_with(&["tasks", "--format", "json", "-n", "1"], &[("CLAUDE_CONTEXT_WINDOW", "200000")])
        .end();
    ran.stops(1, "max_iterations", 1);
    let heard: Vec<String> = stage.turns().into_iter().map(|turn| turn.heard).collect();
    let alerts: Vec<&String> =
        heard.iter().filter(|heard| heard.contains("of the context is used (")).collect();
    assert_eq!(alerts.len(), 1, "once a session: {heard:#?}");
    assert!(alerts[0].contains("NOTICE: about 61%"), "{}", alerts[0]);
    assert_eq!(status(&stage), "needs_review");
}

#[test]
fn a_persons_own_claude_in_the_same_repository_is_not_touched() {
    let Some(stage) = Stage::set(
        Real::Claude,
        &json!([{"steps": [
            {"text": "Look.", "tools": [{"shell": "echo mine > mine.txt"}], "usage": {"input": 190_000, "output": 20}},
            {"text": "That was all."}]}]),
    ) else {
        return;
    };
    lay_out(&stage);
    // Everything that would stop one of ralph's agents, and the hooks in the project's own settings.
    fs::write(stage.path("ralph/tasks.json"), story(&json!({"passes": true})).to_string()).unwrap();
    let marker = json!({"iterationMode": "implement", "skipReview": false, "preIterationSnapshot": {}});
    fs::write(stage.path(".ralph-active"), marker.to_string()).unwrap();
    let call = |hook: &str| json!([{"matcher": "*", "hooks": [{"type": "command", "command": format!("{} hook {hook}", Stage::ralph())}]}]);
    let settings = json!({"hooks": {"PostToolUse": call("context-monitor"), "Stop": call("stop")}});
    fs::create_dir(stage.path(".claude")).unwrap();
    fs::write(stage.path(".claude/settings.json"), settings.to_string()).unwrap();

    let said = stage.person(&["-p", "--dangerously-skip-permissions", "look around"]);
    assert_eq!(said.trim(), "That was all.");
    let heard: Vec<String> = stage.turns().into_iter().map(|turn| turn.heard).collect();
    assert_eq!(heard.len(), 2, "{heard:#?}");
    assert!(heard.iter().all(|heard| !heard.contains("of the context is used")), "{heard:#?}");
    assert_eq!(stage.read("mine.txt"), "mine\n");
}

#[test]
fn codex_is_not_told_where_the_project_has_hooks_that_nobody_looked_at() {
    let ready = write_list(&json!({"reviewStatus": "needs_review"}));
    let Some(stage) = Stage::set(
        Real::Codex,
        &json!([{"steps": [{"text": "I do it.", "tools": [ready]}, {"text": "Done."}]}]),
    ) else {
        return;
    };
    lay_out(&stage);
    let call = json!([{"hooks": [{"type": "command", "command": "touch planted-hook-ran"}]}]);
    fs::create_dir(stage.path(".codex")).unwrap();
    fs::write(stage.path(".codex/hooks.json"), json!({"hooks": {"SessionStart": call}}).to_string()).unwrap();
    stage.git(&["add", "."]);
    stage.git(&["commit", "-q", "-m", "hooks"]);
    let ran = stage.start(&["tasks", "--format", "json", "-n", "1"]).end();
    ran.stops(1, "max_iterations", 1);
    assert!(ran.stderr.contains("not passing ralph's hooks to codex"), "{}", ran.stderr);
    assert!(!stage.path("planted-hook-ran").exists());
    assert_eq!(status(&stage), "needs_review");
}
