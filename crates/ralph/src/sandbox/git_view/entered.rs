//! Repositories in the work tree that the user's own git enters.
//!
//! Where an index or a commit has a link to another repository, as for a submodule, `git status` runs in the
//! directory at that path and obeys the configuration there, which agents can write. So a `.git` at such a path is
//! moved into the directory of the run, unless it was there before the first agent (then it is protected), or is
//! a file that leads to a git directory of a submodule, which only ralph writes.
//!
//! Deliberately absent: repositories that no link leads to. Git enters those only if the user does.

use super::modules::joined;
use super::root::Root;
use super::scratch;
use super::{copy::git_dirs, submodules};
use crate::fsx::{self, TreeCopy};
use crate::git::{GitError, checked};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Paths of links in any tree, relative to the top of a work tree.
const LINKS: &str = "links";
/// Paths `.git` that were there before the first agent.
const SETTLED: &str = "settled";

/// The mode of an entry that is a link to another repository.
pub(super) const LINK: &[u8] = b"160000";

impl Root {
    /// What is there is the user's, if no agent has worked here yet.
    pub(super) fn settle(&self) -> io::Result<()> {
        if self.scratch(SETTLED).exists() {
            return Ok(());
        }
        let links: BTreeSet<PathBuf> = self.work_trees().iter().flat_map(|top| submodules(top)).collect();
        write_list(&self.scratch(LINKS), &links)?;
        let there = self.places(&links).into_iter().filter(|place| place.symlink_metadata().is_ok());
        write_list(&self.scratch(SETTLED), &there.collect())
    }

    /// From now on nothing new is accepted at these paths.
    pub(super) fn note_links(&self, new: impl IntoIterator<Item = PathBuf>) -> io::Result<()> {
        let mut links = read_list(&self.scratch(LINKS));
        let known = links.len();
        links.extend(new);
        if links.len() == known { Ok(()) } else { write_list(&self.scratch(LINKS), &links) }
    }

    /// Moves away what the user's git would enter; a sentence for each.
    pub(super) fn disarm(&self) -> Vec<String> {
        let links = read_list(&self.scratch(LINKS));
        if links.is_empty() {
            return Vec::new();
        }
        let settled = read_list(&self.scratch(SETTLED));
        let places = self.places(&links).into_iter().filter(|place| !settled.contains(place));
        let new = places.filter(|place| place.symlink_metadata().is_ok() && !self.leads_to_module(place));
        new.map(|place| {
            let shown = place.strip_prefix(&self.top).unwrap_or(&place).display().to_string();
            match self.move_away(&place) {
                Ok(kept) => format!(
                    "{shown} was made inside, and your git would run what it says; it was moved to {}",
                    kept.display()
                ),
                Err(cause) => format!(
                    "{shown} was made inside, and your git runs what it says: it cannot be moved away: {cause}"
                ),
            }
        })
        .collect()
    }

    /// Where git looks for the repository of a link, unless there is a symbolic link on the way, which git does
    /// not follow.
    fn places(&self, links: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let is_plain = |top: &Path, link: &Path| {
            let mut parts = link.ancestors().filter(|part| !part.as_os_str().is_empty());
            parts.all(|part| !top.join(part).is_symlink())
        };
        let tops = self.work_trees();
        let of = |top: &PathBuf| {
            let links = links.iter().filter(|link| is_plain(top, link));
            links.map(|link| top.join(link).join(".git")).collect::<Vec<_>>()
        };
        tops.iter().flat_map(of).collect()
    }

    /// The work tree of the run, those of its submodules, and those that were made inside.
    fn work_trees(&self) -> Vec<PathBuf> {
        let modules =
            git_dirs(&self.real, &self.own).into_iter().filter(|below| !below.as_os_str().is_empty());
        let modules = modules.filter_map(|below| {
            let dir = self.real.join(below);
            let config = fs::read_to_string(dir.join("config")).ok()?;
            let mut values = config
                .lines()
                .filter_map(|line| line.trim().strip_prefix("worktree")?.trim().strip_prefix('='));
            Some(joined(&dir, Path::new(values.next_back()?.trim().trim_matches('"'))))
        });
        let made = self.made_worktrees().into_iter().filter_map(|own| {
            let pointer = fs::read(self.real.join(own).join("gitdir")).ok()?;
            Path::new(OsStr::from_bytes(pointer.trim_ascii_end())).parent().map(Path::to_path_buf)
        });
        [self.top.clone()]
            .into_iter()
            .chain(modules.chain(made).filter(|path| path.starts_with(&self.top)))
            .collect()
    }

    /// To a git directory that ralph has made or is about to make: nothing else is written there.
    fn leads_to_module(&self, place: &Path) -> bool {
        let is_file = place.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let Some(pointer) = is_file.then(|| fsx::read_regular(place).ok()).flatten() else { return false };
        let target = pointer.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end);
        let (Some(target), Some(dir)) = (target, place.parent()) else { return false };
        let target = joined(dir, Path::new(OsStr::from_bytes(target)));
        let Ok(below) = target.strip_prefix(&self.real) else { return false };
        match target.exists() {
            true => {
                !below.as_os_str().is_empty()
                    && git_dirs(&self.real, &self.own).iter().any(|known| known == below)
            }
            false => [Path::new(""), &self.own].iter().any(|own| below.starts_with(own.join("modules"))),
        }
    }

    fn move_away(&self, place: &Path) -> io::Result<PathBuf> {
        let aside = self.scratch("entered");
        fsx::private_dir(&aside)?;
        let free =
            (1..).map(|number: u32| aside.join(number.to_string())).find(|to| to.symlink_metadata().is_err());
        let to = free.unwrap_or(aside);
        match fsx::rename(place, &to) {
            Err(cause) if cause.kind() == io::ErrorKind::CrossesDevices => {
                TreeCopy::of_at_most(u64::MAX).copy(place, &to)?;
                super::root::remove(place)?;
            }
            moved => moved?,
        }
        Ok(to)
    }
}

/// The paths of links in commits that a repository has and no ref of it leads to yet.
pub(super) fn links_in_commits(real: &Path, ids: &BTreeSet<String>) -> Result<Vec<PathBuf>, GitError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let asked: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let log =
        ["log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "-z", "--stdin", "--not", "--all"];
    let listed = checked("log", scratch::git(real).args(log).stdin(asked.as_bytes()))?;
    // `:000000 160000 <id> <id> A`, then the path.
    let mut words = listed.split(|byte| *byte == 0);
    let mut links = Vec::new();
    while let Some(word) = words.next() {
        let change = word.trim_ascii_start();
        if !change.starts_with(b":") {
            continue;
        }
        let path = words.next().unwrap_or_default();
        if change.split(|byte| *byte == b' ').nth(1) == Some(LINK) {
            links.push(PathBuf::from(OsStr::from_bytes(path)));
        }
    }
    Ok(links)
}

fn read_list(file: &Path) -> BTreeSet<PathBuf> {
    let listed = fs::read(file).unwrap_or_default();
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}

fn write_list(file: &Path, paths: &BTreeSet<PathBuf>) -> io::Result<()> {
    let listed: Vec<u8> =
        paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    fsx::write_whole(file, &listed)
}
