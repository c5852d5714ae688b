//! Whether the worktree of a run may be removed: one judgement, for `ralph clean` and for programs.

use crate::catalog::RunLine;
use crate::git::GitError;
use crate::layout::Home;
use crate::lock::RunLock;
use crate::place::worktree::{self, AtRisk};
use ralph_loop::run::Place;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a worktree is not removed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Kept {
    #[error("its run has not ended: {status}")]
    NotEnded { status: String },
    #[error("it has uncommitted changes")]
    Uncommitted,
    #[error("its branch is not merged: {branch}")]
    Unmerged { branch: String, commit: String },
    /// Git deletes no branch that is checked out in another worktree.
    #[error("its branch is checked out in {}: {branch}", dir.display())]
    CheckedOut { branch: String, dir: PathBuf },
    #[error("git cannot read its repository: {}", .0.display())]
    UnreadableRepository(PathBuf),
}

/// A worktree of which something is there, and what is to become of it.
pub struct Worktree<'r> {
    pub line: &'r RunLine,
    pub path: &'r Path,
    pub branch: &'r str,
    pub origin: &'r Path,
    pub risk: AtRisk,
    /// Why it stays.
    pub kept: Option<Kept>,
    /// Keeps other processes from resuming the run meanwhile.
    _idle: Option<RunLock>,
}

/// Whether the user may have a run removed. `force` is for one that could be resumed.
pub fn may_go(line: &RunLine, force: bool) -> bool {
    line.is_over() || (force && !line.is_alive())
}

impl<'r> Worktree<'r> {
    /// `force`: also what would be lost with it. Nothing if the run has no worktree.
    pub fn of(home: &Home, line: &'r RunLine, force: bool) -> Option<Worktree<'r>> {
        let Place::Worktree { path, branch, origin } = &line.place else { return None };
        if !worktree::has_remains(&line.place) {
            return None;
        }
        // Another process may have resumed the run since it was looked at, or be about to.
        let idle = RunLock::of_idle(&home.run(&line.id));
        let risk = AtRisk::of(path, branch, origin);
        // A run that was killed while it created its worktree can create it again.
        let may_go = may_go(line, force) || !line.begun;
        let kept = if idle.is_none() || !may_go {
            let status = if idle.is_none() { "running" } else { &line.status };
            Some(Kept::NotEnded { status: status.to_string() })
        } else if let Some(dir) = worktree::checked_out_elsewhere(path, branch, origin) {
            Some(Kept::CheckedOut { branch: branch.clone(), dir })
        } else if force {
            None
        } else {
            match &risk {
                AtRisk::Nothing => None,
                AtRisk::Uncommitted { .. } => Some(Kept::Uncommitted),
                AtRisk::Unmerged(commit) => {
                    Some(Kept::Unmerged { branch: branch.clone(), commit: commit.clone() })
                }
                AtRisk::Unknown => Some(Kept::UnreadableRepository(origin.clone())),
            }
        };
        Some(Worktree { line, path, branch, origin, risk, kept, _idle: idle })
    }

    /// Whatever is in it: it is asked before whether it is kept.
    pub fn remove(&self) -> Result<(), GitError> {
        worktree::remove(self.path, self.branch, self.origin)
    }
}
