//! Putting a project back to where a piece of work began, and keeping what was there instead.
//!
//! What an attempt has left (commits, changes, new files) becomes one commit under
//! `refs/ralph/<run>/attempt-<n>` of the user's own repository, so that nothing is lost. What it
//! began with is a parent of that commit, and ralph's own files are the same in both, so that
//! their difference is the attempt's work and nothing else. Only then the branch, the index and the files go back. Doing it again, after a crash in the
//! middle, does no harm.

use super::checkpoint::CONTEXT_BYTES;
use super::shadow::{FOR_A_PROMPT, Shadow, ShadowError};
use super::{Condition, FORGET, GitError, Repository, by_ralph, checked, stale_lock};
use crate::layout;
use crate::process::tool::ToolOutput;
use ralph_loop::event::{Branch, Head};
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RestoreError {
    #[error("{0}")]
    Shadow(#[from] ShadowError),
    #[error("{0}")]
    Git(#[from] GitError),
    #[error("the repository is gone: {} (ralph undo RUN --restore-git restores it)", .0.display())]
    Gone(PathBuf),
    #[error(
        "the commit or tree the story started from is gone from the repository; nothing was changed: {0}"
    )]
    Pruned(String),
    #[error("the branch was switched from {was} to {is}: run `git switch {was}`, then `ralph resume`")]
    Switched { was: Branch, is: Branch },
}

/// Where to go back to, and how to call what is found instead.
pub struct Target<'a> {
    pub tree: &'a str,
    pub head: &'a Head,
    /// `refs/ralph/<run>/attempt-<n>`.
    pub keep_as: &'a str,
    /// Relative to the top of the work tree: files that are not the attempt's. Asked for once the
    /// tree is recorded, so that none that is in it is missed.
    pub own_files: &'a dyn Fn() -> Vec<String>,
}

/// What was found instead of the wanted tree.
#[derive(Debug, Default)]
pub struct PutAside {
    /// The ref that keeps it.
    pub kept: Option<String>,
    /// Which parent of it has the wanted tree, from 1.
    pub began: Option<usize>,
    /// What it had changed, as much as a prompt carries.
    pub diff: Option<String>,
    /// A hash of all that it had changed; none if no file had.
    pub change: Option<String>,
    /// Paths that could not be put back without a loss.
    pub spared: Vec<String>,
}

/// Commands that may be unfinished, and the file that tells so. A rebase may be one of them and
/// also hold another.
const UNFINISHED: [(&str, &str); 6] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply/rebasing", "rebase"),
    ("rebase-apply/applying", "am"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
];

pub fn put_back(
    shadow: &Shadow,
    repository: &Repository,
    target: &Target<'_>,
) -> Result<PutAside, RestoreError> {
    if repository.condition() != Condition::Whole {
        return Err(RestoreError::Gone(repository.top.join(".git")));
    }
    let is = repository.branch();
    if is != target.head.branch {
        return Err(RestoreError::Switched { was: target.head.branch.clone(), is });
    }
    repository.take_over_locks(&is);
    let found = repository.head();
    let changes = shadow.changes()?;
    let tree = shadow.record(&changes)?;
    let own_files = (target.own_files)();
    let tip = repository.tip(&found.branch);
    let moved = [&found.commit, &tip].iter().any(|commit| **commit != target.head.commit);
    let staged = found.index != target.head.index;
    let unfinished = repository.unfinished();
    if !moved && !staged && unfinished.is_empty() && !shadow.differs(&tree, target.tree, &own_files)? {
        return Ok(PutAside::default());
    }
    let diff = shadow.diff_without(&own_files, (target.tree, &tree), FOR_A_PROMPT, CONTEXT_BYTES)?;
    let exact = ["--raw", "--no-abbrev", "--no-renames", "-z"];
    let change = shadow.diff_without(&own_files, (target.tree, &tree), &exact, usize::MAX)?;
    let change = (!change.is_empty()).then(|| layout::hash(&change));
    let kept = repository.free_ref(target.keep_as);
    let mut parents: Vec<String> = found.commit.iter().chain(&tip).cloned().collect();
    parents.dedup();
    let committed = repository.answer(&["rev-parse", "--verify", "-q", "HEAD^{tree}"]);
    // Usually the commit of then, unless the user had uncommitted work.
    let began_at = match &target.head.commit {
        Some(commit) if shadow.has_object(commit) && !shadow.differs(commit, target.tree, &own_files)? => {
            Some(commit)
        }
        Some(_) | None => None,
    };
    let of_attempt = shadow.with_files_of(began_at.map_or(target.tree, String::as_str), &own_files)?;
    // An attempt may have pruned what it has to go back to.
    shadow.hand_over(&[&tree, &of_attempt, target.tree], target.head)?;
    repository.can_go_back(target.head)?;
    // Nothing else holds what is staged, once the index has gone back.
    if let Some(index) = &found.index
        && staged
        && *index != tree
        && committed.as_ref() != Some(index)
    {
        parents.push(repository.commit_tree(index, found.commit.as_slice(), "ralph: staged changes")?);
    }
    let beginning = match (began_at, &target.head.commit) {
        (Some(commit), _) => commit.clone(),
        (None, commit) => {
            repository.commit_tree(target.tree, commit.as_slice(), "ralph: start of the attempt")?
        }
    };
    let began = parents.iter().position(|parent| *parent == beginning).unwrap_or_else(|| {
        parents.push(beginning);
        parents.len() - 1
    });
    let left = repository.commit_tree(&of_attempt, &parents, "ralph: failed attempt")?;
    checked("update-ref", repository.quiet().args(["update-ref", &kept, &left]))?;
    let prepared = shadow.prepare(&changes, &tree, target.tree, &own_files)?;
    for command in unfinished {
        checked(command, repository.quiet().args([command, "--quit"]))?;
    }
    repository.move_head(tip.as_deref(), target.head)?;
    let done = shadow.put_back(prepared)?;
    if let Some(index) = target.head.index.as_ref().filter(|_| staged) {
        // Unlike a plain one, this keeps what the index knows of a sparse checkout.
        checked("read-tree", repository.quiet().args(["read-tree", "--reset", index]))?;
    }
    // Says which files differ, which is no failure.
    let _ = repository.quiet().args(["update-index", "-q", "--refresh"]).run();
    let diff = String::from_utf8_lossy(&diff).into_owned();
    let diff = Some(diff).filter(|diff| !diff.is_empty());
    Ok(PutAside { kept: Some(kept), began: Some(began + 1), diff, change, spared: done.spared })
}

impl Repository {
    /// Where the repository stands.
    pub fn head(&self) -> Head {
        Head { branch: self.branch(), commit: self.commit(), index: self.answer(&["write-tree"]) }
    }

    /// The branch that HEAD is on, or that is being rebased meanwhile.
    pub fn branch(&self) -> Branch {
        self.branch_of_head().or_else(|| self.rebased_branch()).map_or(Branch::Detached, Branch::Named)
    }

    fn branch_of_head(&self) -> Option<String> {
        self.answer(&["symbolic-ref", "-q", "--short", "HEAD"])
    }

    fn rebased_branch(&self) -> Option<String> {
        ["rebase-merge/head-name", "rebase-apply/head-name"].iter().find_map(|name| {
            let content = fs_err::read_to_string(self.git_path(name)?).ok()?;
            content.trim().strip_prefix("refs/heads/").map(String::from)
        })
    }

    /// The commit that HEAD is on.
    pub fn commit(&self) -> Option<String> {
        self.answer(&["rev-parse", "--verify", "-q", "HEAD^{commit}"])
    }

    /// The last commit of a branch: not that of HEAD while the branch is being rebased.
    fn tip(&self, branch: &Branch) -> Option<String> {
        match branch {
            Branch::Named(name) => {
                self.answer(&["rev-parse", "--verify", "-q", &format!("refs/heads/{name}^{{commit}}")])
            }
            Branch::Detached => self.commit(),
        }
    }

    fn unfinished(&self) -> Vec<&'static str> {
        let begun = |sign: &str| self.git_path(sign).is_some_and(|path| path.exists());
        UNFINISHED.iter().filter(|(sign, _)| begun(sign)).map(|(_, command)| *command).collect()
    }

    /// Commits everything that agents have left, without hooks or prompts. A git of theirs that was killed has
    /// left its lock as well.
    pub fn commit_all(&self, message: &str) -> Result<(), GitError> {
        let commit = || self.stage_all().and_then(|()| self.commit_plainly(message));
        commit().or_else(|cause| if self.take_over_locks(&self.branch()) { commit() } else { Err(cause) })
    }

    /// The attempt is over, and so is every git that it has started. A lock that stays is that of
    /// one which was killed, and would stop everyone else. Returns whether there was one.
    fn take_over_locks(&self, branch: &Branch) -> bool {
        let mut names = ["index.lock", "HEAD.lock", "packed-refs.lock"].map(String::from).to_vec();
        if let Branch::Named(name) = branch {
            names.push(format!("refs/heads/{name}.lock"));
        }
        let locks: Vec<_> = names.iter().filter_map(|name| self.git_path(name)).collect();
        stale_lock::take_over(&self.top, &locks)
    }

    /// A commit by ralph that is on no branch.
    fn commit_tree(&self, tree: &str, parents: &[String], message: &str) -> Result<String, GitError> {
        let commit = by_ralph(self.quiet()).args(["commit-tree", tree, "-m", message]);
        let commit = parents.iter().fold(commit, |commit, parent| commit.args(["-p", parent]));
        Ok(String::from_utf8_lossy(&checked("commit-tree", commit)?).trim().to_string())
    }

    /// Whether the commit and the index that work began with are still there.
    fn can_go_back(&self, to: &Head) -> Result<(), RestoreError> {
        let gone = |name: &str| Err(RestoreError::Pruned(name.to_owned()));
        if let Some(commit) =
            to.commit.as_ref().filter(|commit| !self.has_object(&format!("{commit}^{{tree}}")))
        {
            return gone(commit);
        }
        let walk = ["rev-list", "--objects", "--quiet", "--missing=allow-promisor"];
        match &to.index {
            Some(index) if checked("rev-list", self.local().args(walk).arg(index)).is_err() => gone(index),
            Some(_) | None => Ok(()),
        }
    }

    /// HEAD is on its branch again, and that where it was, if it still is where it was found.
    fn move_head(&self, tip: Option<&str>, to: &Head) -> Result<(), GitError> {
        let why = "ralph: reset to where the story started";
        if let (Branch::Named(name), None) = (&to.branch, self.branch_of_head()) {
            let head = ["symbolic-ref", "-m", why, "HEAD", &format!("refs/heads/{name}")];
            checked("symbolic-ref", self.quiet().args(head))?;
        }
        let update = self.quiet().args(["update-ref", "-m", why]);
        let update = match (tip, to.commit.as_deref()) {
            (Some(tip), Some(to)) if tip == to => return Ok(()),
            (Some(tip), Some(to)) => update.args(["HEAD", to, tip]),
            (None, Some(to)) => update.args(["HEAD", to]),
            (Some(tip), None) => update.args(["-d", "HEAD", tip]),
            (None, None) => return Ok(()),
        };
        checked("update-ref", update).map(drop)
    }

    /// What git answers on one line, if it does.
    pub(super) fn answer(&self, args: &[&str]) -> Option<String> {
        let answer = self.git().args(args).run().ok().filter(ToolOutput::success)?;
        Some(String::from_utf8_lossy(&answer.stdout).trim().to_string())
    }

    /// The name, or with a number behind it if a life that was cut short has used it.
    fn free_ref(&self, name: &str) -> String {
        let taken = |name: &str| self.succeeds(&["rev-parse", "--verify", "-q", name]);
        let numbered = (2..).map(|n| format!("{name}.{n}"));
        std::iter::once(name.to_string()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }
}

impl Shadow {
    /// The tree that was recorded last, with these files as they are in another one.
    fn with_files_of(&self, other: &str, files: &[String]) -> Result<String, ShadowError> {
        let aside = self.aside()?;
        let tree = aside.replace_files(other, files);
        aside.forget();
        tree
    }

    fn replace_files(&self, other: &str, files: &[String]) -> Result<String, ShadowError> {
        if files.is_empty() {
            return self.write_tree();
        }
        let list = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", other, "--"];
        let entries = checked("ls-tree", self.git().args(list).args(files))?;
        let gone: Vec<u8> = files.iter().flat_map(|file| [file.as_bytes(), b"\0"].concat()).collect();
        checked("update-index", self.git().args(FORGET).stdin(&gone))?;
        checked("update-index", self.git().args(["update-index", "-z", "--index-info"]).stdin(&entries))?;
        self.write_tree()
    }

    /// Whether two trees differ in more than ralph's own files.
    fn differs(&self, from: &str, to: &str, own_files: &[String]) -> Result<bool, ShadowError> {
        let names = self.diff(from, to, &["--no-renames", "--name-only", "-z"], usize::MAX)?;
        let mut paths = names.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.any(|path| !own_files.iter().any(|own| own.as_bytes() == path)))
    }
}
