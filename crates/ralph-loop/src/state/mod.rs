//! Where a run stands: the fold of its facts.
//!
//! [`State::apply`] is the only way in, live and on replay alike. A fact that cannot
//! follow from what came before is refused as [`Illegal`], so a damaged or forged journal
//! is noticed where it goes wrong. The state is bounded: it keeps what the next decision
//! needs and no list of iterations.

mod ended;
mod flight;
mod ledger;
mod work;

pub use flight::{Blocked, Cancel, Flight};
pub use ledger::{Costs, Heard, Hold, Ledger, Service, Stall, Streaks};
pub use work::{Base, Chores, Mark, Reply, Restore, Snapshot, Stage, Trouble, Work, Worktree};

use crate::ask::Asked;
use crate::dialect::Blocker;
use crate::event::{Event, Fact, How, Step, StepId, StopKind, StopReason, VERSION, Why};
use crate::plan::{Pick, PlanFact, PlanState};
use crate::proof::{Baseline, Prepared, ProofState, Round, Rounds};
use crate::sandbox::network::Refused;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub position: Position,
    pub ledger: Ledger,
    /// What people have asked of the run while it runs.
    pub asked: Asked,
    pub work: Work,
    /// What was red before, and what has been proven.
    pub proof: ProofState,
    /// Steps that have begun and not ended.
    pub flights: BTreeMap<StepId, Flight>,
    /// Hosts that programs in the sandbox could not reach.
    pub refused: Refused,
    pub plan: PlanState,
    pub stopped: Option<Stopped>,
}

/// How far the journal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub seq: u64,
    pub epoch: u32,
    pub up_ms: u64,
    pub steps_begun: StepId,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    pub reason: StopReason,
    pub note: Option<String>,
}

/// Whether a run that is not alive can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resumable {
    Now,
    /// Once it may use more iterations, money or time.
    WithHigherLimit,
    /// It is done.
    Never,
}

/// A fact that cannot follow from those before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Illegal {
    #[error("a journal must start with `opened`")]
    NotOpened,
    #[error("written with journal version {0}, this ralph supports up to {VERSION}")]
    Version(u32),
    #[error("expected event {expected}, found {found}")]
    Sequence { expected: u64, found: u64 },
    #[error("expected epoch {expected}, found {found}")]
    Epoch { expected: u32, found: u32 },
    #[error("time goes backwards")]
    Backwards,
    #[error("the run has already stopped")]
    AlreadyStopped,
    #[error("a run that ended as `{0}` cannot be resumed")]
    NotResumable(&'static str),
    #[error("`{0}` is not possible at this point")]
    OutOfPlace(&'static str),
    #[error("step {0} is not running")]
    NoSuchStep(StepId),
}

impl State {
    /// The state after the first event of a journal.
    pub fn open(event: &Event) -> Result<State, Illegal> {
        if event.v > VERSION {
            return Err(Illegal::Version(event.v));
        }
        let Fact::Opened(run) = &event.fact else { return Err(Illegal::NotOpened) };
        if event.seq != 1 {
            return Err(Illegal::Sequence { expected: 1, found: event.seq });
        }
        if event.epoch != 1 {
            return Err(Illegal::Epoch { expected: 1, found: event.epoch });
        }
        let plan = run.plan.start();
        Ok(State {
            position: Position { seq: 1, epoch: 1, up_ms: event.up_ms, steps_begun: 0 },
            ledger: Ledger::new(run.limits.clone()),
            asked: Asked::default(),
            work: Work::new(plan.pick()),
            proof: ProofState::new(run.checks.len(), run.confinement.sandbox().is_some()),
            flights: BTreeMap::new(),
            refused: Refused::default(),
            plan,
            stopped: None,
        })
    }

    /// Whether a run that is not alive can be resumed.
    pub fn resumable(&self) -> Resumable {
        let Some(stopped) = &self.stopped else { return Resumable::Now };
        match stopped.reason.kind() {
            StopKind::Done => Resumable::Never,
            StopKind::Limit if self.limit_reached().is_some() => Resumable::WithHigherLimit,
            StopKind::Limit
            | StopKind::Stalled
            | StopKind::GaveUp
            | StopKind::Failed
            | StopKind::Unusable
            | StopKind::Paused
            | StopKind::Killed
            | StopKind::Interrupted => Resumable::Now,
        }
    }

    /// Whether a run that stops for this reason has done what was asked.
    pub fn is_success(&self, reason: StopReason) -> bool {
        match reason.kind() {
            StopKind::Done => true,
            StopKind::Limit => {
                reason == StopReason::MaxIterations
                    && self.ledger.limits.iterations_are_the_goal
                    && !self.last_failed()
            }
            StopKind::Stalled
            | StopKind::GaveUp
            | StopKind::Failed
            | StopKind::Unusable
            | StopKind::Paused
            | StopKind::Killed
            | StopKind::Interrupted => false,
        }
    }

    /// Whether the last iteration has failed: its agent, a check, or the attempt at its item.
    fn last_failed(&self) -> bool {
        self.ledger.streaks.failures > 0 || !self.work.feedback.is_empty() || self.plan.last_failed()
    }

    /// The number of the iteration that is under way or comes next.
    pub fn iteration(&self) -> u32 {
        self.ledger.judged + 1
    }

    /// Which of the run's agents is at work.
    pub fn agent_at_work(&self) -> Option<usize> {
        self.flights.values().find_map(|flight| match flight.step {
            Step::Agent { agent, .. } => Some(agent),
            _ => None,
        })
    }

    /// The step that has been in flight for the longest time.
    pub fn first_flight(&self) -> Option<&Flight> {
        self.flights.values().next()
    }

    pub fn apply(&mut self, event: &Event) -> Result<(), Illegal> {
        self.admit(event)?;
        let waited = self.flights.is_empty() && matches!(event.fact, Fact::Woke | Fact::Asked(_));
        match &event.fact {
            Fact::Opened(_) => return Err(Illegal::OutOfPlace("opened")),
            Fact::Resumed { .. } => self.resume()?,
            Fact::Began { id, step } => self.begin(*id, step, event.up_ms)?,
            Fact::Answered { id } => self.answer(*id, event.up_ms)?,
            Fact::Ended { id, end } => self.end(*id, end, event.up_ms)?,
            Fact::Cancelled { id, how, why } => self.cancel(*id, *how, *why, event.up_ms)?,
            Fact::Judged(judgement) => self.judge(judgement, event.up_ms)?,
            Fact::StopAsked => self.asked.stops += 1,
            Fact::Asked(ask) => self.ask(ask, event.up_ms)?,
            Fact::Silent { id, silence } => self.fall_silent(*id, *silence)?,
            Fact::Blocked { id, by, .. } => self.block(*id, *by, event.up_ms)?,
            Fact::LowDisk(shortage) => self.wait_for_space(shortage, event.up_ms)?,
            Fact::Network(news) => self.refused.add(news),
            Fact::Woke => {}
            Fact::Stopped { reason, note } => self.stop(*reason, note.as_ref())?,
        }
        if waited {
            self.update_plan(&PlanFact::Waited);
        }
        let Position { seq, epoch, up_ms, .. } = &mut self.position;
        (*seq, *epoch, *up_ms) = (event.seq, event.epoch, event.up_ms);
        Ok(())
    }

    fn admit(&self, event: &Event) -> Result<(), Illegal> {
        if event.v > VERSION {
            return Err(Illegal::Version(event.v));
        }
        let expected = self.position.seq + 1;
        if event.seq != expected {
            return Err(Illegal::Sequence { expected, found: event.seq });
        }
        if event.up_ms < self.position.up_ms {
            return Err(Illegal::Backwards);
        }
        let resumes = matches!(event.fact, Fact::Resumed { .. });
        let can_wait = matches!(&event.fact, Fact::Asked(ask) if ask.can_wait());
        if self.stopped.is_some() && !resumes && !can_wait {
            return Err(Illegal::AlreadyStopped);
        }
        let expected = self.position.epoch + u32::from(resumes);
        if event.epoch != expected {
            return Err(Illegal::Epoch { expected, found: event.epoch });
        }
        Ok(())
    }

    /// Applies a fact that can change what is left to do, and picks the item again.
    pub(crate) fn update_plan(&mut self, fact: &PlanFact<'_>) {
        self.plan.apply(fact);
        self.work.pick = self.plan.pick();
    }

    /// What was in flight is cut short and will be begun again. The user who resumes a run has
    /// seen why it stopped, so failures are counted from zero.
    fn resume(&mut self) -> Result<(), Illegal> {
        if let Some(stopped) = &self.stopped
            && self.resumable() != Resumable::Now
        {
            return Err(Illegal::NotResumable(stopped.reason.word()));
        }
        let stopped = self.stopped.take();
        if let Some(stopped) = &stopped {
            self.ledger.streaks.failures = 0;
            match stopped.reason {
                StopReason::Stalled => {
                    (self.ledger.stall, self.proof.only_in_place) = (Stall::default(), 0);
                }
                // The user may have installed or changed something.
                StopReason::NoCleanCopy | StopReason::SandboxInTheWay => self.proof.forget_site(),
                StopReason::Halted => {
                    self.ledger.stall = Stall::default();
                    self.resume_halted();
                }
                _ => {}
            }
        }
        if self.flights.values().any(|flight| matches!(flight.step, Step::Check { .. })) {
            self.update_plan(&PlanFact::Checked);
        }
        self.update_plan(&PlanFact::Resumed { had_stopped: stopped.is_some() });
        match &mut self.work.stage {
            Stage::Working => self.leave_unjudged(),
            // The tree may have changed meanwhile, and a verdict comes from one tree.
            Stage::Answered { rounds, .. } => rounds.clear(),
            // No agent has worked since the tree was recorded; what has changed is a person's.
            Stage::Between(chores) if self.work.base.is_some() && chores.restore == Restore::NotNeeded => {
                (self.work.base, chores.snapshot) = (None, Snapshot::Due);
            }
            Stage::Between(_) | Stage::Failed { .. } => {}
        }
        if let Baseline::Running(_) = self.proof.baseline {
            self.proof.baseline = Baseline::Unknown;
        }
        self.flights.clear();
        self.asked.resume();
        self.work.trouble = None;
        self.ledger.streaks.losses = 0;
        self.ledger.end_waits();
        self.ledger.heard = Heard::default();
        Ok(())
    }

    /// A person has looked after the tree as it was left.
    fn resume_halted(&mut self) {
        self.work.tried = None;
        if let Some(chores) = self.work.stage.chores_mut() {
            chores.restore = Restore::NotNeeded;
        }
        let limits = &mut self.ledger.limits;
        if !limits.iterations_are_the_goal {
            limits.iterations = limits.iterations.saturating_add(self.plan.attempts_reset_by_resume());
        }
    }

    fn begin(&mut self, id: StepId, step: &Step, now: u64) -> Result<(), Illegal> {
        if !self.flights.is_empty() || id != self.position.steps_begun + 1 || !self.calls_for(step) {
            return Err(Illegal::OutOfPlace("began"));
        }
        match step {
            Step::Agent { item, .. } => {
                self.update_plan(&PlanFact::Began(item));
                self.work.attempts += 1;
                self.work.worktree = Worktree::Changed;
                self.work.stage = Stage::Working;
                self.asked.notes_given = self.asked.notes.len();
                self.ledger.low_disk = None;
            }
            Step::Snapshot { .. } => self.ledger.low_disk = None,
            Step::Message { .. } | Step::Scm { .. } | Step::Uncommitted { .. } | Step::CommitWorktree => {
                self.update_plan(&PlanFact::Committing);
            }
            Step::Check { .. }
            | Step::Prepare { .. }
            | Step::Setup { .. }
            | Step::Plan { .. }
            | Step::Restore { .. } => {}
        }
        self.position.steps_begun = id;
        self.flights.insert(id, Flight::new(id, step.clone(), now));
        Ok(())
    }

    /// Whether a step can begin at this stage.
    fn calls_for(&self, step: &Step) -> bool {
        let (next, last) = (self.iteration(), self.ledger.judged);
        let stage = &self.work.stage;
        let is_due = || stage.chores().is_some_and(|chores| chores.call_for(step));
        match step {
            Step::Snapshot { iteration } => *iteration == next && stage.may_begin_snapshot(),
            Step::Agent { iteration, attempt, .. } => {
                *iteration == next
                    && *attempt == self.work.attempts + 1
                    && stage.may_begin_agent()
                    && !self.work.must_restore()
            }
            Step::Check { iteration, index, round } => {
                *iteration == next
                    && self.rounds_of(*round).is_some_and(|rounds| rounds.may_check(*round, *index))
            }
            Step::Prepare { iteration, round } => {
                *iteration == next && round.needs_preparation() && self.may_prepare(*round)
            }
            Step::Setup { iteration, round, index } => {
                let round = self.rounds_of(*round).and_then(|rounds| rounds.get(*round));
                *iteration == next && round.is_some_and(|round| round.setup_due(index + 1) == Some(*index))
            }
            Step::Message { iteration, .. }
            | Step::Scm { iteration, .. }
            | Step::Uncommitted { iteration, .. } => *iteration == last && is_due(),
            Step::Restore { iteration, attempt } => {
                *iteration == next && *attempt == self.work.restored + 1 && self.work.must_restore()
            }
            Step::CommitWorktree => self.work.worktree == Worktree::Changed,
            Step::Plan { iteration, what } => {
                *iteration == next && self.plan.wants(stage.is_over()).as_ref() == Some(what)
            }
        }
    }

    /// The rounds that a check belongs to: those of the iteration, or those before the first agent.
    fn rounds_of(&self, round: Round) -> Option<&Rounds> {
        match (round.is_baseline(), &self.proof.baseline, &self.work.stage) {
            (true, Baseline::Running(rounds), Stage::Between(_)) => Some(rounds),
            (false, _, Stage::Answered { rounds, .. }) => Some(rounds),
            _ => None,
        }
    }

    /// What a round of the current iteration, or of the baseline, runs on.
    pub fn prepared(&self, round: Round) -> Option<&Prepared> {
        self.rounds_of(round)?.get(round)?.prepared.as_ref()
    }

    fn may_prepare(&self, round: Round) -> bool {
        let untouched = self.ledger.judged == 0 && self.work.attempts == 0;
        match (&self.work.stage, round.is_baseline()) {
            (Stage::Between(_), true) => untouched && !matches!(self.proof.baseline, Baseline::Known(_)),
            (Stage::Answered { .. }, false) => true,
            _ => false,
        }
    }

    fn flight_mut(&mut self, id: StepId) -> Result<&mut Flight, Illegal> {
        self.flights.get_mut(&id).ok_or(Illegal::NoSuchStep(id))
    }

    /// An agent in flight, for the fact of that name.
    pub(crate) fn agent_in_flight(&mut self, id: StepId, fact: &'static str) -> Result<&mut Flight, Illegal> {
        let flight = self.flight_mut(id)?;
        if flight.is_agent() { Ok(flight) } else { Err(Illegal::OutOfPlace(fact)) }
    }

    fn answer(&mut self, id: StepId, now: u64) -> Result<(), Illegal> {
        self.agent_in_flight(id, "answered")?.answered_ms = Some(now);
        Ok(())
    }

    fn block(&mut self, id: StepId, by: Option<Blocker>, now: u64) -> Result<(), Illegal> {
        let flight = self.agent_in_flight(id, "blocked")?;
        let person_since = flight.waits_for_person();
        if let Some(since_ms) = person_since {
            flight.waited_ms = flight.waited_ms.saturating_add(now.saturating_sub(since_ms));
        }
        flight.blocked = by.map(|by| Blocked { by, since_ms: now });
        match by {
            Some(Blocker::Network) => {
                self.ledger.service.down_since_ms.get_or_insert(now);
            }
            Some(Blocker::Login | Blocker::Person) => {}
            // A person's answer says nothing about the service.
            None if person_since.is_some() => {}
            None => self.ledger.service = Service::default(),
        }
        Ok(())
    }

    fn cancel(&mut self, id: StepId, how: How, why: Why, now: u64) -> Result<(), Illegal> {
        let flight = self.flight_mut(id)?;
        if flight.cancel.is_some_and(|earlier| earlier.how >= how) {
            return Err(Illegal::OutOfPlace("cancelled"));
        }
        flight.cancel = Some(Cancel { how, why, since_ms: now });
        Ok(())
    }

    fn stop(&mut self, reason: StopReason, note: Option<&String>) -> Result<(), Illegal> {
        let unproven = reason == StopReason::Completed && self.work.pick != Pick::Done;
        if !self.flights.is_empty() || unproven {
            return Err(Illegal::OutOfPlace("stopped"));
        }
        self.stopped = Some(Stopped { reason, note: note.cloned() });
        Ok(())
    }
}
