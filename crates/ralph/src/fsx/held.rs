//! A directory that is held open.
//!
//! What is listed and removed is in this directory, whatever has been put in its place since: an
//! agent that swaps a directory of its project for a link has nothing removed elsewhere.

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, open, statat, unlinkat};
use std::io;
use std::path::Path;

pub struct Held {
    dir: OwnedFd,
}

/// A regular file there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    pub name: String,
    pub bytes: u64,
    /// Milliseconds since 1970.
    pub modified: i64,
}

impl Held {
    /// Fails if it is a link.
    pub fn open(path: &Path) -> io::Result<Held> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Held { dir: open(path, flags, Mode::empty())? })
    }

    /// The same, but a link is followed that stays below `root`.
    pub fn open_inside(root: &Path, path: &Path) -> io::Result<Held> {
        let (root, real) = (root.canonicalize()?, path.canonicalize()?);
        let below = real.strip_prefix(&root);
        let below = below.map_err(|_| io::Error::other("a link points outside the project"))?;
        if below.as_os_str().is_empty() {
            return Held::open(&root);
        }
        // None of its parts may have become a link since.
        match Held::open_below(&root, below) {
            Err(cause) if cause.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error()) => {
                Held::open(&real)
            }
            opened => opened,
        }
    }

    #[cfg(target_os = "linux")]
    fn open_below(root: &Path, below: &Path) -> io::Result<Held> {
        use rustix::fs::{ResolveFlags, openat2};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        Ok(Held { dir: openat2(Held::open(root)?.dir, below, flags, Mode::empty(), resolve)? })
    }

    #[cfg(not(target_os = "linux"))]
    fn open_below(root: &Path, below: &Path) -> io::Result<Held> {
        Held::open(&root.join(below))
    }

    /// The regular files whose names fit; one that goes meanwhile is none.
    pub fn files(&self, fits: impl Fn(&str) -> bool) -> io::Result<Vec<HeldFile>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok().filter(|name| fits(name));
            files.extend(name.and_then(|name| self.file(name)));
        }
        Ok(files)
    }

    /// The regular file of this name.
    pub fn file(&self, name: &str) -> Option<HeldFile> {
        let found = statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
        is_file.then(|| HeldFile {
            name: name.to_string(),
            bytes: u64::try_from(found.st_size).unwrap_or(0),
            modified: modified(&found),
        })
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.dir, name, AtFlags::empty())?)
    }
}

#[expect(clippy::useless_conversion, reason = "the types differ between systems")]
fn modified(found: &Stat) -> i64 {
    let (seconds, nanos) = (i64::from(found.st_mtime), i64::try_from(found.st_mtime_nsec).unwrap_or(0));
    seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_followed_where_it_stays_below_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let [root, own, elsewhere] = ["root", "root/own/deep", "elsewhere"].map(|name| dir.path().join(name));
        for dir in [&own, &elsewhere] {
            std::fs::create_dir_all(dir).unwrap();
            std::fs::write(dir.join("a"), "x").unwrap();
        }
        for (target, opens) in [("own/deep", true), ("../elsewhere", false), (own.to_str().unwrap(), true)] {
            let link = root.join("link");
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(target, &link).unwrap();
            let held = Held::open_inside(&root, &link);
            assert_eq!(held.is_ok_and(|held| held.file("a").is_some()), opens, "{target}");
        }
        let gone = Held::open_inside(&root, &root.join("nowhere")).err().unwrap();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_link_in_the_place_of_the_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let [real, elsewhere, link] = ["real", "elsewhere", "link"].map(|name| dir.path().join(name));
        for dir in [&real, &elsewhere] {
            std::fs::create_dir(dir).unwrap();
            std::fs::write(dir.join("a"), "x").unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        assert!(Held::open(&link).is_err());
        let held = Held::open(&real).unwrap();
        std::fs::rename(&real, dir.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &real).unwrap();
        assert_eq!(held.files(|_| true).unwrap().len(), 1);
        held.remove("a").unwrap();
        assert!(held.files(|_| true).unwrap().is_empty());
        assert!(elsewhere.join("a").exists());
    }
}
