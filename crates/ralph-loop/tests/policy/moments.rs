//! What events mean to people: the one fold that all reports are made of.

use crate::life::deterministic_lives;
use crate::story::{Story, play};
use ralph_loop::State;
use ralph_loop::dialect::{Awaited, Blocker, NeedsPerson};
use ralph_loop::event::{End, Event, Fact};
use ralph_loop::view::{Doing, Moment, Moments, RunView, Wait, Work};

/// The moments of a life, in short.
#[track_caller]
fn check(asked: &str, words: &str, expected: &[&str]) {
    let (story, _) = play(asked, words);
    assert_eq!(shown(&story.events), expected, "{asked}: {words}");
}

fn shown(events: &[Event]) -> Vec<String> {
    let mut found = Vec::new();
    follow(events, |moments, _| found.extend(moments.iter().filter_map(short)));
    found
}

fn follow(events: &[Event], mut each: impl FnMut(&[Moment<'_>], RunView)) {
    let Fact::Opened(run) = &events[0].fact else { panic!("not opened") };
    let mut state = State::open(&events[0]).expect("opened");
    let mut moments = Moments::default();
    for event in events {
        if event.seq > 1 {
            state.apply(event).expect("what was legal is legal again");
        }
        let update = moments.follow(run, &state, event);
        each(&update.moments, update.view());
    }
}

fn short(moment: &Moment<'_>) -> Option<String> {
    Some(match moment {
        Moment::AgentBegan { iteration, attempt, is_another, .. } => {
            format!("agent {iteration}.{attempt}{}", if *is_another { "" } else { " again" })
        }
        Moment::AgentEnded { cancelled, .. } => {
            format!("agent ended{}", if cancelled.is_some() { " by ralph" } else { "" })
        }
        Moment::RetryAfter { wait_ms } => format!("retry after {wait_ms} ms"),
        Moment::CheckEnded { check, outcome, .. } => format!("{}: {outcome}", check.command),
        Moment::CheckCutShort(_) => "check cut short".into(),
        Moment::Checkpoint { iteration, problem_is_new, after_answer, .. } => {
            let new = if *problem_is_new { ", new problem" } else { "" };
            format!("checkpoint {iteration}{}{new}", if *after_answer { " after the answer" } else { "" })
        }
        Moment::IterationEnded { iteration, was_silent, .. } => {
            format!("iteration {} ended{}", iteration.iteration, if *was_silent { ", silent" } else { "" })
        }
        Moment::Paused => "paused".into(),
        Moment::WaitBegan(Wait::Disk(_)) => "waits for the disk".into(),
        Moment::WaitBegan(Wait::Network) => "waits for the network".into(),
        Moment::WaitBegan(Wait::Person { .. }) => "waits for a person".into(),
        Moment::WaitBegan(Wait::Service { .. }) => "waits for the service".into(),
        Moment::EnoughSpace => "enough space".into(),
        Moment::Resumed => "resumed".into(),
        Moment::Stopped { stopped, success, .. } => format!("{} {success}", stopped.reason.word()),
        _ => return None,
    })
}

#[test]
fn an_iteration_is_told_from_its_agent_to_its_judgement() {
    let expected = ["agent 1.1", "agent ended", "check 1: passed", "iteration 1 ended", "agent 2.1"];
    check("checks:1", "start talk green", &expected);
}

#[test]
fn a_wait_is_told_once_until_it_is_over() {
    check(
        "min-free:500",
        "start disk:0 talk due due disk:500 due",
        &["agent 1.1", "agent ended", "iteration 1 ended", "waits for the disk", "enough space", "agent 2.1"],
    );
    check("", "start offline online offline", &["agent 1.1", "waits for the network"]);
    let each = ["agent 1.1", "waits for a person", "waits for a person"];
    check("", "start person online person", &each);
}

#[test]
fn what_could_not_be_recorded_is_told_once_in_a_life() {
    let expected = [
        "checkpoint 1, new problem",
        "agent 1.1",
        "agent ended",
        "iteration 1 ended",
        "checkpoint 2",
        "agent 2.1",
        "resumed",
        "agent 2.2",
        "agent ended",
        "iteration 2 ended",
        "checkpoint 3, new problem",
        "agent 3.1",
    ];
    let (mut story, _) = play("git", "start tree:? talk tree:? resumed talk tree:?");
    for event in &mut story.events {
        if let Fact::Ended { end: End::Snapshot(end), .. } = &mut event.fact {
            end.problem = Some("no space".into());
        }
    }
    assert_eq!(shown(&story.events), expected);
}

/// A view can be written and read, and always says what goes on.
#[test]
fn the_view_of_any_life_can_be_written_and_read() {
    for events in deterministic_lives(200) {
        follow(&events, |_, view| {
            let text = serde_json::to_string(&view).expect("a view can be written");
            assert_eq!(serde_json::from_str::<RunView>(&text).expect("and read"), view);
            assert!(view.reason.is_some() || !view.success, "{view:?}");
        });
    }
}

#[test]
fn the_view_says_what_a_person_is_waited_for_until_the_agent_goes_on() {
    let since = |words: &str| {
        let (mut story, _) = play("", words);
        for event in &mut story.events {
            if let Fact::Blocked { by: Some(Blocker::Person), text, why, .. } = &mut event.fact {
                (*text, *why) = (Some("Which?".into()), Some(NeedsPerson::Question));
            }
        }
        let mut last = None;
        follow(&story.events, |_, view| last = view.waits_for_person);
        let awaited = Awaited { why: Some(NeedsPerson::Question), text: "Which?".into() };
        assert!(last.as_ref().is_none_or(|waits| waits.awaited == awaited), "{last:?}");
        last.map(|waits| waits.since_ms)
    };
    assert_eq!(since("start 10s person"), Some(10_000));
    assert_eq!(since("start 10s person 20s online"), None);
    assert_eq!(since("start 10s person talk"), None);
    assert_eq!(since("start 10s person resumed"), None);
    assert_eq!(since("start offline"), None);
}

#[test]
fn the_view_says_what_is_at_work() {
    let (story, _) = play("checks:1", "start talk");
    let mut last = None;
    follow(&story.events, |_, view| last = Some(view));
    let view = last.expect("a view");
    let Doing::Step { work: Work::Check { command }, .. } = &view.doing else { panic!("{view:?}") };
    assert_eq!((command.as_str(), view.iteration, view.judged), ("check 1", 1, 0));
    let Story { state, .. } = story;
    assert_eq!(state.flights.len(), 1);
}
