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
