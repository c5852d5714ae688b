//! Ctrl+C and its relatives, and processes that do not want to end.

use crate::support::{Sandbox, until};
use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::json;
use std::time::{Duration, Instant};

const DONE: &str = "<response>DONE</response>";

#[test]
fn the_first_signal_lets_the_step_finish() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let agent = sandbox.agent(&json!([
            [{"write": {"path": "up", "content": "1"}}, {"wait_for": "../go"}, {"write": {"path": "whole", "content": "1"}}, {"say": DONE}],
        ]));
        let running = sandbox.begin(&["-p", "x", "--check", "echo ran >> checked"], &agent);
        sandbox.until_file("up");
        sandbox.interrupt_and_go(&running, signal);
        let ran = running.end().exits(130).says("Received signal, shutting down...");
        assert!(ran.stderr.contains("once more ends it now"), "{}", ran.stderr);
        assert!(sandbox.has("whole"), "the agent was not cut short");
        assert!(!sandbox.has("checked"), "no further step was begun");
        assert_eq!(sandbox.listed()["status"], "interrupted");
        let shown = sandbox.ralph(&["show", &sandbox.only_run()]).exits(0);
        shown.says("iteration 1: not finished\n  prompt   ");
        sandbox.nothing_is_left();
        // What the agent has said stands: only the check is left to do.
        sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
        assert_eq!(sandbox.agents_begun(), 1);
    }
}

#[test]
fn the_second_signal_ends_the_whole_tree_at_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let agent = sandbox.agent(&json!([
            [{"ignore_term": true},
             {"leave": {"kind": "setsid", "ignore_term": true}},
             {"leave": {"kind": "double_fork", "ignore_term": true}},
             {"write": {"path": "up", "content": "1"}}, {"hang": true}],
            [{"say": DONE}],
        ]));
        let running = sandbox.begin(&["-p", "x"], &agent);
        sandbox.until_file("up");
        running.signal(signal);
        until("the first answer", || running.stderr().contains("Received signal"));
        let asked = Instant::now();
        running.signal(signal);
        let ran = running.end().exits(130).says("Received signal, ending everything now.");
        ran.says("Agent ended: as asked (time: ");
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        sandbox.nothing_is_left();
        sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    }
}

#[test]
fn a_signal_ends_a_check_the_second_time() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    let running = sandbox.begin(&["-p", "x", "--check", "echo 1 > up; sleep 600"], &agent);
    sandbox.until_file("up");
    running.signal(Signal::INT);
    until("the first answer", || running.stderr().contains("Received signal"));
    running.signal(Signal::INT);
    running.end().exits(130);
    sandbox.nothing_is_left();
}

#[test]
fn a_signal_ends_a_wait_at_once() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"backoff": {"base": 60, "cap": 60}}));
    let agent = sandbox.agent(&json!([[{"exit": 1}], [{"say": DONE}]]));
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_fact("the judgement", |fact| fact["judged"].is_object());
    let asked = Instant::now();
    running.signal(Signal::INT);
    running.end().exits(130);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    let ran = sandbox.ralph(&["resume", "--format", "json"]);
    assert!(ran.took < Duration::from_secs(10), "failures are counted anew: {:?}", ran.took);
    ran.stops(0, "completed", 2);
}

#[test]
fn nothing_that_an_agent_leaves_outlives_it() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let leave = |kind: &str, hold: bool| json!({"leave": {"kind": kind, "ignore_term": true, "hold_stdout": hold, "pid_file": "pids"}});
    let agent = sandbox.agent(&json!([[
        leave("child", true), leave("setsid", false), leave("double_fork", true), leave("refork", false),
        {"ignore_term": true}, {"say": DONE},
    ]]));
    let ran = sandbox.run(&["-p", "x"], &agent).exits(0).says("ended what it left running: ");
    assert!(ran.took < Duration::from_secs(10), "{:?}", ran.took);
    sandbox.nothing_is_left();
    let pids = sandbox.read("pids");
    assert!(pids.lines().count() >= 4, "{pids}");
    for pid in pids.lines().map(|line| Pid::from_raw(line.parse().unwrap()).unwrap()) {
        assert!(test_kill_process(pid).is_err(), "{pid} lives");
    }
}

#[test]
fn an_agent_that_ignores_the_request_to_end_is_killed_after_its_grace() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"ignore_term": true}, {"leave": {"kind": "refork", "ignore_term": true}}, {"say": "x"}, {"hang": true}],
    ]));
    let ran = sandbox.run(&["-p", "x", "--format", "json", "-n", "1", "--timeout", "0.2"], &agent);
    assert!(ran.took > Duration::from_secs(5) && ran.took < Duration::from_secs(12), "{:?}", ran.took);
    let result = ran.stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["error"], "timed out after 0.2s");
    sandbox.nothing_is_left();
}

#[test]
fn a_reader_that_stopped_reading_holds_up_no_limit() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    // The pipe's other end is open and never read.
    let run = format!(
        "'{}' run -p x --max-time 2 -- sh -c 'yes | head -c 8000000; sleep 60'",
        crate::support::RALPH
    );
    let mut command = sandbox.command("sh");
    command.args(["-c", &format!("{run} | sleep 10")]);
    let running = sandbox.spawn(command);
    sandbox.until_fact("the run has stopped", |fact| fact["stopped"]["reason"] == "timeout");
    running.kill();
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let script = "trap '' HUP; exec \"$@\"";
    let agent = "kill -HUP $(cat pid); sleep 0.3; echo '<response>DONE</response>'";
    sandbox.program("nohup-ralph", "echo $$ > pid; exec \"$@\"");
    let mut command = sandbox.command("sh");
    command.args([
        "-c",
        script,
        "sh",
        "nohup-ralph",
        crate::support::RALPH,
        "run",
        "-p",
        "x",
        "--",
        "sh",
        "-c",
        agent,
    ]);
    sandbox.spawn(command).end().exits(0);
}
