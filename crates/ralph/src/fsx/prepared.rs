//! Empty files and directories, made ahead of time for the objects of a git repository.
//!
//! On a journaling file system, making a file takes ten times as long as writing a little to one and
//! renaming it, and the same is true for directories. So a few are kept ready. What a kill leaves of
//! them is empty, has a name that git takes for a leftover of its own, and goes with the next start.

use super::named;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempDir};

const PREFIX: &str = "tmp_obj_";

/// So many of each are ready, and are made again once half of them are used.
const READY: usize = 16;

pub struct Prepared {
    dir: PathBuf,
    files: Vec<NamedTempFile>,
    dirs: Vec<TempDir>,
}

impl Prepared {
    /// `dir` has the directories that objects lie in. Only one process may prepare files there.
    pub fn below(dir: PathBuf) -> Prepared {
        for entry in dir.read_dir().into_iter().flatten().filter_map(Result::ok) {
            if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
                let _ = std::fs::remove_file(entry.path()).or_else(|_| std::fs::remove_dir(entry.path()));
            }
        }
        let mut prepared = Prepared { dir, files: Vec::new(), dirs: Vec::new() };
        prepared.refill();
        prepared
    }

    pub fn is_low(&self) -> bool {
        self.files.len().min(self.dirs.len()) < READY / 2
    }

    /// What cannot be made is made when it is needed, or fails there.
    pub fn refill(&mut self) {
        while self.files.len() < READY
            && let Ok(file) = self.new_file()
        {
            self.files.push(file);
        }
        while self.dirs.len() < READY
            && let Ok(dir) = Builder::new().prefix(PREFIX).tempdir_in(&self.dir)
        {
            self.dirs.push(dir);
        }
    }

    /// Writes an object as a whole, unless it is there: its name stands for its content.
    pub fn write(&mut self, path: &Path, content: impl FnOnce() -> Vec<u8>) -> io::Result<()> {
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let file = self.files.pop().map_or_else(|| self.new_file(), Ok);
        let mut file = file.map_err(|cause| named(&cause, "write in", &self.dir))?;
        file.write_all(&content()).map_err(|cause| named(&cause, "write", path))?;
        let placed = file.persist(path).or_else(|failed| match (failed.error.kind(), path.parent()) {
            (io::ErrorKind::NotFound, Some(dir)) => {
                self.place_dir(dir)?;
                failed.file.persist(path).map_err(|failed| failed.error)
            }
            _ => Err(failed.error),
        });
        placed.map(drop).map_err(|cause| named(&cause, "create", path))
    }

    fn place_dir(&mut self, dir: &Path) -> io::Result<()> {
        match self.dirs.pop() {
            Some(ready) => std::fs::rename(ready.keep(), dir),
            // Not those above it: without them there is no repository.
            None => std::fs::create_dir(dir),
        }
    }

    fn new_file(&self) -> io::Result<NamedTempFile> {
        Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(0o444)).tempfile_in(&self.dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_object_is_under_its_name_only_as_a_whole_and_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let mut prepared = Prepared::below(dir.path().to_path_buf());
        // Also once no file and no directory is ready any more.
        for number in 0..3 * READY {
            let path = dir.path().join(format!("{number:02}/object"));
            let content = || {
                assert!(!path.exists());
                number.to_string().into_bytes()
            };
            prepared.write(&path, content).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), number.to_string());
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
            prepared.write(&path, || panic!("it is there")).unwrap();
        }
        assert!(prepared.is_low());
        prepared.refill();
        assert!(!prepared.is_low());
        drop(prepared);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3 * READY, "nothing is left");
    }

    #[test]
    fn what_a_kill_has_left_goes_with_the_next_start() {
        let dir = tempfile::tempdir().unwrap();
        let prepared = Prepared::below(dir.path().to_path_buf());
        // As if it had been killed: nothing is dropped.
        std::mem::forget(prepared);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2 * READY);
        fs::create_dir(dir.path().join("pack")).unwrap();
        drop(Prepared::below(dir.path().to_path_buf()));
        let left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["pack"]);
    }

    #[test]
    fn a_repository_that_is_gone_is_not_made_again() {
        let dir = tempfile::tempdir().unwrap();
        let objects = dir.path().join("objects");
        fs::create_dir(&objects).unwrap();
        let mut prepared = Prepared::below(objects.clone());
        fs::rename(&objects, dir.path().join("aside")).unwrap();
        prepared.write(&objects.join("00/object"), Vec::new).unwrap_err();
        assert!(!objects.exists());
    }
}
