//! Recorded trees and files, read by one git that stays: starting one takes longer than its answer.
//!
//! What the name of an object stands for never changes, so trees that were read are remembered. Only
//! trees that differ are read to compare two of them.
//!
//! Deliberately absent: entries of kinds that `loose.rs` does not know. Git is asked in the usual way
//! then.

use super::long_lived::Unable;
use super::loose::{Entries, Entry, Format, Kind, Object, SUBMODULE, TREE, entries_of, tree_of};
use super::shadow::Shadow;
use crate::process::dialog::{Dialog, Reply};
use crate::process::tool::ToolError;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// More is not read of a tree.
const LARGEST_TREE: usize = 64 << 20;

/// So many entries of trees are remembered, and so many bytes of files.
const MOST_ENTRIES: usize = 50_000;
const MOST_BYTES: usize = 4 << 20;

pub struct Objects {
    shadow: Shadow,
    /// None before the first question, and after an answer that was cut.
    git: Option<Dialog>,
    trees: HashMap<String, Arc<Entries>>,
    /// In all of them.
    entries: usize,
    blobs: HashMap<String, Arc<[u8]>>,
    /// Of all of them.
    bytes: usize,
}

/// A path that differs between two trees, and what each has there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EntryChange {
    pub(super) path: Vec<u8>,
    pub(super) before: Option<Entry>,
    pub(super) now: Option<Entry>,
}

/// An object, or the beginning of one.
struct Read {
    kind: Vec<u8>,
    content: Vec<u8>,
    is_cut: bool,
}

impl Objects {
    pub(super) fn of(shadow: &Shadow) -> Objects {
        Objects {
            shadow: shadow.again(),
            git: None,
            trees: HashMap::new(),
            entries: 0,
            blobs: HashMap::new(),
            bytes: 0,
        }
    }

    pub fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// Has the git started that will be asked.
    pub(super) fn start(&mut self) -> Result<(), ToolError> {
        self.git = Some(Dialog::start(self.shadow.git().args(["cat-file", "--batch"]))?);
        Ok(())
    }

    /// What a tree has in the place of a file; at most so many bytes.
    pub fn content(&mut self, tree: &str, path: &[u8], most: usize) -> Option<Vec<u8>> {
        match self.entry(tree, path) {
            Ok(entry) => {
                let entry = entry.filter(|entry| entry.mode != TREE)?;
                if let Some(known) = self.blobs.get(&entry.id) {
                    return Some(known[..known.len().min(most)].to_vec());
                }
                let read = self.read(&entry.id, most).ok().flatten().filter(Read::is_blob)?;
                if !read.is_cut && read.content.len() < most {
                    self.remember_blob(&entry.id, read.content.as_slice().into());
                }
                Some(read.content)
            }
            Err(Unable) => self.shadow.content(tree, path, most),
        }
    }

    /// A file as a whole, if it is not larger than so many bytes.
    pub(super) fn blob(&mut self, id: &str, largest: usize) -> Result<Arc<[u8]>, Unable> {
        if let Some(known) = self.blobs.get(id) {
            return if known.len() <= largest { Ok(known.clone()) } else { Err(Unable) };
        }
        let read = self.read(id, largest.saturating_add(1))?.filter(Read::is_blob);
        let read = read.filter(|read| !read.is_cut && read.content.len() <= largest).ok_or(Unable)?;
        let content: Arc<[u8]> = read.content.into();
        self.remember_blob(id, content.clone());
        Ok(content)
    }

    pub(super) fn entry(&mut self, tree: &str, path: &[u8]) -> Result<Option<Entry>, Unable> {
        let mut found = Entry { mode: TREE, id: tree.to_string() };
        for name in path.split(|byte| *byte == b'/') {
            if found.mode != TREE {
                return Ok(None);
            }
            match self.tree(&found.id)?.get(name) {
                Some(entry) => found = entry.clone(),
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// What differs between two trees, sorted by path.
    pub(super) fn changes(&mut self, from: &str, to: &str) -> Result<Vec<EntryChange>, Unable> {
        let root = |id: &str| Some(Entry { mode: TREE, id: id.to_string() });
        let mut changes = Vec::new();
        self.compare(Vec::new(), root(from), root(to), &mut changes)?;
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(changes)
    }

    fn compare(
        &mut self,
        path: Vec<u8>,
        before: Option<Entry>,
        now: Option<Entry>,
        changes: &mut Vec<EntryChange>,
    ) -> Result<(), Unable> {
        if before == now {
            return Ok(());
        }
        let (dir_before, file_before) = self.opened(before)?;
        let (dir_now, file_now) = self.opened(now)?;
        let names: BTreeSet<&Vec<u8>> = dir_before.keys().chain(dir_now.keys()).collect();
        for name in names {
            let (before, now) = (dir_before.get(name), dir_now.get(name));
            if before == now {
                continue;
            }
            let below = if path.is_empty() { name.clone() } else { [&path, &b"/"[..], name].concat() };
            self.compare(below, before.cloned(), now.cloned(), changes)?;
        }
        if file_before != file_now {
            changes.push(EntryChange { path, before: file_before, now: file_now });
        }
        Ok(())
    }

    /// What a tree consists of that another one does not have, if it is not more than so many bytes.
    pub(super) fn new_since(&mut self, from: &str, to: &str, most: usize) -> Result<Vec<Object>, Unable> {
        let mut new = New { format: Format::of(to).ok_or(Unable)?, found: BTreeMap::new(), left: most };
        self.collect_new(Some(from), to, &mut new)?;
        Ok(new.found.into_values().collect())
    }

    fn collect_new(&mut self, from: Option<&str>, to: &str, new: &mut New) -> Result<(), Unable> {
        if from == Some(to) || new.found.contains_key(to) {
            return Ok(());
        }
        let before = from.map_or_else(|| Ok(Arc::default()), |from| self.tree(from))?;
        let now = self.tree(to)?;
        new.add(to, Kind::Tree, &tree_of(&now).ok_or(Unable)?)?;
        for (name, entry) in now.iter().filter(|(name, entry)| before.get(*name) != Some(entry)) {
            match entry.mode {
                TREE => {
                    let before = before.get(name).filter(|entry| entry.mode == TREE);
                    self.collect_new(before.map(|entry| entry.id.as_str()), &entry.id, new)?;
                }
                SUBMODULE => {}
                _ if new.found.contains_key(&entry.id) => {}
                _ => new.add(&entry.id, Kind::Blob, &self.blob(&entry.id, new.left)?)?,
            }
        }
        Ok(())
    }

    /// What is in a directory, or what is not one.
    fn opened(&mut self, entry: Option<Entry>) -> Result<(Arc<Entries>, Option<Entry>), Unable> {
        match entry {
            Some(Entry { mode: TREE, id }) => Ok((self.tree(&id)?, None)),
            other => Ok((Arc::default(), other)),
        }
    }

    pub(super) fn tree(&mut self, id: &str) -> Result<Arc<Entries>, Unable> {
        if let Some(known) = self.trees.get(id) {
            return Ok(known.clone());
        }
        let read = self.read(id, LARGEST_TREE)?.ok_or(Unable)?;
        if read.kind != b"tree" || read.is_cut {
            return Err(Unable);
        }
        let entries = Arc::new(entries_of(&read.content, id.len() / 2).ok_or(Unable)?);
        self.remember(id, entries.clone());
        Ok(entries)
    }

    /// An object that was written: the next question is mostly about it.
    pub(super) fn learn(&mut self, object: &Object) {
        match object.kind {
            Kind::Blob => self.remember_blob(&object.name, object.content().into()),
            Kind::Tree => {
                if let Some(entries) = entries_of(object.content(), object.name.len() / 2) {
                    self.remember(&object.name, Arc::new(entries));
                }
            }
            Kind::Commit => {}
        }
    }

    pub(super) fn remember(&mut self, id: &str, entries: Arc<Entries>) {
        if self.entries + entries.len() > MOST_ENTRIES {
            self.trees.clear();
            self.entries = 0;
        }
        self.entries += entries.len();
        self.trees.insert(id.to_string(), entries);
    }

    fn remember_blob(&mut self, id: &str, content: Arc<[u8]>) {
        if self.bytes + content.len() > MOST_BYTES {
            self.blobs.clear();
            self.bytes = 0;
        }
        self.bytes += content.len();
        self.blobs.insert(id.to_string(), content);
    }

    /// An object by its name, at most so many bytes; nothing if there is none.
    fn read(&mut self, id: &str, most: usize) -> Result<Option<Read>, Unable> {
        match self.git.take() {
            // One that was ended from outside is started again.
            Some(git) => self.ask(git, id, most).or_else(|Unable| self.ask_another(id, most)),
            None => self.ask_another(id, most),
        }
    }

    fn ask_another(&mut self, id: &str, most: usize) -> Result<Option<Read>, Unable> {
        self.start()?;
        self.git.take().ok_or(Unable).and_then(|git| self.ask(git, id, most))
    }

    fn ask(&mut self, mut git: Dialog, id: &str, most: usize) -> Result<Option<Read>, Unable> {
        let question = format!("{id}\n");
        let longest_head = question.len() + 100;
        let is_whole = |answer: &[u8]| {
            let Some(end) = end_of_line(answer) else { return false };
            fields(&answer[..end]).is_none_or(|(_, size)| answer.len() == end + 1 + size + 1)
        };
        let (answer, is_cut) =
            match git.ask(question.as_bytes(), most.saturating_add(longest_head), is_whole)? {
                Reply::Whole(answer) => (answer, false),
                Reply::Cut(answer) => (answer, true),
            };
        if !is_cut {
            self.git = Some(git);
        }
        let end = end_of_line(&answer).ok_or(Unable)?;
        let Some((kind, size)) = fields(&answer[..end]) else { return Ok(None) };
        let content = answer.get(end + 1..).unwrap_or_default();
        let content = content[..content.len().min(size).min(most)].to_vec();
        Ok(Some(Read { kind: kind.to_vec(), content, is_cut }))
    }
}

/// Objects that are collected, each once.
struct New {
    format: Format,
    found: BTreeMap<String, Object>,
    /// Bytes that may still be added.
    left: usize,
}

impl New {
    fn add(&mut self, id: &str, kind: Kind, content: &[u8]) -> Result<(), Unable> {
        self.left = self.left.checked_sub(content.len()).ok_or(Unable)?;
        let object = Object::new(self.format, kind, content)?;
        if object.name != id {
            return Err(Unable);
        }
        self.found.insert(object.name.clone(), object);
        Ok(())
    }
}

impl Read {
    fn is_blob(&self) -> bool {
        self.kind == b"blob"
    }
}

fn end_of_line(answer: &[u8]) -> Option<usize> {
    answer.iter().position(|byte| *byte == b'\n')
}

/// `ID KIND SIZE`. What is missing has no such line.
fn fields(head: &[u8]) -> Option<(&[u8], usize)> {
    let mut words = head.split(|byte| *byte == b' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next()?);
    let size = str::from_utf8(size).ok()?.parse().ok()?;
    (words.next().is_none() && super::is_object_id(id)).then_some((kind, size))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use crate::git::tree_changes::{Edit, TreeChange};
    use crate::git::{Repository, scratch_repository};
    use std::fs;
    use std::path::Path;
    use tempfile::TempDir;

    fn recorded(files: &[(&str, &str)]) -> (TempDir, Shadow) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("p");
        fs::create_dir(&top).unwrap();
        write(&top, files);
        assert!(scratch_repository(&top));
        let shadow = Shadow::over(Repository::around(&top).unwrap(), dir.path().join("own"), 1 << 20);
        shadow.set_up(&top).unwrap();
        (dir, shadow)
    }

    fn write(top: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
            fs::write(top.join(name), text).unwrap();
        }
    }

    fn record(shadow: &Shadow) -> String {
        shadow.record(&shadow.changes().unwrap()).unwrap()
    }

    #[test]
    fn one_git_says_the_same_as_one_for_each_file() {
        let long = "x".repeat(5000);
        let files =
            [("a b", "text\n"), ("empty", ""), ("dir/long", &long), ("new\nline", "1"), ("\u{e9}", "2")];
        let (_dir, shadow) = recorded(&files);
        let tree = record(&shadow);
        let mut objects = Objects::of(&shadow);
        for most in [3, 5000, 10_000] {
            for name in
                files.map(|(name, _)| name).into_iter().chain(["dir", "gone", "a", "", "a b/c", "x blob 3"])
            {
                let alone = shadow.content(&tree, name.as_bytes(), most);
                assert_eq!(objects.content(&tree, name.as_bytes(), most), alone, "{name}, {most}");
            }
        }
        assert_eq!(objects.content(&tree, b"a b", 100).unwrap(), b"text\n");
    }

    #[test]
    fn two_trees_differ_as_git_says() {
        let (_dir, shadow) = recorded(&[("a", "1"), ("a-b", "1"), ("d/x", "1"), ("d/e/y", "1"), ("f", "1")]);
        let top = shadow.top().to_path_buf();
        let first = record(&shadow);
        fs::remove_file(top.join("a")).unwrap();
        fs::remove_dir_all(top.join("d")).unwrap();
        std::os::unix::fs::symlink("elsewhere", top.join("link")).unwrap();
        write(&top, &[("a/b", "2"), ("a-b", "2"), ("d", "a file")]);
        let second = record(&shadow);
        let of_git = |from: &str, to: &str| -> Vec<TreeChange> { shadow.differing(from, to).unwrap() };
        for (from, to) in [(&first, &second), (&second, &first), (&first, &first)] {
            let mut objects = Objects::of(&shadow);
            assert_eq!(objects.differing(from, to).unwrap(), of_git(from, to));
            // Again, from memory.
            assert_eq!(objects.differing(from, to).unwrap(), of_git(from, to));
        }
    }

    #[test]
    fn an_edited_tree_is_the_one_that_git_would_record() {
        let files = [("a", "1"), ("d/x", "1"), ("d/e/y", "1"), ("f", "1"), ("run", "1")];
        let (_dir, shadow) = recorded(&files);
        let top = shadow.top().to_path_buf();
        let first = record(&shadow);
        for (name, _) in files {
            fs::remove_file(top.join(name)).unwrap();
        }
        fs::remove_dir_all(top.join("d")).unwrap();
        write(&top, &[("a/b/c", "2"), ("d", "2"), ("f", "2"), ("new", "2")]);
        let second = record(&shadow);
        let mut objects = Objects::of(&shadow);
        let path = |name: &str| name.as_bytes().to_vec();
        let all: Vec<Edit> =
            ["a", "a/b/c", "d", "d/x", "d/e/y", "f", "new", "run"].map(|name| Edit::Take(path(name))).into();
        assert_eq!(objects.edited(&first, &second, &all).unwrap(), second);
        assert_eq!(objects.edited(&second, &first, &all).unwrap(), first);
        let edits = [
            Edit::Remove(path("d/e/y")),
            Edit::Remove(path("not/there")),
            Edit::Replace(path("f"), path("replaced")),
            Edit::Replace(path("made/new"), path("made")),
        ];
        let edited = objects.edited(&first, &second, &edits).unwrap();
        fs::remove_dir_all(top.join("a")).unwrap();
        for name in ["d", "new"] {
            fs::remove_file(top.join(name)).unwrap();
        }
        write(&top, &[("a", "1"), ("d/x", "1"), ("f", "replaced"), ("made/new", "made"), ("run", "1")]);
        assert_eq!(edited, record(&shadow));
        let nothing: Vec<Edit> = files.map(|(name, _)| Edit::Remove(path(name))).into();
        let empty = objects.edited(&first, &first, &nothing).unwrap();
        assert!(objects.differing(&empty, &empty).unwrap().is_empty());
        assert_eq!(objects.differing(&empty, &first).unwrap().len(), files.len());
        let check = shadow.git().args(["fsck", "--strict", "--no-dangling", "--no-progress", &edited]);
        assert!(check.run().unwrap().success());
    }
}
