//! Ctrl+C and its relatives, and processes that do not want to end.

use crate::support::{Sandbox, is_ignored, until};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use std::time::Duration;

const DONE: &str = "<response>DONE</response>";

#[test]
fn the_first_signal_lets_the_step_finish() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP].into_iter().filter(|signal| !is_ignored(*signal)) {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let agent = sandbox.agent(&json!([
            [{"write": {"path": "up", "content": "1"}}, {"wait_for": "../go"}, {"write": {"path": "whole", "content": "1"}}, {"say": DONE}],
        ]));
        let running = sandbox.begin(&["-p", "x", "--check", "echo ran >> checked"], &agent);
        sandbox.until_file("up");
        sandbox.interrupt_and_go(&running, signal);
        let ran = running.end().exits(130).says("Received signal, shutting down...");
        assert!(ran.stderr.contains("press Ctrl+C again to stop now"), "{}", ran.stderr);
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
        running.signal(signal);
        let ran = running.end().exits(130).says("Received signal, stopping now.");
        ran.says("Agent stopped: as requested (time: ");
        // Without the time that others get to comply.
        let facts = sandbox.facts();
        let cancelled: Vec<_> = facts.iter().map(|fact| &fact["cancelled"]["how"]).collect();
        let cancelled: Vec<_> = cancelled.into_iter().filter(|how| !how.is_null()).collect();
        assert_eq!(cancelled, ["kill"]);
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
    // Far longer than anything here is waited for.
    sandbox.settings(&json!({"backoff": {"base": 3600, "cap": 3600}}));
    let agent = sandbox.agent(&json!([[{"exit": 1}], [{"say": DONE}]]));
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_fact("the judgement", |fact| fact["judged"].is_object());
    running.signal(Signal::INT);
    running.end().exits(130);
    // Failures are counted from zero.
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 2);
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
    sandbox.run(&["-p", "x"], &agent).exits(0).says("killed what it left running: ");
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
    let ran = sandbox.run(&["-p", "x", "--format", "json", "-n", "1", "--timeout", "4"], &agent);
    assert!(ran.took > Duration::from_secs(9), "it had its grace: {:?}", ran.took);
    let result = ran.stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["error"], "timed out after 4s");
    sandbox.nothing_is_left();
}

#[test]
fn a_reader_that_stopped_reading_holds_up_no_limit() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    // The pipe's other end is open and never read.
    let run = format!(
        "'{}' run -p x -- sh -c 'yes $(seq 30) | head -c 1000000; echo > ../full; exec tail -f /dev/null'",
        crate::support::RALPH
    );
    let mut command = sandbox.command("sh");
    command.args(["-c", &format!("{run} | tail -f /dev/null")]);
    let running = sandbox.spawn(command);
    sandbox.until_file("../full");
    // All of it was read, far more than a pipe holds, and nothing of it can be printed.
    until("the whole output", || {
        let stream = sandbox.run_dir().join("streams/1-1.out");
        std::fs::metadata(stream).is_ok_and(|stream| stream.len() >= 1_000_000)
    });
    sandbox.ralph(&["set", &sandbox.only_run(), "--max-time", "1ms"]).exits(0);
    sandbox.until_fact("the run has stopped", |fact| fact["stopped"]["reason"] == "timeout");
    running.kill();
    for pid in sandbox.alive() {
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let script = "trap '' HUP; exec \"$@\"";
    // The kernel drops a signal that is ignored when it is sent.
    let agent = "grep SigIgn /proc/$(cat pid)/status > ignored; kill -HUP $(cat pid); echo '<response>DONE</response>'";
    sandbox.program("nohup-ralph", "echo $$ > pid; exec \"$@\"");
    let mut command = sandbox.command("sh");
    let args = ["-c", script, "sh", "nohup-ralph", crate::support::RALPH, "run", "-p", "x", "--", "sh", "-c"];
    command.args(args).arg(agent);
    sandbox.spawn(command).end().exits(0);
    let ignored = sandbox.read("ignored");
    let mask = u64::from_str_radix(ignored.split_whitespace().last().unwrap(), 16).unwrap();
    assert_eq!(mask & 1, 1, "SIGHUP is the first: {ignored}");
}
