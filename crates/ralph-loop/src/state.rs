//! Where a run stands: the fold of its facts.
//!
//! [`State::apply`] is the only way in, live and on replay alike. A fact that cannot
//! follow from what came before is refused as [`Illegal`], so a damaged or forged journal
//! is noticed where it goes wrong. The state is bounded: it keeps what the next decision
//! needs and no list of iterations.

use crate::ask::{Asked, Silence};
use crate::check::{CheckEnd, CheckOutcome, CheckResult};
use crate::dialect::Answer;
use crate::event::{
    AgentEnd, Branch, End, Event, Fact, Head, How, MessageEnd, RestoreEnd, SnapshotEnd, Step, StepId,
    StopReason, VERSION, Why,
};
use crate::limits::{Backoff, LIMIT_MARGIN_MS, LONGEST_SERVICE_WAIT_MS, Limits};
use crate::money::{Cost, Usd};
use crate::plan::{Item, Pick, PlanFact, PlanState};
use crate::scm::{self, MessageOutcome, TaskOutcome};
use crate::time;
use crate::verdict::{Claim, Judgement, Settlement, StorySignal, Verdict};
use std::collections::VecDeque;
use thiserror::Error;

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
    /// Until when each agent's service refuses, in the run's own time; free where missing.
    pub blocked_until_ms: Vec<u64>,
    pub service: Service,
    pub stall: Stall,
    /// The run's first tree, and what has changed since by the last snapshot.
    pub base_tree: Option<String>,
    pub diff: Option<String>,
    /// What failed in the iteration before, for the next prompt.
    pub feedback: Vec<CheckResult>,
    /// What the last iteration has left uncommitted is to be seen to.
    pub left_due: Option<Item>,
    /// Source control tasks of the last iteration, until the next one begins.
    pub scm: Option<scm::Due>,
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
    /// How often somebody has asked to stop.
    pub stops_asked: u32,
    /// What people have asked for by the worker's name.
    pub asked: Asked,
    /// A step that cannot be carried out without help.
    pub trouble: Option<String>,
    pub plan: PlanState,
    pub stopped: Option<Stopped>,
}

/// A tree and the place in the user's repository that it was recorded at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub tree: String,
    pub head: Head,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Between iterations.
    Ready {
        /// The tree before the coming iteration is recorded.
        snapshot_taken: bool,
    },
    /// The agent has answered; the checks are next.
    Answered { claim: Claim, empty: bool, results: Vec<CheckResult> },
    /// The agent has failed.
    Failed { why: String },
}

/// A step that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    pub id: StepId,
    pub step: Step,
    pub since_ms: u64,
    /// When the agent gave its last answer.
    pub answered_ms: Option<u64>,
    /// It has shown no sign of life for too long.
    pub silence: Option<Silence>,
    pub cancel: Option<Cancel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    pub how: How,
    pub why: Why,
    pub since_ms: u64,
}

/// Things in a row that a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streaks {
    pub failures: u32,
    pub failed_at_ms: u64,
    /// Within the current iteration.
    pub empty_answers: u32,
    pub losses: u32,
}

/// What iterations cost, to tell whether another one fits into the budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// What was spent when the current iteration began.
    before: Usd,
    /// Of the last iterations.
    recent: VecDeque<Usd>,
}

/// So many iterations are looked back on.
const RECENT_COSTS: usize = 15;

impl Costs {
    fn judged(&mut self, spent: Usd) {
        if self.recent.len() == RECENT_COSTS {
            self.recent.pop_front();
        }
        self.recent.push_back(spent.less(self.before));
        self.before = spent;
    }

    /// What an iteration mostly costs; nothing is known before the first.
    pub fn median(&self) -> Usd {
        let mut sorted: Vec<Usd> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }
}

/// How the agents' services treat the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Refusals in a row that did not say for how long.
    waits: u32,
    /// Since when no service has been reached.
    pub down_since_ms: Option<u64>,
    /// A refusal that will not change by itself.
    pub refused: Option<String>,
}

/// Iterations that left the same checks red and the tree as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    pub iterations: u32,
    tree: Option<String>,
    failed: Vec<usize>,
    /// What the last iteration left red, until the next snapshot tells what it changed.
    unsettled: Option<Vec<usize>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    pub reason: StopReason,
    pub note: Option<String>,
}

/// A fact that cannot follow from those before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Illegal {
    #[error("a journal begins with `opened`")]
    NotOpened,
    #[error("written by journal version {0}, this program knows up to {VERSION}")]
    Version(u32),
    #[error("event {found} where {expected} was due")]
    Sequence { expected: u64, found: u64 },
    #[error("epoch {found} where {expected} was due")]
    Epoch { expected: u32, found: u32 },
    #[error("time runs backwards")]
    Backwards,
    #[error("the run had stopped")]
    AlreadyStopped,
    #[error("a run that ended as `{0}` does not go on")]
    NotResumable(&'static str),
    #[error("`{0}` does not fit where the run stood")]
    OutOfPlace(&'static str),
    #[error("step {0} was not in flight")]
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
            blocked_until_ms: Vec::new(),
            service: Service::default(),
            stall: Stall::default(),
            base_tree: None,
            diff: None,
            feedback: Vec::new(),
            left_due: None,
            scm: None,
            base: None,
            branch: None,
            restore_due: false,
            restored: 0,
            tried: None,
            rest_committed: false,
            stops_asked: 0,
            asked: Asked::default(),
            trouble: None,
            plan: run.plan.start(),
            stopped: None,
        })
    }

    /// Whether a run that is not alive can be taken up. One that used up its iterations can, once
    /// it has been given more.
    pub fn can_go_on(&self) -> bool {
        self.stopped.as_ref().is_none_or(|stopped| {
            let more = stopped.reason == StopReason::MaxIterations && self.judged < self.limits.iterations;
            stopped.reason.resumable() || more
        })
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
        match &event.fact {
            Fact::Opened(_) => return Err(Illegal::OutOfPlace("opened")),
            Fact::Resumed { .. } => self.resume()?,
            Fact::Began { id, step } => self.begin(*id, step, event.up_ms)?,
            Fact::Answered { id } => self.answer(*id, event.up_ms)?,
            Fact::Ended { id, end } => self.end(*id, end, event.up_ms)?,
            Fact::Cancelled { id, how, why } => self.cancel(*id, *how, *why, event.up_ms)?,
            Fact::Judged(judgement) => self.judge(judgement)?,
            Fact::StopAsked => self.stops_asked += 1,
            Fact::Asked(ask) => self.ask(ask, event.up_ms)?,
            Fact::Silent { id, silence } => self.fall_silent(*id, *silence)?,
            Fact::Woke => {}
            Fact::Stopped { reason, note } => self.stop(*reason, note.as_ref())?,
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

    /// What was in flight is cut short and will be begun again. Whoever resumes a run has
    /// seen why it stopped, so failures are counted anew.
    fn resume(&mut self) -> Result<(), Illegal> {
        if let Some(stopped) = &self.stopped {
            if !self.can_go_on() {
                return Err(Illegal::NotResumable(stopped.reason.word()));
            }
            self.streaks.failures = 0;
            if stopped.reason == StopReason::Halted {
                // A person has seen to the tree as it was left.
                (self.restore_due, self.tried) = (false, None);
                if !self.limits.iterations_are_the_goal {
                    let again = self.plan.counted_anew();
                    self.limits.iterations = self.limits.iterations.saturating_add(again);
                }
            }
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
        self.trouble = None;
        self.streaks.losses = 0;
        // Whoever resumes has seen to it, or wants to know.
        self.blocked_until_ms.clear();
        self.service = Service::default();
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
                (Step::Agent { iteration: of, attempt, .. }, Phase::Ready { .. }) => {
                    *of == iteration && *attempt == self.attempts + 1 && !self.must_restore()
                }
                (
                    Step::Agent { iteration: of, attempt, .. },
                    Phase::Answered { empty: true, results, .. },
                ) => *of == iteration && *attempt == self.attempts + 1 && results.is_empty(),
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
        if let Step::Agent { item, .. } = step {
            self.left_due = None;
            self.plan.apply(&PlanFact::Began(item));
            self.attempts += 1;
            self.asked.notes_given = self.asked.notes.len();
            self.scm = None;
            self.rest_committed = false;
            self.phase = Phase::Ready { snapshot_taken: true };
        }
        self.steps_begun = id;
        self.flights.push(Flight {
            id,
            step: step.clone(),
            since_ms: now,
            answered_ms: None,
            silence: None,
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

    fn cancel(&mut self, id: StepId, how: How, why: Why, now: u64) -> Result<(), Illegal> {
        let flight = self.flights.iter_mut().find(|f| f.id == id).ok_or(Illegal::NoSuchStep(id))?;
        if flight.cancel.is_some_and(|earlier| earlier.how >= how) {
            return Err(Illegal::OutOfPlace("cancelled"));
        }
        flight.cancel = Some(Cancel { how, why, since_ms: now });
        Ok(())
    }

    fn end(&mut self, id: StepId, end: &End, now: u64) -> Result<(), Illegal> {
        let at = self.flights.iter().position(|f| f.id == id).ok_or(Illegal::NoSuchStep(id))?;
        let fits = matches!(
            (&self.flights[at].step, end),
            (Step::Snapshot { .. }, End::Snapshot(_))
                | (Step::Agent { .. }, End::Agent(_))
                | (Step::Check { .. }, End::Check(_))
                | (Step::Message { .. }, End::Message(_))
                | (Step::Scm { .. }, End::Scm(_))
                | (Step::CommitRest, End::Rest(_))
                | (Step::Restore { .. }, End::Restore(_))
                | (Step::Plan { .. }, End::Plan(_))
                | (Step::Left { .. }, End::Left(_))
                | (_, End::Lost { .. } | End::Impossible { .. })
        );
        if !fits {
            return Err(Illegal::OutOfPlace("ended"));
        }
        let flight = self.flights.remove(at);
        // What is done before a pause takes effect counts as the run's time.
        if let Some(since) = &mut self.asked.paused_since_ms {
            *since = now;
        }
        if !matches!(end, End::Lost { .. }) {
            self.streaks.losses = 0;
        }
        // Money is gone even if the work was cut short.
        self.spent += end.cost().unwrap_or_default();
        match end {
            End::Snapshot(end) => self.end_snapshot(end),
            End::Agent(end) => self.end_agent(&flight, end, now),
            End::Check(end) => self.end_check(&flight, end),
            End::Message(end) => self.end_message(&flight, end),
            End::Scm(outcome) => self.end_task(outcome),
            // A failure is told, and no reason to try for ever.
            End::Rest(_) => self.rest_committed = true,
            End::Plan(end) => {
                if let Step::Plan { what, .. } = &flight.step {
                    self.plan.apply(&PlanFact::Done(what, end));
                }
            }
            End::Left(_) => self.left_due = None,
            End::Restore(end) => {
                // What nobody has judged after it tells nothing about why it failed.
                self.tried.get_or_insert_with(|| end.clone());
                self.restore_due = false;
                self.restored += 1;
                self.phase = Phase::Ready { snapshot_taken: false };
            }
            End::Lost { .. } => {
                if matches!(flight.step, Step::Agent { .. }) {
                    self.leave_unjudged();
                }
                self.streaks.losses += 1;
            }
            End::Impossible { why } => self.trouble = Some(why.clone()),
        }
        Ok(())
    }

    fn end_snapshot(&mut self, end: &SnapshotEnd) {
        if let Some(moved) = end.head.as_ref().and_then(|head| self.switched_branch(&head.branch)) {
            self.trouble = Some(moved);
            return;
        }
        self.phase = Phase::Ready { snapshot_taken: true };
        self.stall.learn(end.tree.as_deref());
        if self.base_tree.is_none() {
            self.base_tree.clone_from(&end.tree);
        }
        if let (None, Some(tree), Some(head)) = (&self.base, &end.tree, &end.head) {
            self.base = Some(Base { tree: tree.clone(), head: head.clone() });
            self.branch.get_or_insert_with(|| head.branch.clone());
        }
        self.diff.clone_from(&end.diff);
    }

    fn end_agent(&mut self, flight: &Flight, end: &AgentEnd, now: u64) {
        if let Some(moved) = end.branch.as_ref().and_then(|branch| self.switched_branch(branch)) {
            self.trouble = Some(moved);
            return self.leave_unjudged();
        }
        let failed = match flight.cancel.map(|cancel| cancel.why) {
            // To be run again by whoever resumes.
            Some(Why::MaxTime | Why::StopAsked | Why::Killed) => return self.leave_unjudged(),
            // Nobody's failure: what it has left is judged, and the next one begins.
            Some(Why::Silent(_)) => None,
            Some(Why::Timeout { after_ms }) => Some(format!("timed out after {}", time::seconds(after_ms))),
            Some(Why::Answered) | None => match &end.answer {
                Answer::Failed { why } => Some(why.clone()),
                Answer::Said | Answer::Empty => None,
                // Nobody's failure: the same iteration is run again.
                Answer::Limited { .. } | Answer::Unavailable { .. } | Answer::Unauthorized { .. } => {
                    self.leave_unjudged();
                    return self.refuse(flight, end, now);
                }
            },
        };
        self.service = Service::default();
        match failed {
            Some(why) => {
                self.streaks.failures += 1;
                self.streaks.failed_at_ms = now;
                self.phase = Phase::Failed { why };
            }
            None => {
                let empty = end.answer == Answer::Empty;
                self.streaks.empty_answers += u32::from(empty);
                self.streaks.failures = 0;
                self.phase = Phase::Answered {
                    claim: Claim {
                        tag: end.seen.tag.clone(),
                        matched: end.seen.matched,
                        story: StorySignal::of(&end.seen.signals),
                    },
                    empty,
                    results: Vec::new(),
                };
            }
        }
    }

    /// An agent has been at the tree, and nothing will be said about its work: the same item
    /// begins anew.
    fn leave_unjudged(&mut self) {
        self.restore_due = true;
    }

    /// Whether the tree has to be put back before the next agent, and can be.
    pub fn must_restore(&self) -> bool {
        self.restore_due && self.base.is_some()
    }

    /// The run's work would not be where it was asked for.
    fn switched_branch(&self, now: &Branch) -> Option<String> {
        let was = self.branch.as_ref()?;
        (was != now).then(|| format!("the branch was switched from {was} to {now} meanwhile"))
    }

    fn refuse(&mut self, flight: &Flight, end: &AgentEnd, now: u64) {
        let Step::Agent { agent, .. } = flight.step else { return };
        match &end.answer {
            Answer::Unauthorized { why } => self.service.refused = Some(why.clone()),
            Answer::Unavailable { .. } => {
                self.service.down_since_ms.get_or_insert(now);
            }
            Answer::Limited { .. } | Answer::Said | Answer::Empty | Answer::Failed { .. } => {
                self.service.down_since_ms = None;
            }
        }
        let wait = match end.retry_in_ms {
            Some(told) => told.saturating_add(LIMIT_MARGIN_MS),
            None => {
                self.service.waits += 1;
                let growing = Backoff { cap_ms: LONGEST_SERVICE_WAIT_MS, ..self.limits.backoff };
                growing.wait_ms(self.service.waits)
            }
        };
        if self.blocked_until_ms.len() <= agent {
            self.blocked_until_ms.resize(agent + 1, 0);
        }
        self.blocked_until_ms[agent] = now.saturating_add(wait);
    }

    fn end_check(&mut self, flight: &Flight, end: &CheckEnd) {
        let outcome = match flight.cancel.map(|cancel| cancel.why) {
            // To be run again by whoever resumes.
            Some(Why::MaxTime | Why::StopAsked | Why::Killed) => return,
            Some(Why::Timeout { after_ms }) => CheckOutcome::TimedOut { after_ms },
            Some(Why::Answered | Why::Silent(_)) | None => CheckOutcome::of(end.exit),
        };
        if let Phase::Answered { results, .. } = &mut self.phase {
            let index = results.len();
            results.push(CheckResult { index, outcome, log: end.log.clone(), excerpt: end.excerpt.clone() });
        }
    }

    fn end_message(&mut self, flight: &Flight, end: &MessageEnd) {
        // To be asked for again by whoever resumes.
        if matches!(flight.cancel, Some(Cancel { why: Why::StopAsked | Why::Killed, .. })) {
            return;
        }
        match (&mut self.scm, &end.outcome) {
            (Some(due), MessageOutcome::Text(text)) => due.message = scm::Message::Text(text.clone()),
            (Some(due), MessageOutcome::NothingToCommit) => due.message = scm::Message::Needless,
            (_, MessageOutcome::Failed { .. }) => self.scm = None,
            (None, MessageOutcome::Text(_) | MessageOutcome::NothingToCommit) => {}
        }
    }

    fn end_task(&mut self, outcome: &TaskOutcome) {
        match (&mut self.scm, outcome) {
            (Some(due), TaskOutcome::Done | TaskOutcome::NothingToCommit) => due.tasks_done += 1,
            (_, TaskOutcome::Failed { .. }) => self.scm = None,
            (None, TaskOutcome::Done | TaskOutcome::NothingToCommit) => {}
        }
    }

    fn judge(&mut self, judgement: &Judgement) -> Result<(), Illegal> {
        if !self.flights.is_empty() || judgement.iteration != self.iteration() {
            return Err(Illegal::OutOfPlace("judged"));
        }
        let founded = match &self.phase {
            Phase::Answered { claim, results, .. } => {
                judgement.claim == *claim && judgement.verdict == Verdict::of(results)
            }
            Phase::Failed { why } => judgement.verdict == Verdict::AgentFailed { why: why.clone() },
            Phase::Ready { .. } => false,
        };
        let unproven = judgement.settlement == Settlement::Settled && !judgement.verdict.is_green();
        if !founded || unproven {
            return Err(Illegal::OutOfPlace("judged"));
        }
        let results = match &mut self.phase {
            Phase::Answered { results, .. } => std::mem::take(results),
            Phase::Failed { .. } | Phase::Ready { .. } => Vec::new(),
        };
        self.judged += 1;
        self.costs.judged(self.spent.usd);
        self.attempts = 0;
        self.streaks.empty_answers = 0;
        self.stall.judge(&judgement.verdict);
        // Nobody commits what is put back next.
        let kept = judgement.verdict.is_green() && !matches!(judgement.settlement, Settlement::Retry { .. });
        self.scm = kept.then_some(scm::Due { message: scm::Message::Unasked, tasks_done: 0 });
        // A failed agent has checked nothing: what was red before it still is.
        if !matches!(judgement.verdict, Verdict::AgentFailed { .. }) {
            self.feedback = results.into_iter().filter(|r| !r.outcome.passed()).collect();
            self.asked.notes_heard();
        }
        self.plan.apply(&PlanFact::Judged(judgement));
        self.left_due = Some(judgement.item.clone());
        match judgement.settlement {
            Settlement::Settled => (self.base, self.restore_due, self.tried) = (None, false, None),
            // What the last attempt left is for the person who is asked for.
            Settlement::Retry { .. } => {
                (self.restore_due, self.tried) = (matches!(self.plan.pick(), Pick::Work(_)), None);
            }
            Settlement::Continue => {}
        }
        self.phase = Phase::Ready { snapshot_taken: false };
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

impl Stall {
    fn judge(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Red { failed } => self.unsettled = Some(failed.clone()),
            Verdict::Green { .. } | Verdict::AgentFailed { .. } => {
                self.unsettled = None;
                self.iterations = 0;
            }
        }
    }

    /// The tree as the last iteration left it. An unknown tree is a changed one: a run is
    /// never ended on a guess.
    fn learn(&mut self, tree: Option<&str>) {
        let unchanged = tree.is_some() && self.tree.as_deref() == tree;
        self.tree = tree.map(String::from);
        let Some(failed) = self.unsettled.take() else { return };
        self.iterations = match (unchanged, failed == self.failed) {
            (true, true) => self.iterations + 1,
            (true, false) => 1,
            (false, _) => 0,
        };
        self.failed = failed;
    }
}
