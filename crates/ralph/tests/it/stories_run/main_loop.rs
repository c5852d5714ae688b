//! "Main Loop Flow", steps 1 to 8.

use super::stage::{Stage, spec_path};
use serde_json::json;

#[test]
fn step_1_the_first_story_that_is_not_done_comes_next() {
    for (args, done, expected) in [
        (&[][..], &[][..], "1.1 1.2 2.1"),
        (&[], &["1.1"], "1.2 2.1"),
        (&[], &["1.2"], "1.1 2.1"),
        (&["-s", "1.2"], &[], "1.2"),
        (&["-s", "1.2"], &["1.2"], "1.2"),
        (&["-r", "1.2"], &[], "1.2 2.1"),
        (&["-r", "1.2"], &["1.2"], "2.1"),
    ] {
        let stage = Stage::new("1.1 1.2 2.1");
        stage.write_state(done, None, 0);
        let ran = stage.run(args, "DONE").exits(0);
        assert_eq!(ran.stdout.contains("ALL COMPLETE!"), args.is_empty(), "{}", ran.stdout);
        assert_eq!(stage.asked(), expected, "{args:?} after {done:?}");
    }
}

#[test]
fn step_1_when_everything_is_done_that_is_said_and_no_agent_started() {
    let stage = Stage::new("1.1");
    stage.write_state(&["1.1"], None, 0);
    stage.run(&[], "DONE").exits(0).says("ALL COMPLETE!").says("  stories none to do\n");
    assert_eq!(stage.asked(), "");
}

#[test]
fn step_2_the_spec_is_found_by_the_storys_number() {
    let stage = Stage::new("");
    stage
        .sandbox
        .write("specs/epic-8/story-8.3-anything-at-all.md", "---\nstatus: pending\n---\nthe right one\n");
    stage.sandbox.write("specs/epic-8/story-8.30-other.md", "---\nstatus: pending\n---\nthe wrong one\n");
    stage.run(&["-s", "8.3"], "DONE").exits(0);
    assert!(stage.prompt("8.3#1").contains("the right one"));
    assert!(!stage.prompt("8.3#1").contains("the wrong one"));
    let refused = stage.run(&["-s", "8.4"], "DONE").exits(2);
    assert!(refused.stderr.contains("no such story: 8.4"), "{}", refused.stderr);
}

#[test]
fn step_3_the_state_says_what_is_worked_on() {
    let stage = Stage::new("8.3");
    let running = stage.begin(&[], "hold; DONE");
    stage.until_held("8.3#1");
    stage.until_state(" / 8.3 / 0");
    stage.let_go("8.3#1");
    running.end().exits(0);
}

#[test]
fn step_4_the_prompt_has_role_whole_spec_workflow_and_rules_in_this_order() {
    let stage = Stage::new("8.3");
    stage.run(&[], "DONE").exits(0);
    let prompt = stage.prompt("8.3#1");
    // Ralph marks the file when the story is done; until then its agent saw it as it was.
    let spec = stage.sandbox.read(&spec_path("8.3")).replace("status: done", "status: pending");
    let parts = [
        "You are Ralph, an autonomous implementation agent",
        "## STORY SPECIFICATION",
        spec.trim_end(),
        "## WORKFLOW",
        "1. Read",
        "2. Implement",
        "3. Validate",
        "commit your work with git",
        "<ralph>DONE 8.3</ralph>",
        "git checkout .",
        "<ralph>FAIL 8.3: ",
        "<ralph>LEARN: ",
        "## CRITICAL RULES",
        "One story",
        "acceptance criteria exactly",
        "Write every test",
        "Use your tools",
    ];
    let mut rest = prompt.as_str();
    for part in parts {
        let at =
            rest.find(part).unwrap_or_else(|| panic!("{part:?} is not there, or not in order\n{prompt}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn step_5_a_dry_run_shows_the_beginning_of_each_prompt_and_starts_nothing() {
    let stage = Stage::new("1.1 1.2<1.1");
    stage.sandbox.write("progress.txt", "[LEARN] tests need a port\n");
    stage.sandbox.sh("git add . && git commit -q -m progress");
    let shown = stage.run(&["-d"], "DONE").exits(0).stdout;
    let prompts: Vec<&str> = shown.split("--- ").skip(1).collect();
    assert_eq!(prompts.len(), 2, "{shown}");
    for (prompt, title) in prompts.iter().zip(["1: story 1.1, Part 1 1", "2: story 1.2, Part 1 2"]) {
        let lines: Vec<&str> = prompt.lines().collect();
        assert_eq!(lines[0], title);
        assert!(lines[1].starts_with("You are Ralph"), "{prompt}");
        assert!(
            lines[21].starts_with("... (") && lines[21].ends_with("more lines; use -v to show all)"),
            "{prompt}"
        );
    }
    assert!(shown.ends_with("Nothing was started.\n"), "{shown}");
    let whole = stage.run(&["-d", "-v", "--branch", "never"], "DONE").exits(0).stdout;
    assert!(whole.contains("## CRITICAL RULES") && whole.contains("- tests need a port"), "{whole}");
    assert_eq!(stage.asked(), "");
    assert_eq!(stage.sandbox.runs(), [""; 0]);
    assert_eq!(stage.sandbox.sh("git status --porcelain --ignored; git branch --show-current"), "main\n");
}

#[test]
fn step_6_claude_is_called_with_the_prompt_and_without_having_to_ask() {
    let stage = Stage::new("8.3");
    stage.sandbox.claude(&json!([[
        {"save_args": "../args"},
        {"save_prompt": "../told"},
        {"save_env": {"path": "../env", "names": ["RALPH_STORY"]}},
        {"say": "<ralph>DONE 8.3</ralph>"},
    ]]));
    stage.sandbox.ralph(&["stories"]).exits(0);
    let args = stage.sandbox.read("../args");
    for word in ["-p", "--dangerously-skip-permissions"] {
        assert!(args.lines().any(|arg| arg == word), "{args}");
    }
    assert!(stage.sandbox.read("../told").starts_with("You are Ralph"));
    assert_eq!(stage.sandbox.read("../env"), "RALPH_STORY=8.3\n");
}

#[test]
fn step_6_agents_are_told_the_story_they_work_on_and_checks_are_not() {
    let stage = Stage::new("1.1 1.2");
    let (checked, asked) = (stage.at("checked"), stage.at("asked"));
    let check = format!("echo $(tail -n 1 '{}') $RALPH_STORY >> '{}'", asked.display(), checked.display());
    stage.run(&["--check", &check], "DONE").exits(0);
    assert_eq!(stage.asked(), "1.1 1.2");
    assert_eq!(stage.note("checked"), "1.1\n1.2\n");
}

#[test]
fn step_7_an_agent_that_is_cut_off_or_fails_has_failed_whatever_it_said() {
    for (timeout, script, why) in [
        ("1", "DONE; sleep 600", "timed out after 1s"),
        ("1h", "DONE; exit 3", "exit code 3"),
        ("1h", "DONE; kill -9 $$", "killed by signal 9"),
    ] {
        let stage = Stage::new("8.3");
        stage.run(&["-t", timeout, "--max-retries", "1"], script).exits(1);
        assert_eq!(stage.progress(), [format!("[FAIL] Story 8.3 - {why} - TIME (attempt 1/1)")], "{script}");
        stage.sandbox.nothing_is_left();
    }
}

#[test]
fn step_8_learnings_are_taken_first_and_then_the_signal() {
    let stage = Stage::new("1.1 1.2");
    stage.run(&["-n", "1"], "LEARN one; DONE; LEARN two").exits(0);
    assert_eq!(stage.progress(), ["[LEARN] one", "[LEARN] two", "[DONE] Story 1.1 - Part 1 1 - TIME"]);
}
