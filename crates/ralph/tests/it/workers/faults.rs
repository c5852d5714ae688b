//! `kill -9` of everything that a worker consists of.

use super::Yard;
use crate::support::until;
use rustix::process::{Signal, kill_process};
use std::fs;

#[test]
fn kill_9_of_the_loop_is_told_and_loses_nothing() {
    let yard = Yard::new();
    yard.spawn(&["-n", "3"], &yard.waiting_agent()).exits(0);
    yard.go(1, 0);
    yard.until_begun(2);
    yard.kill_loop();
    assert!(yard.status("agent").contains("its process is gone; continue with: ralph resume agent"));
    let listed = yard.0.ralph(&["ls", "--format", "json"]).exits(0).json();
    assert_eq!((&listed[0]["loop_gone"], &listed[0]["status"]), (&true.into(), &"running".into()));
    yard.0.ralph(&["wait", "agent"]).exits(1).says("its process died before the run ended");
    let refused = yard.spawn(&["-n", "3"], &yard.waiting_agent());
    refused.exits(1).says("ralph: error: worker 'agent' already exists\n").says("ralph resume agent");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.go(2, 0);
    yard.go(3, 0);
    yard.ends("agent", 0);
    assert_eq!((yard.judged(), yard.0.agents_begun()), (vec![1, 2, 3], 4));
    let starts = yard.events("agent").into_iter().filter(|line| line.contains("[START] iteration 2/"));
    assert_eq!(starts.count(), 2, "{}", yard.log("agent"));
}

#[test]
fn kill_9_of_the_agent_is_a_failure_of_its_own() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    kill_process(yard.agent_pid(), Signal::KILL).unwrap();
    yard.until_log("agent", "[END] iteration 1 exit=137");
    yard.until_says("agent", "[ralph] agent: iteration 1 failed (exit: 137), retrying in ");
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2]);
}

#[test]
fn kill_9_of_the_tmux_server_hurts_no_work() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let server = yard.tmux("display-message -p '#{pid}'").exits(0).stdout.trim().parse().unwrap();
    kill_process(rustix::process::Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
    until("the end of the server", || yard.windows().is_empty());
    assert!(yard.status("agent").contains("Status: running\n"));
    yard.go(1, 0);
    yard.until_begun(2);
    // Resuming brings the window back, whatever there is to resume.
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.0.ralph(&["resume", "agent"]).exits(0);
    assert_eq!(yard.windows(), ["agent"]);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!((yard.judged(), yard.0.agents_begun()), (vec![1, 2], 2));
}

#[test]
fn a_pane_that_is_closed_by_hand_hurts_no_work() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.tmux("kill-server").exits(0);
    assert!(yard.status("agent").contains("Status: running\n"));
    yard.go(1, 0);
    yard.ends("agent", 0);
}

#[test]
fn kill_9_of_the_keeper_is_mended_by_the_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    kill_process(yard.0.keeper().unwrap(), Signal::KILL).unwrap();
    yard.0.until_fact("the loss", |fact| fact["ended"]["end"]["lost"].is_object());
    yard.go(1, 0);
    yard.ends("agent", 0);
    assert_eq!((yard.judged(), yard.0.agents_begun()), (vec![1], 2));
}

/// Everything at once, as a reboot does.
#[test]
fn a_reboot_is_a_crash_like_any_other() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.go(1, 0);
    yard.until_begun(2);
    for pid in yard.0.alive() {
        let _ = kill_process(pid, Signal::KILL);
    }
    yard.0.soon_nothing_is_left();
    assert!(yard.status("agent").contains("its process is gone"));
    yard.0.ralph(&["resume", "agent"]).exits(0);
    assert_eq!(yard.windows(), ["agent"]);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2]);
}

/// A crash can keep the last lines from the files; the journal has them.
#[test]
fn files_that_a_crash_has_left_behind_are_mended() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.go(1, 0);
    yard.until_begun(2);
    yard.kill_loop();
    let whole = yard.log("agent");
    let cut = whole.lines().next().unwrap().to_string() + "\n";
    fs::write(yard.file("agent", "iterations.log"), &cut).unwrap();
    fs::remove_file(yard.file("agent", "state.json")).unwrap();
    assert!(yard.status("agent").contains("Iteration: 2/2\n"));
    yard.0.ralph(&["ls"]).exits(0).says("2/2");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert!(yard.log("agent").starts_with(&whole), "{}", yard.log("agent"));
    assert_eq!(yard.state("agent")["status"], "stopped");
}

#[test]
fn a_worker_that_crashed_can_be_paused_and_killed() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.kill_loop();
    yard.0.ralph(&["pause", "agent"]).exits(0).says("paused ralph loop for agent\n");
    assert!(yard.status("agent").contains("Status: paused\n"));
    assert_eq!(yard.state("agent")["status"], "paused");
    yard.0.ralph(&["kill", "agent"]).exits(0).says("killed agent\n");
    assert_eq!(yard.state("agent")["status"], "stopped");
    // Killed is not done: it can still be taken up.
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2]);
}

/// Stopped, not dead: it answers no request.
#[test]
fn a_loop_that_does_not_answer_can_still_be_killed() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    kill_process(yard.loop_pid(), Signal::STOP).unwrap();
    yard.0.ralph(&["kill", "agent"]).exits(0).says("killed agent\n");
    assert_eq!(yard.state("agent")["reason"], "killed");
    yard.0.soon_nothing_is_left();
}

#[test]
fn of_two_resumes_at_once_one_carries_on() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.kill_loop();
    let both = [yard.0.start(&["resume", "agent"]), yard.0.start(&["resume", "agent"])];
    let mut resumed = 0;
    for ran in both {
        let ran = ran.end();
        resumed += u32::from(ran.stdout.contains("resumed ralph loop for agent"));
        let explained = ran.code == Some(0) || ran.stderr.contains("already") || ran.stderr.contains("alive");
        assert!(explained, "{:?} {} {}", ran.code, ran.stdout, ran.stderr);
    }
    assert_eq!(resumed, 1);
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.judged(), [1, 2]);
}

#[test]
fn the_terminal_that_spawned_it_can_go() {
    let yard = Yard::new();
    // A session of its own that is hung up as a whole.
    let script = "setsid sh -c '$RALPH spawn --name agent -f PROMPT.md -n 1 -- sh -c \"cat > got.1; until [ -e go.1 ]; do sleep 0.02; done\"; kill -HUP 0'";
    yard.0.shell(script);
    yard.until_exists("got.1");
    assert!(yard.status("agent").contains("Status: running\n"));
    yard.go(1, 0);
    yard.ends("agent", 0);
}
