//! Whether a repository has the refs that it had, without asking git.
//!
//! HEAD and the refs that are files of their own are read; the file of all packed refs is looked at from
//! outside. Whatever looks unusual (reftables, very many refs, packed refs that were written a moment
//! ago) is left to git.

use super::git_dir::GitDir;
use super::stamp::Stamp;
use crate::fsx;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// More refs that are files of their own are not read, nor longer files.
const MOST_FILES: usize = 500;
const LONGEST_FILE: u64 = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefFiles {
    /// HEAD, what a shallow clone begins with, and refs.
    read: BTreeMap<PathBuf, Vec<u8>>,
    packed: Option<Stamp>,
}

impl RefFiles {
    pub(super) fn of(top: &Path) -> Option<RefFiles> {
        let GitDir { own, common } = GitDir::of(top)?;
        if common.join("reftable").symlink_metadata().is_ok() {
            return None;
        }
        let mut read = BTreeMap::new();
        for path in [own.join("HEAD"), common.join("shallow")] {
            match fsx::read_at_most(&path, LONGEST_FILE) {
                Ok(content) => drop(read.insert(path, content)),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
        read_below(&common.join("refs"), &mut read)?;
        if own != common {
            read_below(&own.join("refs"), &mut read)?;
        }
        let packed = common.join("packed-refs");
        let packed = if packed.symlink_metadata().is_ok() { Some(Stamp::settled(&packed)?) } else { None };
        Some(RefFiles { read, packed })
    }
}

fn read_below(dir: &Path, read: &mut BTreeMap<PathBuf, Vec<u8>>) -> Option<()> {
    let entries = match fs_err::read_dir(dir) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Some(()),
        entries => entries.ok()?,
    };
    for entry in entries {
        let entry = entry.ok()?;
        if entry.file_type().ok()?.is_dir() {
            read_below(&entry.path(), read)?;
        } else {
            read.insert(entry.path(), fsx::read_at_most(&entry.path(), LONGEST_FILE).ok()?);
        }
        if read.len() > MOST_FILES {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use crate::git::git;
    use crate::git::test_support::run;
    use std::fs;

    #[test]
    fn whatever_changes_a_ref_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("top");
        fs::create_dir(&top).unwrap();
        run(&top, &["init", "-q", "-b", "main"]);
        run(&top, &["commit", "-q", "--allow-empty", "-m", "one"]);
        let mut before = RefFiles::of(&top);
        assert!(before.is_some() && before == RefFiles::of(&top));
        let steps: [&[&str]; 7] = [
            &["commit", "-q", "--allow-empty", "-m", "two"],
            &["branch", "deep/er"],
            &["tag", "-a", "-m", "x", "v1"],
            &["checkout", "-q", "--detach"],
            &["tag", "-d", "v1"],
            &["update-ref", "refs/other/x", "HEAD"],
            &["pack-refs", "--all"],
        ];
        for step in steps {
            run(&top, step);
            let now = RefFiles::of(&top);
            // Packed refs are new, and git has to be asked.
            assert!(now != before || now.is_none(), "{step:?}");
            before = now;
        }
        run(&top, &["worktree", "add", "-q", "../tree"]);
        let tree = top.with_file_name("tree");
        let of_worktree = RefFiles::of(&tree);
        run(&tree, &["commit", "-q", "--allow-empty", "-m", "three"]);
        assert!(of_worktree.is_none() || of_worktree != RefFiles::of(&tree));
        fs::remove_dir_all(top.join(".git")).unwrap();
        assert_eq!(RefFiles::of(&top), None);
    }

    #[test]
    fn a_pipe_among_the_refs_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &["init", "-q"]);
        assert!(RefFiles::of(dir.path()).is_some());
        run(dir.path(), &["-c", "alias.p=!mkfifo .git/refs/heads/pipe", "p"]);
        assert_eq!(RefFiles::of(dir.path()), None);
    }

    #[test]
    fn refs_in_another_format_are_left_to_git() {
        let dir = tempfile::tempdir().unwrap();
        let init = git(dir.path()).args(["init", "-q", "--ref-format=reftable"]).run().unwrap();
        // Older gits have only files.
        assert!(!init.success() || RefFiles::of(dir.path()).is_none());
    }
}
