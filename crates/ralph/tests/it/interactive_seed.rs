//! The scenarios that workers come from, with the agent on a terminal.

use crate::support::{Sandbox, until};
use crate::workers::Yard;
use serde_json::json;

#[test]
fn basic_ralph_loop() {
    let yard = Yard::new();
    let args = ["--interactive", "--ready-pattern", "^>$", "--max-iterations", "10"];
    yard.spawn(&args, &yard.asking_program())
        .exits(0)
        .says("spawned agent (tmux: ralph:agent) [ralph mode: iteration 1/10]\n");
    yard.until_begun(1);
    assert_eq!(yard.0.read("got.1"), "Do task A\n");
    assert_eq!(
        (&yard.state("agent")["status"], yard.windows()),
        (&json!("running"), vec!["agent".to_owned()])
    );
    until("the program in the window", || yard.pane("agent").contains("tool 1.0\n> Do task A"));
}

#[test]
fn iteration_restart_on_agent_exit_and_prompt_file_edited_mid_loop() {
    let yard = Yard::new();
    yard.spawn_sign(&["-n", "2"], &yard.asking_program());
    yard.until_begun(1);
    yard.0.write("PROMPT.md", "Do task B\n");
    yard.go(1, 0);
    yard.until_begun(2);
    assert_eq!((yard.0.read("got.1"), yard.0.read("got.2")), ("Do task A\n".into(), "Do task B\n".into()));
    yard.go(2, 0);
    yard.ends("agent", 0);
    let output = yard.output("agent");
    assert!(output.contains("[ralph] agent: iteration 1 completed (exit: 0, duration: "), "{output}");
    assert!(output.contains("[ralph] agent: starting iteration 2/2\n"), "{output}");
    assert!(output.contains("[ralph] agent: loop complete after 2 iterations\n"), "{output}");
}

#[test]
fn inactivity_timeout_triggers_restart() {
    let yard = Yard::new();
    yard.spawn_sign(&["-n", "2", "--inactivity-timeout", "6"], &yard.asking_program());
    yard.until_begun(2);
    yard.go(2, 0);
    yard.ends("agent", 0);
    yard.until_says("agent", "[ralph] agent: inactivity timeout (6s), restarting\n");
    assert_eq!(yard.state("agent")["total_failures"], 1);
}

#[test]
fn consecutive_failures_trigger_backoff_and_five_stop_the_loop() {
    let yard = Yard::new();
    let program = yard.0.sh_agent("printf '> '; read -r line; exit 1");
    yard.spawn_sign(&["-n", "10"], &program);
    yard.ends("agent", 1);
    let output = yard.output("agent");
    for attempt in 1..5 {
        let line = format!("[ralph] agent: iteration {attempt} failed (exit: 1), retrying in ");
        let told = output
            .lines()
            .find(|told| told.starts_with(&line))
            .unwrap_or_else(|| panic!("{line}:\n{output}"));
        assert!(told.ends_with(&format!("s (attempt {attempt}/5)")), "{told}");
    }
    assert!(output.contains("[ralph] agent: 5 consecutive failures, stopping loop\n"), "{output}");
    assert_eq!(yard.state("agent")["status"], "failed");
}

#[test]
fn pause_and_resume_ralph_loop() {
    let yard = Yard::new();
    yard.spawn_sign(&["-n", "10"], &yard.asking_program());
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0).says("paused ralph loop for agent\n");
    assert!(yard.terminal_host().is_some(), "the agent goes on");
    assert!(yard.status("agent").contains("Status: paused\nIteration: 1/10\n"));
    yard.go(1, 0);
    yard.until_log("agent", "[END] iteration 1 exit=0");
    assert_eq!(yard.0.agents_begun(), 1);
    yard.0.ralph(&["resume", "agent"]).exits(0).says("resumed ralph loop for agent\n");
    yard.until_begun(2);
    assert!(yard.status("agent").contains("Status: running\nIteration: 2/10\n"));
}

#[test]
fn worktree_is_compatible() {
    let yard = Yard(Sandbox::git());
    yard.0.plain_settings();
    yard.0.write("PROMPT.md", "x\n");
    let program = yard.0.sh_agent("printf '> '; read -r line; echo $line > new.txt");
    yard.spawn_sign(&["-n", "1", "--worktree", "--wait"], &program);
    assert!(!yard.0.has("new.txt"));
    let branch = format!("ralph/{}", yard.0.only_run());
    assert_eq!(yard.0.sh(&format!("git show {branch}:new.txt")), "x\n");
}
