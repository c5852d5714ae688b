//! Loops that end well.

use crate::stage::{DONE, Real, Stage};
use serde_json::json;

/// Says what only someone who was told its output can know.
const CHECK: &str = "test -f fixed.txt && exit; echo fixed.txt is mis''sing; exit 1";

#[test]
fn claude_repairs_in_the_third_iteration_and_words_the_commit() {
    repairs_in_the_third_iteration_and_words_the_commit(Real::Claude, "none");
}

#[test]
fn codex_repairs_in_the_third_iteration_and_words_the_commit() {
    repairs_in_the_third_iteration_and_words_the_commit(Real::Codex, "none");
}

#[test]
fn claude_repairs_inside_bubblewrap() {
    repairs_in_the_third_iteration_and_words_the_commit(Real::Claude, "bwrap");
}

#[test]
fn codex_repairs_inside_bubblewrap() {
    repairs_in_the_third_iteration_and_words_the_commit(Real::Codex, "bwrap");
}

#[test]
fn claude_repairs_under_landlock() {
    repairs_in_the_third_iteration_and_words_the_commit(Real::Claude, "landlock");
}

#[test]
fn codex_repairs_under_landlock() {
    repairs_in_the_third_iteration_and_words_the_commit(Real::Codex, "landlock");
}

fn repairs_in_the_third_iteration_and_words_the_commit(real: Real, sandbox: &'static str) {
    let Some(stage) = Stage::set_inside(
        sandbox,
        real,
        &json!([
            {"steps": [{"text": "I begin.", "tools": [{"shell": "echo one >> work.txt"}]}, {"text": "More to do."}]},
            {"steps": [{"text": "On.", "tools": [{"shell": "echo two >> work.txt"}]}, {"text": format!("All is well. {DONE}")}]},
            {"steps": [{"text": "Now right.", "tools": [{"write": {"path": "fixed.txt", "content": "fixed\n"}}]},
                       {"text": format!("Now it is. {DONE}")}]},
            {"match": "commit message", "steps": [{"text": "Add the file that was missing"}]},
        ]),
    ) else {
        return;
    };
    stage.settings(json!({"scm": {"command": "git", "tasks": ["commit"]}}));
    let result = stage.run(&["write fixed.txt", "--check", CHECK, "-n", "5"]).stops(0, "completed", 3);

    assert_eq!((stage.read("work.txt"), stage.read("fixed.txt").trim_end()), ("one\ntwo\n".into(), "fixed"));
    let passed: Vec<_> =
        result["iterations"].as_array().unwrap().iter().map(|i| &i["all_checks_passed"]).collect();
    assert_eq!(passed, [false, false, true]);
    let claimed: Vec<_> =
        result["iterations"].as_array().unwrap().iter().map(|i| &i["completion_tag_found"]).collect();
    assert_eq!(claimed, [false, true, true], "{result:#}");
    assert!(result["total_cost"].as_f64().unwrap() > 0.0, "{result:#}");
    assert!(result["iterations"][0]["cost"].as_f64().unwrap() > 0.0, "{result:#}");
    assert_eq!(result["cost_estimated"], real == Real::Codex, "Codex names tokens only: {result:#}");

    let turns = stage.turns();
    let openings: Vec<&str> =
        turns.iter().filter(|turn| turn.assistant_turns == 0).map(|turn| turn.opening.as_str()).collect();
    assert_eq!(openings.len(), 4, "three iterations and a commit message: {openings:#?}");
    assert!(openings[..3].iter().all(|opening| opening.contains("write fixed.txt")), "{openings:#?}");
    for (iteration, opening) in openings[..3].iter().enumerate() {
        // The first is told what failed before it, the others what failed after the one before them.
        let log = format!(".ralph/guardrail_{iteration}_");
        assert!(opening.contains("fixed.txt is missing") && opening.contains(&log), "{opening}");
    }
    assert_eq!(result["proof"]["word"], "proven", "{result:#}");
    assert_eq!(result["sandbox"].as_str().unwrap_or("none"), sandbox, "{result:#}");
    let is_limited = stage.journal().contains(r#""network":{"mode":"allowlist""#);
    assert_eq!(is_limited, sandbox != "none", "the network of a sandbox is limited by default");
    assert!(openings[3].contains("commit message"), "{}", openings[3]);

    assert_eq!(stage.git(&["log", "-1", "--format=%s"]), "Add the file that was missing\n");
    let committed = stage.git(&["show", "--format=", "--name-only"]);
    assert!(committed.contains("fixed.txt") && committed.contains("work.txt"), "{committed}");
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
}

#[test]
fn claude_gets_over_an_api_error_by_itself() {
    gets_over_an_api_error_by_itself(Real::Claude);
}

#[test]
fn codex_gets_over_an_api_error_by_itself() {
    gets_over_an_api_error_by_itself(Real::Codex);
}

/// An overload before the answer, a stream that breaks off, and the answer.
fn gets_over_an_api_error_by_itself(real: Real) {
    let Some(stage) = Stage::set(
        real,
        &json!([{"steps": [
            {"error": {"status": 529, "message": "Overloaded", "retry_after": 0}},
            {"error": {"status": 500, "message": "stub trouble"}},
            {"text": "Cut off in the middle of a sentence.", "chunk_chars": 5, "drop": {"after_chunks": 6}},
            {"text": "Here.", "tools": [{"shell": "echo made > made.txt"}]},
            {"text": format!("Recovered. {DONE}")}]}]),
    ) else {
        return;
    };
    let result = stage.run(&["make it", "--check", "test -f made.txt"]).stops(0, "completed", 1);
    assert_eq!(result["iterations"][0]["error"], json!(null), "{result:#}");
    let statuses: Vec<u16> = stage.turns().iter().map(|turn| turn.status).collect();
    assert_eq!(statuses, [529, 500, 200, 200, 200]);
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
}
