//! Where a work tree has its git directory, without asking git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) struct GitDir {
    /// Of this worktree.
    pub(super) own: PathBuf,
    /// Of all worktrees; mostly the same.
    pub(super) common: PathBuf,
}

impl GitDir {
    /// None if it is not where `.git` says, as with `core.worktree`.
    pub(super) fn of(top: &Path) -> Option<GitDir> {
        let place = top.join(".git");
        let own = if place.is_dir() {
            place
        } else {
            let pointer = fs_err::read(&place).ok()?;
            let target = pointer.strip_prefix(b"gitdir: ")?.trim_ascii_end();
            top.join(OsStr::from_bytes(target))
        };
        let common = match fs_err::read(own.join("commondir")) {
            Ok(path) => own.join(OsStr::from_bytes(path.trim_ascii_end())),
            Err(_) => own.clone(),
        };
        own.join("HEAD").symlink_metadata().is_ok().then_some(GitDir { own, common })
    }

    /// A file or directory that git keeps in the same place in every version.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        match name {
            "index" | "modules" => Some(self.own.join(name)),
            "info/exclude" | "info/attributes" | "objects" => Some(self.common.join(name)),
            _ => None,
        }
    }
}
