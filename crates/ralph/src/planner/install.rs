//! Puts a valid plan in place.
//!
//! Invariant: all files of the plan are put in place or none ([`intent`]), and what they replace is kept in the record. A
//! disk that is full, or a file that cannot be replaced, leaves everything as it was; after a kill, the next ralph takes
//! back what is there.

use super::drafts::{self, Draft, StoriesDraft, TasksDraft};
use super::intent::{self, Existing, Intent};
use super::{PlanSpec, PlannerError};
use crate::fsx;
use crate::layout::{Home, PlanDir, TasksDir};
use crate::lock::EditLock;
use ralph_loop::planner::prd::QuestionAnswered;
use std::path::PathBuf;

/// The files that were written, relative to the project.
pub fn install(
    spec: &PlanSpec,
    record: &PlanDir,
    home: &Home,
    answers: &[QuestionAnswered],
) -> Result<Vec<PathBuf>, PlannerError> {
    // Keeps other edits out meanwhile.
    let lock = EditLock::wait(&intent::lock_path(home, spec))
        .map_err(|cause| PlannerError::Record { dir: home.locks(), cause })?;
    // Read once more: the list may have been edited since it was checked.
    let draft = drafts::read(spec, record, answers)?;
    let Some(draft) = draft else { return Ok(Vec::new()) };
    if !draft.is_valid() {
        let findings = draft.findings().to_vec();
        return Err(PlannerError::ListChanged { findings, drafts: record.drafts() });
    }
    let project = spec.project();
    let (files, existing) = match (draft, spec.tasks()) {
        (Draft::Tasks(draft), Some(dir)) => (tasks(&draft, &dir), Existing::Replaced),
        (Draft::Tasks(_), None) => return Ok(Vec::new()),
        (Draft::Stories(StoriesDraft { new, .. }), _) => {
            let files = new.into_iter().map(|(path, content)| (project.dir().join(path), content));
            (files.collect(), Existing::Refused)
        }
    };
    let written = Intent::note(&project, record, files, existing)?.carry_out();
    drop(lock);
    written
}

/// The list counts, so it comes last; what is the same already is left alone.
fn tasks(draft: &TasksDraft, dir: &TasksDir) -> Vec<(PathBuf, Vec<u8>)> {
    let list = draft.merged.list.to_text();
    let mut files = vec![(dir.prd(), draft.prd.clone().into_bytes()), (dir.list(), list.into_bytes())];
    files.retain(|(path, content)| fsx::read_regular(path).ok().as_ref() != Some(content));
    files
}
