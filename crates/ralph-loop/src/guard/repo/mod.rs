//! What earlier commands of the same line have done to a repository: `git switch x && git commit --amend` amends `x`.
//!
//! Commits are named as git knows them before anything of the line has run, because that is when it is asked.
//!
//! Deliberately absent: whether a command succeeds. It is taken for granted.

mod follow;
mod placed;
#[cfg(test)]
mod tests;

pub use placed::{Placed, Ref, Strength, behind, directory, global_values, placed};

use std::path::{Path, PathBuf};

/// Stands for the name of the branch that is checked out before the line.
pub const CURRENT_BRANCH: &str = "some-branch-of-now";

/// Branches and tags of one line that are remembered. They only count in favor of a command.
const MOST_MADE: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repo {
    pub origin: Origin,
    pub head: Head,
    /// Where `git checkout -` leads.
    previous: Option<Head>,
    /// Branches and tags that were made or moved.
    pub made: Vec<Made>,
}

/// Where a repository comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    There,
    /// A worktree that the same line makes, of the repository in this directory.
    Worktree(PathBuf),
    /// The same line makes it: nothing in it can be lost.
    Cloned,
    /// Some submodule.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub branch: Branch,
    /// Where it was last put. Nothing if it cannot be known.
    commit: Option<String>,
    /// How many commits were made since then. Nothing: some, or none.
    newer: Option<u32>,
}

/// The branch that HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Branch {
    /// As the repository has it.
    Current,
    Named(String),
    /// After `git checkout WORD`: a branch, a commit or a file.
    Word(String, Box<Head>),
    Detached,
    Unknown,
}

/// A branch or a tag that the line has put somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub name: Ref,
    pub commit: Option<String>,
    pub strength: Strength,
}

impl Default for Head {
    fn default() -> Head {
        Head { branch: Branch::Current, commit: Some("HEAD".to_owned()), newer: Some(0) }
    }
}

impl Head {
    fn named(name: &str, commit: Option<String>) -> Head {
        Head { branch: Branch::Named(name.to_owned()), commit, newer: Some(0) }
    }

    fn detached(commit: Option<String>) -> Head {
        Head { branch: Branch::Detached, commit, newer: Some(0) }
    }

    fn unknown() -> Head {
        Head { branch: Branch::Unknown, commit: None, newer: None }
    }

    /// The name that git is asked with.
    pub fn name(&self) -> Option<&str> {
        match &self.branch {
            Branch::Current => Some("HEAD"),
            Branch::Named(name) | Branch::Word(name, _) => Some(branch_name(name)),
            Branch::Detached | Branch::Unknown => None,
        }
    }

    /// The commit that it is at, unless the line makes it.
    pub fn old_commit(&self) -> Option<&str> {
        match self.newer {
            Some(0) | None => self.commit.as_deref(),
            Some(_) => None,
        }
    }

    /// The commit that the line found there, below those that it makes itself.
    pub fn base(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// Which commit a `HEAD~2` names. Commits of the line itself stand for the one that they are made on.
    fn before(&self, steps: &str) -> Option<String> {
        let commit = self.commit.as_deref()?;
        match self.newer {
            _ if steps.is_empty() => Some(commit.to_owned()),
            Some(0) => Some(format!("{commit}{steps}")),
            Some(newer) => match first_parents(steps)?.checked_sub(newer) {
                Some(0) | None => Some(commit.to_owned()),
                Some(left) => Some(format!("{commit}~{left}")),
            },
            None => None,
        }
    }
}

/// A branch, by the name that git is asked with.
pub fn branch_name(name: &str) -> &str {
    if name == CURRENT_BRANCH { "HEAD" } else { name }
}

/// How far `~2^` goes back, if it only follows first parents.
fn first_parents(steps: &str) -> Option<u32> {
    let mut rest = steps;
    let mut count = 0_u32;
    while let Some(kind) = rest.chars().next() {
        rest = &rest[kind.len_utf8()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = if digits == 0 { 1 } else { rest[..digits].parse().ok()? };
        rest = &rest[digits..];
        match (kind, number) {
            ('~', number) => count = count.checked_add(number)?,
            ('^', 1) => count = count.checked_add(1)?,
            _ => return None,
        }
    }
    Some(count)
}

impl Repo {
    /// Where git is asked about it, if it is there to be asked.
    pub fn asked_in(&self, dir: PathBuf) -> Option<PathBuf> {
        match &self.origin {
            Origin::There => Some(dir),
            Origin::Worktree(of) => Some(of.clone()),
            Origin::Cloned | Origin::Unknown => None,
        }
    }

    pub fn is_there(&self) -> bool {
        self.origin == Origin::There
    }

    /// A worktree of the repository in this directory.
    pub fn worktree(of: &Path) -> Repo {
        Repo { origin: Origin::Worktree(of.to_owned()), ..Repo::default() }
    }

    pub fn cloned() -> Repo {
        Repo { origin: Origin::Cloned, ..Repo::default() }
    }

    pub fn unknown() -> Repo {
        Repo { origin: Origin::Unknown, ..Repo::default() }
    }

    /// A commit as it is written here, in the words of before the line.
    pub fn resolve(&self, commit: &str) -> Option<String> {
        let behind = commit.strip_prefix("HEAD").or_else(|| commit.strip_prefix('@'));
        match (behind, &self.head.branch) {
            (Some(steps), _) if steps.is_empty() || steps.starts_with(['~', '^']) => self.head.before(steps),
            (None, _) if commit == "-" => self.previous_commit(),
            (Some(of_log), Branch::Named(name)) if of_log.starts_with('{') => {
                let is_upstream = of_log.starts_with("{u") || of_log.starts_with("{p");
                is_upstream.then(|| format!("{name}@{of_log}"))
            }
            _ => Some(commit.to_owned()),
        }
    }

    fn previous_commit(&self) -> Option<String> {
        match &self.previous {
            Some(head) => head.commit.clone(),
            None => Some("@{-1}".to_owned()),
        }
    }

    /// What a command makes, or moves.
    fn make(&mut self, name: Ref, commit: Option<String>, strength: Strength) {
        self.made.retain(|made| made.name != name);
        if self.made.len() < MOST_MADE {
            self.made.push(Made { name, commit, strength });
        }
    }

    fn switch(&mut self, head: Head) {
        self.previous = Some(std::mem::replace(&mut self.head, head));
    }
}
