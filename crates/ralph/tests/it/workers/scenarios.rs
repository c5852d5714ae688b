//! Every scenario of the system that workers come from.

use super::Yard;
use crate::support::{Sandbox, until};
use crate::tasks_support::{Act, agent, fields, list, new, now, project, right, waiting};
use serde_json::{Value, json};

#[test]
fn basic_ralph_loop() {
    let yard = Yard::new();
    yard.spawn(&["--ralph", "--max-iterations", "10"], &yard.waiting_agent())
        .exits(0)
        .says("spawned agent (tmux: ralph:agent) [ralph mode: iteration 1/10]\n");
    yard.until_begun(1);
    assert_eq!(yard.0.read("got.1"), "Do task A\n");
    let state = yard.state("agent");
    assert_eq!(state["worker_name"], "agent");
    assert_eq!(state["prompt_file"], yard.0.project().join("PROMPT.md").to_str().unwrap());
    assert_eq!((&state["max_iterations"], &state["current_iteration"]), (&json!(10), &json!(1)));
    assert_eq!((&state["status"], &state["done_pattern"]), (&json!("running"), &Value::Null));
    assert_eq!((&state["consecutive_failures"], &state["total_failures"]), (&json!(0), &json!(0)));
    assert_eq!(state["inactivity_timeout"], 60);
    for time in ["started", "last_iteration_started"] {
        assert_eq!(state[time].as_str().unwrap().len(), "2024-01-15T10:30:00.000000".len(), "{state:#}");
    }
    assert_eq!(yard.windows(), ["agent"]);
}

#[test]
fn iteration_restart_on_agent_exit() {
    let yard = Yard::new();
    yard.spawn(&["-n", "10"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.write("PROMPT.md", "Do task A again\n");
    yard.go(1, 0);
    yard.until_begun(2);
    assert_eq!(yard.0.read("got.2"), "Do task A again\n");
    let output = yard.output("agent");
    assert!(output.contains("[ralph] agent: iteration 1 completed (exit: 0, duration: "), "{output}");
    assert!(output.contains("[ralph] agent: starting iteration 2/10\n"), "{output}");
    let listed = yard.0.ralph(&["ls", "--format", "json"]).exits(0).json();
    assert_eq!(listed[0]["metadata"], json!({"ralph": true, "ralph_iteration": 2}));
    let events = yard.events("agent");
    assert_eq!(events[0], "[START] iteration 1/10");
    assert!(events[1].starts_with("[END] iteration 1 exit=0 duration="), "{events:?}");
    assert_eq!(events[2], "[START] iteration 2/10");
}

#[test]
fn inactivity_timeout_triggers_restart() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2", "--inactivity-timeout", "6"], &yard.waiting_agent()).exits(0);
    yard.until_begun(2);
    yard.go(2, 0);
    yard.ends("agent", 0);
    yard.until_says("agent", "[ralph] agent: inactivity timeout (6s), restarting\n");
    let state = yard.state("agent");
    assert_eq!((&state["total_failures"], &state["status"]), (&json!(1), &json!("stopped")));
    assert!(yard.log("agent").contains("[TIMEOUT] iteration 1 inactivity timeout (6s), restarting\n"));
    yard.0.ralph(&["rm", "agent"]).exits(0);
}

#[test]
fn done_pattern_stops_loop() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat; echo working; [ $RALPH_ITERATION = 1 ] || echo All tasks complete");
    yard.spawn(&["-n", "10", "--done-pattern", "All tasks complete"], &agent).exits(0);
    yard.ends("agent", 0);
    yard.until_says("agent", "[ralph] agent: done pattern matched, stopping loop\n");
    let state = yard.state("agent");
    assert_eq!((&state["status"], &state["reason"]), (&json!("stopped"), &json!("completed")));
    assert_eq!(state["current_iteration"], 2);
    let done = yard.events("agent").pop();
    assert_eq!(done.as_deref(), Some("[DONE] loop complete after 2 iterations"));
}

/// The pattern stands in the prompt, and the agent prints its prompt: that is no claim.
#[test]
fn a_prompt_that_is_echoed_does_not_stop_the_loop() {
    let yard = Yard::new();
    yard.0.write(
        "PROMPT.md",
        "Work on.\nWhen there is nothing left, say so:\nAll tasks complete\nNot before.\n",
    );
    let agent = yard.0.sh_agent("cat; echo more to do");
    yard.spawn(&["-n", "2", "--done-pattern", "All tasks complete"], &agent).exits(0);
    yard.ends("agent", 1);
    assert_eq!(yard.state("agent")["reason"], "max_iterations");
}

#[test]
fn max_iterations_reached() {
    let yard = Yard::new();
    yard.spawn(&["-n", "3"], &yard.0.sh_agent("cat")).exits(0);
    yard.ends("agent", 0);
    yard.until_says("agent", "[ralph] agent: loop complete after 3 iterations\n");
    yard.until_says("agent", "\n  for more: ralph resume -n 6 agent\n");
    assert_eq!(yard.state("agent")["status"], "stopped");
    assert_eq!(yard.judged(), [1, 2, 3]);
}

#[test]
fn consecutive_failures_trigger_backoff() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false, "backoff": {"base": 0.1, "cap": 300}}));
    yard.spawn(&["-n", "3"], &yard.0.sh_agent("cat; exit 1")).exits(0);
    // They were the work, and the last of it failed.
    yard.ends("agent", 1);
    let output = yard.output("agent");
    for line in [
        "[ralph] agent: iteration 1 failed (exit: 1), retrying in 0.1s (attempt 1/5)\n",
        "[ralph] agent: iteration 2 failed (exit: 1), retrying in 0.2s (attempt 2/5)\n",
        "[ralph] agent: iteration 3 failed (exit: 1)\n",
    ] {
        assert!(output.contains(line), "{line}\n{output}");
    }
    let state = yard.state("agent");
    assert_eq!((&state["consecutive_failures"], &state["total_failures"]), (&json!(3), &json!(3)));
}

/// The waits that people get without any setting.
#[test]
fn the_first_wait_is_a_second() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false}));
    yard.spawn(&["-n", "9"], &yard.0.sh_agent("cat; exit 1")).exits(0);
    yard.until_says("agent", "[ralph] agent: iteration 1 failed (exit: 1), retrying in 1s (attempt 1/5)\n");
    yard.until_says("agent", "[ralph] agent: iteration 2 failed (exit: 1), retrying in 2s (attempt 2/5)\n");
    yard.0.ralph(&["kill", "agent"]).exits(0);
}

#[test]
fn five_consecutive_failures_stop_the_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "10"], &yard.0.sh_agent("cat; exit 1")).exits(0);
    yard.ends("agent", 1);
    yard.until_says("agent", "[ralph] agent: 5 consecutive failures, stopping loop\n");
    let state = yard.state("agent");
    assert_eq!((&state["status"], &state["reason"]), (&json!("failed"), &json!("too_many_failures")));
    assert!(yard.status("agent").contains("Status: failed (too_many_failures)\n"));
    assert!(yard.log("agent").contains(" [FAIL] 5 consecutive failures, stopping loop\n"));
}

#[test]
fn pause_ralph_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "10"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let paused = yard.0.ralph(&["pause", "agent"]).exits(0);
    assert_eq!(paused.stdout, "paused ralph loop for agent\n");
    assert_eq!(yard.state("agent")["status"], "paused");
    assert!(yard.0.alive().contains(&yard.agent_pid()), "the agent goes on");
    assert!(
        yard.status("agent").ends_with("Note: iteration 1 is not finished yet\n"),
        "and the status says so"
    );
    yard.go(1, 0);
    yard.until_log("agent", "[END] iteration 1 exit=0");
    until("the note is gone", || !yard.status("agent").contains("Note: "));
    assert!(yard.events("agent").contains(&"[PAUSE] paused at iteration 1/10".to_string()));
    // Whatever would follow is recorded before it is done: nothing does.
    yard.0.ralph(&["pause", "agent"]).exits(0).says("ralph: warning: worker 'agent' is already paused\n");
    assert_eq!(yard.0.agents_begun(), 1);
    assert!(yard.status("agent").contains("Status: paused\nIteration: 1/10\n"));
}

#[test]
fn resume_paused_ralph_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "10"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.go(1, 0);
    yard.until_log("agent", "[END] iteration 1 exit=0");
    let resumed = yard.0.ralph(&["resume", "agent"]).exits(0);
    assert_eq!(resumed.stdout, "resumed ralph loop for agent\n");
    yard.until_begun(2);
    yard.until_says("agent", "[ralph] agent: starting iteration 2/10\n");
    assert_eq!(yard.state("agent")["status"], "running");
    yard.0.ralph(&["resume", "agent"]).exits(0).says("ralph: warning: worker 'agent' is not paused\n");
}

#[test]
fn resume_while_the_agent_still_runs() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.0.ralph(&["resume", "agent"]).exits(0);
    assert_eq!(yard.state("agent")["status"], "running");
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!((yard.judged(), yard.0.agents_begun()), (vec![1, 2], 2));
}

#[test]
fn ralph_status_check() {
    let yard = Yard::new();
    yard.spawn(&["-n", "10", "--done-pattern", "All tasks complete"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.go(1, 1);
    yard.until_begun(2);
    let state = yard.state("agent");
    let time = |name: &str| state[name].as_str().unwrap().split('.').next().unwrap().replace('T', " ");
    let status = yard.status("agent");
    let (seed, now) = status.split_once("Now: ").unwrap();
    assert_eq!(
        seed,
        format!(
            "Ralph Loop: agent\nStatus: running\nIteration: 2/10\nStarted: {}\n\
             Current iteration started: {}\nConsecutive failures: 1\nTotal failures: 1\n\
             Inactivity timeout: 60s\nDone pattern: All tasks complete\n",
            time("started"),
            time("last_iteration_started"),
        )
    );
    assert!(now.starts_with("sh ") && now.contains("\nAsked: PROMPT.md\nTime: "), "{now}");
}

#[test]
fn prompt_file_edited_mid_loop() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.write("PROMPT.md", "Do task B\n");
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!((yard.0.read("got.1"), yard.0.read("got.2")), ("Do task A\n".into(), "Do task B\n".into()));
}

#[test]
fn high_iteration_warning() {
    let yard = Yard::new();
    let warning = "ralph: warning: high iteration count (>50) may consume significant resources\n";
    let ran = yard.spawn(&["--max-iterations", "100"], &yard.waiting_agent()).exits(0);
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert_eq!(ran.stdout, "spawned agent (tmux: ralph:agent) [ralph mode: iteration 1/100]\n");
    let ran =
        yard.spawn_as("other", &["-f", "PROMPT.md", "-n", "50", "--share-workspace"], &yard.waiting_agent());
    assert_eq!(ran.exits(0).stderr, "");
}

#[test]
fn missing_prompt_file() {
    let yard = Yard::new();
    let args = ["spawn", "--ralph", "--prompt-file", "./missing.md", "--max-iterations", "10", "--", "cat"];
    let ran = yard.0.ralph(&args).exits(2);
    assert_eq!(ran.stderr, "ralph: error: prompt file not found: ./missing.md\n");
    assert!(!yard.0.home().join("workers/agent").exists());
}

#[test]
fn ralph_requires_tmux() {
    let yard = Yard::new();
    yard.spawn(&["-n", "10"], &yard.waiting_agent()).exits(0);
    assert_eq!(yard.windows(), ["agent"]);
    let listed = yard.0.ralph(&["ls", "--format", "json"]).exits(0).json();
    assert_eq!(listed[0]["tmux"], json!({"session": "ralph", "window": "agent"}));
}

#[test]
fn a_prompt_and_a_number_are_required() {
    let yard = Yard::new();
    let refused =
        |args: &[&str]| yard.0.ralph(&[&["spawn", "--name", "agent"], args].concat()).exits(2).stderr;
    let error = refused(&["--max-iterations", "10", "--", "cat"]);
    assert!(error.starts_with("ralph: error: spawn requires --prompt-file\n"), "{error}");
    let error = refused(&["--prompt-file", "PROMPT.md", "--", "cat"]);
    assert!(error.starts_with("ralph: error: spawn requires --max-iterations\n"), "{error}");
}

#[test]
fn live_agent_view_and_log_streaming() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    until("the window to show the agent", || yard.pane("agent").contains("at work"));
    let logs = yard.0.start(&["logs", "agent", "--follow"]);
    yard.go(1, 0);
    yard.go(2, 0);
    // Over both iterations, to the last line; then there is nothing left to follow.
    let followed = logs.end().exits(0).stdout;
    for line in ["starting iteration 1/2", "starting iteration 2/2", "loop complete after 2 iterations"] {
        assert!(followed.contains(line), "{line}\n{followed}");
    }
    assert!(followed.ends_with("  for more: ralph resume -n 4 agent\n"), "{followed}");
    assert_eq!(followed, yard.output("agent"));
    until("the window to close", || yard.windows().is_empty());
    assert_eq!(yard.0.ralph(&["logs", "agent", "--follow"]).exits(0).stdout, followed);
}

/// Whatever the user has configured for tmux.
#[test]
fn a_finished_worker_leaves_no_process_behind() {
    for config in ["", "set -g remain-on-exit on\nset -s exit-empty off\n"] {
        let yard = Yard::new();
        std::fs::write(yard.0.root().join("user/.tmux.conf"), config).unwrap();
        yard.0
            .ralph(&["spawn", "--name", "fin", "-p", "x", "-n", "1", "--wait", "--", "echo", "hi"])
            .exits(0);
        yard.0.soon_nothing_is_left();
        yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
        yard.until_begun(1);
        until("its window", || yard.pane("agent").contains("at work"));
        yard.go(1, 0);
        yard.0.soon_nothing_is_left();
        yard.0.ralph(&["logs", "agent", "-f"]).exits(0).says("loop complete after 1 iteration");
        yard.0
            .ralph(&["attach", "fin"])
            .exits(0)
            .says("loop complete after 1 iteration")
            .says("worker 'fin' is not running: stopped (max_iterations); its whole log: ralph logs fin\n");
        // Resuming opens another window.
        yard.0.ralph(&["resume", "-n", "2", "agent"]).exits(0);
        assert_eq!(yard.windows(), ["agent"]);
        yard.go(2, 0);
        yard.0.soon_nothing_is_left();
    }
}

#[test]
fn a_crashed_or_killed_worker_leaves_no_window() {
    let yard = Yard::new();
    yard.spawn(&["-n", "9"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    until("its window", || yard.pane("agent").contains("at work"));
    yard.kill_loop();
    yard.0.soon_nothing_is_left();
    yard.0
        .ralph(&["attach", "agent"])
        .exits(0)
        .says("at work")
        .says("its process is gone; continue with: ralph resume agent");
}

#[test]
fn a_reader_that_leaves_ends_the_following() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.shell("$RALPH logs agent --follow | head -n 1").exits(0).says("ralph run ");
    let followers = || {
        let words =
            |pid: &rustix::process::Pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let alive = yard.0.alive();
        alive.iter().filter(|pid| words(pid).windows(6).any(|part| part == b"--foll")).count()
    };
    // The one in the window is left, and the server that was started with its words.
    until("the end of the other", || followers() <= 2 && yard.windows() == ["agent"]);
}

#[test]
fn any_loop_command_can_be_spawned() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("echo '<response>DONE</response>'");
    let args = ["spawn", "--wait", "run", "-p", "hi", "-n", "1", "--name", "x", "--"];
    let ran = yard.0.ralph(&[&args, &agent.words()[..]].concat());
    ran.exits(0).says("spawned x (tmux: ralph:x) [ralph mode: iteration 1/1]\n");
}

#[test]
fn a_spawned_command_ends_like_the_command_itself() {
    let said = |word: &str| format!("cat > /dev/null; echo x >> count; echo '<response>{word}</response>'");
    for (word, code, iterations) in [("DONE", 0, 1), ("NO", 1, 3)] {
        for spawned in [true, false] {
            let yard = Yard::new();
            let spawn = ["spawn", "--wait", "--name", "x"];
            let words = [if spawned { &spawn[..] } else { &[] }, &["run", "x", "-n", "3", "--"]].concat();
            let agent = yard.0.sh_agent(&said(word));
            yard.0.ralph(&[&words, &agent.words()[..]].concat()).exits(code);
            assert_eq!(yard.0.read("count").lines().count(), iterations, "{word}, spawned: {spawned}");
        }
    }
}

#[test]
fn a_spawned_run_has_the_defaults_of_run() {
    let yard = Yard::new();
    yard.0.write("empty.md", "");
    let refused = yard.0.ralph(&["spawn", "--name", "x", "run", "-f", "empty.md", "--", "cat"]);
    refused.exits(2).says("the prompt file is empty");
    yard.0.settings(&json!({"maximumIterations": 2, "completionResponse": "READY"}));
    let agent = yard.0.sh_agent("cat > /dev/null; echo x >> count; echo '<response>NO</response>'");
    let args = ["spawn", "--wait", "--name", "x", "run", "x", "--"];
    yard.0.ralph(&[&args, &agent.words()[..]].concat()).exits(1).says("iteration 1/2");
    let agent = yard.0.sh_agent("cat > /dev/null; echo x >> more; echo '<response>READY</response>'");
    yard.0.ralph(&[&args, &agent.words()[..]].concat()).exits(0);
    assert_eq!((yard.0.read("count").lines().count(), yard.0.read("more").lines().count()), (2, 1));
}

#[test]
fn a_prompt_that_is_spawned_without_a_plan_runs_all_its_iterations() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent("cat > /dev/null; echo x >> count; echo '<response>DONE</response>'");
    let args = ["spawn", "--wait", "--name", "x", "-p", "x", "-n", "3", "--"];
    yard.0.ralph(&[&args, &agent.words()[..]].concat()).exits(0);
    assert_eq!(yard.0.read("count").lines().count(), 3);
    yard.0
        .ralph(&["spawn", "--name", "y", "-p", "x", "--", "cat"])
        .exits(2)
        .says("requires --max-iterations");
}

#[test]
fn quick_status_and_lists() {
    let yard = Yard::new();
    yard.0.ralph(&["ls"]).exits(0).says("No workers and no active runs.");
    for name in ["one", "two"] {
        let args = ["-f", "PROMPT.md", "-n", "7", "--share-workspace"];
        yard.spawn_as(name, &args, &yard.waiting_agent()).exits(0);
    }
    assert_eq!(yard.0.ralph(&["ls", "--format", "names"]).exits(0).stdout, "one\ntwo\n");
    let table = yard.0.ralph(&["ls"]).exits(0).stdout;
    assert!(table.lines().nth(2).unwrap().starts_with("two  running iteration 1/7 "), "{table}");
    let all = yard.0.ralph(&["status"]).exits(0).stdout;
    assert!(all.contains("Ralph Loop: one\n") && all.contains("\n\nRalph Loop: two\n"), "{all}");
    yard.0.ralph(&["kill", "one", "two"]).exits(0).says("killed one\nkilled two\n");
    assert_eq!(yard.windows(), [] as [&str; 0]);
}

#[test]
fn a_dashboard_that_watches() {
    let yard = Yard::new();
    yard.spawn(&["-n", "7"], &yard.waiting_agent()).exits(0);
    let script = "$RALPH status --watch | head -n 3";
    yard.0.shell(script).exits(0).says("\nagent running iteration 1/7 ");
}

#[test]
fn notifications_by_waiting() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0).says("spawned agent");
    yard.spawn(&["-n", "1", "--wait", "-c", "DONE"], &yard.0.sh_agent("cat")).exits(1);
    let script = "$RALPH spawn --name agent -f PROMPT.md -n 1 --wait -- cat && echo complete";
    yard.0.shell(script).exits(0).says("complete");
}

#[test]
fn worktree_is_compatible() {
    let yard = Yard(Sandbox::git());
    yard.0.plain_settings();
    yard.0.write("PROMPT.md", "x\n");
    let agent = yard.0.sh_agent("cat; echo new > new.txt");
    yard.spawn(&["-n", "1", "--worktree", "--wait"], &agent).exits(0);
    assert!(!yard.0.has("new.txt"));
    let branch = format!("ralph/{}", yard.0.only_run());
    assert_eq!(yard.0.sh(&format!("git show {branch}:new.txt")), "new\n");
}

/// From inside the user's own tmux, which is a terminal and sets `$TMUX`.
#[test]
fn attach_and_detach() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let inside = r#""$RALPH" attach agent; echo "code $?" > attached"#;
    let mine = "TERM=xterm tmux -L mine -f /dev/null";
    yard.0.sh(&format!("{mine} new-session -d -x 100 -y 30 -s mine '{inside}'"));
    until("the worker on the screen", || {
        yard.0.shell(&format!("{mine} capture-pane -p -t mine")).stdout.contains("at work")
    });
    yard.0.sh(&format!("{mine} send-keys -t mine C-b d"));
    yard.0.until_file("attached");
    assert_eq!(yard.0.read("attached"), "code 0\n");
    assert!(yard.status("agent").contains("Status: running\n"));
    yard.go(1, 0);
    yard.ends("agent", 0);
}

/// Another worker's window is not shown in its place.
#[test]
fn whoever_is_attached_when_a_worker_ends_sees_its_last_lines() {
    let yard = Yard::new();
    yard.0.sh("mkdir other");
    yard.spawn_as("other", &["-f", "PROMPT.md", "-n", "1", "-C", "other"], &yard.waiting_agent()).exits(0);
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let inside = r#""$RALPH" attach agent; echo "code $?" > attached; sleep 600"#;
    let mine = "TERM=xterm tmux -L mine -f /dev/null";
    yard.0.sh(&format!("{mine} new-session -d -x 100 -y 30 -s mine '{inside}'"));
    let screen = || yard.0.shell(&format!("{mine} capture-pane -p -t mine")).stdout;
    until("the worker on the screen", || screen().contains("at work"));
    yard.go(1, 0);
    yard.0.until_file("attached");
    assert_eq!(yard.0.read("attached"), "code 0\n");
    until("its last lines", || screen().contains("worker 'agent' is not running: stopped (max_iterations)"));
    assert!(screen().contains("[ralph] agent: loop complete after 1 iteration"), "{}", screen());
    assert_eq!(yard.windows(), ["other"]);
    yard.0.ralph(&["kill", "other"]).exits(0);
}

#[test]
fn stories_are_worked_through_by_a_worker() {
    let yard = Yard(Sandbox::git());
    yard.0.sh("mkdir -p specs/epic-1 && $RALPH stories new --epic 1 One && $RALPH stories new --epic 1 Two");
    yard.0.write_stories();
    yard.0.sh("git add . && git commit -qm specs");
    let agent = yard.0.sh_agent("cat > /dev/null; echo \"<ralph>DONE $RALPH_STORY</ralph>\"");
    let ran =
        yard.0.ralph(&[&["spawn", "--name", "epic", "--wait", "stories", "--"], &agent.words()[..]].concat());
    ran.exits(0).says("spawned epic (tmux: ralph:epic) [ralph mode: iteration 1/");
    let state = yard.state("epic");
    assert_eq!((&state["status"], &state["plan"]), (&json!("stopped"), &json!("stories")));
    assert_eq!((&state["prompt_file"], &state["inactivity_timeout"]), (&Value::Null, &json!(60)));
    assert_eq!(yard.events("epic").pop().as_deref(), Some("[DONE] loop complete after 2 iterations"));
    // It has no prompt that could be changed.
    let set = ["set", "epic", "--done-pattern", "x"];
    yard.0.ralph(&set).exits(1).says("worker 'epic' refused").says("no done pattern");
}

#[test]
fn what_is_wrong_with_tasks_is_said_where_they_were_spawned() {
    let yard = Yard(Sandbox::git());
    let ran = yard.0.ralph(&["spawn", "--name", "t", "tasks", "--", "cat"]).exits(2);
    assert!(ran.stderr.contains("ralph: error: no task list: "), "{}", ran.stderr);
    assert!(yard.0.runs().is_empty());
}

#[test]
fn tasks_are_worked_through_by_a_worker() {
    let yard = Yard(project(&list(&[new("US-001")])));
    let acts = [Act::makes(&list(&[waiting("US-001", 0)])), Act::makes(&list(&[right("US-001", 1)]))];
    let agent = agent(&yard.0, &acts);
    let spawned =
        yard.0.ralph(&[&["spawn", "--name", "list", "--wait", "tasks", "--"], &agent.words()[..]].concat());
    spawned.exits(0).says("spawned list");
    let state = yard.state("list");
    assert_eq!((&state["status"], &state["plan"]), (&json!("stopped"), &json!("tasks")));
    assert_eq!(fields(&now(&yard.0), "US-001"), json!([true, "approved", 1]));
    yard.0.ralph(&["status", "list"]).exits(0).says("stopped (completed)");
}
