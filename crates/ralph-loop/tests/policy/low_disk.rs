//! Disks that are nearly full: no work is begun there, and the run waits for room.

use crate::story::{check, play};

#[test]
fn no_iteration_begins_while_a_disk_is_low() {
    check("min-free:500", "start disk:499 talk", "judged 1 green");
    check("min-free:500", "start disk:500 talk", "judged 1 green, agent 2");
    check("", "start disk:0 talk", "judged 1 green, agent 2");
}

#[test]
fn what_is_in_flight_or_needs_no_agent_goes_on() {
    check("min-free:500 checks:1", "start disk:0 talk", "check 1.1");
    check("min-free:500 checks:1 scm:commit", "start disk:0 talk green", "judged 1 green, message 1");
    check("min-free:500", "start disk:0 done", "judged 1 done, stop completed");
    check("min-free:500 n:1", "start disk:0 talk", "judged 1 green, stop max_iterations");
    // The tree at the end is recorded, as far as that works.
    check("min-free:500 git", "start tree:A disk:0 done", "judged 1 done, snapshot 2");
    check("min-free:500 git", "start tree:A disk:0 done tree:B", "stop completed");
}

#[test]
fn room_is_looked_for_again_and_again_and_the_run_goes_on_by_itself() {
    check("min-free:500", "start disk:0 talk woke", "wait until 1s");
    check("min-free:500", "start disk:0 talk due", "wait until 3s");
    check("min-free:500", "start disk:0 talk due due", "wait until 7s");
    check("min-free:500", "start disk:0 talk due due due due due due due", "wait until 183s");
    check("min-free:500", "start disk:0 talk due due due due due due due due", "wait until 243s");
    check("min-free:500", "start disk:0 talk due disk:500 due", "agent 2");
    // The next time begins anew.
    check("min-free:500", "start disk:0 talk due disk:500 due disk:0 talk woke", "wait until 4s");
}

#[test]
fn a_wait_for_room_uses_up_nothing() {
    let (story, _) = play("min-free:500", "start disk:0 talk due due disk:500 due");
    assert_eq!(
        (story.state.ledger.judged, story.state.work.attempts, story.state.ledger.streaks.failures),
        (1, 1, 0)
    );
    assert_eq!(story.state.ledger.low_disk, None);
}

#[test]
fn the_tree_is_recorded_after_the_wait() {
    check("min-free:500 git", "start tree:A disk:0 talk", "judged 1 green");
    check("min-free:500 git", "start tree:A disk:0 talk disk:500 due", "snapshot 2");
    check("min-free:500 git", "start tree:A disk:0 talk disk:500 due tree:B", "agent 2");
}

#[test]
fn an_empty_answer_is_asked_for_again_once_there_is_room() {
    check("min-free:500", "start disk:0 empty", "wait until 1s");
    check("min-free:500", "start disk:0 empty disk:500 due", "agent 1.2");
}

#[test]
fn a_wait_for_room_ends_like_other_waits() {
    check("min-free:500", "start disk:0 talk stop", "stop interrupted");
    check("min-free:500", "start disk:0 talk leave", "stop paused");
    check("min-free:500", "start disk:0 talk kill", "stop killed");
    check("min-free:500", "start disk:0 talk pause", "wait");
    check("min-free:500 max-time:60", "start disk:0 talk due due due due due", "wait until 60s");
    check("min-free:500 max-time:60", "start disk:0 talk 60s woke", "stop timeout");
    check("min-free:500", "start disk:0 talk leave disk:500 resumed", "agent 2");
}

#[test]
fn whoever_resumes_or_changes_the_least_is_answered_by_a_fresh_look() {
    check("min-free:500", "start disk:0 talk due due leave resumed", "wait until 4s");
    check("min-free:500", "start disk:100 talk set:min-free=100", "agent 2");
    check("min-free:500", "start disk:100 talk set:min-free=101", "wait until 1s");
    check("min-free:500", "start disk:0 talk set:min-free=0", "agent 2");
}

#[test]
fn a_task_list_is_read_again_after_each_wait() {
    let (story, did) = play("min-free:500 tasks:2", "start disk:0 list:A=new");
    assert_eq!(
        (did.as_str(), story.state.ledger.low_disk.map(|low| low.measured)),
        ("wait until 1s", Some(1))
    );
    check("min-free:500 tasks:2", "start disk:0 list:A=new due", "read");
    check("min-free:500 tasks:2", "start disk:0 list:A=new due disk:500 list:A=new", "implement A in 1");
}
