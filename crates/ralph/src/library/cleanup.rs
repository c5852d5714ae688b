//! Removes what runs leave in a project.

use super::{Config, Error};
use crate::catalog;
use crate::fsx;
use crate::layout::{Home, Project};
use crate::lock::WorkspaceLock;
use crate::worktree_removal::Worktree;
use std::io;
use std::path::Path;

/// What becomes of work that only a worktree or its branch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmerged {
    /// The worktree is kept, and why is an [`Error::WorktreeKept`].
    Keep,
    /// It is removed all the same, and so is that of a run that could be resumed.
    Discard,
}

impl Config {
    /// Removes the worktree of a run and its branch, as `ralph clean` does. The run's record stays.
    /// Returns whether there was one.
    pub fn cleanup_worktree(&self, run: &str, unmerged: Unmerged) -> Result<bool, Error> {
        remove_worktree(&self.home()?, run, unmerged)
    }

    /// Removes what runs have written about their progress in the project directory:
    /// `.ralph/progress.md` and the logs of checks. Returns whether there was anything.
    pub fn cleanup_progress(&self) -> Result<bool, Error> {
        let dir = self.directory()?;
        if WorkspaceLock::is_held(&self.home()?, &dir) {
            return Err(Error::DirectoryInUse(dir));
        }
        let project = Project::at(dir);
        let cannot = |path: &Path| {
            let path = path.to_path_buf();
            move |cause| Error::CannotRemove { path, cause }
        };
        // Behind a link there are not only ralph's own files.
        let ralph_dir = project.ralph_dir();
        fsx::check_inside(project.dir(), &ralph_dir).map_err(cannot(&ralph_dir))?;
        let mut found = remove_file(&project.progress()).map_err(cannot(&project.progress()))?;
        for entry in fs_err::read_dir(&ralph_dir).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(Project::is_check_log) {
                found |= remove_file(&entry.path()).map_err(cannot(&entry.path()))?;
            }
        }
        Ok(found)
    }
}

fn remove_worktree(home: &Home, run: &str, unmerged: Unmerged) -> Result<bool, Error> {
    let line = catalog::one(home, catalog::find(home, run)?);
    let Some(worktree) = Worktree::of(home, &line, unmerged == Unmerged::Discard) else { return Ok(false) };
    if let Some(why) = worktree.kept {
        return Err(Error::WorktreeKept { run: line.id.clone(), why });
    }
    worktree.remove()?;
    Ok(true)
}

fn remove_file(path: &Path) -> io::Result<bool> {
    match fsx::remove(path) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}
