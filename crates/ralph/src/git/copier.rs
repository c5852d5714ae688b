//! Copies and links the files of a git directory.
//!
//! Objects are linked by several threads: a link takes 10 µs, one thread has 5,000 of them in 55 ms and
//! two have them in 28, and the first agent of a run waits for that.
//!
//! Deliberately absent: what is kept of a repository, and where (`kept.rs`).

use crate::fsx;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// No repository has alternates, or directories, as deep as this.
pub(super) const DEEPEST: usize = 32;
/// Larger files are linked, although git or the user may change them in place.
const MOST_COPIED_FILE: u64 = 16 << 20;
/// From so many directories on, several threads are worth their start.
const MANY_DIRS: usize = 16;
const MOST_THREADS: usize = 4;

pub(super) struct Copier {
    /// Bytes that may still be copied where a link cannot be made.
    left: AtomicU64,
    /// Something was gone when its turn came.
    vanished: AtomicBool,
}

impl Copier {
    /// Of at most so many bytes where links cannot be made; what has to be copied anyway does not count.
    pub(super) fn of_at_most(bytes: u64) -> Copier {
        Copier { left: AtomicU64::new(bytes), vanished: AtomicBool::new(false) }
    }

    /// Whether something was gone when its turn came, since this was last asked.
    pub(super) fn missed_any(&self) -> bool {
        self.vanished.swap(false, Ordering::Relaxed)
    }

    /// A git directory but for its objects; those of submodules are linked.
    pub(super) fn copy_git_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.copy_dir(from, to, 0)
    }

    fn copy_dir(&self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        fsx::private_dir(to)?;
        for entry in fs_err::read_dir(from)?.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            // A branch can have any name that does not end like a lock.
            let passing =
                if depth == 0 { is_passing(name.as_bytes()) } else { name.as_bytes().ends_with(b".lock") };
            if passing || depth > DEEPEST {
                continue;
            }
            // Links are followed: what is kept must not depend on another place.
            let Ok(meta) = fs_err::metadata(&path) else { continue };
            let to = to.join(&name);
            let kept = match name.as_bytes() {
                b"objects" if depth == 0 && meta.is_dir() => fsx::private_dir(&to),
                b"objects" | b"lfs" if meta.is_dir() => self.link_objects(&path, &to),
                _ if meta.is_dir() => self.copy_dir(&path, &to, depth + 1),
                _ if meta.is_file() && meta.len() <= MOST_COPIED_FILE => self.copy(&path, &to),
                _ if meta.is_file() => self.link(&path, &to),
                _ => Ok(()),
            };
            match kept {
                // What this user cannot read, git does without as well.
                Err(cause) if cause.kind() == ErrorKind::PermissionDenied => {}
                kept => kept?,
            }
        }
        Ok(())
    }

    /// Files that are never changed once they are there.
    pub(super) fn link_objects(&self, from: &Path, to: &Path) -> io::Result<()> {
        let dirs = self.link_files(from, to)?;
        let link = |dirs: &[OsString]| {
            dirs.iter().try_for_each(|name| self.link_dir(&from.join(name), &to.join(name), 1))
        };
        if dirs.len() < MANY_DIRS {
            return link(&dirs);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        std::thread::scope(|all| {
            let started = dirs.chunks(dirs.len().div_ceil(threads)).map(|dirs| all.spawn(move || link(dirs)));
            let started: Vec<_> = started.collect();
            started.into_iter().try_for_each(|thread| match thread.join() {
                Ok(linked) => linked,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    fn link_dir(&self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        let dirs = self.link_files(from, to)?;
        if depth >= DEEPEST {
            return Ok(());
        }
        dirs.iter().try_for_each(|name| self.link_dir(&from.join(name), &to.join(name), depth + 1))
    }

    /// Links the files of a directory and names the directories in it.
    fn link_files(&self, from: &Path, to: &Path) -> io::Result<Vec<OsString>> {
        fsx::private_dir(to)?;
        let mut dirs = Vec::new();
        for entry in fs_err::read_dir(from)?.flatten() {
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            // Indexes over several packs, and graphs, may name what is not there; git does without.
            let optional = name == "info" || name.as_bytes().starts_with(b"multi-pack-index");
            if optional || is_passing(name.as_bytes()) {
                continue;
            }
            if kind.is_dir() {
                dirs.push(name);
            } else if kind.is_file() {
                self.link(&entry.path(), &to.join(name))?;
            }
        }
        Ok(dirs)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        match fsx::link(from, to) {
            Ok(()) => Ok(()),
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(cause) if cause.kind() == ErrorKind::NotFound => self.miss(),
            Err(_) => {
                let bytes = fs_err::metadata(from)?.len();
                let take = |left: u64| left.checked_sub(bytes);
                let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
                taken.map_err(|_| ErrorKind::FileTooLarge)?;
                self.copy(from, to)
            }
        }
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        match fsx::copy(from, to) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => self.miss(),
            copied => copied,
        }
    }

    /// The same in the place of what is there; nothing, if there is none to copy.
    pub(super) fn replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = if to.is_dir() { fsx::remove_tree(to) } else { fsx::remove(to) };
        if from.is_dir() { self.copy_dir(from, to, 1) } else { self.copy(from, to) }
    }

    fn miss(&self) -> io::Result<()> {
        self.vanished.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// Locks, sockets and half-written files.
fn is_passing(name: &[u8]) -> bool {
    name.ends_with(b".lock")
        || name.starts_with(b"tmp_")
        || name.starts_with(b"fsmonitor--daemon")
        || name == b"gc.pid"
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes the files that it links")]
mod tests {
    use super::Copier;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn objects_in_any_number_of_directories_are_linked_all() {
        for dirs in [1, 15, 16, 256] {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("from"), dir.path().join("to"));
            let names: Vec<String> = (0..dirs).map(|number| format!("{number:02x}/object")).collect();
            for name in &names {
                fs::create_dir_all(from.join(name).parent().unwrap()).unwrap();
                fs::write(from.join(name), name).unwrap();
            }
            fs::create_dir(from.join("00/in")).unwrap();
            fs::write(from.join("00/in/deep"), "").unwrap();
            fs::write(from.join("00/tmp_obj_1"), "").unwrap();
            let copier = Copier::of_at_most(0);
            copier.link_objects(&from, &to).unwrap();
            assert!(!copier.missed_any());
            for name in names.iter().map(String::as_str).chain(["00/in/deep"]) {
                let inode = |root: &std::path::Path| root.join(name).metadata().unwrap().ino();
                assert_eq!(inode(&from), inode(&to), "{name}");
            }
            assert!(!to.join("00/tmp_obj_1").exists());
        }
    }
}
