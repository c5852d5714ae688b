//! The `.git` that programs in a sandbox see.
//!
//! It is a copy. Programs inside find refs, index, logs and configuration of their own in the usual
//! places, all of them writable, and borrow the objects of the real repository, which they can only
//! read. After each step ralph, outside, carries over what they did: objects, branches, HEAD, index,
//! reflogs, an unfinished rebase. So `git config`, `push -u` and everything else work inside, and
//! what the configuration and the hooks of the copy say is never run outside.
//!
//! Invariants:
//! - Nothing of the real git directory can be written from inside. Git outside obeys more than
//!   `config` and `hooks` there: a file `commondir` leads it to another configuration, and links
//!   lead its writes elsewhere.
//! - No git of ralph's reads a directory that agents can write. What is there is copied out first,
//!   without links, and read with a configuration of ralph's own.
//! - What was changed outside meanwhile wins, and nothing is lost: commits that cannot be carried
//!   over to their branch are kept under [`GitView::keep_under`].
//! - Carrying over can be cut short at any point and done again.
//!
//! Deliberately absent: `config`, `info/` and `hooks` of the copy are never carried over, and the
//! user's reflogs are only ever added to.

mod carry;
mod config;
mod copy;
mod entered;
mod format;
mod head;
mod index;
mod logs;
mod modules;
mod objects;
mod one;
mod refs;
mod root;
mod scratch;
mod stamp;
mod states;
mod taken;
mod update;
mod worktrees;

#[cfg(test)]
mod tests;

pub use config::Obeyed;

use crate::fsx;
use crate::git::{GitError, checked};
use crate::layout;
use crate::process::tool::Tool;
use crate::proof::mounts::{Access, Mounts};
use root::Root;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;

/// Why a repository cannot be used in a sandbox.
#[derive(Debug, Error)]
pub enum GitViewError {
    #[error("`.git` is a symbolic link, and an agent could replace it: {}", .0.display())]
    Linked(PathBuf),
    /// As with `core.worktree`.
    #[error("the work tree has no `.git`: {}", .0.display())]
    Elsewhere(PathBuf),
    #[error("cannot read the git directory: {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the git directory {} is not one of {}", own.display(), common.display())]
    Unusual { own: PathBuf, common: PathBuf },
    #[error("cannot copy the git directory")]
    Git(#[from] GitError),
}

/// The copies that programs of one run see: of its repository, and of those that are submodules with
/// a `.git` of their own.
#[derive(Debug)]
pub struct GitView {
    top: PathBuf,
    roots: Vec<Root>,
    /// Files `.git` that lead to a git directory elsewhere.
    pointers: Vec<PathBuf>,
    /// Where commits are kept that cannot be carried over to their branch; ends with a slash.
    keep_under: String,
    /// What was carried over of a life of the run that was cut short.
    recovered: Mutex<Vec<String>>,
}

/// Where the real objects are seen inside.
const SEEN: &str = "/run/ralph/git";

/// Asking for the paths of submodules.
const TIMEOUT: Duration = Duration::from_secs(300);

impl GitView {
    /// For the repository with this top, in a directory of the run's own. If there is a copy of a life
    /// of the run that was cut short, what it holds is carried over first.
    pub fn prepare(
        dir: &Path,
        top: Option<&Path>,
        keep_under: String,
    ) -> Result<Option<GitView>, GitViewError> {
        let Some(top) = top else { return Ok(None) };
        let recovered = GitView::recover(dir, &keep_under);
        let links = submodules(top);
        let mut roots = vec![located(dir.join("main"), top, PathBuf::from(SEEN))?];
        for (number, path) in (1..).zip(links.iter().map(|link| top.join(link))) {
            if path.join(".git").symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                let dir = dir.join(NESTED).join(&layout::hash(path.as_os_str().as_bytes())[..16]);
                roots.push(located(dir, &path, PathBuf::from(format!("{SEEN}-{number}")))?);
            }
        }
        let tops = [top.to_path_buf()].into_iter().chain(links.iter().map(|link| top.join(link)));
        let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let pointers = tops.map(|top| top.join(".git")).filter(is_file).collect();
        let recovered = Mutex::new(recovered);
        for root in &roots {
            root.settle().map_err(GitError::Io)?;
        }
        let view = GitView { top: top.to_path_buf(), roots, pointers, keep_under, recovered };
        view.roots.iter().try_for_each(Root::refresh)?;
        Ok(Some(view))
    }

    /// Carries over what is left of a run that was killed, also if it is never continued.
    pub fn recover(dir: &Path, keep_under: &str) -> Vec<String> {
        let nested = fs::read_dir(dir.join(NESTED)).into_iter().flatten().filter_map(Result::ok);
        let dirs = [dir.join("main")].into_iter().chain(nested.map(|entry| entry.path()));
        let carried = dirs.filter_map(|dir| {
            let top = PathBuf::from(OsStr::from_bytes(&fs::read(dir.join(TOP)).ok()?));
            let root = Root::locate(dir, &top, PathBuf::from(SEEN)).ok()?;
            Some(root.carry_over(keep_under))
        });
        carried.flatten().collect()
    }

    /// After the work tree is mounted.
    pub fn mount(&self, mounts: &mut Mounts) {
        for root in &self.roots {
            root.mount(mounts);
        }
        for pointer in &self.pointers {
            mounts.bind(pointer.clone(), pointer.clone(), Access::Read);
        }
    }

    /// Programs that are started from now on see what has changed outside. None may run inside.
    pub fn before_step(&self) -> Result<Vec<String>, GitViewError> {
        let mut told = std::mem::take(&mut *self.recovered.lock().unwrap_or_else(PoisonError::into_inner));
        told.extend(self.after_step());
        self.roots.iter().try_for_each(Root::refresh)?;
        Ok(told)
    }

    /// Carries over what programs inside have done. It may be called while they run, too. Sentences
    /// about what was not carried over, or may surprise.
    pub fn after_step(&self) -> Vec<String> {
        self.roots.iter().flat_map(|root| root.carry_over(&self.keep_under)).collect()
    }

    /// How the configuration inside differs from the real one: `key: old → new`.
    pub fn config_changes(&self) -> Vec<String> {
        self.roots.iter().flat_map(Root::config_changes).collect()
    }

    /// Paths of the work tree that the user's own git obeys, and that agents must not change.
    pub fn obeyed(&self) -> Obeyed {
        let git_dir = self.roots.first().map_or(Path::new("/nowhere"), |root| root.real.as_path());
        let mut obeyed = Obeyed::in_tree(&self.top, git_dir);
        obeyed.files.extend(self.pointers.iter().cloned());
        obeyed
    }
}

const NESTED: &str = "nested";
/// The file with the top of a work tree.
const TOP: &str = "top";

fn located(dir: PathBuf, top: &Path, seen: PathBuf) -> Result<Root, GitViewError> {
    fsx::private_dir(&dir).map_err(GitError::Io)?;
    fsx::write_whole(&dir.join(TOP), top.as_os_str().as_bytes()).map_err(GitError::Io)?;
    Root::locate(dir, top, seen)
}

/// The paths of submodules, whether they are there or not.
fn submodules(top: &Path) -> Vec<PathBuf> {
    let git = crate::git::apart_from_hooks(Tool::new("git")).cwd(top).timeout(TIMEOUT);
    let listed = checked("ls-files", git.args(["-c", "core.fsmonitor=false", "ls-files", "-s", "-z"]));
    let listed = listed.unwrap_or_default();
    let links = listed.split(|byte| *byte == 0).filter(|line| line.starts_with(b"160000 "));
    let paths = links.filter_map(|line| line.split(|byte| *byte == b'\t').nth(1));
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}
