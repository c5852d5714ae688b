//! A long run keeps no more files than it may.

use crate::support::{Sandbox, until};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The files of a directory whose names fit, and their bytes.
fn files(dir: &Path, fits: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let named =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()));
    named.filter(|(name, _)| fits(name)).collect()
}

fn bytes(files: &[(String, u64)]) -> u64 {
    files.iter().map(|(_, bytes)| bytes).sum()
}

/// A check that is red for another reason each time, at length.
const CHECK: &str = "head -c 2500 /dev/urandom | od -An -tx1; exit 1";

#[test]
fn old_texts_and_check_logs_go_and_a_killed_run_still_resumes() {
    const MOST: u64 = 40 << 10;
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({
        "context": false, "checkpoints": false, "stallAfter": 0, "keepStreams": MOST as f64 / (1 << 20) as f64,
    }));
    let agent = sandbox.sh_agent("echo on it; [ $RALPH_ITERATION != 31 ] || [ -e up ] || exec sleep 60");
    let running = sandbox.begin(&["-p", "the task itself", "-n", "36", "--check", CHECK], &agent);
    let last = |fact: &Value| fact["began"]["step"]["agent"]["iteration"] == 31;
    sandbox.until_fact("the agent of iteration 31", last);
    let texts = || files(&sandbox.run_dir().join("texts"), |name| name.len() == 64);
    let logs = || files(&sandbox.project().join(".ralph"), |name| name.starts_with("guardrail_"));
    // Without a cap it would be three times as much of texts and seven times of logs. They are removed
    // beside the loop, which may be an iteration ahead.
    let is_little = || bytes(&texts()) <= 2 * MOST && bytes(&logs()) <= 2 * MOST;
    until("old texts and logs are gone", is_little);
    running.kill();
    sandbox.soon_nothing_is_left();
    assert!(logs().iter().any(|(name, _)| name.starts_with("guardrail_30_")), "{:?}", logs());

    // The prompt that it began with and the output of the last check are there to go on with.
    sandbox.write("up", "");
    let resumed = sandbox.ralph(&["resume", "--format", "json"]);
    let (told, ended) = (resumed.stderr.clone(), resumed.stops(1, "max_iterations", 36));
    assert_eq!(ended["success"], false);
    assert!(is_little(), "{:?} {:?}", texts(), logs());
    assert!(!told.contains("cannot remove"), "{told}");
    let shown = sandbox.ralph(&["show", &sandbox.only_run()]).exits(0).stdout;
    let gone = shown.matches("  prompt   no longer kept (keepStreams)").count();
    assert!((1..36).contains(&gone), "{gone} of 36 prompts are gone: {shown}");
    let asked = shown.lines().rev().find_map(|line| line.strip_prefix("  prompt   ")).unwrap();
    assert!(fs::read_to_string(asked).unwrap().contains("the task itself"));
}

#[test]
fn everything_is_kept_where_nothing_else_was_asked_for() {
    let sandbox = Sandbox::bare();
    let keep_all = json!({"context": false, "checkpoints": false, "stallAfter": 0, "keepStreams": 0});
    sandbox.settings(&keep_all);
    sandbox.run(&["-p", "x", "-n", "6", "--check", CHECK], &sandbox.sh_agent("echo on it")).exits(1);
    assert_eq!(files(&sandbox.project().join(".ralph"), |name| name.starts_with("guardrail_")).len(), 6);
    // What was asked, each time with the output of the check before, and those outputs.
    assert_eq!(files(&sandbox.run_dir().join("texts"), |name| name.len() == 64).len(), 12);
}

#[test]
fn the_removal_is_told_once() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({
        "context": false, "checkpoints": false, "stallAfter": 0, "keepStreams": 0.03,
    }));
    let agent = sandbox.sh_agent("echo on it");
    let ran = sandbox.run(&["-p", "x", "-n", "20", "-q", "--check", CHECK], &agent).exits(1);
    for what in ["prompts and other texts", "check logs"] {
        let told = format!(
            "ralph: warning: the oldest {what} are no longer kept: there were more than 2000 files or 31 KiB (keepStreams)\n"
        );
        assert_eq!(ran.stderr.matches(&told).count(), 1, "{}", ran.stderr);
    }
}
