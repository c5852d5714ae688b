//! The repositories that a line works in, from one git command to the next.

use super::{Walk, normal};
use crate::guard::arg::Arg;
use crate::guard::invocation::{Invocation, Site};
use crate::guard::repo::{Repo, behind, directory, global_values};
use std::path::PathBuf;

/// Repositories of one line that are remembered.
const MOST: usize = 16;

impl Walk<'_> {
    /// The same command with the repository as the line has left it. Nothing if it is as it was.
    pub(super) fn in_repository(&mut self, invocation: &Invocation) -> Option<Invocation> {
        let at = self.repository(invocation)?;
        let (dir, repo) = self.scope.repos.get_mut(at)?;
        let asked_in = repo.asked_in(dir.clone());
        let world = self.world;
        repo.settle(&behind(invocation), |question| (world.git)(asked_in.as_deref()?, question));
        Some(Invocation { repo: repo.clone(), ..invocation.clone() })
    }

    /// Carries out what a git command does to its repository.
    pub(super) fn follow(&mut self, invocation: &Invocation) {
        let Some(dir) = followed(invocation) else { return };
        let git = behind(invocation);
        let operands = git.operands();
        let words: Vec<&str> = operands.iter().map(|word| word.text()).collect();
        match words.as_slice() {
            ["clone", from, to @ ..] => {
                let name = from.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(from);
                let to = to.first().copied().unwrap_or(name.strip_suffix(".git").unwrap_or(name));
                return self.remember(normal(&dir.join(to)), Repo::cloned());
            }
            ["worktree", "add", ..] => self.add_worktree(&dir, &git, &operands),
            _ => {}
        }
        let mut repo = invocation.repo.clone();
        repo.follow(invocation);
        if repo != invocation.repo {
            match self.repository(invocation) {
                Some(at) => self.scope.repos[at].1 = repo,
                None => self.remember(dir, repo),
            }
        }
    }

    /// `git worktree add -b new path start`, `git worktree add path branch`
    fn add_worktree(&mut self, dir: &std::path::Path, git: &Invocation, operands: &[&Arg]) {
        let new = ["-b", "-B"].iter().find_map(|flag| git.flag_value(flag));
        let mut rest = operands[2..].to_vec();
        if let Some(at) = rest.iter().position(|word| Some(*word) == new.as_ref()) {
            rest.remove(at);
        }
        let Some(path) = rest.first().and_then(|path| path.known()) else { return };
        let start = rest.get(1).copied();
        // Without a branch it is one with the name of the directory.
        let name = Arg::new(path.trim_end_matches('/').rsplit('/').next().unwrap_or(path));
        let args: Vec<Arg> = match (&new, start) {
            (Some(new), _) => ["checkout", "-B"]
                .map(Arg::from)
                .into_iter()
                .chain([new.clone()])
                .chain(start.cloned())
                .collect(),
            (None, start) if git.has_any_flag(&["--detach", "-d"]) => {
                ["switch", "--detach"].map(Arg::from).into_iter().chain(start.cloned()).collect()
            }
            (None, Some(start)) => vec![Arg::from("checkout"), start.clone()],
            (None, None) => vec![Arg::from("switch"), name],
        };
        let mut repo = Repo::worktree(dir);
        repo.follow(&Invocation { program: Arg::from("git"), args, ..Invocation::default() });
        self.remember(normal(&dir.join(path)), repo);
    }

    fn remember(&mut self, dir: PathBuf, repo: Repo) {
        self.scope.repos.retain(|(known, _)| *known != dir);
        if self.scope.repos.len() < MOST {
            self.scope.repos.push((dir, repo));
        }
    }

    /// The place in the list of the repository around a directory, or below it: the nearest.
    fn repository(&self, invocation: &Invocation) -> Option<usize> {
        if self.scope.repos.is_empty() {
            return None;
        }
        let dir = followed(invocation)?;
        let around = |known: &PathBuf| dir.starts_with(known).then(|| known.components().count());
        let repos = || self.scope.repos.iter().enumerate();
        let nearest = repos().filter_map(|(at, (known, _))| Some((around(known)?, at))).max();
        // `cd sub && git switch x && cd .. && git commit --amend`
        let below = || repos().find(|(_, (known, repo))| known.starts_with(&dir) && repo.is_there());
        nearest.map(|(_, at)| at).or_else(|| below().map(|(at, _)| at))
    }
}

/// The directory of a git command whose repository is followed.
fn followed(invocation: &Invocation) -> Option<PathBuf> {
    let is_elsewhere = invocation.site != Site::Here
        || !global_values(invocation, "--git-dir").is_empty()
        || invocation.variable("GIT_DIR").is_some();
    match invocation.name() == "git" && !is_elsewhere {
        true => Some(normal(&directory(invocation)?)),
        false => None,
    }
}
