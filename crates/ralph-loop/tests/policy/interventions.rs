//! What ends a run from outside its work, a sentence for each promise: time, money, signals,
//! dying machinery; and how it goes on afterwards.

use crate::story::{check, play};
use ralph_loop::GRACE_MS;
use ralph_loop::event::{Fact, StopReason};
use ralph_loop::limits::LOSSES_ENDURED;
use ralph_loop::money::Usd;
use ralph_loop::state::Illegal;

// Time.

#[test]
fn max_time_ends_whatever_runs_by_asking_then_by_force() {
    assert_eq!(GRACE_MS, 5_000);
    for (asked, words) in [
        ("max-time:60", "start"),
        ("max-time:60 checks:1", "start 50s talk"),
        ("max-time:60 timeout:60", "start"),
    ] {
        check(asked, &format!("{words} 59s woke"), "wait until 60s");
        check(asked, &format!("{words} due"), "ask (max-time)");
        check(asked, &format!("{words} due 64s woke"), "wait until 65s");
        check(asked, &format!("{words} due due"), "kill (max-time)");
        check(asked, &format!("{words} due due woke"), "wait until 70s");
        check(asked, &format!("{words} due ended"), "stop timeout");
        check(asked, &format!("{words} due due ended"), "stop timeout");
    }
}

#[test]
fn recording_the_tree_and_committing_are_never_cut_off_by_time() {
    check("max-time:60 git", "start 99s woke", "wait");
    check("max-time:60 scm:push", "start talk 99s woke", "wait");
    check("max-time:60 scm:push", "start talk 99s did", "stop timeout");
    check("max-time:60 scm:push", "start 60s talk", "judged 1 green, scm 1.1");
    check("max-time:60 scm:commit", "start 99s done", "judged 1 done, message 1");
    check("max-time:60 scm:commit", "start 99s done message did", "stop completed");
}

#[test]
fn a_task_that_is_not_waited_for_is_run_again_after_a_resume() {
    check("scm:push", "start talk stop stop", "kill (stop asked)");
    check("scm:push", "start talk stop stop lost", "stop interrupted");
    check("scm:push", "start talk stop stop lost resumed", "scm 1.1");
}

#[test]
fn max_time_ends_the_run_between_steps_too() {
    check("max-time:60", "start 60s talk", "judged 1 green, stop timeout");
    check("max-time:60 checks:1", "start 60s talk", "stop timeout");
    check("max-time:60 git", "start 60s tree:A", "stop timeout");
    check("max-time:60", "start 60s lost", "stop timeout");
}

#[test]
fn max_time_ends_a_wait() {
    check("max-time:60 backoff:100-100", "start fail woke", "wait until 60s");
    check("max-time:60 backoff:100-100", "start fail due", "stop timeout");
    check("max-time:60 backoff:10-10", "start fail due", "agent 2");
}

/// `up_ms` goes on from where the last event left it, however long the run was down.
#[test]
fn time_in_which_nothing_runs_does_not_count() {
    check("max-time:60", "start 59s woke resumed", "agent 1.2");
    check("max-time:60", "start 59s woke resumed woke", "wait until 60s");
    check("timeout:60", "start 50s woke resumed woke", "wait until 110s");
    check("", "start 5s fail resumed", "wait until 6s");
}

#[test]
fn an_agent_that_takes_too_long_is_a_failure() {
    check("timeout:90", "start woke", "wait until 90s");
    check("timeout:90", "start due", "ask (timeout 90s)");
    check("timeout:90", "start due due", "kill (timeout 90s)");
    check("timeout:90", "start due ended", "judged 1 failed (timed out after 90s)");
    check("timeout:90", "start due due ended", "judged 1 failed (timed out after 90s)");
    check("timeout:90 checks:1", "start due done", "judged 1 failed (timed out after 90s)");
    check("timeout:90", "start due 92s ended woke", "wait until 93s");
    check("timeout:90 git", "start 500s tree:A woke", "wait until 590s");
    check("", "start 999999s woke", "wait");
}

#[test]
fn a_check_that_takes_too_long_reads_as_failed() {
    check("checks:1", "start 7s done woke", "wait until 127s");
    check("checks:1", "start done due", "ask (timeout 120s)");
    check("checks:1", "start done due due", "kill (timeout 120s)");
    check("checks:1", "start done due ended", "judged 1 red 1, agent 2");
    check("checks:1", "start done due green", "judged 1 red 1, agent 2");
    check("checks:2 check-timeout:3", "start done due ended green", "judged 1 red 1, agent 2");
    let (story, _) = play("checks:1", "start done due due ended");
    assert_eq!(story.state.work.feedback[0].outcome.to_string(), "timed out after 120s");
}

// Money.

#[test]
fn a_run_out_of_money_begins_no_other_iteration() {
    check("max-cost:1 checks:1", "start talk$0.50 red", "judged 1 red 1, agent 2");
    check("max-cost:1 checks:1", "start talk$1.00", "check 1.1");
    check("max-cost:1 checks:1", "start talk$1.00 red", "judged 1 red 1, stop budget_exhausted");
    check("max-cost:1", "start talk$0.50 fail$0.50", "judged 2 failed (exit code 1), stop budget_exhausted");
    check("max-cost:1", "start empty$0.60 talk$0.60", "judged 1 green, stop budget_exhausted");
}

#[test]
fn money_is_gone_even_if_the_work_was_cut_short() {
    let (story, _) = play("", "start stop stop ended$0.40 resumed talk$0.10 fail$0.02 due empty$0.01");
    assert_eq!(story.state.ledger.spent.usd, Usd::from_dollars(0.53));
    check("max-cost:1", "start stop stop ended$1 resumed", "stop budget_exhausted");
    check("max-time:60", "start due ended$0.40", "stop timeout");
    let (story, _) = play("max-time:60", "start due ended$0.40");
    assert_eq!(story.state.ledger.spent.usd, Usd::from_dollars(0.40));
}

// Signals.

#[test]
fn the_first_signal_lets_the_step_finish() {
    check("", "start stop", "wait");
    check("checks:2", "start stop done", "stop interrupted");
    check("checks:2", "start done stop green", "stop interrupted");
    check("checks:1", "start done stop red", "judged 1 red 1, stop interrupted");
    check("", "start stop talk", "judged 1 green, stop interrupted");
    check("", "start stop fail", "judged 1 failed (exit code 1), stop interrupted");
    check("git", "start stop tree:A", "stop interrupted");
}

#[test]
fn the_second_signal_kills_it_and_a_third_changes_nothing() {
    check("", "start stop stop", "kill (stop asked)");
    check("", "start stop stop stop", "wait until 5s");
    check("", "start stop stop ended", "stop interrupted");
    check("checks:1", "start done stop stop", "kill (stop asked)");
    check("checks:1", "start done stop stop ended", "stop interrupted");
    check("git", "start stop stop", "kill (stop asked)");
}

#[test]
fn timers_go_on_after_the_first_signal_and_the_second_does_not_wait_for_them() {
    check("timeout:90", "start stop due", "ask (timeout 90s)");
    check("timeout:90", "start due stop", "wait until 95s");
    check("timeout:90", "start due stop stop", "kill (stop asked)");
    check("max-time:90", "start due stop stop", "kill (stop asked)");
    check("timeout:90", "start stop due ended", "judged 1 failed (timed out after 90s), stop interrupted");
}

#[test]
fn a_signal_during_a_wait_stops_at_once() {
    check("", "start fail stop", "stop interrupted");
}

/// The signal was first: the exit code is that of an interrupted run, and taking it up again
/// says at once that the work is done.
#[test]
fn work_that_is_proven_while_a_stop_is_asked_for_is_not_lost() {
    check("checks:1", "start done stop green", "judged 1 done, stop interrupted");
    check("checks:1", "start done stop green resumed", "stop completed");
}

// Resuming.

#[test]
fn what_was_cut_short_is_run_again_and_so_are_all_checks() {
    check("checks:2", "start resumed", "agent 1.2");
    check("checks:2", "start stop stop ended resumed", "agent 1.2");
    check("checks:2", "start talk red stop stop ended resumed", "check 1.1");
    check("checks:2", "start talk red resumed", "check 1.1");
    check("checks:2", "start done green resumed green green", "judged 1 done, stop completed");
    // What was green before may not be any more: a verdict comes from one tree.
    check("checks:2", "start done green resumed red green", "judged 1 red 1, agent 2");
    check("git", "start resumed", "snapshot 1");
    check("git", "start tree:A resumed", "agent 1.2");
    check("checks:1", "start stop talk resumed", "check 1.1");
    check("checks:1", "start talk stop red resumed", "agent 2");
}

#[test]
fn an_agent_killed_by_a_person_is_no_failure() {
    let (story, _) = play("", "start stop stop ended resumed");
    assert_eq!((story.state.ledger.streaks.failures, story.state.ledger.judged), (0, 0));
}

#[test]
fn a_resumed_run_is_not_stopped_by_signals_of_its_former_life() {
    check("", "start stop resumed woke", "wait");
    check("", "start stop stop resumed stop", "wait");
    check("", "start stop stop resumed stop stop", "kill (stop asked)");
}

#[test]
fn counters_are_carried_on() {
    check("n:2", "start talk resumed talk", "judged 2 green, stop max_iterations");
    check("n:1", "start empty empty resumed empty", "agent 1.5");
    check("n:1", "start empty empty resumed empty empty", "judged 1 green, stop max_iterations");
    check(
        "max-failures:2",
        "start fail resumed due fail",
        "judged 2 failed (exit code 1), stop too_many_failures",
    );
}

#[test]
fn whoever_resumes_a_run_that_failed_too_often_has_seen_why() {
    let stopped = "start fail due fail";
    check("max-failures:2", &format!("{stopped} resumed"), "agent 3");
    check("max-failures:2", &format!("{stopped} resumed fail woke"), "wait until 2s");
}

#[test]
fn a_completed_run_is_not_resumed() {
    let (mut story, _) = play("", "start done");
    assert_eq!(story.take(Fact::Resumed { pid: 1 }), Err(Illegal::NotResumable("completed")));
}

#[test]
fn a_run_that_reached_a_limit_is_resumed_with_a_higher_one() {
    for (asked, words, reason, too_low, enough) in [
        ("n:1", "start talk", StopReason::MaxIterations, "set:n=1", "set:n=2"),
        ("max-cost:1", "start talk$1", StopReason::BudgetExhausted, "set:cost=1.5", "set:cost=2"),
        ("max-time:60", "start due ended", StopReason::Timeout, "set:time=60", "set:time=120"),
    ] {
        let (mut story, _) = play(asked, words);
        assert_eq!(story.state.stopped.as_ref().map(|stopped| stopped.reason), Some(reason));
        story.word(too_low);
        assert_eq!(story.take(Fact::Resumed { pid: 1 }), Err(Illegal::NotResumable(reason.word())));
        story.word(enough);
        story.word("resumed");
        assert_eq!(story.state.stopped, None, "{asked}");
    }
}

#[test]
fn a_resumed_stall_is_counted_from_zero() {
    let stalled = "start tree:A talk red tree:A";
    check("git checks:1 stall:1", &format!("{stalled} resumed"), "agent 2");
}

// Machinery.

#[test]
fn a_step_that_was_lost_is_run_again() {
    check("git", "start lost", "snapshot 1");
    check("checks:2", "start lost", "agent 1.2");
    check("checks:2", "start talk red lost", "check 1.2");
    check("checks:2", "start talk red lost green", "judged 1 red 1, agent 2");
}

#[test]
fn losses_in_a_row_end_the_run() {
    assert_eq!(LOSSES_ENDURED, 3);
    let gone = "stop error (the process that supervises agents keeps dying)";
    check("", "start lost lost lost", "agent 1.4");
    check("", "start lost lost lost lost", gone);
    check("checks:1", "start lost lost talk lost lost lost", "check 1.1");
    check("checks:1", "start lost lost talk lost lost lost lost", gone);
    check("", "start lost lost lost lost resumed", "agent 1.5");
    check("", "start lost lost lost resumed lost lost lost", "agent 1.8");
}

#[test]
fn a_loss_is_neither_a_failure_nor_an_empty_answer() {
    let (story, _) = play("", "start lost lost");
    assert_eq!((story.state.ledger.streaks.failures, story.state.ledger.streaks.empty_answers), (0, 0));
    check("", "start empty lost empty lost empty lost", "agent 1.7");
    check("n:1", "start empty lost empty lost empty lost empty", "judged 1 green, stop max_iterations");
    check("", "start fail due lost fail woke", "wait until 3s");
}

#[test]
fn what_cannot_be_done_without_help_ends_the_run_with_the_reason() {
    check("git", "start impossible:disk-full", "stop error (disk-full)");
    check("", "start impossible:no-prompt-file", "stop error (no-prompt-file)");
    check("checks:1", "start talk impossible:no-shell", "stop error (no-shell)");
    check("", "start stop impossible:no-prompt-file", "stop error (no-prompt-file)");
    check("", "start impossible:no-prompt-file resumed", "agent 1.2");
    check("checks:1", "start talk impossible:no-shell resumed", "check 1.1");
}

#[test]
fn a_keeper_that_does_not_kill_is_buried() {
    check("timeout:10", "start 10s woke 15s woke", "kill (timeout 10s)");
    check("timeout:10", "start 10s woke 15s woke 19s woke", "wait until 20s");
    check("timeout:10", "start 10s woke 15s woke 20s woke", "kill-keeper (timeout 10s)");
    check("timeout:10", "start 10s woke 15s woke 20s woke 99s woke", "wait");
    check("", "start stop stop 5s woke", "kill-keeper (stop asked)");
    check("", "start stop stop 5s woke lost", "stop interrupted");
}

#[test]
fn a_worktree_is_made_whole_before_the_run_stops() {
    check("worktree", "start done", "judged 1 done, commit rest");
    check("worktree", "start done did", "stop completed");
    check("worktree", "start done undone", "stop completed");
    check("worktree", "start stop talk", "judged 1 green, commit rest");
    check("worktree", "start stop talk did", "stop interrupted");
    check("worktree n:1", "start talk did", "stop max_iterations");
    check("worktree", "start impossible:why", "commit rest");
    check("worktree", "start impossible:why did", "stop error (why)");
    // At once is at once: begun then, it would be ended and begun for ever.
    check("worktree", "start stop stop ended", "stop interrupted");
    check("worktree", "start stop talk stop lost", "stop interrupted");
    // What was lost is tried again, but not for ever.
    let gone = "stop error (the process that supervises agents keeps dying)";
    check("worktree", "start done lost", "commit rest");
    check("worktree", "start done lost did", "stop completed");
    check("worktree", "start lost lost lost lost", "commit rest");
    check("worktree", "start lost lost lost lost did", gone);
    check("worktree", "start lost lost lost lost lost", gone);
    check("worktree", "start impossible:why lost lost lost lost", "commit rest");
    check("worktree", "start impossible:why lost lost lost lost lost", "stop error (why)");
    // A new agent leaves something new.
    check("worktree", "start stop talk did resumed done", "judged 2 done, commit rest");
}

#[test]
fn what_an_agent_had_cost_when_its_keeper_died_is_counted() {
    let (story, _) = play("", "start lost$0.25 done$0.50");
    assert_eq!(story.state.ledger.spent.usd, Usd::from_dollars(0.75));
}

#[test]
fn an_iteration_that_would_mostly_cost_more_than_is_left_is_not_begun() {
    let note = "the next iteration would cost about $0.5100, more than is left";
    check(
        "max-cost:1 checks:1",
        "start talk$0.51 red",
        &format!("judged 1 red 1, stop budget_exhausted ({note})"),
    );
    // One that was dear does not speak for the others.
    check(
        "max-cost:1 checks:1",
        "start talk$0.10 red talk$0.60 red talk$0.10 red",
        "judged 3 red 1, agent 4",
    );
}

#[test]
fn an_estimate_counts_like_a_report_and_is_told_as_one() {
    check("max-cost:1 checks:1", "start talk~1.00 red", "judged 1 red 1, stop budget_exhausted");
    check("max-cost:1", "start stop stop ended~1 resumed", "stop budget_exhausted");
    let note = "the next iteration would cost about ~$0.5100, more than is left";
    let follows = format!("judged 1 red 1, stop budget_exhausted ({note})");
    check("max-cost:1 checks:1", "start talk~0.51 red", &follows);
    for (words, spent) in [
        ("start talk$0.25", "$0.2500"),
        ("start talk~0.25", "~$0.2500"),
        ("start lost~0.25 talk$0.25 message$0.25", "~$0.7500"),
        ("start talk$0.25 message~0.50", "~$0.7500"),
        ("start talk$0.25 message$0.50", "$0.7500"),
    ] {
        assert_eq!(play("scm:commit", words).0.state.ledger.spent.to_string(), spent, "{words}");
    }
}

#[test]
fn an_agent_that_has_answered_and_does_not_end_is_ended_and_its_answer_kept() {
    check("", "start answered", "wait until 60s");
    check("", "start answered due", "ask (answered)");
    check("", "start answered due done", "judged 1 done, stop completed");
    check("", "start answered due due", "kill (answered)");
    // Another answer gives it time again; its own limit still holds.
    check("", "start answered 30s answered", "wait until 90s");
    check("timeout:20", "start 10s answered", "wait until 20s");
}
