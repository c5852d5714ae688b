//! The iterations of a run, for people and other programs.
//!
//! Only the current one is held, so a run of ten thousand costs no more memory than one of ten.

use super::moments::Flight;
use crate::check::{CheckEnd, CheckOutcome};
use crate::event::{End, Step, StopKind, StopReason};
use crate::money::Cost;
use crate::plan::{Item, PlanEnd};
use crate::proof::{Proof, Round};
use crate::review::Reworded;
use crate::run::Run;
use crate::state::{Stage, State};
use crate::task_list::Mode;
use crate::verdict::{Claim, Judgement, Settlement, Verdict};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Iteration {
    pub iteration: u32,
    /// The story that it was spent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<String>,
    /// What was done about a story of a task list: implement, review, fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What its agent has changed of what is asked of stories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reworded: Vec<Reworded>,
    pub steps_taken: u32,
    #[serde(flatten)]
    pub cost: Cost,
    /// Seconds from the first agent's start to the judgement, downtime left out.
    #[serde(serialize_with = "as_seconds", rename = "duration")]
    pub duration_ms: u64,
    pub check_results: Vec<CheckReport>,
    pub all_checks_passed: bool,
    pub completion_tag_found: bool,
    /// Tool calls that were refused: an agent that may do nothing looks successful.
    pub denied_tool_calls: u32,
    /// How it ended.
    pub end: EndKind,
    pub error: Option<String>,
    /// What it is worth, where it concludes something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<Proof>>,
    #[serde(skip)]
    pub settled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    Answered,
    Failed,
    /// It showed no sign of life and was ended.
    Silent,
    /// The run stopped before it was over: nothing was judged.
    CutShort,
}

impl EndKind {
    fn of(judgement: &Judgement) -> EndKind {
        match (&judgement.verdict, judgement.silence) {
            (Verdict::AgentFailed { .. }, _) => EndKind::Failed,
            (Verdict::Green { .. } | Verdict::Red { .. } | Verdict::Refused { .. }, Some(_)) => {
                EndKind::Silent
            }
            (Verdict::Green { .. } | Verdict::Red { .. } | Verdict::Refused { .. }, None) => {
                EndKind::Answered
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    pub name: String,
    pub passed: bool,
    /// One line: how it ended and, for a failure, what its output says.
    pub output: String,
}

fn error(judgement: &Judgement) -> Option<String> {
    match (&judgement.verdict, &judgement.settlement, judgement.silence) {
        (Verdict::AgentFailed { why }, _, _) => Some(why.clone()),
        (_, Settlement::Settled, _) => None,
        (_, _, Some(silence)) => Some(silence.to_string()),
        (_, Settlement::Retry { why }, None) => Some(why.clone()),
        (Verdict::Refused { word }, Settlement::Continue, None) => {
            Some(format!("not accepted: {}", word.sentence()))
        }
        (Verdict::Green { .. } | Verdict::Red { .. }, Settlement::Continue, None) => None,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn as_seconds<S: serde::Serializer>(ms: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(*ms as f64 / 1000.0)
}

/// The iteration under way, so far.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    begun: Option<Begun>,
    steps: u32,
    denied: u32,
    cost: Cost,
    checks: Vec<CheckReport>,
    reworded: Vec<Reworded>,
    /// Of the last agent that has ended.
    claim: Claim,
    /// Checks have run on what is delivered.
    delivered: bool,
    /// The last agent, or a check after it, was ended because the run ends.
    cut_short: bool,
}

/// What an iteration begins with.
#[derive(Clone, Debug)]
struct Begun {
    iteration: u32,
    item: Item,
    at_ms: u64,
}

impl History {
    pub(super) fn agent_began(&mut self, iteration: u32, item: &Item, at_ms: u64) {
        self.begun.get_or_insert_with(|| Begun { iteration, item: item.clone(), at_ms });
        (self.claim, self.cut_short) = (Claim::default(), false);
    }

    /// Checks run again: a verdict comes from one tree.
    pub(super) fn resumed(&mut self) {
        self.checks.clear();
        self.delivered = false;
    }

    /// The iteration that is over, and begins another.
    pub(super) fn judged(&mut self, run: &Run, judgement: &Judgement, up_ms: u64) -> Iteration {
        let now = std::mem::take(self);
        Iteration {
            iteration: judgement.iteration,
            steps_taken: now.steps,
            cost: now.cost,
            duration_ms: up_ms.saturating_sub(now.begun.map_or(up_ms, |begun| begun.at_ms)),
            all_checks_passed: judgement.verdict.is_green(),
            check_results: now.checks,
            completion_tag_found: run.plan.claimed(&judgement.claim),
            denied_tool_calls: now.denied,
            story: judgement.item.story(),
            mode: judgement.item.mode(),
            reworded: now.reworded,
            end: EndKind::of(judgement),
            error: error(judgement),
            proof: judgement.proof.clone(),
            settled: judgement.settlement == Settlement::Settled,
        }
    }

    /// The iteration that was under way when the run stopped, if it was cut short. Resuming
    /// the run runs it again, and it is reported then.
    pub(super) fn cut_short(self, run: &Run, state: &State) -> Option<Iteration> {
        let stopped = state.stopped.as_ref()?;
        let unchecked = matches!(state.work.stage, Stage::Answered { .. });
        let Begun { iteration, item, at_ms } = self.begun.filter(|_| self.cut_short || unchecked)?;
        let why = match stopped.reason.kind() {
            StopKind::Limit if stopped.reason == StopReason::Timeout => {
                "the time limit of the run is reached"
            }
            StopKind::Interrupted | StopKind::Paused | StopKind::Killed => "stopped as requested",
            // It failed with the run, which says why.
            StopKind::Failed | StopKind::Unusable | StopKind::GaveUp => return None,
            // These are found between iterations.
            StopKind::Done | StopKind::Limit | StopKind::Stalled => return None,
        };
        Some(Iteration {
            iteration,
            story: item.story(),
            mode: item.mode(),
            reworded: self.reworded,
            steps_taken: self.steps,
            cost: self.cost,
            duration_ms: state.position.up_ms.saturating_sub(at_ms),
            check_results: self.checks,
            all_checks_passed: false,
            completion_tag_found: run.plan.claimed(&self.claim),
            denied_tool_calls: self.denied,
            end: EndKind::CutShort,
            error: Some(format!("interrupted: {why}")),
            proof: None,
            settled: false,
        })
    }

    /// Whether an iteration is judged by a round. Once there is one on what is delivered, that
    /// stands for one in the workspace.
    fn counts(&mut self, round: Round) -> bool {
        match round {
            Round::Delivered => {
                if !std::mem::replace(&mut self.delivered, true) {
                    self.checks.clear();
                }
                true
            }
            Round::Workspace => !self.delivered,
            Round::Baseline
            | Round::BaselineInPlace
            | Round::BaselineOutside
            | Round::StartGates
            | Round::OldSource => false,
        }
    }

    /// A check that is red on what is delivered has run in the workspace as well.
    fn explain(&mut self, run: &Run, index: usize, round: Round, end: &CheckEnd) {
        let passes = round == Round::Workspace && CheckOutcome::of(end.exit).passed();
        let Some(check) = run.checks.get(index).filter(|_| passes) else { return };
        let failed = self.checks.iter_mut().find(|report| report.name == check.command && !report.passed);
        if let Some(report) = failed {
            report.output.push_str(" (only on a clean copy: it passes in the working tree)");
        }
    }

    /// `flight` is the step that has ended.
    pub(super) fn ended(&mut self, run: &Run, flight: Option<&Flight>, end: &End) {
        let ends_with_the_run = flight.is_some_and(Flight::ends_with_the_run);
        if let Some(Flight { step: Step::Agent { .. } | Step::Check { .. }, .. }) = flight {
            self.cut_short = ends_with_the_run;
        }
        match end {
            End::Agent(agent) => {
                self.steps += agent.seen.steps;
                self.denied += agent.seen.denied;
                self.cost += agent.cost().unwrap_or_default();
                self.claim = Claim::of(&agent.seen);
            }
            End::Check(check) if !ends_with_the_run => {
                let Some(flight) = flight else { return };
                let Step::Check { index, round, .. } = &flight.step else { return };
                if !self.counts(*round) {
                    self.explain(run, *index, *round, check);
                    return;
                }
                let outcome = match flight.timed_out() {
                    Some(after_ms) => CheckOutcome::TimedOut { after_ms },
                    None => CheckOutcome::of(check.exit),
                };
                let output = match &check.summary {
                    Some(line) if !outcome.passed() => format!("{outcome}: {line}"),
                    Some(_) | None => outcome.to_string(),
                };
                let name = run.checks.get(*index).map_or_else(String::new, |c| c.command.clone());
                self.checks.push(CheckReport { name, passed: outcome.passed(), output });
            }
            End::Lost { .. } => self.cost += end.cost().unwrap_or_default(),
            End::Plan(end) => {
                let PlanEnd::Tasks(end) = &**end;
                self.reworded.extend(end.reworded.iter().cloned());
            }
            End::Message(_)
            | End::Scm(_)
            | End::CommitWorktree(_)
            | End::Restore(_)
            | End::Uncommitted(_)
            | End::Check(_)
            | End::Prepare(_)
            | End::Setup(_)
            | End::Snapshot(_)
            | End::Impossible { .. } => {}
        }
    }
}
