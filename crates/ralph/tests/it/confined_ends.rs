//! How programs in a sandbox end, and what they are started with, through whole runs.

use crate::support::*;
use crate::tasks_support::{list, new, project};
use rustix::process::Signal;
use serde_json::json;
use std::fs;

const DONE: &str = "<response>DONE</response>";

/// Leaves processes that do not want to end, and waits.
const STUBBORN: &str = "cat > /dev/null; trap '' TERM
    (trap '' TERM; exec sleep 600) & setsid sh -c 'trap \"\" TERM; sleep 600' &
    echo 1 > up; while :; do sleep 600; done";

#[test]
fn the_second_signal_ends_everything_inside_at_once_and_the_run_can_go_on() {
    for flag in ["--sandbox=bwrap", "--no-sandbox"] {
        let sandbox = Sandbox::git().confined();
        sandbox.settings(&json!({"proof": {"mode": "in-place", "baseline": false}}));
        let agent = format!("if test -e up; then cat > /dev/null; echo '{DONE}'; else {STUBBORN}; fi");
        let running = sandbox.begin(&["-p", "x", flag], &sandbox.sh_agent(&agent));
        sandbox.until_file("up");
        running.signal(Signal::INT);
        until("the first answer", || running.stderr().contains("Received signal"));
        running.signal(Signal::INT);
        running.end().exits(130).says("Received signal, stopping now.");
        let facts = sandbox.facts();
        let how = facts.iter().map(|fact| &fact["cancelled"]["how"]).filter(|how| !how.is_null());
        // Without the time that others get to comply.
        assert_eq!(how.collect::<Vec<_>>(), ["kill"], "{flag}");
        sandbox.nothing_is_left();
        sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    }
}

#[test]
fn an_agent_inside_that_ends_when_it_is_told_to_is_not_waited_for() {
    for flag in ["--sandbox=bwrap", "--no-sandbox"] {
        let sandbox = Sandbox::git().confined();
        let agent =
            "cat > /dev/null; trap 'echo told > told; exit 0' TERM; while :; do sleep 600 & wait; done";
        let args = ["-p", "x", "-n", "1", "--timeout", "1", "--format", "json", flag];
        let result = sandbox.run(&args, &sandbox.sh_agent(agent)).stops(1, "max_iterations", 1);
        assert_eq!(result["iterations"][0]["error"], "timed out after 1s", "{flag}");
        assert_eq!(sandbox.read("told"), "told\n", "{flag}");
        // By the run's own clock: less than the five seconds that one that does not end is given.
        let events = sandbox.events();
        let at = |name: &str| {
            events.iter().rev().find(|event| event["fact"][name].is_object()).unwrap()["up_ms"]
                .as_u64()
                .unwrap()
        };
        assert!(at("judged") - at("cancelled") < 5000, "{flag}: {events:#?}");
        sandbox.nothing_is_left();
    }
}

#[test]
fn what_is_not_passed_on_is_listed_once_with_the_setting_that_lets_it_in() {
    let sandbox = Sandbox::git().confined();
    let run = |settings: serde_json::Value, agent: &str| {
        sandbox.settings(&json!({"sandbox": settings, "proof": {"mode": "in-place", "baseline": false}}));
        let mut command = sandbox.command(RALPH);
        command.env("MY_API_KEY", "k-1").env("DB_PASSWORD", "p-1").env("PLAIN", "plain-1");
        command.env("SSH_AUTH_SOCK", "/run/agent").args(["run", "-p", "x", "-n", "2", "--"]);
        command.args(["sh", "-c", agent]);
        let ran = sandbox.spawn(command).end();
        let id = sandbox.runs().pop().unwrap();
        let seen = fs::read_to_string(sandbox.home().join("runs").join(id).join("streams/1-1.out")).unwrap();
        (ran, seen)
    };
    const ENV: &str = "cat > /dev/null; env";
    let (ran, seen) = run(json!({}), ENV);
    let said = ran.stdout + &ran.stderr;
    let line = said.lines().find(|line| line.contains("does not pass these variables on")).unwrap_or(&said);
    for text in ["MY_API_KEY", "DB_PASSWORD", "SSH_AUTH_SOCK", "sandbox.variables"] {
        assert!(line.contains(text), "{text}: {line}");
    }
    assert_eq!(said.matches("DB_PASSWORD").count(), 1 + seen.matches("DB_PASSWORD").count(), "{said}");
    assert!(seen.contains("PLAIN=plain-1") && !seen.contains("k-1") && !seen.contains("p-1"), "{seen}");

    let (ran, seen) = run(json!({"variables": ["MY_API_KEY", "SSH_AUTH_SOCK"]}), ENV);
    assert!(seen.contains("MY_API_KEY=k-1") && !seen.contains("p-1"), "{seen}");
    assert!(!(ran.stdout + &ran.stderr).contains("on: MY_API_KEY"));

    let (_, seen) = run(json!({"env": "only", "variables": ["DB_PASSWORD"]}), ENV);
    assert!(seen.contains("DB_PASSWORD=p-1") && seen.contains("PATH=") && seen.contains("HOME="), "{seen}");
    for hidden in ["PLAIN", "MY_API_KEY", "SSH_AUTH_SOCK", "GIT_CONFIG_NOSYSTEM"] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
}

#[test]
fn what_the_sandbox_is_can_be_seen_in_the_banner_the_record_and_the_environment() {
    let sandbox = Sandbox::git().confined();
    let agent = format!("cat > /dev/null; echo '{DONE}'");
    let begin = |args: &[&str], variable: Option<&str>| {
        let mut command = sandbox.command(RALPH);
        command.args(["run", "-p", "x", "-n", "1"]).args(args).args(["--", "sh", "-c", &agent]);
        variable.map(|value| command.env("RALPH_SANDBOX", value));
        sandbox.spawn(command).end()
    };
    // A flag comes before the variable, and that before the settings.
    sandbox.settings(&json!({"sandbox": "none"}));
    begin(&[], None).exits(0).says("sandbox none");
    begin(&[], Some("bwrap")).exits(0).says("sandbox bwrap");
    begin(&["--no-sandbox"], Some("bwrap")).exits(0).says("sandbox none");
    begin(&["--sandbox=bwrap"], Some("none")).exits(0).says("sandbox bwrap");
    begin(&["--sandbox"], None).exits(0).says("sandbox bwrap");
    let id = sandbox.runs().pop().unwrap();
    sandbox.ralph(&["show", &id]).exits(0).says("bwrap");
    begin(&[], Some("nonsense")).exits(2).says("RALPH_SANDBOX");
    let result = begin(&["--sandbox", "--format", "json"], None).exits(0).json();
    assert_eq!(result["sandbox"], "bwrap");
}

#[test]
fn hooks_of_other_loops_find_the_mode_in_their_marker() {
    for (flag, mode) in [("--sandbox=bwrap", "sandbox"), ("--no-sandbox", "direct")] {
        let sandbox = project(&list(&[new("US-001")])).confined();
        let agent = "cat > /dev/null; cp .ralph-active seen.json";
        sandbox.ralph(&["tasks", "-n", "1", flag, "--", "sh", "-c", agent]);
        let seen: serde_json::Value = serde_json::from_str(&sandbox.read("seen.json")).unwrap();
        assert_eq!(seen["mode"], mode);
    }
}
