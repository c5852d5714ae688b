//! `kill -9` of each process that an agent in a terminal depends on, while it works.

use crate::screen::Screen;
use crate::stage::{DONE, Real, Stage, until};
use crate::worker::{NAME, Worker};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use std::fs;

/// Works until there is a file `go`. A second agent finishes at once.
fn working(real: Real) -> Option<Stage> {
    Stage::set(
        real,
        &json!([
            {"steps": [
                {"text": "I work.", "tools": [{"shell": "echo first >> made.txt; until test -f go; do sleep 0.05; done"}]},
                {"text": format!("I have. {DONE}")}]},
            {"steps": [
                {"text": "I finish.", "tools": [{"shell": "echo second >> made.txt; touch go"}]},
                {"text": format!("It is finished. {DONE}")}]},
        ]),
    )
}

/// A worker whose agent is at its tool.
fn started(stage: &Stage) -> Worker<'_> {
    let worker = Worker::spawn(stage, &["make it", "-n", "3", "--check", "test -f go"]);
    until("the tool", || stage.path("made.txt").exists());
    worker
}

fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).unwrap();
    until("the end of it", || !is_alive(pid));
}

fn is_alive(pid: Pid) -> bool {
    test_kill_process(pid).is_ok()
}

#[test]
fn kill_9_of_the_tmux_server_does_not_hurt_claude() {
    does_not_hurt(Real::Claude, tmux_server);
}

#[test]
fn kill_9_of_the_tmux_server_does_not_hurt_codex() {
    does_not_hurt(Real::Codex, tmux_server);
}

fn tmux_server(worker: &Worker<'_>) -> Pid {
    pid(&worker.tmux(&["display-message", "-p", "#{pid}"]).stdout)
}

fn viewer(worker: &Worker<'_>) -> Pid {
    pid(&worker.tmux(&["list-panes", "-a", "-F", "#{pane_pid}"]).stdout)
}

fn pid(said: &str) -> Pid {
    Pid::from_raw(said.trim().parse().unwrap()).unwrap()
}

#[test]
fn kill_9_of_the_viewer_does_not_hurt_claude() {
    does_not_hurt(Real::Claude, viewer);
}

#[test]
fn kill_9_of_the_viewer_does_not_hurt_codex() {
    does_not_hurt(Real::Codex, viewer);
}

/// Neither the agent nor the work notices, and a person who attaches again sees the same agent.
fn does_not_hurt(real: Real, which: impl Fn(&Worker<'_>) -> Pid) {
    let Some(stage) = working(real) else { return };
    let worker = started(&stage);
    let agent = worker.agent();
    kill(which(&worker));
    until("the end of the window", || stage.alive_with("--window").is_empty());
    let status = worker.status();
    assert_eq!((&status["status"], &status["loop_gone"]), (&json!("running"), &json!(false)), "{status:#}");
    assert!(is_alive(agent));
    let setsid = stage.command("setsid");
    let mut screen = Screen::start(setsid, &[Stage::ralph(), "attach", NAME], (100, 30));
    screen.shows("I work.");
    fs::write(stage.path("go"), "").unwrap();
    // The window closes with the worker, and leaves the person's terminal as it was.
    let (code, left) = screen.restored();
    assert_eq!(code, Some(0), "{left}");
    worker.ends(0, "completed", 1);
    assert_eq!(stage.read("made.txt"), "first\n");
    assert_eq!(stage.turns().len(), 2);
}

#[test]
fn kill_9_of_the_terminal_host_is_a_failure_of_claude() {
    is_a_failure(Real::Claude, |worker| worker.process("__terminal"));
}

#[test]
fn kill_9_of_the_terminal_host_is_a_failure_of_codex() {
    is_a_failure(Real::Codex, |worker| worker.process("__terminal"));
}

#[test]
fn kill_9_of_claude_is_a_failure_of_its_own() {
    is_a_failure(Real::Claude, |worker| worker.agent());
}

#[test]
fn kill_9_of_codex_is_a_failure_of_its_own() {
    is_a_failure(Real::Codex, |worker| worker.agent());
}

/// Nothing that the agent has started outlives it, and the next iteration does the rest.
fn is_a_failure(real: Real, which: impl Fn(&Worker<'_>) -> Pid) {
    let Some(stage) = working(real) else { return };
    let worker = started(&stage);
    let (agent, tools) = (worker.agent(), below(worker.agent()));
    assert!(!tools.is_empty(), "the tool runs");
    kill(which(&worker));
    let shown = worker.ends(0, "completed", 2);
    assert!(!is_alive(agent) && !tools.iter().any(|pid| is_alive(*pid)));
    assert_eq!(stage.read("made.txt"), "first\nsecond\n");
    let ends: Vec<_> =
        shown["iterations"].as_array().unwrap().iter().map(|iteration| &iteration["end"]).collect();
    assert_eq!(ends, ["failed", "answered"], "{shown:#}");
    assert_eq!(shown["proof"]["word"], "proven", "{shown:#}");
    let log = worker.ralph(&["logs", NAME]);
    assert!(log.contains("iteration 1 failed (exit: 137)"), "{log}");
}

#[test]
fn kill_9_of_the_loop_ends_claude_and_a_resume_loses_nothing() {
    the_loop_is_killed(Real::Claude);
}

#[test]
fn kill_9_of_the_loop_ends_codex_and_a_resume_loses_nothing() {
    the_loop_is_killed(Real::Codex);
}

fn the_loop_is_killed(real: Real) {
    let Some(stage) = working(real) else { return };
    let worker = started(&stage);
    kill(worker.process("__worker"));
    // The agent and its tool end with it, and the window closes.
    worker.leaves_nothing();
    let status = worker.status();
    assert_eq!((&status["status"], &status["loop_gone"]), (&json!("running"), &json!(true)), "{status:#}");
    let shown = worker.ralph(&["status", NAME]);
    assert!(shown.contains("its process is gone; continue with: ralph resume w"), "{shown}");
    worker.ralph(&["resume", NAME]);
    let shown = worker.ends(0, "completed", 1);
    assert_eq!(stage.read("made.txt"), "first\nsecond\n");
    assert_eq!(shown["proof"]["word"], "proven", "{shown:#}");
}

/// All processes that this one has started, and those of them.
fn below(pid: Pid) -> Vec<Pid> {
    let path = format!("/proc/{pid}/task");
    let tasks = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let children: Vec<Pid> = tasks
        .flat_map(|task| {
            let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            text.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect::<Vec<_>>()
        })
        .collect();
    children.iter().flat_map(|child| [vec![*child], below(*child)].concat()).collect()
}
