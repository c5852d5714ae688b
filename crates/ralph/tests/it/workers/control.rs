//! Changing a loop while it runs, and telling it something.

use super::Yard;
use crate::support::{RALPH, until};
use crate::terminal::skip;
use serde_json::json;
use std::fs::File;

#[test]
fn a_note_is_in_the_next_prompt_and_in_no_other() {
    let yard = Yard::new();
    yard.spawn(&["-n", "3"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["say", "agent", "mind the gap"]).exits(0).says("added to the next prompt of agent\n");
    yard.0.ralph(&["say", "agent", "and the step"]).exits(0);
    for iteration in 1..=3 {
        yard.go(iteration, 0);
    }
    yard.ends("agent", 0);
    assert_eq!(yard.0.read("got.1"), "Do task A\n");
    let second = yard.0.read("got.2");
    assert!(
        second.contains("A note from the user:\nmind the gap\n\nA note from the user:\nand the step"),
        "{second}"
    );
    assert_eq!(yard.0.read("got.3"), "Do task A\n");
}

#[test]
fn another_prompt_file_and_done_pattern_take_over() {
    let yard = Yard::new();
    yard.0.write("OTHER.md", "All tasks complete\n");
    yard.spawn(&["-n", "9"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let set = ["set", "agent", "--prompt-file", "OTHER.md", "--done-pattern", "at w.rk"];
    yard.0
        .ralph(&set)
        .exits(0)
        .says("set prompt-file of agent to ")
        .says("set done-pattern of agent to at w.rk\n");
    let state = yard.state("agent");
    assert_eq!(state["done_pattern"], "at w.rk");
    assert_eq!(state["prompt_file"], yard.0.project().join("OTHER.md").to_str().unwrap());
    // What the agent of this iteration says was not listened to yet.
    yard.go(1, 0);
    yard.until_begun(2);
    assert_eq!(yard.0.read("got.2"), "All tasks complete\n");
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!((yard.judged(), yard.state("agent")["reason"].clone()), (vec![1, 2], json!("completed")));
}

#[test]
fn an_agent_cannot_say_by_itself_when_its_worker_is_done() {
    let yard = Yard::new();
    let agent = yard.0.sh_agent(&format!(
        "{RALPH} set agent --done-pattern . 2> set.txt; env -u RALPH_RUN {RALPH} set agent -n 9; \
         {RALPH} pause agent 2> pause.txt; {RALPH} say agent done 2> say.txt; {RALPH} kill agent 2> kill.txt; \
         {RALPH} resume agent 2> told.txt; mv told.txt resume.txt; until [ -e go ]; do sleep 0.02; done",
    ));
    yard.spawn(&["-n", "2", "--done-pattern", "ALL DONE"], &agent).exits(0);
    yard.until_exists("resume.txt");
    for said in ["set.txt", "pause.txt", "say.txt", "kill.txt", "resume.txt"] {
        let said = yard.0.read(said);
        assert!(said.contains("an agent cannot control its own run"), "{said}");
    }
    assert_eq!(yard.state("agent")["status"], "running");
    let state = yard.state("agent");
    assert_eq!((&state["done_pattern"], &state["max_iterations"]), (&json!("ALL DONE"), &json!(2)));
    // A run of another home is none of its business.
    let script = "RALPH_RUN=20260101-000000-abcd $RALPH set agent -n 1";
    yard.0.shell(script).exits(0).says("set max-iterations of agent to 1\n");
    yard.0.ralph(&["kill", "agent"]).exits(0);
}

#[test]
fn an_agent_cannot_control_other_runs() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2", "--share-workspace"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.spawn_as("old", &["-p", "x", "-n", "1", "--share-workspace", "--wait"], &yard.0.sh_agent("cat"))
        .exits(0);
    let worker = yard.state("agent")["run"].as_str().unwrap().to_string();
    let mut commands = vec!["kill --all".to_string()];
    for target in ["agent", &worker, "old"] {
        for command in ["say TARGET x", "set TARGET -n 9"] {
            commands.push(command.replace("TARGET", target));
        }
    }
    for command in ["pause TARGET", "kill TARGET", "rm --force TARGET", "resume -n 5 TARGET"] {
        commands.push(command.replace("TARGET", "agent"));
    }
    commands.extend(["resume -n 5 old".to_string(), "rm old".to_string()]);
    let script: Vec<String> = commands
        .iter()
        .flat_map(|command| [format!("{RALPH} {command}"), format!("env -u RALPH_RUN {RALPH} {command}")])
        .map(|command| format!("{command} >> out.txt 2>> told.txt"))
        .collect();
    let other = ["-p", "x", "-n", "1", "--share-workspace"];
    yard.0.run(&other, &yard.0.sh_agent(&script.join("; "))).exits(1);
    let stderr = yard.0.read("told.txt");
    assert_eq!(
        stderr.matches("cause: an agent cannot control other runs\n").count(),
        2 * commands.len(),
        "{stderr}"
    );
    let here = yard.0.runs().into_iter().find(|run| stderr.contains(&format!("started inside run {run};")));
    assert!(here.is_some_and(|run| run != worker), "{stderr}");
    assert_eq!(yard.0.read("out.txt"), "");
    let state = yard.state("agent");
    assert_eq!((&state["status"], &state["max_iterations"]), (&json!("running"), &json!(2)));
    assert_eq!(yard.state("old")["max_iterations"], 1);
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert_eq!(yard.0.read("got.2"), "Do task A\n", "no note was added");
}

/// Without the program that would refuse it first.
#[test]
fn a_loop_refuses_an_agent_of_another_run_by_itself() {
    let yard = Yard::new();
    if yard.0.shell("perl -MIO::Socket::UNIX -e 1").code != Some(0) {
        skip("there is no perl to talk to a socket");
        return;
    }
    yard.spawn(&["-n", "1", "--share-workspace"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let socket = yard.0.run_dir().join("control.sock");
    let talk = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new($ARGV[0]); \
                print $s qq({\"v\":1,\"command\":\"pause\"}\\n); $s->flush; print <$s>' SOCKET";
    let talk = talk.replace("SOCKET", socket.to_str().unwrap());
    let other = ["-p", "x", "-n", "1", "--share-workspace"];
    yard.0.run(&other, &yard.0.sh_agent(&format!("{talk} > answer"))).exits(1);
    assert!(
        yard.0.read("answer").contains("an agent cannot control other runs"),
        "{}",
        yard.0.read("answer")
    );
    assert_eq!(yard.state("agent")["status"], "running");
    assert!(yard.0.sh(&talk).contains("done"), "the user may");
    assert_eq!(yard.state("agent")["status"], "paused");
    yard.0.ralph(&["kill", "agent"]).exits(0);
}

#[test]
fn a_worker_is_also_named_by_its_run_and_by_its_directory() {
    let yard = Yard::new();
    yard.spawn(&["-n", "2"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let run = yard.0.only_run();
    yard.0.ralph(&["pause"]).exits(0).says("paused ralph loop for agent\n");
    yard.0.ralph(&["resume"]).exits(0).says("resumed ralph loop for agent\n");
    yard.0.ralph(&["set", &run, "-n", "3"]).exits(0).says("set max-iterations of agent to 3\n");
    yard.until_says("agent", "at work");
    yard.0.ralph(&["logs"]).exits(0).says("at work");
    let all = yard.0.ralph(&["status", "--format", "json"]).exits(0).json();
    assert_eq!((all.as_array().unwrap().len(), &all[0]["name"]), (1, &json!("agent")), "{all:#}");
    yard.0.ralph(&["kill", &run[..15]]).exits(0).says("killed agent\n");
    assert_eq!(yard.state("agent")["reason"], "killed");
}

#[test]
fn everything_that_runs_can_be_killed_at_once() {
    let yard = Yard::new();
    yard.0.ralph(&["kill", "--all"]).exits(0).says("Nothing is running.\n");
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let agent = yard.0.sh_agent("cat > /dev/null; echo 1 > second; sleep 600");
    let running = yard.0.begin(&["-p", "x", "--share-workspace"], &agent);
    yard.0.until_file("second");
    let run = yard.0.runs().into_iter().find(|run| *run != yard.state("agent")["run"]).unwrap();
    yard.0.ralph(&["kill", "--all"]).exits(0).says(&format!("killed agent\nkilled {run}\n"));
    running.end().exits(1);
    assert_eq!(yard.state("agent")["reason"], "killed");
    yard.0.ralph(&["kill", "--all"]).exits(0).says("Nothing is running.\n");
    yard.0.ralph(&["kill", "--all", "agent"]).exits(2);
}

#[test]
fn logs_begin_with_the_last_lines() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat; seq -f 'line %g' 1 200")).exits(0);
    let all = yard.0.ralph(&["logs", "agent"]).exits(0).stdout;
    for wanted in [0, 1, 7, 150] {
        let last = yard.0.ralph(&["logs", "agent", "--lines", &wanted.to_string()]).exits(0).stdout;
        assert!(all.ends_with(&last) && last.lines().count() == wanted, "{wanted}: {last}");
    }
    let follower = yard.0.start(&["logs", "agent", "--lines", "2", "--follow"]);
    until("the last lines", || all.ends_with(&follower.stdout()) && follower.stdout().lines().count() == 2);
    let events = yard.0.ralph(&["logs", "agent", "--events", "--lines", "1"]).exits(0).stdout;
    assert!(
        events.ends_with("[DONE] loop complete after 1 iteration\n") && events.lines().count() == 1,
        "{events}"
    );
}

#[test]
fn what_is_asked_of_a_worker_that_does_not_run_waits_for_it() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.kill_loop();
    yard.0.ralph(&["set", "agent", "-n", "2"]).exits(0);
    yard.0.ralph(&["say", "agent", "welcome back"]).exits(0);
    assert_eq!(yard.state("agent")["max_iterations"], 2);
    assert!(yard.status("agent").contains("process is gone"), "it is still gone");
    yard.0.sh("rm got.1");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.until_exists("got.1");
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    assert!(yard.0.read("got.1").ends_with("welcome back"));
    assert_eq!(yard.judged(), [1, 2]);
}

#[test]
fn the_socket_is_for_its_user_and_goes_with_the_loop() {
    use std::os::unix::fs::PermissionsExt;
    let yard = Yard::new();
    yard.spawn(&["-n", "1"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let socket = yard.0.run_dir().join("control.sock");
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(yard.0.run_dir().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    yard.go(1, 0);
    yard.ends("agent", 0);
    assert!(!socket.exists());
}

#[test]
fn a_home_with_a_long_path_has_workers_too() {
    let yard = Yard::new();
    let long = yard.0.root().join("x".repeat(120));
    let script = format!(
        "export RALPH_HOME={}; $RALPH spawn --name agent -f PROMPT.md -n 1 -- sleep 600 && \
         $RALPH pause agent && $RALPH kill agent",
        long.display()
    );
    yard.0.shell(&script).exits(0).says("paused ralph loop for agent\nkilled agent\n");
}

#[test]
fn people_are_told_by_a_command_of_theirs() {
    let yard = Yard::new();
    // A file that is there is whole.
    let notify = "echo $RALPH_NOTIFY_WORKER $RALPH_NOTIFY_REASON $RALPH_NOTIFY_ITERATIONS >> told.txt; \
                  cat > part && mv part told.$RALPH_NOTIFY_EVENT.json; exit 3";
    yard.spawn(&["-n", "2", "--notify", notify], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.until_exists("told.paused.json");
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.go(1, 0);
    yard.go(2, 0);
    yard.ends("agent", 0);
    yard.until_exists("told.done.json");
    yard.until_says("agent", "ralph: warning: the notify command failed: exit code 3");
    let message: serde_json::Value = serde_json::from_str(&yard.0.read("told.done.json")).unwrap();
    assert_eq!((&message["event"], &message["worker"]), (&json!("done"), &json!("agent")));
    assert_eq!((&message["reason"], &message["iterations"]), (&json!("max_iterations"), &json!(2)));
    assert!(yard.0.read("told.txt").ends_with("agent max_iterations 2\n"), "{}", yard.0.read("told.txt"));
}

#[test]
fn a_run_in_a_terminal_tells_too_by_its_settings() {
    let yard = Yard::new();
    let mut settings =
        json!({"context": false, "checkpoints": false, "backoff": {"base": 0.01, "cap": 0.01}});
    settings["notify"] = json!("echo $RALPH_NOTIFY_EVENT: $RALPH_NOTIFY_REASON > told");
    yard.0.settings(&settings);
    yard.0.run(&["-f", "PROMPT.md", "-n", "9"], &yard.0.sh_agent("cat; exit 1")).exits(1);
    assert_eq!(yard.0.read("told"), "failed: too_many_failures\n");
    // The command has ended before ralph does: nothing is left.
    yard.0.nothing_is_left();
}

#[test]
fn a_workers_name_stands_for_its_run() {
    let yard = Yard::new();
    yard.spawn(&["-n", "1", "--wait"], &yard.0.sh_agent("cat")).exits(0);
    let run = yard.0.only_run();
    yard.0.ralph(&["show", "agent"]).exits(0).says(&run);
}

#[test]
fn people_are_told_of_a_wait_for_a_limit_and_of_a_stall() {
    let yard = Yard::new();
    yard.0.claude(&json!([
        [{"result": {"is_error": true, "subtype": "success", "api_error_status": 429, "text": "no"}}, {"exit": 1}],
        [{"result": {"is_error": true, "subtype": "success", "api_error_status": 429, "text": "no"}}, {"exit": 1}],
        [{"say": "fine"}],
    ]));
    let args = ["-f", "PROMPT.md", "-n", "1", "--notify", "echo $RALPH_NOTIFY_EVENT >> told", "--wait"];
    yard.0.ralph(&[&["spawn", "--name", "agent"], &args[..], &["--", "claude"]].concat()).exits(0);
    yard.until_says("agent", "loop complete");
    until("both are told", || yard.0.has("told") && yard.0.read("told").lines().count() >= 2);
    let mut events: Vec<String> = yard.0.read("told").lines().map(String::from).collect();
    events.sort();
    assert_eq!(events, ["done", "waiting"], "once each, however often it was refused");
    let yard = Yard(crate::support::Sandbox::git());
    yard.0.write("PROMPT.md", "x\n");
    let args = [
        "-n",
        "9",
        "--stall-after",
        "1",
        "--check",
        "false",
        "--notify",
        "echo $RALPH_NOTIFY_EVENT > told",
        "--wait",
    ];
    yard.spawn(&args, &yard.0.sh_agent("cat")).exits(1);
    yard.0.until_file("told");
    assert_eq!(yard.0.read("told"), "stalled\n");
    assert!(yard.status("agent").contains("Status: stopped (stalled)\n"));
}

#[test]
fn a_paused_worker_keeps_its_directory() {
    let yard = Yard::new();
    yard.spawn(&["-n", "9"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.go(1, 0);
    yard.until_log("agent", "[END] iteration 1 ");
    yard.0
        .run(&["-p", "x", "-n", "1"], &yard.0.sh_agent("cat"))
        .exits(2)
        .says("is already working in this directory");
    yard.0.ralph(&["kill", "agent"]).exits(0);
    yard.0.run(&["-p", "x", "-n", "1"], &yard.0.sh_agent("cat")).exits(1);
}

#[test]
fn a_lock_that_another_program_holds_on_the_state_holds_up_nobody() {
    let yard = Yard::new();
    yard.spawn(&["-n", "9"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    let lock = File::open(yard.file("agent", "state.lock")).unwrap();
    lock.lock().unwrap();
    yard.0.ralph(&["pause", "agent"]).exits(0);
    yard.0.ralph(&["set", "agent", "-n", "8"]).exits(0);
    assert!(yard.status("agent").contains("Status: paused\n"), "the journal has it");
    assert_eq!(yard.state("agent")["status"], "running", "the file is as it was");
    lock.unlock().unwrap();
    until("the newest state", || yard.state("agent")["max_iterations"] == 8);
    assert_eq!(yard.state("agent")["status"], "paused");
    lock.lock().unwrap();
    yard.0.ralph(&["resume", "agent"]).exits(0);
    yard.0.ralph(&["kill", "agent"]).exits(0).says("killed agent\n");
    let resumed = yard.0.facts().iter().filter(|fact| fact["resumed"].is_object()).count();
    assert_eq!(resumed, 0, "the loop itself has heard it and written it down");
    assert!(yard.status("agent").contains("Status: stopped (killed)\n"));
}

#[test]
fn a_worker_without_a_loop_is_killed_whoever_holds_the_lock_on_its_state() {
    let yard = Yard::new();
    yard.spawn(&["-n", "9"], &yard.waiting_agent()).exits(0);
    yard.until_begun(1);
    yard.kill_loop();
    let lock = File::open(yard.file("agent", "state.lock")).unwrap();
    lock.lock().unwrap();
    yard.0.ralph(&["kill", "agent"]).exits(0).says("killed agent\n");
    assert!(yard.status("agent").contains("Status: stopped (killed)\n"));
}
