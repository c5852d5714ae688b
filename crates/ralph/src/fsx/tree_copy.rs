//! Copies of whole directories, with modes and times, and never linked to what was copied.

use super::named;
use std::collections::HashMap;
use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// No build output has directories as deep as this.
const DEEPEST: usize = 128;

/// Copies files, as long as they are not too many.
pub struct TreeCopy {
    /// Bytes that may still be copied.
    pub bytes_left: u64,
    /// When to give up.
    until: Option<Instant>,
    /// Files that have several names get as many in the copy.
    names: HashMap<(u64, u64), PathBuf>,
}

impl TreeCopy {
    pub fn of_at_most(bytes: u64) -> TreeCopy {
        TreeCopy { bytes_left: bytes, until: None, names: HashMap::new() }
    }

    /// Fails with `TimedOut` afterwards.
    pub fn until(self, moment: Instant) -> TreeCopy {
        TreeCopy { until: Some(moment), ..self }
    }

    /// A file, a link or a directory with all that is in it. What is none of these is left out.
    pub fn copy(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if let Some(above) = to.parent() {
            super::dir(above)?;
        }
        self.copy_below(from, to, 0)
    }

    fn copy_below(&mut self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        let meta = match fs::symlink_metadata(from) {
            Ok(meta) => meta,
            // Gone meanwhile.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(cause) => return Err(named(&cause, "read", from)),
        };
        if meta.is_dir() && depth < DEEPEST {
            super::dir(to)?;
            for entry in fs::read_dir(from).map_err(|cause| named(&cause, "read", from))? {
                let name = entry?.file_name();
                self.copy_below(&from.join(&name), &to.join(&name), depth + 1)?;
            }
            let mode = fs::Permissions::from_mode(meta.mode() | 0o700);
            return fs::set_permissions(to, mode).map_err(|cause| named(&cause, "write", to));
        }
        if meta.is_symlink() {
            let target = fs::read_link(from).map_err(|cause| named(&cause, "read", from))?;
            return std::os::unix::fs::symlink(target, to).map_err(|cause| named(&cause, "create", to));
        }
        if meta.is_file() { self.copy_file(from, to, &meta) } else { Ok(()) }
    }

    fn copy_file(&mut self, from: &Path, to: &Path, meta: &Metadata) -> io::Result<()> {
        let identity = (meta.dev(), meta.ino());
        if meta.nlink() > 1
            && let Some(copied) = self.names.get(&identity)
        {
            return super::link(copied, to);
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.bytes_left = self.bytes_left.checked_sub(meta.len()).ok_or(io::ErrorKind::QuotaExceeded)?;
        match super::copy(from, to) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
            copied => copied?,
        }
        set_time(to, meta)?;
        if meta.nlink() > 1 {
            self.names.insert(identity, to.to_path_buf());
        }
        Ok(())
    }
}

/// Gives a file the time that another one has, if both are files of the same length.
pub fn keep_time(from: &Path, to: &Path) -> io::Result<()> {
    let (there, here) = (fs::symlink_metadata(from)?, fs::symlink_metadata(to)?);
    if there.is_file() && here.is_file() && there.len() == here.len() { set_time(to, &there) } else { Ok(()) }
}

fn set_time(path: &Path, meta: &Metadata) -> io::Result<()> {
    // A file that may only be read has a time as well.
    let file = File::open(path)?;
    file.set_times(FileTimes::new().set_modified(meta.modified()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_modes_times_and_links_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to/copy"));
        super::super::dir(&from.join("sub")).unwrap();
        fs::write(from.join("sub/a"), "a").unwrap();
        fs::hard_link(from.join("sub/a"), from.join("b")).unwrap();
        std::os::unix::fs::symlink("sub/a", from.join("link")).unwrap();
        fs::set_permissions(from.join("b"), fs::Permissions::from_mode(0o555)).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        File::open(from.join("b")).unwrap().set_times(FileTimes::new().set_modified(old)).unwrap();
        TreeCopy::of_at_most(1).copy(&from, &to).unwrap();
        let meta = fs::metadata(to.join("b")).unwrap();
        assert_eq!((meta.mode() & 0o777, meta.modified().unwrap(), meta.nlink()), (0o555, old, 2));
        assert_eq!(fs::metadata(to.join("sub/a")).unwrap().ino(), meta.ino());
        assert_ne!(fs::metadata(from.join("b")).unwrap().ino(), meta.ino());
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("sub/a"));
    }

    #[test]
    fn too_much_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "12345").unwrap();
        let copied = TreeCopy::of_at_most(4).copy(&dir.path().join("a"), &dir.path().join("b"));
        assert_eq!(copied.unwrap_err().kind(), io::ErrorKind::QuotaExceeded);
    }
}
