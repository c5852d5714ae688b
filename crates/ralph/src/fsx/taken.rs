//! Copies out of a directory that agents write to.
//!
//! Invariant: no link is followed, neither at the end of a path nor on its way, whatever is
//! swapped meanwhile, so that nothing comes into the copy that the agents cannot read themselves.
//! Only regular files of a bounded size are copied; a fifo or a device is not even opened.

use super::named;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, statat};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// No git directory has directories as deep as this.
const DEEPEST: usize = 64;

/// What to do with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    No,
    /// A file up to this size, or a directory.
    UpTo(u64),
}

#[derive(Debug, Default)]
pub struct Taken {
    /// How many files there may be.
    pub files_left: usize,
    /// Wanted, and no regular file or too large; relative to what was copied.
    pub left_out: Vec<PathBuf>,
}

impl Taken {
    pub fn of_at_most(files: usize) -> Taken {
        Taken { files_left: files, left_out: Vec::new() }
    }

    /// Copies what is wanted of `from`, which is below `root` and asked for by its path below that. Nothing may be at `to`.
    pub fn copy(
        &mut self,
        root: &Path,
        from: &Path,
        to: &Path,
        wanted: &dyn Fn(&Path) -> Wanted,
    ) -> io::Result<()> {
        let dir = open_below(root, from)?;
        super::dir(to)?;
        self.copy_dir(&dir, Path::new(""), to, wanted, 0)
    }

    fn copy_dir(
        &mut self,
        dir: &OwnedFd,
        below: &Path,
        to: &Path,
        wanted: &dyn Fn(&Path) -> Wanted,
        depth: usize,
    ) -> io::Result<()> {
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let path = below.join(name);
            let Wanted::UpTo(most) = wanted(&path) else { continue };
            // Gone meanwhile.
            let Ok(found) = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory if depth < DEEPEST => {
                    let Ok(inner) = openat(dir, name, DIRECTORY, Mode::empty()) else { continue };
                    let to = to.join(name);
                    super::dir(&to)?;
                    self.copy_dir(&inner, &path, &to, wanted, depth + 1)?;
                }
                FileType::RegularFile if self.files_left > 0 => {
                    self.files_left -= 1;
                    if !copy_file(dir, name, &to.join(name), most)? {
                        self.left_out.push(path);
                    }
                }
                _ => self.left_out.push(path),
            }
        }
        Ok(())
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Opening a fifo must not wait for a writer.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

fn open_below(root: &Path, below: &Path) -> io::Result<OwnedFd> {
    let mut dir = open(root, DIRECTORY, Mode::empty()).map_err(|cause| named(&cause.into(), "open", root))?;
    for part in below.components() {
        dir = openat(&dir, part.as_os_str(), DIRECTORY, Mode::empty())?;
    }
    Ok(dir)
}

/// Whether it is a regular file and not too large. One that goes meanwhile is no failure.
fn copy_file(dir: &OwnedFd, name: &OsStr, to: &Path, most: u64) -> io::Result<bool> {
    let Ok(file) = openat(dir, name, FILE, Mode::empty()) else { return Ok(false) };
    let file = File::from(file);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > most {
        return Ok(false);
    }
    let mut copy = super::fresh(to)?;
    let copied = io::copy(&mut file.take(most.saturating_add(1)), &mut copy);
    copied.map(|bytes| bytes <= most).map_err(|cause| named(&cause, "write", to))
}

/// A regular file of a bounded size that agents can write; nothing if it is anything else.
pub fn read_taken(root: &Path, below: &Path, most: u64) -> Option<Vec<u8>> {
    let dir = open_below(root, below.parent()?).ok()?;
    let file = File::from(openat(&dir, below.file_name()?, FILE, Mode::empty()).ok()?);
    let meta = file.metadata().ok()?;
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content).ok()?;
    (meta.is_file() && content.len() as u64 <= most).then_some(content)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_large_files_stay_behind_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let [root, secret, to] = ["root", "secret", "to"].map(|name| dir.path().join(name));
        fs::create_dir_all(root.join("own/deep")).unwrap();
        fs::create_dir_all(&secret).unwrap();
        fs::write(secret.join("key"), "k").unwrap();
        fs::write(root.join("own/deep/a"), "12345").unwrap();
        fs::write(root.join("own/large"), "123456").unwrap();
        fs::write(root.join("own/unwanted"), "1").unwrap();
        symlink(&secret, root.join("own/dir")).unwrap();
        symlink(secret.join("key"), root.join("own/file")).unwrap();
        let wanted = |path: &Path| if path.ends_with("unwanted") { Wanted::No } else { Wanted::UpTo(5) };
        let mut taken = Taken::of_at_most(10);
        taken.copy(&root, Path::new("own"), &to, &wanted).unwrap();
        taken.left_out.sort();
        assert_eq!(taken.left_out, ["dir", "file", "large"].map(PathBuf::from));
        let found: Vec<_> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(found, ["deep"]);
        assert_eq!(fs::read(to.join("deep/a")).unwrap(), b"12345");
        assert!(
            Taken::of_at_most(1).copy(&root, Path::new("own/dir"), &dir.path().join("x"), &wanted).is_err()
        );
        assert_eq!(read_taken(&root, Path::new("own/deep/a"), 5).unwrap(), b"12345");
        for not in ["own/deep/a/b", "own/dir/key", "own/file", "own/large", "own/deep", "none"] {
            assert_eq!(read_taken(&root, Path::new(not), 5), None, "{not}");
        }
    }

    #[test]
    fn more_files_than_allowed_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let [root, to] = ["root", "to"].map(|name| dir.path().join(name));
        fs::create_dir(&root).unwrap();
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), "").unwrap();
        }
        let mut taken = Taken::of_at_most(2);
        taken.copy(&root, Path::new(""), &to, &|_| Wanted::UpTo(0)).unwrap();
        assert_eq!((taken.left_out.len(), fs::read_dir(&to).unwrap().count()), (1, 2));
    }
}
