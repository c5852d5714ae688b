//! What iterations come to, a sentence for each promise: completion, failures, empty
//! answers, stalls, commits.

use crate::story::{Story, check, play, run};
use ralph_loop::limits::EMPTY_ANSWERS_RERUN;
use ralph_loop::next;

// Completion.

#[test]
fn a_claim_counts_only_once_the_checks_are_green() {
    check("checks:1", "start done", "check 1.1");
    check("checks:1", "start done red", "judged 1 red 1, agent 2");
    check("checks:1", "start done green", "judged 1 done, stop completed");
    check("checks:1", "start done red talk green", "judged 2 green, agent 3");
    check("checks:1", "start done red done green", "judged 2 done, stop completed");
}

#[test]
fn every_check_has_to_be_green() {
    check("checks:3", "start done red", "check 1.2");
    check("checks:3", "start done red green red", "judged 1 red 1+3, agent 2");
    check("checks:3", "start done green green red", "judged 1 red 3, agent 2");
    check("checks:3", "start done green green green", "judged 1 done, stop completed");
}

#[test]
fn green_checks_alone_prove_nothing_unless_they_were_to_decide() {
    check("checks:1", "start talk green", "judged 1 green, agent 2");
    check("checks:1", "start said:ALMOST green", "judged 1 green, agent 2");
    check("checks:1 checks-only", "start talk green", "judged 1 done, stop completed");
    check("checks:1 checks-only", "start done red", "judged 1 red 1, agent 2");
}

#[test]
fn without_checks_the_word_alone_decides_and_no_word_is_no_completion() {
    check("", "start done", "judged 1 done, stop completed");
    check("", "start said:done", "judged 1 done, stop completed");
    check("", "start said:UNDONE", "judged 1 green, agent 2");
    check("", "start talk", "judged 1 green, agent 2");
    check("checks-only", "start done", "judged 1 green, agent 2");
}

#[test]
fn a_claim_in_the_last_allowed_iteration_counts() {
    check("n:2", "start talk done", "judged 2 done, stop completed");
    check("n:2", "start talk talk", "judged 2 green, stop max_iterations");
    check("n:1 checks:1", "start done green", "judged 1 done, stop completed");
    check("n:1 checks:1", "start done red", "judged 1 red 1, stop max_iterations");
    check("n:0", "start", "stop max_iterations");
}

#[test]
fn completion_wins_over_every_limit() {
    check("max-cost:1", "start done$5", "judged 1 done, stop completed");
    check("max-time:60", "start 60s done", "judged 1 done, stop completed");
    check("n:1 max-cost:1 max-time:60", "start 60s done$5", "judged 1 done, stop completed");
}

// Failures.

#[test]
fn a_failed_agent_uses_up_its_number_and_is_never_checked() {
    check("checks:1", "start fail", "judged 1 failed (exit code 1)");
    check("checks:1", "start fail due", "agent 2");
    check("n:2", "start fail due fail", "judged 2 failed (exit code 1), stop max_iterations");
}

#[test]
fn failures_in_a_row_wait_1_2_4_up_to_300_seconds() {
    let mut story = Story::open(run("n:100 max-failures:100"));
    let mut waits = Vec::new();
    for _ in 0..12 {
        story.settle();
        story.now_ms += 7_000; // what the agent took; the wait begins at its end
        story.word("fail");
        story.settle();
        let failed_at = story.now_ms;
        story.word("due");
        waits.push((story.now_ms - failed_at) / 1000);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn settings_can_change_the_waits() {
    check("backoff:3-10", "start fail woke", "wait until 3s");
    check("backoff:3-10", "start fail due fail woke", "wait until 9s");
    check("backoff:3-10", "start fail due fail due fail woke", "wait until 19s");
    check("backoff:0-0", "start fail", "judged 1 failed (exit code 1), agent 2");
}

#[test]
fn nothing_begins_before_the_wait_is_over() {
    check("", "start 5s fail woke", "wait until 6s");
    check("git", "start tree:A 5s fail due", "snapshot 2");
}

#[test]
fn a_success_ends_the_row_of_failures() {
    check("", "start fail due fail 9s woke talk fail woke", "wait until 10s");
    let long = "start fail due fail due talk fail due fail due";
    check("max-failures:3", long, "agent 6");
    check("max-failures:3", &format!("{long} fail"), "judged 6 failed (exit code 1), stop too_many_failures");
}

#[test]
fn an_answer_is_a_success_even_if_it_is_empty_or_its_checks_are_red() {
    check("max-failures:2 checks:1", "start fail due talk red fail due", "agent 4");
    check("max-failures:2", "start fail due empty fail due", "agent 3");
}

#[test]
fn so_many_failures_in_a_row_end_the_run() {
    check("", "start fail due fail due fail due fail due", "agent 5");
    let five = "start fail due fail due fail due fail due fail";
    check("", five, "judged 5 failed (exit code 1), stop too_many_failures");
    check("max-failures:1", "start fail", "judged 1 failed (exit code 1), stop too_many_failures");
}

#[test]
fn a_failed_agent_leaves_the_feedback_of_the_checks_before_it() {
    let (story, _) = play("checks:2", "start talk red green fail due");
    assert_eq!(story.state.work.feedback.iter().map(|r| r.index).collect::<Vec<_>>(), [0]);
    let (story, _) = play("checks:2", "start talk red green talk green green");
    assert!(story.state.work.feedback.is_empty());
}

// Empty answers.

#[test]
fn an_empty_answer_is_run_again_three_times_at_no_cost_in_iterations() {
    assert_eq!(EMPTY_ANSWERS_RERUN, 3);
    check("n:1", "start empty", "agent 1.2");
    check("n:1", "start empty empty empty", "agent 1.4");
    check("n:1 checks:1", "start empty empty empty empty", "check 1.1");
    check("n:1", "start empty empty empty empty", "judged 1 green, stop max_iterations");
    check("n:1 checks:1", "start empty empty empty done green", "judged 1 done, stop completed");
}

#[test]
fn each_iteration_has_its_own_reruns() {
    check("", "start empty empty empty talk empty empty empty", "agent 2.4");
    check("", "start empty empty fail due empty empty empty", "agent 2.4");
}

#[test]
fn an_empty_answer_is_as_good_as_any_where_nobody_listens() {
    check("checks:1 checks-only", "start empty", "check 1.1");
    check("checks:1 checks-only", "start empty green", "judged 1 done, stop completed");
}

#[test]
fn nothing_is_run_again_out_of_time_or_after_a_stop() {
    check("max-time:60", "start 60s empty", "stop timeout");
    check("", "start stop empty", "stop interrupted");
    check("", "start stop empty resumed", "agent 1.2");
}

// Stalls.

#[test]
fn iterations_that_fail_alike_and_change_nothing_are_a_stall() {
    let asked = "git checks:2 stall:3";
    let twice = "start tree:A talk red green tree:A talk red green tree:A";
    check(asked, twice, "agent 3");
    check(asked, &format!("{twice} talk red green tree:A"), "stop stalled");
    check("git checks:2 stall:1", "start tree:A talk red green tree:A", "stop stalled");
}

#[test]
fn other_failed_checks_begin_the_count_anew() {
    let asked = "git checks:2 stall:2";
    check(asked, "start tree:A talk red green tree:A talk green red tree:A", "agent 3");
    check(asked, "start tree:A talk red green tree:A talk red red tree:A", "agent 3");
    check(
        asked,
        "start tree:A talk red green tree:A talk green red tree:A talk green red tree:A",
        "stop stalled",
    );
}

#[test]
fn a_changed_tree_sets_the_count_back() {
    let asked = "git checks:1 stall:2";
    let changed = "start tree:A talk red tree:A talk red tree:B";
    check(asked, changed, "agent 3");
    check(asked, &format!("{changed} talk red tree:B"), "agent 4");
    check(asked, &format!("{changed} talk red tree:B talk red tree:B"), "stop stalled");
    check(asked, "start tree:A talk red tree:B talk red tree:A talk red tree:B", "agent 4");
}

#[test]
fn iterations_without_failed_checks_never_count() {
    let asked = "n:100 max-failures:100 git checks:1 stall:2";
    check(asked, &format!("start tree:A {}", "talk green tree:A ".repeat(20)), "agent 21");
    check(asked, &format!("start tree:A {}", "fail due tree:A ".repeat(20)), "agent 21");
    check(asked, "start tree:A talk red tree:A talk green tree:A talk red tree:A", "agent 4");
    check(asked, "start tree:A talk red tree:A fail due tree:A talk red tree:A", "agent 4");
    check("git n:100 stall:2", &format!("start tree:A {}", "talk tree:A ".repeat(20)), "agent 21");
}

#[test]
fn a_run_is_never_ended_on_a_guess() {
    let asked = "n:100 git checks:1 stall:2";
    check(asked, &format!("start tree:? {}", "talk red tree:? ".repeat(20)), "agent 21");
    check(asked, "start tree:A talk red tree:A talk red tree:? talk red tree:A", "agent 4");
    check(
        "n:100 checks:1 stall:2",
        &format!("start {}", "talk red ".repeat(20)),
        "judged 20 red 1, agent 21",
    );
}

#[test]
fn stalls_can_be_turned_off() {
    let long = format!("start tree:A {}", "talk red tree:A ".repeat(50));
    check("n:100 git checks:1 stall:0", &long, "agent 51");
}

#[test]
fn a_stall_is_counted_across_a_resume() {
    check("git checks:1 stall:2", "start tree:A talk red tree:A talk resumed red tree:A", "stop stalled");
    check("git checks:1 stall:2", "start tree:A talk red resumed tree:A talk red tree:A", "stop stalled");
}

#[test]
fn trees_are_recorded_only_where_something_needs_them() {
    let first = |asked: &str, checkpoints| {
        let mut story = Story::open(run(asked));
        story.run.checkpoints = checkpoints;
        story.show(&next(&story.run, &story.state))
    };
    assert_eq!(first("git", true), "snapshot 1");
    assert_eq!(first("git checks:1 stall:1", false), "snapshot 1");
    assert_eq!(first("git stall:1", false), "agent 1");
    assert_eq!(first("git checks:1", false), "agent 1");
    assert_eq!(first("checks:1 stall:1", true), "agent 1");
}

// Source control.

#[test]
fn green_iterations_are_committed_the_completing_one_included() {
    let asked = "checks:1 scm:commit+push";
    check(asked, "start talk green", "judged 1 green, message 1");
    check(asked, "start talk green message", "scm 1.1");
    check(asked, "start talk green message did", "scm 1.2");
    check(asked, "start talk green message did did", "agent 2");
    check(asked, "start done green", "judged 1 done, message 1");
    check(asked, "start done green message did did", "stop completed");
    check("n:1 scm:commit", "start talk", "judged 1 green, message 1");
    check("n:1 scm:commit", "start talk message did", "stop max_iterations");
    check("scm:push", "start talk", "judged 1 green, scm 1.1");
}

#[test]
fn other_iterations_are_not_committed() {
    check("checks:1 scm:commit", "start talk red", "judged 1 red 1, agent 2");
    check("checks:1 scm:commit", "start talk green message did talk red", "judged 2 red 1, agent 3");
    check("scm:commit", "start fail due", "agent 2");
    check("checks:1 scm:commit", "start talk green message did fail due", "agent 3");
}

#[test]
fn a_failed_task_ends_the_tasks_of_its_iteration_and_nothing_else() {
    let asked = "max-failures:1 scm:commit+push";
    check(asked, "start talk undone", "agent 2");
    check(asked, "start talk message undone", "agent 2");
    check(asked, "start talk message did undone", "agent 2");
    check(asked, "start done undone", "stop completed");
    check(asked, "start talk undone talk", "judged 2 green, message 2");
}

#[test]
fn a_commit_that_was_cut_short_is_taken_up_again() {
    let asked = "scm:commit+push";
    check(asked, "start stop talk", "judged 1 green, stop interrupted");
    check(asked, "start stop talk resumed", "message 1");
    check(asked, "start talk stop stop ended resumed", "message 1");
    check(asked, "start talk message resumed", "scm 1.1");
    check(asked, "start talk message did resumed", "scm 1.2");
    check(asked, "start done message did lost did", "stop completed");
    check(asked, "start talk message$0.50 stop did resumed did", "agent 2");
}

#[test]
fn the_tree_at_the_end_is_recorded_too() {
    check("git", "start tree:A done", "judged 1 done, snapshot 2");
    check("git", "start tree:A done tree:B", "stop completed");
    check("git n:1", "start tree:A talk tree:B", "stop max_iterations");
    check("git scm:commit", "start tree:A done tree:B message did", "snapshot 2");
}

const JSON_STOP: &str = "stop error (the agent prints only JSON in a format ralph does not know: \
                         make it print text, or use --checks-only)";

#[test]
fn an_agent_that_prints_json_alone_is_run_once_where_its_word_counts() {
    check("", "start json", &format!("judged 1 green, {JSON_STOP}"));
    check("n:1 checks:1", "start json red", &format!("judged 1 red 1, {JSON_STOP}"));
    check("", "start talk json", "judged 2 green, agent 3");
    check("agents:2", "start talk limited json", &format!("judged 2 green, {JSON_STOP}"));
    check("", "start json resumed", "agent 2");
    check("", "start json resumed json", &format!("judged 2 green, {JSON_STOP}"));
    check("checks:1 checks-only", "start json red", "judged 1 red 1, agent 2");
    check("never", "start json", "judged 1 green, agent 2");
    check("pattern:x", "start json", "judged 1 green, agent 2");
    let stop = "stop error (the agent prints only JSON in a format ralph does not know: make it print text)";
    check("stories:1.1", "start json", &format!("judged 1 retry (No completion signal in output), {stop}"));
}

#[test]
fn an_empty_answer_is_repeated_only_if_the_tree_is_as_it_was() {
    check("git", "start tree:A quiet", "snapshot 1");
    check("git", "start tree:A quiet tree:A", "agent 1.2");
    check("git n:1", "start tree:A quiet tree:B", "judged 1 green, snapshot 2");
    check("git checks:1", "start tree:A quiet tree:B", "check 1.1");
    check("git checks:1", "start tree:A quiet tree:A quiet tree:B", "check 1.1");
    // A commit is work, and so is what no tree holds.
    check("git checks:1", "start tree:A+1 quiet tree:A+2", "check 1.1");
    check("git checks:1", "start tree:A+1%x quiet tree:A+1%y", "check 1.1");
    check("git checks:1", "start tree:A quiet tree:A%x", "check 1.1");
    check("git checks:1", "start tree:A+1%x quiet tree:A+1%x", "agent 1.2");
    check("git", "start tree:A quiet tree:?", "judged 1 green, snapshot 2");
    check("git", "start tree:A empty tree:?", "agent 1.2");
    check("git", "start tree:A pause quiet", "wait");
    check("git", "start tree:A quiet resumed", "snapshot 1");
    // Where the tree is not recorded, a plain agent is taken to have worked.
    check("checks:1", "start quiet", "check 1.1");
    check("checks:1", "start empty", "agent 1.2");
    // What an empty answer left is no tree before an iteration.
    check("git checks:1 stall:1", "start tree:A quiet tree:B red tree:B", "agent 2");
}

#[test]
fn source_control_has_nothing_to_do_where_nothing_has_changed() {
    let scm = "git scm:commit+push";
    check(scm, "start tree:A talk", "judged 1 green, snapshot 2");
    check(scm, "start tree:A talk tree:A", "agent 2");
    check(scm, "start tree:A talk tree:A%x", "message 1");
    check(scm, "start tree:A talk tree:B", "message 1");
    check(scm, "start tree:A talk tree:?", "message 1");
    check(scm, "start tree:A talk tree:B message did did", "snapshot 2");
    let committed = "start tree:A talk tree:B message did did tree:B talk";
    check(scm, &format!("{committed} tree:B"), "agent 3");
    check(scm, &format!("{committed} tree:C"), "message 2");
    // What could not be committed, or has not been green, is still to be.
    check(scm, "start tree:A talk tree:B message undone tree:B talk tree:B", "message 2");
    let red = "git scm:commit+push checks:1";
    check(red, "start tree:A talk red tree:B talk green tree:B", "message 2");
    // Another program than git cannot be asked.
    check("scm:commit", "start talk", "judged 1 green, message 1");
}
