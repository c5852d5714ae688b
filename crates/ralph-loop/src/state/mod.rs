//! Where a run stands: the fold of its facts.
//!
//! [`State::apply`] is the only way in, live and on replay alike. A fact that cannot
//! follow from what came before is refused as [`Illegal`], so a damaged or forged journal
//! is noticed where it goes wrong. The state is bounded: it keeps what the next decision
//! needs and no list of iterations.

mod ended;
mod parts;

pub use parts::{
    Base, Blocked, Cancel, Costs, Flight, Heard, Hold, Illegal, Mark, Phase, Reply, Resumable, Service,
    Stall, Stopped, Streaks,
};

use crate::ask::Asked;
use crate::check::CheckResult;
use crate::dialect::Blocker;
use crate::event::{Branch, Event, Fact, How, RestoreEnd, Step, StepId, StopReason, VERSION, Why};
use crate::limits::Limits;
use crate::money::Cost;
use crate::plan::{Item, Pick, PlanFact, PlanState};
use crate::scm::{self};
use crate::space::Cramped;

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub seq: u64,
    pub epoch: u32,
    pub up_ms: u64,
    /// What the run may use up, as of now.
    pub limits: Limits,
    pub phase: Phase,
    pub flights: Vec<Flight>,
    pub steps_begun: StepId,
    /// Iterations that are over; the current one is the next number.
    pub judged: u32,
    /// Agents begun within the current iteration.
    pub attempts: u32,
    pub spent: Cost,
    pub costs: Costs,
    pub streaks: Streaks,
    /// What keeps each agent from being started; nothing where missing.
    pub holds: Vec<Hold>,
    pub service: Service,
    pub heard: Heard,
    pub stall: Stall,
    /// The run waits for room on a disk.
    pub cramped: Option<Cramped>,
    /// The run's first tree, and what has changed since by the last snapshot.
    pub base_tree: Option<String>,
    pub diff: Option<String>,
    /// What failed in the iteration before, for the next prompt.
    pub feedback: Vec<CheckResult>,
    /// What the last iteration has left uncommitted is to be seen to.
    pub left_due: Option<Item>,
    /// Source control tasks of the last iteration, until the next one begins.
    pub scm: Option<scm::Due>,
    /// Where the repository stood when the run began, or when source control was last done.
    pub mark: Option<Mark>,
    /// Where the current item began, for plans that go back there.
    pub base: Option<Base>,
    /// The branch that the run works on, where it has to stay the same.
    pub branch: Option<Branch>,
    /// Something is in the tree that the next agent must not find there.
    pub restore_due: bool,
    /// Attempts that were put aside, and what the last one at the current item had done that was
    /// judged.
    pub restored: u32,
    pub tried: Option<RestoreEnd>,
    /// What is left in a worktree has been committed since an agent last ran.
    pub rest_committed: bool,
    /// How often a stop was requested.
    pub stops_asked: u32,
    /// What people have asked for by the worker's name.
    pub asked: Asked,
    /// A step that cannot be carried out without help.
    pub trouble: Option<String>,
    /// That step was the plan's: its files cannot be seen to.
    pub plan_in_trouble: bool,
    pub plan: PlanState,
    pub stopped: Option<Stopped>,
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
        Ok(State {
            seq: 1,
            epoch: 1,
            up_ms: event.up_ms,
            limits: run.limits.clone(),
            phase: Phase::Ready { snapshot_taken: false },
            flights: Vec::new(),
            steps_begun: 0,
            judged: 0,
            attempts: 0,
            spent: Cost::default(),
            costs: Costs::default(),
            streaks: Streaks::default(),
            holds: Vec::new(),
            service: Service::default(),
            heard: Heard::default(),
            stall: Stall::default(),
            cramped: None,
            base_tree: None,
            diff: None,
            feedback: Vec::new(),
            left_due: None,
            scm: None,
            mark: None,
            base: None,
            branch: None,
            restore_due: false,
            restored: 0,
            tried: None,
            rest_committed: false,
            stops_asked: 0,
            asked: Asked::default(),
            trouble: None,
            plan_in_trouble: false,
            plan: run.plan.start(),
            stopped: None,
        })
    }

    /// Whether a run that is not alive can be resumed.
    pub fn resumable(&self) -> Resumable {
        let Some(stopped) = &self.stopped else { return Resumable::Now };
        match stopped.reason {
            StopReason::Completed => Resumable::Never,
            StopReason::MaxIterations | StopReason::BudgetExhausted | StopReason::Timeout
                if self.limit_reached().is_some() =>
            {
                Resumable::WithHigherLimit
            }
            StopReason::MaxIterations
            | StopReason::BudgetExhausted
            | StopReason::Timeout
            | StopReason::Stalled
            | StopReason::TooManyFailures
            | StopReason::Halted
            | StopReason::Outage
            | StopReason::Authentication
            | StopReason::Paused
            | StopReason::Killed
            | StopReason::Interrupted
            | StopReason::Error => Resumable::Now,
        }
    }

    /// The limit on time, money or iterations that leaves no room for another iteration.
    pub fn limit_reached(&self) -> Option<StopReason> {
        let limits = &self.limits;
        let over_budget = |most| self.spent.usd >= most || self.spent.usd + self.costs.median() > most;
        if limits.max_time_ms.is_some_and(|most| self.up_ms >= most) {
            Some(StopReason::Timeout)
        } else if limits.max_cost.is_some_and(over_budget) {
            Some(StopReason::BudgetExhausted)
        } else if self.judged >= limits.iterations {
            Some(StopReason::MaxIterations)
        } else {
            None
        }
    }

    /// Whether a run that stops for this reason has done what was asked.
    pub fn is_success(&self, reason: StopReason) -> bool {
        match reason {
            StopReason::Completed => true,
            StopReason::MaxIterations => self.limits.iterations_are_the_goal && !self.last_failed(),
            StopReason::BudgetExhausted
            | StopReason::Timeout
            | StopReason::TooManyFailures
            | StopReason::Stalled
            | StopReason::Halted
            | StopReason::Outage
            | StopReason::Authentication
            | StopReason::Paused
            | StopReason::Killed
            | StopReason::Interrupted
            | StopReason::Error => false,
        }
    }

    /// Whether the last iteration has failed: its agent, a check, or the attempt at its item.
    fn last_failed(&self) -> bool {
        self.streaks.failures > 0 || !self.feedback.is_empty() || self.plan.last_failed()
    }

    /// The number of the iteration that is under way or comes next.
    pub fn iteration(&self) -> u32 {
        self.judged + 1
    }

    /// Which of the run's agents is at work.
    pub fn agent_at_work(&self) -> Option<usize> {
        self.flights.iter().find_map(|flight| match flight.step {
            Step::Agent { agent, .. } => Some(agent),
            _ => None,
        })
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
            Fact::StopAsked => self.stops_asked += 1,
            Fact::Asked(ask) => self.ask(ask, event.up_ms)?,
            Fact::Silent { id, silence } => self.fall_silent(*id, *silence)?,
            Fact::Blocked { id, by } => self.block(*id, *by, event.up_ms)?,
            Fact::LowDisk(shortage) => self.run_short(shortage, event.up_ms)?,
            Fact::Woke => {}
            Fact::Stopped { reason, note } => self.stop(*reason, note.as_ref())?,
        }
        if waited {
            self.plan.apply(&PlanFact::Waited);
        }
        self.seq = event.seq;
        self.epoch = event.epoch;
        self.up_ms = event.up_ms;
        Ok(())
    }

    fn admit(&self, event: &Event) -> Result<(), Illegal> {
        if event.v > VERSION {
            return Err(Illegal::Version(event.v));
        }
        if event.seq != self.seq + 1 {
            return Err(Illegal::Sequence { expected: self.seq + 1, found: event.seq });
        }
        if event.up_ms < self.up_ms {
            return Err(Illegal::Backwards);
        }
        let resumes = matches!(event.fact, Fact::Resumed { .. });
        let can_wait = matches!(&event.fact, Fact::Asked(ask) if ask.can_wait());
        if self.stopped.is_some() && !resumes && !can_wait {
            return Err(Illegal::AlreadyStopped);
        }
        let expected = self.epoch + u32::from(resumes);
        if event.epoch != expected {
            return Err(Illegal::Epoch { expected, found: event.epoch });
        }
        Ok(())
    }

    /// What was in flight is cut short and will be begun again. The user who resumes a run
    /// has seen why it stopped, so failures are counted from zero.
    fn resume(&mut self) -> Result<(), Illegal> {
        if let Some(stopped) = &self.stopped {
            if self.resumable() != Resumable::Now {
                return Err(Illegal::NotResumable(stopped.reason.word()));
            }
            self.streaks.failures = 0;
            if matches!(stopped.reason, StopReason::Stalled | StopReason::Halted) {
                self.stall = Stall::default();
            }
            if stopped.reason == StopReason::Halted {
                // A person has seen to the tree as it was left.
                (self.restore_due, self.tried) = (false, None);
                if !self.limits.iterations_are_the_goal {
                    let again = self.plan.counted_anew();
                    self.limits.iterations = self.limits.iterations.saturating_add(again);
                }
            }
        }
        if self.flights.iter().any(|flight| matches!(flight.step, Step::Check { .. })) {
            self.plan.apply(&PlanFact::Checked);
        }
        self.plan.apply(&PlanFact::Resumed { had_stopped: self.stopped.is_some() });
        // The tree may have changed meanwhile, and a verdict comes from one tree.
        if let Phase::Answered { results, .. } = &mut self.phase {
            results.clear();
        }
        if self.flights.iter().any(|flight| matches!(flight.step, Step::Agent { .. })) {
            self.leave_unjudged();
        }
        // No agent has been at the tree since it was recorded; what has changed is a person's.
        if self.base.is_some() && !self.restore_due && matches!(self.phase, Phase::Ready { .. }) {
            self.base = None;
            self.phase = Phase::Ready { snapshot_taken: false };
        }
        self.flights.clear();
        self.stopped = None;
        self.stops_asked = 0;
        (self.asked.paused_since_ms, self.asked.leaving, self.asked.killed) = (None, false, false);
        (self.trouble, self.plan_in_trouble) = (None, false);
        self.streaks.losses = 0;
        // The user who resumes has fixed it, or wants to know.
        self.holds.clear();
        self.service = Service::default();
        self.heard = Heard::default();
        self.cramped = None;
        Ok(())
    }

    fn begin(&mut self, id: StepId, step: &Step, now: u64) -> Result<(), Illegal> {
        let iteration = self.iteration();
        let fits = self.flights.is_empty()
            && id == self.steps_begun + 1
            && match (step, &self.phase) {
                (Step::Snapshot { iteration: of }, Phase::Ready { snapshot_taken: false }) => {
                    *of == iteration
                }
                (
                    Step::Snapshot { iteration: of },
                    Phase::Answered { reply: Reply::Empty { .. }, results, .. },
                ) => *of == iteration && results.is_empty(),
                (Step::Agent { iteration: of, attempt, .. }, Phase::Ready { .. }) => {
                    *of == iteration && *attempt == self.attempts + 1 && !self.must_restore()
                }
                (Step::Agent { iteration: of, attempt, .. }, Phase::Answered { reply, results, .. }) => {
                    let again = reply.is_empty() && results.is_empty();
                    *of == iteration && *attempt == self.attempts + 1 && again
                }
                (Step::Check { iteration: of, index }, Phase::Answered { results, .. }) => {
                    *of == iteration && *index == results.len()
                }
                (Step::Message { iteration: of, .. }, Phase::Ready { .. }) => {
                    *of == self.judged
                        && self.scm.as_ref().is_some_and(|due| due.message == scm::Message::Unasked)
                }
                (Step::CommitRest, _) => !self.rest_committed,
                (Step::Plan { iteration: of, what }, phase) => {
                    let over = !matches!(phase, Phase::Ready { .. });
                    *of == iteration && self.plan.wants(over).as_ref() == Some(what)
                }
                (Step::Left { iteration: of, item }, Phase::Ready { .. }) => {
                    *of == self.judged && self.left_due.as_ref() == Some(item)
                }
                (Step::Restore { iteration: of, attempt }, Phase::Ready { .. }) => {
                    *of == iteration && *attempt == self.restored + 1 && self.must_restore()
                }
                (Step::Scm { iteration: of, task }, Phase::Ready { .. }) => {
                    *of == self.judged && self.scm.as_ref().is_some_and(|due| due.tasks_done == *task)
                }
                (_, Phase::Ready { .. } | Phase::Answered { .. } | Phase::Failed { .. }) => false,
            };
        if !fits {
            return Err(Illegal::OutOfPlace("began"));
        }
        if let Step::Agent { .. } | Step::Snapshot { .. } = step {
            self.cramped = None;
        }
        if let Step::Agent { item, .. } = step {
            self.left_due = None;
            self.plan.apply(&PlanFact::Began(item));
            self.attempts += 1;
            self.asked.notes_given = self.asked.notes.len();
            self.scm = None;
            self.rest_committed = false;
            self.phase = Phase::Ready { snapshot_taken: true };
        }
        if let Step::Message { .. } | Step::Scm { .. } | Step::Left { .. } | Step::CommitRest = step {
            self.plan.apply(&PlanFact::Errand);
        }
        self.steps_begun = id;
        self.flights.push(Flight {
            id,
            step: step.clone(),
            since_ms: now,
            answered_ms: None,
            silence: None,
            blocked: None,
            cancel: None,
        });
        Ok(())
    }

    fn answer(&mut self, id: StepId, now: u64) -> Result<(), Illegal> {
        let flight = self.flights.iter_mut().find(|f| f.id == id).ok_or(Illegal::NoSuchStep(id))?;
        if !matches!(flight.step, Step::Agent { .. }) {
            return Err(Illegal::OutOfPlace("answered"));
        }
        flight.answered_ms = Some(now);
        Ok(())
    }

    fn block(&mut self, id: StepId, by: Option<Blocker>, now: u64) -> Result<(), Illegal> {
        let flight = self.flights.iter_mut().find(|f| f.id == id).ok_or(Illegal::NoSuchStep(id))?;
        if !matches!(flight.step, Step::Agent { .. }) {
            return Err(Illegal::OutOfPlace("blocked"));
        }
        flight.blocked = by.map(|by| Blocked { by, since_ms: now });
        match by {
            Some(Blocker::Network) => {
                self.service.down_since_ms.get_or_insert(now);
            }
            Some(Blocker::Login) => {}
            None => self.service = Service::default(),
        }
        Ok(())
    }

    fn cancel(&mut self, id: StepId, how: How, why: Why, now: u64) -> Result<(), Illegal> {
        let flight = self.flights.iter_mut().find(|f| f.id == id).ok_or(Illegal::NoSuchStep(id))?;
        if flight.cancel.is_some_and(|earlier| earlier.how >= how) {
            return Err(Illegal::OutOfPlace("cancelled"));
        }
        flight.cancel = Some(Cancel { how, why, since_ms: now });
        Ok(())
    }

    fn stop(&mut self, reason: StopReason, note: Option<&String>) -> Result<(), Illegal> {
        let unproven = reason == StopReason::Completed && self.plan.pick() != Pick::Done;
        if !self.flights.is_empty() || unproven {
            return Err(Illegal::OutOfPlace("stopped"));
        }
        self.stopped = Some(Stopped { reason, note: note.cloned() });
        Ok(())
    }
}
