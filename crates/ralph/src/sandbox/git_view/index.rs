//! The index: what is staged.
//!
//! It is carried over as the file that it is, with what git knows of the files in the tree, so that
//! no git outside has to read all of them again. But its paths are checked: git writes files where an
//! index says, also into `.git`.

use super::carry::CarryError;
use super::entered::LINK;
use super::objects;
use super::one::One;
use super::root::remove;
use crate::fsx::{self, GitLock};
use crate::git::{GitError, checked};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl One<'_> {
    /// Only if its entries have changed: git writes it also for what it has learned of files.
    pub(super) fn carry_index(&mut self, own: &Path) -> Result<(), CarryError> {
        let [base, real, taken] = [&self.base, &self.real, &self.taken].map(|dir| dir.join(own));
        let [was, now] = [&base, &taken].map(|dir| fs::read(dir.join("index")).ok());
        if was == now {
            return Ok(());
        }
        let unreadable = |one: &mut One<'_>| {
            one.spoiled = true;
            one.told.push("the index was damaged inside, and is as it was".to_string());
            Ok(())
        };
        let Ok((ours, plain)) = self.entries(&taken) else { return unreadable(self) };
        let before = self.entries(&base).map(|(entries, _)| entries).unwrap_or_default();
        if ours == before {
            return Ok(());
        }
        let (ours_list, before_list) = (list(&ours), list(&before));
        let new: Vec<&Entry<'_>> = ours_list.iter().filter(|entry| !before_list.contains(entry)).collect();
        if let Some(odd) = new.iter().find(|entry| !is_path(entry.path)) {
            self.spoiled = true;
            let odd = String::from_utf8_lossy(odd.path);
            let odd = ralph_loop::text::printable(&odd);
            self.told.push(format!("the index was not carried over: no file may be staged as {odd}"));
            return Ok(());
        }
        let links = new.iter().filter(|entry| entry.mode == LINK);
        self.root.note_links(links.map(|entry| PathBuf::from(OsStr::from_bytes(entry.path))))?;
        self.told.extend(self.root.disarm());
        let blobs =
            new.iter().filter(|entry| entry.mode != LINK).map(|entry| String::from_utf8_lossy(entry.id));
        if !objects::missing(&self.real, &blobs.map(String::from).collect())?.is_empty() {
            return unreadable(self);
        }
        // Held while it is compared.
        let lock = GitLock::on(&real.join("index"))?;
        let theirs = self.entries(&real)?.0;
        if theirs == ours {
            return Ok(());
        }
        if theirs != before {
            self.spoiled = true;
            let kept = self.root.scratch("index.inside");
            fsx::write_whole(&kept, &plain)?;
            self.told.push(format!(
                "the index was changed outside meanwhile, and stays as it is there; that of the agent is kept as {}",
                kept.display()
            ));
            return Ok(());
        }
        let carried = if plain.is_empty() { lock.remove() } else { lock.replace(&plain) };
        Ok(carried?)
    }

    /// What git lists of the index in a directory, and the index in one file.
    fn entries(&self, dir: &Path) -> Result<(Vec<u8>, Vec<u8>), GitError> {
        let Ok(content) = fs::read(dir.join("index")) else { return Ok((Vec::new(), Vec::new())) };
        let scratch = self.scratch.dir();
        let copy = scratch.join("index.look");
        fsx::write_whole(&copy, &content).map_err(GitError::Io)?;
        let shared = shared_indexes(dir);
        for path in &shared {
            let to = scratch.join(path.file_name().unwrap_or_default());
            remove(&to).and_then(|()| fsx::copy(path, &to)).map_err(GitError::Io)?;
        }
        let git = || self.scratch.git().env("GIT_INDEX_FILE", &copy);
        if !shared.is_empty() {
            let work_tree = ["-c", "core.bare=false", "--work-tree=/"];
            checked("update-index", git().args(work_tree).args(["update-index", "--no-split-index"]))?;
        }
        let entries = checked("ls-files", git().args(["ls-files", "-s", "-v", "-z"]))?;
        Ok((entries, fs::read(&copy).map_err(GitError::Io)?))
    }
}

fn shared_indexes(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| is_shared(path.file_name().unwrap_or_default())).collect()
}

fn is_shared(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"sharedindex.") && !name.as_bytes().ends_with(b".lock")
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry<'a> {
    mode: &'a [u8],
    id: &'a [u8],
    path: &'a [u8],
}

/// Lines such as `H 100644 <id> 0<tab>path`, each ended by a zero byte.
fn list(listed: &[u8]) -> BTreeSet<Entry<'_>> {
    listed.split(|byte| *byte == 0).filter_map(entry).collect()
}

fn entry(line: &[u8]) -> Option<Entry<'_>> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = line[..tab].split(|byte| *byte == b' ').skip(1);
    Some(Entry { mode: words.next()?, id: words.next()?, path: &line[tab + 1..] })
}

/// Whether git would stage a file at this path.
fn is_path(path: &[u8]) -> bool {
    let is_part = |part: &[u8]| {
        !matches!(part, b"" | b"." | b"..")
            && !part.eq_ignore_ascii_case(b".git")
            && !part.eq_ignore_ascii_case(b"git~1")
    };
    path.split(|byte| *byte == b'/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_staged_in_a_git_directory_or_outside_of_the_tree() {
        for good in ["a", "a/b", ".gitignore", "a/.gitattributes", ".github/x"] {
            assert!(is_path(good.as_bytes()), "{good}");
        }
        for bad in [".git", ".git/hooks/x", "a/.GIT/config", "../a", "/a", "a//b", "./a", "a/", "GIT~1/x", ""]
        {
            assert!(!is_path(bad.as_bytes()), "{bad}");
        }
    }
}
