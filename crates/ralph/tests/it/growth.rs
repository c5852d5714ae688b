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
    let agent = sandbox.sh_agent("echo on it; [ $RALPH_ITERATION != 31 ] || [ -e up ] || exec sleep 600");
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
    let (stderr, ended) = (resumed.stderr.clone(), resumed.stops(1, "max_iterations", 36));
    assert_eq!(ended["success"], false);
    assert!(is_little(), "{:?} {:?}", texts(), logs());
    assert!(!stderr.contains("cannot remove"), "{stderr}");
    let shown = sandbox.ralph(&["show", &sandbox.only_run()]).exits(0).stdout;
    let gone = shown.matches("  prompt   no longer kept (keepStreams)").count();
    assert!((1..36).contains(&gone), "{gone} of 36 prompts are gone: {shown}");
    let asked = shown.lines().rev().find_map(|line| line.strip_prefix("  prompt   ")).unwrap();
    assert!(fs::read_to_string(asked).unwrap().contains("the task itself"));
}

#[test]
fn check_logs_behind_a_link_go_as_well() {
    const MOST: u64 = 40 << 10;
    let sandbox = Sandbox::bare();
    sandbox.sh("mkdir own && ln -s own .ralph");
    sandbox.settings(&json!({
        "context": false, "checkpoints": false, "stallAfter": 0, "keepStreams": MOST as f64 / (1 << 20) as f64,
    }));
    let ran = sandbox.run(&["-p", "x", "-n", "20", "-q", "--check", CHECK], &sandbox.sh_agent("echo on it"));
    let ran = ran.exits(1);
    assert!(!ran.stderr.contains("cannot remove"), "{}", ran.stderr);
    let logs = files(&sandbox.project().join("own"), |name| name.starts_with("guardrail_"));
    assert!(!logs.is_empty() && bytes(&logs) <= 2 * MOST, "{logs:?}");
}

/// The first looks at what its own log takes up meanwhile.
#[test]
fn a_single_check_log_is_kept_within_the_cap_with_its_beginning_and_its_end() {
    const MOST: u64 = 2 << 20;
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"context": false, "checkpoints": false, "keepStreams": 4}));
    let look = "echo first; yes never | head -c 60000000
        for i in $(seq 300); do used=$(du -k \"$(ls -t .ralph/guardrail_*look*.log | head -n 1)\" | cut -f1)
        [ $used -gt 8192 ] || break; sleep 0.1; done; echo $used > used; echo last; exit 1";
    sandbox.write("look.sh", look);
    let agent = sandbox.sh_agent("cat > prompt-$RALPH_ITERATION; echo on it");
    let args = [
        "-p",
        "x",
        "-n",
        "2",
        "--check",
        "sh look.sh",
        "--check",
        "echo first; timeout 1 yes never; echo last; exit 1",
    ];
    sandbox.run(&args, &agent).exits(1);
    let used: u64 = sandbox.read("used").trim().parse().unwrap();
    assert!(used <= 8192, "{used} KiB while it ran");
    let logs = files(&sandbox.project().join(".ralph"), |name| name.starts_with("guardrail_2_"));
    assert_eq!(logs.len(), 2, "{logs:?}");
    for (name, bytes) in &logs {
        let log = sandbox.read(&format!(".ralph/{name}"));
        assert!(*bytes > MOST / 2 && *bytes <= MOST + 200, "{name}: {bytes}");
        assert!(log.starts_with("first\nnever\n") && log.ends_with("last\n"), "{name}");
        assert_eq!(log.matches(" bytes are left out here (keepStreams)]\n").count(), 1, "{name}");
        assert!(!log.contains('\0'), "{name}: a hole is left");
    }
    let prompt = sandbox.read("prompt-2");
    assert!(prompt.contains("never") && !prompt.contains('\0'), "{prompt}");
}

#[test]
fn a_check_that_never_stops_printing_leaves_no_more_than_that() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"context": false, "checkpoints": false, "keepStreams": 4}));
    let args = ["-p", "x", "-n", "1", "--check-timeout", "1", "--check", "exec yes never"];
    sandbox.run(&args, &sandbox.sh_agent("echo on it")).exits(1);
    let logs = files(&sandbox.project().join(".ralph"), |name| name.starts_with("guardrail_"));
    assert!(bytes(&logs) <= (4 << 20) + 200, "{logs:?}");
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
        let line =
            format!("ralph: warning: {what} exceed 2000 files or 31 KiB (keepStreams): removed the oldest\n");
        assert_eq!(ran.stderr.matches(&line).count(), 1, "{}", ran.stderr);
    }
}
