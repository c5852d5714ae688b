//! Where programs outside of sandboxes are looked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Once there is a tree that agents write.
static TRUSTED_PATH: Mutex<Option<OsString>> = Mutex::new(None);

/// From now on no program that runs outside of a sandbox is looked for in this tree, nor does it look
/// for others there: agents of a run could put a `git` into a directory of `PATH`. To be called before the
/// first of them: directories that are links out of the tree are taken for what they lead to now.
pub fn distrust(tree: &Path) {
    let mut path = TRUSTED_PATH.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(before) = path.take().or_else(|| std::env::var_os("PATH")) else { return };
    let trusted = |dir: PathBuf| {
        let real = dir.canonicalize().ok()?;
        let is_outside = dir.is_absolute() && !real.starts_with(tree);
        is_outside.then(|| if dir.starts_with(tree) { real } else { dir })
    };
    *path = std::env::join_paths(std::env::split_paths(&before).filter_map(trusted)).ok();
}

pub(super) fn get() -> Option<OsString> {
    TRUSTED_PATH.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use crate::process::tool::Tool;

    #[test]
    fn programs_outside_are_not_looked_for_in_the_tree_of_a_run() {
        let path = std::env::var_os("PATH").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap();
        let before: Vec<PathBuf> = std::env::split_paths(&path).filter(|dir| dir.is_dir()).collect();
        distrust(&tree);
        let shown = Tool::new("sh").args(["-c", "echo \"$PATH\""]).run().unwrap().stdout;
        let shown: Vec<PathBuf> = std::env::split_paths(str::from_utf8(&shown).unwrap().trim()).collect();
        assert_eq!(shown, before.into_iter().filter(|dir| dir.is_absolute()).collect::<Vec<_>>());
        // A directory of it is gone, and a link out of it is resolved.
        let trusted = |dirs: &[PathBuf]| {
            *TRUSTED_PATH.lock().unwrap() = Some(std::env::join_paths(dirs).unwrap());
            distrust(&tree);
            let found = get().unwrap();
            std::env::split_paths(&found).collect::<Vec<_>>()
        };
        let (bin, link) = (tree.join("bin"), tree.join("link"));
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink("/usr/bin", &link).unwrap();
        let found = trusted(&[bin, "relative".into(), link, "/bin".into()]);
        assert_eq!(
            found,
            [Path::new("/usr/bin"), Path::new("/bin")].map(|dir| if dir.is_symlink() {
                dir.to_path_buf()
            } else {
                dir.canonicalize().unwrap()
            })
        );
        *TRUSTED_PATH.lock().unwrap() = None;
    }
}
