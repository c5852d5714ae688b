//! What a run may use up, and what happens then.

use crate::support::Sandbox;
use serde_json::{Value, json};

const ARGS: [&str; 4] = ["-p", "Mend it.", "--format", "json"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ARGS.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn an_empty_answer_is_run_again_three_times_without_using_up_an_iteration() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([[], [], [], [{"say": "<response>DONE</response>"}]]));
    sandbox.run(&with(&["-n", "1"]), &agent).stops(0, "completed", 1);
    assert_eq!(sandbox.agents_begun(), 4);
}

#[test]
fn four_empty_answers_are_an_iteration() {
    let sandbox = Sandbox::git();
    let agent =
        sandbox.agent(&json!([[{"save_env": {"path": "../it-{{call}}", "names": ["RALPH_ITERATION"]}}]]));
    sandbox.run(&with(&["-n", "2"]), &agent).stops(1, "max_iterations", 2);
    assert_eq!(sandbox.agents_begun(), 8);
    let numbers: Vec<String> = (1..=8).map(|call| sandbox.read(&format!("../it-{call}"))).collect();
    assert!(numbers[..4].iter().all(|line| line == "RALPH_ITERATION=1\n"), "{numbers:?}");
    assert!(numbers[4..].iter().all(|line| line == "RALPH_ITERATION=2\n"), "{numbers:?}");
}

#[test]
fn failures_in_a_row_wait_longer_each_time_and_end_the_run() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"context": false, "backoff": {"base": 0.1, "cap": 0.25}}));
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}, {"exit": 3}]]));
    let result = sandbox.run(&with(&["--max-failures", "4"]), &agent).stops(1, "too_many_failures", 4);
    assert_eq!(result["iterations"][0]["error"], "exit code 3");
    assert_eq!(result["iterations"][0]["completion_tag_found"], false);
    // The waits, by the run's own clock: 100, 200, and the cap of 250 ms.
    let events = std::fs::read_to_string(sandbox.journal_file()).unwrap();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at = |what: fn(&Value) -> bool| {
        let fitting = events.iter().filter(|event| what(&event["fact"]));
        fitting.map(|event| event["up_ms"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let begun = at(|fact| fact["began"]["step"]["agent"].is_object());
    let ended = at(|fact| fact["ended"]["end"]["agent"].is_object());
    let waits: Vec<u64> = begun[1..].iter().zip(&ended).map(|(begun, ended)| begun - ended).collect();
    assert!(waits.iter().zip([100, 200, 250]).all(|(wait, least)| *wait >= least), "{waits:?}");
    // The cap holds: without it, the first wait would take an hour.
    sandbox.settings(&json!({"context": false, "backoff": {"base": 3600, "cap": 0.1}}));
    sandbox.run(&with(&["--max-failures", "3"]), &agent).stops(1, "too_many_failures", 3);
}

#[test]
fn an_agent_that_ralph_ends_is_told_with_the_reason_and_not_with_a_signal() {
    for (limit, message) in [
        (["-t", "0.2"], "Agent failed: timed out after 0.2s (time: "),
        (["--max-time", "0.2"], "Agent stopped: the time limit of the run is reached (time: "),
        (["--inactivity-timeout", "0.2"], "Agent stopped: silent for 0.2s (time: "),
    ] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let agent = sandbox.agent(&json!([[{"say": "Well."}, {"hang": true}]]));
        let ran = sandbox.run(&["-p", "x", "-n", "1", limit[0], limit[1]], &agent).exits(1).says(message);
        assert!(!ran.stdout.contains("signal"), "{}", ran.stdout);
    }
}

#[test]
fn a_success_in_between_starts_the_count_anew() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let fail = json!([{"exit": 1}]);
    let agent = sandbox
        .agent(&json!([fail, fail, [{"say": "x"}], fail, fail, [{"say": "<response>DONE</response>"}]]));
    sandbox.run(&with(&["--max-failures", "3"]), &agent).stops(0, "completed", 6);
}

#[test]
fn a_failed_agent_is_not_checked_and_what_was_red_is_told_again() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"say": "x"}],
        [{"exit": 1}],
        [{"save_prompt": "prompt-3"}, {"write": {"path": "ok", "content": ""}}, {"say": "<response>DONE</response>"}],
    ]));
    let result = sandbox.run(&with(&["--check", "test -f ok"]), &agent).stops(0, "completed", 3);
    assert_eq!(result["iterations"][1]["check_results"], json!([]));
    assert!(sandbox.read("prompt-3").contains("Check \"test -f ok\" failed with exit code 1."));
}

#[test]
fn an_agent_that_takes_too_long_has_failed() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"say": "<response>DONE</response>"}, {"hang": true}],
        [{"say": "<response>DONE</response>"}],
    ]));
    let result = sandbox.run(&with(&["--timeout", "5"]), &agent).stops(0, "completed", 2);
    assert_eq!(result["iterations"][0]["error"], "timed out after 5s");
    sandbox.nothing_is_left();
}

#[test]
fn the_time_of_the_run_ends_a_running_agent() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"leave": {"kind": "setsid", "ignore_term": true}}, {"say": "x"}, {"hang": true}],
    ]));
    let result = sandbox.run(&with(&["--max-time", "0.5"]), &agent).stops(1, "timeout", 1);
    let cut = &result["iterations"][0];
    assert_eq!((&cut["iteration"], &cut["end"]), (&json!(1), &json!("cut_short")));
    assert_eq!(cut["error"], "interrupted: the time limit of the run is reached");
    sandbox.nothing_is_left();
    sandbox.ralph(&["show"]).exits(0).says("iteration 1: interrupted\n");
}

#[test]
fn the_time_of_the_run_ends_a_running_check() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    // The agent is to be done by then.
    let args = with(&["--max-time", "6", "--check", "exec tail -f /dev/null"]);
    let result = sandbox.run(&args, &agent).stops(1, "timeout", 1);
    let cut = &result["iterations"][0];
    assert_eq!((&cut["end"], &cut["completion_tag_found"]), (&json!("cut_short"), &json!(true)));
    assert_eq!((&cut["all_checks_passed"], &cut["check_results"]), (&json!(false), &json!([])));
    sandbox.nothing_is_left();
}

#[test]
fn the_time_of_the_run_ends_a_wait_after_a_failure() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"backoff": {"base": 3600, "cap": 3600}}));
    let agent = sandbox.agent(&json!([[{"exit": 1}]]));
    sandbox.run(&with(&["--max-time", "6"]), &agent).stops(1, "timeout", 1);
    assert!(sandbox.facts().iter().any(|fact| fact["judged"].is_object()), "it was the wait");
}

#[test]
fn no_iteration_begins_once_the_budget_is_used_up() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[{"say": "x"}, {"cost": 0.2}]]));
    let args = ["run", "-p", "x", "--format", "json", "--max-cost", "0.5"];
    // A third would by the median of the others cost more than the dime that is left.
    let result = sandbox.ralph(&args).stops(1, "budget_exhausted", 2);
    assert!((result["total_cost"].as_f64().unwrap() - 0.4).abs() < 1e-9, "{result:#}");
    assert_eq!(result["iterations"][1]["cost"], 0.2);
    sandbox
        .ralph(&["run", "-p", "x", "--max-cost", "0.5"])
        .exits(1)
        .says("the next iteration would cost about $0.2000");
}

#[test]
fn a_claim_counts_even_if_it_used_up_the_budget() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[{"say": "<response>DONE</response>"}, {"cost": 2.0}]]));
    let args = ["run", "-p", "x", "--format", "json", "--max-cost", "0.5"];
    sandbox.ralph(&args).stops(0, "completed", 1);
}

#[test]
fn iterations_that_change_nothing_and_fail_alike_are_a_stall() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    let args = with(&["--stall-after", "3", "--check", "test -f never"]);
    sandbox.run(&args, &agent).stops(1, "stalled", 3);
}

#[test]
fn an_iteration_that_changes_something_is_no_stall() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([[{"append": {"path": "notes", "content": "more\n"}}, {"say": "x"}]]));
    let args = with(&["--stall-after", "2", "-n", "5", "--check", "test -f never"]);
    sandbox.run(&args, &agent).stops(1, "max_iterations", 5);
}

#[test]
fn iterations_without_failed_checks_never_stall_and_zero_is_never() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([[{"say": "x"}]]));
    sandbox.run(&with(&["--stall-after", "1", "-n", "4", "--check", "true"]), &agent).stops(
        1,
        "max_iterations",
        4,
    );
    sandbox.run(&with(&["--stall-after", "0", "-n", "7", "--check", "false"]), &agent).stops(
        1,
        "max_iterations",
        7,
    );
}
