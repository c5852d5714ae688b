//! Properties of random lives: whatever the world does, in whatever order.
//!
//! A life is a run and a list of chances. Whenever the policy waits, the next chance says
//! what happens: the step in flight ends somehow, a timer, a signal, a crash. When they are
//! used up, the world is dull: steps end without a claim, waits are waited out.

use crate::story::{Story, play, run};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use ralph_loop::ask::Ask;
use ralph_loop::dialect::{Answer, Blocker, Exit};
use ralph_loop::event::{Branch, End, Event, Fact, Step, StopReason, Why};
use ralph_loop::gates::GateChange;
use ralph_loop::limits::{Backoff, EMPTY_ANSWERS_RERUN, LOSSES_ENDURED};
use ralph_loop::money::Usd;
use ralph_loop::plan::{Item, Plan, PlanEnd};
use ralph_loop::proof::{Round, Site, Word};
use ralph_loop::state::Resumable;
use ralph_loop::story_id::StoryId;
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::view::{EndKind, Iteration, Moments};
use ralph_loop::{Run, State, wake_at};
use std::collections::BTreeSet;

#[derive(Clone, Debug)]
struct Chance {
    /// How much later than the event before.
    after_ms: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// The step in flight ends with one of the words that fit it.
    Ends(prop::sample::Index),
    Lost,
    Impossible,
    Stop,
    /// The process has died and another takes the run up.
    Resumed,
    Woke,
    /// The timer that the policy asked for.
    Due,
    /// The user asks by the worker's name.
    Asks(&'static str),
    /// The agent shows no sign of life.
    Silent,
    /// The agent reports that it cannot go on, or can again.
    Blocked(&'static str),
    /// So many bytes are free from now on.
    Disk(u64),
}

const AGENT_ENDS: [&str; 16] = [
    "done$0.30",
    "done",
    "said:ALMOST",
    "talk$0.20",
    "empty",
    "empty$0.01",
    "fail~0.10",
    "ended",
    "done$0.30",
    "done",
    "talk",
    "empty",
    "fail",
    "limited:20",
    "down",
    "nokey",
];
const STORY_ENDS: [&str; 12] = [
    "told:DONE-1.1@main",
    "told:DONE-1.2@main",
    "told:DONE-1.1@main$0.30",
    "told:DONE-1.2@main$0.20",
    "told:FAIL-1.1@main$0.10",
    "told:FAIL-1.2@main",
    "talk@main",
    "empty@main",
    "fail@main",
    "limited:20@main",
    "down@main",
    "told:DONE-1.1@elsewhere",
];
/// What agents and people make of a task list.
const LISTS: [&str; 8] = [
    "list:A=new+B=new",
    "list:A=waiting+B=new",
    "list:A=waiting1+B=new",
    "list:A=back1+B=waiting",
    "list:A=right1+B=new",
    "list:A=right1+B=waiting2",
    "list:A=right1+B=right2",
    "list:A=right2+B=right1",
];
const PREPARE_ENDS: [&str; 6] =
    ["copy", "copy:gates", "copy:new", "copy:gates+new", "copy:place", "copy:same"];
const CHECK_ENDS: [&str; 4] = ["green", "green", "red", "ended"];
const MESSAGE_ENDS: [&str; 5] = ["message$0.01", "message~0.02", "clean", "undone", "ended"];
const SCM_ENDS: [&str; 4] = ["did", "clean", "undone", "ended"];
const RESTORE_ENDS: [&str; 3] = ["back", "back", "back:1"];
const SNAPSHOT_ENDS: [&str; 4] = ["tree:A", "tree:A", "tree:B", "tree:?"];

fn chance() -> impl Strategy<Value = Chance> {
    let what = prop_oneof![
        24 => any::<prop::sample::Index>().prop_map(What::Ends),
        2 => Just(What::Lost),
        1 => Just(What::Impossible),
        4 => Just(What::Stop),
        3 => Just(What::Resumed),
        1 => Just(What::Woke),
        4 => Just(What::Due),
        2 => prop::sample::select(&["pause", "continue", "continue", "leave", "kill", "say:x"][..]).prop_map(What::Asks),
        1 => Just(What::Silent),
        2 => prop::sample::select(&["offline", "online", "badkey", "person"][..]).prop_map(What::Blocked),
        2 => prop::sample::select(&[0, LEAST, u64::MAX][..]).prop_map(What::Disk),
    ];
    let after_ms = prop_oneof![3 => Just(0), 2 => 0..5_000_u64, 1 => 0..100_000_u64];
    (after_ms, what).prop_map(|(after_ms, what)| Chance { after_ms, what })
}

/// Bytes that have to be free, in runs that look for them.
const LEAST: u64 = 500;

fn chances() -> impl Strategy<Value = Vec<Chance>> {
    prop::collection::vec(chance(), 0..80)
}

fn any_run() -> impl Strategy<Value = Run> {
    let seconds = |range: std::ops::Range<u64>| prop::option::of(range.prop_map(|s| s * 1000));
    let plan = prop_oneof![3 => Just(""), 1 => Just("checks-only"), 3 => Just("stories:1.1+1.2<1.1"), 3 => Just("tasks:2")];
    let proof = prop_oneof![
        2 => Just(""),
        2 => Just("proof"),
        1 => Just("proof no-baseline"),
        1 => Just("proof:clean"),
        1 => Just("proof:strict")
    ];
    let scm = prop_oneof![Just(""), Just("scm:commit+push")];
    let confined = prop_oneof![Just(""), Just("confined"), Just("confined:required")];
    let flags = (plan, any::<bool>(), any::<bool>(), scm, proof, confined);
    let limits = (0..7_u32, 0..4_u32, 0..4_u32, seconds(1..120), seconds(1..600));
    let money = prop::option::of((0..20_u32).prop_map(|dimes| Usd::from_dollars(f64::from(dimes) / 10.0)));
    let backoff = (0..4_000_u64, 0..20_000_u64);
    (flags, 0..4_u32, limits, money, backoff).prop_map(|(flags, checks, limits, max_cost, backoff)| {
        let (plan, git, checkpoints, scm, proof, confined) = flags;
        let mut run = run(&format!("checks:{checks} {scm} {plan} {proof} {confined}"));
        (run.git, run.checkpoints) = (git, checkpoints);
        run.limits.max_outage_ms = 1_000 * u64::from(checks);
        (
            run.limits.iterations,
            run.limits.max_failures,
            run.limits.stall_after,
            run.limits.agent_timeout_ms,
            run.limits.max_time_ms,
        ) = limits;
        run.limits.max_cost = max_cost;
        run.limits.min_free = if checkpoints { LEAST } else { 0 };
        run.limits.backoff = Backoff { base_ms: backoff.0, cap_ms: backoff.1 };
        run
    })
}

fn live(run: &Run, chances: &[Chance]) -> Story {
    let mut story = Story::open(run.clone());
    live_on(&mut story, chances);
    story
}

fn live_on(story: &mut Story, chances: &[Chance]) {
    let mut chances = chances.iter();
    let bound = most_events(&story.run, chances.len()) + story.events.len();
    loop {
        story.settle();
        assert!(story.events.len() <= bound, "more than {bound} events: {:?}", story.events);
        let chance = chances.next();
        story.now_ms += chance.map_or(0, |chance| chance.after_ms);
        match chance.map(|chance| &chance.what) {
            Some(What::Disk(free)) => story.free = *free,
            Some(_) => {}
            // A dull world has room.
            None => story.free = u64::MAX,
        }
        if story.state.stopped.is_some() {
            match chance.map(|chance| &chance.what) {
                Some(What::Resumed) if story.state.resumable() == Resumable::Now => story.word("resumed"),
                Some(What::Asks("say:x")) => story.word("say:x"),
                Some(_) => {}
                None => return,
            }
            continue;
        }
        let waits_for = wake_at(&story.run, &story.state);
        let flight = story.state.first_flight().map(|flight| flight.step.clone());
        let paused = story.state.asked.paused();
        assert!(flight.is_some() || waits_for.is_some() || paused, "waits for nothing: {:?}", story.state);
        let steered = story.state.first_flight().and_then(|flight| flight.cancel);
        match (chance.map(|chance| &chance.what), flight) {
            (Some(What::Asks(word)), _) => story.word(word),
            (Some(What::Silent), Some(Step::Agent { .. })) if steered.is_none() => story.word("silent"),
            (Some(What::Blocked(word)), Some(Step::Agent { .. })) => story.word(word),
            (Some(What::Stop), _) => story.word("stop"),
            (Some(What::Resumed), _) => story.word("resumed"),
            (Some(What::Woke), _) => story.word("woke"),
            (Some(What::Due), _) if waits_for.is_some() => story.word("due"),
            (Some(What::Lost), Some(_)) => story.word("lost"),
            (Some(What::Impossible), Some(_)) => story.word("impossible:why"),
            (Some(What::Ends(index)), Some(step)) => story.word(match step {
                Step::Agent { .. } if story.run.plan.restores() => STORY_ENDS[index.index(STORY_ENDS.len())],
                Step::Agent { .. } => AGENT_ENDS[index.index(AGENT_ENDS.len())],
                Step::Check { .. } => CHECK_ENDS[index.index(CHECK_ENDS.len())],
                Step::Prepare { .. } => PREPARE_ENDS[index.index(PREPARE_ENDS.len())],
                Step::Setup { .. } => CHECK_ENDS[index.index(CHECK_ENDS.len())],
                Step::Snapshot { .. } if story.run.plan.restores() => "tree:A@main",
                Step::Snapshot { .. } => SNAPSHOT_ENDS[index.index(SNAPSHOT_ENDS.len())],
                Step::Message { .. } => MESSAGE_ENDS[index.index(MESSAGE_ENDS.len())],
                Step::Scm { .. } => SCM_ENDS[index.index(SCM_ENDS.len())],
                Step::CommitWorktree => "did",
                Step::Restore { .. } => RESTORE_ENDS[index.index(RESTORE_ENDS.len())],
                Step::Uncommitted { .. } => "left",
                Step::Plan { .. } => LISTS[index.index(LISTS.len())],
            }),
            (_, Some(Step::Agent { .. })) => story.word("talk"),
            (_, Some(Step::Check { .. })) => story.word("green"),
            (_, Some(Step::Prepare { .. })) => story.word("copy"),
            (_, Some(Step::Setup { .. })) => story.word("green"),
            (_, Some(Step::Snapshot { .. })) if story.run.plan.restores() => story.word("tree:A@main"),
            (_, Some(Step::Snapshot { .. })) => story.word("tree:A"),
            (_, Some(Step::Restore { .. })) => story.word("back"),
            (_, Some(Step::Uncommitted { .. })) => story.word("left"),
            (_, Some(Step::Plan { .. })) => story.word("list:A=new"),
            (_, Some(Step::Message { .. })) => story.word("message"),
            (_, Some(Step::Scm { .. } | Step::CommitWorktree)) => story.word("did"),
            // Only the user ends a pause.
            (None, None) if paused => story.word("continue"),
            (Some(_), None) if paused => {}
            (_, None) => story.word("due"),
        }
    }
}

/// No life is longer. A step that shows something is one of a snapshot, a tree put back and recorded, an answer with its
/// reruns, the checks, a commit message, or the tasks of an iteration, or the last snapshot; between two of those so many can be lost; every
/// other step was cut short by a chance or by the end of the run.
fn most_events(run: &Run, chances: usize) -> usize {
    let iterations = run.limits.iterations as usize + chances * ATTEMPTS;
    let tasks = run.scm.as_ref().map_or(0, |scm| 1 + scm.tasks.len());
    // A baseline begins again after each resume; a claim is checked four times at most.
    let proof = if run.proof.is_some() { 4 * (1 + run.checks.len()) } else { 0 };
    let checks = run.checks.len() + proof;
    let baselines = 2 * proof * (chances + 1);
    let shown = iterations * (8 + 2 + EMPTY_ANSWERS_RERUN as usize + checks + tasks) + baselines + 1;
    // Beyond the chances the world acts by itself only to wait a failure out.
    let interventions = chances + iterations;
    let stops = interventions + 1;
    let lost = (shown + interventions + 1) * (LOSSES_ENDURED as usize + 1);
    let steps = shown + lost + interventions + stops;
    // A step begins, is asked to end, is killed, ends.
    1 + 4 * steps + iterations + interventions + stops
}

/// What holds for every record, regardless of how it was written.
fn assert_lawful(run: &Run, events: &[Event]) {
    let judged: Vec<_> = events.iter().filter_map(|event| judgement(&event.fact)).collect();
    let numbers: Vec<u32> = judged.iter().map(|judgement| judgement.iteration).collect();
    let expected: Vec<u32> = (1..).take(judged.len()).collect();
    assert_eq!(numbers, expected, "numbered from 1, without a gap, none twice");
    assert!(numbers.len() <= allowed(run, events), "{numbers:?}");

    let mut in_flight = None;
    for (at, event) in events.iter().enumerate() {
        match &event.fact {
            Fact::Began { id, step } => {
                assert_eq!(in_flight, None, "one step at a time");
                in_flight = Some(*id);
                if let Step::Agent { iteration, .. } = step {
                    assert!(*iteration as usize <= allowed(run, &events[..at]));
                    let spent = event.up_ms - rested_ms(&events[..at]);
                    assert!(run.limits.max_time_ms.is_none_or(|most| spent < most));
                }
            }
            Fact::Ended { id, .. } => assert_eq!(in_flight.take(), Some(*id)),
            Fact::Resumed { .. } => in_flight = None,
            Fact::Stopped { reason, .. } => assert_justified(run, &events[..at], *reason),
            Fact::Answered { id } => assert_eq!(in_flight, Some(*id)),
            Fact::Silent { id, .. } | Fact::Blocked { id, .. } => assert_eq!(in_flight, Some(*id)),
            Fact::Opened(_)
            | Fact::Cancelled { .. }
            | Fact::Judged(_)
            | Fact::StopAsked
            | Fact::Asked(_)
            | Fact::LowDisk(_)
            | Fact::Network(_)
            | Fact::Woke => {}
        }
    }
}

/// How long nothing was done because of pauses.
fn rested_ms(events: &[Event]) -> u64 {
    let (mut rested, mut since, mut at_work) = (0, None, false);
    for Event { fact, up_ms, .. } in events {
        match fact {
            Fact::Began { .. } => at_work = true,
            Fact::Ended { .. } => (at_work, since) = (false, since.map(|_| *up_ms)),
            Fact::Resumed { .. } => (at_work, since) = (false, None),
            Fact::Asked(Ask::Pause) => since = since.or(Some(*up_ms)),
            Fact::Asked(Ask::Continue) => match since.take() {
                Some(since) if !at_work => rested += up_ms - since,
                Some(_) | None => {}
            },
            _ => {}
        }
    }
    rested
}

/// Attempts at a story, as `story::run` gives them.
const ATTEMPTS: usize = 3;

/// Iterations that a run may use up; those of a story that halted it are given back when
/// the run is resumed.
fn allowed(run: &Run, events: &[Event]) -> usize {
    let failed = |note: &String| note.ends_with(&format!("failed {ATTEMPTS} times"));
    let (mut halted, mut given_back) = (false, 0);
    for event in events {
        match &event.fact {
            Fact::Stopped { reason: StopReason::Halted, note: Some(note) } => halted = failed(note),
            Fact::Resumed { .. } => given_back += usize::from(std::mem::take(&mut halted)),
            _ => {}
        }
    }
    run.limits.iterations as usize + given_back * ATTEMPTS
}

fn judgement(fact: &Fact) -> Option<&Judgement> {
    match fact {
        Fact::Judged(judgement) => Some(judgement),
        _ => None,
    }
}

fn story_of(judgement: &Judgement) -> Option<StoryId> {
    match judgement.item {
        Item::Story { id, .. } => Some(id),
        Item::Prompt | Item::Task { .. } => None,
    }
}

/// Something keeps the checks from running on a clean copy: it cannot be made, or they fail on it.
fn not_on_copy(fact: &Fact) -> bool {
    match fact {
        Fact::Ended { end: End::Prepare(prepared), .. } => !prepared.is_copy(),
        Fact::Began { step: Step::Check { round, .. }, .. } => *round == Round::BaselineInPlace,
        _ => false,
    }
}

/// A check has passed outside the sandbox after it has failed inside.
fn passes_only_outside(events: &[Event]) -> bool {
    let (mut begun, mut failed) = (None, BTreeSet::new());
    events.iter().any(|event| match &event.fact {
        Fact::Began { step: Step::Check { index, round, .. }, .. } => {
            begun = Some((*index, *round));
            false
        }
        Fact::Ended { end: End::Check(end), .. } => match (begun, end.exit) {
            (Some((index, Round::BaselineOutside)), Exit::Code(0)) => failed.contains(&index),
            (_, Exit::Code(0)) | (None, _) => false,
            (Some((index, _)), _) => {
                failed.insert(index);
                false
            }
        },
        _ => false,
    })
}

/// Why a run has stopped can be read off its record.
fn assert_justified(run: &Run, before: &[Event], reason: StopReason) {
    let judged: Vec<_> = before.iter().filter_map(|event| judgement(&event.fact)).collect();
    let life = before.iter().rposition(|event| matches!(event.fact, Fact::Resumed { .. })).unwrap_or(0);
    let this_life = &before[life..];
    let limits = &run.limits;
    let justified = match reason {
        StopReason::Completed => proven(run, before),
        StopReason::MaxIterations => judged.len() == allowed(run, before),
        // Or another like those before would have been too much; a median is no more than the sum.
        StopReason::BudgetExhausted => {
            limits.max_cost.is_some_and(|most| cost(before) + cost(before) >= most)
        }
        StopReason::Timeout => {
            let up_ms = before.last().map_or(0, |event| event.up_ms);
            limits.max_time_ms.is_some_and(|most| up_ms >= most)
        }
        StopReason::TooManyFailures => {
            let in_a_row = limits.max_failures.max(1) as usize;
            let last = judged.iter().rev().take(in_a_row);
            last.filter(|j| j.counts_as_failure()).count() == in_a_row
        }
        StopReason::Stalled if matches!(run.plan, Plan::Stories(_)) => {
            let in_a_row = limits.stall_after as usize;
            let last: Vec<_> = judged.iter().rev().take(in_a_row).collect();
            let failed = |j: &Judgement| {
                let retried = matches!(j.settlement, Settlement::Retry { .. });
                retried && !matches!(j.verdict, Verdict::AgentFailed { .. })
            };
            let alike = |j: &Judgement| j.verdict.failed_checks() == last[0].verdict.failed_checks();
            let changes = put_back(before);
            in_a_row > 0
                && last.len() == in_a_row
                && last.iter().all(|j| failed(j) && alike(j))
                && changes.len() >= in_a_row
                && changes.iter().rev().take(in_a_row).all(|change| Some(change) == changes.last())
        }
        StopReason::Stalled => {
            let in_a_row = limits.stall_after as usize;
            let verdicts: Vec<_> = judged.iter().rev().take(in_a_row).map(|j| &j.verdict).collect();
            let unchanged = unchanged(before);
            // A task list can also tell by itself that green checks were no use.
            let no_use = |verdict: &Verdict| match verdict {
                Verdict::Red { .. } | Verdict::Refused { .. } => true,
                Verdict::Green { .. } => matches!(run.plan, Plan::Tasks(_)),
                Verdict::AgentFailed { .. } => false,
            };
            let alike = |verdict: &Verdict| verdict.failed_checks() == verdicts[0].failed_checks();
            in_a_row > 0
                && verdicts.len() == in_a_row
                && verdicts.iter().all(|verdict| no_use(verdict) && alike(verdict))
                && unchanged.len() >= in_a_row
                && unchanged.iter().rev().take(in_a_row).all(|same| *same)
        }
        StopReason::NoCleanCopy => {
            let requires = run.proof.as_ref().is_some_and(|proof| proof.mode.requires_copy());
            requires && before.iter().any(|event| not_on_copy(&event.fact))
        }
        StopReason::SandboxInTheWay => {
            run.confinement.sandbox().is_some() && judged.is_empty() && passes_only_outside(before)
        }
        StopReason::Paused => this_life.iter().any(|event| event.fact == Fact::Asked(Ask::Leave)),
        StopReason::Killed => this_life.iter().any(|event| event.fact == Fact::Asked(Ask::Kill)),
        StopReason::Interrupted => this_life.iter().any(|event| event.fact == Fact::StopAsked),
        StopReason::Error => this_life.iter().any(|event| {
            let elsewhere = Branch::Named("elsewhere".into());
            match &event.fact {
                Fact::Ended { end: End::Lost { .. } | End::Impossible { .. }, .. } => true,
                Fact::Ended { end: End::Agent(end), .. } => end.branch.as_ref() == Some(&elsewhere),
                _ => false,
            }
        }),
        StopReason::Outage => {
            let offline =
                |event: &Event| matches!(event.fact, Fact::Blocked { by: Some(Blocker::Network), .. });
            this_life.iter().any(offline)
                || answered(this_life, |answer| matches!(answer, Answer::Unavailable { .. }))
        }
        StopReason::Authentication => answered(this_life, |answer| matches!(answer, Answer::Refused { .. })),
        // A prompt is never stuck; a story that failed three times is, and one whose last review
        // approves what is red.
        StopReason::Halted if matches!(run.plan, Plan::Tasks(_)) => {
            judged.last().is_some_and(|judgement| matches!(judgement.verdict, Verdict::Red { .. }))
        }
        StopReason::Halted => {
            let last: Vec<_> = judged.iter().rev().take(3).collect();
            let failed = |j: &Judgement| matches!(j.settlement, Settlement::Retry { .. });
            let same = |j: &Judgement| story_of(j).is_some() && story_of(j) == story_of(last[0]);
            last.len() == 3 && last.iter().all(|j| failed(j) && same(j))
        }
    };
    assert!(justified, "stopped as {reason:?} after {before:#?}");
}

fn answered(events: &[Event], fits: impl Fn(&Answer) -> bool) -> bool {
    events
        .iter()
        .any(|event| matches!(&event.fact, Fact::Ended { end: End::Agent(end), .. } if fits(&end.answer)))
}

/// Of each iteration, whether the tree after it is known to be the one before it. What is recorded
/// after an empty answer is neither.
fn unchanged(events: &[Event]) -> Vec<bool> {
    let (mut before, mut judged, mut emptied, mut unchanged) = (None, false, false, Vec::new());
    for event in events {
        match &event.fact {
            Fact::Began { step: Step::Agent { .. } | Step::Restore { .. }, .. } => emptied = false,
            Fact::Ended { end: End::Agent(end), .. } => emptied = end.answer == Answer::Empty,
            Fact::Judged(_) => (judged, emptied) = (true, false),
            Fact::Ended { end: End::Snapshot(end), .. } if !emptied => {
                if std::mem::take(&mut judged) {
                    unchanged.push(end.tree.is_some() && end.tree == before);
                }
                before.clone_from(&end.tree);
            }
            _ => {}
        }
    }
    unchanged
}

/// What each attempt that was judged had changed: as putting it back has found, or, where it was not
/// put back because the run was stopped after the last attempt and resumed, as the next tree shows.
fn put_back(events: &[Event]) -> Vec<Option<String>> {
    let (mut judged, mut before, mut changes) = (false, None, Vec::new());
    for event in events {
        match &event.fact {
            Fact::Judged(_) => judged = true,
            Fact::Ended { end: End::Restore(end), .. } if std::mem::take(&mut judged) => {
                changes.push(end.change.clone());
            }
            Fact::Ended { end: End::Snapshot(end), .. } => {
                if std::mem::take(&mut judged) {
                    changes.push(end.tree.clone().filter(|tree| Some(tree) != before.as_ref()));
                }
                before.clone_from(&end.tree);
            }
            _ => {}
        }
    }
    changes
}

fn cost(events: &[Event]) -> Usd {
    agents_cost(events) + messages_cost(events)
}

fn agents_cost(events: &[Event]) -> Usd {
    let cost = |event: &Event| match &event.fact {
        Fact::Ended { end: End::Agent(end), .. } => end.seen.cost.or(end.estimate),
        _ => None,
    };
    events.iter().filter_map(cost).sum()
}

fn messages_cost(events: &[Event]) -> Usd {
    let cost = |event: &Event| match &event.fact {
        Fact::Ended { end: End::Message(end), .. } => end.cost.or(end.estimate),
        _ => None,
    };
    events.iter().filter_map(cost).sum()
}

fn is_estimated(fact: &Fact) -> bool {
    match fact {
        Fact::Ended { end: End::Agent(end), .. } => end.estimate.is_some(),
        Fact::Ended { end: End::Message(end), .. } => end.estimate.is_some(),
        _ => false,
    }
}

/// Proof from the facts themselves, without any verdict: in the last iteration that was
/// judged, the last agent ended by itself with the word, then every check with 0. Of stories,
/// that each of them has had such an iteration.
fn proven(run: &Run, events: &[Event]) -> bool {
    let (mut said, mut green) = (false, vec![false; run.checks.len()]);
    let (mut found, mut step, mut cut, mut done) = (false, None, None, BTreeSet::new());
    for event in events {
        match &event.fact {
            Fact::Began { step: begun, .. } => (step, cut) = (Some(begun), None),
            Fact::Cancelled { why, .. } => cut = Some(*why),
            Fact::Ended { end: End::Agent(end), .. }
                if !matches!(cut, Some(Why::MaxTime | Why::StopAsked | Why::Killed)) =>
            {
                let story = match step {
                    Some(Step::Agent { item: Item::Story { id, .. }, .. }) => Some(id.to_string()),
                    _ => None,
                };
                let done = match &story {
                    None => end.seen.tag.as_deref() == Some("DONE"),
                    Some(id) => end.seen.signals.done.as_ref() == Some(id),
                };
                // One that fell silent after its word has said it all the same.
                let ended = matches!(cut, None | Some(Why::Blocked(_)));
                let whole = ended && end.exit == Exit::Code(0);
                said = (whole || matches!(cut, Some(Why::Silent(_)))) && done;
                green.fill(false);
            }
            Fact::Ended { end: End::Check(end), .. } => {
                let Some(Step::Check { index, round, .. }) = step else { return false };
                // The tests of the start, and the source of the start, may be red.
                if matches!(round, Round::Workspace | Round::Delivered) {
                    green[*index] = cut.is_none() && end.exit == Exit::Code(0);
                }
            }
            Fact::Judged(judgement) => {
                let listens = match &run.plan {
                    Plan::Prompt(plan) => plan.completion.listens(),
                    Plan::Stories(_) => true,
                    Plan::Tasks(_) => false,
                };
                let worth = if listens { said } else { !green.is_empty() };
                found = judgement.verdict.is_green() && worth && green.iter().all(|green| *green);
                if found {
                    done.extend(story_of(judgement));
                }
            }
            _ => {}
        }
    }
    match &run.plan {
        Plan::Prompt(_) => found,
        Plan::Stories(plan) => found && done.len() == plan.todo.len(),
        Plan::Tasks(_) => said_by_the_list(events),
    }
}

/// The last thing that was read or written says that every story passes.
fn said_by_the_list(events: &[Event]) -> bool {
    let last = events.iter().rev().find_map(|event| match &event.fact {
        Fact::Ended { end: End::Plan(end), .. } => {
            let PlanEnd::Tasks(end) = &**end;
            Some(end.known.list.is_complete(false))
        }
        _ => None,
    });
    last == Some(true)
}

/// What a journal gives back: every event through its text, folded.
pub fn replay(events: &[Event]) -> State {
    let mut events = events.iter().map(|event| {
        let line = serde_json::to_string(event).expect("an event can be written");
        let read: Event = serde_json::from_str(&line).expect("an event can be read");
        assert_eq!(&read, event);
        read
    });
    let mut state = State::open(&events.next().expect("opened")).expect("opened");
    for event in events {
        state.apply(&event).expect("what was legal is legal again");
    }
    state
}

fn history(run: &Run, events: &[Event]) -> Vec<Iteration> {
    let (mut moments, mut iterations) = (Moments::default(), Vec::new());
    let mut state = State::open(&events[0]).expect("opened");
    for event in events {
        if event.seq > 1 {
            state.apply(event).expect("what was legal is legal again");
        }
        let ended = moments.iteration(run, &state, event);
        assert_eq!(ended.is_some(), judgement(&event.fact).is_some(), "{event:?}");
        iterations.extend(ended);
    }
    iterations
}

proptest! {
    /// `live_on` holds the bound on events, `settle` that `next` answers alike when asked
    /// twice, `admit` that a refusal changes nothing.
    #[test]
    fn every_life_ends_within_its_limits_and_for_a_reason(run in any_run(), chances in chances()) {
        let story = live(&run, &chances);
        prop_assert!(story.state.stopped.is_some());
        assert_lawful(&run, &story.events);
    }

    #[test]
    fn a_replayed_run_is_the_run_that_was_lived(run in any_run(), chances in chances()) {
        let story = live(&run, &chances);
        prop_assert_eq!(replay(&story.events), story.state);
    }

    #[test]
    fn history_tells_each_iteration_once_and_as_it_was_judged(run in any_run(), chances in chances()) {
        let story = live(&run, &chances);
        let iterations = history(&run, &story.events);
        let judged = story.events.iter().filter_map(|event| judgement(&event.fact));
        for (shown, judged) in iterations.iter().zip(judged) {
            prop_assert_eq!(shown.iteration, judged.iteration);
            prop_assert_eq!(shown.all_checks_passed, judged.verdict.is_green());
            prop_assert_eq!(shown.end == EndKind::Silent, judged.silence.is_some());
            prop_assert!(shown.error.is_some() || !judged.counts_as_failure());
            match &judged.verdict {
                Verdict::AgentFailed { why } => prop_assert_eq!(shown.error.as_ref(), Some(why)),
                Verdict::Green { .. } | Verdict::Red { .. } | Verdict::Refused { .. } => {
                    let passed: Vec<bool> = shown.check_results.iter().map(|check| check.passed).collect();
                    let failed = judged.verdict.failed_checks();
                    let expected: Vec<bool> = (0..run.checks.len()).map(|i| !failed.contains(&i)).collect();
                    prop_assert_eq!(passed, expected);
                }
            }
        }
        let last = story.events.iter().rposition(|event| judgement(&event.fact).is_some());
        let unfinished = agents_cost(&story.events[last.map_or(0, |at| at + 1)..]);
        let shown: Usd = iterations.iter().map(|iteration| iteration.cost.usd).sum();
        prop_assert_eq!(shown + unfinished + messages_cost(&story.events), story.state.ledger.spent.usd);
        prop_assert_eq!(cost(&story.events), story.state.ledger.spent.usd);
        prop_assert_eq!(story.events.iter().any(|event| is_estimated(&event.fact)), story.state.ledger.spent.estimated);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_life_cut_anywhere_goes_on_to_a_lawful_end(run in any_run(), chances in chances()) {
        let story = live(&run, &chances);
        for cut in 1..=story.events.len() {
            let events = story.events[..cut].to_vec();
            let state = replay(&events);
            let mut rest = Story { run: run.clone(), now_ms: state.position.up_ms, state, events, free: u64::MAX };
            let resumable = rest.state.resumable() == Resumable::Now;
            let resumed = rest.take(Fact::Resumed { pid: 2 });
            prop_assert_eq!(resumed.is_ok(), resumable);
            live_on(&mut rest, &[]);
            prop_assert!(rest.state.stopped.is_some());
            assert_lawful(&run, &rest.events);
        }
    }
}

/// Rare in a random life: a check that a person cut short belongs to no iteration's results.
#[test]
fn history_tells_a_check_that_was_cut_short_once() {
    for words in [
        "start talk red stop stop ended resumed red green",
        "start talk red lost green",
        "start talk red resumed red green",
        "start talk due ended green",
        "start talk due stop stop ended resumed red green",
    ] {
        let (story, _) = play("checks:2", words);
        let iterations = history(&story.run, &story.events);
        let passed: Vec<bool> = iterations[0].check_results.iter().map(|check| check.passed).collect();
        assert_eq!(passed, [false, true], "played `{words}`");
    }
}

proptest! {
    /// Whatever happens, nothing is called proven that was not red before, on a copy, with the tests
    /// of the start.
    #[test]
    fn a_word_is_earned(run in any_run(), chances in chances()) {
        let story = live(&run, &chances);
        for (at, event) in story.events.iter().enumerate() {
            let Fact::Judged(Judgement { proof: Some(proof), verdict, .. }) = &event.fact else { continue };
            let claim = story.events[..at].iter().rposition(|event| {
                matches!(event.fact, Fact::Ended { end: End::Agent(_), .. })
            });
            let rounds = &story.events[claim.unwrap_or(0)..at];
            let prepared = rounds.iter().rev().find_map(|event| match &event.fact {
                Fact::Ended { end: End::Prepare(prepared), .. } => Some(prepared),
                _ => None,
            });
            let refused = matches!(verdict, Verdict::Refused { .. });
            prop_assert!(verdict.is_green() || refused);
            if matches!(proof.word, Word::Proven | Word::ProvenInPlace) {
                prop_assert!(!proof.fixed.is_empty() || !proof.new_tests.is_empty());
                let lowered = proof.gates.iter().any(GateChange::needs_second_run);
                prop_assert!(!lowered || proof.start_gates == Some(true));
                prop_assert!(prepared.is_some());
            }
            if proof.word == Word::Proven {
                prop_assert_eq!(&proof.site, &Site::Copy);
            }
            prop_assert_eq!(proof.word == Word::NoChecks, run.checks.is_empty() && !matches!(run.plan, Plan::Tasks(_)));
        }
    }
}

/// The same each time.
pub fn deterministic_lives(n: usize) -> impl Iterator<Item = Vec<Event>> {
    let mut runner = TestRunner::deterministic();
    std::iter::repeat_with(move || {
        let (run, chances) =
            (any_run(), chances()).new_tree(&mut runner).expect("a life can be made up").current();
        live(&run, &chances).events
    })
    .take(n)
}

/// The properties above are worth as much as the lives they look at.
#[test]
fn random_lives_reach_every_end() {
    let mut reached = BTreeSet::new();
    for events in deterministic_lives(500) {
        reached.extend(events.iter().filter_map(|event| match &event.fact {
            Fact::Stopped { reason, .. } => Some(reason.word()),
            _ => None,
        }));
    }
    assert_eq!(reached, StopReason::ALL.map(StopReason::word).into_iter().collect());
}

/// Iteration 10,000 costs what iteration 10 costs: the fold keeps no list of them.
#[test]
fn state_and_history_do_not_grow_with_iterations() {
    let mut story = Story::open(run("n:20000 git checks:2 stall:3"));
    let mut moments = Moments::default();
    let mut sizes = Vec::new();
    for iteration in 1..=10_000_u32 {
        let words = [
            "tree:A",
            "empty",
            "tree:A",
            "talk$0.01",
            "red",
            if iteration % 3 == 0 { "green" } else { "red" },
        ];
        for word in words {
            story.settle();
            story.now_ms += 1;
            story.word(&word.replace('A', &format!("{iteration:05}")));
        }
        story.settle();
        for event in story.events.drain(..) {
            moments.follow(&story.run, &story.state, &event);
        }
        if [99, 9_999].contains(&iteration) {
            sizes.push((format!("{:?}", story.state).len(), format!("{moments:?}").len()));
        }
    }
    assert_eq!(story.state.ledger.judged, 10_000);
    let [(state, past), (later_state, later_past)] = sizes[..] else { panic!("{sizes:?}") };
    // Only numbers have become longer.
    assert!(later_state <= state + 40 && later_past <= past + 40, "{sizes:?}");
}
