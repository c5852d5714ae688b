//! How recorded trees differ, and trees that are made of others.

use super::checked;
use super::edit_tree::Changes;
use super::kept::Kept;
use super::long_lived::Unable;
use super::loose::{Entry, Format, Kind, Object, TREE, write_object};
use super::objects::{EntryChange, Objects};
use super::shadow::{Shadow, ShadowError};
use crate::fsx;
use crate::process::Exit;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// As long as a path can be.
const LONGEST_LINK: usize = 4096;

/// A path that differs between two trees, as git names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    pub path: Vec<u8>,
    pub kind: TreeChangeKind,
    /// Whether it is a symbolic link in the second tree.
    pub is_link: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeChangeKind {
    Added,
    /// Also in kind or mode.
    Changed,
    Deleted,
}

/// How one tree is made of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// As it is in the other tree; gone if it is not there.
    Take(Vec<u8>),
    Remove(Vec<u8>),
    Replace(Vec<u8>, Vec<u8>),
}

impl TreeChange {
    fn of(change: EntryChange) -> TreeChange {
        let kind = match (&change.before, &change.now) {
            (None, _) => TreeChangeKind::Added,
            (_, None) => TreeChangeKind::Deleted,
            (Some(_), Some(_)) => TreeChangeKind::Changed,
        };
        let is_link = change.now.is_some_and(|now| now.mode == "120000");
        TreeChange { path: change.path, kind, is_link }
    }
}

impl Objects {
    pub fn differing(&mut self, from: &str, to: &str) -> Result<Vec<TreeChange>, ShadowError> {
        match self.changes(from, to) {
            Ok(changes) => Ok(changes.into_iter().map(TreeChange::of).collect()),
            Err(Unable) => self.shadow().differing(from, to),
        }
    }

    /// Links among these changes that lead out of the work tree, and where to.
    pub fn links_outside(&mut self, tree: &str, changes: &[TreeChange]) -> Vec<(String, String)> {
        let links = changes.iter().filter(|change| change.is_link);
        let target = |change: &TreeChange| {
            let target = self.content(tree, &change.path, LONGEST_LINK)?;
            let (link, target) =
                (Path::new(OsStr::from_bytes(&change.path)), Path::new(OsStr::from_bytes(&target)));
            let shown = (link.display().to_string(), target.display().to_string());
            leads_outside(link, target).then_some(shown)
        };
        links.filter_map(target).collect()
    }

    /// A tree made of another one. `other` is where [`Edit::Take`] takes from.
    pub fn edited(&mut self, base: &str, other: &str, edits: &[Edit]) -> Result<String, ShadowError> {
        let tree = self.with_edits(base, other, edits);
        Ok(tree.map_err(|Unable| io::Error::other("a tree cannot be put together"))?)
    }

    fn with_edits(&mut self, base: &str, other: &str, edits: &[Edit]) -> Result<String, Unable> {
        let (format, dir) = (Format::of(base).ok_or(Unable)?, self.shadow().objects());
        let mut changes = Changes::default();
        for edit in edits {
            let (path, entry) = match edit {
                Edit::Take(path) => (path, self.entry(other, path)?.filter(|entry| entry.mode != TREE)),
                Edit::Remove(path) => (path, None),
                Edit::Replace(path, content) => {
                    let object = Object::new(format, Kind::Blob, content)?;
                    write_object(&dir, &object)?;
                    (path, Some(Entry { mode: "100644", id: object.name }))
                }
            };
            changes.insert(path, entry);
        }
        self.with_changes(base, changes, &mut |object| write_object(&dir, object))
    }
}

impl Shadow {
    /// Objects of other directories can be read as well.
    pub fn borrow_from(&self, others: &[PathBuf]) -> Result<(), ShadowError> {
        let mut alternates = Kept::ALTERNATES.as_bytes().to_vec();
        for objects in others {
            alternates.extend_from_slice(objects.as_os_str().as_bytes());
            alternates.push(b'\n');
        }
        Ok(fsx::write_whole(&self.dir().join("objects/info/alternates"), &alternates)?)
    }

    pub(super) fn differing(&self, from: &str, to: &str) -> Result<Vec<TreeChange>, ShadowError> {
        let raw = self.diff(from, to, &["--no-renames", "--raw", "-z"], usize::MAX)?;
        let mut fields = raw.split(|byte| *byte == 0);
        let mut changes = Vec::new();
        // `:100644 120000 1a2b3c 4d5e6f T`, then the path.
        while let (Some(entry @ [b':', ..]), Some(path)) = (fields.next(), fields.next()) {
            let kind = match entry.rsplit(|byte| *byte == b' ').next() {
                Some([b'A', ..]) => TreeChangeKind::Added,
                Some([b'D', ..]) => TreeChangeKind::Deleted,
                _ => TreeChangeKind::Changed,
            };
            let is_link = entry.split(|byte| *byte == b' ').nth(1) == Some(b"120000");
            changes.push(TreeChange { path: path.to_vec(), kind, is_link });
        }
        Ok(changes)
    }

    /// All files of a tree whose paths are text.
    pub fn paths(&self, tree: &str) -> Result<Vec<String>, ShadowError> {
        let list = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree];
        let listing = checked("ls-tree", self.git().args(list))?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }

    /// Which of these names are in which files of a tree, as far as they are text: in those that are
    /// named, or in all. At most so many bytes of what git answers are read; none if it fails.
    pub fn mentions(
        &self,
        tree: &str,
        names: &[&str],
        files: &[String],
        most: usize,
    ) -> Option<Vec<(String, String)>> {
        if names.is_empty() {
            return Some(Vec::new());
        }
        let grep = ["grep", "-z", "-I", "-F", "-o", "--no-color", "--no-line-number", "--full-name"];
        let patterns = names.iter().flat_map(|name| ["-e", name]);
        let found = self.git().args(grep).args(patterns).args([tree, "--"]);
        let files = files.iter().map(|file| format!(":(top,literal){file}"));
        let found = found.args(files).keep(most).run().ok()?;
        // It ends with 1 if there is nothing, and is ended once it has said too much.
        if found.stdout.is_empty() && found.exit != Exit::Code(1) {
            return None;
        }
        let found = found.stdout;
        // `tree:path`, a zero byte, the name, a line end.
        let lines = found.split(|byte| *byte == b'\n');
        let mentions = lines.filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?.strip_prefix(tree)?.strip_prefix(':')?;
            line.split_once('\0').map(|(path, name)| (name.to_string(), path.to_string()))
        });
        Some(mentions.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// What a tree has in the place of a file; at most so many bytes.
    pub fn content(&self, tree: &str, path: &[u8], most: usize) -> Option<Vec<u8>> {
        let mut name = OsString::from(format!("{tree}:"));
        name.push(OsStr::from_bytes(path));
        let shown = self.git().args(["cat-file", "blob"]).arg(name).keep(most).run().ok()?;
        shown.success().then_some(shown.stdout)
    }

    /// Of these paths, those that the user's repository ignores as it is now: they would not be
    /// committed.
    pub fn ignored_now(&self, paths: &[&[u8]]) -> Vec<Vec<u8>> {
        if paths.is_empty() {
            return Vec::new();
        }
        let asked: Vec<u8> = paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect();
        let check = ["-c", "core.fsmonitor=false", "check-ignore", "-z", "--stdin"];
        let answer = self.repository().git().args(check).stdin(&asked).run();
        let listing = answer.map(|answer| answer.stdout).unwrap_or_default();
        listing.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect()
    }
}

/// Whether a link leads above the top of the work tree, as far as its own text says.
fn leads_outside(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_outside_if_it_is_absolute_or_climbs_above_the_top() {
        for (link, target, expected) in [
            ("a", "/home/a", true),
            ("a", "../a", true),
            ("a", "b/../../c", true),
            ("d/a", "../../a", true),
            ("d/a", "../b", false),
            ("a", "b", false),
            ("d/e/a", "./../../b", false),
        ] {
            assert_eq!(leads_outside(Path::new(link), Path::new(target)), expected, "{link} -> {target}");
        }
    }
}
