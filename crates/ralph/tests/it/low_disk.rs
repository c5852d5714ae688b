//! Disks that are nearly full: the run waits for room and goes on by itself.

use crate::disk::with_mounts;
use crate::support::{Agent, Sandbox};
use crate::workers::Yard;
use rustix::process::Signal;
use serde_json::json;
use std::fs;

/// More than any disk has: the real one counts as low.
const EVERYTHING: u64 = 1_000_000_000;

fn settings(sandbox: &Sandbox, min_free: u64) {
    sandbox.settings(&json!({"context": false, "minFreeSpace": min_free}));
}

fn done(sandbox: &Sandbox) -> Agent {
    sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]))
}

#[test]
fn a_run_waits_until_there_is_room_again_and_goes_on() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, 4);
    sandbox.program(
        "fill",
        "if [ $RALPH_ITERATION = 1 ]; then dd if=/dev/zero of=\"$RALPH_HOME/fill\" bs=1M count=5 2>/dev/null; echo on it
         else echo '<response>DONE</response>'; fi",
    );
    fs::create_dir(sandbox.home()).unwrap();
    // A disk of 8 MiB: the first agent leaves less than 4 of them.
    let script = "mount -t tmpfs -o size=8m,mode=700 tmpfs \"$RALPH_HOME\" || exit 99
         \"$RALPH\" run -p x -n 5 -- fill > told & run=$!
         for i in $(seq 2000); do
             [ \"$(cat \"$RALPH_HOME\"/runs/*/journal.jsonl 2>/dev/null | grep -c low_disk)\" -ge 2 ] && break; sleep 0.05
         done
         cat \"$RALPH_HOME\"/runs/*/journal.jsonl > low; rm \"$RALPH_HOME/fill\"
         wait $run; code=$?; cat told; exit $code";
    let Some(ran) = with_mounts(&sandbox, script) else { return };
    let ran = ran.exits(0).says("low disk space: 3.0 MiB free, 4.0 MiB required (minFreeSpace): ");
    assert_eq!(ran.stdout.matches("low disk").count(), 1, "reported once: {}", ran.stdout);
    let ran =
        ran.says("the run continues on its own once there is enough space").says("enough disk space again");
    ran.says("Iteration 2/5").says("no checks (2 iterations");
    let low = sandbox.read("low");
    let begun = low.matches("\"began\":{\"id\":2,").count();
    assert_eq!(begun, 0, "no agent began meanwhile: {low}");
    assert!(low.matches("low_disk").count() >= 2, "it has looked again: {low}");
}

#[test]
fn a_wait_for_room_ends_by_a_signal_and_can_be_resumed() {
    let sandbox = Sandbox::git();
    settings(&sandbox, EVERYTHING);
    let running = sandbox.begin(&["-p", "x"], &done(&sandbox));
    sandbox.until_fact("the low disk", |fact| fact["low_disk"]["least"] == EVERYTHING << 20);
    running.signal(Signal::TERM);
    let ran = running.end().exits(130).says("low disk space: ").says("required (minFreeSpace): ");
    assert!(ran.stdout.contains("ralph resume"), "{}", ran.stdout);
    let began = sandbox.facts().into_iter().filter(|fact| !fact["began"].is_null()).count();
    assert_eq!(began, 0, "neither a checkpoint nor an agent");
    let listed = sandbox.listed();
    assert_eq!(
        (&listed["status"], &listed["resumable"]),
        (&"interrupted".into(), &true.into()),
        "{listed:#}"
    );
    // It has the limits that it began with, and looks anew.
    let running = sandbox.start(&["resume", "--format", "json"]);
    sandbox.until_fact("another look", |_| {
        sandbox.facts().iter().filter(|fact| !fact["low_disk"].is_null()).count() >= 2
    });
    running.signal(Signal::INT);
    let ran = running.end();
    assert!(ran.stderr.contains("waiting for free space"), "{}", ran.stderr);
    ran.stops(130, "interrupted", 0);
}

#[test]
fn it_is_off_at_0() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, 0);
    sandbox.run(&["-p", "x", "--format", "json"], &done(&sandbox)).stops(0, "completed", 1);
    let opened = &sandbox.facts()[0];
    assert!(opened["opened"]["limits"]["min_free"].is_null(), "{opened:#}");
}

#[test]
fn a_worker_says_what_it_waits_for_and_can_be_told_to_go_on() {
    let yard = Yard::new();
    settings(&yard.0, EVERYTHING);
    let agent = yard.waiting_agent();
    // A file that is there is whole.
    let notify = "echo \"$RALPH_NOTIFY_EVENT $RALPH_NOTIFY_NOTE\" > part && mv part told.$RALPH_NOTIFY_EVENT";
    yard.spawn(&["-n", "1", "--notify", notify], &agent).exits(0);
    yard.until_log("agent", "[WAIT] low disk space: ");
    yard.until_says("agent", "[ralph] agent: low disk space: ");
    let status = yard.status("agent");
    assert!(status.contains("Status: running\n") && status.contains("Note: low disk space: "), "{status}");
    yard.until_exists("told.waiting");
    let message = yard.0.read("told.waiting");
    assert!(message.starts_with("waiting low disk space: "), "{message}");
    // Still too much.
    let set = |mebibytes: &str| yard.0.ralph(&["set", "agent", "--min-free-space", mebibytes]);
    set("900000000").exits(0).says("set min-free-space of agent to 858 TiB");
    assert!(!yard.0.has("got.1"));
    for bad in ["x", "2000000000", "nan"] {
        set(bad).exits(2).says("expected a number of MiB, 0 or more");
    }
    // A signal to a worker pauses it.
    rustix::process::kill_process(yard.loop_pid(), Signal::TERM).unwrap();
    yard.until_state("agent", "paused");
    set("0.5").exits(0).says("to 512 KiB");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.until_begun(1);
    yard.go(1, 0);
    yard.ends("agent", 0);
}
