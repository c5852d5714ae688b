//! A git worktree of the run's own.
//!
//! It lies in `.ralph/worktrees/<run>` on a branch `ralph/<run>`. The user's tree is not touched by
//! such a run; merging its branch is the user's decision.

use super::{Access, PlaceError, PrepareError};
use crate::fsx;
use crate::git::shadow::Shadow;
use crate::git::{GitError, Repository};
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use ralph_loop::Run;
use ralph_loop::run::Place;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the worktree of a run will be, and the directory in it that the run works in. Nothing is
/// made yet: what is made has to be in the run's record first, or nothing would lead to it if
/// ralph were killed meanwhile.
pub fn plan(project: &Project, run_id: &str) -> Result<(Place, PathBuf), PlaceError> {
    let Some(repository) = Repository::around(project.dir()) else {
        return Err(PlaceError::WorktreeOutsideRepository(project.dir().to_path_buf()));
    };
    if !repository.has_commit() {
        return Err(PlaceError::WorktreeWithoutCommit);
    }
    let path = project.worktree(run_id);
    fsx::check_inside(project.dir(), &path).map_err(PlaceError::WorktreeBehindLink)?;
    let branch = branch(run_id);
    if path.symlink_metadata().is_ok() {
        return Err(PlaceError::DirectoryExists(path));
    }
    if repository.has_branch(&branch) {
        return Err(PlaceError::BranchExists(branch));
    }
    let inside = project.dir().strip_prefix(&repository.top).unwrap_or(Path::new(""));
    // Joined with nothing, a path would only get a slash at its end.
    let workspace: PathBuf = path.components().chain(inside.components()).collect();
    Ok((Place::Worktree { path, branch, origin: project.dir().to_path_buf() }, workspace))
}

/// Begins the name of every branch that is a run's.
pub const BRANCHES: &str = "ralph/";

/// The branch of a run's own.
pub fn branch(run_id: &str) -> String {
    format!("{BRANCHES}{run_id}")
}

/// Makes the worktree of a run that has begun nothing yet. One that is only half made, because the
/// run was killed meanwhile, goes first. As long as git works on it, the run counts as alive.
pub(super) fn make(
    run: &Run,
    path: &Path,
    branch: &str,
    origin: &Path,
    lock: &RunLock,
) -> Result<(), PrepareError> {
    let repository = Repository::find(origin).map_err(|why| PlaceError::no_repository(why, origin))?;
    repository.exclude_runtime_files(origin).map_err(PrepareError::CannotExclude)?;
    if Access::to(run).repository().is_none() || !repository.has_whole_worktree(path) {
        remove(path, branch, origin)?;
        add(&repository, path, branch, origin, lock)?;
    }
    // A directory that holds no tracked file is not in the new worktree.
    fsx::dir(&run.workspace).map_err(PrepareError::CannotCreate)
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
        let _ = remove(path, branch, origin);
        tries += 1;
        if tries == TRIES {
            return Err(cause);
        }
        std::thread::sleep(Duration::from_millis(50) * tries);
    }
}

/// Commits what a run has left uncommitted in its worktree, so that its branch is whole.
/// Returns whether there was anything.
pub fn commit(worktree: &Access, run_id: &str) -> Result<bool, GitError> {
    let Some(repository) = worktree.repository() else {
        return Err(GitError::NoWorktree(worktree.dir().to_path_buf()));
    };
    if repository.changed_paths()?.is_empty() {
        return Ok(false);
    }
    repository.commit_all(&format!("ralph: uncommitted changes of run {run_id}\n\nRalph-Run: {run_id}"))?;
    Ok(true)
}

/// What would be lost with a worktree and its branch.
#[derive(Debug, PartialEq, Eq)]
pub enum AtRisk {
    Nothing,
    /// It has uncommitted work; the commit of its branch, if that is not merged.
    Uncommitted {
        unmerged: Option<String>,
    },
    /// Its branch is not merged, and is at this commit.
    Unmerged(String),
    /// Git does not say.
    Unknown,
}

impl AtRisk {
    pub fn of(path: &Path, branch: &str, origin: &Path) -> AtRisk {
        let Some(origin) = Repository::around(origin) else { return AtRisk::Unknown };
        // Its own repository is gone, and this one lies around that.
        if path.exists() && !origin.has_branch(branch) && !origin.knows_worktree(path) {
            return AtRisk::Unknown;
        }
        let unmerged = origin.commit_of(branch).filter(|_| !origin.is_merged(branch, BRANCHES));
        // What is in a worktree that is only half made comes from its branch.
        let inside =
            Repository::around(path).filter(|found| found.top == path && origin.has_whole_worktree(path));
        match (inside.is_some_and(|inside| inside.has_uncommitted().unwrap_or(true)), unmerged) {
            (true, unmerged) => AtRisk::Uncommitted { unmerged },
            (false, Some(commit)) => AtRisk::Unmerged(commit),
            (false, None) => AtRisk::Nothing,
        }
    }

    /// The commit that only the branch leads to.
    pub fn unmerged(&self) -> Option<&str> {
        match self {
            AtRisk::Unmerged(commit) => Some(commit),
            AtRisk::Uncommitted { unmerged } => unmerged.as_deref(),
            AtRisk::Nothing | AtRisk::Unknown => None,
        }
    }
}

/// The place of a run whose record does not tell it: the worktree that its checkpoints are of, or
/// what the repository around `dir` has under the run's name.
pub fn without_record(run_dir: &RunDir, dir: &Path) -> Option<Place> {
    let (id, branch) = (run_dir.id(), branch(&run_dir.id()));
    let found = |path: PathBuf, origin: &Path| {
        let place = Place::Worktree { path, branch: branch.clone(), origin: origin.to_path_buf() };
        Some(place).filter(has_remains)
    };
    let noted = Shadow::top_of(&run_dir.checkpoints());
    if let Some(top) = noted.filter(|top| Project::is_worktree(top, &id)) {
        return found(top.clone(), top.ancestors().nth(3)?);
    }
    let repository = Repository::around(dir)?;
    let listed = repository.worktrees_of(&branch).into_iter().find(|path| Project::is_worktree(path, &id));
    let usual = || Project::at(repository.top.clone()).worktree(&id);
    found(listed.unwrap_or_else(usual), &repository.top)
}

/// Another worktree than the run's own in which its branch is checked out. Git deletes no branch
/// that is.
pub fn checked_out_elsewhere(path: &Path, branch: &str, origin: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok();
    let is_own = |found: &Path| found == path || (real.is_some() && found.canonicalize().ok() == real);
    Repository::around(origin)?.worktrees_of(branch).into_iter().find(|found| !is_own(found))
}

/// Whether anything of a run's worktree is there: its directory, its branch, or what git knows
/// of it.
pub fn has_remains(place: &Place) -> bool {
    let Place::Worktree { path, branch, origin } = place else { return false };
    path.symlink_metadata().is_ok()
        || Repository::around(origin).is_some_and(|origin| {
            origin.has_branch(branch) || origin.branch_lock(branch).is_some() || origin.knows_worktree(path)
        })
}

/// Removes a worktree and its branch, whatever is in them, also one that was only half made. Where
/// git cannot read the repository, only the directory goes.
pub fn remove(path: &Path, branch: &str, origin: &Path) -> Result<(), GitError> {
    match Repository::around(origin) {
        Some(origin) => {
            origin.remove_worktree(path)?;
            origin.delete_branch(branch)
        }
        None if path.exists() => fsx::remove_tree(path).map_err(GitError::Io),
        None => Ok(()),
    }
}
