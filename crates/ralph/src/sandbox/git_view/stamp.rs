//! Whether anything of a git directory has changed that is copied or carried over.

use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A git directory as it was at one moment; nothing where there is too much to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp([u8; 32]);

/// Objects alone change nothing, and the others are not copied, or never carried over.
const SKIPPED: [&str; 6] = ["objects", "hooks", "lfs", "annex", "rr-cache", "info"];
const MOST_ENTRIES: usize = 200_000;
const DEEPEST: usize = 32;

impl Stamp {
    pub(super) fn of(dir: &Path) -> Option<Stamp> {
        let mut look = Look { hash: Sha256::new(), left: MOST_ENTRIES };
        look.at(dir, 0).then(|| Stamp(look.hash.finalize().into()))
    }
}

struct Look {
    hash: Sha256,
    left: usize,
}

impl Look {
    /// Links are not followed.
    fn at(&mut self, dir: &Path, depth: usize) -> bool {
        let Ok(entries) = fs::read_dir(dir) else { return false };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        entries.sort();
        entries.iter().all(|path| {
            let name = path.file_name().unwrap_or_default();
            let Ok(meta) = path.symlink_metadata() else { return true };
            if self.left == 0 || depth > DEEPEST {
                return false;
            }
            self.left -= 1;
            self.hash.update(name.as_bytes());
            // A git directory has a lock in it whenever a git writes, and gets another time.
            if meta.is_dir() {
                self.hash.update(b"/");
                return SKIPPED.iter().any(|skipped| name == *skipped) || self.at(path, depth + 1);
            }
            let numbers = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
            for number in numbers.map(i64::cast_unsigned).into_iter().chain([meta.ino(), meta.size()]) {
                self.hash.update(number.to_le_bytes());
            }
            true
        })
    }
}
