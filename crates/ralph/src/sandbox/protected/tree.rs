//! A file, a link or a directory as it is at one moment.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// No directory of settings has as many files.
const MOST_ENTRIES: usize = 10_000;

#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// What tells it from another one in its place.
    identity: (u64, u64),
    entries: BTreeMap<PathBuf, Entry>,
    has_other_names: bool,
    bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File { hash: [u8; 32], is_program: bool },
    Link(PathBuf),
    Dir,
    Other,
}

impl Tree {
    /// Nothing if it is not there, or is too large to be looked at.
    pub(super) fn of(path: &Path, most: u64) -> Option<Tree> {
        let meta = path.symlink_metadata().ok()?;
        let identity = (meta.dev(), meta.ino());
        let mut tree = Tree { identity, entries: BTreeMap::new(), has_other_names: false, bytes: most };
        tree.add(path, Path::new(""), &meta)?;
        Some(tree)
    }

    fn add(&mut self, path: &Path, below: &Path, meta: &Metadata) -> Option<()> {
        if self.entries.len() >= MOST_ENTRIES {
            return None;
        }
        let entry = if meta.is_symlink() {
            Entry::Link(fs::read_link(path).ok()?)
        } else if meta.is_dir() {
            for entry in fs::read_dir(path).ok()?.filter_map(Result::ok) {
                let path = entry.path();
                // Gone meanwhile.
                let Ok(meta) = path.symlink_metadata() else { continue };
                self.add(&path, &below.join(entry.file_name()), &meta)?;
            }
            Entry::Dir
        } else if meta.is_file() {
            self.bytes = self.bytes.checked_sub(meta.len())?;
            self.has_other_names |= meta.nlink() > 1;
            let content = crate::fsx::read_unlinked(path).ok()?;
            Entry::File { hash: Sha256::digest(&content).into(), is_program: meta.mode() & 0o111 != 0 }
        } else {
            Entry::Other
        };
        self.entries.insert(below.to_path_buf(), entry);
        Some(())
    }

    pub(super) fn is_same(&self, other: &Tree) -> bool {
        self.entries == other.entries
    }

    /// A mount over it is still there, and it can be reached by no other name: so only programs
    /// outside can have changed it.
    pub(super) fn is_still(&self, before: &Tree) -> bool {
        self.identity == before.identity && !self.has_other_names && !before.has_other_names
    }

    /// Without some paths, which are relative to where the path of the tree is.
    pub(super) fn without(mut self, path: &Path, others: &[PathBuf]) -> Tree {
        self.entries.retain(|below, _| {
            let full = if below.as_os_str().is_empty() { path.to_path_buf() } else { path.join(below) };
            !others.iter().any(|other| full.starts_with(other))
        });
        self
    }
}
