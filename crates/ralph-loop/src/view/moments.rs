//! The fold.

use super::history::History;
use super::moment::{Moment, Update, Wait};
use super::run_view::{RunView, Totals};
use super::{AgentNow, Iteration};
use crate::ask::Ask;
use crate::check::CheckOutcome;
use crate::dialect::{AgentEvent, Answer, Awaited, Blocker, Exit};
use crate::event::{AgentEnd, End, Event, Fact, How, Step, StepId, Why};
use crate::next::{next, wake_at};
use crate::plan::{Plan, PlanEnd};
use crate::proof::Baseline;
use crate::run::Run;
use crate::state::State;
use crate::verdict::{Judgement, Settlement};
use std::collections::BTreeMap;

/// Follows a run's events.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    totals: Totals,
    history: History,
    flights: BTreeMap<StepId, Flight>,
    /// The agent that began last.
    agent: usize,
    iteration: ThisIteration,
    life: ThisLife,
    is_paused: bool,
    /// The last iteration matched the pattern that ends the run.
    matched: bool,
}

/// A step that has begun.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) step: Step,
    /// Why it is ended early, one reason after another.
    cancels: Vec<Why>,
}

#[derive(Clone, Debug, Default)]
struct ThisIteration {
    /// Whose start was reported.
    agent: Option<usize>,
    exit: Option<Exit>,
    was_silent: bool,
    /// The last agent answered with nothing: a checkpoint that follows is the tree after it.
    answered_nothing: bool,
}

/// What is reported once, and again once the run is resumed.
#[derive(Clone, Debug, Default)]
struct ThisLife {
    checkpoint_problem: bool,
    left_out: bool,
    tasks_read: bool,
    waits_for_service: bool,
    waits_for_space: bool,
}

impl Moments {
    pub fn follow<'e>(&mut self, run: &'e Run, state: &'e State, event: &'e Event) -> Update<'e> {
        if let Fact::Opened(_) = event.fact {
            self.totals.opened_at = event.at;
        }
        self.totals.last_at = event.at;
        let moments = self.moments(run, state, event);
        Update { run, state, event, moments, agent: self.agent, totals: self.totals.clone() }
    }

    /// As `follow`, for what only wants iterations.
    pub fn iteration(&mut self, run: &Run, state: &State, event: &Event) -> Option<Iteration> {
        self.follow(run, state, event).moments.into_iter().find_map(|moment| match moment {
            Moment::IterationEnded { iteration, .. } => Some(*iteration),
            _ => None,
        })
    }

    /// The iteration that was under way when the run stopped, if it was cut short. Resuming the run
    /// runs it again, and it is reported then.
    pub fn cut_short(self, run: &Run, state: &State) -> Option<Iteration> {
        self.history.cut_short(run, state)
    }

    /// The agent at work has printed something, at this time of the run if that is known. The journal does not
    /// have it.
    pub fn agent_printed(&mut self, event: &AgentEvent<'_>, up_ms: Option<u64>) {
        self.totals.agent_now.follow(event, up_ms);
    }

    pub fn view(&self, run: &Run, state: &State) -> RunView {
        RunView::of(run, state, &self.totals)
    }

    fn moments<'e>(&mut self, run: &'e Run, state: &'e State, event: &'e Event) -> Vec<Moment<'e>> {
        match &event.fact {
            Fact::Opened(_) => vec![Moment::Opened],
            Fact::Resumed { .. } => {
                self.life = ThisLife::default();
                (self.iteration.agent, self.is_paused) = (None, false);
                self.history.resumed();
                self.flights.clear();
                vec![Moment::Resumed]
            }
            Fact::Began { id, step } => self.began(run, *id, step, event),
            Fact::Cancelled { id, how, why } => {
                if let Some(flight) = self.flights.get_mut(id) {
                    flight.cancels.push(*why);
                }
                self.iteration.was_silent |= matches!((how, why), (How::Ask, Why::Silent(_)));
                vec![Moment::Cancelled { how: *how, why: *why }]
            }
            Fact::Ended { id, end } => {
                let flight = self.flights.remove(id);
                self.history.ended(run, flight.as_ref(), end);
                self.ended(run, state, flight.as_ref(), end)
            }
            Fact::Judged(judgement) => vec![self.judged(run, judgement, event.up_ms)],
            Fact::StopAsked => vec![Moment::StopAsked],
            Fact::Asked(ask) => {
                let pauses = matches!(ask, Ask::Pause | Ask::Leave);
                let was_paused = self.is_paused;
                self.is_paused = pauses || (was_paused && *ask != Ask::Continue);
                let paused = (pauses && !was_paused).then_some(Moment::Paused);
                [Moment::Asked(ask)].into_iter().chain(paused).collect()
            }
            Fact::Silent { .. } => vec![Moment::Silent],
            Fact::Blocked { by, text, why, .. } => {
                let text = text.as_deref().unwrap_or_default();
                self.totals.awaited = Awaited { why: *why, text: text.to_string() };
                let wait = match by {
                    Some(Blocker::Network) => self.begins_to_wait().then_some(Wait::Network),
                    // Each time is another thing to do.
                    Some(Blocker::Person) => Some(Wait::Person { why: *why, text }),
                    Some(Blocker::Login) | None => None,
                };
                [Moment::Blocked(*by)].into_iter().chain(wait.map(Moment::WaitBegan)).collect()
            }
            Fact::LowDisk(shortage) => {
                let is_new = state.ledger.low_disk.as_ref().is_some_and(|low| low.measured == 1);
                self.life.waits_for_space |= is_new;
                is_new.then_some(Moment::WaitBegan(Wait::Disk(shortage))).into_iter().collect()
            }
            Fact::Stopped { .. } => {
                let moment = state.stopped.as_ref().map(|stopped| Moment::Stopped {
                    stopped,
                    success: state.is_success(stopped.reason),
                    matched: self.matched,
                });
                moment.into_iter().collect()
            }
            Fact::Answered { .. } | Fact::Network(_) | Fact::Woke => Vec::new(),
        }
    }

    fn began<'e>(&mut self, run: &'e Run, id: StepId, step: &'e Step, event: &Event) -> Vec<Moment<'e>> {
        self.flights.insert(id, Flight::of(step));
        match step {
            Step::Agent { iteration, attempt, agent, item } => {
                self.agent = *agent;
                self.totals.agent_began_at = Some(event.at);
                self.totals.agent_now = AgentNow::default();
                self.history.agent_began(*iteration, item, event.up_ms);
                self.iteration.answered_nothing = false;
                let is_another = self.iteration.agent.replace(*agent) != Some(*agent);
                let (iteration, attempt) = (*iteration, *attempt);
                let space = std::mem::take(&mut self.life.waits_for_space).then_some(Moment::EnoughSpace);
                let began = Moment::AgentBegan { iteration, attempt, item, is_another };
                space.into_iter().chain([began]).collect()
            }
            Step::Check { index, round, .. } => {
                let began = |check| Moment::CheckBegan { check, round: *round };
                run.checks.get(*index).map(began).into_iter().collect()
            }
            Step::Prepare { round, .. } => vec![Moment::PrepareBegan(*round)],
            Step::Setup { index, .. } => {
                let command = run.proof.as_ref().and_then(|proof| proof.setup.get(*index));
                command.map(|command| Moment::SetupBegan { command }).into_iter().collect()
            }
            Step::Message { .. } => vec![Moment::MessageAsked],
            Step::Scm { task, .. } => {
                let task = run.scm.as_ref().and_then(|scm| scm.tasks.get(*task));
                task.map(|task| Moment::ScmBegan { task }).into_iter().collect()
            }
            Step::Snapshot { .. }
            | Step::CommitWorktree
            | Step::Restore { .. }
            | Step::Plan { .. }
            | Step::Uncommitted { .. } => Vec::new(),
        }
    }

    fn ended<'e>(
        &mut self,
        run: &'e Run,
        state: &'e State,
        flight: Option<&Flight>,
        end: &'e End,
    ) -> Vec<Moment<'e>> {
        let step = flight.map(|flight| &flight.step);
        match end {
            End::Agent(end) => {
                let Some(Step::Agent { iteration, attempt, agent, .. }) = step else { return Vec::new() };
                let (iteration, attempt, agent) = (*iteration, *attempt, *agent);
                let cancelled = flight.and_then(Flight::cancelled);
                self.totals.tokens += end.seen.tokens;
                self.totals.agent_now = AgentNow::default();
                self.iteration.exit = Some(end.exit);
                self.iteration.answered_nothing = end.answer == Answer::Empty;
                let ended = Moment::AgentEnded { iteration, attempt, agent, end, cancelled };
                [ended].into_iter().chain(self.refused(run, state, end)).collect()
            }
            End::Check(end) => {
                let Some(Step::Check { index, round, .. }) = step else { return Vec::new() };
                let outcome = match flight.and_then(Flight::timed_out) {
                    Some(after_ms) => CheckOutcome::TimedOut { after_ms },
                    None => CheckOutcome::of(end.exit),
                };
                // One that was cut short has shown nothing.
                let cut_short = flight.is_some_and(Flight::ends_with_the_run);
                let check = run.checks.get(*index).filter(|_| !cut_short);
                let ended = check.map(|check| Moment::CheckEnded { check, round: *round, outcome, end });
                let is_over = round.is_baseline() && matches!(state.proof.baseline, Baseline::Known(_));
                let known = is_over.then_some(Moment::BaselineKnown);
                [ended.unwrap_or(Moment::CheckCutShort(end))].into_iter().chain(known).collect()
            }
            End::Setup(end) => vec![Moment::SetupEnded(end)],
            End::Prepare(prepared) => {
                let Some(Step::Prepare { round, .. }) = step else { return Vec::new() };
                vec![Moment::Prepared { round: *round, prepared }]
            }
            End::Snapshot(end) => {
                let Some(Step::Snapshot { iteration }) = step else { return Vec::new() };
                let once =
                    |there: bool, shown: &mut bool| there && !std::mem::replace(shown, *shown || there);
                vec![Moment::Checkpoint {
                    iteration: *iteration,
                    end,
                    after_answer: self.iteration.answered_nothing,
                    problem_is_new: once(end.problem.is_some(), &mut self.life.checkpoint_problem),
                    left_out_is_new: once(!end.left_out.is_empty(), &mut self.life.left_out),
                }]
            }
            End::Message(end) => vec![Moment::MessageEnded(&end.outcome)],
            End::Scm(outcome) => {
                let task = match (step, &run.scm) {
                    (Some(Step::Scm { task, .. }), Some(scm)) => {
                        scm.tasks.get(*task).map(|task| format!("{} {task}", scm.command))
                    }
                    _ => None,
                };
                vec![Moment::ScmEnded { task: task.unwrap_or_default(), outcome }]
            }
            End::CommitWorktree(outcome) => vec![Moment::WorktreeCommitted(outcome)],
            End::Restore(end) => vec![Moment::Restored(end)],
            End::Plan(end) => {
                let PlanEnd::Tasks(end) = &**end;
                let is_first = !std::mem::replace(&mut self.life.tasks_read, true);
                vec![Moment::TasksRead { end, is_first }]
            }
            End::Uncommitted(end) => vec![Moment::Uncommitted(end)],
            End::Lost { why, .. } => vec![Moment::StepLost { why }],
            End::Impossible { why } => vec![Moment::StepImpossible { why }],
        }
    }

    /// A service that refuses is waited for; that is not a failure.
    fn refused<'e>(&mut self, run: &Run, state: &State, end: &'e AgentEnd) -> Vec<Moment<'e>> {
        let why = match &end.answer {
            Answer::Limited { why, .. } | Answer::Unavailable { why } => why,
            Answer::Said | Answer::Empty | Answer::Failed { .. } | Answer::Refused { .. } => {
                self.life.waits_for_service = false;
                return Vec::new();
            }
        };
        let waits_until = if next(run, state).is_empty() { wake_at(run, state) } else { None };
        let retry =
            waits_until.map(|at| Moment::RetryAfter { wait_ms: at.saturating_sub(state.position.up_ms) });
        let wait = self.begins_to_wait().then_some(Moment::WaitBegan(Wait::Service { why }));
        retry.into_iter().chain(wait).collect()
    }

    /// For the service or the network; that is news once.
    fn begins_to_wait(&mut self) -> bool {
        !std::mem::replace(&mut self.life.waits_for_service, true)
    }

    fn judged<'e>(&mut self, run: &Run, judgement: &'e Judgement, up_ms: u64) -> Moment<'e> {
        let ThisIteration { exit, was_silent, .. } = std::mem::take(&mut self.iteration);
        self.totals.failures += u32::from(judgement.counts_as_failure());
        self.matched = matches!(run.plan, Plan::Prompt(_))
            && judgement.claim.matched
            && judgement.settlement == Settlement::Settled;
        let iteration = Box::new(self.history.judged(run, judgement, up_ms));
        Moment::IterationEnded { judgement, iteration, exit, was_silent }
    }
}

impl Flight {
    fn of(step: &Step) -> Flight {
        Flight { step: step.clone(), cancels: Vec::new() }
    }

    /// After how long, if it took longer than it may.
    pub(super) fn timed_out(&self) -> Option<u64> {
        self.cancels.iter().rev().find_map(|why| match why {
            Why::Timeout { after_ms } => Some(*after_ms),
            _ => None,
        })
    }

    /// Whether it is ended because the run ends.
    pub(super) fn ends_with_the_run(&self) -> bool {
        self.cancels.iter().any(|why| matches!(why, Why::MaxTime | Why::StopAsked | Why::Killed))
    }

    /// The last reason to end it, if it had not answered before.
    fn cancelled(&self) -> Option<Why> {
        self.cancels.iter().rev().find(|why| **why != Why::Answered).copied()
    }
}
