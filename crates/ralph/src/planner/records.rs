//! Planning sessions that are over, for `ralph clean`.

use super::PlanSpec;
use crate::catalog;
use crate::git::Repository;
use crate::layout::{Home, PlanDir, is_safe_name};
use crate::lock::WorkspaceLock;
use std::path::Path;

/// Newest first: those of a project, or of all. Sessions of a project that something works in now are left out: one of
/// them may be what works there.
pub fn over(home: &Home, project: Option<&Path>) -> Vec<(String, PlanDir)> {
    let entries = std::fs::read_dir(home.plans()).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> = ids.filter(|id| is_safe_name(id)).collect();
    // Ids begin with the time.
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let found = ids.into_iter().map(|id| (home.plan(&id), id));
    found.filter(|(record, _)| is_over(home, record, project)).map(|(record, id)| (id, record)).collect()
}

fn is_over(home: &Home, record: &PlanDir, project: Option<&Path>) -> bool {
    // Without a specification it may just begin; and whose it is, is not known.
    let Ok(spec) = PlanSpec::read(record) else { return false };
    let is_wanted = project.is_none_or(|dir| catalog::project_of(&spec.project) == catalog::project_of(dir));
    let tree = Repository::around(&spec.project).map_or_else(|| spec.project.clone(), |found| found.top);
    // What it has left in the project is still to be taken back.
    let is_interrupted = record.intent().exists() && spec.project.exists();
    is_wanted && !is_interrupted && !WorkspaceLock::is_held(home, &tree)
}
