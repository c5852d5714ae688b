//! New content of a file, written beside its place under a name that can be found again.
//!
//! A kill before it is put in place leaves it there; [`unstage`] removes it.

use super::{named, remove_if_there};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// On the disk, and not yet in its place.
#[derive(Debug)]
pub struct Staged {
    file: NamedTempFile,
    target: PathBuf,
}

/// What is staged for a path: in the directory of the file that is meant, if that is a link.
fn beside(path: &Path, tag: &str) -> (PathBuf, PathBuf) {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let staged = target.with_file_name(format!(".ralph-{tag}-{name}"));
    (target, staged)
}

impl Staged {
    /// `tag` tells those who stage for the same path apart.
    pub fn write(path: &Path, tag: &str, content: &[u8]) -> io::Result<Staged> {
        let (target, staged) = beside(path, tag);
        remove_if_there(&staged)?;
        let permissions = target.metadata().map(|found| found.permissions());
        let permissions = permissions.unwrap_or_else(|_| Permissions::from_mode(0o644));
        let (dir, name) = (staged.parent().unwrap_or(Path::new(".")), staged.file_name().unwrap_or_default());
        let mut file = tempfile::Builder::new()
            .prefix(name)
            .rand_bytes(0)
            .permissions(permissions)
            .tempfile_in(dir)
            .map_err(|cause| named(&cause, "write in", dir))?;
        let written = file.write_all(content).and_then(|()| file.as_file().sync_all());
        written.map_err(|cause| named(&cause, "write", &target))?;
        Ok(Staged { file, target })
    }

    /// Replaces what is there.
    pub fn replace(self) -> io::Result<()> {
        let Staged { file, target } = self;
        file.persist(&target).map(drop).map_err(|refused| named(&refused.error, "replace", &target))
    }

    /// Only where nothing is, not even a dangling link.
    pub fn create(self) -> io::Result<()> {
        let Staged { file, target } = self;
        file.persist_noclobber(&target).map(drop).map_err(|refused| named(&refused.error, "create", &target))
    }
}

/// Removes what was staged for a path and did not get there.
pub fn unstage(path: &Path, tag: &str) -> io::Result<()> {
    remove_if_there(&beside(path, tag).1)
}

/// After this, a power cut does not undo what was put into a directory, or removed from it.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        // Some file systems cannot, and need not.
        Err(cause) if cause.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced.map_err(|cause| named(&cause, "sync", dir)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;

    fn names(dir: &Path) -> Vec<String> {
        let entries = dir.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_staged_takes_the_place_of_a_file_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        fsx::write_private(&path, b"old").unwrap();
        let staged = Staged::write(&path, "p1", b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        staged.replace().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(names(dir.path()), ["list"]);
    }

    #[test]
    fn what_is_created_takes_no_place_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
        fsx::write_whole(&file, b"mine").unwrap();
        fsx::symlink(Path::new("nowhere"), &link).unwrap();
        for taken in [&file, &link] {
            let staged = Staged::write(taken, "p1", b"new").unwrap();
            assert_eq!(staged.create().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"mine");
        assert_eq!(names(dir.path()), ["file", "link"]);
    }

    #[test]
    fn what_a_kill_leaves_is_found_also_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (there, link) = (dir.path().join("docs"), dir.path().join("prd.md"));
        fsx::dir(&there).unwrap();
        fsx::write_whole(&there.join("mine.md"), b"mine").unwrap();
        fsx::symlink(Path::new("docs/mine.md"), &link).unwrap();
        // As if it had been killed: nothing is dropped.
        std::mem::forget(Staged::write(&link, "p1", b"new").unwrap());
        assert_eq!(names(&there), [".ralph-p1-mine.md", "mine.md"]);
        unstage(&link, "p1").unwrap();
        assert_eq!(names(&there), ["mine.md"]);
    }
}
