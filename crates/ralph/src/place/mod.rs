//! Where a run works, and the one way in which programs are started there.
//!
//! Invariant: everything that is started for a run goes through [`command`]: agents, checks,
//! commit messages, source control, and ralph's own git in the workspace. Nothing else knows where
//! it runs. Checkpoints are in a git directory of ralph's own and stay outside of every place.
//!
//! A new place is a variant of [`Place`], a row in each table here, and a file with what it does.

mod access;
pub mod worktree;

pub use access::Access;

use crate::git::shadow::Shadow;
use crate::git::{GitError, NoRepository};
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use crate::process::Command;
use crate::sandbox::{Inside, Sandbox};
use ralph_loop::Run;
use ralph_loop::run::Place;
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

/// Why a place could not be made ready.
#[derive(Debug, Error)]
pub enum PrepareError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("cannot exclude ralph's files from git")]
    CannotExclude(#[source] io::Error),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("cannot create the worktree")]
    CannotCreate(#[source] io::Error),
}

/// The command to start so that this one runs in the place: in the run's sandbox, if it has one.
pub fn command(sandbox: Option<&Sandbox>, inside: &Inside<'_>, command: Command) -> Command {
    match (sandbox, inside.mounts) {
        (Some(sandbox), _) => sandbox.command(inside, command),
        (None, Some(mounts)) => mounts.wrap(command),
        (None, None) => command,
    }
}

/// Where a new run is to work, and the directory for it. Nothing is made yet.
pub fn choose(worktree: bool, project: &Project, run_id: &str) -> Result<(Place, PathBuf), PlaceError> {
    match worktree {
        true => worktree::plan(project, run_id),
        false => Ok((Place::Here, project.dir().to_path_buf())),
    }
}

/// Makes the place of a run ready that has begun nothing yet, also one that was left half made.
pub fn prepare(run: &Run, lock: &RunLock) -> Result<(), PrepareError> {
    match &run.place {
        Place::Here => Ok(()),
        Place::Worktree { path, branch, origin } => worktree::make(run, path, branch, origin, lock),
    }
}

/// Takes back a place that nothing has begun in.
pub fn discard(place: &Place) {
    match place {
        Place::Here => {}
        Place::Worktree { path, branch, origin } => {
            // If it cannot be removed it is only an empty copy, and `ralph run` says why it failed.
            let _ = worktree::remove(path, branch, origin);
        }
    }
}

/// Whether the place of a run is still what it was made as.
pub fn is_whole(run: &Run) -> bool {
    match run.place {
        Place::Here => run.workspace.is_dir(),
        Place::Worktree { .. } => run.workspace.is_dir() && Access::to(run).repository().is_some(),
    }
}

/// What a run's banner says of a place that is not the user's own directory.
pub fn description(place: &Place) -> Option<String> {
    match place {
        Place::Here => None,
        Place::Worktree { branch, .. } => Some(format!("a worktree, branch {branch}")),
    }
}

/// What a person can do with what a run has left in its place.
pub fn advice(place: &Place) -> Vec<String> {
    match place {
        Place::Here => Vec::new(),
        Place::Worktree { path, branch, .. } => vec![
            format!("worktree: {}", path.display()),
            format!("show:     git diff HEAD...{branch}"),
            format!("merge:    git merge {branch}"),
            "remove:   ralph clean".to_string(),
        ],
    }
}

/// The checkpoints of a run. Once there are some, they need no repository any more.
pub fn shadow(run: &Run, run_dir: &RunDir) -> Option<Shadow> {
    let new = || {
        let repository = Access::to(run).repository()?;
        Some(Shadow::over(repository, run_dir.checkpoints(), run.largest_file))
    };
    Shadow::open(run_dir.checkpoints(), run.largest_file).or_else(new)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    /// What is in the way of a place: a git that knows of none, a tool that was not given one, and
    /// a keeper that is given a command as it is.
    #[test]
    fn the_engine_starts_nothing_past_the_place() {
        let mut dirs = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine")];
        let (mut spawns, mut tools) = (0, 0);
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                    continue;
                }
                let text = fs::read_to_string(&path).unwrap();
                for direct in ["Repository::around(", "Repository::find("] {
                    assert!(!text.contains(direct), "{direct} in {}", path.display());
                }
                assert_eq!(
                    text.matches("Tool::new(").count(),
                    text.matches("self.access.tool(").count(),
                    "{}",
                    path.display()
                );
                tools += text.matches("Tool::new(").count();
                spawns += text.matches("keeper.spawn(").count();
            }
        }
        assert_eq!(
            (spawns, tools),
            (1, 2),
            "beside place::command in lane/mod.rs, and in scm.rs and in_sandbox.rs"
        );
    }
}
