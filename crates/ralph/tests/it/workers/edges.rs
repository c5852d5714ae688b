//! Every edge case of the system that workers come from.

use super::Yard;
use crate::support::until;
use serde_json::json;
use std::fs;

#[test]
fn worker_name_is_reused_across_iterations() {
    let yard = Yard::new();
    yard.spawn(&["-n", "3", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    assert_eq!(yard.0.ralph(&["ls", "--format", "names"]).exits(0).stdout, "agent\n");
    let one = yard.0.ralph(&["status", "agent", "--format", "json"]).exits(0).json();
    assert_eq!(
        (&one["name"], &one["plan"], &one["loop_gone"]),
        (&"agent".into(), &"prompt".into(), &false.into())
    );
    assert_eq!(yard.0.ralph(&["status", "--format", "json"]).exits(0).json(), serde_json::json!([one]));
    assert_eq!(yard.state("agent")["current_iteration"], 3);
}

#[test]
fn prompt_file_can_be_absolute_or_relative() {
    let yard = Yard::new();
    yard.0.write("sub/P.md", "relative\n");
    yard.0.write("sub/.ralph/settings.json", "{\"context\": false}");
    let script = "cd sub && $RALPH spawn --name a -f P.md -n 1 --wait -- sh -c 'cat > got'";
    yard.0.shell(script).exits(0);
    assert_eq!(yard.0.read("sub/got"), "relative\n");
    let absolute = yard.0.project().join("sub/P.md");
    assert_eq!(yard.state("a")["prompt_file"], absolute.to_str().unwrap());
    yard.spawn_as("b", &["-f", absolute.to_str().unwrap(), "-n", "1", "--wait"], &yard.0.sh_agent("cat"))
        .exits(0);
}

#[test]
fn empty_prompt_file_is_allowed() {
    let yard = Yard::new();
    yard.0.write("PROMPT.md", "");
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat > got; echo fine")).exits(0);
    assert_eq!(yard.0.read("got"), "");
}

#[test]
fn done_pattern_is_a_regular_expression() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; echo IMPLEMENTATION_PLAN.md is at 100%");
    let pattern = r"IMPLEMENTATION_PLAN\.md.*\b100%";
    yard.spawn(&["-n", "5", "--done-pattern", pattern, "--wait"], &agent).exits(0);
    assert_eq!(yard.judged(), [1]);
}

/// A backoff that lasts longer than an agent may be silent.
#[test]
fn backoff_timer_does_not_count_toward_inactivity_timeout() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false, "backoff": {"base": 6, "cap": 6}}));
    let agent = yard.0.sh_agent("cat; [ $RALPH_ITERATION != 1 ]");
    yard.spawn(&["-n", "2", "--inactivity-timeout", "5", "--wait"], &agent).exits(0);
    assert!(!yard.log("agent").contains("TIMEOUT"), "{}", yard.log("agent"));
}

#[test]
fn pausing_during_backoff_wait_immediately_stops_the_wait() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false, "backoff": {"base": 3600, "cap": 3600}}));
    yard.spawn(&["-n", "9"], &yard.0.sh_agent("cat; exit 1")).exits(0);
    yard.until_log("agent", "[FAIL] iteration 1 failed (exit: 1), retrying in 3600s (attempt 1/5)");
    yard.0.ralph(&["pause", "agent"]).exits(0);
    assert_eq!(yard.state("agent")["status"], "paused");
    // A resumed worker does not wait for the rest of the hour.
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.until_log("agent", "[FAIL] iteration 2 failed");
}

#[test]
fn resume_after_pause_continues_iteration_count() {
    let yard = Yard::new();
    yard.spawn(&["-n", "3"], &yard.waiting_agent()).exits(0);
    for iteration in 1..=3 {
        yard.until_begun(iteration);
        yard.0.ralph(&["pause", "agent"]).exits(0);
        yard.go(iteration, 0);
        yard.until_log("agent", &format!("[END] iteration {iteration} "));
        if iteration < 3 {
            yard.0.ralph(&["resume", "agent"]).exits(0);
        }
    }
    // At its last iteration a paused loop has nothing left to wait for but a person.
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2, 3]);
}

#[test]
fn multiple_workers_run_concurrently_with_different_names() {
    let yard = Yard::new();
    for name in ["a", "b", "c.d"] {
        fs::create_dir(yard.0.project().join(name)).unwrap();
        let args = ["-f", "PROMPT.md", "-n", "1", "-C", name];
        yard.spawn_as(name, &args, &yard.waiting_agent()).exits(0);
    }
    for name in ["a", "b", "c.d"] {
        yard.until_exists(&format!("{name}/got.1"));
    }
    let mut windows = yard.windows();
    windows.sort();
    assert_eq!(windows, ["a", "b", "c.d"]);
    for name in ["a", "b", "c.d"] {
        yard.go(1, 0);
        fs::copy(yard.0.project().join("go.1"), yard.0.project().join(name).join("go.1")).unwrap();
        yard.ends(name, 0);
    }
    // A name with a dot is a window's name all the same.
    yard.0.ralph(&["rm", "c.d"]).exits(0);
    assert!(!yard.windows().contains(&"c.d".to_string()));
}

#[test]
fn ralph_state_persists_and_can_be_resumed_after_a_crash() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.go(1, 0);
    yard.until_begun(2);
    yard.kill_loop();
    assert_eq!(yard.state("agent")["current_iteration"], 2);
    yard.0.ralph(&["resume", "agent"]).exits(0).says("resumed ralph loop for agent\n");
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2]);
}

#[test]
fn killing_a_worker_also_stops_the_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "9"], &yard.0.sh_agent("cat; (trap '' TERM; setsid sleep 7000) & sleep 7000"))
        .exits(0);
    yard.until_log("agent", "[START] iteration 1/9");
    until("the agent's tree", || yard.0.alive().len() >= 5);
    yard.0.ralph(&["kill", "agent"]).exits(0).says("killed agent\n");
    let state = yard.state("agent");
    assert_eq!((&state["status"], &state["reason"]), (&json!("stopped"), &json!("killed")));
    assert!(yard.status("agent").contains("Status: stopped (killed)\n"));
    assert_eq!(yard.windows(), [] as [&str; 0]);
    yard.0.soon_nothing_is_left();
    yard.0.ralph(&["kill", "agent"]).exits(0).says("ralph: warning: worker 'agent' is not running\n");
}

#[test]
fn ready_wait_is_implicit() {
    let yard = Yard::new();
    let args = ["--ready-wait", "--tmux", "-n", "1", "--wait"];
    yard.spawn(&args, &yard.0.sh_agent("cat > got")).exits(0);
    assert_eq!(yard.0.read("got"), "Do task A\n");
}

/// SIGTERM to the loop pauses it and lets the current agent complete.
#[test]
fn graceful_shutdown() {
    use rustix::process::{Signal, kill_process};
    let yard = Yard::new();
    yard.spawn(&["-n", "3"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    kill_process(yard.loop_pid(), Signal::TERM).unwrap();
    yard.until_state("agent", "paused");
    yard.go(1, 0);
    yard.ends("agent", 1);
    assert_eq!((yard.judged(), yard.state("agent")["reason"].clone()), (vec![1], json!("paused")));
    assert!(yard.status("agent").contains("Status: paused\n"));
    yard.0.ralph(&["pause", "agent"]).exits(0).says("is already paused");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.go(2, 0);
    yard.go(3, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2, 3]);
}
