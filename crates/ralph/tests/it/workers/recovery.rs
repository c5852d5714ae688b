//! Every recovery procedure of the system that workers come from.

use super::Yard;
use crate::support::Agent;
use serde_json::json;
use std::fs;

#[test]
fn ralph_loop_crashed_mid_iteration() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.kill_loop();
    let status = yard.status("agent");
    assert!(
        status.contains("Status: running, but its process is gone; continue with: ralph resume agent\n"),
        "{status}"
    );
    yard.0.ralph(&["ls"]).exits(0).says("running, process is gone");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2]);
}

#[test]
fn stuck_in_backoff() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false, "backoff": {"base": 3600, "cap": 3600}}));
    yard.spawn(&["-n", "2"], &yard.0.sh_agent("cat > got; grep -q fixed got")).exits(0);
    yard.until_log("agent", "retrying in 3600s");
    yard.0.ralph(&["pause", "agent"]).exits(0).says("paused ralph loop for agent\n");
    yard.0.write("PROMPT.md", "fixed\n");
    yard.0.ralph(&["resume", "agent"]).exits(0).says("resumed ralph loop for agent\n");
    yard.ends("agent", 0);
    assert_eq!(yard.state("agent")["total_failures"], 1);
}

/// The seed edits a file by hand; here it is asked for.
#[test]
fn want_to_change_max_iterations_mid_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0
        .ralph(&["set", "agent", "--max-iterations", "2"])
        .exits(0)
        .says("set max-iterations of agent to 2\n");
    assert_eq!(yard.state("agent")["max_iterations"], 2);
    yard.go(1, 0);
    yard.until_begun(2);
    yard.until_log("agent", "[START] iteration 2/2");
    yard.go(2, 0);
    yard.ends("agent", 0);
    // Also once it has ended there.
    let refused = yard.0.ralph(&["resume", "agent"]).exits(1).says("has used all of its");
    refused.says("hint: raise the limit: ralph resume -n ");
    yard.0.ralph(&["set", "agent", "--max-iterations", "3"]).exits(0);
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.go(3, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2, 3]);
    assert_eq!(yard.0.listed()["max_iterations"], 3);
}

#[test]
fn pause_kill_respawn_with_new_value() {
    let yard = Yard::new();
    yard.spawn(&["-n", "100"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.0.ralph(&["kill", "agent"]).exits(0);
    yard.spawn(&["-n", "200"], &yard.waiting_agent())
        .exits(0)
        .says("spawned agent (tmux: ralph:agent) [ralph mode: iteration 1/200]\n");
    yard.until_log("agent", "[START] iteration 1/200");
    assert!(!yard.log("agent").contains("/100"), "{}", yard.log("agent"));
    assert_eq!(yard.windows(), ["agent"]);
}

#[test]
fn clean_up_ralph_state() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    yard.0.ralph(&["rm", "agent"]).exits(0).says("removed agent\n");
    assert!(!yard.file("agent", "").exists());
    assert_eq!(yard.0.listed()["status"], "max_iterations", "its run is still there");
    // By hand, as people are used to.
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    fs::remove_dir_all(yard.0.home().join("workers/agent")).unwrap();
    yard.0.ralph(&["ls"]).exits(0).says("No workers and no active runs.");
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    fs::remove_dir_all(yard.0.home().join("workers")).unwrap();
    yard.0.ralph(&["status"]).exits(0).says("No workers and no active runs.");
    yard.0.ralph(&["status", "agent"]).exits(1).says("ralph: error: worker 'agent' not found\n");
}

#[test]
fn a_worker_whose_run_was_cleaned_up_still_says_how_it_ended() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    fs::remove_dir_all(yard.0.run_dir()).unwrap();
    assert!(yard.status("agent").contains("Status: stopped (max_iterations)\n"));
    yard.0.ralph(&["ls"]).exits(0).says("stopped (max_iterations)");
    yard.0.ralph(&["resume", "agent"]).exits(1);
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
}

#[test]
fn workers_that_share_a_directory_share_it_again_when_resumed() {
    let yard = Yard::new();
    for name in ["a", "b"] {
        let args = ["-f", "PROMPT.md", "-n", "2", "--share-workspace"];
        yard.spawn_as(name, &args, &yard.0.sh_agent("cat; sleep 600")).exits(0);
        yard.until_log(name, "[START]");
    }
    yard.0.ralph(&["kill", "b"]).exits(0);
    yard.0.ralph(&["resume", "b"]).exits(0);
    yard.until_log("b", "[RESUME]");
}

#[test]
fn a_running_worker_is_not_removed_unless_forced() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["rm", "agent"]).exits(1).says("ralph: error: worker 'agent' is running\n");
    yard.0.ralph(&["rm", "--force", "agent"]).exits(0);
    yard.0.soon_nothing_is_left();
    assert_eq!(yard.0.listed()["status"], "killed");
}

#[test]
fn a_running_worker_is_replaced_on_request() {
    let yard = Yard::new();
    yard.spawn(&["-n", "100"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let first = yard.0.only_run();
    yard.spawn(&["-n", "200"], &yard.waiting_agent()).exits(1).says("already exists").says("--replace");
    yard.spawn(&["-n", "200", "--clean-state"], &yard.waiting_agent())
        .exits(1)
        .says("already exists")
        .says("it is running; use --replace to kill and replace it");
    // A worker that could not start replaces no other.
    yard.spawn(&["-n", "200", "--replace", "--no-such-flag"], &yard.waiting_agent()).exits(2);
    yard.spawn(&["-n", "200", "--replace"], &Agent::named("no-such-agent")).exits(2).says("is not installed");
    yard.0.ralph(&["spawn", "--name", "agent", "--replace", "tasks"]).exits(2).says("no task list: ");
    yard.0.ralph(&["spawn", "--name", "agent", "--replace", "stories", "--check"]).exits(2);
    assert_eq!((yard.0.only_run(), yard.state("agent")["status"].clone()), (first.clone(), json!("running")));
    yard.0.sh("rm got.1");
    yard.spawn(&["-n", "200", "--replace"], &yard.waiting_agent())
        .exits(0)
        .says("spawned agent (tmux: ralph:agent) [ralph mode: iteration 1/200]\n");
    yard.until_begun(1);
    assert_ne!(yard.state("agent")["run"], first.as_str());
    assert!(!yard.log("agent").contains("/100"), "{}", yard.log("agent"));
    let runs = yard.0.ralph(&["runs", "--format", "json"]).exits(0).json();
    let status =
        |id: &str| runs.as_array().unwrap().iter().find(|run| run["id"] == id).unwrap()["status"].clone();
    assert_eq!(status(&first), "killed");
    assert_eq!(yard.windows(), ["agent"]);
    yard.0.ralph(&["kill", "agent"]).exits(0);
    // One that has ended needs no flag, and takes it.
    yard.spawn(&["-n", "1", "--replace", "--wait"], &yard.0.sh_agent("cat")).exits(0);
}

#[test]
fn what_a_crashed_or_paused_worker_left_is_discarded_on_request() {
    for flag in ["--clean-state", "--replace"] {
        let yard = Yard::new();
        yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
        yard.until_begun(1);
        yard.0.ralph(&["say", "agent", "a note for the old one"]).exits(0);
        yard.kill_loop();
        let first = yard.0.only_run();
        yard.spawn(&["-n", "1"], &yard.0.sh_agent("cat")).exits(1).says("--clean-state");
        fs::write(yard.file("agent", "left"), "").unwrap();
        yard.spawn(&["-n", "1", "--wait", flag], &yard.0.sh_agent("cat > fresh")).exits(0);
        assert_eq!(yard.0.read("fresh"), "Do task A\n");
        assert!(!yard.file("agent", "left").exists() && !yard.log("agent").contains("/2"));
        // Its run is still there.
        yard.0.ralph(&["show", &first]).exits(0);
        fs::write(yard.file("agent", "worker.json"), "{").unwrap();
        yard.spawn(&["-n", "1"], &yard.0.sh_agent("cat")).exits(1).says("cannot read the record");
        yard.spawn(&["-n", "1", "--wait", flag], &yard.0.sh_agent("cat")).exits(0);
    }
}
