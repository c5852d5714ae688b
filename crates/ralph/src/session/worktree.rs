//! The worktree of a run: made when the run is recorded, and taken back if nothing begins in it.

use crate::fsx;
use crate::git::{GitError, Repository};
use crate::lock::RunLock;
use crate::place::{self, PlaceError};
use ralph_loop::Run;
use ralph_loop::run::Place;
use std::io;
use std::path::Path;
use std::time::Duration;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum WorktreeError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("cannot exclude ralph's files from git")]
    CannotExclude(#[source] io::Error),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot create the worktree")]
    CannotCreate(#[source] io::Error),
}

/// Makes the worktree of a run that has begun nothing yet. One that is only half made, because the
/// run was killed meanwhile, goes first. As long as git works on it, the run counts as alive.
pub fn make(run: &Run, lock: &RunLock) -> Result<(), WorktreeError> {
    let Place::Worktree { path, branch, origin } = &run.place else { return Ok(()) };
    let repository = Repository::find(origin).map_err(|why| PlaceError::no_repository(why, origin))?;
    repository.exclude_runtime_files(origin).map_err(WorktreeError::CannotExclude)?;
    if place::repository(&run.tree()).is_none() || !repository.has_whole_worktree(path) {
        place::remove_worktree(path, branch, origin)?;
        add(&repository, path, branch, origin, lock)?;
    }
    // A directory that holds no tracked file is not in the new worktree.
    fsx::dir(&run.workspace).map_err(WorktreeError::CannotCreate)
}

/// Git reads all worktrees while it makes one, and stumbles over another that is being made at
/// the same moment; then it is only too early.
fn add(
    repository: &Repository,
    path: &Path,
    branch: &str,
    origin: &Path,
    lock: &RunLock,
) -> Result<(), GitError> {
    const TRIES: u32 = 5;
    let mut tries = 0;
    loop {
        let held = lock.as_fd().try_clone_to_owned().ok();
        let Err(cause) = repository.add_worktree(path, branch, held) else { return Ok(()) };
        // Git makes the branch before it finds that the rest cannot be done.
        let _ = place::remove_worktree(path, branch, origin);
        tries += 1;
        if tries == TRIES {
            return Err(cause);
        }
        std::thread::sleep(Duration::from_millis(50) * tries);
    }
}

/// Takes back a place that nothing has begun in.
pub fn discard(place: &Place) {
    if let Place::Worktree { path, branch, origin } = place {
        // If it cannot be removed it is only an empty copy, and `ralph run` says why it failed.
        let _ = place::remove_worktree(path, branch, origin);
    }
}
