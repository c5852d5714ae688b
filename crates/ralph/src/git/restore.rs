//! Putting a project back to where a piece of work began, and keeping what was there instead.
//!
//! What an attempt has left (commits, changes, new files) becomes one commit under
//! `refs/ralph/<run>/attempt-<n>` of the user's own repository, so that nothing is lost; only
//! then the branch, the index and the files go back. Doing it again, after a crash in the
//! middle, does no harm.

use super::checkpoint::CONTEXT_BYTES;
use super::shadow::{Shadow, ShadowError};
use super::{GitError, Repository, checked, git};
use crate::process::tool::{Tool, ToolOutput};
use ralph_loop::event::{Branch, Head};
use std::path::Path;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RestoreError {
    #[error("{0}")]
    Shadow(#[from] ShadowError),
    #[error("{0}")]
    Git(#[from] GitError),
    #[error("the branch was switched from {was} to {is}: git switch {was}, then resume")]
    Switched { was: Branch, is: Branch },
}

/// Where to go back to, and how to call what is found instead.
pub struct Target<'a> {
    pub tree: &'a str,
    pub head: &'a Head,
    /// `refs/ralph/<run>/attempt-<n>`.
    pub keep_as: &'a str,
    /// Relative to the top of the work tree: files that are ralph's own.
    pub own_files: &'a [String],
}

/// What was found instead of the wanted tree.
#[derive(Debug, Default)]
pub struct PutAside {
    /// The ref that keeps it.
    pub kept: Option<String>,
    /// What it had changed, as much as a prompt carries.
    pub diff: Option<String>,
    /// Paths that could not be put back without a loss.
    pub spared: Vec<String>,
}

/// Commands that may be unfinished, and the file that tells so.
const UNFINISHED: [(&str, &str); 4] = [
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
];

pub fn put_back(
    shadow: &Shadow,
    repository: &Repository,
    target: &Target<'_>,
) -> Result<PutAside, RestoreError> {
    let is = repository.branch();
    if is != target.head.branch {
        return Err(RestoreError::Switched { was: target.head.branch.clone(), is });
    }
    let changes = shadow.changes()?;
    let tree = shadow.record(&changes)?;
    let commit = repository.commit();
    let moved = commit != target.head.commit;
    let differs = shadow.differs(&tree, target.tree, target.own_files)?;
    if !moved && !differs {
        return Ok(PutAside::default());
    }
    let diff = shadow.diff(target.tree, &tree, &["--no-color"], CONTEXT_BYTES)?;
    let kept = repository.free_ref(target.keep_as);
    shadow.hand_over(&tree, commit.as_deref(), &kept)?;
    for (sign, command) in UNFINISHED {
        if repository.git_path(sign).is_some_and(|path| path.exists()) {
            checked(command, quiet(repository.top.as_path()).args([command, "--quit"]))?;
        }
    }
    if moved {
        repository.move_head(commit.as_deref(), target.head.commit.as_deref())?;
    }
    let done = shadow.put_back(&changes, &tree, target.tree, target.own_files)?;
    if let Some(index) = &target.head.index {
        checked("read-tree", quiet(&repository.top).args(["read-tree", index]))?;
        // Says which files differ, which is no failure.
        let _ = quiet(&repository.top).args(["update-index", "-q", "--refresh"]).run();
    }
    let diff = String::from_utf8_lossy(&diff).into_owned();
    Ok(PutAside { kept: Some(kept), diff: Some(diff).filter(|diff| !diff.is_empty()), spared: done.spared })
}

impl Repository {
    /// Where the repository stands.
    pub fn head(&self) -> Head {
        let index = git(&self.top).args(["write-tree"]).run().ok().filter(ToolOutput::success);
        Head {
            branch: self.branch(),
            commit: self.commit(),
            index: index.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_string()),
        }
    }

    pub fn branch(&self) -> Branch {
        let answer = git(&self.top).args(["symbolic-ref", "-q", "--short", "HEAD"]).run();
        match answer {
            Ok(answer) if answer.success() => {
                Branch::Named(String::from_utf8_lossy(&answer.stdout).trim().to_string())
            }
            Ok(_) | Err(_) => Branch::Detached,
        }
    }

    fn commit(&self) -> Option<String> {
        let answer = git(&self.top).args(["rev-parse", "--verify", "-q", "HEAD^{commit}"]).run().ok()?;
        answer.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_string())
    }

    /// The branch goes where it was, if it still is where it was found.
    fn move_head(&self, from: Option<&str>, to: Option<&str>) -> Result<(), GitError> {
        let update = quiet(&self.top).args(["update-ref", "-m", "ralph: back to where the work began"]);
        let update = match (from, to) {
            (Some(from), Some(to)) => update.args(["HEAD", to, from]),
            (None, Some(to)) => update.args(["HEAD", to]),
            (Some(from), None) => update.args(["-d", "HEAD", from]),
            (None, None) => return Ok(()),
        };
        checked("update-ref", update).map(drop)
    }

    /// The name, or with a number behind it if a life that was cut short has used it.
    fn free_ref(&self, name: &str) -> String {
        let taken = |name: &str| self.succeeds(&["rev-parse", "--verify", "-q", name]);
        let numbered = (2..).map(|n| format!("{name}.{n}"));
        std::iter::once(name.to_string()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }
}

impl Shadow {
    /// Gives a tree, as a commit after `parent`, to the user's repository under a name.
    fn hand_over(&self, tree: &str, parent: Option<&str>, name: &str) -> Result<(), ShadowError> {
        let mut commit = self.git().args(["commit-tree", tree, "-m", "ralph: what an attempt has left"]);
        if let Some(parent) = parent {
            commit = commit.args(["-p", parent]);
        }
        let commit = String::from_utf8_lossy(&checked("commit-tree", commit)?).trim().to_string();
        checked("update-ref", self.git().args(["update-ref", name, &commit]))?;
        let fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];
        let fetch = quiet(self.top()).args(fetch).arg(self.dir()).arg(format!("{name}:{name}"));
        checked("fetch", fetch)?;
        Ok(())
    }

    /// Whether two trees differ in more than ralph's own files.
    fn differs(&self, from: &str, to: &str, own_files: &[String]) -> Result<bool, ShadowError> {
        let names = self.diff(from, to, &["--no-renames", "--name-only", "-z"], usize::MAX)?;
        let mut paths = names.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.any(|path| !own_files.iter().any(|own| own.as_bytes() == path)))
    }
}

/// A command on the user's repository that runs nobody's hooks and starts no housekeeping.
fn quiet(top: &Path) -> Tool<'static> {
    git(top).args(["-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
}
