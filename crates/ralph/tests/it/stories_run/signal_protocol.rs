//! "Signal Protocol": what an agent says, and what is made of it.

use super::stage::Stage;

/// One attempt at 8.3 by an agent that says this; what `progress.txt` says about it.
#[track_caller]
fn check(said: &str, expected: &[&str]) {
    let stage = Stage::without_git("8.3");
    stage.sandbox.write("said", said);
    let ran = stage.run(&["--max-retries", "1"], "cat said");
    assert_eq!(stage.progress(), expected, "{said:?}");
    let done = expected.last().is_some_and(|line| line.starts_with("[DONE]"));
    assert_eq!(ran.code, Some(i32::from(!done)), "{said:?}");
}

const DONE: &str = "[DONE] Story 8.3 - Part 8 3 - TIME";

#[track_caller]
fn check_failure(said: &str, why: &str) {
    check(said, &[&format!("[FAIL] Story 8.3 - {why} - TIME (attempt 1/1)")]);
}

#[test]
fn primary_signals() {
    check("<ralph>DONE 8.3</ralph>", &[DONE]);
    check("So: <ralph> DONE 8.3 </ralph>\nBye.", &[DONE]);
    check_failure("I print <ralph>DONE 8.3</ralph> when it is.", "No completion signal in output");
    check_failure("> <ralph>DONE 8.3</ralph>", "No completion signal in output");
    check_failure("<ralph>FAIL 8.3: no network: offline</ralph>", "no network: offline");
    check_failure("<ralph>FAIL 8.3</ralph>", "the agent reported FAIL without a reason");
}

#[test]
fn a_contradiction_is_a_failure() {
    let both = "the agent reported both DONE and FAIL";
    let (done, fail) = ("<ralph>DONE 8.3</ralph>", "<ralph>FAIL 8.3: at first</ralph>");
    check_failure(&format!("{fail}\nBut then:\n{done}"), &format!("{both}: at first"));
    check_failure(&format!("{done}\nOr not:\n{fail}"), &format!("{both}: at first"));
    check_failure("[FAIL]\n[DONE]", both);
    check_failure("[DONE]\n[FAIL]", both);
    check_failure(&format!("{done}\n[FAIL]\n"), both);
    check_failure(&format!("[DONE]\n{fail}"), &format!("{both}: at first"));
}

#[test]
fn a_signal_about_another_story_is_a_failure() {
    check_failure("<ralph>DONE 8.4</ralph>", "the agent reported DONE for 8.4 instead of 8.3");
    check_failure("<ralph>DONE</ralph>", "the agent reported DONE for no story instead of 8.3");
    check_failure("<ralph>FAIL 8.30: x</ralph>", "the agent reported FAIL for 8.30 instead of 8.3: x");
    // The first counts, as it did.
    check_failure(
        "<ralph>DONE 8.4</ralph><ralph>DONE 8.3</ralph>",
        "the agent reported DONE for 8.4 instead of 8.3",
    );
}

#[test]
fn learnings_are_kept_even_if_the_story_fails() {
    check(
        "<ralph>LEARN: a</ralph>\n<ralph>LEARN: b\nc</ralph>\n<ralph>FAIL 8.3: x</ralph><ralph>LEARN: a</ralph>",
        &["[LEARN] a", "[LEARN] b c", "[FAIL] Story 8.3 - x - TIME (attempt 1/1)"],
    );
    check(
        "<ralph>LEARN: a</ralph>",
        &["[LEARN] a", "[FAIL] Story 8.3 - No completion signal in output - TIME (attempt 1/1)"],
    );
}

#[test]
fn legacy_fallback() {
    check("It works.\n[DONE]\n", &[DONE]);
    check_failure("[FAIL]", "the agent reported [FAIL]");
    // Only where there is no other signal, and not in the middle of a sentence.
    check_failure("[DONE]\n<ralph>DONE 8.4</ralph>", "the agent reported DONE for 8.4 instead of 8.3");
    check_failure("I will say [DONE] when it is.", "No completion signal in output");
    check_failure("[DONE] Story 8.3 - from progress.txt", "No completion signal in output");
}

#[test]
fn no_signal_at_all() {
    check_failure("All good!", "No completion signal in output");
    check_failure("", "No completion signal in output");
    check_failure("<ralph>MAYBE 8.3</ralph>", "No completion signal in output");
}
