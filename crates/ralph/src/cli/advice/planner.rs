//! Planning that did not come to its end.

use crate::error::{CliError, Code};
use crate::layout::PlanDir;
use crate::planner::PlannerError;
use ralph_loop::strict::{Finding, repairs};
use std::path::Path;

impl From<&PlannerError> for CliError {
    fn from(error: &PlannerError) -> CliError {
        let failed = CliError::from_error(error, Code::Failed);
        match error {
            PlannerError::Record { .. } => failed.hint(super::RALPH_HOME),
            PlannerError::CannotRead { .. } => CliError::from_error(error, Code::Usage),
            PlannerError::InvalidList { why, .. } => CliError::from_error(error, Code::Usage)
                .cause(why)
                .hint("fix it first; `ralph tasks check` lists all errors"),
            PlannerError::NotStarted { why, .. } => {
                failed.cause(why).hint("`ralph doctor` shows what is installed and what is missing")
            }
            PlannerError::AgentFailed { record, .. } => {
                failed.hint(format!("no plan was put in place; its output is in {}", record.display()))
            }
            PlannerError::NothingDrafted { last_words, record } => {
                let failed = match last_words.is_empty() {
                    true => failed,
                    false => failed.cause(format!("its last message: {last_words}")),
                };
                failed.hint(format!("no plan was put in place; its output is in {}", record.display()))
            }
            PlannerError::StillInvalid { findings, drafts, .. }
            | PlannerError::ListChanged { findings, drafts } => {
                failed.cause(listed(findings)).hint(unchanged(drafts))
            }
            PlannerError::NotTakenBack { record, .. } => failed.hint(format!(
                "make it writable and try again; what it was before is in {}",
                PlanDir::at(record.clone()).before().display()
            )),
            PlannerError::NotInstalled { drafts, .. } | PlannerError::Interrupted { drafts } => {
                failed.hint(unchanged(drafts))
            }
        }
    }
}

fn listed(findings: &[Finding]) -> String {
    repairs(findings).trim_end().replace('\n', "\n  ")
}

fn unchanged(drafts: &Path) -> String {
    format!("no plan was put in place; the drafts are in {}", drafts.display())
}
