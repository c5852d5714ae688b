//! ralph as a library, as another crate's test would use it.
#![expect(clippy::disallowed_methods, reason = "tests set the stage from outside")]

use ralph::Config;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run ends and reaps what has come to its process, so no other test may start anything meanwhile.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn config(dir: &Path, agent: &str) -> Config {
    let mut config = Config::new("make it exist");
    config.command = ["sh", "-c", agent].map(String::from).to_vec();
    config.project_dir = Some(dir.join("project"));
    config.home = Some(dir.join("home"));
    config.ralph = Some(env!("CARGO_BIN_EXE_ralph").into());
    config
}

#[test]
fn a_run_returns_its_iterations() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("project")).unwrap();
    let mut config = config(dir.path(), "echo x >> it; echo '<response>DONE</response>'");
    config.checks = vec!["test $(wc -l < it) -ge 2".into()];
    config.max_iterations = Some(5);
    let result = config.run().unwrap();
    assert!(result.success);
    assert_eq!(result.stop_reason, "completed");
    let passed: Vec<bool> = result.iterations.iter().map(|i| i.all_checks_passed).collect();
    assert_eq!(passed, [false, true]);
    assert!(result.iterations.iter().all(|i| i.completion_tag_found && i.error.is_none()));
    assert_eq!(result.iterations[0].check_results[0].name, "test $(wc -l < it) -ge 2");
}

#[test]
fn an_unsuccessful_run_is_a_result_and_a_wrong_request_an_error() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("project")).unwrap();
    let mut config = config(dir.path(), "echo not yet");
    config.max_iterations = Some(1);
    let result = config.run().unwrap();
    assert!(!result.success);
    assert_eq!(result.stop_reason, "max_iterations");
    config.task = String::new();
    assert_eq!(config.run().unwrap_err().message, "no prompt was given");
    config.ralph = Some(dir.path().join("nowhere"));
    assert!(config.run().unwrap_err().to_string().contains("the ralph program is not installed"));
}

/// The commit at the end is made by the ralph program, not by the one that calls.
#[test]
fn what_a_run_leaves_in_its_worktree_is_committed() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    let sh = |script: &str| {
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-ec", script]).current_dir(&project).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    std::fs::create_dir(&project).unwrap();
    sh("git init -q; git -c user.name=x -c user.email=x@localhost commit -q --allow-empty -m begin");
    let mut config = config(dir.path(), "echo x > it; echo '<response>DONE</response>'");
    config.use_worktree = true;
    let result = config.run().unwrap();
    assert!(result.success);
    let branch = format!("ralph/{}", result.run.as_ref().unwrap());
    assert_eq!(sh(&format!("git show --name-only --format= {branch}")), "it\n");
    config.cleanup_worktree(&result).unwrap();
}
