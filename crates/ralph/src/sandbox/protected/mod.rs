//! Paths of the work tree that agents may not change, because the user's own tools obey them: settings
//! of ralph, of agents and of editors.
//!
//! Two lines of defence. What exists is mounted read-only, and the directories that it is in are
//! mounted onto themselves, so that they cannot be renamed away. And everything is recorded before
//! each step and compared after it: what is new or has changed is moved into the directory of the
//! run, the original is put back, and a sentence says so. The second line is for what does not exist
//! yet (a mount point would have to be made in the user's tree), for links, for sandboxes that cannot
//! mount, and for a file that the user replaces during a step: that ends the mount over it.
//!
//! Invariants: no link is followed, nothing is deleted, and what only the user can have changed stays.
//! No program runs inside while trees are recorded and compared.
//!
//! Deliberately absent: `CLAUDE.md`, `AGENTS.md`, `.claude/rules` and the like, which agents are meant
//! to write.

#[cfg(test)]
mod tests;
mod tree;

use crate::fsx::{self, TreeCopy};
use crate::proof::mounts::{Access, Mounts};
use crate::sandbox::git_view::Obeyed;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tree::Tree;

/// Whole directories, or files.
const NAMES: [&str; 4] = [".codex", ".vscode", ".idea", ".envrc"];

/// Files whose names begin so, in directories that are otherwise for agents to write.
const PREFIXES: [(&str, &str); 2] = [(".ralph", "settings"), (".claude", "settings")];

/// More is only protected by its mount.
const MOST_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub struct Protected {
    /// In the directory of the run.
    dir: PathBuf,
    top: PathBuf,
    /// Directories with settings, relative to the top: that, and the workspace.
    bases: BTreeSet<PathBuf>,
    /// What git obeys, relative to the top.
    files: Vec<PathBuf>,
    /// The same, but programs may write it, as long as it is the same after the step: tools that
    /// install hooks do so again and again.
    written: Vec<PathBuf>,
    /// Relative to the top: what the user lets agents write.
    allowed: Vec<PathBuf>,
    /// What is mounted for the programs of this step.
    mounted: Mutex<BTreeMap<PathBuf, Tree>>,
    /// What was put back for a life of the run that was cut short.
    recovered: Mutex<Vec<String>>,
}

impl Protected {
    /// `workspace` is the top or below it; `allowed` are paths that agents may write, relative to the
    /// top or absolute. If a life of the run was cut short during a step, that step is compared.
    pub fn record(
        dir: PathBuf,
        top: &Path,
        workspace: &Path,
        allowed: &[PathBuf],
        obeyed: &Obeyed,
    ) -> io::Result<Protected> {
        let below = |path: &Path| top.join(path).strip_prefix(top).map(Path::to_path_buf).ok();
        let protected = Protected {
            top: top.to_path_buf(),
            bases: [top, workspace].into_iter().filter_map(below).collect(),
            files: obeyed.files.iter().filter_map(|path| below(path)).collect(),
            written: obeyed.hooks.iter().filter_map(|path| below(path)).collect(),
            allowed: allowed.iter().filter_map(|path| below(path)).collect(),
            mounted: Mutex::default(),
            recovered: Mutex::default(),
            dir,
        };
        fsx::private_dir(&protected.start())?;
        let recovered = protected.after_step();
        *protected.recovered.lock().unwrap_or_else(PoisonError::into_inner) = recovered;
        Ok(protected)
    }

    /// What is there now is the user's. Sentences of a life of the run that was cut short.
    pub fn before_step(&self) -> io::Result<Vec<String>> {
        self.mounted.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // A step that was not compared is not to be taken for the user's work.
        let told = self.after_step();
        let now = self.paths();
        for path in now.union(&self.recorded()) {
            self.note(path)?;
        }
        let listed: Vec<u8> =
            now.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        // Last: the record is whole now.
        fsx::write_whole(&self.list(), &listed)?;
        let mut recovered = self.recovered.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut *recovered).into_iter().chain(told).collect())
    }

    /// After the work tree is mounted, and before anything below it: directories are mounted onto
    /// themselves here, over what was mounted in them.
    pub fn mount(&self, mounts: &mut Mounts) {
        let paths: Vec<PathBuf> = self.paths().into_iter().filter(|path| self.can_be_mounted(path)).collect();
        let above = |path: &PathBuf| path.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>();
        let pinned: BTreeSet<PathBuf> =
            paths.iter().flat_map(above).filter(|path| !path.as_os_str().is_empty()).collect();
        let mut bind = |path: &Path, access| mounts.bind(self.top.join(path), self.top.join(path), access);
        pinned.iter().for_each(|path| bind(path, Access::Write));
        paths.iter().for_each(|path| bind(path, Access::Read));
        let is_inside = |allowed: &&PathBuf| paths.iter().any(|path| allowed.starts_with(path));
        let exists = |allowed: &&PathBuf| is_plain(&self.top, allowed) && self.top.join(allowed).exists();
        self.allowed.iter().filter(is_inside).filter(exists).for_each(|path| bind(path, Access::Write));
        let trees = paths.into_iter().filter_map(|path| Some((path.clone(), self.tree(&path)?)));
        self.mounted.lock().unwrap_or_else(PoisonError::into_inner).extend(trees);
    }

    /// Puts back what programs of the step have changed; a sentence for each.
    pub fn after_step(&self) -> Vec<String> {
        if !self.list().exists() {
            return Vec::new();
        }
        let mounted = std::mem::take(&mut *self.mounted.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut told, mut is_done) = (Vec::new(), true);
        let all: BTreeSet<PathBuf> = self.paths().into_iter().chain(self.recorded()).collect();
        for path in &without_inner(&all) {
            let (was, is) = (self.tree_at_start(path), self.tree(path));
            let is_same = match (&was, &is) {
                (Some(was), Some(is)) => was.is_same(is),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            let is_users = mounted.get(path).zip(is.as_ref()).is_some_and(|(before, is)| is.is_still(before));
            if is_same || is_users || self.large(path).exists() {
                continue;
            }
            match self.put_back(path) {
                Ok(sentence) => told.push(sentence),
                Err(cause) => {
                    is_done = false;
                    told.push(format!(
                        "{} was changed inside and cannot be put back: {cause}",
                        path.display()
                    ));
                }
            }
        }
        if is_done {
            let _ = fsx::remove(&self.list());
        }
        told
    }

    /// Copies of what is protected, at the same paths as below the top.
    fn start(&self) -> PathBuf {
        self.dir.join("start")
    }

    /// Which paths were there; it exists during a step.
    fn list(&self) -> PathBuf {
        self.dir.join("list")
    }

    fn recorded(&self) -> BTreeSet<PathBuf> {
        let listed = fs::read(self.list()).unwrap_or_default();
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
    }

    /// What there is to protect now, relative to the top.
    fn paths(&self) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        for base in &self.bases {
            paths.extend(NAMES.iter().map(|name| base.join(name)));
            for (dir, prefix) in PREFIXES {
                let dir = base.join(dir);
                // Then it is the link that is obeyed.
                if self.top.join(&dir).is_symlink() {
                    paths.insert(dir);
                    continue;
                }
                let entries = fs::read_dir(self.top.join(&dir)).into_iter().flatten().filter_map(Result::ok);
                let names = entries.map(|entry| entry.file_name());
                let names = names.filter(|name| name.as_bytes().starts_with(prefix.as_bytes()));
                paths.extend(names.map(|name| dir.join(name)));
            }
        }
        paths.extend(self.files.iter().chain(&self.written).cloned());
        // What a link in the work tree leads to is obeyed as well.
        let behind: Vec<PathBuf> = paths.iter().flat_map(|path| self.behind_link(path)).collect();
        paths.extend(behind);
        paths.retain(|path| self.top.join(path).symlink_metadata().is_ok());
        paths.retain(|path| !self.allowed.iter().any(|allowed| path.starts_with(allowed)));
        without_inner(&paths)
    }

    fn behind_link(&self, path: &Path) -> Vec<PathBuf> {
        let link = self.top.join(path);
        if !link.is_symlink() {
            return Vec::new();
        }
        let Some(target) = link.canonicalize().ok() else { return Vec::new() };
        let Ok(below) = target.strip_prefix(&self.top).map(Path::to_path_buf) else { return Vec::new() };
        let prefix = PREFIXES.iter().find(|(dir, _)| path.ends_with(dir)).map(|(_, prefix)| prefix);
        let Some(prefix) = prefix else { return vec![below] };
        let entries = fs::read_dir(target).into_iter().flatten().filter_map(Result::ok);
        let names = entries.map(|entry| entry.file_name());
        names
            .filter(|name| name.as_bytes().starts_with(prefix.as_bytes()))
            .map(|name| below.join(name))
            .collect()
    }

    /// What is at a path, if nothing on the way there is a link; without what agents may write in it.
    fn tree(&self, path: &Path) -> Option<Tree> {
        if !is_plain(&self.top, path.parent()?) {
            return None;
        }
        Tree::of(&self.top.join(path), MOST_BYTES).map(|tree| tree.without(path, &self.allowed))
    }

    fn tree_at_start(&self, path: &Path) -> Option<Tree> {
        Tree::of(&self.start().join(path), u64::MAX).map(|tree| tree.without(path, &self.allowed))
    }

    /// There if something is too large to be recorded.
    fn large(&self, path: &Path) -> PathBuf {
        self.dir.join("large").join(crate::layout::hash(path.as_os_str().as_bytes()))
    }

    fn can_be_mounted(&self, path: &Path) -> bool {
        let is_written = self.written.iter().any(|written| path.starts_with(written));
        let found = self.top.join(path).symlink_metadata();
        !is_written && is_plain(&self.top, path) && found.is_ok_and(|meta| meta.is_file() || meta.is_dir())
    }

    /// Records one path as it is.
    fn note(&self, path: &Path) -> io::Result<()> {
        let (from, to) = (self.top.join(path), self.start().join(path));
        let (was, is) = (self.tree_at_start(path), self.tree(path));
        match (&was, &is) {
            (Some(was), Some(is)) if was.is_same(is) => return Ok(()),
            (None, None) if from.symlink_metadata().is_err() => return Ok(()),
            _ => {}
        }
        remove(&to)?;
        let large = self.large(path);
        remove(&large)?;
        if is.is_none() && from.symlink_metadata().is_ok() {
            fsx::private_dir(&self.dir.join("large"))?;
            return fsx::write_whole(&large, b"");
        }
        if is.is_some() { TreeCopy::of_at_most(u64::MAX).copy(&from, &to) } else { Ok(()) }
    }

    /// Moves away what is there, and copies back what was.
    fn put_back(&self, path: &Path) -> io::Result<String> {
        let mut kept = None;
        // A link on the way is what has to go.
        for part in path.ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
            let full = self.top.join(part);
            let Ok(meta) = full.symlink_metadata() else { break };
            if part == path || !meta.is_dir() {
                kept = Some(self.put_aside(&full)?);
                break;
            }
        }
        let start = self.start().join(path);
        let was_there = start.symlink_metadata().is_ok();
        if was_there {
            TreeCopy::of_at_most(u64::MAX).copy(&start, &self.top.join(path))?;
        }
        let shown = path.display();
        let kept =
            kept.map(|kept| format!("; what it was then is in {}", kept.display())).unwrap_or_default();
        let done = match was_there {
            true if kept.is_empty() => "was removed inside, and is there again",
            true => "was changed inside, and is as it was",
            false => "was created inside, and was moved away",
        };
        Ok(format!("{shown} {done}{kept} (to allow it: \"sandbox\": {{\"write\": [\"{shown}\"]}})"))
    }

    fn put_aside(&self, path: &Path) -> io::Result<PathBuf> {
        let aside = self.dir.join("aside");
        let name = path.file_name().unwrap_or_default();
        let free = (1..).map(|number: u32| aside.join(number.to_string())).find(|dir| !dir.exists());
        let dir = free.unwrap_or(aside);
        fsx::private_dir(&dir)?;
        let to = dir.join(name);
        match fsx::rename(path, &to) {
            Err(cause) if cause.kind() == io::ErrorKind::CrossesDevices => {
                TreeCopy::of_at_most(u64::MAX).copy(path, &to)?;
                remove(path)?;
            }
            moved => moved?,
        }
        Ok(to)
    }
}

/// Without what is in another one of them.
fn without_inner(paths: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let is_inner = |path: &Path| path.ancestors().skip(1).any(|above| paths.contains(above));
    paths.iter().filter(|path| !is_inner(path)).cloned().collect()
}

/// Whether no part of a path below a directory is a link.
fn is_plain(root: &Path, path: &Path) -> bool {
    path.ancestors().filter(|part| !part.as_os_str().is_empty()).all(|part| !root.join(part).is_symlink())
}

/// Whatever it is, and whether it is there.
fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(meta) if meta.is_dir() => fsx::remove_tree(path),
        Ok(_) => fsx::remove(path),
    }
}
