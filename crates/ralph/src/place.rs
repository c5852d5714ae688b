//! Where an agent works: here, or in a git worktree of the run's own.
//!
//! A worktree lies in `.ralph/worktrees/<run>` on a branch `ralph/<run>`. The user's tree is
//! not touched by such a run; merging its branch is the user's decision.

use crate::error::{CliError, Code};
use crate::fsx;
use crate::git::shadow::Shadow;
use crate::git::{GitError, NoRepository, Repository};
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use ralph_loop::Run;
use ralph_loop::run::{Place, Tree};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Refuses a directory that git does not take for a repository.
pub fn no_repository(cause: &NoRepository, dir: &Path) -> CliError {
    let told = CliError::usage(format!("{cause}: {}", dir.display()));
    CliError { hint: cause.hint(), ..told }
}

/// Where the worktree of a run will be, and the directory in it that the run works in. Nothing is
/// made yet: what is made has to be in the run's record first, or nothing would lead to it if
/// ralph were killed meanwhile.
pub fn plan_worktree(project: &Project, run_id: &str) -> Result<(Place, PathBuf), CliError> {
    let Some(repository) = Repository::around(project.dir()) else {
        return Err(CliError::usage(format!(
            "--worktree needs a git repository: {}",
            project.dir().display()
        ))
        .hint("run `git init` and make a first commit, or drop --worktree"));
    };
    if !repository.has_commit() {
        return Err(CliError::usage("--worktree needs a commit to start from")
            .hint("make a first commit, or drop --worktree"));
    }
    let path = project.worktree(run_id);
    fsx::check_inside(project.dir(), &path)
        .map_err(|cause| CliError::usage("cannot create the worktree").cause(cause))?;
    let branch = branch(run_id);
    if path.symlink_metadata().is_ok() {
        return Err(CliError::usage(format!("the worktree's directory already exists: {}", path.display())));
    }
    if repository.has_branch(&branch) {
        return Err(CliError::usage(format!("the worktree's branch already exists: {branch}")));
    }
    let inside = project.dir().strip_prefix(&repository.top).unwrap_or(Path::new(""));
    // Joined with nothing, a path would only get a slash at its end.
    let workspace: PathBuf = path.components().chain(inside.components()).collect();
    Ok((Place::Worktree { path, branch, origin: project.dir().to_path_buf() }, workspace))
}

/// Makes the worktree of a run that has begun nothing yet. One that is only half made, because the
/// run was killed meanwhile, goes first. As long as git works on it, the run counts as alive.
pub fn lay_out(run: &Run, lock: &RunLock) -> Result<(), CliError> {
    let Place::Worktree { path, branch, origin } = &run.place else { return Ok(()) };
    let failed = |cause: &GitError| CliError::from_error(cause, Code::Failed);
    let repository = Repository::find(origin).map_err(|cause| no_repository(&cause, origin))?;
    repository
        .exclude_runtime_files(origin)
        .map_err(|cause| CliError::failed("cannot exclude ralph's files from git").cause(cause))?;
    if self::repository(&run.tree()).is_none() || !repository.has_whole_worktree(path) {
        remove_worktree(path, branch, origin).map_err(|cause| failed(&cause))?;
        add(&repository, path, branch, origin, lock).map_err(|cause| failed(&cause))?;
    }
    // A directory that holds no tracked file is not in the new worktree.
    fsx::dir(&run.workspace).map_err(|cause| CliError::failed("cannot create the worktree").cause(cause))
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
        let _ = remove_worktree(path, branch, origin);
        tries += 1;
        if tries == TRIES {
            return Err(cause);
        }
        std::thread::sleep(Duration::from_millis(50) * tries);
    }
}

/// Goes to a branch of the user's own, which is made if there is none of that name.
pub fn switch_to(workspace: &Path, branch: &str) -> Result<(), CliError> {
    let Some(repository) = Repository::around(workspace) else {
        return Err(CliError::usage(format!("--branch needs a git repository: {}", workspace.display())));
    };
    repository.switch_to(branch).map_err(|cause| {
        CliError::from_error(&cause, Code::Usage)
            .hint("choose another branch, or commit the changes that are in the way")
    })
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
pub fn commit_rest(worktree: &Tree, run_id: &str) -> Result<bool, GitError> {
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

/// Takes back a place that nothing has begun in.
pub fn discard(place: &Place) {
    if let Place::Worktree { path, branch, origin } = place {
        // If it cannot be removed it is only an empty copy, and `ralph run` says why it failed.
        let _ = remove_worktree(path, branch, origin);
    }
}

/// Removes a worktree and its branch, whatever is in them, also one that was only half made. Where
/// git cannot read the repository, only the directory goes.
pub fn remove_worktree(path: &Path, branch: &str, origin: &Path) -> Result<(), GitError> {
    match Repository::around(origin) {
        Some(origin) => {
            origin.remove_worktree(path)?;
            // The branch is the run's own, and no git of the run is alive.
            if let Some(lock) = origin.branch_lock(branch) {
                fsx::remove(&lock).map_err(GitError::Io)?;
            }
            if origin.has_branch(branch) { origin.delete_branch(branch) } else { Ok(()) }
        }
        None if path.exists() => fsx::remove_tree(path).map_err(GitError::Io),
        None => Ok(()),
    }
}
