//! "Failure Handling", steps 1 to 5.

use super::stage::Stage;
use serde_json::json;

#[test]
fn steps_1_to_3_the_count_is_read_raised_and_written() {
    let stage = Stage::new("8.3");
    stage.write_state(&["8.1"], Some("8.3"), 1);
    stage.run(&["-n", "1"], "FAIL no").exits(1);
    assert_eq!(stage.state(), "8.1 / 8.3 / 2");
}

#[test]
fn step_4_every_failure_is_a_line_with_its_reason() {
    let stage = Stage::new("8.3");
    stage.sandbox.write("progress.txt", "by hand, without an end");
    let script = "case $try in
        8.3#1) FAIL 'a reason
            of two lines' ;;
        8.3#2) exit 7 ;;
        *) echo nothing ;; esac";
    stage.run(&[], script).exits(1);
    assert_eq!(
        stage.progress(),
        [
            "by hand, without an end",
            "[FAIL] Story 8.3 - a reason of two lines - TIME (attempt 1/3)",
            "[FAIL] Story 8.3 - exit code 7 - TIME (attempt 2/3)",
            "[FAIL] Story 8.3 - No completion signal in output - TIME (attempt 3/3)",
        ]
    );
}

#[test]
fn an_attempt_that_was_ended_for_its_silence_is_told_as_that() {
    let stage = Stage::new("8.3");
    let script = "case $try in 8.3#1) sleep 600 ;; *) DONE ;; esac";
    let stdout = stage.run(&["--inactivity-timeout", "8"], script).exits(0).stdout;
    assert!(!stdout.contains("No completion signal"), "{stdout}");
    assert_eq!(stage.progress()[0], "[FAIL] Story 8.3 - the agent was silent for 8s - TIME (attempt 1/3)");
    assert!(stage.prompt("8.3#2").contains("It failed: the agent was silent for 8s"));
}

#[test]
fn step_5_no_the_same_story_is_picked_again() {
    let stage = Stage::new("8.3 8.4");
    stage.run(&[], "case $try in 8.3#3 | 8.4#1) DONE ;; *) FAIL no ;; esac").exits(0);
    assert_eq!(stage.asked(), "8.3 8.3 8.3 8.4");
    assert_eq!(stage.state(), "8.3 8.4 / - / 0");
}

#[test]
fn step_5_yes_a_person_is_asked_for() {
    let stage = Stage::new("8.3 8.4");
    let halted = stage.run(&[], "FAIL no").exits(1);
    for said in ["MAX RETRIES EXCEEDED", "Human intervention required.", "ralph stories -s 8.3"] {
        assert!(halted.stdout.contains(said), "{said}\n{}", halted.stdout);
    }
    assert_eq!(stage.asked(), "8.3 8.3 8.3", "and 8.4 is not begun");
    assert_eq!(stage.state(), " / 8.3 / 3");
    // The hint holds.
    stage.run(&["-s", "8.3"], "DONE").exits(0);
    assert_eq!(stage.state(), "8.3 / - / 0");
}

#[test]
fn how_many_attempts_there_are_is_said_by_a_flag_or_the_settings() {
    for (settings, args, attempts) in [
        (json!({}), &[][..], 3),
        (json!({"stories": {"maxRetries": 2}}), &[], 2),
        (json!({"stories": {"maxRetries": 2}}), &["--max-retries", "1"], 1),
    ] {
        let stage = Stage::new("8.3");
        stage.sandbox.settings(&settings);
        stage.run(args, "FAIL no").exits(1);
        assert_eq!(stage.state(), format!(" / 8.3 / {attempts}"));
        let last = format!("[FAIL] Story 8.3 - no - TIME (attempt {attempts}/{attempts})");
        assert_eq!(stage.progress().last(), Some(&last));
    }
}

#[test]
fn a_false_done_is_a_failure_and_the_next_agent_sees_what_the_check_said() {
    let stage = Stage::new("8.3");
    stage.sandbox.write("check.sh", "test -e right || { echo the sum is off by one; exit 1; }\n");
    stage.run(&["--check", "sh check.sh"], "case $try in *#2) : > right ;; esac; DONE").exits(0);
    assert_eq!(
        stage.progress(),
        [
            "[FAIL] Story 8.3 - the agent reported DONE, but 1 check failed: sh check.sh - TIME (attempt 1/3)",
            "[DONE] Story 8.3 - Part 8 3 - TIME",
        ]
    );
    assert!(!stage.prompt("8.3#1").contains("the sum is off by one"));
    assert!(stage.prompt("8.3#2").contains("the sum is off by one"), "{}", stage.prompt("8.3#2"));
    let line = "check sh check.sh failed with exit code 1: the sum is off by one".to_string();
    assert!(stage.log().contains(&line), "{:?}", stage.log());
}
