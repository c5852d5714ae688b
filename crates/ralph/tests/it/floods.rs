//! Agents that print as fast as they can. Limits, signals and people are heard all the same.

use crate::support::{Sandbox, until};
use crate::workers::Yard;
use rustix::process::Signal;
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

/// Far more than it takes, and far less than an agent that is never ended.
const SOON: Duration = Duration::from_secs(150);

/// Short lines, one line without an end, and bytes that are no text; on either stream.
const FLOODS: [&str; 6] = [
    "exec yes never",
    "exec yes never >&2",
    "exec yes '' >&2",
    "exec cat /dev/zero",
    "exec cat /dev/urandom",
    "exec cat /dev/urandom >&2",
];

fn settings(sandbox: &Sandbox) {
    sandbox.settings(&json!({"context": false, "checkpoints": false, "keepStreams": 4}));
}

#[test]
fn a_timeout_ends_an_agent_whatever_it_prints() {
    for flood in FLOODS {
        let sandbox = Sandbox::bare();
        settings(&sandbox);
        let agent = sandbox.sh_agent(&format!("cat > prompt; {flood}"));
        let ran = sandbox.run(&["-p", "x", "-n", "1", "-t", "0.5"], &agent).exits(1);
        assert!(ran.took < SOON, "{flood}: {:?}", ran.took);
        let ended = |fact: &serde_json::Value| fact["cancelled"]["why"]["timeout"]["after_ms"] == 500;
        assert!(sandbox.facts().iter().any(ended), "{flood}");
        sandbox.nothing_is_left();
    }
}

/// Half a second after its deadline at the latest, by the run's own time. A machine that is busy with
/// something else may take longer once, but not each time.
#[test]
fn a_deadline_is_heard_within_half_a_second() {
    const PROMISED_MS: u64 = 500;
    let late = |flood: &str| {
        let sandbox = Sandbox::bare();
        settings(&sandbox);
        let agent = sandbox.sh_agent(&format!("cat > prompt; {flood}"));
        sandbox.run(&["-p", "x", "-n", "1", "-t", "0.5"], &agent).exits(1);
        let events = sandbox.events();
        let up_ms = |fits: &dyn Fn(&serde_json::Value) -> bool| {
            let event = events.iter().find(|event| fits(&event["fact"])).unwrap();
            event["up_ms"].as_u64().unwrap()
        };
        let began = up_ms(&|fact| !fact["began"]["step"]["agent"].is_null());
        let cancelled = up_ms(&|fact| fact["cancelled"]["why"]["timeout"]["after_ms"] == 500);
        cancelled - began - 500
    };
    for flood in FLOODS {
        let mut tries = Vec::new();
        while tries.last().is_none_or(|late| *late > PROMISED_MS) {
            assert!(tries.len() < 5, "{flood}: heard so many ms after the deadline: {tries:?}");
            tries.push(late(flood));
        }
    }
}

#[test]
fn so_does_the_time_of_the_run_in_every_format() {
    for format in ["human", "json", "ndjson"] {
        let sandbox = Sandbox::bare();
        settings(&sandbox);
        let agent = sandbox.sh_agent("cat > prompt; exec yes never");
        let ran = sandbox.run(&["-p", "x", "--max-time", "0.5", "--format", format], &agent).exits(1);
        assert!(ran.took < SOON, "{format}: {:?}", ran.took);
        assert_eq!(sandbox.listed()["status"], "timeout");
    }
}

#[test]
fn both_signals_are_heard() {
    let sandbox = Sandbox::bare();
    settings(&sandbox);
    let agent = sandbox.sh_agent("cat > up; exec yes never");
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_file("up");
    let asked = Instant::now();
    running.signal(Signal::INT);
    until("the first answer", || running.stderr().contains("Received signal, shutting down"));
    running.signal(Signal::INT);
    running.end().exits(130).says("Received signal, stopping now.");
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
    sandbox.nothing_is_left();
}

#[test]
fn a_reader_that_stops_reading_changes_nothing_of_that() {
    let sandbox = Sandbox::bare();
    settings(&sandbox);
    let began = Instant::now();
    let ran = sandbox.shell(&format!(
        "{{ {} run x -n 1 -t 3 -- sh -c 'cat > prompt; yes never & exec yes never >&2'; echo > ../over; }} 2>&1 |
         until [ -e ../over ]; do sleep 0.05; done",
        crate::support::RALPH
    ));
    assert!(began.elapsed() < SOON, "{:?}", ran.took);
    assert_eq!(sandbox.listed()["status"], "max_iterations");
}

#[test]
fn a_worker_can_be_steered_and_keeps_no_more_than_it_may() {
    let yard = Yard::new();
    settings(&yard.0);
    let agent = yard.0.sh_agent("cat > up.part; mv up.part up; yes never >&2 & exec yes never");
    yard.spawn(&["-n", "3", "--inactivity-timeout", "600"], &agent).exits(0);
    yard.until_exists("up");
    yard.0.ralph(&["set", "agent", "-n", "7"]).exits(0);
    yard.0.ralph(&["say", "agent", "enough"]).exits(0);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.until_state("agent", "paused");
    assert_eq!(yard.state("agent")["max_iterations"], 7);
    yard.0.ralph(&["kill", "agent"]).exits(0).says("killed agent\n");
    yard.0.soon_nothing_is_left();
    let files = fs::read_dir(yard.file("agent", "")).unwrap().map(Result::unwrap);
    let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 32 << 20, "{bytes}");
}
