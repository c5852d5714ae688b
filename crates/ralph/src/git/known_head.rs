//! Where the user's repository stands, without asking git again.
//!
//! The answers of git are kept together with the files that it reads them from: `HEAD`, the branch,
//! the index. While these are the same, so are the answers. Whatever looks unusual (a branch that is
//! neither in a file of its own nor packed, as with reftables; a rebase; a file that was written a
//! moment ago) is left to git.

use super::git_dir::GitDir;
use super::stamp::Stamp;
use super::{Repository, is_object_id};
use ralph_loop::event::Head;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The commit that HEAD is on.
#[derive(Default)]
pub struct KnownCommit {
    known: Option<(HeadFiles, Option<String>)>,
}

impl KnownCommit {
    /// `ask` asks git.
    pub fn get(&mut self, top: &Path, ask: impl FnOnce() -> Option<String>) -> Option<String> {
        // Read before git is asked: what changes meanwhile is found the next time.
        let files = GitDir::of(top).and_then(|dir| dir.head_files());
        match (&self.known, files) {
            (Some((known, commit)), Some(files)) if *known == files => commit.clone(),
            (_, files) => {
                let commit = ask();
                self.known = files.map(|files| (files, commit.clone()));
                commit
            }
        }
    }
}

/// The commit, the branch and the index.
#[derive(Default)]
pub(super) struct KnownHead {
    known: Option<(HeadFiles, Stamp, Head)>,
}

impl KnownHead {
    pub(super) fn get(&mut self, repository: &Repository) -> Head {
        let dir = GitDir::of(&repository.top).filter(|dir| !dir.is_rebasing());
        let files = dir.and_then(|dir| Some((dir.head_files()?, Stamp::settled(&dir.own.join("index"))?)));
        match (&self.known, files) {
            (Some((known, index, head)), Some(files)) if (known, index) == (&files.0, &files.1) => {
                head.clone()
            }
            (_, files) => {
                let head = repository.head();
                self.known = files.map(|(files, index)| (files, index, head.clone()));
                head
            }
        }
    }
}

/// What decides which commit HEAD is on.
#[derive(PartialEq, Eq)]
struct HeadFiles {
    head: Vec<u8>,
    branch: BranchFile,
}

#[derive(PartialEq, Eq)]
enum BranchFile {
    /// HEAD names the commit itself.
    Detached,
    Own(Vec<u8>),
    Packed(Stamp),
}

impl GitDir {
    fn is_rebasing(&self) -> bool {
        ["rebase-merge", "rebase-apply"].iter().any(|name| self.own.join(name).symlink_metadata().is_ok())
    }

    fn head_files(&self) -> Option<HeadFiles> {
        let head = fs_err::read(self.own.join("HEAD")).ok()?;
        let branch = match head.strip_prefix(b"ref: ") {
            Some(name) => self.branch_file(name.trim_ascii())?,
            None => is_id(&head).then_some(BranchFile::Detached)?,
        };
        Some(HeadFiles { head, branch })
    }

    fn branch_file(&self, name: &[u8]) -> Option<BranchFile> {
        // Other refs may be a worktree's own.
        if !name.starts_with(b"refs/heads/") {
            return None;
        }
        match fs_err::read(self.common.join(OsStr::from_bytes(name))) {
            Ok(content) => is_id(&content).then_some(BranchFile::Own(content)),
            Err(_) => Stamp::settled(&self.common.join("packed-refs")).map(BranchFile::Packed),
        }
    }
}

/// A ref may also name another one.
fn is_id(content: &[u8]) -> bool {
    is_object_id(content.trim_ascii_end())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use crate::git::test_support::run;
    use std::fs;
    use std::time::{Duration, Instant};

    type Known = (KnownCommit, KnownHead);

    /// Asks once more after a step. Whether git was asked, with the answer that it gives.
    #[track_caller]
    fn check((commit, head): &mut Known, top: &Path, asked: bool) {
        let repository = Repository::at(top.to_path_buf());
        let mut was_asked = false;
        let commit = commit.get(top, || {
            was_asked = true;
            repository.commit()
        });
        assert_eq!((commit, was_asked), (repository.commit(), asked));
        assert_eq!(head.get(&repository), repository.head());
    }

    fn is_asked((commit, _): &mut Known, top: &Path) -> bool {
        let mut was_asked = false;
        commit.get(top, || {
            was_asked = true;
            Repository::at(top.to_path_buf()).commit()
        });
        was_asked
    }

    #[test]
    fn git_is_asked_again_only_when_head_or_its_branch_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("top");
        fs::create_dir(&top).unwrap();
        run(&top, &["init", "-q", "-b", "main"]);
        let mut known = Known::default();
        // A branch without a commit is in no file.
        check(&mut known, &top, true);
        check(&mut known, &top, true);
        let steps: [(&[&str], bool); 9] = [
            (&["commit", "-q", "--allow-empty", "-m", "one"], true),
            (&["commit", "-q", "--allow-empty", "-m", "two"], true),
            (&["switch", "-q", "-c", "other"], true),
            (&["commit", "-q", "--allow-empty", "--amend", "-m", "other"], true),
            (&["switch", "-q", "--detach"], true),
            (&["branch", "third"], false),
            (&["switch", "-q", "main"], true),
            (&["reset", "-q", "--hard", "HEAD~1"], true),
            (&["commit", "-q", "--allow-empty", "-m", "three"], true),
        ];
        for (args, asked) in steps {
            run(&top, args);
            check(&mut known, &top, asked);
            check(&mut known, &top, false);
        }
        run(&top, &["pack-refs", "--all"]);
        check(&mut known, &top, true);
        // The file of all packed refs is new.
        check(&mut known, &top, true);
        let deadline = Instant::now() + Duration::from_secs(30);
        while is_asked(&mut known, &top) {
            assert!(Instant::now() < deadline, "it never gets old enough");
            std::thread::sleep(Duration::from_millis(20));
        }
        check(&mut known, &top, false);
        run(&top, &["worktree", "add", "-q", "-b", "tree", "../tree"]);
        let tree = top.with_file_name("tree");
        check(&mut known, &tree, true);
        check(&mut known, &tree, false);
        run(&tree, &["commit", "-q", "--allow-empty", "-m", "in the worktree"]);
        check(&mut known, &tree, true);
        fs::remove_file(tree.join(".git")).unwrap();
        check(&mut known, &tree, true);
    }

    #[test]
    fn what_is_staged_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        run(&top, &["init", "-q", "-b", "main"]);
        run(&top, &["commit", "-q", "--allow-empty", "-m", "one"]);
        let mut known = Known::default();
        for number in 0..60 {
            fs::write(top.join("file"), format!("{number:03}")).unwrap();
            run(&top, &["add", "file"]);
            check(&mut known, &top, number == 0);
        }
    }
}
