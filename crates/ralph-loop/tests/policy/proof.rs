//! What a result is worth: baseline, rounds and words.

use crate::story::check;

#[test]
fn the_checks_run_once_before_the_first_agent() {
    check("checks:2 proof", "start", "prepare 1 baseline");
    check("checks:2 proof", "start copy", "check 1.1 baseline");
    check("checks:2 proof", "start copy green", "check 1.2 baseline");
    check("checks:2 proof", "start copy green green", "agent 1");
    check("checks:2 proof no-baseline", "start", "prepare 1 baseline");
    check("checks:2 proof no-baseline", "start copy", "agent 1");
    check("proof", "start", "agent 1");
}

#[test]
fn a_green_baseline_ends_nothing() {
    check("checks:1 checks-only proof", "start copy green", "agent 1");
}

#[test]
fn what_is_red_on_the_copy_is_tried_in_the_workspace_before_any_agent() {
    check("checks:2 proof", "start copy red green", "check 1.1 baseline in place");
    check("checks:2 proof", "start copy green red", "check 1.2 baseline in place");
    check("checks:2 proof", "start copy red green red", "agent 1");
}

#[test]
fn a_check_that_passes_only_in_the_workspace_makes_the_proof_in_place() {
    let green_there = "start copy red green";
    check("checks:1 proof", green_there, "agent 1");
    let why = "a check passes in the working tree and fails on a clean copy";
    check("checks:1 proof:clean", green_there, &format!("stop no_clean_copy ({why})"));
    check("checks:1 proof:strict", "start copy:place", "stop no_clean_copy (no bwrap)");
    check("checks:1 proof", "start copy:place", "check 1.1 baseline");
}

#[test]
fn a_baseline_that_was_cut_short_begins_again() {
    check("checks:2 proof", "start copy green resumed", "prepare 1 baseline");
    check("checks:1 proof", "start copy green talk resumed", "check 1.1");
}

#[test]
fn a_claim_is_checked_on_what_is_delivered() {
    check("checks:1 proof", "start copy red red talk", "check 1.1");
    check("checks:1 proof", "start copy red red done", "prepare 1 delivered");
    check("checks:1 proof", "start copy red red done copy", "check 1.1 delivered");
    check("checks:1 proof", "start copy red red done copy green", "judged 1 done proven, stop completed");
}

#[test]
fn what_is_red_on_the_copy_is_explained_by_the_workspace() {
    check("checks:2 proof", "start copy green green done copy green red", "check 1.2");
    check("checks:2 proof", "start copy green green done copy green red green", "judged 1 red 2, agent 2");
    check("checks:1 proof", "start copy:place green done copy:place red", "judged 1 red 1, agent 2");
}

#[test]
fn changed_tests_are_put_back_for_one_more_round() {
    let claim = "start copy red red done copy:gates green";
    check("checks:1 proof", claim, "prepare 1 start gates");
    check("checks:1 proof", &format!("{claim} copy green"), "judged 1 done proven, stop completed");
    check("checks:1 proof", &format!("{claim} copy red"), "judged 1 done changed_tests, stop completed");
    check("checks:1 proof:strict", &format!("{claim} copy red"), "judged 1 refused (changed_tests), agent 2");
}

#[test]
fn tests_of_the_start_that_cannot_be_put_back_show_nothing() {
    let claim = "start copy red red done copy:gates green copy:place";
    check("checks:1 proof", claim, "judged 1 done changed_tests, stop completed");
    let claim = "start copy green done copy:new green copy:place";
    check("checks:1 proof", claim, "judged 1 done pass_as_before, stop completed");
}

#[test]
fn new_tests_are_tried_on_the_old_source() {
    let claim = "start copy green done copy:new green";
    check("checks:1 proof", claim, "prepare 1 old source");
    check("checks:1 proof", &format!("{claim} copy red"), "judged 1 done proven, stop completed");
    check("checks:1 proof", &format!("{claim} copy green"), "judged 1 done pass_as_before, stop completed");
}

#[test]
fn in_place_a_changed_test_is_never_proven() {
    let before = "start copy:place red done";
    check(
        "checks:1 proof",
        &format!("{before} copy:place green"),
        "judged 1 done proven_in_place, stop completed",
    );
    check(
        "checks:1 proof",
        &format!("{before} copy:place+gates green"),
        "judged 1 done changed_tests, stop completed",
    );
}

#[test]
fn each_word_has_its_reason() {
    let green = "start copy green done";
    check("checks:1 proof", &format!("{green} copy green"), "judged 1 done pass_as_before, stop completed");
    check(
        "checks:1 proof",
        &format!("{green} copy:same green"),
        "judged 1 done nothing_changed, stop completed",
    );
    check("checks:1 proof no-baseline", "start copy done copy green", "judged 1 done pass, stop completed");
    check("proof", "start done", "judged 1 done no_checks, stop completed");
}

#[test]
fn dependencies_are_installed_before_the_checks_run_on_the_copy() {
    let claim = "start copy red red done copy:setup";
    check("checks:1 proof setup", claim, "setup 1.1 delivered");
    check("checks:1 proof setup", &format!("{claim} green"), "setup 1.2 delivered");
    check("checks:1 proof setup", &format!("{claim} green green"), "check 1.1 delivered");
    check(
        "checks:1 proof setup",
        &format!("{claim} green green green"),
        "judged 1 done proven, stop completed",
    );
}

#[test]
fn a_setup_that_fails_makes_the_proof_in_place() {
    let failed = "start copy red red done copy:setup red";
    check("checks:1 proof setup", failed, "check 1.1 delivered");
    check(
        "checks:1 proof setup",
        &format!("{failed} green"),
        "judged 1 done proven_in_place, stop completed",
    );
    let why = "proof.setup failed with exit code 1";
    check("checks:1 proof:clean setup", failed, &format!("stop no_clean_copy ({why})"));
    check("checks:1 proof setup", "start copy:setup red", "check 1.1 baseline");
}

/// A claim that is red on the copy and green in the workspace.
const ONLY_IN_PLACE: &str = " done copy red green";

#[test]
fn three_claims_in_a_row_that_pass_only_in_the_workspace_stop_the_run() {
    let start = "start copy red red";
    let note = "`check 1` passes in the working tree and fails on a clean copy";
    let stops = format!("stop stalled ({note})");
    for options in ["checks:1 proof", "checks:1 proof:clean", "checks:1 proof:strict"] {
        let claims = |times: usize| format!("{start}{}", ONLY_IN_PLACE.repeat(times));
        check(options, &claims(1), "judged 1 red 1, agent 2");
        check(options, &claims(2), "judged 2 red 1, agent 3");
        check(options, &claims(3), &format!("judged 3 red 1, {stops}"));
        // The user who resumes it has seen that.
        check(options, &format!("{} resumed", claims(3)), "agent 4");
    }
}

#[test]
fn only_claims_that_pass_only_in_the_workspace_count() {
    let (start, two) = ("start copy red red", ONLY_IN_PLACE.repeat(2));
    let note = "`check 1` passes in the working tree and fails on a clean copy";
    // An iteration without a claim says nothing about the copy, and neither does a failed agent.
    let stops = format!("judged 4 red 1, stop stalled ({note})");
    check("checks:1 proof", &format!("{start}{two} talk green{ONLY_IN_PLACE}"), &stops);
    check("checks:1 proof", &format!("{start}{two} fail 9s woke{ONLY_IN_PLACE}"), &stops);
    // Red in both places is the agent's to fix.
    check("checks:1 proof", &format!("{start}{two} talk red{ONLY_IN_PLACE}"), "judged 4 red 1, agent 5");
    check(
        "checks:1 proof",
        &format!("{start}{two} done copy red red{ONLY_IN_PLACE}"),
        "judged 4 red 1, agent 5",
    );
    let one_is_red = "start copy red red red red done copy red red green red";
    check("checks:2 proof", one_is_red, "judged 1 red 1+2, agent 2");
    // What is done is done.
    check("checks:1 proof", &format!("{start}{two} done copy green"), "judged 3 done proven, stop completed");
}

#[test]
fn what_is_red_inside_is_tried_outside_the_sandbox_before_any_agent() {
    let confined = "checks:2 proof confined";
    check(confined, "start copy red green", "check 1.1 baseline in place");
    check(confined, "start copy red green red", "check 1.1 baseline outside");
    check(confined, "start copy red red green red", "check 1.2 baseline outside");
    check(confined, "start copy red red red red", "check 1.1 baseline outside");
    check(confined, "start copy red red red red red", "check 1.2 baseline outside");
    // Without a copy it has run in the workspace already.
    check("checks:1 proof confined", "start copy:place red", "check 1.1 baseline outside");
    check("checks:1 proof:in-place confined", "start copy:place red", "check 1.1 baseline outside");
}

#[test]
fn what_is_red_everywhere_is_for_the_agent() {
    check("checks:2 proof confined", "start copy red red red red red red", "agent 1");
    check("checks:1 proof confined:required", "start copy:place red red", "agent 1");
}

#[test]
fn what_is_green_inside_runs_nowhere_else() {
    check("checks:1 proof confined", "start copy green", "agent 1");
    // The proof is in place for this run.
    check("checks:1 proof confined", "start copy red green", "agent 1");
    check("checks:1 proof", "start copy red red", "agent 1");
}

#[test]
fn a_check_that_passes_only_outside_stops_the_run() {
    let only = "`check 1` passes only outside the sandbox";
    for confined in ["checks:1 proof confined", "checks:1 proof confined:required"] {
        check(confined, "start copy red red green", &format!("stop sandbox_in_the_way ({only})"));
        let why = format!("{only}: /x cannot be read inside (sandbox.read)");
        check(confined, "start copy red red green:/x", &format!("stop sandbox_in_the_way ({why})"));
        check(confined, "start copy:place red green", &format!("stop sandbox_in_the_way ({only})"));
    }
    // All of them are tried first, so that everything that is missing is named at once.
    let two = format!("{only}; `check 2` passes only outside the sandbox");
    check("checks:2 proof confined", "start copy red red red red green", "check 1.2 baseline outside");
    check(
        "checks:2 proof confined",
        "start copy red red red red green green",
        &format!("stop sandbox_in_the_way ({two})"),
    );
}

#[test]
fn a_test_that_passes_only_outside_counts_if_the_check_is_red_there_too() {
    let why = "2 tests of `check 1` pass only outside the sandbox (a, b)";
    check(
        "checks:1 proof confined",
        "start copy red red red:a+b",
        &format!("stop sandbox_in_the_way ({why})"),
    );
    let why = "1 test of `check 1` passes only outside the sandbox (a)";
    check(
        "checks:1 proof confined",
        "start copy:place red red:a",
        &format!("stop sandbox_in_the_way ({why})"),
    );
}

#[test]
fn a_check_that_takes_too_long_outside_is_no_reason_to_stop() {
    check("checks:1 proof confined", "start copy red red 120s due ended", "agent 1");
}

#[test]
fn without_a_baseline_nothing_is_tried_outside() {
    check("checks:1 proof no-baseline confined", "start copy", "agent 1");
}

#[test]
fn a_sandbox_in_the_way_is_looked_for_once_a_run_and_again_only_after_that_stop() {
    let confined = "checks:1 proof confined";
    check(confined, "start copy red red resumed", "prepare 1 baseline");
    check(confined, "start copy red red green resumed", "prepare 1 baseline");
    check(confined, "start copy red red green resumed copy green", "agent 1");
    check(confined, "start copy red red red resumed", "agent 1.2");
}
