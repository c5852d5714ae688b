//! Iterations as people and other programs want them told.
//!
//! A fold beside [`State`](crate::State): it follows the same events and gives one
//! [`Iteration`] whenever one is over. It holds the current iteration only, so a run of
//! ten thousand costs no more memory than one of ten.

use crate::check::CheckOutcome;
use crate::event::{End, Event, Fact, Step, StepId, Why};
use crate::money::Cost;
use crate::plan::PlanEnd;
use crate::review::Reworded;
use crate::run::Run;
use crate::task_list::Mode;
use crate::verdict::{Settlement, Verdict};
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
    pub error: Option<String>,
    #[serde(skip)]
    pub settled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    pub name: String,
    pub passed: bool,
    /// One line: how it ended and, for a failure, what its output says.
    pub output: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn as_seconds<S: serde::Serializer>(ms: &u64, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(*ms as f64 / 1000.0)
}

/// Follows a run's events.
#[derive(Clone, Debug, Default)]
pub struct History {
    began_ms: Option<u64>,
    flight: Option<(StepId, Step)>,
    timed_out: Option<u64>,
    cut_short: bool,
    steps: u32,
    denied: u32,
    cost: Cost,
    checks: Vec<CheckReport>,
    reworded: Vec<Reworded>,
}

impl History {
    /// The iteration that this event has ended, if it has.
    pub fn follow(&mut self, run: &Run, event: &Event) -> Option<Iteration> {
        match &event.fact {
            Fact::Began { id, step } => {
                self.flight = Some((*id, step.clone()));
                (self.timed_out, self.cut_short) = (None, false);
                if matches!(step, Step::Agent { .. }) {
                    self.began_ms.get_or_insert(event.up_ms);
                }
                None
            }
            Fact::Cancelled { why, .. } => {
                match why {
                    Why::Timeout { after_ms } => self.timed_out = Some(*after_ms),
                    Why::MaxTime | Why::StopAsked | Why::Killed => self.cut_short = true,
                    Why::Answered | Why::Silent(_) => {}
                }
                None
            }
            Fact::Ended { end, .. } => {
                self.end(run, end);
                None
            }
            Fact::Judged(judgement) => {
                let now = std::mem::take(self);
                Some(Iteration {
                    iteration: judgement.iteration,
                    steps_taken: now.steps,
                    cost: now.cost,
                    duration_ms: event.up_ms.saturating_sub(now.began_ms.unwrap_or(event.up_ms)),
                    all_checks_passed: judgement.verdict.is_green(),
                    check_results: now.checks,
                    completion_tag_found: run.plan.claimed(&judgement.claim),
                    denied_tool_calls: now.denied,
                    story: judgement.item.story(),
                    mode: judgement.item.mode(),
                    reworded: now.reworded,
                    error: match (&judgement.verdict, &judgement.settlement) {
                        (Verdict::AgentFailed { why }, _) | (_, Settlement::Retry { why }) => {
                            Some(why.clone())
                        }
                        (Verdict::Green { .. } | Verdict::Red { .. }, _) => None,
                    },
                    settled: judgement.settlement == Settlement::Settled,
                })
            }
            Fact::Resumed { .. } => {
                // Checks are run anew: a verdict comes from one tree.
                self.checks.clear();
                None
            }
            Fact::Opened(_)
            | Fact::Answered { .. }
            | Fact::StopAsked
            | Fact::Asked(_)
            | Fact::Silent { .. }
            | Fact::Woke
            | Fact::LowDisk(_)
            | Fact::Stopped { .. } => None,
        }
    }

    fn end(&mut self, run: &Run, end: &End) {
        let flight = self.flight.take();
        match end {
            End::Agent(agent) => {
                self.steps += agent.seen.steps;
                self.denied += agent.seen.denied;
                self.cost += agent.cost().unwrap_or_default();
            }
            End::Check(check) if !self.cut_short => {
                let Some((_, Step::Check { index, .. })) = flight else { return };
                let outcome = match self.timed_out {
                    Some(after_ms) => CheckOutcome::TimedOut { after_ms },
                    None => CheckOutcome::of(check.exit),
                };
                let output = match &check.summary {
                    Some(line) if !outcome.passed() => format!("{outcome}: {line}"),
                    Some(_) | None => outcome.to_string(),
                };
                let name = run.checks.get(index).map_or_else(String::new, |c| c.command.clone());
                self.checks.push(CheckReport { name, passed: outcome.passed(), output });
            }
            End::Lost { .. } => self.cost += end.cost().unwrap_or_default(),
            End::Plan(end) => {
                let PlanEnd::Tasks(end) = &**end;
                self.reworded.extend(end.reworded.iter().cloned());
            }
            End::Message(_)
            | End::Scm(_)
            | End::Rest(_)
            | End::Restore(_)
            | End::Left(_)
            | End::Check(_)
            | End::Snapshot(_)
            | End::Impossible { .. } => {}
        }
    }
}
