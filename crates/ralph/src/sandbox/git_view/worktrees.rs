//! Worktrees that were made inside: git outside has to know them, or it takes their files for new
//! ones of the project.

use super::carry::{CarryError, Carrying};
use super::root::remove;
use crate::fsx;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Makes those that are new, and removes those of them that are gone. What they consist of is carried
/// over with the rest.
pub(super) fn carry(carrying: &mut Carrying<'_>, taken: &Path) -> Result<(), CarryError> {
    let root = carrying.root;
    let (before, now) = (names(&root.base()), names(taken));
    let mut made = root.made_worktrees();
    for own in now.difference(&before) {
        let real = root.real.join(own);
        if real.exists() {
            continue;
        }
        let link = fs::read(taken.join(own).join("gitdir")).unwrap_or_default();
        let link = Path::new(OsStr::from_bytes(link.trim_ascii_end()));
        if !is_in_tree(&root.top, link) {
            carrying.told.push(format!("the worktree {} is not known outside", link.display()));
            continue;
        }
        made.insert(own.clone());
        root.note_worktrees(&made)?;
        fsx::dir(&real)?;
        fsx::write_whole(&real.join("commondir"), b"../..\n")?;
        fsx::write_whole(&real.join("gitdir"), &[link.as_os_str().as_bytes(), b"\n"].concat())?;
    }
    for own in before.difference(&now) {
        if made.remove(own) {
            remove(&root.real.join(own))?;
            root.note_worktrees(&made)?;
        }
    }
    Ok(())
}

fn names(dir: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(dir.join("worktrees")).into_iter().flatten().filter_map(Result::ok);
    let dirs = entries.filter(|entry| entry.path().join("HEAD").is_file());
    let names = dirs.map(|entry| entry.file_name()).filter(|name| !name.as_bytes().contains(&b'\n'));
    names.map(|name| Path::new("worktrees").join(name)).collect()
}

/// Whether a worktree's `.git` is in the work tree of the run, and named without detours.
fn is_in_tree(top: &Path, link: &Path) -> bool {
    let is_plain = link.components().all(|part| !matches!(part, std::path::Component::ParentDir));
    let above = link.parent().and_then(|dir| dir.canonicalize().ok());
    is_plain && link.ends_with(".git") && above.is_some_and(|dir| dir.starts_with(top) && dir != top)
}
