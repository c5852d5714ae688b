//! Checkpoints in little space.
//!
//! Every snapshot leaves loose objects: a small file for each file and directory that has
//! changed. Now and then they are packed, which makes them many times smaller and loses nothing.
//! If they are still more than the cap, the older half of the run's trees goes, and again; the
//! newest tree, those that the run still needs and whatever a ref holds stay.
//!
//! Only objects that the run has recorded are touched, never those that are kept of the user's
//! repository (`kept.rs`). A new pack is complete before anything that it replaces is removed.

use super::checked;
use super::shadow::{Shadow, ShadowError};
use crate::fsx;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// So many objects in some of the 256 directories that they lie in by their names: about two
/// thousand in all.
const LOOKED_AT: [&str; 4] = ["17", "5a", "9c", "e1"];
const MANY: usize = 8 * LOOKED_AT.len();

/// Every git that looks for an object looks through all packs.
const MOST_PACKS: usize = 8;

impl Shadow {
    /// Remembers a tree as the newest of the run.
    pub(super) fn note(&self, tree: &str) -> io::Result<()> {
        fsx::append(&self.trees_file(), format!("{tree}\n").as_bytes())
    }

    /// Whether there are many loose objects, by a look at some of them.
    pub(super) fn has_many_objects(&self) -> bool {
        let count = |name| self.objects().join(name).read_dir().map_or(0, Iterator::count);
        LOOKED_AT.into_iter().map(count).sum::<usize>() > MANY
    }

    /// Packs what is loose, and drops old trees but for those that are needed while there are more
    /// than `most` bytes, 0 being no limit. Whether something had to be dropped.
    pub(super) fn tidy(&self, most: u64, needed: &[&str]) -> Result<bool, ShadowError> {
        self.pack_all()?;
        let mut dropped = false;
        while most > 0 && fsx::disk_usage(&self.objects()) > most && self.drop_older_half(needed)? {
            dropped = true;
        }
        Ok(dropped)
    }

    /// Packs what is loose. Gits that are at work find it all the same.
    pub(super) fn pack_all(&self) -> Result<(), ShadowError> {
        self.pack_loose()?;
        self.merge_packs()
    }

    /// Whether a tree is there.
    pub fn has(&self, tree: &str) -> bool {
        let look = self.git().args(["cat-file", "-e", &format!("{tree}^{{tree}}")]).run();
        look.is_ok_and(|answer| answer.success())
    }

    pub(super) fn objects(&self) -> PathBuf {
        self.dir().join("objects")
    }

    fn packs(&self) -> PathBuf {
        self.objects().join("pack")
    }

    fn trees_file(&self) -> PathBuf {
        self.dir().join("ralph-trees")
    }

    fn pack_loose(&self) -> Result<(), ShadowError> {
        let mut names = Vec::new();
        for dir in entries(&self.objects())? {
            let Some(start) = file_name(&dir).filter(|name| name.len() == 2 && is_hex(name)) else {
                continue;
            };
            let objects = entries(&dir)?;
            names.extend(objects.iter().filter_map(|path| Some(format!("{start}{}", file_name(path)?))));
        }
        names.retain(|name| is_hex(name));
        if !names.is_empty() {
            self.pack(&names)?;
            checked("prune-packed", self.git().args(["prune-packed", "-q"]))?;
        }
        Ok(())
    }

    /// Makes one pack of the small ones where there are many. Much larger ones are left as they are,
    /// so that an object is packed again a few times only.
    fn merge_packs(&self) -> Result<(), ShadowError> {
        let mut packs: Vec<(u64, PathBuf)> = Vec::new();
        for index in self.indexes()?.into_iter().filter(|index| !index.with_extension("keep").exists()) {
            let bytes = index.with_extension("pack").metadata().map_or(0, |pack| pack.len());
            packs.push((bytes, index));
        }
        if packs.len() <= MOST_PACKS {
            return Ok(());
        }
        packs.sort_unstable();
        let (mut small, mut bytes) = (Vec::new(), 0);
        for (size, index) in packs {
            if small.len() > 1 && size > 2 * bytes {
                break;
            }
            bytes += size;
            small.push(index);
        }
        let mut names = BTreeSet::new();
        for index in &small {
            names.extend(self.objects_in(index)?);
        }
        let merged = self.pack(&names.into_iter().collect::<Vec<_>>())?;
        for index in
            small.iter().filter(|index| !file_name(index).is_some_and(|name| name.starts_with(&merged)))
        {
            // Without its index a pack is not looked at: that goes first.
            fsx::remove(index)?;
            let rest = ["pack", "rev"].map(|end| index.with_extension(end));
            rest.iter().filter(|file| file.exists()).try_for_each(|file| fsx::remove(file))?;
        }
        Ok(())
    }

    /// A pack of these objects; how its files are called.
    fn pack(&self, names: &[String]) -> Result<String, ShadowError> {
        let (list, base) = (names.join("\n") + "\n", self.packs().join("pack"));
        let pack = self
            .git()
            .args(["-c", "pack.windowMemory=256m", "pack-objects", "-q"])
            .arg(base)
            .stdin(list.as_bytes());
        let hash = checked("pack-objects", pack)?;
        Ok(format!("pack-{}", String::from_utf8_lossy(&hash).trim()))
    }

    /// False if only the newest tree is left.
    fn drop_older_half(&self, needed: &[&str]) -> Result<bool, ShadowError> {
        let noted = fs_err::read_to_string(self.trees_file())?;
        let mut seen = BTreeSet::new();
        // Newest first; one that came back is as new as its last time.
        let mut trees: Vec<&str> = noted.lines().rev().filter(|tree| seen.insert(*tree)).collect();
        if trees.len() < 2 {
            return Ok(false);
        }
        trees.truncate(trees.len() / 2);
        // What was there when the run began is kept elsewhere, and its history need not be walked.
        let start = self.kept().start().map(|start| format!("^{start}\n"));
        let wanted =
            trees.iter().chain(needed).map(|tree| format!("{tree}\n")).chain(start).collect::<String>();
        let list = ["rev-list", "--objects", "--no-object-names", "--all", "--stdin"];
        let reachable = checked("rev-list", self.git().args(list).stdin(wanted.as_bytes()))?;
        let reachable = String::from_utf8_lossy(&reachable);
        let reachable: BTreeSet<&str> = reachable.lines().collect();
        let mut own = self.packed()?;
        own.retain(|name| reachable.contains(name.as_str()));
        let pack = if own.is_empty() { String::new() } else { self.pack(&own)? };
        // Before the objects are gone: what is noted can be relied on.
        let left: String = trees.iter().rev().map(|tree| format!("{tree}\n")).collect();
        fsx::write_whole(&self.trees_file(), left.as_bytes())?;
        let mut paths = entries(&self.packs())?;
        // A pack without its index is no pack; an index without its pack stops every git.
        paths.sort_by_key(|path| path.extension().is_none_or(|end| end != "idx"));
        for path in paths {
            if pack.is_empty() || !file_name(&path).is_some_and(|name| name.starts_with(&pack)) {
                fsx::remove(&path)?;
            }
        }
        Ok(true)
    }

    /// The names of all objects in packs of its own.
    fn packed(&self) -> Result<Vec<String>, ShadowError> {
        let mut names = Vec::new();
        for index in self.indexes()? {
            names.extend(self.objects_in(&index)?);
        }
        Ok(names)
    }

    /// The index of each pack.
    fn indexes(&self) -> Result<Vec<PathBuf>, ShadowError> {
        let mut indexes = entries(&self.packs())?;
        indexes.retain(|path| path.extension().is_some_and(|end| end == "idx"));
        Ok(indexes)
    }

    /// The names of the objects in the pack of an index.
    fn objects_in(&self, index: &Path) -> Result<Vec<String>, ShadowError> {
        let index = fs_err::read(index)?;
        let listing = checked("show-index", self.git().args(["show-index"]).stdin(&index))?;
        let listing = String::from_utf8_lossy(&listing);
        Ok(listing.lines().filter_map(|line| line.split(' ').nth(1)).map(String::from).collect())
    }
}

fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs_err::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn is_hex(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
