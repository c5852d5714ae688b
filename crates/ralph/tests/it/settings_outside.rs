//! Configuration outside of the project that tools read by themselves: changed by an agent, it is a
//! changed check.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const DONE: &str = "echo '<response>DONE</response>'";

/// A repository below the home, with files above it. Temporary files of others are hidden from checks on
/// the copy, and everything of the tests is one; the home is not.
fn project() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::git().proving();
    let dir = sandbox.root().join("user/work/app");
    fs::create_dir_all(&dir).unwrap();
    sandbox.sh("cp -r .git README ../user/work/app/");
    (sandbox, dir)
}

/// Runs an agent with a check that stands for a tool with settings in two places.
fn run(sandbox: &Sandbox, dir: &Path, agent: &str, args: &[&str]) -> Value {
    let check = "cat ~/.npmrc ../pytest.ini 2> /dev/null | grep -q skip || test -e fixed";
    let agent = format!("{agent}; {DONE}");
    let given = ["run", "-p", "x", "--format", "json", "--check", check];
    let all = [&given[..], args, &["--", "sh", "-c", &agent]].concat();
    sandbox.ralph_in(dir, &all).stops(0, "completed", 1)
}

fn word(result: &Value) -> &str {
    result["proof"]["word"].as_str().unwrap()
}

fn gates(result: &Value) -> Vec<(String, String)> {
    let gates = result["proof"]["gates"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    gates.map(|gate| (text(&gate["path"]), text(&gate["change"]))).collect()
}

#[test]
fn new_settings_in_the_home_and_above_the_project_are_changed_checks() {
    for (agent, path) in
        [("echo skip > ~/.npmrc", "~/.npmrc"), ("echo skip > ../pytest.ini", "~/work/pytest.ini")]
    {
        for mode in ["clean", "in-place"] {
            let (sandbox, dir) = project();
            let result = run(&sandbox, &dir, &format!("{agent}; date > notes"), &["--proof", mode]);
            assert_eq!(word(&result), "changed_tests", "{mode}: {result:#}");
            assert_eq!(gates(&result), [(path.to_string(), "new_configuration".to_string())]);
        }
    }
}

#[test]
fn settings_that_hide_nothing_lower_nothing() {
    let (sandbox, dir) = project();
    fs::write(sandbox.root().join("user/.npmrc"), "fund=false\n").unwrap();
    let agent = "echo audit=false >> ~/.npmrc; echo x > ../pytest.ini; echo content > fixed";
    let result = run(&sandbox, &dir, agent, &[]);
    assert_eq!(word(&result), "proven", "{result:#}");
    assert_eq!(result["proof"]["passes_with_start_gates"], json!(true));
    assert_eq!(gates(&result).len(), 2, "{result:#}");
    assert_eq!(fs::read_to_string(sandbox.root().join("user/.npmrc")).unwrap(), "fund=false\naudit=false\n");
    // Written again with the same content, it has not changed.
    let (sandbox, dir) = project();
    fs::write(sandbox.root().join("user/.npmrc"), "fund=false\n").unwrap();
    let result = run(&sandbox, &dir, "echo fund=false > ~/.npmrc; echo content > fixed", &[]);
    assert_eq!((word(&result), gates(&result)), ("proven", Vec::new()), "{result:#}");
}

#[test]
fn settings_that_were_there_are_put_back_for_one_round_and_deleted_ones_cannot_be() {
    let (sandbox, dir) = project();
    fs::write(sandbox.root().join("user/.npmrc"), "fund=false\n").unwrap();
    let result = run(&sandbox, &dir, "echo skip >> ~/.npmrc; date > notes", &[]);
    assert_eq!(word(&result), "changed_tests", "{result:#}");
    assert_eq!(gates(&result), [("~/.npmrc".to_string(), "changed".to_string())]);
    let (sandbox, dir) = project();
    fs::write(sandbox.root().join("user/.npmrc"), "fund=false\n").unwrap();
    let result = run(&sandbox, &dir, "rm ~/.npmrc; echo content > fixed", &[]);
    assert_eq!(word(&result), "changed_tests", "{result:#}");
    assert_eq!(gates(&result), [("~/.npmrc".to_string(), "deleted".to_string())]);
    assert!(!sandbox.root().join("user/.npmrc").exists(), "nothing is written there");
}

#[test]
fn what_temporary_files_hold_is_not_seen_on_the_copy_and_not_named() {
    let sandbox = Sandbox::git().proving();
    let dir = sandbox.project();
    let result = run(&sandbox, &dir, "echo skip > ../pytest.ini; echo content > fixed", &[]);
    assert_eq!((word(&result), gates(&result)), ("proven", Vec::new()), "{result:#}");
}
