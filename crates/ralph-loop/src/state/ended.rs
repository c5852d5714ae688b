//! What the end of a step, and the judgement of an iteration, make of the state.

use super::{
    Base, Cancel, Chores, Flight, Hold, Illegal, Ledger, Mark, Reply, Restore, Service, Snapshot, Stage,
    State, Trouble, Worktree,
};
use crate::check::{CheckEnd, CheckOutcome, CheckResult};
use crate::dialect::Answer;
use crate::event::{AgentEnd, Branch, End, MessageEnd, SnapshotEnd, Step, StepId, Why, directory_gone};
use crate::limits::{Backoff, LIMIT_MARGIN_MS, LONGEST_SERVICE_WAIT_MS};
use crate::plan::{Pick, PlanFact};
use crate::proof::{Prepared, Rounds};
use crate::scm::{self, MessageOutcome, News, TaskOutcome};
use crate::time;
use crate::verdict::{Claim, Judgement, Settlement, Verdict};

impl State {
    pub(super) fn end(&mut self, id: StepId, end: &End, now: u64) -> Result<(), Illegal> {
        let step = &self.flights.get(&id).ok_or(Illegal::NoSuchStep(id))?.step;
        let fits = matches!(
            (step, end),
            (Step::Snapshot { .. }, End::Snapshot(_))
                | (Step::Agent { .. }, End::Agent(_))
                | (Step::Check { .. }, End::Check(_))
                | (Step::Prepare { .. }, End::Prepare(_))
                | (Step::Setup { .. }, End::Setup(_))
                | (Step::Message { .. }, End::Message(_))
                | (Step::Scm { .. }, End::Scm(_))
                | (Step::CommitWorktree, End::CommitWorktree(_))
                | (Step::Restore { .. }, End::Restore(_))
                | (Step::Plan { .. }, End::Plan(_))
                | (Step::Uncommitted { .. }, End::Uncommitted(_))
                | (_, End::Lost { .. } | End::Impossible { .. })
        );
        if !fits {
            return Err(Illegal::OutOfPlace("ended"));
        }
        let flight = self.flights.remove(&id).ok_or(Illegal::NoSuchStep(id))?;
        if let Step::Check { .. } = flight.step {
            self.update_plan(&PlanFact::Checked);
        }
        // What is done before a pause takes effect counts as the run's time.
        if let Some(since) = &mut self.asked.paused_since_ms {
            *since = now;
        }
        // The last commit is made for a run that stops, and gives it no reason to go on.
        if !matches!(end, End::Lost { .. } | End::CommitWorktree(_)) {
            self.ledger.streaks.losses = 0;
        }
        // Money is gone even if the work was cut short.
        self.ledger.spent += end.cost().unwrap_or_default();
        match end {
            End::Snapshot(end) => self.end_snapshot(end),
            End::Agent(end) => self.end_agent(&flight, end, now),
            End::Check(end) => self.end_check(&flight, end),
            End::Prepare(prepared) => self.end_prepare(&flight, prepared),
            End::Setup(end) => self.end_setup(&flight, end),
            End::Message(end) => self.end_message(&flight, end),
            End::Scm(outcome) => self.end_task(outcome),
            // A failure is reported, and no reason to try for ever.
            End::CommitWorktree(_) => self.work.worktree = Worktree::Committed,
            End::Plan(end) => {
                if let Step::Plan { what, .. } = &flight.step {
                    self.update_plan(&PlanFact::Done(what, end));
                }
            }
            End::Uncommitted(_) => {
                if let Some(chores) = self.work.stage.chores_mut() {
                    chores.uncommitted = None;
                }
            }
            End::Restore(end) => {
                // An attempt after it that was not judged says nothing about why it failed.
                self.work.tried.get_or_insert_with(|| end.clone());
                self.ledger.stall.put_back(end.change.as_deref());
                self.work.restored += 1;
                if let Some(chores) = self.work.stage.chores_mut() {
                    (chores.restore, chores.snapshot) = (Restore::NotNeeded, Snapshot::Due);
                }
            }
            End::Lost { .. } => {
                match flight.step {
                    Step::Agent { .. } => self.leave_unjudged(),
                    Step::Scm { .. } => self.update_plan(&PlanFact::CommitAbandoned),
                    _ => {}
                }
                self.ledger.streaks.losses += 1;
            }
            End::Impossible { why } => {
                let why = why.clone();
                self.work.trouble = Some(match flight.step {
                    Step::Plan { .. } => Trouble::Plan(why),
                    _ => Trouble::Other(why),
                });
                if flight.is_agent() {
                    self.work.stage = Stage::Between(Chores::recorded());
                }
            }
        }
        Ok(())
    }

    fn end_snapshot(&mut self, end: &SnapshotEnd) {
        if let Stage::Answered { reply, .. } = &mut self.work.stage {
            let same = match (Mark::of(end), &reply) {
                (Some(now), _) => self.work.began.as_ref() == Some(&now),
                (None, Reply::Empty { idle }) => *idle,
                (None, _) => false,
            };
            *reply = if same { Reply::EmptyUnchanged } else { Reply::EmptyChanged };
            return;
        }
        if let Some(moved) = end.head.as_ref().and_then(|head| self.switched_branch(&head.branch)) {
            self.work.trouble = Some(Trouble::Other(moved));
            return;
        }
        self.work.began = Mark::of(end);
        self.compare_with_mark();
        self.ledger.stall.learn(end.tree.as_deref());
        let work = &mut self.work;
        if let Some(chores) = work.stage.chores_mut() {
            chores.snapshot = Snapshot::Taken;
        }
        if work.first_tree.is_none() {
            work.first_tree.clone_from(&end.tree);
            self.proof.base.clone_from(&end.tree);
        }
        if let (None, Some(tree), Some(head)) = (&work.base, &end.tree, &end.head) {
            work.base = Some(Base { tree: tree.clone(), head: head.clone() });
            work.branch.get_or_insert_with(|| head.branch.clone());
        }
        work.diff.clone_from(&end.diff);
        work.gates.clone_from(&end.gates);
    }

    /// Whether there is anything new for source control. An unknown tree is a changed one.
    fn compare_with_mark(&mut self) {
        let now = &self.work.began;
        let due = self.work.stage.chores_mut().and_then(|chores| chores.scm.as_mut());
        if let Some(due) = due.filter(|due| due.news == News::Unknown) {
            due.news = if now.is_some() && *now == self.work.mark { News::None } else { News::Some };
        }
        if self.work.mark.is_none() {
            self.work.mark.clone_from(now);
        }
    }

    fn end_agent(&mut self, flight: &Flight, end: &AgentEnd, now: u64) {
        if let Some(moved) = end.branch.as_ref().and_then(|branch| self.switched_branch(branch)) {
            self.work.trouble = Some(Trouble::Other(moved));
            return self.leave_unjudged();
        }
        if let Some(dir) = &end.gone {
            self.work.trouble = Some(Trouble::Other(directory_gone(dir)));
            return self.leave_unjudged();
        }
        if let Some(why) = &end.guard {
            self.work.trouble = Some(Trouble::Guard(why.clone()));
            return self.leave_unjudged();
        }
        let mut silence = None;
        let failed = match flight.cancel.map(|cancel| cancel.why) {
            // Runs again when the run is resumed.
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
                // Not a failure of the agent: the same iteration runs again.
                Answer::Limited { .. } | Answer::Unavailable { .. } | Answer::Refused { .. } => {
                    self.leave_unjudged();
                    return self.refuse(flight, end, now);
                }
            },
        };
        self.ledger.service = Service::default();
        match failed {
            Some(why) => {
                self.ledger.fail(now);
                self.work.stage = Stage::Failed { why };
            }
            None => {
                let reply = match (silence, &end.answer) {
                    (Some(silence), _) => Reply::Silent(silence),
                    (None, Answer::Empty) => Reply::Empty { idle: end.seen.result && end.seen.tools == 0 },
                    (None, _) => Reply::Words,
                };
                self.ledger.streaks.empty_answers += u32::from(reply.is_empty());
                if silence.is_none() {
                    self.ledger.streaks.failures = 0;
                }
                if let (Step::Agent { agent, .. }, true) = (&flight.step, end.seen.text) {
                    self.ledger.heard.answered(*agent, end.seen.json);
                }
                let (claim, rounds) = (Claim::of(&end.seen), Rounds::default());
                self.work.stage = Stage::Answered { claim, reply, rounds };
            }
        }
    }

    /// An agent has worked on the tree, and its work is not judged: the same item begins again.
    pub(super) fn leave_unjudged(&mut self) {
        self.work.stage = Stage::Between(Chores::after_unjudged());
    }

    /// The run's work would not be where it was asked for.
    fn switched_branch(&self, now: &Branch) -> Option<String> {
        let was = self.work.branch.as_ref()?;
        (was != now).then(|| format!("the branch was switched from {was} to {now} during the run"))
    }

    fn refuse(&mut self, flight: &Flight, end: &AgentEnd, now: u64) {
        let Step::Agent { agent, .. } = flight.step else { return };
        let Ledger { blocked, service, limits, .. } = &mut self.ledger;
        if blocked.len() <= agent {
            blocked.resize(agent + 1, Hold::default());
        }
        match &end.answer {
            Answer::Refused { why, about } => {
                blocked[agent] = Hold::ForGood { why: why.clone(), about: *about };
                return;
            }
            Answer::Unavailable { .. } => {
                service.down_since_ms.get_or_insert(now);
            }
            Answer::Limited { .. } | Answer::Said | Answer::Empty | Answer::Failed { .. } => {
                service.down_since_ms = None;
            }
        }
        let wait = match end.retry_in_ms {
            Some(retry_in_ms) => retry_in_ms.saturating_add(LIMIT_MARGIN_MS),
            None => {
                service.waits += 1;
                let growing = Backoff { cap_ms: LONGEST_SERVICE_WAIT_MS, ..limits.backoff };
                growing.wait_ms(service.waits)
            }
        };
        blocked[agent] = Hold::Until(now.saturating_add(wait));
    }

    fn end_check(&mut self, flight: &Flight, end: &CheckEnd) {
        let outcome = match flight.cancel.map(|cancel| cancel.why) {
            // Runs again when the run is resumed.
            Some(Why::MaxTime | Why::StopAsked | Why::Killed) => return,
            Some(Why::Timeout { after_ms }) => CheckOutcome::TimedOut { after_ms },
            Some(Why::Answered | Why::Silent(_) | Why::Blocked(_)) | None => CheckOutcome::of(end.exit),
        };
        let Step::Check { index, round, .. } = flight.step else { return };
        let CheckEnd { log, excerpt, summary, tests, changed, touched, only_outside, .. } = end.clone();
        let result = CheckResult {
            index,
            outcome,
            log,
            excerpt,
            summary,
            tests,
            changed,
            touched,
            only_on_copy: None,
            only_outside,
        };
        if round.is_baseline() {
            self.proof.baseline_checked(round, result);
            // What is red is for the first agent to know.
            self.work.feedback = self.proof.red_before();
        } else if let Stage::Answered { rounds, .. } = &mut self.work.stage {
            rounds.add(round, result);
        }
    }

    fn end_setup(&mut self, flight: &Flight, end: &CheckEnd) {
        let Step::Setup { round, .. } = flight.step else { return };
        let outcome = match flight.cancel.map(|cancel| cancel.why) {
            // Runs again when the run is resumed.
            Some(Why::MaxTime | Why::StopAsked | Why::Killed) => return,
            Some(Why::Timeout { after_ms }) => CheckOutcome::TimedOut { after_ms },
            Some(Why::Answered | Why::Silent(_) | Why::Blocked(_)) | None => CheckOutcome::of(end.exit),
        };
        let summary = end.summary.as_ref().map_or_else(String::new, |line| format!(": {line}"));
        let failure = (!outcome.passed()).then(|| format!("proof.setup {outcome}{summary}"));
        if round.is_baseline() {
            self.proof.baseline_set_up(round, failure);
        } else if let Stage::Answered { rounds, .. } = &mut self.work.stage {
            rounds.set_up(round, failure);
        }
    }

    fn end_prepare(&mut self, flight: &Flight, prepared: &Prepared) {
        let Step::Prepare { round, .. } = flight.step else { return };
        if round.is_baseline() {
            self.proof.begin_baseline(prepared);
        } else if let Stage::Answered { rounds, .. } = &mut self.work.stage {
            rounds.prepare(round, prepared.clone());
        }
    }

    fn end_message(&mut self, flight: &Flight, end: &MessageEnd) {
        // Requested again when the run is resumed.
        if matches!(flight.cancel, Some(Cancel { why: Why::StopAsked | Why::Killed, .. })) {
            return;
        }
        let Some(chores) = self.work.stage.chores_mut() else { return };
        match (&mut chores.scm, &end.outcome) {
            (Some(due), MessageOutcome::Text(text)) => due.message = scm::Message::Text(text.clone()),
            (Some(due), MessageOutcome::NothingToCommit) => due.message = scm::Message::Needless,
            (_, MessageOutcome::Failed { .. }) => chores.scm = None,
            (None, MessageOutcome::Text(_) | MessageOutcome::NothingToCommit) => {}
        }
    }

    fn end_task(&mut self, outcome: &TaskOutcome) {
        if !matches!(outcome, TaskOutcome::Failed { .. }) {
            self.work.mark = None;
        }
        // The commit is another, and a hook can have changed the tree.
        self.work.base = None;
        let Some(chores) = self.work.stage.chores_mut() else { return };
        chores.snapshot = Snapshot::Due;
        match (&mut chores.scm, outcome) {
            (Some(due), TaskOutcome::Done | TaskOutcome::NothingToCommit) => due.tasks_done += 1,
            (_, TaskOutcome::Failed { .. }) => chores.scm = None,
            (None, TaskOutcome::Done | TaskOutcome::NothingToCommit) => {}
        }
    }

    pub(super) fn judge(&mut self, judgement: &Judgement, now: u64) -> Result<(), Illegal> {
        if !self.flights.is_empty() || judgement.iteration != self.iteration() {
            return Err(Illegal::OutOfPlace("judged"));
        }
        let (founded, silence) = match &self.work.stage {
            Stage::Answered { claim, reply, .. } => {
                let found = Verdict::of(self.work.stage.results());
                let refused = matches!(judgement.verdict, Verdict::Refused { .. }) && found.is_green();
                (judgement.claim == *claim && (judgement.verdict == found || refused), reply.silence())
            }
            Stage::Failed { why } => (judgement.verdict == Verdict::AgentFailed { why: why.clone() }, None),
            Stage::Between(_) | Stage::Working => (false, None),
        };
        let founded = founded && (judgement.silence.is_none() || judgement.silence == silence);
        let unproven = judgement.settlement == Settlement::Settled && !judgement.verdict.is_green();
        if !founded || unproven {
            return Err(Illegal::OutOfPlace("judged"));
        }
        self.settle_ledger(judgement, silence.is_some(), now);
        // A failed agent has checked nothing: what was red before it still is.
        if !matches!(judgement.verdict, Verdict::AgentFailed { .. }) {
            self.work.feedback = self.work.stage.failures();
            self.proof.judged(&self.work.feedback, judgement.proof.is_some());
            let refused = matches!(judgement.verdict, Verdict::Refused { .. });
            self.work.refused = judgement.proof.clone().filter(|_| refused);
            self.asked.notes_heard();
        }
        if let (Some(proof), true) = (&judgement.proof, judgement.verdict.is_green()) {
            self.proof.proven(proof, self.work.stage.results());
        }
        self.update_plan(&PlanFact::Judged(judgement));
        self.settle_work(judgement);
        Ok(())
    }

    fn settle_ledger(&mut self, judgement: &Judgement, silent: bool, now: u64) {
        let ledger = &mut self.ledger;
        match silent {
            true if judgement.counts_as_failure() => ledger.fail(now),
            true => ledger.streaks.failures = 0,
            false => {}
        }
        ledger.judged += 1;
        ledger.costs.judged(ledger.spent.usd);
        ledger.streaks.empty_answers = 0;
        ledger.stall.judge(judgement, self.plan.advance());
    }

    /// What is due after an iteration, by what it has settled.
    fn settle_work(&mut self, judgement: &Judgement) {
        let work = &mut self.work;
        work.attempts = 0;
        // The work of an agent that was ended for its silence is committed with that of the next one,
        // which goes on with it.
        let kept = judgement.verdict.is_green() && !judgement.counts_as_failure();
        let scm = kept.then(scm::Due::default);
        let uncommitted = Some(judgement.item.clone());
        let chores = match judgement.settlement {
            Settlement::Settled => {
                (work.base, work.tried) = (None, None);
                Chores { scm, uncommitted, ..Chores::default() }
            }
            Settlement::Continue => Chores { scm, uncommitted, ..Chores::default() },
            // What is put back next is not committed. What the last attempt left is for the person
            // who is asked for help.
            Settlement::Retry { .. } => {
                work.tried = None;
                let again = matches!(work.pick, Pick::Work(_));
                let restore = if again { Restore::Due } else { Restore::NotNeeded };
                Chores { restore, ..Chores::default() }
            }
        };
        work.stage = Stage::Between(chores);
    }
}
