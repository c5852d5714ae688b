//! What a step does to the file of the list, and by which rules.
//!
//! Decided here, from the state: the shell only carries it out.

use super::state::{Compared, Situation};
use super::{Amendment, Known, TasksPlan, TasksState};
use crate::plan::{Item, Pick, PlanStep};
use crate::review::{ReviewRules, Reworded};

#[derive(Clone, Debug)]
pub enum FileWork<'a> {
    /// Take over what is there: a person's. None before the list was first read.
    Read {
        last: Option<&'a Known>,
    },
    /// Hold what is there against a list, and undo what the rules do not allow.
    Compare(Comparison<'a>),
    /// Write the list again as it was before an agent that is not judged.
    PutBack(&'a Known),
    Amend {
        amendment: &'a Amendment,
        known: &'a Known,
    },
}

#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    pub before: &'a Known,
    pub rules: ReviewRules<'a>,
    /// What the agent was found to have done already; it is not reported again.
    pub undone: &'a [String],
    pub rewording: &'a [Reworded],
    /// What is undone may be a person's, so a copy is kept.
    pub keep: bool,
    /// Something other than the agent was at work: a change is reported as an edit.
    pub by_commit: bool,
}

impl TasksState {
    /// None if the list was never read.
    pub fn file_work<'a>(
        &'a self,
        plan: &TasksPlan,
        pick: &'a Pick,
        step: &'a PlanStep,
    ) -> Option<FileWork<'a>> {
        match step {
            PlanStep::ReadTasks if self.after_commits() => Some(FileWork::Compare(Comparison {
                before: self.last_known()?,
                rules: plan.rules_for_others(),
                undone: &[],
                rewording: &[],
                keep: true,
                by_commit: true,
            })),
            PlanStep::ReadTasks => Some(FileWork::Read { last: self.last_known() }),
            PlanStep::CompareTasks => {
                let (before, rules) = match (&self.situation, pick) {
                    // A check after a person's edit may do no more to the list than a commit.
                    (Situation::Compared(Compared { found: Some(found), .. }), _) => {
                        (found, plan.rules_for_others())
                    }
                    (_, Pick::Work(Item::Task { id, mode })) => (self.known.as_ref()?, plan.rules(*mode, id)),
                    (_, Pick::Work(_) | Pick::Done | Pick::Stuck(_)) => return None,
                };
                Some(FileWork::Compare(Comparison {
                    before,
                    rules,
                    undone: self.undone(),
                    rewording: self.rewording(),
                    keep: self.after_downtime(),
                    by_commit: false,
                }))
            }
            PlanStep::PutBackTasks => Some(FileWork::PutBack(self.known.as_ref()?)),
            PlanStep::AmendTasks(amendment) => {
                Some(FileWork::Amend { amendment, known: self.known.as_ref()? })
            }
        }
    }
}
