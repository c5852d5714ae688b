//! Where an agent works: here, or in a git worktree of the run's own.
//!
//! A worktree lies in `.ralph/worktrees/<run>` on a branch `ralph/<run>`. The user's tree is
//! not touched by such a run; merging its branch is the user's decision.
//!
//! Deliberately absent: making one. That is the session's, once the run is recorded.

use crate::fsx;
use crate::git::shadow::Shadow;
use crate::git::{GitError, NoRepository, Repository};
use crate::layout::{Project, RunDir};
use ralph_loop::Run;
use ralph_loop::run::{Place, Tree};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a run cannot work where it was asked to.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// Git does not take the directory for a repository.
    #[error("{why}: {}", dir.display())]
    NoRepository { why: NoRepository, dir: PathBuf },
    #[error("--worktree needs a git repository: {}", .0.display())]
    WorktreeOutsideRepository(PathBuf),
    #[error("--worktree needs a commit to start from")]
    WorktreeWithoutCommit,
    #[error("cannot create the worktree")]
    WorktreeBehindLink(#[source] io::Error),
    #[error("the worktree's directory already exists: {}", .0.display())]
    DirectoryExists(PathBuf),
    #[error("the worktree's branch already exists: {0}")]
    BranchExists(String),
}

impl PlaceError {
    pub fn no_repository(why: NoRepository, dir: &Path) -> PlaceError {
        PlaceError::NoRepository { why, dir: dir.to_path_buf() }
    }
}

/// Where the worktree of a run will be, and the directory in it that the run works in. Nothing is
/// made yet: what is made has to be in the run's record first, or nothing would lead to it if
/// ralph were killed meanwhile.
pub fn plan_worktree(project: &Project, run_id: &str) -> Result<(Place, PathBuf), PlaceError> {
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

/// The repository that a run works in. If its `.git` is gone there is none: another one around it
/// is not the run's to touch.
pub fn repository(tree: &Tree) -> Option<Repository> {
    find_repository(tree).ok()
}

/// The same, or why there is none.
pub fn find_repository(tree: &Tree) -> Result<Repository, NoRepository> {
    let found = Repository::find(&tree.dir)?;
    match &tree.top {
        Some(top) if found.top != *top => Err(NoRepository::None),
        Some(_) | None => Ok(found),
    }
}

/// The checkpoints of a run. Once there are some, they need no repository any more.
pub fn shadow(run: &Run, run_dir: &RunDir) -> Option<Shadow> {
    let new = || {
        let repository = repository(&run.tree())?;
        Some(Shadow::over(repository, run_dir.checkpoints(), run.largest_file))
    };
    Shadow::open(run_dir.checkpoints(), run.largest_file).or_else(new)
}

/// Whether the place of a run is still what it was made as.
pub fn is_whole(run: &Run) -> bool {
    match run.place {
        Place::Here => run.workspace.is_dir(),
        Place::Worktree { .. } => run.workspace.is_dir() && repository(&run.tree()).is_some(),
    }
}

/// Commits what a run has left uncommitted in its worktree, so that its branch is whole.
/// Returns whether there was anything.
pub fn commit_worktree(worktree: &Tree, run_id: &str) -> Result<bool, GitError> {
    let Some(repository) = repository(worktree) else {
        return Err(GitError::NoWorktree(worktree.dir.clone()));
    };
    if repository.changed_paths()?.is_empty() {
        return Ok(false);
    }
    repository.commit_all(&format!("ralph: uncommitted changes of run {run_id}\n\nRalph-Run: {run_id}"))?;
    Ok(true)
}

/// What a person can do with a worktree.
pub fn advice(place: &Place) -> Vec<String> {
    let Place::Worktree { path, branch, .. } = place else { return Vec::new() };
    vec![
        format!("worktree: {}", path.display()),
        format!("show:     git diff HEAD...{branch}"),
        format!("merge:    git merge {branch}"),
        "remove:   ralph clean".to_string(),
    ]
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
pub fn remove_worktree(path: &Path, branch: &str, origin: &Path) -> Result<(), GitError> {
    match Repository::around(origin) {
        Some(origin) => {
            origin.remove_worktree(path)?;
            origin.delete_branch(branch)
        }
        None if path.exists() => fsx::remove_tree(path).map_err(GitError::Io),
        None => Ok(()),
    }
}
