//! The review cycle: what is picked, what an agent's word is worth, and who is asked at the end.

use crate::story::check;

const TASKS: &str = "tasks:5 git checks:1 n:15";

#[test]
fn feedback_comes_before_reviews_and_reviews_before_anything_new() {
    check(TASKS, "start", "read");
    check(TASKS, "start list:A=new+B=new", "snapshot 1");
    check(TASKS, "start list:A=new+B=new tree:X", "implement A in 1");
    check(TASKS, "start list:A=new+B=waiting tree:X", "review B in 1");
    check(TASKS, "start list:A=new+B=waiting+C=back1 tree:X", "review-fix C in 1");
    check(TASKS, "start list:A=right1+B=right1", "snapshot 1");
    check(TASKS, "start list:A=right1+B=right1 tree:X", "stop completed");
}

#[test]
fn a_story_is_implemented_reviewed_and_done() {
    let implemented = "start list:A=new tree:X talk";
    check(TASKS, implemented, "compare");
    check(TASKS, &format!("{implemented} list:A=waiting"), "check 1.1");
    check(TASKS, &format!("{implemented} list:A=waiting green"), "compare");
    check(TASKS, &format!("{implemented} list:A=waiting green list:A=waiting"), "judged 1 green, read");
    let seen = format!("{implemented} list:A=waiting green list:A=waiting list:A=waiting");
    check(TASKS, &seen, "left 1");
    // Git may have run what the agent has written.
    check(TASKS, &format!("{seen} left"), "read");
    check(TASKS, &format!("{seen} left list:A=waiting"), "snapshot 2");
    let reviewed = format!("{seen} left list:A=waiting tree:Y done list:A=right1");
    check(TASKS, &reviewed, "check 2.1");
    check(TASKS, &format!("{reviewed} green list:A=right1"), "judged 2 done, read");
    let done = format!("{reviewed} green list:A=right1 list:A=right1 left list:A=right1 tree:Z");
    check(TASKS, &done, "stop completed");
}

#[test]
fn an_approval_with_red_checks_goes_back_with_their_output() {
    let reviewed = "start list:A=waiting tree:X talk list:A=right1";
    check(TASKS, &format!("{reviewed} red list:A=right1"), "judged 1 red 1, request changes A");
    check(TASKS, &format!("{reviewed} red list:A=right1 list:A=back1"), "read");
    let back = format!("{reviewed} red list:A=right1 list:A=back1 list:A=back1 left list:A=back1 tree:Y");
    check(TASKS, &back, "review-fix A in 2");
    // A crash before it was written: it is written then.
    check(TASKS, &format!("{reviewed} red list:A=right1 resumed"), "request changes A");
}

#[test]
fn at_the_cap_a_person_is_asked_instead_of_approving_what_is_red() {
    let capped = "start list:A=waiting4 tree:X talk list:A=right5 red list:A=right5";
    check(TASKS, capped, "judged 1 red 1, request changes A");
    let why =
        "stop halted (A reached its review cap of 5 and its checks still fail: a person has to look at it)";
    check(TASKS, &format!("{capped} list:A=back5 list:A=back5 left list:A=back5 tree:Y"), why);
    let resumed = format!("{capped} list:A=back5 list:A=back5 left list:A=back5 tree:Y resumed list:A=back5");
    check(TASKS, &resumed, "review-fix A in 2");
    check(
        TASKS,
        "start list:A=waiting4 tree:X talk list:A=right5 green list:A=right5",
        "judged 1 done, read",
    );
}

#[test]
fn what_a_failed_agent_says_is_unsaid() {
    let failed = "start list:A=waiting tree:X fail list:A=right1";
    check(TASKS, failed, "judged 1 failed (exit code 1), unsay A");
    check(TASKS, "start list:A=new tree:X fail list:A=waiting", "judged 1 failed (exit code 1), read");
}

#[test]
fn an_agent_that_nobody_judges_has_not_changed_the_list() {
    check(TASKS, "start list:A=new tree:X resumed", "put back");
    check(TASKS, "start list:A=new tree:X resumed list:A=new", "read");
    check(TASKS, "start list:A=new tree:X resumed list:A=new list:A=new", "implement A in 1");
    check(TASKS, "start list:A=new tree:X limited:60", "put back");
    check(TASKS, "start list:A=new tree:X lost", "put back");
    // One that has answered is compared before anybody else can touch the list.
    check(TASKS, "start list:A=new tree:X stop talk", "compare");
    check(TASKS, "start list:A=new tree:X stop talk list:A=waiting", "stop interrupted");
    check(TASKS, "start list:A=new tree:X stop talk list:A=waiting resumed", "read");
    check(TASKS, "start list:A=new tree:X stop talk list:A=waiting resumed list:A=waiting", "check 1.1");
}

#[test]
fn the_list_is_put_right_before_a_run_stops() {
    // What stands there afterwards is a person's.
    let ended = "start list:A=new tree:X stop stop ended";
    check(TASKS, ended, "put back");
    check(TASKS, &format!("{ended} list:A=new"), "stop interrupted");
    check(TASKS, &format!("{ended} list:A=new resumed"), "read");
    check(TASKS, "start list:A=new tree:X kill ended", "put back");
    check(TASKS, "start list:A=new tree:X kill ended list:A=new", "stop killed");
    check(TASKS, "start list:A=new tree:X kill talk", "put back");
    let red = "start list:A=waiting tree:X talk list:A=right1 stop red list:A=right1";
    check(TASKS, red, "judged 1 red 1, request changes A");
    check(TASKS, &format!("{red} list:A=back1"), "stop interrupted");
    // Once: what cannot be done is reported, and not tried for ever.
    check(TASKS, &format!("{ended} impossible:gone"), "stop error (gone)");
    check(TASKS, "start list:A=new tree:X kill ended impossible:gone", "stop killed");
}

#[test]
fn what_a_person_changes_while_the_run_waits_is_read_before_the_next_agent() {
    let failed = "start list:A=new tree:X fail list:A=new list:A=new left list:A=new";
    check(TASKS, &format!("{failed} due"), "read");
    check(TASKS, &format!("{failed} due list:A=right1+B=new tree:X"), "implement B in 2");
    let limited = "start list:A=new tree:X limited:60 list:A=new list:A=new";
    check(TASKS, &format!("{limited} due"), "read");
    let paused = "start list:A=new tree:X pause talk list:A=waiting green list:A=waiting list:A=waiting left list:A=waiting";
    check(TASKS, paused, "wait");
    check(TASKS, &format!("{paused} continue"), "read");
    check(TASKS, &format!("{paused} continue list:A=new tree:Y"), "implement A in 2");
    // Also where an agent that gave no answer would have been sent again.
    let silent = "start list:A=new tree:X empty list:A=new tree:X";
    check(TASKS, silent, "implement A in 1");
    let paused = "start list:A=new tree:X pause empty list:A=new";
    check(TASKS, paused, "wait");
    check(TASKS, &format!("{paused} continue"), "read");
    check(TASKS, &format!("{paused} continue list:A=new"), "check 1.1");
    check(TASKS, &format!("{paused} continue list:A=new green"), "compare");
    check(TASKS, &format!("{paused} continue list:A=new green list:A=new"), "judged 1 green, read");
}

#[test]
fn what_commits_and_pushes_leave_of_the_list_is_looked_at_before_anything_else() {
    let scm = "tasks:5 git checks:1 n:15 scm:commit+push";
    let judged = "start list:A=new tree:X talk list:A=waiting green list:A=waiting list:A=waiting tree:Y";
    check(scm, judged, "message 1");
    check(scm, &format!("{judged} message"), "read");
    check(scm, &format!("{judged} message list:A=waiting"), "scm 1.1");
    check(scm, &format!("{judged} message list:A=waiting did"), "read");
    check(scm, &format!("{judged} message list:A=waiting stop did"), "read");
    check(scm, &format!("{judged} message list:A=waiting stop did list:A=waiting"), "stop interrupted");
    check(scm, &format!("{judged} message resumed"), "read");
}

#[test]
fn a_check_does_no_more_to_the_list_than_its_agent_may() {
    let two = "tasks:5 git checks:2 n:15";
    let answered = "start list:A=new tree:X talk list:A=waiting";
    check(two, &format!("{answered} green"), "check 1.2");
    check(two, &format!("{answered} green green"), "compare");
    check(two, &format!("{answered} green stop green"), "compare");
    check(two, &format!("{answered} stop green list:A=waiting"), "stop interrupted");
    // After that, what has changed may be a person's, but not what the checks make of it.
    let resumed = format!("{answered} stop green list:A=waiting resumed");
    check(two, &resumed, "read");
    check(two, &format!("{resumed} list:A=right0 green green"), "compare");
    let judged = format!("{resumed} list:A=right0 green green list:A=right0");
    check(two, &judged, "judged 1 done, read");
    // What a check that was cut short has left counts as the check's.
    check(two, &format!("{answered} resumed"), "compare");
    check(two, &format!("{answered} green resumed"), "compare");
    check(two, &format!("{answered} green resumed list:A=waiting"), "check 1.1");
    check(two, &format!("{answered} green impossible:gone"), "compare");
    check(two, &format!("{answered} green impossible:gone list:A=waiting"), "stop error (gone)");
}

#[test]
fn without_reviews_whoever_implements_says_so_and_the_checks_decide() {
    let fast = "tasks:0 git checks:1 n:15";
    check(fast, "start list:A=new tree:X talk list:A=right", "check 1.1");
    check(fast, "start list:A=new tree:X talk list:A=right green list:A=right", "judged 1 done, read");
    check(
        fast,
        "start list:A=new tree:X talk list:A=right red list:A=right",
        "judged 1 red 1, request changes A",
    );
}

#[test]
fn a_tag_is_not_believed_and_not_needed() {
    check(
        TASKS,
        "start list:A=new tree:X said:COMPLETE list:A=waiting green list:A=waiting",
        "judged 1 green, read",
    );
}

#[test]
fn other_eyes_review() {
    let eyes = "tasks:5 git n:15 reviewer";
    check(eyes, "start list:A=new tree:X", "implement A in 1");
    check(eyes, "start list:A=waiting tree:X", "review A in 1 by 1");
    // While its service refuses, another agent does.
    let refused = "start list:A=waiting tree:X limited:60 list:A=waiting list:A=waiting";
    check(eyes, refused, "review A in 1");
}

#[test]
fn what_can_never_be_worked_on_is_told() {
    check("tasks:5", "start impossible:gone", "stop error (gone)");
}

#[test]
fn iterations_that_bring_no_story_further_are_a_stall() {
    // Nothing is done; what is done is undone; something else is done; the agent fails.
    let idle = " talk list:A=new list:A=new left list:A=new tree:X";
    let cheats = " talk list:A=new!passes list:A=new left list:A=new tree:X talk list:A=new!count list:A=new left list:A=new tree:X";
    let works = " talk list:A=new list:A=new left list:A=new tree:Y talk list:A=new list:A=new left list:A=new tree:Z";
    let fails = " fail list:A=new list:A=new left list:A=new due list:A=new tree:X";
    for asked in ["tasks:5 git n:15 stall:3", "tasks:0 git n:15 stall:3"] {
        let check_after =
            |rounds: &str, next: &str| check(asked, &format!("start list:A=new tree:X{rounds}"), next);
        check_after(&idle.repeat(2), "implement A in 3");
        check_after(&idle.repeat(3), "stop stalled");
        check_after(&format!("{cheats}{idle}"), "stop stalled");
        // That may be progress.
        check_after(&format!("{idle}{works}{idle}"), "implement A in 5");
        // Failures have a limit of their own.
        check_after(&format!("{idle}{idle}{fails}{idle}"), "implement A in 5");
    }
}

#[test]
fn the_same_illegal_edit_again_and_again_is_a_stall_whatever_else_it_does() {
    let cheat =
        |what: &str, tree: &str| format!(" talk list:A=new!{what} list:A=new left list:A=new tree:{tree}");
    let thrice = ["P", "Q", "R"].map(|tree| cheat("passes", tree)).concat();
    let check_after = |then: &str, next: &str| {
        check("tasks:5 git n:15 stall:3", &format!("start list:A=new tree:X{thrice}{then}"), next);
    };
    check_after("", "implement A in 4");
    check_after(&cheat("passes", "S"), "stop stalled");
    // Another one is another try, and a step forward is one.
    check_after(&cheat("count", "S"), "implement A in 5");
    check_after(" talk list:A=waiting list:A=waiting left list:A=waiting tree:S", "review A in 5");
    // It needs no tree to find that.
    let bare = |asked: &str, times: usize, next: &str| {
        let rounds = " talk list:A=new!passes list:A=new".repeat(times);
        check(asked, &format!("start list:A=new{rounds}"), next);
    };
    bare("tasks:5 n:15 stall:3", 3, "implement A in 4");
    bare("tasks:5 n:15 stall:3", 4, "stop stalled");
    bare("tasks:5 n:15 stall:0", 9, "implement A in 10");
}

#[test]
fn reviews_move_the_list_and_not_the_tree() {
    // A list that is not in git.
    let steps = "talk list:A=waiting list:A=waiting left list:A=waiting tree:X talk list:A=back1 list:A=back1 left list:A=back1 tree:X \
                 talk list:A=waiting1 list:A=waiting1 left list:A=waiting1 tree:X talk list:A=back2 list:A=back2 left list:A=back2 tree:X";
    check("tasks:5 git n:15 stall:2", &format!("start list:A=new tree:X {steps}"), "review-fix A in 5");
}
