//! A tree made of another one: only the trees above what changes are written.

use super::long_lived::Unable;
use super::loose::{Entries, Entry, Format, Kind, Object, TREE, tree_of};
use super::objects::Objects;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// What changes in a directory.
#[derive(Default)]
pub(super) struct Changes {
    /// None for what is gone.
    files: BTreeMap<Vec<u8>, Option<Entry>>,
    dirs: BTreeMap<Vec<u8>, Changes>,
}

impl Changes {
    /// A file, a link or a submodule at a path; none if there is none any more.
    pub(super) fn insert(&mut self, path: &[u8], entry: Option<Entry>) {
        let mut names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let Some(name) = names.pop() else { return };
        let dir = names.into_iter().fold(self, |dir, name| dir.dirs.entry(name.to_vec()).or_default());
        dir.files.insert(name.to_vec(), entry);
    }
}

impl Objects {
    /// The id of the new tree.
    pub(super) fn with_changes(
        &mut self,
        base: &str,
        changes: Changes,
        write: &mut dyn FnMut(&Object) -> io::Result<()>,
    ) -> Result<String, Unable> {
        let mut writer = Writer { format: Format::of(base).ok_or(Unable)?, objects: self, write };
        match writer.dir(Some(base), changes)? {
            Some(tree) => Ok(tree),
            None => writer.tree(None, Entries::new()),
        }
    }
}

struct Writer<'a> {
    format: Format,
    objects: &'a mut Objects,
    write: &'a mut dyn FnMut(&Object) -> io::Result<()>,
}

impl Writer<'_> {
    /// The id of a directory's new tree; nothing if nothing is left in it.
    fn dir(&mut self, before: Option<&str>, changes: Changes) -> Result<Option<String>, Unable> {
        let mut entries = match before {
            Some(tree) => Arc::unwrap_or_clone(self.objects.tree(tree)?),
            None => Entries::new(),
        };
        for (name, entry) in changes.files {
            match entry {
                Some(entry) => entries.insert(name, entry),
                None => entries.remove(&name),
            };
        }
        for (name, below) in changes.dirs {
            let before = entries.get(&name).filter(|entry| entry.mode == TREE).map(|entry| entry.id.clone());
            match self.dir(before.as_deref(), below)? {
                Some(id) => {
                    entries.insert(name, Entry { mode: TREE, id });
                }
                // There may be a file in its place.
                None if before.is_some() => {
                    entries.remove(&name);
                }
                None => {}
            }
        }
        if entries.is_empty() { Ok(None) } else { self.tree(before, entries).map(Some) }
    }

    fn tree(&mut self, before: Option<&str>, entries: Entries) -> Result<String, Unable> {
        let object = Object::new(self.format, Kind::Tree, &tree_of(&entries).ok_or(Unable)?)?;
        if before != Some(object.name.as_str()) {
            (self.write)(&object)?;
        }
        self.objects.remember(&object.name, Arc::new(entries));
        Ok(object.name)
    }
}
