//! Stories: attempts that begin where the story began, and what ends the run.

use crate::story::{check, play};

const TWO: &str = "stories:1.1+1.2<1.1 backoff:0-0 git";

#[test]
fn a_story_that_is_done_makes_room_for_the_next() {
    check(TWO, "start", "snapshot 1");
    check(TWO, "start tree:A@main", "agent 1");
    check(TWO, "start tree:A@main told:DONE-1.1@main", "judged 1 done, snapshot 2");
    let both = "start tree:A@main told:DONE-1.1@main tree:B@main told:DONE-1.2@main tree:C@main";
    check(TWO, both, "stop completed");
}

#[test]
fn a_failed_attempt_is_put_back_before_the_next_one() {
    let failed = "start tree:A@main told:FAIL-1.1@main";
    check(TWO, failed, "judged 1 retry (too hard), restore 2");
    check(TWO, &format!("{failed} back"), "snapshot 2");
    check(TWO, &format!("{failed} back tree:A@main"), "agent 2");
    check(TWO, "start tree:A@main fail@main", "judged 1 retry (exit code 1), restore 2");
    check(TWO, "start tree:A@main empty@main", "judged 1 retry (No completion signal in output), restore 2");
    let timed_out = "timeout:1800 stories:1.1 backoff:0-0 git";
    check(timed_out, "start tree:A@main due ended", "judged 1 retry (timed out after 1800s), restore 2");
}

#[test]
fn a_false_done_is_a_failed_attempt() {
    let checked = "stories:1.1 checks:1 backoff:0-0 git";
    check(checked, "start tree:A@main told:DONE-1.1@main", "check 1.1");
    let failed = "start tree:A@main told:DONE-1.1@main red";
    check(
        checked,
        failed,
        "judged 1 retry (the agent reported DONE, but 1 check failed: check 1), restore 2",
    );
    let other = "judged 1 retry (the agent reported DONE for 1.2 instead of 1.1), restore 2";
    check(TWO, "start tree:A@main told:DONE-1.2@main", other);
}

#[test]
fn a_story_is_committed_once_it_is_done_and_before_anything_else() {
    let commits = "stories:1.1+1.2 commit backoff:0-0 git";
    let done = "start tree:A@main told:DONE-1.1@main";
    check(commits, done, "judged 1 done, left 1");
    check(commits, &format!("{done} left"), "snapshot 2");
    check(TWO, done, "judged 1 done, snapshot 2");
    // What is put back is not committed.
    check(commits, "start tree:A@main told:FAIL-1.1@main", "judged 1 retry (too hard), restore 2");
    // The last one is, too.
    let last = format!("{done} left tree:B@main told:DONE-1.2@main");
    check(commits, &last, "judged 2 done, left 2");
    // A resumed run begins with it.
    check(commits, &format!("{done} resumed"), "left 1");
}

#[test]
fn attempts_that_fail_the_same_checks_with_the_same_change_are_a_stall() {
    let asked = "n:50 stories:1.1 checks:2 stall:2 backoff:0-0 git";
    let attempt = |tree: &str, checks: &str, changed: &str| {
        format!("tree:{tree}@main told:DONE-1.1@main {checks} back{changed} ")
    };
    let check_after = |attempts: &[String], then: &str| {
        check(asked, &format!("start {}tree:Z@main", attempts.concat()), then);
    };
    // Ralph's own files are part of each tree.
    check_after(&[attempt("A", "red green", ""), attempt("B", "red green", "")], "stop stalled");
    check_after(&[attempt("A", "red green", ":1"), attempt("B", "red green", ":1")], "stop stalled");
    check_after(&[attempt("A", "red green", "")], "agent 2");
    check_after(&[attempt("A", "red green", ":1"), attempt("A", "red green", ":2")], "agent 3");
    check_after(&[attempt("A", "red green", ":1"), attempt("A", "green red", ":1")], "agent 3");
    let gave_up = "tree:A@main told:FAIL-1.1@main green green back ".to_string();
    check_after(&[gave_up.clone(), gave_up.clone()], "stop stalled");
    // An agent that fails is counted by --max-failures.
    let died = "tree:A@main fail@main back ".to_string();
    check_after(&[gave_up, died.clone()], "agent 3");
    check_after(&[died.clone(), died], "agent 3");
    let off = asked.replace("stall:2", "stall:0");
    let twice = attempt("A", "red green", "").repeat(2);
    check(&off, &format!("start {twice}tree:Z@main"), "agent 3");
}

#[test]
fn a_stall_of_attempts_is_counted_from_zero_once_the_run_is_resumed() {
    let attempt = "tree:A@main told:DONE-1.1@main red back ";
    let stalled = format!("start {}tree:Z@main resumed", attempt.repeat(2));
    check("stories:1.1 checks:1 stall:2 backoff:0-0 git", &stalled, "snapshot 3");
    check("stories:1.1 checks:1 stall:2 backoff:0-0 git", &format!("{stalled} tree:Z@main"), "agent 3");
}

#[test]
fn three_failures_halt_with_the_tree_as_it_was_left() {
    let attempt = "tree:A@main told:FAIL-1.1@main";
    let halted = format!("start {attempt} back {attempt} back {attempt}");
    check(TWO, &halted, "judged 3 retry (too hard), snapshot 4");
    check(TWO, &format!("{halted} tree:Z@main"), "stop halted (story 1.1 failed 3 times)");
}

#[test]
fn whoever_resumes_a_halted_run_has_seen_to_the_tree_and_the_story_begins_there() {
    let attempt = "tree:A@main told:FAIL-1.1@main";
    let resumed = format!("start {attempt} back {attempt} back {attempt} tree:Z@main resumed");
    check(TWO, &resumed, "snapshot 4");
    check(TWO, &format!("{resumed} tree:Y@main"), "agent 4");
    let again = format!("{resumed} tree:Y@main told:FAIL-1.1@main");
    check(TWO, &again, "judged 4 retry (too hard), restore 5");
    let (story, _) = play(TWO, &again);
    assert_eq!(story.state.work.base.unwrap().tree, "Y");
}

#[test]
fn attempts_that_are_counted_anew_are_not_used_up() {
    let attempt = "tree:A@main told:FAIL-1.1@main";
    let resumed = format!("start {attempt} back {attempt} back {attempt} tree:Z@main resumed tree:Y@main");
    check("n:3 stories:1.1 backoff:0-0 git", &resumed, "agent 4");
    let over = format!("{resumed} told:FAIL-1.1@main back {attempt} back {attempt} tree:Z@main");
    check("n:3 stories:1.1 backoff:0-0 git", &over, "stop halted (story 1.1 failed 3 times)");
    // A number that was asked for stays what it is.
    check("goal:3 stories:1.1 backoff:0-0 git", &resumed, "stop max_iterations");
}

#[test]
fn what_a_person_changed_while_no_agent_was_at_work_is_where_the_story_begins() {
    // Cut short between the record of the tree and the agent.
    let (story, did) = play(TWO, "start tree:A@main told:FAIL-1.1@main stop back resumed");
    assert_eq!((did.as_str(), story.state.work.base), ("snapshot 2", None));
    // One that is still to be put back is put back to where it was.
    let (story, did) = play(TWO, "start tree:A@main stop told:FAIL-1.1@main resumed");
    assert_eq!((did.as_str(), story.state.work.base.unwrap().tree.as_str()), ("restore 2", "A"));
}

#[test]
fn an_attempt_that_nobody_judged_is_put_back_too() {
    check(TWO, "start tree:A@main resumed", "restore 1");
    check(TWO, "start tree:A@main resumed back tree:A@main", "agent 1.2");
    check(TWO, "start tree:A@main lost", "restore 1");
    check(TWO, "start tree:A@main limited:60@main", "restore 1");
    check(TWO, "start tree:A@main limited:60@main back", "wait until 65s");
    check(TWO, "start tree:A@main stop stop ended", "stop interrupted");
    check(TWO, "start tree:A@main stop stop ended resumed", "restore 1");
    // A crash while the tree was put back: it is put back again.
    check(TWO, "start tree:A@main resumed resumed", "restore 1");
    // What was answered is still judged.
    let checked = "stories:1.1 checks:1 backoff:0-0 git";
    check(checked, "start tree:A@main told:DONE-1.1@main resumed", "check 1.1");
    check("max-time:9 stories:1.1 git", "start tree:A@main due ended", "restore 1");
    check("max-time:9 stories:1.1 git", "start tree:A@main due ended back tree:A@main", "stop timeout");
}

#[test]
fn without_git_there_is_nothing_to_put_back() {
    let plain = "stories:1.1 backoff:0-0";
    check(plain, "start", "agent 1");
    check(plain, "start told:FAIL-1.1", "judged 1 retry (too hard), agent 2");
}

#[test]
fn a_branch_that_is_switched_stops_the_run() {
    let why = "stop error (the branch was switched from main to x during the run)";
    check(TWO, "start tree:A@main told:DONE-1.1@x", why);
    check(TWO, "start tree:A@main told:DONE-1.1@main tree:B@x", why);
    check(TWO, "start tree:A@main told:DONE-1.1@main tree:B@x resumed", "snapshot 2");
    check(TWO, "start tree:A@main told:DONE-1.1@x resumed", "restore 1");
}

#[test]
fn attempts_are_iterations() {
    let one = "n:1 stories:1.1+1.2 backoff:0-0 git";
    check(one, "start tree:A@main told:DONE-1.1@main tree:B@main", "stop max_iterations");
    check(one, "start tree:A@main told:FAIL-1.1@main back tree:A@main", "stop max_iterations");
}

#[test]
fn iterations_that_were_asked_for_are_a_success_unless_the_last_attempt_failed() {
    let succeeds = |n: u32, words: &str| {
        let asked = format!("goal:{n} stories:1.1+1.2 checks:1 backoff:0-0 git");
        let (story, did) = play(&asked, &format!("start {words}"));
        assert_eq!(did, "stop max_iterations", "{words}");
        story.succeeded()
    };
    let failed = "tree:A@main told:FAIL-1.1@main green back";
    let red = "tree:A@main told:DONE-1.1@main red back";
    let died = "tree:A@main fail@main back";
    let done = "tree:A@main told:DONE-1.1@main green";
    assert!(succeeds(1, &format!("{done} tree:B@main")));
    for bad in [failed, red, died] {
        assert!(!succeeds(1, &format!("{bad} tree:A@main")), "{bad}");
        assert!(succeeds(2, &format!("{bad} {done} tree:B@main")), "{bad}, then done");
        let second = bad.replace("1.1", "1.2");
        assert!(!succeeds(2, &format!("{done} {second} tree:A@main")), "done, then {second}");
    }
}

#[test]
fn an_agent_that_says_both_done_and_fail_has_failed() {
    let why = "the agent reported both DONE and FAIL: too hard";
    check(TWO, "start tree:A@main told:BOTH-1.1@main", &format!("judged 1 retry ({why}), restore 2"));
}

#[test]
fn what_waits_for_something_that_is_not_done_is_not_begun() {
    let waits = "stop halted (story 1.2 depends on 9.9, which is not done)";
    check("stories:1.2<9.9", "start", waits);
}

#[test]
fn only_what_is_done_is_committed() {
    let committed = "stories:1.1+1.2 scm:commit backoff:0-0 git";
    check(committed, "start tree:A@main told:DONE-1.1@main tree:B@main", "message 1");
    // The next story begins after that commit.
    let (story, did) = play(committed, "start tree:A@main told:DONE-1.1@main tree:B@main message did");
    assert_eq!((did.as_str(), story.state.work.base), ("snapshot 2", None));
    let failed = "judged 1 retry (too hard), restore 2";
    check(committed, "start tree:A@main told:FAIL-1.1@main", failed);
}

#[test]
fn what_the_next_prompt_tells_of_is_the_attempt_that_failed() {
    let kept = |words: &str| play(TWO, words).0.state.work.tried.and_then(|tried| tried.kept);
    let failed = "start tree:A@main told:FAIL-1.1@main back:1";
    assert_eq!(kept(failed).as_deref(), Some("1"));
    // The one after it was refused by its service, or killed, and is put aside as well.
    assert_eq!(kept(&format!("{failed} tree:A@main limited:60@main back:2")).as_deref(), Some("1"));
    assert_eq!(kept(&format!("{failed} tree:A@main resumed back:2")).as_deref(), Some("1"));
    let twice = format!("{failed} tree:A@main told:FAIL-1.1@main");
    assert_eq!(kept(&twice), None);
    assert_eq!(kept(&format!("{twice} back:2")).as_deref(), Some("2"));
    // Of the attempt that halted the run nothing was put aside.
    let halted = format!("{twice} back:2 tree:A@main told:FAIL-1.1@main tree:Z@main resumed");
    assert_eq!(kept(&halted), None);
}
