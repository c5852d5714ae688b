//! What the end of a step, and the judgement of an iteration, make of the state.

use super::{Base, Cancel, Flight, Hold, Illegal, Mark, Phase, Reply, Service, State};
use crate::check::{CheckEnd, CheckOutcome, CheckResult};
use crate::dialect::Answer;
use crate::event::{AgentEnd, Branch, End, MessageEnd, SnapshotEnd, Step, StepId, Why, directory_gone};
use crate::limits::{Backoff, LIMIT_MARGIN_MS, LONGEST_SERVICE_WAIT_MS};
use crate::plan::{Pick, PlanFact};
use crate::scm::{self, MessageOutcome, News, TaskOutcome};
use crate::time;
use crate::verdict::{Claim, Judgement, Settlement, Verdict};

impl State {
    pub(super) fn end(&mut self, id: StepId, end: &End, now: u64) -> Result<(), Illegal> {
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
        if let Step::Check { .. } = flight.step {
            self.plan.apply(&PlanFact::Checked);
        }
        // What is done before a pause takes effect counts as the run's time.
        if let Some(since) = &mut self.asked.paused_since_ms {
            *since = now;
        }
        // The last commit is made for a run that stops, and gives it no reason to go on.
        if !matches!(end, End::Lost { .. } | End::Rest(_)) {
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
                // What was not judged after it says nothing about why it failed.
                self.tried.get_or_insert_with(|| end.clone());
                self.stall.put_back(end.change.as_deref());
                self.restore_due = false;
                self.restored += 1;
                self.phase = Phase::Ready { snapshot_taken: false };
            }
            End::Lost { .. } => {
                match flight.step {
                    Step::Agent { .. } => self.leave_unjudged(),
                    Step::Scm { .. } => self.plan.apply(&PlanFact::Abandoned),
                    _ => {}
                }
                self.streaks.losses += 1;
            }
            End::Impossible { why } => {
                self.trouble = Some(why.clone());
                self.plan_in_trouble = matches!(flight.step, Step::Plan { .. });
            }
        }
        Ok(())
    }

    fn end_snapshot(&mut self, end: &SnapshotEnd) {
        if let Phase::Answered { reply, .. } = &mut self.phase {
            let same = match (&end.tree, &reply) {
                (Some(tree), _) => self.stall.knows(tree),
                (None, Reply::Empty { idle }) => *idle,
                (None, _) => false,
            };
            *reply = if same { Reply::EmptyUnchanged } else { Reply::EmptyChanged };
            return;
        }
        if let Some(moved) = end.head.as_ref().and_then(|head| self.switched_branch(&head.branch)) {
            self.trouble = Some(moved);
            return;
        }
        self.phase = Phase::Ready { snapshot_taken: true };
        self.compare_with_mark(end);
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

    /// Whether there is anything new for source control. An unknown tree is a changed one.
    fn compare_with_mark(&mut self, end: &SnapshotEnd) {
        let now = end.tree.clone().map(|tree| Mark { tree, commit: end.commit.clone() });
        if let Some(due) = self.scm.as_mut().filter(|due| due.news == News::Unknown) {
            due.news = if now.is_some() && now == self.mark { News::None } else { News::Some };
        }
        if self.mark.is_none() {
            self.mark = now;
        }
    }

    fn end_agent(&mut self, flight: &Flight, end: &AgentEnd, now: u64) {
        if let Some(moved) = end.branch.as_ref().and_then(|branch| self.switched_branch(branch)) {
            self.trouble = Some(moved);
            return self.leave_unjudged();
        }
        if let Some(dir) = &end.gone {
            self.trouble = Some(directory_gone(dir));
            return self.leave_unjudged();
        }
        let mut silence = None;
        let failed = match flight.cancel.map(|cancel| cancel.why) {
            // Runs again on resume.
            Some(Why::MaxTime | Why::StopAsked | Why::Killed) => return self.leave_unjudged(),
            // What it has left is checked first: it may have been done.
            Some(Why::Silent(silent)) => {
                silence = Some(silent);
                None
            }
            Some(Why::Timeout { after_ms }) => Some(format!("timed out after {}", time::seconds(after_ms))),
            Some(Why::Answered | Why::Blocked(_)) | None => match &end.answer {
                Answer::Failed { why } => Some(why.clone()),
                Answer::Said | Answer::Empty => None,
                // Not a failure: the same iteration runs again.
                Answer::Limited { .. } | Answer::Unavailable { .. } | Answer::Refused { .. } => {
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
                let reply = match (silence, &end.answer) {
                    (Some(silence), _) => Reply::Silent(silence),
                    (None, Answer::Empty) => Reply::Empty { idle: end.seen.result && end.seen.tools == 0 },
                    (None, _) => Reply::Words,
                };
                self.streaks.empty_answers += u32::from(reply.is_empty());
                if silence.is_none() {
                    self.streaks.failures = 0;
                }
                if let (Step::Agent { agent, .. }, true) = (&flight.step, end.seen.text) {
                    self.heard.answered(*agent, end.seen.json);
                }
                self.phase = Phase::Answered { claim: Claim::of(&end.seen), reply, results: Vec::new() };
            }
        }
    }

    /// An agent has been at the tree, and nothing will be said about its work: the same item
    /// begins anew.
    pub(super) fn leave_unjudged(&mut self) {
        self.restore_due = true;
    }

    /// Whether the tree has to be put back before the next agent, and can be.
    pub fn must_restore(&self) -> bool {
        self.restore_due && self.base.is_some()
    }

    /// The run's work would not be where it was asked for.
    fn switched_branch(&self, now: &Branch) -> Option<String> {
        let was = self.branch.as_ref()?;
        (was != now).then(|| format!("the branch was switched from {was} to {now} during the run"))
    }

    fn refuse(&mut self, flight: &Flight, end: &AgentEnd, now: u64) {
        let Step::Agent { agent, .. } = flight.step else { return };
        if self.holds.len() <= agent {
            self.holds.resize(agent + 1, Hold::default());
        }
        match &end.answer {
            Answer::Refused { why, about } => {
                self.holds[agent] = Hold::ForGood { why: why.clone(), about: *about };
                return;
            }
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
        self.holds[agent] = Hold::Until(now.saturating_add(wait));
    }

    fn end_check(&mut self, flight: &Flight, end: &CheckEnd) {
        let outcome = match flight.cancel.map(|cancel| cancel.why) {
            // Runs again on resume.
            Some(Why::MaxTime | Why::StopAsked | Why::Killed) => return,
            Some(Why::Timeout { after_ms }) => CheckOutcome::TimedOut { after_ms },
            Some(Why::Answered | Why::Silent(_) | Why::Blocked(_)) | None => CheckOutcome::of(end.exit),
        };
        if let Phase::Answered { results, .. } = &mut self.phase {
            let index = results.len();
            results.push(CheckResult { index, outcome, log: end.log.clone(), excerpt: end.excerpt.clone() });
        }
    }

    fn end_message(&mut self, flight: &Flight, end: &MessageEnd) {
        // Asked for again on resume.
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
        // The commit is another, and a hook can have changed the tree.
        (self.base, self.phase) = (None, Phase::Ready { snapshot_taken: false });
        if !matches!(outcome, TaskOutcome::Failed { .. }) {
            self.mark = None;
        }
        match (&mut self.scm, outcome) {
            (Some(due), TaskOutcome::Done | TaskOutcome::NothingToCommit) => due.tasks_done += 1,
            (_, TaskOutcome::Failed { .. }) => self.scm = None,
            (None, TaskOutcome::Done | TaskOutcome::NothingToCommit) => {}
        }
    }

    pub(super) fn judge(&mut self, judgement: &Judgement, now: u64) -> Result<(), Illegal> {
        if !self.flights.is_empty() || judgement.iteration != self.iteration() {
            return Err(Illegal::OutOfPlace("judged"));
        }
        let (founded, silence) = match &self.phase {
            Phase::Answered { claim, reply, results } => {
                (judgement.claim == *claim && judgement.verdict == Verdict::of(results), reply.silence())
            }
            Phase::Failed { why } => (judgement.verdict == Verdict::AgentFailed { why: why.clone() }, None),
            Phase::Ready { .. } => (false, None),
        };
        let founded = founded && (judgement.silence.is_none() || judgement.silence == silence);
        let unproven = judgement.settlement == Settlement::Settled && !judgement.verdict.is_green();
        if !founded || unproven {
            return Err(Illegal::OutOfPlace("judged"));
        }
        let results = match &mut self.phase {
            Phase::Answered { results, .. } => std::mem::take(results),
            Phase::Failed { .. } | Phase::Ready { .. } => Vec::new(),
        };
        match silence {
            Some(_) if judgement.counts_as_failure() => {
                self.streaks.failures += 1;
                self.streaks.failed_at_ms = now;
            }
            Some(_) => self.streaks.failures = 0,
            None => {}
        }
        self.judged += 1;
        self.costs.judged(self.spent.usd);
        self.attempts = 0;
        self.streaks.empty_answers = 0;
        self.stall.judge(judgement, self.plan.advance());
        // What is reset next is not committed.
        let kept = judgement.verdict.is_green() && !matches!(judgement.settlement, Settlement::Retry { .. });
        self.scm = kept.then_some(scm::Due::default());
        // A failed agent has checked nothing: what was red before it still is.
        if !matches!(judgement.verdict, Verdict::AgentFailed { .. }) {
            self.feedback = results.into_iter().filter(|r| !r.outcome.passed()).collect();
            self.asked.notes_heard();
        }
        self.plan.apply(&PlanFact::Judged(judgement));
        let put_back = matches!(judgement.settlement, Settlement::Retry { .. });
        self.left_due = Some(judgement.item.clone()).filter(|_| !put_back);
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
}
