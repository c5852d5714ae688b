//! Worktrees and branches of runs, also those that a killed git has left half made.

use super::git_dir::GitDir;
use super::{GitError, Repository, checked, one_path, stale_lock};
use crate::fsx;
use crate::process::tool::Tool;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl Repository {
    /// The worktrees in which a branch is checked out.
    pub fn worktrees_of(&self, branch: &str) -> Vec<PathBuf> {
        self.complete_worktrees();
        let listing = checked("worktree list", self.git().args(["worktree", "list", "--porcelain"]));
        let wanted = format!("branch refs/heads/{branch}");
        let (mut found, mut path) = (Vec::new(), None);
        for line in listing.unwrap_or_default().split(|byte| *byte == b'\n') {
            if let Some(name) = line.strip_prefix(b"worktree ") {
                path = Some(PathBuf::from(OsStr::from_bytes(name)));
            } else if line == wanted.as_bytes() {
                found.extend(path.take());
            }
        }
        found
    }

    /// Goes to a branch, which is made if there is none of that name.
    pub fn switch_to(&self, branch: &str) -> Result<(), GitError> {
        checked("check-ref-format", self.git().args(["check-ref-format", "--branch", branch]))?;
        self.complete_worktrees();
        let switch = self.git().args(["switch", "-q"]);
        let switch = if self.has_branch(branch) { switch } else { switch.arg("-c") };
        checked("switch", switch.arg(branch)).map(drop)
    }

    /// Git has `held` open for as long as it works on it.
    pub fn add_worktree(&self, path: &Path, branch: &str, held: Option<OwnedFd>) -> Result<(), GitError> {
        self.complete_worktrees();
        let add = self.git().args(["worktree", "add", "-q", "-b", branch]).arg(path).arg("HEAD");
        checked("worktree add", held.into_iter().fold(add, Tool::holding)).map(drop)
    }

    /// Also one that git was killed at, which is none to it yet.
    pub fn remove_worktree(&self, path: &Path) -> Result<(), GitError> {
        self.complete_worktrees();
        // Twice forced: a lock on it is no reason to keep it either.
        let remove = self.git().args(["worktree", "remove", "-f", "-f"]).arg(path);
        if path.exists() && checked("worktree remove", remove).is_err() {
            fsx::remove_tree(path).map_err(GitError::Io)?;
        }
        match self.admin_of(path).filter(|admin| admin.exists()) {
            Some(admin) => fsx::remove_tree(&admin).map_err(GitError::Io),
            None => Ok(()),
        }
    }

    /// Whether git has a worktree there, be it half made.
    pub fn knows_worktree(&self, path: &Path) -> bool {
        self.admin_of(path).is_some_and(|admin| admin.exists())
    }

    /// Whether all files of a worktree were checked out: git writes its index after the last one.
    pub fn has_whole_worktree(&self, path: &Path) -> bool {
        self.admin_of(path).is_some_and(|admin| admin.join("index").exists())
    }

    /// Where git keeps what it knows of a worktree: a directory of the same name. That of another
    /// worktree with that name is not it.
    fn admin_of(&self, path: &Path) -> Option<PathBuf> {
        let admin = self.admins()?.join(path.file_name()?);
        let link = fs_err::read(admin.join("gitdir")).unwrap_or_default();
        // A git that was killed has written nothing yet.
        let is_its = link.is_empty() || link.trim_ascii() == path.join(".git").as_os_str().as_bytes();
        is_its.then_some(admin)
    }

    /// Where git keeps what it knows of all worktrees.
    fn admins(&self) -> Option<PathBuf> {
        let common = match GitDir::of(&self.top) {
            Some(dir) => dir.common,
            None => {
                let answer = self.git().args(["rev-parse", "--git-common-dir"]).run().ok()?;
                self.top.join(one_path(&answer)?)
            }
        };
        Some(common.join("worktrees"))
    }

    /// A git that was killed while it made a worktree may have left the file `commondir` empty,
    /// and then no git here lists worktrees or deletes branches any more. What belongs in it is
    /// always the same, so that a git which is alive loses nothing.
    fn complete_worktrees(&self) {
        let entries = self.admins().and_then(|admins| fs_err::read_dir(admins).ok());
        for entry in entries.into_iter().flatten().filter_map(Result::ok) {
            let file = entry.path().join("commondir");
            if file.metadata().is_ok_and(|found| found.is_file() && found.len() == 0) {
                let _ = fsx::write_whole(&file, b"../..\n");
            }
        }
    }

    /// What a git that was killed while it made or deleted a branch has left.
    pub fn branch_lock(&self, branch: &str) -> Option<PathBuf> {
        self.git_path(&format!("refs/heads/{branch}.lock")).filter(|lock| lock.exists())
    }

    /// A branch of a run whose gits have all ended; one that was killed may have left a lock.
    pub fn delete_branch(&self, branch: &str) -> Result<(), GitError> {
        let delete = || match self.has_branch(branch) {
            true => checked("branch -D", self.git().args(["branch", "-q", "-D", branch])).map(drop),
            false => Ok(()),
        };
        self.complete_worktrees();
        if let Some(lock) = self.branch_lock(branch) {
            fsx::remove(&lock).map_err(GitError::Io)?;
        }
        // All branches share this one: it may be that of a git of the user's.
        let shared = self.git_path("packed-refs.lock").into_iter().collect::<Vec<_>>();
        let taken_over = || stale_lock::take_over(&self.top, &shared);
        delete().or_else(|cause| if taken_over() { delete() } else { Err(cause) })
    }
}
