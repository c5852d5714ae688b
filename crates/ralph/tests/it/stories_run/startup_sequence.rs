//! "Startup Sequence", steps 1 to 4.

use super::stage::Stage;
use std::fs;

#[test]
fn step_1a_without_its_agent_nothing_begins() {
    let stage = Stage::new("1.1");
    let refused = stage.sandbox.ralph(&["stories", "--agent", "no-such-agent"]).exits(2);
    assert!(refused.stderr.contains("no-such-agent"), "{}", refused.stderr);
    assert!(!stage.sandbox.has("progress.txt") && !stage.sandbox.has(".ralph"), "nothing is laid out");
}

#[test]
fn step_1b_a_project_that_tells_agents_nothing_is_warned_about() {
    let stage = Stage::without_git("1.1");
    stage.sandbox.claude(&serde_json::json!([[{"say": "<ralph>DONE 1.1</ralph>"}]]));
    fs::remove_file(stage.sandbox.project().join("CLAUDE.md")).unwrap();
    let ran = stage.sandbox.ralph(&["stories"]).exits(0);
    assert!(ran.stderr.contains("ralph: warning: no CLAUDE.md: "), "{}", ran.stderr);
    let plain = stage.run(&["-s", "1.1"], "DONE").exits(0);
    assert!(!plain.stderr.contains("warning: no "), "{}", plain.stderr);
    fs::remove_file(stage.sandbox.project().join("AGENTS.md")).unwrap();
    stage.run(&["-s", "1.1"], "DONE").exits(0).says("warning: no AGENTS.md: ");
}

#[test]
fn step_1c_without_specs_nothing_begins() {
    let stage = Stage::new("");
    fs::remove_dir(stage.sandbox.project().join("specs")).unwrap();
    let refused = stage.run(&[], "DONE").exits(2);
    assert!(refused.stderr.contains("no specs: "), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: `ralph init stories`"), "{}", refused.stderr);
    assert_eq!(stage.sandbox.runs(), [""; 0]);
}

#[test]
fn steps_1d_and_1e_what_is_missing_is_made() {
    let stage = Stage::new("1.1");
    let running = stage.begin(&[], "hold; DONE");
    stage.until_held("1.1#1");
    crate::support::until("the files", || {
        stage.sandbox.has("progress.txt") && stage.sandbox.has(".ralph/state.json")
    });
    assert_eq!(stage.sandbox.read("progress.txt"), "");
    stage.let_go("1.1#1");
    running.end().exits(0);
}

#[test]
fn step_2_a_missing_state_is_rebuilt_from_progress_txt() {
    let stage = Stage::new("1.1 1.2 2.3");
    let progress = "[DONE] Story 1.1 - Log in - Fri Jan 30 10:15:00 UTC 2026\n\
                    [FAIL] Story 1.2 - no [DONE] Story 1.2 - x (attempt 1/3)\n\
                    [DONE] Story 2.3 - Export - Fri Jan 30 11:00:00 UTC 2026\n\
                    [DONE] Story 1.1 - Log in - Fri Jan 30 12:15:00 UTC 2026\n";
    stage.sandbox.write("progress.txt", progress);
    let ran = stage.run(&[], "DONE").exits(0);
    assert!(
        ran.stderr.contains("state.json is missing; 2 stories are done according to progress.txt"),
        "{}",
        ran.stderr
    );
    assert_eq!(stage.asked(), "1.2");
    assert_eq!(stage.state(), "1.1 2.3 1.2 / - / 0");
    assert!(stage.sandbox.read("progress.txt").starts_with(progress), "what stood there stays");
}

#[test]
fn step_2_a_state_that_is_there_is_what_counts() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("progress.txt", "[DONE] Story 1.1 - x - y\n");
    stage.write_state(&["1.2"], None, 0);
    stage.run(&[], "DONE").exits(0);
    assert_eq!(stage.asked(), "1.1");
}

#[test]
fn step_2_a_damaged_state_is_kept_aside_rebuilt_and_reported() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("progress.txt", "[DONE] Story 1.1 - x - y\n");
    stage.sandbox.write(".ralph/state.json", "{\"completed_stories\": [\"1.1\"");
    let ran = stage.run(&[], "DONE").exits(0);
    for said in ["state.json is damaged", "kept as .ralph/state.json.damaged-1"] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(stage.asked(), "1.2");
    assert_eq!(stage.sandbox.read(".ralph/state.json.damaged-1"), "{\"completed_stories\": [\"1.1\"");
    assert_eq!(stage.state(), "1.1 1.2 / - / 0");
}

#[test]
fn step_2_a_state_of_a_newer_version_is_understood_as_far_as_it_goes_and_kept() {
    let stage = Stage::new("1.1 1.2");
    let newer = r#"{"version": 9, "completed_stories": ["1.1"], "current_story": null, "retry_count": 0}"#;
    stage.sandbox.write(".ralph/state.json", newer);
    let ran = stage.run(&[], "DONE").exits(0);
    assert!(ran.stderr.contains("ignoring fields of a newer version: version"), "{}", ran.stderr);
    assert_eq!(stage.asked(), "1.2");
    assert_eq!(stage.sandbox.read(".ralph/state.json.kept-1"), newer);
    assert_eq!(stage.state(), "1.1 1.2 / - / 0");
}

#[test]
fn steps_3_and_4_the_banner_tells_what_will_be_done_and_then_it_is() {
    let stage = Stage::new("1.1 1.2 1.10");
    let ran = stage.run(&["-r", "1.2", "-t", "90", "-l", "my.log"], "DONE").exits(0);
    let run = stage.sandbox.only_run();
    let log = stage.sandbox.project().join("my.log");
    let banner = format!(
        "ralph stories {run}\n  agent   sh\n  stories 2 to do: 1.2 1.10\n  \
         needs   at least 2 attempts, at most 6; 1m30s each, 3 per story\n  log     {}\n  sandbox none: agents have your rights\n  \
         guard   no guard: sh has no hooks\n\n\
         --- Iteration 1/6: story 1.2, Part 1 2 ---\n",
        log.display()
    );
    // The path of a sandbox may be too long for a line.
    let shown =
        |text: &str| text.lines().filter(|line| !line.starts_with("  log ")).collect::<Vec<_>>().join("\n");
    assert!(shown(&ran.stdout).starts_with(&shown(&banner)), "{}", ran.stdout);
    assert!(log.exists() && !stage.sandbox.has("ralph.log"));
}
