//! Which uncommitted changes of a project are ralph's own: what earlier runs wrote to
//! `progress.txt`, `.ralph/state.json` and the specs of stories that are done.
//!
//! A file that holds anything else is its author's.

use super::{backlog, mark, progress_txt, state_file};
use crate::fsx;
use crate::git::Repository;
use crate::layout::Project;
use std::path::{Path, PathBuf};

pub struct OwnChanges<'a> {
    project: &'a Project,
    repository: &'a Repository,
    /// Specs of stories that are done.
    done: Vec<PathBuf>,
}

impl<'a> OwnChanges<'a> {
    pub fn of(project: &'a Project, repository: &'a Repository) -> OwnChanges<'a> {
        let done = state_file::look(project).map(|seen| seen.state.completed_stories).unwrap_or_default();
        let specs = backlog::read(project, &[]).map(|backlog| backlog.specs).unwrap_or_default();
        let specs = specs.into_iter().filter(|spec| done.contains(&spec.id));
        let done = specs.map(|spec| project.dir().join(spec.path)).collect();
        OwnChanges { project, repository, done }
    }

    /// Whether a changed file differs from the last commit only by what ralph wrote.
    pub fn contain(&self, file: &Path) -> bool {
        if file == self.project.state() {
            return true;
        }
        let is_progress = file == self.project.progress_txt();
        if !is_progress && !self.done.iter().any(|spec| spec == file) {
            return false;
        }
        let Ok(now) = fsx::read_regular(file) else { return false };
        let before = self.repository.committed_content(file);
        if is_progress {
            return now.strip_prefix(before.unwrap_or_default().as_slice()).is_some_and(added_by_ralph);
        }
        before.is_some_and(|before| mark::marked_done(&before).as_deref() == Some(&now))
    }
}

fn added_by_ralph(added: &[u8]) -> bool {
    let added = String::from_utf8_lossy(added);
    added.lines().all(|line| line.is_empty() || progress_txt::is_ralphs(line))
}
