//! ralph as a library, as another crate's test would use it.
#![expect(clippy::disallowed_methods, reason = "tests set the stage from outside")]

use ralph::Config;
use std::path::Path;

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
