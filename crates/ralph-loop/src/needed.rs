//! What a run may read back from beside its journal.
//!
//! Everything else there is kept for people: a run goes on, and resumes, without it.

use crate::Run;
use crate::State;
use crate::check::CheckResult;
use crate::plan::prompt::PromptSource;
use crate::plan::{Plan, PlanState};
use std::path::Path;

/// The texts that the next prompt can be made of, or the plan's files be compared with, by hash.
pub fn needed_texts<'a>(run: &'a Run, state: &'a State) -> Vec<&'a str> {
    let given = match &run.plan {
        Plan::Prompt(plan) => match &plan.source {
            PromptSource::Text { hash } => Some(hash),
            PromptSource::File { .. } => None,
        },
        Plan::Stories(plan) => plan.template.as_ref(),
        Plan::Tasks(_) => None,
    };
    let known: Vec<&str> = match &state.plan {
        PlanState::Tasks(tasks) => tasks.texts().collect(),
        PlanState::Prompt(_) | PlanState::Stories(_) => Vec::new(),
    };
    let tried = state.work.tried.as_ref().and_then(|tried| tried.diff.as_ref());
    let excerpts = results(state).filter_map(|result| result.excerpt.as_ref());
    let texts =
        given.into_iter().chain(&state.work.diff).chain(tried).chain(excerpts).chain(&state.asked.notes);
    texts.map(String::as_str).chain(known).collect()
}

/// The logs of checks that the next prompt can name.
pub fn needed_logs(state: &State) -> impl Iterator<Item = &Path> {
    results(state).map(|result| result.log.as_path())
}

fn results(state: &State) -> impl Iterator<Item = &CheckResult> {
    state.work.feedback.iter().chain(state.work.stage.results())
}
