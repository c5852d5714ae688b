//! What people ask of a worker, and what happens when it falls silent.

use crate::life::replay;
use crate::story::{check, play};
use ralph_loop::ask::MOST_NOTES;
use ralph_loop::event::Fact;
use ralph_loop::plan::prompt::PromptSource;
use ralph_loop::plan::{Plan, PlanState};
use ralph_loop::state::Illegal;

// Pausing.

#[test]
fn a_paused_loop_finishes_its_iteration_and_begins_no_other() {
    check("checks:1", "start pause", "wait");
    check("checks:1", "start pause talk", "check 1.1");
    check("checks:1", "start pause talk red", "judged 1 red 1");
    check("checks:1", "start pause talk red woke", "wait");
    check("scm:push checks:1", "start pause talk green", "judged 1 green, scm 1.1");
    check("", "start pause empty", "wait");
}

#[test]
fn a_pause_ends_a_wait_at_once_and_whoever_ends_the_pause_has_looked() {
    check("", "start fail pause", "wait");
    check("", "start fail pause continue", "agent 2");
    check("", "start limited:3600 pause continue", "agent 1.2");
    let (story, _) = play("max-failures:2", "start fail pause continue fail");
    assert_eq!(story.state.ledger.streaks.failures, 1);
}

#[test]
fn a_pause_that_ends_before_its_agent_does_changes_nothing() {
    check("", "start pause continue talk", "judged 1 green, agent 2");
    check("", "start continue talk", "judged 1 green, agent 2");
    check("", "start pause pause continue talk", "judged 1 green, agent 2");
}

#[test]
fn work_that_is_proven_while_paused_is_done() {
    check("", "start pause done", "judged 1 done, stop completed");
}

#[test]
fn the_time_of_a_pause_is_not_the_runs() {
    check("max-time:60", "start 10s pause talk 3610s continue", "agent 2");
    let (story, _) = play("max-time:60", "start 10s pause talk 3610s continue");
    assert_eq!(story.state.ledger.limits.max_time_ms, Some(3_660_000));
    // The agent that was still at work used the run's time.
    let (story, _) = play("max-time:600", "start pause 20s continue");
    assert_eq!(story.state.ledger.limits.max_time_ms, Some(600_000));
}

#[test]
fn a_signal_to_a_worker_is_a_pause_that_the_next_life_ends() {
    check("checks:1", "start leave", "wait");
    check("checks:1", "start leave talk", "stop paused");
    check("checks:1", "start leave talk resumed", "check 1.1");
    check("", "start leave leave", "kill (stop asked)");
    check("", "start leave leave ended", "stop paused");
    check("", "start leave leave ended resumed", "agent 1.2");
    check("", "start pause talk leave", "stop paused");
    check("worktree", "start leave talk", "judged 1 green, commit rest");
}

#[test]
fn a_pause_ends_with_the_life_that_was_paused() {
    check("", "start pause talk resumed", "agent 2");
    check("", "start pause resumed", "agent 1.2");
}

// Killing.

#[test]
fn killing_ends_everything_now_and_leaves_the_iteration_to_be_run_again() {
    check("", "start kill", "kill (killed)");
    check("", "start kill ended", "stop killed");
    check("", "start kill ended resumed", "agent 1.2");
    check("", "start kill due", "kill-keeper (killed)");
    check("timeout:10", "start due kill", "kill (killed)");
    check("checks:1", "start talk kill ended", "stop killed");
    check("worktree", "start kill ended", "stop killed");
    check("", "start fail kill", "stop killed");
    check("", "start pause talk kill", "stop killed");
    let (story, _) = play("", "start kill ended");
    assert_eq!((story.state.ledger.streaks.failures, story.state.ledger.judged), (0, 0));
}

// Silence.

#[test]
fn an_agent_that_falls_silent_is_ended() {
    check("", "start silent", "ask (silent)");
    check("", "start silent due", "kill (silent)");
    check("", "start silent:tool", "ask (silent tool)");
    check("n:1 never", "start silent ended", "judged 1 green, stop max_iterations");
}

#[test]
fn what_a_silent_agent_has_left_is_committed_only_if_it_was_done() {
    let scm = "scm:commit checks:1";
    check(scm, "start silent ended green", "judged 1 green");
    check(scm, "start silent ended green due", "agent 2");
    check(scm, "start silent ended green due talk green", "judged 2 green, message 2");
    check(scm, "start silent done green", "judged 1 done, message 1");
}

#[test]
fn what_a_silent_agent_has_left_is_judged_like_any_work() {
    check("checks:1", "start silent ended", "check 1.1");
    check("checks:1", "start silent ended red", "judged 1 red 1");
    check("pattern:x", "start silent matched", "judged 1 done, stop completed");
    check("checks:1", "start silent done green", "judged 1 done, stop completed");
    check("stories:1.1", "start silent ended@main", "judged 1 retry (the agent was silent for 60s)");
    // It is not run again within its iteration, whatever it has not said.
    check("", "start silent empty", "judged 1 green");
}

#[test]
fn silence_that_settles_nothing_counts_among_the_failures_in_a_row() {
    check("", "start silent ended due", "agent 2");
    check("max-failures:2", "start silent ended due silent ended", "judged 2 green, stop too_many_failures");
    check("max-failures:2", "start fail due silent ended", "judged 2 green, stop too_many_failures");
    check(
        "max-failures:2 checks:1",
        "start silent done red due fail",
        "judged 2 failed (exit code 1), stop too_many_failures",
    );
    let failures = |words| play("max-failures:3", words).0.state.ledger.streaks.failures;
    assert_eq!(failures("start fail due silent ended"), 2);
    assert_eq!(failures("start silent ended due talk"), 0);
    assert_eq!(failures("start fail due silent done"), 0, "proven all the same");
}

/// Journals of earlier versions do not say which judgements followed a silence.
#[test]
fn an_older_judgement_of_a_silent_agent_is_no_failure() {
    let (story, _) = play("", "start fail due silent ended");
    let mut older = story.events;
    for event in &mut older {
        if let Fact::Judged(judgement) = &mut event.fact {
            judgement.silence = None;
        }
    }
    assert_eq!(replay(&older).ledger.streaks.failures, 0);
}

// Completion.

#[test]
fn a_matched_pattern_is_a_claim_like_any_other() {
    check("pattern:x", "start matched", "judged 1 done, stop completed");
    check("pattern:x", "start done", "judged 1 green, agent 2");
    check("pattern:x checks:1", "start matched red", "judged 1 red 1, agent 2");
    check("pattern:x checks:1", "start matched green", "judged 1 done, stop completed");
    check("", "start matched", "judged 1 green, agent 2");
    // The last allowed iteration counts.
    check("pattern:x n:1", "start matched", "judged 1 done, stop completed");
}

#[test]
fn without_any_criterion_the_iterations_are_the_work() {
    check("never n:2", "start done", "judged 1 green, agent 2");
    check("never n:2", "start empty", "judged 1 green, agent 2");
    let (story, did) = play("never n:1", "start talk");
    assert_eq!(did, "judged 1 green, stop max_iterations");
    assert!(story.succeeded());
    // One that failed is not done.
    assert!(!play("never n:1", "start fail").0.succeeded());
    assert!(play("never n:2 backoff:0-0", "start fail talk").0.succeeded());
    assert!(!play("never n:1 checks:1", "start talk red").0.succeeded());
}

// Changes.

#[test]
fn a_limit_can_be_changed_while_the_loop_runs_and_after_it_has_reached_it() {
    check("n:1", "start set:n=2 talk", "judged 1 green, agent 2");
    check("n:3", "start set:n=1 talk", "judged 1 green, stop max_iterations");
    check("n:1", "start talk set:n=2 resumed", "agent 2");
    let (mut story, _) = play("n:1", "start talk");
    assert_eq!(story.take(Fact::Resumed { pid: 1 }), Err(Illegal::NotResumable("max_iterations")));
}

#[test]
fn a_done_pattern_that_is_set_takes_the_place_of_what_ended_the_loop() {
    check("never n:3", "start set:done=x matched", "judged 1 done, stop completed");
    check("", "start set:done=x done", "judged 1 green, agent 2");
    let (story, _) = play("never n:1", "start set:done=x talk");
    assert!(!story.succeeded());
}

#[test]
fn another_prompt_file_is_read_from_the_next_iteration_on() {
    let (story, _) = play("", "start set:file=/p");
    let (Plan::Prompt(plan), PlanState::Prompt(state)) = (&story.run.plan, &story.state.plan) else {
        panic!("a prompt has a prompt's state")
    };
    assert_eq!(state.source(plan), &PromptSource::File { path: "/p".into() });
}

// Notes.

#[test]
fn a_note_waits_until_an_agent_has_heard_it() {
    let notes = |words: &str| {
        let (story, _) = play("", words);
        (story.state.asked.notes.join("+"), story.state.asked.notes_given)
    };
    assert_eq!(notes("start say:a"), ("a".into(), 0));
    assert_eq!(notes("start say:a talk"), ("a".into(), 1));
    assert_eq!(notes("start say:a talk say:b"), ("a+b".into(), 1));
    assert_eq!(notes("start say:a talk say:b talk"), ("b".into(), 1));
    // An agent that failed, was lost or was killed has not heard it.
    assert_eq!(notes("start say:a talk fail due"), ("a".into(), 1));
    assert_eq!(notes("start say:a talk lost"), ("a".into(), 1));
    assert_eq!(notes("start say:a talk kill ended resumed"), ("a".into(), 1));
    assert_eq!(notes("start leave talk say:a"), ("a".into(), 0));
}

#[test]
fn notes_are_bounded() {
    let (mut story, _) = play("", "start");
    for _ in 0..MOST_NOTES {
        story.word("say:x");
    }
    let more = ralph_loop::ask::Ask::Say { text: "x".into() };
    assert_eq!(story.take(Fact::Asked(more)), Err(Illegal::OutOfPlace("said")));
}
