//! The tree that a run works in: locked, writable, and with a place for ralph's own files.

use super::{SessionError, SessionOptions};
use crate::fsx;
use crate::git::{NoRepository, Repository};
use crate::layout::{Home, Project};
use crate::lock::{RunLock, WorkspaceLock};
use crate::place::{self, Access, PlaceError};
use crate::process;
use ralph_loop::Run;
use std::path::Path;

/// Makes the worktree that a run works in, and prepares it.
pub(super) fn make_worktree(run: &Run, lock: &RunLock) -> Result<(), SessionError> {
    place::prepare(run, lock)?;
    prepare_project(run)
}

/// Checks and the progress file need a place in the project that is no change of it.
pub(super) fn prepare_project(run: &Run) -> Result<(), SessionError> {
    let project = Project::at(run.workspace.clone());
    if !place::is_whole(run) {
        return Err(SessionError::DirectoryGone(run.workspace.clone()));
    }
    fsx::check_inside(project.dir(), &project.ralph_dir()).map_err(SessionError::RalphDirIsLink)?;
    let probed = fsx::dir(&project.ralph_dir()).and_then(|()| fsx::probe(&project.ralph_dir()));
    probed.map_err(|cause| SessionError::ProjectUnwritable { dir: run.workspace.clone(), cause })?;
    if run.git { exclude_runtime_files(run) } else { Ok(()) }
}

fn exclude_runtime_files(run: &Run) -> Result<(), SessionError> {
    match Access::to(run).find_repository() {
        Ok(repository) => {
            repository.exclude_runtime_files(&run.workspace).map_err(SessionError::CannotExclude)
        }
        Err(why @ (NoRepository::Untrusted { .. } | NoRepository::Unanswered(_))) => {
            Err(PlaceError::no_repository(why, &run.workspace).into())
        }
        Err(NoRepository::None) => Ok(()),
    }
}

pub(super) fn lock_workspace(
    home: &Home,
    run: &Run,
    options: &SessionOptions,
) -> Result<Option<WorkspaceLock>, SessionError> {
    if options.share_workspace {
        return Ok(None);
    }
    lock_tree(home, run).map(Some)
}

/// Keeps other runs out of a run's tree, and ends what the one before has left there.
pub fn lock_tree(home: &Home, run: &Run) -> Result<WorkspaceLock, SessionError> {
    let around = || Some(Repository::around(&run.workspace)?.top);
    // A tree of its own need not be there yet.
    let own = run.place.own_tree().map(Path::to_path_buf);
    let top = own.or_else(|| run.top.clone()).or_else(around);
    let tree = top.unwrap_or_else(|| run.workspace.clone());
    let lock = WorkspaceLock::acquire(home, &tree, &run.id)?;
    if let Some(previous) = lock.previous.as_ref().filter(|previous| **previous != run.id) {
        process::end_survivors(home.run(previous).dir());
    }
    Ok(lock)
}

/// Goes to a branch of the user's own, which is made if there is none of that name.
pub(super) fn switch_to(workspace: &Path, branch: &str) -> Result<(), SessionError> {
    let Some(repository) = Repository::around(workspace) else {
        return Err(SessionError::BranchOutsideRepository(workspace.to_path_buf()));
    };
    repository.switch_to(branch).map_err(SessionError::CannotSwitch)
}
