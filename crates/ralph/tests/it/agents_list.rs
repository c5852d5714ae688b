//! `ralph agents`, and `ralph agents verify` where no real agent is needed.

use crate::support::{RALPH, Ran, Sandbox};
use serde_json::{Value, json};

const DONE: &str = "<response>DONE</response>";

/// `ralph agents ARGS` where nothing else is installed than what the sandbox has.
fn agents(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command(RALPH);
    command.arg("agents").args(args).env("PATH", sandbox.root().join("bin"));
    sandbox.spawn(command).end()
}

#[track_caller]
fn entry(list: &Value, name: &str) -> Value {
    let found = list.as_array().unwrap().iter().find(|entry| entry["name"] == name);
    found.unwrap_or_else(|| panic!("nothing of {name} in {list:#}")).clone()
}

#[test]
fn the_list_tells_what_is_installed_and_how_it_is_driven() {
    let sandbox = Sandbox::bare();
    let claude =
        sandbox.program("claude", "test \"$*\" = --version && echo '9.8.7 (Claude Code)'; echo more");
    let codex = sandbox.program("codex", "exit 3");
    sandbox.program("plain", "echo 'is not meant'");
    let list = agents(&sandbox, &["--format", "json"]).exits(0).json();
    let names: Vec<&Value> = list.as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["claude", "codex", "amp", "plain"]);
    assert_eq!(
        entry(&list, "claude"),
        json!({
            "name": "claude", "installed": claude, "version": "9.8.7 (Claude Code)", "dialect": "claude",
            "prompt": "stdin", "output": "stream-json", "autonomous_flag": "--dangerously-skip-permissions",
            "reports_tokens": true, "reports_cost": true, "cost": "reported", "verified_with": "2.1.325",
            "known_to_work": "loops, denials, limits, API errors, signals, resume",
        })
    );
    let there = entry(&list, "codex");
    assert_eq!((&there["installed"], &there["version"]), (&json!(codex), &json!(null)));
    assert_eq!((&there["verified_with"], &there["reports_cost"]), (&json!("0.166.0"), &json!(false)));
    let costs: Vec<&Value> = list.as_array().unwrap().iter().map(|entry| &entry["cost"]).collect();
    assert_eq!(costs, ["reported", "estimated", "estimated", "unknown"]);
    let missing = entry(&list, "amp");
    assert_eq!((&missing["installed"], &missing["version"]), (&json!(null), &json!(null)));
    assert_eq!((&missing["verified_with"], &missing["prompt"]), (&json!(null), &json!("argument")));
    let plain = entry(&list, "plain");
    assert_eq!((&plain["installed"], &plain["output"]), (&json!(null), &json!("text")));
}

#[test]
fn people_get_it_in_lines_that_fit_a_terminal() {
    let sandbox = Sandbox::bare();
    sandbox.program("claude", "echo '9.8.7 (Claude Code)'");
    sandbox.program("codex", "exit 3");
    let ran = agents(&sandbox, &[])
        .exits(0)
        .says("claude  9.8.7 (Claude Code)")
        .says("codex   installed, version unknown")
        .says("--   amp     not installed: npm install -g @sourcegraph/amp")
        .says("untested");
    let wide = |line: &&str| line.len() > 80 && !line.contains("path: ");
    assert_eq!(ran.stdout.lines().find(wide), None);
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}

/// The list is a table of its own, so it is held against what agents are really given.
#[test]
fn the_autonomous_flags_are_those_that_agents_get() {
    let list = agents(&Sandbox::bare(), &["--format", "json"]).exits(0).json();
    for name in ["claude", "codex", "amp"] {
        let sandbox = Sandbox::bare();
        sandbox.program(name, &format!("cat > stdin; echo \"$*\" > args; echo '{DONE}'"));
        sandbox.plain_settings();
        sandbox.ralph(&["run", "-p", "the task", "-n", "1", "--max-failures", "1", "--agent", name]);
        let known = entry(&list, name);
        let flag = known["autonomous_flag"].as_str().unwrap();
        assert!(sandbox.read("args").contains(flag), "{name}: {}", sandbox.read("args"));
        let place = if known["prompt"] == "stdin" { "stdin" } else { "args" };
        assert!(sandbox.read(place).contains("the task"), "{name}: {}", sandbox.read(place));
    }
}

#[test]
fn what_cannot_be_verified_is_refused_with_a_reason() {
    let sandbox = Sandbox::bare();
    sandbox.program("amp", "echo 1.0");
    for (name, said) in [
        ("claude", "the agent is not installed: claude"),
        ("amp", "amp only talks to its own service"),
        ("plain", "a plain agent can be any program"),
        ("gemini", "no such agent: gemini"),
    ] {
        agents(&sandbox, &["verify", name]).exits(2).says(said).says("hint: ");
    }
    agents(&sandbox, &["verify"]).exits(2);
}

#[test]
fn a_program_that_prints_garbage_does_not_start_and_the_rest_is_not_tried() {
    let sandbox = Sandbox::bare();
    sandbox.program("claude", "echo 'no dialect at all'");
    let ran = sandbox.ralph(&["agents", "verify", "claude"]).exits(1);
    let line = ran.stdout.lines().find(|line| line.starts_with("BROKEN: ")).unwrap();
    assert!(
        line.starts_with("BROKEN: starts: expected a request to the model; happened: there was none; "),
        "{line}"
    );
    assert!(line.contains("no dialect at all"), "{line}");
    assert_eq!(ran.stdout.matches("BROKEN").count(), 1, "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("not tried: it does not start").count(), 8, "{}", ran.stdout);

    let verified = sandbox.ralph(&["agents", "verify", "claude", "--format", "json"]).exits(1).json();
    assert_eq!((&verified["agent"], &verified["holds"]), (&json!("claude"), &json!(false)));
    assert_eq!(verified["expectations"][0]["status"], "broken", "{verified:#}");
    assert_eq!(verified["expectations"][1]["status"], "not_tried", "{verified:#}");
    let left = sandbox.root().join("tmp").read_dir().unwrap().count();
    assert_eq!(left, 0, "scratch directories are removed");
    assert_eq!(sandbox.runs(), Vec::<String>::new(), "a probe is no run of the user's");
}
