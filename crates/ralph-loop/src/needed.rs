//! What a run may read back from beside its journal.
//!
//! Everything else there is kept for people: a run goes on, and resumes, without it.

use crate::Run;
use crate::State;
use crate::check::CheckResult;
use crate::plan::tasks::TasksState;
use std::path::Path;

/// The texts that the next prompt can be made of, or the plan's files be compared with, by hash.
pub fn needed_texts<'a>(run: &'a Run, state: &'a State) -> Vec<&'a str> {
    let known = state.plan.as_tasks().into_iter().flat_map(TasksState::texts);
    let tried = state.work.tried.as_ref().and_then(|tried| tried.diff.as_ref());
    let excerpts = results(state).filter_map(|result| result.excerpt.as_ref());
    let texts = state.work.diff.iter().chain(tried).chain(excerpts).chain(&state.asked.notes);
    let reports = state
        .proof
        .reports()
        .chain(results(state).filter_map(|result| Some(result.tests.as_ref()?.report.as_str())));
    run.plan.given_text().into_iter().chain(texts.map(String::as_str)).chain(known).chain(reports).collect()
}

/// The logs of checks that the next prompt can name, or that say what a sandbox lacks.
pub fn needed_logs(state: &State) -> impl Iterator<Item = &Path> {
    results(state).map(|result| result.log.as_path())
}

fn results(state: &State) -> impl Iterator<Item = &CheckResult> {
    state.work.feedback.iter().chain(state.work.stage.results()).chain(state.proof.so_far())
}
