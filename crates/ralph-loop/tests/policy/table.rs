//! Every place where a run can stand against every kind of fact.
//!
//! A legal fact is followed by the one action that `next` then names, an illegal one by why
//! it is refused; [`Story::admit`] holds that a refused one changes nothing. `State` does not
//! know the run, so it admits what no engine would record (a stop without a reason):
//! whether an action is due is `next`'s to say.

use crate::story::{Story, end, run};
use ralph_loop::ask::{Ask, Changes, Silence};
use ralph_loop::dialect::Blocker;
use ralph_loop::event::{Event, Fact, How, Step, StopReason, VERSION, Why};
use ralph_loop::limits::Totals;
use ralph_loop::low_disk::Shortage;
use ralph_loop::plan::Item;
use ralph_loop::proof::Round;
use ralph_loop::state::Illegal;
use ralph_loop::verdict::{Claim, Judgement, Settlement, Verdict};
use ralph_loop::{Action, State, next};

/// The kinds of facts; [`fact`] makes each as true as it can be where the run stands.
const FACTS: [&str; 29] = [
    "opened",
    "resumed",
    "began snapshot",
    "began agent",
    "began check",
    "began message",
    "began scm",
    "ended snapshot",
    "ended agent",
    "ended check",
    "ended message",
    "ended scm",
    "lost",
    "impossible",
    "asked to end",
    "killed",
    "judged",
    "stop asked",
    "pause",
    "continue",
    "leave",
    "kill",
    "set",
    "say",
    "silent",
    "blocked",
    "low disk",
    "woke",
    "stopped",
];

fn fact(story: &Story, name: &str) -> Fact {
    let Story { run, state, .. } = story;
    let (iteration, begun) = (state.iteration(), state.position.steps_begun);
    let snapshot = Step::Snapshot { iteration };
    let agent = Step::Agent { iteration, attempt: state.work.attempts + 1, agent: 0, item: Item::Prompt };
    let index = state.work.stage.results().len();
    let check = Step::Check { iteration, index, round: Round::Workspace };
    let message = Step::Message { iteration: state.ledger.judged, agent: 0 };
    let task =
        state.work.stage.chores().and_then(|chores| chores.scm.as_ref()).map_or(0, |due| due.tasks_done);
    let scm = Step::Scm { iteration: state.ledger.judged, task };
    let ended = |word: &str, step: &Step| Fact::Ended { id: begun, end: end(word, step) };
    match name {
        "opened" => Fact::Opened(Box::new(run.clone())),
        "resumed" => Fact::Resumed { pid: 1 },
        "began snapshot" => Fact::Began { id: begun + 1, step: snapshot },
        "began agent" => Fact::Began { id: begun + 1, step: agent },
        "began check" => Fact::Began { id: begun + 1, step: check },
        "began message" => Fact::Began { id: begun + 1, step: message },
        "began scm" => Fact::Began { id: begun + 1, step: scm },
        "ended message" => ended("message", &message),
        "ended scm" => ended("did", &scm),
        "ended snapshot" => ended("tree:A", &snapshot),
        "ended agent" => ended("done", &agent),
        "ended check" => ended("red", &check),
        "lost" => ended("lost", &check),
        "impossible" => ended("impossible:why", &check),
        "asked to end" => Fact::Cancelled { id: begun, how: How::Ask, why: Why::MaxTime },
        "killed" => Fact::Cancelled { id: begun, how: How::Kill, why: Why::MaxTime },
        "judged" => match next(run, state).first() {
            Some(Action::Judge(judgement)) => Fact::Judged(judgement.clone()),
            _ => Fact::Judged(judgement(iteration)),
        },
        "stop asked" => Fact::StopAsked,
        "pause" => Fact::Asked(Ask::Pause),
        "continue" => Fact::Asked(Ask::Continue),
        "leave" => Fact::Asked(Ask::Leave),
        "kill" => Fact::Asked(Ask::Kill),
        "set" => Fact::Asked(Ask::Set(Changes {
            totals: Totals { max_iterations: Some(99), ..Totals::default() },
            ..Changes::default()
        })),
        "say" => Fact::Asked(Ask::Say { text: "h".into() }),
        "silent" => Fact::Silent { id: begun, silence: Silence { after_ms: 60_000, tool: false } },
        "blocked" => Fact::Blocked { id: begun, by: Some(Blocker::Network), text: None, why: None },
        "low disk" => Fact::LowDisk(Shortage { free: 1, least: 2, at: "/w".into() }),
        "woke" => Fact::Woke,
        "stopped" => Fact::Stopped { reason: StopReason::Error, note: None },
        _ => panic!("`{name}` is no fact"),
    }
}

fn judgement(iteration: u32) -> Judgement {
    let verdict = Verdict::Red { failed: vec![0] };
    Judgement {
        iteration,
        item: Item::Prompt,
        claim: Claim::default(),
        verdict,
        settlement: Settlement::Continue,
        silence: None,
        proof: None,
    }
}

/// What the words lead to. With a `…` at their end, what follows is not yet recorded: the
/// run stands between two facts of the engine.
fn stand(asked: &str, words: &str) -> Story {
    let mut story = Story::open(run(asked));
    for word in words.split_whitespace().skip(1) {
        story.settle();
        story.word(word.trim_end_matches('…'));
    }
    if !words.ends_with('…') {
        story.settle();
    }
    story
}

/// A line per legal fact with what follows from it, and lines that list the illegal ones.
#[track_caller]
fn check(asked: &str, words: &str, expected: &str) {
    let lines = expected.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut cells: Vec<(&str, &str)> = lines
        .flat_map(|line| match line.split_once(": ") {
            Some(("illegal", names)) => names.split(", ").map(|name| (name, "illegal")).collect(),
            Some((name, follows)) => vec![(name, follows)],
            None => panic!("`{line}` is no line of this table"),
        })
        .collect();
    cells.sort_by_key(|(name, _)| FACTS.iter().position(|fact| fact == name));
    assert_eq!(cells.iter().map(|(name, _)| *name).collect::<Vec<_>>(), FACTS, "each fact has one cell");

    let story = stand(asked, words);
    for (name, expected) in cells {
        let mut story = story.clone();
        let fact = fact(&story, name);
        let found = match story.take(fact) {
            Ok(()) => story.show(&next(&story.run, &story.state)),
            Err(_) => "illegal".into(),
        };
        assert_eq!(found, expected, "asked `{asked}`, played `{words}`, then: {name}");
    }
}

#[test]
fn before_the_snapshot() {
    check(
        "git checks:1",
        "start…",
        "
        resumed: snapshot 1
        began snapshot: wait
        began agent: wait
        stop asked: stop interrupted
        woke: snapshot 1
        stopped: over
        pause: wait
        continue: snapshot 1
        leave: stop paused
        kill: stop killed
        set: snapshot 1
        say: snapshot 1
        illegal: opened, began check, ended snapshot, ended agent, ended check, lost, impossible
        illegal: began message, began scm, ended message, ended scm
        illegal: asked to end, killed, judged
        low disk: wait until 1s
        illegal: silent, blocked
        ",
    );
}

#[test]
fn while_the_snapshot_is_taken() {
    check(
        "git checks:1",
        "start",
        "
        resumed: snapshot 1
        ended snapshot: agent 1
        lost: snapshot 1
        impossible: stop error (why)
        asked to end: wait until 5s
        killed: wait until 5s
        stop asked: wait
        woke: wait
        pause: wait
        continue: wait
        leave: wait
        kill: kill (killed)
        set: wait
        say: wait
        illegal: opened, began snapshot, began agent, began check, ended agent, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: judged, stopped
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn after_the_snapshot() {
    check(
        "git checks:1",
        "start tree:A…",
        "
        resumed: agent 1
        began agent: wait
        stop asked: stop interrupted
        woke: agent 1
        stopped: over
        pause: wait
        continue: agent 1
        leave: stop paused
        kill: stop killed
        set: agent 1
        say: agent 1
        illegal: opened, began snapshot, began check, ended snapshot, ended agent, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: lost, impossible, asked to end, killed, judged
        low disk: wait until 1s
        illegal: silent, blocked
        ",
    );
}

#[test]
fn while_the_agent_works() {
    check(
        "checks:1",
        "start",
        "
        resumed: agent 1.2
        ended agent: check 1.1
        lost: agent 1.2
        impossible: stop error (why)
        asked to end: wait until 5s
        killed: wait until 5s
        stop asked: wait
        woke: wait
        pause: wait
        continue: wait
        leave: wait
        kill: kill (killed)
        set: wait
        say: wait
        silent: ask (silent)
        blocked: wait until 7200s
        illegal: opened, began snapshot, began agent, began check, ended snapshot, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: judged, stopped, low disk
        ",
    );
}

#[test]
fn while_an_agent_that_took_too_long_is_asked_to_end() {
    check(
        "checks:1 timeout:60",
        "start due",
        "
        resumed: agent 1.2
        ended agent: judged 1 failed (timed out after 60s)
        lost: agent 1.2
        impossible: stop error (why)
        killed: wait until 65s
        stop asked: wait until 65s
        woke: wait until 65s
        pause: wait until 65s
        continue: wait until 65s
        leave: wait until 65s
        kill: kill (killed)
        set: wait until 65s
        say: wait until 65s
        blocked: wait until 65s
        illegal: opened, began snapshot, began agent, began check, ended snapshot, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: asked to end, judged, stopped
        illegal: silent, low disk
        ",
    );
}

#[test]
fn while_an_agent_is_killed() {
    check(
        "checks:1",
        "start stop stop",
        "
        resumed: agent 1.2
        ended agent: stop interrupted
        lost: stop interrupted
        impossible: stop error (why)
        stop asked: wait until 5s
        woke: wait until 5s
        pause: wait until 5s
        continue: wait until 5s
        leave: wait until 5s
        kill: wait until 5s
        set: wait until 5s
        say: wait until 5s
        blocked: wait until 5s
        illegal: opened, began snapshot, began agent, began check, ended snapshot, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: asked to end, killed, judged, stopped
        illegal: silent, low disk
        ",
    );
}

#[test]
fn after_an_answer() {
    check(
        "checks:1",
        "start done…",
        "
        resumed: check 1.1
        began check: wait until 120s
        stop asked: stop interrupted
        woke: check 1.1
        stopped: over
        pause: check 1.1
        continue: check 1.1
        leave: stop paused
        kill: stop killed
        set: check 1.1
        say: check 1.1
        illegal: judged, opened, began snapshot, began agent, ended snapshot, ended agent, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: lost, impossible, asked to end, killed
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn after_an_empty_answer() {
    check(
        "checks:1",
        "start empty…",
        "
        resumed: agent 1.2
        began agent: wait
        began check: wait until 120s
        stop asked: stop interrupted
        woke: agent 1.2
        stopped: over
        pause: wait
        continue: agent 1.2
        leave: stop paused
        kill: stop killed
        set: agent 1.2
        say: agent 1.2
        began snapshot: wait
        illegal: judged, opened, ended snapshot, ended agent, ended check, lost
        illegal: began message, began scm, ended message, ended scm
        illegal: impossible, asked to end, killed
        low disk: wait until 1s
        illegal: silent, blocked
        ",
    );
}

#[test]
fn while_a_check_runs() {
    check(
        "checks:2",
        "start done red",
        "
        resumed: check 1.1
        ended check: judged 1 red 1+2
        lost: check 1.2
        impossible: stop error (why)
        asked to end: wait until 5s
        killed: wait until 5s
        stop asked: wait until 120s
        woke: wait until 120s
        pause: wait until 120s
        continue: wait until 120s
        leave: wait until 120s
        kill: kill (killed)
        set: wait until 120s
        say: wait until 120s
        illegal: opened, began snapshot, began agent, began check, ended snapshot, ended agent
        illegal: began message, began scm, ended message, ended scm
        illegal: judged, stopped
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn while_a_check_that_took_too_long_is_asked_to_end() {
    check(
        "checks:2",
        "start done green due",
        "
        resumed: check 1.1
        ended check: judged 1 red 2
        lost: check 1.2
        impossible: stop error (why)
        killed: wait until 125s
        stop asked: wait until 125s
        woke: wait until 125s
        pause: wait until 125s
        continue: wait until 125s
        leave: wait until 125s
        kill: kill (killed)
        set: wait until 125s
        say: wait until 125s
        illegal: opened, began snapshot, began agent, began check, ended snapshot, ended agent
        illegal: began message, began scm, ended message, ended scm
        illegal: asked to end, judged, stopped
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn after_the_last_check() {
    check(
        "checks:1",
        "start done red…",
        "
        resumed: check 1.1
        began check: wait
        judged: agent 2
        stop asked: judged 1 red 1
        woke: judged 1 red 1
        stopped: over
        pause: judged 1 red 1
        continue: judged 1 red 1
        leave: judged 1 red 1
        kill: judged 1 red 1
        set: judged 1 red 1
        say: judged 1 red 1
        illegal: opened, began snapshot, began agent, ended snapshot, ended agent, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: lost, impossible, asked to end, killed
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn after_the_last_check_of_work_that_is_done() {
    check(
        "checks:1",
        "start done green…",
        "
        resumed: check 1.1
        began check: wait
        judged: stop completed
        stop asked: judged 1 done
        woke: judged 1 done
        stopped: over
        pause: judged 1 done
        continue: judged 1 done
        leave: judged 1 done
        kill: judged 1 done
        set: judged 1 done
        say: judged 1 done
        illegal: opened, began snapshot, began agent, ended snapshot, ended agent, ended check
        illegal: began message, began scm, ended message, ended scm
        illegal: lost, impossible, asked to end, killed
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn after_a_failure() {
    check(
        "checks:1",
        "start fail…",
        "
        resumed: judged 1 failed (exit code 1)
        judged: wait until 1s
        stop asked: judged 1 failed (exit code 1)
        woke: judged 1 failed (exit code 1)
        stopped: over
        pause: judged 1 failed (exit code 1)
        continue: judged 1 failed (exit code 1)
        leave: judged 1 failed (exit code 1)
        kill: judged 1 failed (exit code 1)
        set: judged 1 failed (exit code 1)
        say: judged 1 failed (exit code 1)
        illegal: opened, began snapshot, began agent, began check, ended snapshot, ended agent
        illegal: began message, began scm, ended message, ended scm
        illegal: ended check, lost, impossible, asked to end, killed
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn while_a_failure_is_waited_out() {
    check(
        "checks:1",
        "start fail",
        "
        resumed: wait until 1s
        began snapshot: wait
        began agent: wait
        stop asked: stop interrupted
        woke: wait until 1s
        stopped: over
        pause: wait
        continue: wait until 1s
        leave: stop paused
        kill: stop killed
        set: wait until 1s
        say: wait until 1s
        illegal: opened, began check, ended snapshot, ended agent, ended check, lost, impossible
        illegal: began message, began scm, ended message, ended scm
        illegal: asked to end, killed, judged
        low disk: wait until 1s
        illegal: silent, blocked
        ",
    );
}

#[test]
fn after_an_interruption() {
    check(
        "checks:1",
        "start stop talk",
        "
        resumed: check 1.1
        set: over
        say: over
        illegal: opened, began snapshot, began agent, began check, ended snapshot, ended agent
        illegal: ended check, lost, impossible, asked to end, killed, judged, stop asked, woke
        illegal: began message, began scm, ended message, ended scm
        illegal: stopped
        illegal: pause, continue, leave, kill, silent, blocked, low disk
        ",
    );
}

#[test]
fn after_completion() {
    check(
        "checks:1",
        "start done green",
        "
        set: over
        say: over
        illegal: opened, resumed, began snapshot, began agent, began check, ended snapshot
        illegal: ended agent, ended check, lost, impossible, asked to end, killed, judged
        illegal: began message, began scm, ended message, ended scm
        illegal: stop asked, woke, stopped
        illegal: pause, continue, leave, kill, silent, blocked, low disk
        ",
    );
}

#[test]
fn while_a_commit_message_is_written() {
    check(
        "scm:commit+push",
        "start talk",
        "
        resumed: message 1
        ended message: scm 1.1
        lost: message 1
        impossible: stop error (why)
        asked to end: wait until 5s
        killed: wait until 5s
        stop asked: wait until 300s
        woke: wait until 300s
        pause: wait until 300s
        continue: wait until 300s
        leave: wait until 300s
        kill: kill (killed)
        set: wait until 300s
        say: wait until 300s
        illegal: opened, began snapshot, began agent, began check, began message, began scm
        illegal: ended snapshot, ended agent, ended check, ended scm, judged, stopped
        illegal: silent, blocked, low disk
        ",
    );
}

#[test]
fn between_a_commit_message_and_the_commit() {
    check(
        "scm:commit+push",
        "start talk message…",
        "
        resumed: scm 1.1
        began snapshot: wait
        began agent: wait
        began scm: wait
        stop asked: stop interrupted
        woke: scm 1.1
        stopped: over
        pause: scm 1.1
        continue: scm 1.1
        leave: stop paused
        kill: stop killed
        set: scm 1.1
        say: scm 1.1
        illegal: opened, began check, began message, ended snapshot, ended agent, ended check
        illegal: ended message, ended scm, lost, impossible, asked to end, killed, judged
        low disk: scm 1.1
        illegal: silent, blocked
        ",
    );
}

#[test]
fn while_a_source_control_task_runs() {
    check(
        "scm:commit+push",
        "start talk message",
        "
        resumed: scm 1.1
        ended scm: scm 1.2
        lost: scm 1.1
        impossible: stop error (why)
        asked to end: wait until 5s
        killed: wait until 5s
        stop asked: wait
        woke: wait
        pause: wait
        continue: wait
        leave: wait
        kill: kill (killed)
        set: wait
        say: wait
        illegal: opened, began snapshot, began agent, began check, began message, began scm
        illegal: ended snapshot, ended agent, ended check, ended message, judged, stopped
        illegal: silent, blocked, low disk
        ",
    );
}

#[track_caller]
fn refused(asked: &str, words: &str, fact: Fact, expected: &Illegal) {
    let mut story = stand(asked, words);
    assert_eq!(story.take(fact).as_ref(), Err(expected), "asked `{asked}`, played `{words}`");
}

/// What is legal by its kind is refused if it is of another step, iteration or attempt.
#[test]
fn a_fact_about_something_else_is_refused() {
    let agent = |iteration, attempt| Step::Agent { iteration, attempt, agent: 0, item: Item::Prompt };
    let check = |iteration, index| Step::Check { iteration, index, round: Round::Workspace };
    let began = Illegal::OutOfPlace("began");

    refused("git", "start…", Fact::Began { id: 2, step: Step::Snapshot { iteration: 1 } }, &began);
    refused("git", "start…", Fact::Began { id: 1, step: Step::Snapshot { iteration: 2 } }, &began);
    refused("", "start…", Fact::Began { id: 2, step: agent(1, 1) }, &began);
    refused("", "start…", Fact::Began { id: 1, step: agent(2, 1) }, &began);
    refused("", "start…", Fact::Began { id: 1, step: agent(1, 2) }, &began);
    refused("", "start empty…", Fact::Began { id: 2, step: agent(1, 1) }, &began);
    refused("checks:2", "start done green…", Fact::Began { id: 3, step: check(1, 0) }, &began);
    refused("checks:2", "start done green…", Fact::Began { id: 3, step: check(2, 1) }, &began);
    let end_of = |id| Fact::Ended { id, end: end("done", &agent(1, 1)) };
    refused("", "start", end_of(2), &Illegal::NoSuchStep(2));
    let kill = Fact::Cancelled { id: 2, how: How::Kill, why: Why::MaxTime };
    refused("", "start", kill, &Illegal::NoSuchStep(2));
    for wrong in [0, 2] {
        let judged = Fact::Judged(judgement(wrong));
        refused("checks:1", "start done red…", judged, &Illegal::OutOfPlace("judged"));
    }
}

#[test]
fn a_forged_verdict_is_refused() {
    let forged = |verdict, tag: Option<&str>| {
        let claim = Claim { tag: tag.map(String::from), ..Claim::default() };
        Fact::Judged(Judgement {
            iteration: 1,
            item: Item::Prompt,
            claim,
            verdict,
            settlement: Settlement::Settled,
            silence: None,
            proof: None,
        })
    };
    let out_of_place = Illegal::OutOfPlace("judged");
    refused("checks:1", "start done red…", forged(Verdict::Green { checks: 1 }, Some("DONE")), &out_of_place);
    refused("", "start talk…", forged(Verdict::Green { checks: 0 }, Some("DONE")), &out_of_place);
    refused("", "start fail…", forged(Verdict::Green { checks: 0 }, None), &out_of_place);
    let completed = Fact::Stopped { reason: StopReason::Completed, note: None };
    refused("checks:1", "start done red…", completed, &Illegal::OutOfPlace("stopped"));
}

/// The envelope of an event is looked at first, wherever the run stands.
#[test]
fn an_event_out_of_order_is_refused() {
    for words in ["start…", "start", "start done", "start fail", "start stop talk"] {
        let story = stand("checks:1", &words.replace("start", "start 9s woke"));
        let due = Event {
            v: VERSION,
            seq: story.state.position.seq + 1,
            epoch: 1,
            at: 0,
            up_ms: story.now_ms,
            fact: Fact::Resumed { pid: 1 },
        };
        let (seq, epoch) = (due.seq, due.epoch);
        let cases = [
            (Event { epoch: 2, v: VERSION + 1, ..due.clone() }, Illegal::Version(VERSION + 1)),
            (
                Event { epoch: 2, seq: seq + 1, ..due.clone() },
                Illegal::Sequence { expected: seq, found: seq + 1 },
            ),
            (
                Event { epoch: 2, seq: seq - 1, ..due.clone() },
                Illegal::Sequence { expected: seq, found: seq - 1 },
            ),
            (Event { epoch: 2, up_ms: due.up_ms - 1, ..due.clone() }, Illegal::Backwards),
            (due.clone(), Illegal::Epoch { expected: 2, found: epoch }),
            (Event { epoch: 3, ..due.clone() }, Illegal::Epoch { expected: 2, found: 3 }),
        ];
        for (event, expected) in cases {
            assert_eq!(story.clone().admit(event), Err(expected), "played `{words}`");
        }
        assert_eq!(story.clone().admit(Event { epoch: 2, ..due }), Ok(()), "played `{words}`");
    }
}

#[test]
fn a_journal_begins_with_opened() {
    let story = stand("", "start");
    let [opened, began] = &story.events[..] else { panic!("{:?}", story.events) };
    assert!(State::open(opened).is_ok());
    assert_eq!(State::open(began), Err(Illegal::NotOpened));
    let cases = [
        (Event { v: VERSION + 1, ..opened.clone() }, Illegal::Version(VERSION + 1)),
        (Event { seq: 2, ..opened.clone() }, Illegal::Sequence { expected: 1, found: 2 }),
        (Event { epoch: 2, ..opened.clone() }, Illegal::Epoch { expected: 1, found: 2 }),
    ];
    for (event, expected) in cases {
        assert_eq!(State::open(&event), Err(expected));
    }
}
