//! What the loop does next.
//!
//! [`next`] reads like the table it came from: a step in flight is only steered; between
//! steps an iteration is judged, then the reasons to stop are asked in their order of
//! weight, then the next step begins. It never decides from anything but the run and its
//! state, so calling it twice changes nothing.

use crate::dialect::{Blocker, Refusal};
use crate::event::{How, Step, StepId, StopReason, Why};
use crate::limits::{
    ANSWER_GRACE_MS, CLAIMS_ONLY_IN_PLACE, EMPTY_ANSWERS_RERUN, LOSSES_ENDURED, MESSAGE_TIMEOUT_MS,
    NETWORK_GRACE_MS, SETUP_TIMEOUT_MS,
};
use crate::money::Cost;
use crate::plan::{Evidence, Item, Pick};
use crate::proof::{Proof, ProofMode, in_the_way, rounds, word};
use crate::run::Run;
use crate::scm::{self, Message, News};
use crate::state::{Blocked, Cancel, Chores, Flight, Hold, Reply, Snapshot, Stage, State, Trouble, Worktree};
use crate::verdict::{Claim, Judgement, Verdict};
use serde::{Deserialize, Serialize};

/// Recorded as a fact first, then carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Start(Step),
    Cancel(StepId, How, Why),
    /// Ends the iteration. There is nothing to carry out: the fact itself is the effect.
    Judge(Judgement),
    Stop(StopReason, Option<String>),
}

/// How long a step that was asked to end may take before it is killed.
pub const GRACE_MS: u64 = 5_000;

pub fn next(run: &Run, state: &State) -> Vec<Action> {
    if state.stopped.is_some() {
        return Vec::new();
    }
    if state.flights.is_empty() {
        return between_steps(run, state).into_iter().collect();
    }
    state.flights.values().filter_map(|flight| steer(run, state, flight)).collect()
}

/// The moment, in the run's own time, at which `next` has to be asked again even if
/// nothing happens.
pub fn wake_at(run: &Run, state: &State) -> Option<u64> {
    if state.stopped.is_some() {
        return None;
    }
    if state.flights.is_empty() {
        if rests(state) {
            return None;
        }
        let waited = backoff_end(state).max(first_free(run, state)).max(next_measure(state));
        let limits = [Some(waited), state.ledger.limits.max_time_ms, outage_end(state)];
        return limits.into_iter().flatten().min();
    }
    state.flights.values().filter_map(|flight| steer_at(run, state, flight)).min()
}

/// What keeps a run waiting that has nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    /// Free space on a disk.
    Space,
    /// The end of a usage limit.
    UsageLimit,
    /// A service that is down or overloaded.
    Service,
    /// Some time after a failure.
    Backoff,
}

pub fn waits_for(run: &Run, state: &State) -> Option<WaitsFor> {
    let now = state.position.up_ms;
    match () {
        () if state.ledger.low_disk.is_some() => Some(WaitsFor::Space),
        () if first_free(run, state) > now && state.ledger.service.down_since_ms.is_some() => {
            Some(WaitsFor::Service)
        }
        () if first_free(run, state) > now => Some(WaitsFor::UsageLimit),
        () if backoff_end(state) > now => Some(WaitsFor::Backoff),
        () => None,
    }
}

/// When a step in flight has to be steered.
fn steer_at(run: &Run, state: &State, flight: &Flight) -> Option<u64> {
    match flight.cancel {
        Some(cancel) if cancel.how == How::KillKeeper => None,
        Some(cancel) => Some(cancel.since_ms + GRACE_MS),
        None => deadline(run, state, flight).map(|(at, _)| at),
    }
}

/// How many bytes have to be free for an action to be carried out: work is not begun on a disk
/// that is nearly full. What ends a run needs no room to speak of, and is worth trying.
pub fn space_wanted(run: &Run, state: &State, action: &Action) -> Option<u64> {
    let begins_work = match action {
        Action::Start(Step::Agent { .. }) => true,
        Action::Start(Step::Snapshot { .. }) => reason_to_stop(run, state).is_none(),
        Action::Start(_) | Action::Cancel(..) | Action::Judge(_) | Action::Stop(..) => false,
    };
    Some(state.ledger.limits.min_free).filter(|least| begins_work && *least > 0)
}

/// A step in flight goes on unless it takes too long or the user asks twice to stop.
fn steer(run: &Run, state: &State, flight: &Flight) -> Option<Action> {
    // Over in a moment: at most it waits ten seconds for another process that edits the files.
    if let Step::Plan { .. } = flight.step {
        return None;
    }
    let cancel = |how, why| Some(Action::Cancel(flight.id, how, why));
    match flight.cancel {
        Some(Cancel { how: How::Ask, .. }) | None if state.asked.killed => cancel(How::Kill, Why::Killed),
        Some(Cancel { how: How::Ask, .. }) | None if state.asked.stops >= 2 => {
            cancel(How::Kill, Why::StopAsked)
        }
        Some(Cancel { how, why, since_ms }) if state.position.up_ms >= since_ms + GRACE_MS => match how {
            How::Ask => cancel(How::Kill, why),
            How::Kill => cancel(How::KillKeeper, why),
            How::KillKeeper => None,
        },
        Some(_) => None,
        // One that waits for its service has nothing to finish.
        None if state.asked.stops > 0 && flight.blocked.is_some() => cancel(How::Ask, Why::StopAsked),
        None => {
            if let Some(silence) = flight.silence {
                return cancel(How::Ask, Why::Silent(silence));
            }
            let (at, why) = deadline(run, state, flight)?;
            (state.position.up_ms >= at).then(|| cancel(How::Ask, why)).flatten()
        }
    }
}

/// When a step has to end, and by which limit. Recording the tree and committing what has
/// passed its checks are short and are never cut off.
fn deadline(run: &Run, state: &State, flight: &Flight) -> Option<(u64, Why)> {
    let after_ms = match &flight.step {
        Step::Snapshot { .. }
        | Step::Scm { .. }
        | Step::CommitWorktree
        | Step::Restore { .. }
        | Step::Prepare { .. }
        | Step::Plan { .. }
        | Step::Uncommitted { .. } => return None,
        Step::Agent { .. } => state.ledger.limits.agent_timeout_ms,
        Step::Message { .. } => Some(state.ledger.limits.agent_timeout_ms.unwrap_or(MESSAGE_TIMEOUT_MS)),
        Step::Check { index, .. } => run.checks.get(*index).map(|check| check.timeout_ms),
        Step::Setup { .. } => Some(SETUP_TIMEOUT_MS),
    };
    // One that waits for its service has not failed when its time is over.
    let own_why =
        |after_ms| flight.blocked.map_or(Why::Timeout { after_ms }, |blocked| Why::Blocked(blocked.by));
    // The time of a person is not the agent's.
    let own_ms = after_ms.filter(|_| flight.waits_for_person().is_none());
    let since_ms = flight.since_ms.saturating_add(flight.waited_ms);
    let own = own_ms.map(|after_ms| (since_ms.saturating_add(after_ms), own_why(after_ms)));
    // Work that is proven is still committed when the time is up.
    let spared = matches!(flight.step, Step::Message { .. });
    let runs = state.ledger.limits.max_time_ms.filter(|_| !spared).map(|most| (most, Why::MaxTime));
    let answered = flight.answered_ms.map(|at| (at.saturating_add(ANSWER_GRACE_MS), Why::Answered));
    let blocked = flight.blocked.and_then(|blocked| block_end(run, state, flight, blocked));
    [runs, own, answered, blocked].into_iter().flatten().min_by_key(|(at, _)| *at)
}

/// Until when an agent that cannot go on is left to wait by itself.
fn block_end(run: &Run, state: &State, flight: &Flight, blocked: Blocked) -> Option<(u64, Why)> {
    let end = match (blocked.by, &flight.step) {
        (Blocker::Login, _) => Some(blocked.since_ms),
        (Blocker::Network, Step::Agent { agent, item, .. }) => {
            let another = run.agents_for(item).any(|other| other != *agent && is_free(state, other));
            let stand_in = another.then(|| blocked.since_ms.saturating_add(NETWORK_GRACE_MS));
            let down_since = state.ledger.service.down_since_ms.unwrap_or(blocked.since_ms);
            let outage = down_since.saturating_add(state.ledger.limits.max_outage_ms);
            Some(stand_in.map_or(outage, |at| at.min(outage)))
        }
        // A person may take all the time that the run has.
        (Blocker::Network, _) | (Blocker::Person, _) => None,
    };
    end.map(|at| (at, Why::Blocked(blocked.by)))
}

fn between_steps(run: &Run, state: &State) -> Option<Action> {
    if let Some(judgement) = judgement_due(run, state) {
        return Some(Action::Judge(judgement));
    }
    // What an agent has made of the plan is found out, and put right, before another process can
    // touch it.
    let (over, trouble) = (state.work.stage.is_over(), &state.work.trouble);
    let stops = state.asked.killed || state.asked.stops > 0 || trouble.is_some();
    let due = !matches!(trouble, Some(Trouble::Plan(_))) && (stops || !amid_checks(run, state));
    if let (true, Some(what)) = (due, state.plan.owes(over)) {
        return Some(Action::Start(Step::Plan { iteration: state.iteration(), what }));
    }
    if state.asked.killed {
        return Some(Action::Stop(StopReason::Killed, None));
    }
    if let Some(trouble) = trouble {
        return Some(stop(run, state, trouble.stop_reason(), Some(trouble.why().to_owned())));
    }
    if state.asked.stops > 0 {
        let reason = if state.asked.leaving { StopReason::Paused } else { StopReason::Interrupted };
        return Some(stop(run, state, reason, None));
    }
    if state.ledger.streaks.losses > LOSSES_ENDURED {
        let note = "the process that supervises agents keeps dying".to_string();
        return Some(stop(run, state, StopReason::Error, Some(note)));
    }
    // What a person may have done since is known before a check can be at it.
    if let (true, Some(what)) = (over, state.plan.wants_to_look()) {
        return Some(Action::Start(Step::Plan { iteration: state.iteration(), what }));
    }
    match &state.work.stage {
        Stage::Answered { reply, .. } => {
            if let Some(why) = rounds::no_copy(run, state) {
                return Some(stop(run, state, StopReason::NoCleanCopy, Some(why)));
            }
            if out_of_time(state) {
                return Some(stop(run, state, StopReason::Timeout, None));
            }
            if worth_another_try(run, state, *reply) {
                let waits = rests(state) || state.position.up_ms < next_measure(state);
                return match reply {
                    _ if waits => None,
                    Reply::Empty { .. } if run.wants_snapshots() => {
                        Some(Action::Start(Step::Snapshot { iteration: state.iteration() }))
                    }
                    _ => start_agent(run, state),
                };
            }
            rounds::due(run, state).map(Action::Start)
        }
        Stage::Between(chores) => begin_iteration(run, state, chores),
        Stage::Working | Stage::Failed { .. } => None, // in flight; judged above
    }
}

/// Some checks have run, and others have not.
fn amid_checks(run: &Run, state: &State) -> bool {
    let begun = matches!(&state.work.stage, Stage::Answered { rounds, .. } if !rounds.is_empty());
    begun && rounds::due(run, state).is_some()
}

/// The judgement of an iteration in which nothing is left to find out.
fn judgement_due(run: &Run, state: &State) -> Option<Judgement> {
    if state.plan.wants(true).is_some() {
        return None;
    }
    let (claim, verdict, silence) = match &state.work.stage {
        Stage::Between(_) | Stage::Working => return None,
        Stage::Failed { why } => (Claim::default(), Verdict::AgentFailed { why: why.clone() }, None),
        Stage::Answered { claim, reply, .. } => {
            if rounds::due(run, state).is_some() || worth_another_try(run, state, *reply) {
                return None;
            }
            (claim.clone(), Verdict::of(state.work.stage.results()), reply.silence())
        }
    };
    let proof = proof(run, state, &claim, &verdict);
    let verdict = match &proof {
        Some(proof) if is_refused(run, proof) => Verdict::Refused { word: proof.word },
        Some(_) | None => verdict,
    };
    let Pick::Work(item) = &state.work.pick else { return None };
    let evidence = Evidence { claim: &claim, verdict: &verdict, silence, checks: &run.checks };
    let settlement = run.plan.judge(&state.plan, &evidence);
    let (iteration, item) = (state.iteration(), item.clone());
    Some(Judgement { iteration, item, claim, verdict, settlement, silence, proof: proof.map(Box::new) })
}

/// What the iteration is worth, if it concludes something and its checks are green.
fn proof(run: &Run, state: &State, claim: &Claim, verdict: &Verdict) -> Option<Proof> {
    let Stage::Answered { rounds, .. } = &state.work.stage else { return None };
    let concludes = run.proof.is_some() && verdict.is_green() && rounds::concludes(run, state, claim);
    concludes.then(|| word::judge(&state.proof, rounds, state.plan.review()))
}

fn is_refused(run: &Run, proof: &Proof) -> bool {
    let strict = run.proof.as_ref().is_some_and(|spec| spec.mode == ProofMode::Strict);
    strict && proof.word.is_refused_when_strict()
}

/// An empty answer without any work is mostly a hiccup of the model's service and costs little to
/// repeat; where a plan does not need the answer, it means nothing. Where the tree is not recorded, a
/// stream shows whether the agent has worked, and a plain agent is taken to have. What a person may
/// have changed meanwhile is another iteration's to begin with.
fn worth_another_try(run: &Run, state: &State, reply: Reply) -> bool {
    let idle = match reply {
        Reply::Words | Reply::Silent(_) | Reply::EmptyChanged => false,
        Reply::Empty { idle } => idle || run.wants_snapshots(),
        Reply::EmptyUnchanged => true,
    };
    idle && run.plan.repeats_empty_answers()
        && state.ledger.streaks.empty_answers <= EMPTY_ANSWERS_RERUN
        && state.plan.wants(false).is_none()
}

fn begin_iteration(run: &Run, state: &State, chores: &Chores) -> Option<Action> {
    if let Some(what) = state.plan.wants(false) {
        return Some(Action::Start(Step::Plan { iteration: state.iteration(), what }));
    }
    let snapshot = Action::Start(Step::Snapshot { iteration: state.iteration() });
    let snapshot_taken = chores.snapshot == Snapshot::Taken;
    if let Some(step) = source_control(run, state, chores) {
        let unknown = chores.scm.as_ref().is_some_and(|due| due.news == News::Unknown);
        let look = unknown && run.wants_snapshots() && !snapshot_taken;
        let waits = look && state.position.up_ms < next_measure(state);
        return if waits { None } else { Some(if look { snapshot } else { Action::Start(step) }) };
    }
    if let Some(item) = chores.uncommitted.clone().filter(|_| run.git && run.plan.leaves_nothing()) {
        return Some(Action::Start(Step::Uncommitted { iteration: state.ledger.judged, item }));
    }
    if rests(state) {
        return None;
    }
    if state.work.must_restore() {
        let attempt = state.work.restored + 1;
        return Some(Action::Start(Step::Restore { iteration: state.iteration(), attempt }));
    }
    if let Some((reason, note)) = unreadable(run, state).or_else(|| reason_to_stop(run, state)) {
        // The tree at the end belongs to the history as well.
        let recorded = snapshot_taken || !run.checkpoints || !run.git;
        return Some(if recorded { stop(run, state, reason, note) } else { snapshot });
    }
    if state.position.up_ms < backoff_end(state).max(first_free(run, state)).max(next_measure(state)) {
        return None;
    }
    if run.wants_snapshots() && !snapshot_taken {
        return Some(snapshot);
    }
    match rounds::baseline_due(run, state) {
        Some(step) => Some(Action::Start(step)),
        None => start_agent(run, state),
    }
}

/// Whether a pause keeps the next agent from being begun. Work that is proven needs none.
fn rests(state: &State) -> bool {
    state.asked.paused() && state.work.pick != Pick::Done
}

/// An agent that can never be heard to be done would only use up the iterations.
fn unreadable(run: &Run, state: &State) -> Option<(StopReason, Option<String>)> {
    let work_left = matches!(state.work.pick, Pick::Work(_));
    let fix = run.plan.without_words(&state.plan).filter(|_| work_left && state.ledger.heard.json_only)?;
    let note = format!("the agent prints only JSON in a format ralph does not know: {fix}");
    Some((StopReason::Error, Some(note)))
}

/// Completion is judged before every limit: a claim in the last allowed iteration counts.
fn reason_to_stop(run: &Run, state: &State) -> Option<(StopReason, Option<String>)> {
    let limits = &state.ledger.limits;
    if let Some(why) = in_the_way::why(run, &state.proof.in_the_way) {
        return Some((StopReason::SandboxInTheWay, Some(why)));
    }
    if let Some(why) = rounds::no_copy(run, state) {
        return Some((StopReason::NoCleanCopy, Some(why)));
    }
    if let (Pick::Work(_), Some(Refused { why, about, .. })) = (&state.work.pick, refusal(run, state)) {
        return Some((about.stop_reason(), Some(why.to_owned())));
    }
    let reason = match &state.work.pick {
        Pick::Done => StopReason::Completed,
        Pick::Stuck(why) => return Some((StopReason::Halted, Some(why.clone()))),
        Pick::Work(_) if out_of_time(state) => StopReason::Timeout,
        Pick::Work(_) if outage_end(state).is_some_and(|end| state.position.up_ms >= end) => {
            StopReason::Outage
        }
        Pick::Work(_)
            if state.ledger.streaks.failures > 0 && state.ledger.streaks.failures >= limits.max_failures =>
        {
            StopReason::TooManyFailures
        }
        Pick::Work(_) => match state.limit_reached() {
            Some(limit) => return Some((limit.reason, too_little_left(state, limit.reason))),
            None if state.proof.only_in_place >= CLAIMS_ONLY_IN_PLACE => {
                return Some((StopReason::Stalled, only_in_place(run, state)));
            }
            None if limits.stall_after > 0 && state.ledger.stall.iterations >= limits.stall_after => {
                StopReason::Stalled
            }
            None => return None,
        },
    };
    Some((reason, None))
}

/// Which check fails only on the clean copy.
fn only_in_place(run: &Run, state: &State) -> Option<String> {
    let failure = state.work.feedback.first()?;
    let command = &run.checks.get(failure.index)?.command;
    let summary = failure.summary.as_ref().map_or_else(String::new, |line| format!(": {line}"));
    Some(format!("`{command}` passes in the working tree and fails on a clean copy{summary}"))
}

/// Some money is left, and not enough for another iteration.
fn too_little_left(state: &State, reason: StopReason) -> Option<String> {
    let is_left = state.ledger.limits.max_cost.is_some_and(|most| state.ledger.spent.usd < most);
    let usual = Cost { usd: state.ledger.costs.median(), ..state.ledger.spent };
    (reason == StopReason::BudgetExhausted && is_left)
        .then(|| format!("the next iteration would cost about {usual}, more than is left"))
}

/// A branch of the run's own is made whole before the run stops, unless the user wants it to
/// stop at once: begun then, it would only be ended again, and again. It is tried once more where
/// steps keep getting lost, and no more than that.
fn stop(run: &Run, state: &State, reason: StopReason, note: Option<String>) -> Action {
    let is_whole = run.place.own_tree().is_none() || state.work.worktree != Worktree::Changed;
    let endures = state.asked.stops < 2 && state.ledger.streaks.losses <= LOSSES_ENDURED + 1;
    match !is_whole && endures {
        true => Action::Start(Step::CommitWorktree),
        false => Action::Stop(reason, note),
    }
}

/// The next source control step of the iteration before, if one is due.
fn source_control(run: &Run, state: &State, chores: &Chores) -> Option<Step> {
    let (scm, due) = (run.scm.as_ref()?, chores.scm.as_ref()?);
    let iteration = state.ledger.judged;
    let task = scm.tasks.get(due.tasks_done).filter(|_| due.news != News::None)?;
    if task == scm::COMMIT && due.message == Message::Unasked {
        return Some(Step::Message { iteration, agent: free_agent(run, state, &Item::Prompt).unwrap_or(0) });
    }
    Some(Step::Scm { iteration, task: due.tasks_done })
}

fn start_agent(run: &Run, state: &State) -> Option<Action> {
    let Pick::Work(item) = &state.work.pick else { return None };
    let agent = free_agent(run, state, item)?;
    let (iteration, attempt) = (state.iteration(), state.work.attempts + 1);
    Some(Action::Start(Step::Agent { iteration, attempt, agent, item: item.clone() }))
}

/// The first agent whose service answers; none while all of them refuse.
fn free_agent(run: &Run, state: &State, item: &Item) -> Option<usize> {
    run.agents_for(item).find(|agent| is_free(state, *agent))
}

fn is_free(state: &State, agent: usize) -> bool {
    state.position.up_ms >= held_until(state, agent)
}

/// An agent that will not work, and in which words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<'s> {
    pub agent: usize,
    pub why: &'s str,
    pub about: Refusal,
}

/// Where none of the agents that may do the next piece of work ever will: the wanted one.
pub fn refusal<'s>(run: &Run, state: &'s State) -> Option<Refused<'s>> {
    let Pick::Work(item) = &state.work.pick else { return None };
    let of = |agent| match state.ledger.blocked.get(agent) {
        Some(Hold::ForGood { why, about }) => Some(Refused { agent, why, about: *about }),
        Some(Hold::Until(_)) | None => None,
    };
    run.agents_for(item).map(of).reduce(|first, next| next.and(first)).flatten()
}

fn out_of_time(state: &State) -> bool {
    state.ledger.limits.max_time_ms.is_some_and(|most| state.position.up_ms >= most)
}

fn held_until(state: &State, agent: usize) -> u64 {
    state.ledger.blocked.get(agent).map_or(0, Hold::until_ms)
}

/// When the first of the agents' services answers again.
fn first_free(run: &Run, state: &State) -> u64 {
    let Pick::Work(item) = &state.work.pick else { return 0 };
    run.agents_for(item).map(|agent| held_until(state, agent)).min().unwrap_or(0)
}

/// When services that are down have been waited for long enough.
fn outage_end(state: &State) -> Option<u64> {
    state.ledger.service.down_since_ms.map(|since| since.saturating_add(state.ledger.limits.max_outage_ms))
}

/// When to measure the free space on the disks again.
fn next_measure(state: &State) -> u64 {
    state.ledger.low_disk.as_ref().map_or(0, |low| low.until_ms)
}

/// Until when failures in a row keep the next agent waiting.
fn backoff_end(state: &State) -> u64 {
    match state.ledger.streaks.failures {
        0 => 0,
        n => state.ledger.streaks.failed_at_ms.saturating_add(state.ledger.limits.backoff.wait_ms(n)),
    }
}
