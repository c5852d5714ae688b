//! Ends in the middle: nothing is left alive, and a resume goes on.

use crate::stage::{DONE, Real, Stage, called_with, until};
use rustix::process::Signal;
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[test]
fn what_claude_runs_does_not_outlive_a_killed_ralph() {
    does_not_outlive_a_killed_ralph(Real::Claude);
}

#[test]
fn what_codex_runs_does_not_outlive_a_killed_ralph() {
    does_not_outlive_a_killed_ralph(Real::Codex);
}

fn does_not_outlive_a_killed_ralph(real: Real) {
    let (away, near) = (nap(), nap());
    let tool = format!("setsid sleep {away} & echo up > up.txt; sleep {near}");
    let Some(stage) = Stage::set(
        real,
        &json!([
            {"steps": [{"text": "I work.", "tools": [{"shell": tool}]}, {"text": "never said"}]},
            {"steps": [{"text": "Again.", "tools": [{"shell": "echo made > made.txt"}]}, {"text": DONE}]},
        ]),
    ) else {
        return;
    };
    let running = stage.start(&["run", "make it", "--check", "test -f made.txt"]);
    until("the tool", || !called_with(&away).is_empty() && !called_with(&near).is_empty());
    running.signal(Signal::KILL);
    let killed = Instant::now();
    until("the end of all processes", || {
        called_with(&away).is_empty() && called_with(&near).is_empty() && stage.alive().is_empty()
    });
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
    drop(running);
    stage.start(&["resume", "--format", "json"]).end().stops(0, "completed", 1);
    assert_eq!(stage.read("made.txt"), "made\n");
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
}

#[test]
fn two_signals_end_claude_while_its_model_thinks() {
    two_signals_end_it_while_its_model_thinks(Real::Claude);
}

#[test]
fn two_signals_end_codex_while_its_model_thinks() {
    two_signals_end_it_while_its_model_thinks(Real::Codex);
}

fn two_signals_end_it_while_its_model_thinks(real: Real) {
    let Some(stage) = Stage::set(
        real,
        &json!([{"steps": [{"text": "late", "delay_ms": 120_000}]}, {"steps": [{"text": DONE}]}]),
    ) else {
        return;
    };
    let running = stage.start(&["run", "--format", "json", "make it"]);
    until("the model call", || !stage.turns().is_empty());
    running.signal(Signal::INT);
    until("the first answer", || running.stderr().contains("Received signal"));
    let asked = Instant::now();
    running.signal(Signal::INT);
    running.end().stops(130, "interrupted", 1);
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
    assert_eq!(stage.alive(), [], "{:?}", stage.real);
    stage.start(&["resume", "--format", "json"]).end().stops(0, "completed", 1);
    stage.asked_only_the_model();
}

/// Five minutes and a bit; no other process sleeps as long.
fn nap() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("300.{}{:03}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}
