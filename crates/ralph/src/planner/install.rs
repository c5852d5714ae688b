//! Puts a valid plan in place.
//!
//! Invariant: files of the project are replaced as a whole, after copies of all new ones have been written
//! beside them, and what they replace is kept in the record. A disk that is full, or a file that cannot be
//! replaced, leaves everything as it was.

use super::drafts::{self, Draft, StoriesDraft, TasksDraft};
use super::{PlanSpec, PlannerError};
use crate::fsx;
use crate::layout::{Home, PlanDir, Project, TasksDir};
use crate::tasks::added::Added;
use ralph_loop::planner::prd::QuestionAnswered;
use std::path::PathBuf;

/// The files that were written, relative to the project.
pub fn install(
    spec: &PlanSpec,
    record: &PlanDir,
    home: &Home,
    answers: &[QuestionAnswered],
) -> Result<Vec<PathBuf>, PlannerError> {
    let failed = |cause| PlannerError::Record { dir: home.locks(), cause };
    // Keeps other edits of the list out meanwhile.
    let added = spec.tasks().map(|dir| Added::wait(home, &dir)).transpose().map_err(failed)?;
    // Read once more: the list may have been edited since it was checked.
    let draft = drafts::read(spec, record, answers)?;
    let Some(draft) = draft else { return Ok(Vec::new()) };
    if !draft.is_valid() {
        let findings = draft.findings().to_vec();
        return Err(PlannerError::ListChanged { findings, drafts: record.drafts() });
    }
    let project = spec.project();
    let written = match (draft, spec.tasks()) {
        (Draft::Tasks(draft), Some(dir)) => tasks(&draft, &dir, &project, record),
        (Draft::Tasks(_), None) => Ok(Vec::new()),
        (Draft::Stories(draft), _) => stories(&draft, &project, record),
    };
    drop(added);
    written
}

fn tasks(
    draft: &TasksDraft,
    dir: &TasksDir,
    project: &Project,
    record: &PlanDir,
) -> Result<Vec<PathBuf>, PlannerError> {
    let not_installed =
        |file: PathBuf, cause| PlannerError::NotInstalled { file, cause, drafts: record.drafts() };
    let list = draft.merged.list.to_text();
    let mut files = vec![(dir.prd(), draft.prd.clone().into_bytes()), (dir.list(), list.into_bytes())];
    // The list counts, so it comes last; what is the same already is left alone.
    files.retain(|(path, content)| fsx::read_regular(path).ok().as_ref() != Some(content));
    fsx::dir_inside(project.dir(), dir.dir())
        .map_err(|cause| not_installed(dir.dir().to_path_buf(), cause))?;
    for (path, _) in &files {
        fsx::check_inside(project.dir(), path).map_err(|cause| not_installed(path.clone(), cause))?;
    }
    for (path, _) in &files {
        let Some(name) = path.file_name() else { continue };
        if let Ok(before) = fsx::read_regular(path) {
            fsx::private_dir(&record.before())
                .and_then(|()| fsx::write_private(&record.before().join(name), &before))
                .map_err(|cause| PlannerError::Record { dir: record.before(), cause })?;
        }
    }
    fsx::replace_all(&files).map_err(|(file, cause)| not_installed(file, cause))?;
    Ok(files.into_iter().map(|(path, _)| project.shown(&path)).collect())
}

/// All of the new specs, or none.
fn stories(draft: &StoriesDraft, project: &Project, record: &PlanDir) -> Result<Vec<PathBuf>, PlannerError> {
    let mut written: Vec<PathBuf> = Vec::new();
    for (path, content) in &draft.new {
        let at = project.dir().join(path);
        let dir = at.parent().map_or_else(|| project.specs(), PathBuf::from);
        let put = fsx::dir_inside(project.dir(), &dir).and_then(|()| fsx::write_new(&at, content));
        if let Err(cause) = put {
            for path in &written {
                // What cannot be removed again is a valid story.
                let _ = fsx::remove(&project.dir().join(path));
            }
            return Err(PlannerError::NotInstalled { file: at, cause, drafts: record.drafts() });
        }
        written.push(path.clone());
    }
    Ok(written)
}
