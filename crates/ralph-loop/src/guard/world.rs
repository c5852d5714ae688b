//! What the guard may ask about the machine. Tests answer from a table.

use std::path::{Path, PathBuf};

/// Where a tool call would run, and how to look things up there.
pub struct World<'a> {
    /// The directory that the agent works in, absolute, without links.
    pub workspace: PathBuf,
    pub home: PathBuf,
    pub cwd: PathBuf,
    /// Further directories that the agent may change: settings, `--add-dir`.
    pub writable: Vec<PathBuf>,
    /// Files of ralph that no agent may change, besides the usual ones.
    pub protected: Vec<PathBuf>,
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a script, if it was written or changed in this session.
    pub script: &'a dyn Fn(&Path) -> Option<String>,
    /// The path with all links followed as far as it exists.
    pub resolve: &'a dyn Fn(&Path) -> PathBuf,
    /// The names in a directory. Nothing: there is none, or it cannot be read.
    pub names: &'a dyn Fn(&Path) -> Option<Vec<String>>,
    /// What is known of the repository. Nothing: it cannot be known here.
    pub git: &'a dyn Fn(&Path, GitQuestion<'_>) -> Option<bool>,
}

/// Answered offline, from the refs that the last fetch or push has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitQuestion<'a> {
    /// Is this commit part of a branch or tag of some remote?
    IsPublished(&'a str),
    /// Of the commits up to `tip` that are not in `upstream` (all, without one): are some part of a branch of some remote?
    AnyPublished { upstream: Option<&'a str>, tip: &'a str },
    /// Does some remote have a branch of this name? `HEAD` is the current one.
    HasRemoteBranch(&'a str),
    /// Would a push that names no branch, from this one, write to a branch that some remote has?
    PushesOver(&'a str),
    /// Is there a ref of this name, such as `refs/heads/main`?
    HasRef(&'a str),
    /// Does this branch hold commits that were there when the run began, and that nothing else has: no other branch, no tag, no
    /// remote and none of these commits?
    LosesWork { branch: &'a str, kept: &'a [&'a str] },
    /// Is this the name of a configured remote?
    IsRemote(&'a str),
    /// Is it another worktree of the workspace's repository, in a session of the user?
    IsUsersWorktree,
}
