//! Whole loops of agents that have a terminal, in real tmux: the same engine, the same record.

use crate::stage::{DONE, Real, Stage, until};
use crate::worker::{NAME, Worker};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Says what only an agent that was told its output can know.
const CHECK: &str = "test -f fixed.txt && exit; echo fixed.txt is mis''sing; exit 1";

#[test]
fn claude_in_a_terminal_repairs_in_the_third_iteration() {
    repairs_in_the_third_iteration(Real::Claude);
}

#[test]
fn codex_in_a_terminal_repairs_in_the_third_iteration() {
    repairs_in_the_third_iteration(Real::Codex);
}

/// The record is that of a headless run with the same answers.
fn repairs_in_the_third_iteration(real: Real) {
    let iterations = || {
        json!([
            {"steps": [{"text": "I begin.", "tools": [{"shell": "echo one >> work.txt"}]}, {"text": "More to do."}]},
            {"steps": [{"text": "On.", "tools": [{"shell": "echo two >> work.txt"}]}, {"text": format!("All is well. {DONE}")}]},
            {"steps": [{"text": "Now right.", "tools": [{"write": {"path": "fixed.txt", "content": "fixed\n"}}]},
                       {"text": format!("Now it is. {DONE}")}]},
        ])
    };
    let args = ["write fixed.txt", "--check", CHECK, "-n", "5"];
    let Some(stage) = Stage::set(real, &iterations()) else { return };
    let (worker, ran) = Worker::spawn_and_wait(&stage, &args);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    let shown = worker.ends(0, "completed", 3);
    assert_eq!((stage.read("work.txt"), stage.read("fixed.txt").trim_end()), ("one\ntwo\n".into(), "fixed"));
    assert_eq!(shown["proof"]["word"], "proven", "{shown:#}");

    let turns = stage.turns();
    let openings: Vec<&str> =
        turns.iter().filter(|turn| turn.assistant_turns == 0).map(|turn| turn.opening.as_str()).collect();
    assert_eq!(openings.len(), 3, "{openings:#?}");
    for (iteration, opening) in openings.iter().enumerate() {
        let log = format!(".ralph/guardrail_{iteration}_");
        assert!(opening.contains("fixed.txt is missing") && opening.contains(&log), "{opening}");
    }

    let headless = Stage::set(real, &iterations()).unwrap();
    headless.start(&[&["run", "--format", "json"], &args[..]].concat()).end().stops(0, "completed", 3);
    let expected = headless.start(&["show", "--format", "json"]).end().stdout;
    assert_eq!(numbers(&shown), numbers(&serde_json::from_str(&expected).unwrap()), "{shown:#}");
    let tokens = |stage: &Stage| -> Vec<Value> {
        let facts = stage.journal();
        let facts = facts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let tokens = facts.map(|fact| fact["fact"]["ended"]["end"]["agent"]["seen"]["tokens"].clone());
        tokens.filter(|tokens| !tokens.is_null()).collect()
    };
    assert_eq!(tokens(&stage), tokens(&headless));
    assert_eq!(tokens(&stage).len(), 3, "{}", stage.journal());
}

/// What is counted of a run, and what its agents have claimed.
fn numbers(shown: &Value) -> Vec<Value> {
    let mut numbers = vec![shown["total_cost"].clone(), shown["cost_estimated"].clone()];
    let of_one =
        ["steps_taken", "cost", "all_checks_passed", "completion_tag_found", "end", "denied_tool_calls"];
    for iteration in shown["iterations"].as_array().unwrap() {
        numbers.extend(of_one.map(|name| iteration[name].clone()));
    }
    numbers
}

/// Claude believes what a subscription's headers say, and only with a subscription's token.
#[test]
fn claude_in_a_terminal_hits_its_limit_and_goes_on_after_it() {
    let reset = now() + 12;
    let headers = json!({
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": reset.to_string(),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-reset": reset.to_string(),
        "anthropic-ratelimit-unified-5h-utilization": "1.0",
        "anthropic-ratelimit-unified-5h-status": "rejected",
    });
    let limit = json!({"error": {"status": 429, "message": "usage limit"}, "headers": headers});
    let Some(journal) = hits_its_limit(Real::Claude, &limit) else { return };
    assert!(now() >= reset, "it did not wait: {journal}");
    assert!(journal.contains(&format!(r#""until":{reset}"#)), "{journal}");
}

/// Codex says it in words, to the minute.
#[test]
fn codex_in_a_terminal_hits_its_limit_and_goes_on_after_it() {
    let body = json!({"error": {
        "type": "usage_limit_reached", "message": "The usage limit has been reached",
        "plan_type": "plus", "resets_at": now(), "resets_in_seconds": 1}});
    let limit = json!({"error": {"status": 429, "body": body}});
    let Some(journal) = hits_its_limit(Real::Codex, &limit) else { return };
    // `try again at 5:03 AM.`, and that is now.
    assert!(journal.contains(r#""retry_in_ms":0"#), "{journal}");
}

/// A limit at the first try and an answer at the second; the journal.
fn hits_its_limit(real: Real, limit: &Value) -> Option<String> {
    let stage =
        Stage::set(real, &json!([{"steps": [limit]}, {"steps": [{"text": DONE}]}]))?.with_subscription();
    let (worker, ran) = Worker::spawn_and_wait(&stage, &["make it", "--check", "true"]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, worker.ralph(&["logs", NAME]));
    worker.ends(0, "completed", 1);
    let statuses: Vec<u16> = stage.turns().iter().map(|turn| turn.status).collect();
    assert_eq!(statuses, [429, 200], "the agent itself does not try again");
    Some(stage.journal())
}

#[test]
fn claude_in_a_terminal_has_a_wrong_key_and_the_run_stops() {
    has_a_wrong_key(Real::Claude, "invalid x-api-key");
}

#[test]
fn codex_in_a_terminal_has_a_wrong_key_and_the_run_stops() {
    has_a_wrong_key(Real::Codex, "no such key");
}

fn has_a_wrong_key(real: Real, message: &str) {
    let error = json!({"error": {"status": 401, "message": message}});
    let run = json!({"steps": [error], "match": "make it", "sticky": true});
    let scenario = json!({"on_exhausted": "repeat_last", "runs": [run]});
    let Some(stage) = Stage::set_scenario(real, scenario) else { return };
    let worker = Worker::spawn(&stage, &["make it", "--check", "true", "-n", "3"]);
    let shown = worker.ends(1, "authentication", 0);
    assert!(shown["error"]["message"].as_str().is_some_and(|said| !said.is_empty()), "{shown:#}");
    let status = worker.status();
    assert_eq!(
        (&status["status"], &status["reason"]),
        (&json!("failed"), &json!("authentication")),
        "{status:#}"
    );
}

/// Its words are on its terminal and nowhere else.
#[test]
fn what_claude_says_about_a_flag_that_it_does_not_know_is_the_error() {
    let Some(stage) = Stage::set(Real::Claude, &json!([])) else { return };
    let worker = Worker::spawn(&stage, &["make it", "--max-failures", "1", "--", "claude", "--no-such-flag"]);
    let shown = worker.ends(1, "error", 0);
    assert_eq!(shown["error"]["message"], "error: unknown option '--no-such-flag'", "{shown:#}");
}

/// It has stopped, and is woken when its task ends.
#[test]
fn what_claude_runs_in_the_background_is_waited_for() {
    let slow = json!({"name": "Bash", "input": {"command": "until test -f go; do sleep 0.05; done; echo made > made.txt",
        "description": "slow", "run_in_background": true}});
    let Some(stage) = Stage::set(
        Real::Claude,
        &json!([{"steps": [
            {"text": "I start it.", "tools": [slow]},
            {"text": "It runs in the background."},
            {"text": format!("Now it is made. {DONE}")}]}]),
    ) else {
        return;
    };
    let worker = Worker::spawn(&stage, &["make it", "--check", "test -f made.txt", "-n", "1"]);
    let said = |words: &str| {
        worker.stream().iter().any(|line| line["type"] == "assistant" && line.to_string().contains(words))
    };
    until("the end of its turn", || said("It runs in the background."));
    assert_eq!(worker.status()["status"], "running");
    fs::write(stage.path("go"), "").unwrap();
    worker.ends(0, "completed", 1);
    assert!(said("Now it is made."));
    assert_eq!(stage.turns().len(), 3);
}

#[test]
fn claude_in_a_terminal_works_in_a_worktree() {
    works_in_a_worktree(Real::Claude);
}

#[test]
fn codex_in_a_terminal_works_in_a_worktree() {
    works_in_a_worktree(Real::Codex);
}

fn works_in_a_worktree(real: Real) {
    let Some(stage) = Stage::set(
        real,
        &json!([{"steps": [{"text": "I write.", "tools": [{"shell": "pwd > made.txt"}]}, {"text": DONE}]}]),
    ) else {
        return;
    };
    let worker = Worker::spawn(&stage, &["make it", "--check", "test -f made.txt", "--worktree"]);
    let shown = worker.ends(0, "completed", 1);
    assert!(!stage.path("made.txt").exists());
    let worktree = shown["worktree_path"].as_str().unwrap();
    let made = fs::read_to_string(Path::new(worktree).join("made.txt")).unwrap();
    assert_eq!(made.trim(), worktree);
}

#[test]
fn claude_in_a_terminal_repairs_inside_bubblewrap() {
    repairs_inside_bubblewrap(Real::Claude);
}

#[test]
fn codex_in_a_terminal_repairs_inside_bubblewrap() {
    repairs_inside_bubblewrap(Real::Codex);
}

fn repairs_inside_bubblewrap(real: Real) {
    let outside = "echo out > \"$HOME/outside.txt\"; echo $? > outside.code; ";
    let Some(stage) = Stage::set_inside(
        "bwrap",
        real,
        &json!([
            {"steps": [{"text": "I begin.", "tools": [{"shell": format!("{outside} echo one >> work.txt")}]}, {"text": "More to do."}]},
            {"steps": [{"text": "Now right.", "tools": [{"shell": "echo fixed > fixed.txt"}]}, {"text": DONE}]},
        ]),
    ) else {
        return;
    };
    let worker = Worker::spawn(&stage, &["write fixed.txt", "--check", CHECK, "-n", "3"]);
    let shown = worker.ends(0, "completed", 2);
    assert_eq!(shown["proof"]["word"], "proven", "{shown:#}");
    assert_eq!(shown["sandbox"], "bwrap", "{shown:#}");
    assert_eq!(stage.read("work.txt"), "one\n");
    assert!(!stage.user("outside.txt").exists());
    // It is heard inside, too.
    assert!(shown["total_cost"].as_f64().unwrap() > 0.0, "{shown:#}");
    assert!(worker.has_line(|line| line["received"]["whole"] == true), "{:#?}", worker.stream());
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
