//! Files that are replaced as git replaces them: `<file>.lock` is made first, and becomes the file.
//!
//! As long as the lock is there, no git replaces the file; one that was there before is waited for.

use super::{fs, named};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Far longer than a git that asks no questions holds a lock.
const PATIENCE: Duration = Duration::from_secs(2);

/// If it is dropped without a new content, the file stays as it is.
#[derive(Debug)]
pub struct GitLock {
    file: PathBuf,
    lock: PathBuf,
    /// None once the lock is no longer ours.
    held: Option<File>,
}

impl GitLock {
    /// A link leads to the file that is locked, as it does for git.
    pub fn on(file: &Path) -> io::Result<GitLock> {
        let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        let mut lock = file.clone().into_os_string();
        lock.push(".lock");
        let lock = PathBuf::from(lock);
        let deadline = Instant::now() + PATIENCE;
        loop {
            match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&lock) {
                Ok(held) => return Ok(GitLock { file, lock, held: Some(held) }),
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(cause) => return Err(named(&cause, "create", &lock)),
            }
        }
    }

    pub fn replace(mut self, content: &[u8]) -> io::Result<()> {
        let Some(held) = &mut self.held else { return Ok(()) };
        held.write_all(content).map_err(|cause| named(&cause, "write", &self.lock))?;
        if let Ok(before) = self.file.metadata() {
            held.set_permissions(before.permissions()).map_err(|cause| named(&cause, "write", &self.lock))?;
        }
        fs::rename(&self.lock, &self.file)?;
        self.held = None;
        Ok(())
    }

    /// The file goes, then the lock.
    pub fn remove(self) -> io::Result<()> {
        match fs::remove_file(&self.file) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

impl Drop for GitLock {
    fn drop(&mut self) {
        if self.held.take().is_some() {
            let _ = fs::remove_file(&self.lock);
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_under_its_lock_and_the_lock_is_gone_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let [file, lock, link] = ["HEAD", "HEAD.lock", "link"].map(|name| dir.path().join(name));
        std::os::unix::fs::symlink("HEAD", &link).unwrap();
        GitLock::on(&file).unwrap().replace(b"one").unwrap();
        let held = GitLock::on(&link).unwrap();
        assert!(lock.exists());
        assert_eq!(GitLock::on(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        held.replace(b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        drop(GitLock::on(&file).unwrap());
        assert!(file.exists() && !lock.exists() && link.is_symlink());
        GitLock::on(&file).unwrap().remove().unwrap();
        GitLock::on(&file).unwrap().remove().unwrap();
        assert!(!file.exists() && !lock.exists());
    }
}
