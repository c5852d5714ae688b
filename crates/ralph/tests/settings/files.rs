//! Layers and mistakes: seed 001, "Settings File", and the YAML block of seed 003.

use super::Project;
use serde_json::json;

/// What is said about one project file; it is always refused with exit code 2.
fn refused(content: &str) -> String {
    let project = Project::empty();
    project.settings(content);
    let answer = project.ralph(&["config", "show"]);
    assert_eq!((answer.code, answer.out.as_str()), (2, ""), "{content}");
    // Every command reports it in the same words.
    let run = project.ralph(&["run", "x", "--", "/bin/true"]);
    assert_eq!((run.code, &run.err), (2, &answer.err), "{content}");
    answer.err
}

fn check(content: &str, problem: &str) {
    let err = refused(content);
    assert!(err.contains(&format!("ralph: error: .ralph/settings.json: {problem}")), "{content}\n{err}");
}

#[test]
fn a_wrong_value_names_the_file_the_path_and_what_is_allowed() {
    check(
        r#"{"guardrails": [{"command": "x", "failAction": "append"}, {"command": "x", "failAction": "NOPE"}]}"#,
        "guardrails[1].failAction: expected one of APPEND, PREPEND, REPLACE, found \"NOPE\"\n",
    );
    check(r#"{"maximumIterations": 0}"#, "maximumIterations: expected a whole number, 1 or more, found 0\n");
    check(
        r#"{"maximumIterations": -1}"#,
        "maximumIterations: expected a whole number, 1 or more, found -1\n",
    );
    check(r#"{"checkTimeout": "2m"}"#, "checkTimeout: expected a number above 0, found \"2m\"\n");
    check(r#"{"completionResponse": ""}"#, "completionResponse: expected non-empty text");
    check(r#"{"agent": "claude"}"#, "agent: expected an object {…}, found \"claude\"\n");
    check(
        r#"{"guardrails": [{"command": " ", "failAction": "APPEND"}]}"#,
        "guardrails[0].command: expected non-empty text",
    );
}

#[test]
fn a_file_that_is_no_settings_is_refused() {
    check("", "the file is empty");
    check(" \n", "the file is empty");
    check(
        "{\n  \"maximumIterations\": 1\n  \"x\": 2\n}",
        "not valid JSON: expected `,` or `}` at line 3 column 3\n",
    );
    check("[]", "expected an object {…}, found []\n");
    check("null", "expected an object {…}, found null\n");
    check(r#"{"context": true, "context": false}"#, "not valid JSON: duplicate key: context at line 1");
    check(r#"{"maxCost": 1e999}"#, "not valid JSON: number out of range");
}

#[test]
fn all_problems_of_all_files_are_told_at_once() {
    let project = Project::empty();
    project.settings(r#"{"maximumIterations": 0, "agent": {"flags": [1]}}"#);
    project.write(".ralph/settings.local.json", "{");
    project.write("../config/ralph/settings.json", r#"{"context": 1}"#);
    let answer = project.ralph(&["config", "show", "--config", "missing.json"]);
    assert_eq!(answer.code, 2);
    let user = project.dir().with_file_name("config").join("ralph/settings.json");
    let err = answer.err.replace(user.to_str().unwrap(), "USER");
    insta::assert_snapshot!(err, @r"
    ralph: error: the settings have 5 problems
      USER: context: expected true or false, found 1
      .ralph/settings.json: maximumIterations: expected a whole number, 1 or more, found 0
      .ralph/settings.json: agent.flags[0]: expected non-empty text, found 1
      .ralph/settings.local.json: not valid JSON: EOF while parsing an object at line 1 column 1
      missing.json: cannot read the settings: No such file or directory (os error 2)
      hint: `ralph schema settings` prints what is allowed; docs/settings.md explains it
    ");
}

#[test]
fn directories_in_the_way_are_told() {
    let project = Project::empty();
    project.write(".ralph/settings.json/x", "");
    let answer = project.ralph(&["config", "show"]);
    assert_eq!(answer.code, 2);
    assert!(
        answer.err.contains(".ralph/settings.json: cannot read the settings: Is a directory"),
        "{}",
        answer.err
    );
}

#[test]
fn unknown_keys_are_warned_about_with_the_one_that_was_meant() {
    let project = Project::empty();
    project.settings(r#"{"$schema": "x", "maxIterations": 3, "agent": {"comand": "x"}, "zzz": 1}"#);
    let answer = project.ralph(&["config", "show"]);
    assert_eq!(answer.code, 0);
    insta::assert_snapshot!(answer.err, @r"
    ralph: warning: .ralph/settings.json: unknown key: agent.comand; did you mean agent.command?
    ralph: warning: .ralph/settings.json: unknown key: maxIterations; did you mean maximumIterations?
    ralph: warning: .ralph/settings.json: unknown key: zzz
    ");
}

#[test]
fn layers_go_over_each_other_and_each_value_tells_its_own() {
    let project = Project::empty();
    project.write(
        "../config/ralph/settings.json",
        r#"{"maxCost": 9, "maxTime": 60, "agent": {"model": "opus"}}"#,
    );
    project.settings(
        r#"{"agent": {"command": "codex", "flags": ["--model opus"]}, "maxCost": 5,
            "scm": {"tasks": ["commit"]}}"#,
    );
    project.write(
        ".ralph/settings.local.json",
        r#"{"agent": {"flags": ["--verbose"]}, "maxTime": null, "scm": null}"#,
    );
    project.write(
        "more.yml",
        "completionResponse: yes\nmaximumIterations: 3\nguardrails:\n  - command: make test\n    failAction: prepend\n",
    );
    let shown = project.ralph(&["config", "show", "--format", "json", "--config", "more.yml"]).json();
    let (settings, from) = (&shown["settings"], &shown["from"]);
    let user = project.dir().with_file_name("config").join("ralph/settings.json");
    for (key, value, file) in [
        ("/agent/command", json!("codex"), ".ralph/settings.json"),
        ("/agent/flags", json!(["--verbose"]), ".ralph/settings.local.json"),
        ("/agent/model", json!("opus"), user.to_str().unwrap()),
        ("/maxCost", json!(5), ".ralph/settings.json"),
        ("/maxTime", json!(null), ".ralph/settings.local.json"),
        ("/scm/tasks", json!([]), ".ralph/settings.local.json"),
        ("/maximumIterations", json!(3), "more.yml"),
        ("/completionResponse", json!("yes"), "more.yml"),
        ("/outputTruncateChars", json!(5000), "default"),
    ] {
        assert_eq!(settings.pointer(key), Some(&value), "{key}");
        assert_eq!(from[key[1..].replace('/', ".")], file, "{key}");
    }
    assert_eq!(settings["guardrails"][0]["failAction"], "PREPEND");
    assert_eq!(from["guardrails[0].command"], "more.yml");
    let files = [user.to_str().unwrap(), ".ralph/settings.json", ".ralph/settings.local.json", "more.yml"];
    assert_eq!(shown["files"], json!(files));
}

#[test]
fn architects_block_is_read_from_a_config_file() {
    let project = Project::empty();
    let block = "\
ralph_loop:
  max_iterations: 25        # 1-100
  max_cost: null            # USD, null = no limit
  max_time: 90
  completion_tag: \"COMPLETE\"
  agent: build
context: false
";
    project.write("architect.yaml", block);
    project.settings(r#"{"maxCost": 3, "agent": {"command": "codex"}}"#);
    let shown = project.ralph(&["config", "show", "--format", "json", "--config", "architect.yaml"]);
    assert_eq!(shown.err, "");
    let settings = &shown.json()["settings"];
    assert_eq!(settings["maximumIterations"], 25);
    assert_eq!(settings["maxCost"], json!(null));
    assert_eq!(settings["maxTime"], 90);
    assert_eq!(settings["completionResponse"], "COMPLETE");
    assert_eq!(settings["agent"]["command"], "codex", "build is the default agent");
    assert_eq!(settings["context"], false);
}

#[test]
fn a_wrong_config_file_is_told_like_any_other() {
    let check = |name: &str, content: &str, problem: &str| {
        let project = Project::empty();
        project.write(name, content);
        let answer = project.ralph(&["config", "show", "--config", name]);
        assert_eq!(answer.code, 2, "{content}");
        assert!(answer.err.contains(&format!("{name}: {problem}")), "{content}\n{}", answer.err);
    };
    check(
        "c.yaml",
        "ralph_loop: {max_iterations: 0}",
        "ralph_loop.max_iterations: expected a whole number, 1 or",
    );
    check("c.yaml", "ralph_loop: 3", "ralph_loop: expected an object");
    check("c.yaml", "maxCost: .inf", "not valid YAML: value `.inf` is not a finite number");
    check("c.yaml", "a: [1,", "not valid YAML: unclosed bracket '[' at line 1, column 4\n");
    check(
        "c.yaml",
        "a: 1\na: 2",
        "not valid YAML: duplicate mapping key: a not allowed here at line 2, column 1",
    );
    check("c.yaml", "- 1", "expected an object");
    check("c.YML", "# nothing\n", "expected an object {…}, found null");
    check("c.json", "maxCost: 1", "not valid JSON: ");
    check("c.conf", "{\"maxCost\": \"x\"}", "maxCost: expected a number above 0, found \"x\"");
}

#[test]
fn the_limits_of_the_settings_hold_for_a_run_unless_flags_say_otherwise() {
    let project = Project::empty();
    project.settings(r#"{"maxTime": 0.3, "maximumIterations": 1, "checkpoints": false}"#);
    let run = |flags: &[&str]| {
        let mut args = vec!["run", "x", "--format", "json"];
        args.extend(flags);
        args.extend(["--", "/bin/sh", "-c", "/bin/sleep 1; echo '<response>DONE</response>'"]);
        let answer = project.ralph(&args);
        let result: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
        result["stop_reason"].clone()
    };
    assert_eq!(run(&[]), "timeout");
    assert_eq!(run(&["--max-time", "1h"]), "completed");
    project.settings(r#"{"timeout": 0.2, "maxFailures": 1}"#);
    assert_eq!(run(&[]), "too_many_failures");
    assert_eq!(run(&["--timeout", "1h"]), "completed");
}

#[test]
fn verbose_names_the_files_that_were_loaded() {
    let project = Project::empty();
    project.settings("{}");
    project.write(".ralph/settings.local.json", "{}");
    let answer = project.ralph(&["run", "x", "-v", "--", "not-there"]);
    let lines = "[ralph] Loading settings from .ralph/settings.json\n[ralph] Loading settings from .ralph/settings.local.json\n";
    assert!(answer.err.starts_with(lines), "{}", answer.err);
}
