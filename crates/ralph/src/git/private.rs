//! Local settings, which may hold keys: nothing of ralph's commits them, unless the user has.

use crate::layout::{Project, is_local_settings};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The entries of a status that are of local settings which are new.
pub(super) struct Private {
    /// Where links lead to, as git names it: `.ralph` may be one that stays in its project.
    linked: BTreeSet<Vec<u8>>,
}

impl Private {
    pub(super) fn among(top: &Path, status: &[u8]) -> Private {
        let mut dirs = BTreeSet::new();
        for path in status.split(|byte| *byte == 0).filter_map(new_path) {
            // Such a link leads to below its own directory.
            for dir in Path::new(OsStr::from_bytes(path)).ancestors().skip(1) {
                if !dirs.insert(dir) {
                    break;
                }
            }
        }
        let real = |dir: &Path| {
            let real = Project::at(top.join(dir)).local_settings().canonicalize().ok()?;
            Some(real.strip_prefix(top).ok()?.as_os_str().as_bytes().to_vec())
        };
        Private { linked: dirs.into_iter().filter_map(real).collect() }
    }

    pub(super) fn holds(&self, entry: &[u8]) -> bool {
        let path = new_path(entry.strip_suffix(b"\0").unwrap_or(entry));
        path.is_some_and(|path| is_local_settings(path) || self.linked.contains(path))
    }
}

/// The path of an entry, if no commit holds it.
fn new_path(entry: &[u8]) -> Option<&[u8]> {
    let (state, path) = entry.split_at_checked(3)?;
    // ` A`: to be added, by `git add -N`.
    matches!(&state[..2], [b'?' | b'A', _] | b" A").then_some(path)
}
