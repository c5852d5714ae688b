//! What checkpoints leave out, told apart by names, sizes and times.
//!
//! Nothing is read of the files. Of a repository inside the project so many entries are looked at
//! and no more, nearest first, without its objects: a commit shows in its index and its log.

use super::shadow::Changes;
use crate::layout;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is in no tree.
#[derive(Clone, Default)]
pub(super) struct LeftOut {
    /// The first of the paths that are named.
    pub(super) named: Vec<String>,
    /// All of them, as git names them.
    pub(super) unrecorded: BTreeSet<Vec<u8>>,
    /// Local settings, which are not named.
    pub(super) has_private: bool,
}

impl LeftOut {
    pub(super) fn of(changes: &Changes) -> LeftOut {
        let (named, unrecorded) = (changes.left_out.clone(), changes.unrecorded.clone());
        LeftOut { named, unrecorded, has_private: changes.has_private }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.unrecorded.is_empty() && !self.has_private
    }
}

/// Entries of all repositories inside that are looked at.
const MOST_ENTRIES: usize = 4000;

/// A hash of these paths below `top`, as they are now; none if there are none.
pub(super) fn hash(top: &Path, paths: &BTreeSet<Vec<u8>>) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let mut marks = Vec::new();
    let mut room = MOST_ENTRIES;
    for path in paths {
        let path = top.join(OsStr::from_bytes(path));
        note(&mut marks, &path);
        if path.is_dir() {
            note_below(&mut marks, path, &mut room);
        }
    }
    Some(layout::hash(&marks))
}

fn note_below(marks: &mut Vec<u8>, dir: PathBuf, room: &mut usize) {
    let mut dirs = VecDeque::from([dir]);
    while let Some(dir) = dirs.pop_front() {
        let Ok(entries) = fs_err::read_dir(&dir) else { continue };
        let mut found: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        found.sort();
        for path in found {
            let Some(left) = room.checked_sub(1) else { return };
            *room = left;
            let is_dir = note(marks, &path).is_some_and(|meta| meta.is_dir());
            if is_dir && !path.ends_with(".git/objects") {
                dirs.push_back(path);
            }
        }
    }
}

fn note(marks: &mut Vec<u8>, path: &Path) -> Option<Metadata> {
    let meta = path.symlink_metadata().ok();
    marks.extend_from_slice(path.as_os_str().as_bytes());
    marks.push(0);
    // Reading a repository can rewrite its index, which touches the directory.
    if let Some(meta) = meta.as_ref().filter(|meta| !meta.is_dir()) {
        let (size, seconds, nanoseconds) = (meta.size(), meta.mtime(), meta.mtime_nsec());
        marks.extend_from_slice(format!("{size} {seconds} {nanoseconds}\n").as_bytes());
    }
    meta
}
