//! Untracked paths that git ignores, as it has named them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ignored {
    pub(super) files: BTreeSet<PathBuf>,
    pub(super) dirs: BTreeSet<PathBuf>,
    /// Those that are called `.gitignore`: they say what else is ignored, so they are looked at.
    patterns: BTreeSet<PathBuf>,
}

impl Ignored {
    /// What a `git status` with `--ignored` has listed.
    pub(super) fn of_status(listing: &[u8]) -> Ignored {
        let mut ignored = Ignored::default();
        let entries = listing.split(|byte| *byte == 0);
        entries.filter_map(|entry| entry.strip_prefix(b"!! ")).for_each(|path| ignored.insert(path));
        ignored
    }

    /// As git names it: a directory ends with a slash.
    fn insert(&mut self, path: &[u8]) {
        let as_path = |path| PathBuf::from(OsStr::from_bytes(path));
        match path.strip_suffix(b"/") {
            Some(dir) => self.dirs.insert(as_path(dir)),
            None if path.ends_with(b"/.gitignore") || path == b".gitignore" => {
                self.patterns.insert(as_path(path))
            }
            None => self.files.insert(as_path(path)),
        };
    }

    pub(super) fn insert_files(&mut self, paths: impl Iterator<Item = PathBuf>) {
        self.files.extend(paths);
    }

    /// Whether a path is ignored, or something that it is below.
    pub(super) fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.files.contains(above) || self.dirs.contains(above))
    }

    /// All of them.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.dirs.iter().chain(&self.files).chain(&self.patterns)
    }
}
