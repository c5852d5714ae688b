//! "State Machine": `.ralph/state.json` at each transition of the table.

use super::stage::Stage;

#[test]
fn every_transition_is_in_the_state_while_it_happens() {
    let stage = Stage::new("1.1 1.2 1.3");
    let running = stage.begin(&[], "hold; case $try in 1.1#1 | 1.2#2) DONE ;; *) FAIL no ;; esac");
    for (attempt, transition, state) in [
        ("1.1#1", "PENDING -> RUNNING", " / 1.1 / 0"),
        ("1.2#1", "RUNNING -> DONE -> the next RUNNING", "1.1 / 1.2 / 0"),
        ("1.2#2", "RUNNING -> RETRY", "1.1 / 1.2 / 1"),
        ("1.3#1", "RUNNING -> DONE resets the count", "1.1 1.2 / 1.3 / 0"),
        ("1.3#2", "RUNNING -> RETRY", "1.1 1.2 / 1.3 / 1"),
        ("1.3#3", "RUNNING -> RETRY", "1.1 1.2 / 1.3 / 2"),
    ] {
        stage.until_held(attempt);
        stage.until_transition(transition, state);
        stage.let_go(attempt);
    }
    running.end().exits(1);
    assert_eq!(stage.state(), "1.1 1.2 / 1.3 / 3", "RUNNING -> HALTED");
}

#[test]
fn running_to_done_leaves_nothing_running() {
    let stage = Stage::new("1.1 1.2");
    stage.run(&["-n", "1"], "DONE").exits(0);
    assert_eq!(stage.state(), "1.1 / - / 0");
}

#[test]
fn pending_to_running_keeps_the_count_of_an_earlier_run() {
    let stage = Stage::new("1.1 1.2");
    stage.run(&["-n", "1"], "FAIL first").exits(1);
    assert_eq!(stage.state(), " / 1.1 / 1");
    let running = stage.begin(&["-n", "1"], "hold; FAIL second");
    stage.until_held("1.1#2");
    stage.until_state(" / 1.1 / 1");
    stage.let_go("1.1#2");
    running.end().exits(1);
    assert_eq!(stage.state(), " / 1.1 / 2");
    stage.run(&[], "FAIL third").exits(1).says("MAX RETRIES EXCEEDED");
    assert_eq!(stage.asked(), "1.1 1.1 1.1");
    assert_eq!(stage.progress()[2], "[FAIL] Story 1.1 - third - TIME (attempt 3/3)");
}

#[test]
fn a_new_start_after_a_halt_begins_again_at_0() {
    let stage = Stage::new("1.1");
    stage.run(&[], "FAIL no").exits(1);
    assert_eq!(stage.state(), " / 1.1 / 3");
    let running = stage.begin(&["-s", "1.1"], "hold; FAIL no");
    stage.until_held("1.1#4");
    stage.until_state(" / 1.1 / 0");
    for attempt in 4..=6 {
        stage.let_go(&format!("1.1#{attempt}"));
    }
    running.end().exits(1);
    assert_eq!(stage.progress()[5], "[FAIL] Story 1.1 - no - TIME (attempt 3/3)");
}

#[test]
fn another_story_than_the_one_that_failed_begins_at_0() {
    let stage = Stage::new("1.1 1.2");
    stage.run(&["-n", "2"], "FAIL no").exits(1);
    assert_eq!(stage.state(), " / 1.1 / 2");
    stage.run(&["-s", "1.2", "-n", "1"], "FAIL no").exits(1);
    assert_eq!(stage.state(), " / 1.2 / 1");
}
