//! What goes to standard output and to standard error, for programs and for people.

use crate::support::{RALPH, Ran, Sandbox};
use crate::tasks_support::{list, new, text};
use rustix::process::Signal;
use serde_json::{Value, json};

const DONE: &str = "<response>DONE</response>";

/// One object, with the fields that were promised and no others.
#[track_caller]
fn is_a_result(ran: &Ran, reason: &str) -> Value {
    let result = ran.json();
    let fields: Vec<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    let mut promised = vec![
        "cost_estimated",
        "error",
        "guard",
        "iterations",
        "plan",
        "run",
        "stop_reason",
        "success",
        "total_cost",
        "total_duration",
        "total_iterations",
        "worktree_path",
    ];
    if reason == "completed" {
        // What is said to be done is worth something.
        promised.insert(5, "proof");
    }
    assert_eq!(fields, promised);
    assert_eq!(result["stop_reason"], reason, "{result:#}");
    assert_eq!(result["success"], reason == "completed");
    assert_eq!(result["error"].is_null(), reason != "error", "{result:#}");
    result
}

#[test]
fn json_is_one_object_at_every_end() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let done = sandbox.agent(&json!([[{"say": DONE}]]));
    let more = sandbox.agent(&json!([[{"say": "x"}]]));
    let fail = sandbox.agent(&json!([[{"exit": 1}]]));
    let hang = sandbox.agent(&json!([[{"say": "x"}, {"hang": true}]]));
    let base = ["-p", "x", "--format", "json"];
    let run = |args: &[&str], agent| sandbox.run(&[&base, args].concat(), agent);
    let result = is_a_result(&run(&[], &done).exits(0), "completed");
    assert_eq!(result["run"], sandbox.only_run());
    assert_eq!(result["plan"], "prompt");
    is_a_result(&run(&["-n", "1"], &more).exits(1), "max_iterations");
    is_a_result(&run(&["--max-failures", "1"], &fail).exits(1), "too_many_failures");
    is_a_result(&run(&["--max-time", "0.2"], &hang).exits(1), "timeout");
}

#[test]
fn json_is_one_object_when_a_run_is_refused() {
    let sandbox = Sandbox::bare();
    for (args, message) in [
        (&["run"][..], "no prompt was given"),
        (&["run", "-p", "x", "--agent", "no-such-agent"], "the agent is not installed: no-such-agent"),
        (
            &["run", "-p", "x", "--check", "no-such-check"],
            "the program of a check is not installed: no-such-check",
        ),
        (&["run", "-p", "x", "-C", "nowhere"], "cannot enter the project directory: nowhere"),
        (&["run", "-p", "x", "--config", "nowhere"], "cannot read the settings"),
    ] {
        let ran = sandbox.ralph(&[args, &["--format", "json"]].concat()).exits(2);
        let result = is_a_result(&ran, "error");
        let text = result["error"]["message"].as_str().unwrap();
        assert!(text.contains(message), "{text}");
        assert!(result["run"].is_null());
        assert!(ran.stderr.starts_with(&format!("ralph: error: {text}\n")), "{}", ran.stderr);
    }
    let ran = sandbox.ralph(&["resume", "--format", "json"]).exits(1);
    is_a_result(&ran, "error");
}

#[test]
fn json_is_one_object_when_the_arguments_make_no_sense() {
    let sandbox = Sandbox::bare();
    for args in [
        &["run", "-p", "x", "-n", "0", "--format", "json"][..],
        &["run", "-p", "x", "--format=json", "--no-such-flag"],
        &["run", "-p", "x", "--format", "json", "--max-time", "soon"],
        &["resume", "--format", "json", "--no-such-flag"],
    ] {
        let ran = sandbox.ralph(args).exits(2);
        let result = is_a_result(&ran, "error");
        assert!(!result["error"]["message"].as_str().unwrap().is_empty(), "{args:?}");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    let ran = sandbox.ralph(&["run", "-p", "x", "-n", "0", "--format", "ndjson"]).exits(2);
    assert_eq!(ran.json()["type"], "result");
    let ran = sandbox.ralph(&["run", "-p", "x", "-n", "0", "--", "tell", "--format", "json"]).exits(2);
    assert_eq!(ran.stdout, "", "those are the agent's arguments");
}

#[test]
fn ndjson_is_a_stream_of_objects_that_ends_with_the_result() {
    let sandbox = Sandbox::bare();
    sandbox.claude(&json!([
        [{"say": "I look.\u{1b}[31m"}, {"tool": {"name": "Read", "input": {"file_path": "a"}, "output": "b\u{0}"}},
         {"stderr": "oh"}, {"raw": "not json\n"}, {"raw_hex": "fffe0a"}],
        [{"say": DONE}],
    ]));
    let ran = sandbox.ralph(&["run", "-p", "x", "--format", "ndjson"]).exits(0);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(last["type"], "result");
    assert_eq!(last["stop_reason"], "completed");
    assert!(before.iter().all(|line| line["type"] == "event" || line["type"] == "agent"));
    let kinds: Vec<&str> = before.iter().filter_map(|line| line["kind"].as_str()).collect();
    for kind in ["session", "text", "tool_start", "tool_end", "stderr", "unparsed", "result"] {
        assert!(kinds.contains(&kind), "{kind} is missing in {kinds:?}");
    }
    let facts: Vec<&Value> =
        before.iter().filter(|line| line["type"] == "event").map(|line| &line["fact"]).collect();
    assert_eq!(facts, sandbox.facts().iter().collect::<Vec<_>>(), "events are the journal's");
}

#[test]
fn ndjson_ends_with_a_result_when_a_run_is_refused() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["run", "--format", "ndjson"]).exits(2);
    assert_eq!(ran.json()["type"], "result");
    assert_eq!(ran.json()["error"]["message"], "no prompt was given");
}

#[test]
fn quiet_prints_the_result_only() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": "chatter"}, {"stderr": "noise"}, {"say": DONE}]]));
    let ran = sandbox.run(&["-q", "-p", "x", "--check", "true"], &agent).exits(0);
    assert_eq!(ran.stdout.trim().lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.trim().starts_with("[OK] completed: "), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

#[test]
fn verbose_lines_go_to_standard_error_and_change_nothing_else() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    let args = ["-p", "x", "--check", "true"];
    let quiet = sandbox.run(&args, &agent).exits(0);
    let ran = sandbox.run(&[&["-v"], &args[..]].concat(), &agent).exits(0);
    assert_eq!(sandbox.tidy(&ran.stdout), sandbox.tidy(&quiet.stdout));
    assert_eq!(quiet.stderr, "");
    assert!(ran.stderr.lines().all(|line| line.starts_with("[ralph] ")), "{}", ran.stderr);
    for part in [
        "Loading settings from ",
        "Iteration 1/10 starting",
        "Agent command: ",
        "Running check: true",
        "Check exited with ",
    ] {
        assert!(ran.stderr.contains(part), "{part:?} is missing in:\n{}", ran.stderr);
    }
    sandbox.ralph(&["run", "-q", "-v", "-p", "x"]).exits(2);
}

#[test]
fn a_reader_that_leaves_does_not_end_the_run() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.program(
        "tell",
        "seq 2000; until [ -e left ]; do sleep 0.02; done; seq 2000; echo done >> finished; [ $RALPH_ITERATION = 1 ] || echo '<response>DONE</response>'",
    );
    let reader = "{ head -n 1; exec <&-; echo > left; }";
    for format in ["human", "ndjson"] {
        let ran = sandbox
            .shell(&format!("rm -f left; \"$RALPH\" run -p x --format {format} -- tell | {reader}"))
            .exits(0);
        assert_eq!(ran.stdout.lines().count(), 1);
        assert_eq!(ran.stderr, "");
    }
    assert_eq!(sandbox.read("finished").lines().count(), 4);
    let listed = sandbox.ralph(&["runs", "--format", "json"]).exits(0).json();
    assert!(listed.as_array().unwrap().iter().all(|run| run["status"] == "completed"), "{listed:#}");
    sandbox.shell("\"$RALPH\" run --help | head -n 1").exits(0);
    sandbox.shell("\"$RALPH\" runs | true").exits(0);
}

#[test]
fn interrupted_runs_say_so_in_every_format() {
    for format in ["human", "json", "ndjson"] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let agent = sandbox.agent(
            &json!([[{"write": {"path": "up", "content": "1"}}, {"wait_for": "../go"}, {"say": DONE}]]),
        );
        let running = sandbox.begin(&["-p", "x", "--format", format, "--check", "true"], &agent);
        sandbox.until_file("up");
        sandbox.interrupt_and_go(&running, Signal::INT);
        let ran = running.end().exits(130);
        assert!(ran.stderr.contains("Received signal, shutting down..."), "{format}: {}", ran.stderr);
        match format {
            "human" => assert!(ran.stdout.contains("interrupted: "), "{}", ran.stdout),
            "json" => drop(is_a_result(&ran, "interrupted")),
            _ => assert!(ran.stdout.lines().last().unwrap().contains("\"interrupted\"")),
        }
    }
}

#[test]
fn the_version_and_the_help_are_answers_not_errors() {
    let sandbox = Sandbox::bare();
    for args in [&["--version"][..], &["-V"], &["run", "--version"], &["--help"], &["run", "-h"]] {
        let ran = sandbox.ralph(args).exits(0);
        assert!(!ran.stdout.is_empty() && ran.stderr.is_empty(), "{args:?}");
    }
    let version = sandbox.ralph(&["--version"]).stdout;
    assert_eq!(version, format!("ralph {}\n", env!("CARGO_PKG_VERSION")), "{RALPH}");
    sandbox.ralph(&[]).exits(2);
    sandbox.ralph(&["no-such-command"]).exits(2);
}

#[test]
fn lists_are_asked_for_alike_everywhere() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    sandbox.run(&["-p", "x"], &agent).exits(0);
    let id = sandbox.only_run();
    sandbox.write("specs/epic-1/story-1.1-a.md", "---\nstatus: pending\n---\n");
    sandbox.write("ralph/tasks.json", text(&list(&[new("US-001")])));
    for (command, name) in [
        (&["ls"][..], None),
        (&["runs"], Some(&*id)),
        (&["stories", "list"], Some("1.1")),
        (&["tasks", "list"], Some("US-001")),
        (&["agents"], Some("claude")),
    ] {
        let ask = |format| sandbox.ralph(&[command, &["--format", format]].concat()).exits(0);
        let human = ask("human").stdout;
        assert_eq!(human, sandbox.ralph(command).exits(0).stdout, "{command:?}");
        assert_eq!(human, ask("table").stdout, "the old word for it");
        let array = ask("json").json();
        let lines: Vec<Value> =
            ask("ndjson").stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(array, json!(lines), "{command:?}");
        assert_eq!(ask("names").stdout.lines().next(), name, "{command:?}");
        assert_eq!(ask("names").stdout.lines().count(), lines.len());
    }
    let listed = sandbox.ralph(&["runs"]).stdout;
    assert!(listed.lines().nth(1).unwrap().contains(" prompt completed x "), "{listed}");
    assert_eq!(sandbox.ralph(&["status", "--format", "json"]).exits(0).json(), json!([]));
}

#[test]
fn lists_are_one_object_a_line_as_ndjson() {
    let sandbox = Sandbox::bare();
    for command in ["agents", "doctor"] {
        let ran = sandbox.ralph(&[command, "--format", "ndjson"]).exits(0);
        let lines: Vec<Value> =
            ran.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
        assert!(lines.len() > 3 && lines.iter().all(|line| line["name"].is_string()), "{lines:#?}");
    }
}

#[test]
fn a_subcommand_with_a_slip_in_it_comes_with_the_one_that_was_meant() {
    let sandbox = Sandbox::bare();
    for command in ["tasks", "stories"] {
        let ran = sandbox.ralph(&[command, "lsit"]).exits(2);
        assert!(ran.stderr.contains("tip: a similar subcommand exists: 'list'\n"), "{}", ran.stderr);
        let ran = sandbox.ralph(&[command, "something"]).exits(2);
        assert!(!ran.stderr.contains("tip:"), "{}", ran.stderr);
    }
}
