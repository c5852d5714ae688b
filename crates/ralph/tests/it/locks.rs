//! One workspace, one run; and the keeper, without whom nothing of a run lives.

use crate::support::Sandbox;
use rustix::process::{Signal, kill_process};
use serde_json::json;

const DONE: &str = "<response>DONE</response>";

#[test]
fn a_second_run_in_the_same_workspace_is_refused_and_told_who_is_there() {
    let sandbox = Sandbox::git();
    sandbox.write("below/file", "");
    let slow = sandbox.agent(&json!([[{"write": {"path": "up", "content": "1"}}, {"hang": true}]]));
    let done = sandbox.agent(&json!([[{"say": DONE}]]));
    let running = sandbox.begin(&["-p", "x"], &slow);
    sandbox.until_file("up");
    let first = sandbox.only_run();
    let who = format!("run {first} (process {}) is already working in this directory", running.pid());
    for args in [&["-p", "x"][..], &["-p", "x", "-C", "below"]] {
        sandbox.run(args, &done).exits(2).says(&who).says("--share-workspace");
    }
    assert_eq!(sandbox.only_run(), first, "what is refused leaves no run");
    sandbox.ralph(&["resume", &first]).exits(2).says("the run is already running");
    assert_eq!(sandbox.listed()["status"], "running");
    sandbox.run(&["-p", "x", "--share-workspace"], &done).exits(0);
    running.kill();
}

#[test]
fn a_workspace_is_free_right_after_its_run_was_killed() {
    let sandbox = Sandbox::bare();
    let slow = sandbox.agent(&json!([[
        {"leave": {"kind": "refork", "ignore_term": true}}, {"write": {"path": "up", "content": "1"}}, {"hang": true},
    ]]));
    let done = sandbox.agent(&json!([[{"say": DONE}]]));
    let running = sandbox.begin(&["-p", "x"], &slow);
    sandbox.until_file("up");
    running.kill();
    sandbox.run(&["-p", "x"], &done).exits(0);
    sandbox.nothing_is_left();
}

#[test]
fn a_workspace_is_free_after_loop_and_keeper_were_killed_at_once() {
    let sandbox = Sandbox::bare();
    let slow = sandbox.agent(&json!([[
        {"leave": {"kind": "setsid", "ignore_term": true}}, {"write": {"path": "up", "content": "1"}}, {"hang": true},
    ]]));
    let done = sandbox.agent(&json!([[{"say": DONE}]]));
    let running = sandbox.begin(&["-p", "x"], &slow);
    sandbox.until_file("up");
    let (ralph, keeper) = (running.pid(), sandbox.keeper().unwrap());
    kill_process(ralph, Signal::STOP).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    running.kill();
    assert!(!sandbox.alive().is_empty(), "no process was left to end the agent");
    sandbox.run(&["-p", "x"], &done).exits(0);
    sandbox.nothing_is_left();
}

#[test]
fn a_step_whose_keeper_died_is_run_again() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"leave": {"kind": "setsid", "ignore_term": true}}, {"write": {"path": "up", "content": "1"}}, {"hang": true}],
        [{"save_env": {"path": "env", "names": ["RALPH_ITERATION"]}}, {"say": DONE}],
    ]));
    let running = sandbox.begin(&["-p", "x", "--format", "json", "--check", "true"], &agent);
    sandbox.until_file("up");
    kill_process(sandbox.keeper().unwrap(), Signal::KILL).unwrap();
    running.end().stops(0, "completed", 1);
    assert_eq!(sandbox.read("env"), "RALPH_ITERATION=1\n");
    assert!(sandbox.facts().iter().any(|fact| fact["ended"]["end"]["lost"].is_object()));
    sandbox.nothing_is_left();
}

#[test]
fn a_check_whose_keeper_died_is_run_again() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    let check = "test -f up || { echo 1 > up; sleep 600; }";
    let running = sandbox.begin(&["-p", "x", "--format", "json", "--check", check], &agent);
    sandbox.until_file("up");
    kill_process(sandbox.keeper().unwrap(), Signal::KILL).unwrap();
    running.end().stops(0, "completed", 1);
    assert_eq!(sandbox.agents_begun(), 1);
    sandbox.nothing_is_left();
}

#[test]
fn an_agent_that_is_killed_has_failed() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": DONE}, {"kill_self": 9}], [{"say": DONE}]]));
    let result = sandbox.run(&["-p", "x", "--format", "json"], &agent).stops(0, "completed", 2);
    assert_eq!(result["iterations"][0]["error"], "killed by signal 9");
}
