//! Writing files so that no reader ever sees half of one.
//!
//! With `journal/`, the only place that writes state. A whole file is written beside its
//! place and renamed into it; an interrupted write leaves the old one.
#![expect(clippy::disallowed_methods, reason = "this is the one place that writes state")]

mod git_lock;
mod held;
mod prepared;
mod staged;
mod taken;
mod tree_copy;

pub use git_lock::GitLock;
pub use held::{Held, HeldFile};
pub use prepared::Prepared;
pub use staged::{Staged, sync_dir, unstage};
pub use taken::{Taken, Wanted, read_taken};
pub use tree_copy::{TreeCopy, keep_time};

use fs_err as fs;
use rustix::fs::OFlags;
use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempDir};

/// Creates a directory and its parents that only this user can read.
pub fn private_dir(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).map_err(|cause| named(&cause, "create", path))
}

/// Creates a directory of the project and its parents.
pub fn dir(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Replaces a file as a whole.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written_beside(path, content, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    file.persist(path).map_err(|failed| named(&failed.error, "replace", path))?;
    Ok(())
}

/// The same for a file that only this user may read.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written_beside(path, content, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.persist(path).map_err(|failed| named(&failed.error, "replace", path))?;
    Ok(())
}

/// Replaces the content of a file that exists and is not ours: its permissions stay, and
/// a link stays a link to the file that is changed.
pub fn replace_content(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path)?;
    let permissions = fs::metadata(&target)?.permissions();
    let file = written_beside(&target, content, permissions.clone())?;
    // Again, on the open file: there the umask has no say.
    file.as_file().set_permissions(permissions).map_err(|cause| named(&cause, "write", &target))?;
    file.persist(&target).map_err(|failed| named(&failed.error, "replace", &target))?;
    Ok(())
}

/// Writes a file as a whole where nothing stands yet, not even a dangling link.
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written_beside(path, content, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    file.persist_noclobber(path).map_err(|failed| named(&failed.error, "create", path))?;
    Ok(())
}

/// An empty file that is made ahead of time, in the place of one that a kill has left.
pub fn ready_file(path: &Path) -> io::Result<NamedTempFile> {
    let _ = fs::remove_file(path);
    let (dir, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    tempfile::Builder::new().prefix(name).rand_bytes(0).permissions(permissions).tempfile_in(dir)
}

/// Writes a whole file with one that is ready.
pub fn write_ready(mut ready: NamedTempFile, path: &Path, content: &[u8]) -> io::Result<()> {
    ready.write_all(content).map_err(|cause| named(&cause, "write", path))?;
    ready.persist(path).map_err(|failed| named(&failed.error, "replace", path))?;
    Ok(())
}

/// The content in a file beside its place, to be put there.
fn written_beside(path: &Path, content: &[u8], permissions: Permissions) -> io::Result<NamedTempFile> {
    let beside = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".ralph-")
        .permissions(permissions)
        .tempfile_in(beside)
        .map_err(|cause| named(&cause, "write in", beside))?;
    file.write_all(content).map_err(|cause| named(&cause, "write", path))?;
    Ok(file)
}

/// A file that can be run.
pub fn write_program(path: &Path, content: &[u8]) -> io::Result<()> {
    write_whole(path, content)?;
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
}

/// Adds to the end of a regular file, which need not exist.
pub fn append(path: &Path, content: &[u8]) -> io::Result<()> {
    append_with(OFlags::empty(), path, content)
}

/// The same for a file that agents can put something in the place of: a link would have ralph
/// write, outside of their sandbox, where they may not.
pub fn append_unlinked(path: &Path, content: &[u8]) -> io::Result<()> {
    append_with(OFlags::NOFOLLOW, path, content)
}

fn append_with(flags: OFlags, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    // Opening a fifo must not wait for a reader.
    let flags = flags | OFlags::NONBLOCK;
    options.append(true).create(true).custom_flags(flags.bits().cast_signed());
    let mut file = options.open(path).map_err(|cause| named(&cause, "open", path))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other(format!("not a regular file: {}", path.display())));
    }
    file.write_all(content)
}

/// A file to be written at its end, made if it is not there.
pub fn appending(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    options.open(path).map_err(|cause| named(&cause, "open", path))
}

/// A regular file to read; a fifo or a device is refused instead of waited for.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_with(OFlags::empty(), path)
}

fn open_regular_with(flags: OFlags, path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags((flags | OFlags::NONBLOCK).bits().cast_signed());
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// The content of a regular file.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// The same, unless a link has been put in its place.
pub fn read_unlinked(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_regular_with(OFlags::NOFOLLOW, path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// The content of a regular file, unless that is larger.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_small(open_regular(path)?, most)
}

/// The same, unless a link has been put in its place.
pub fn read_unlinked_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_small(open_regular_with(OFlags::NOFOLLOW, path)?, most)
}

fn read_small(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(content)
}

/// The last byte of a regular file, or nothing if it is empty.
pub fn read_last_byte(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut content) = (open_regular(path)?, Vec::new());
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
    }
    file.take(1).read_to_end(&mut content)?;
    Ok(content)
}

/// Makes an empty file that only this user can read. Whether it is new: of several callers that
/// try at once, one gets `true`.
pub fn mark(path: &Path) -> io::Result<bool> {
    let mut options = std::fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(cause) => Err(named(&cause, "create", path)),
    }
}

/// A new, empty file to be written piece by piece; what stood there before is gone, also if
/// it was a link or a fifo: neither is followed. Every holder of the descriptor writes at the
/// end, and a process that kept one can read what was written, whatever has become of the name.
pub fn fresh(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).append(true).create_new(true);
    let opened = match options.open(path) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        opened => opened,
    };
    opened.map_err(|cause| named(&cause, "create", path))
}

/// An empty file that has no name and goes with its last descriptor.
pub fn nameless(dir: &Path) -> io::Result<File> {
    tempfile::tempfile_in(dir).map_err(|cause| named(&cause, "write in", dir))
}

/// How the names of directories begin that would have been removed, had ralph not been killed.
pub const SCRATCH: &str = "scratch.";

/// A directory that goes, with what is in it, when it is dropped.
pub fn scratch_dir(dir: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(SCRATCH).tempdir_in(dir).map_err(|cause| named(&cause, "write in", dir))
}

/// A file to be locked, created if missing, its content kept.
pub fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(path).map_err(|cause| named(&cause, "open", path))
}

/// Makes a file as new as one that was just written.
pub fn touch(path: &Path) -> io::Result<()> {
    let file = File::open(path).map_err(|cause| named(&cause, "open", path))?;
    file.set_modified(std::time::SystemTime::now()).map_err(|cause| named(&cause, "touch", path))
}

/// Only the user may access it.
pub fn only_for_user(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

/// Rewrites a file that is held open, such as a lock that is held.
pub fn rewrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(content)
}

pub fn append_to(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    file.write_all(content)
}

pub fn read_from_start(file: &mut File) -> io::Result<String> {
    let mut content = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut content)?;
    Ok(content)
}

/// Gives the disk blocks of a range back; it then reads as zeros, and all offsets stay.
#[cfg(target_os = "linux")]
pub fn free_range(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, bytes)?)
}

#[cfg(not(target_os = "linux"))]
pub fn free_range(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Replaces a range of a file by a note. No process may write to it meanwhile, nor append with a
/// descriptor that shares its offset afterwards.
pub fn cut_out(file: &File, from: u64, bytes: u64, note: &[u8]) -> io::Result<()> {
    // Otherwise all that is written goes to the end, wherever it is meant for.
    rustix::fs::fcntl_setfl(file, rustix::fs::fcntl_getfl(file)? - OFlags::APPEND)?;
    let (mut read, mut written) = (from + bytes, from + note.len() as u64);
    if written > read {
        return Ok(());
    }
    file.write_all_at(note, from)?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read_at(&mut buffer, read)?;
        if count == 0 {
            return file.set_len(written);
        }
        file.write_all_at(&buffer[..count], written)?;
        (read, written) = (read + count as u64, written + count as u64);
    }
}

/// Whether files can be made in a directory.
pub fn probe(dir: &Path) -> io::Result<()> {
    // Without a name: one would be left, and seen by git, if ralph were killed here.
    nameless(dir).map(drop)
}

/// Whether this user may create and remove files in a directory.
pub fn is_writable(dir: &Path) -> bool {
    rustix::fs::access(dir, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether this user may remove a file from a directory that can be written. An immutable file, one
/// that may only grow, a mount, and another user's file in a directory like `/tmp` stay.
pub fn is_removable(path: &Path, dir: &Path) -> bool {
    let (Ok(file), Ok(dir_meta)) = (path.symlink_metadata(), dir.metadata()) else { return true };
    let user = rustix::process::geteuid();
    let owns = |meta: &std::fs::Metadata| meta.uid() == user.as_raw();
    const STICKY: u32 = 0o1000;
    let may = dir_meta.mode() & STICKY == 0 || user.is_root() || owns(&file) || owns(&dir_meta);
    may && !is_fixed(path, Fixed::File) && !is_fixed(dir, Fixed::Dir)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fixed {
    File,
    Dir,
}

#[cfg(target_os = "linux")]
fn is_fixed(path: &Path, kind: Fixed) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let fixed = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
    let fixed = if kind == Fixed::File { fixed | StatxAttributes::MOUNT_ROOT } else { fixed };
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE);
    found.is_ok_and(|found| found.stx_attributes.intersects(fixed))
}

/// Nothing shows it; the restore itself will.
#[cfg(not(target_os = "linux"))]
fn is_fixed(_: &Path, _: Fixed) -> bool {
    false
}

/// Everybody may look into a directory that was made for this user alone.
pub fn open_to_all(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o755))
}

/// How much can still be written to the disk that a directory is on; nothing where the system
/// does not know.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(dir).ok().filter(|found| found.f_blocks > 0)?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// How much a file or directory takes up on its disk. What cannot be looked at counts as nothing,
/// and so does a file with another name elsewhere, which would go on to take up the same.
pub fn disk_usage(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    let own = meta.blocks().saturating_mul(512);
    if !meta.is_dir() {
        return if meta.nlink() > 1 { 0 } else { own };
    }
    let entries = fs::read_dir(path).into_iter().flatten();
    entries.filter_map(Result::ok).fold(own, |sum, entry| sum.saturating_add(disk_usage(&entry.path())))
}

/// Also where directories in it are read-only, as caches of some build tools are.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path);
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

/// Lets directories be listed and their entries be removed, as far as they are the user's own.
fn make_writable(dir: &Path) {
    let _ = fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        // Links are not followed.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

/// Removes a directory in which there is nothing but directories. Returns whether it is gone.
pub fn remove_empty_tree(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return false };
    let mut entries = entries.map(|entry| entry.and_then(|entry| Ok((entry.file_type()?, entry.path()))));
    let is_empty =
        entries.all(|entry| entry.is_ok_and(|(kind, path)| kind.is_dir() && remove_empty_tree(&path)));
    is_empty && remove_empty_dir(path)
}

/// What tells a file from another one that is put in its place.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Whether the directory was empty and is gone.
pub fn remove_empty_dir(path: &Path) -> bool {
    fs::remove_dir(path).is_ok()
}

/// Puts something complete into its place, where nothing stands yet.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Removes a file or a link if there is one.
pub fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        removed => removed,
    }
}

/// Removes an empty file or directory.
pub fn remove_empty(path: &Path) -> io::Result<()> {
    let meta = path.symlink_metadata()?;
    match meta.is_dir() {
        true => fs::remove_dir(path),
        false if meta.len() == 0 => fs::remove_file(path),
        false => Err(io::ErrorKind::DirectoryNotEmpty.into()),
    }
}

/// Writes a file of a work tree where nothing is; the umask says who else may read it.
pub fn place(path: &Path, content: &[u8], is_program: bool) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(if is_program { 0o777 } else { 0o666 });
    let mut file = options.open(path).map_err(|cause| named(&cause, "create", path))?;
    file.write_all(content).map_err(|cause| named(&cause, "write", path))
}

/// The permissions that a new file of a work tree gets. One is made at this path for a moment.
pub fn usual_mode(path: &Path) -> io::Result<u32> {
    remove_if_there(path)?;
    place(path, b"", false)?;
    let mode = path.symlink_metadata()?.mode() & 0o7777;
    fs::remove_file(path)?;
    Ok(mode)
}

/// A second name for a file.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)
}

/// A name that leads to another path.
pub fn symlink(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at).map_err(|cause| named(&cause, "create", at))
}

/// A file of its own with the same content and permissions.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}

/// Gives something another name, so that it is not lost and no longer in the way; that name.
pub fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let mut aside = path.as_os_str().to_os_string();
        aside.push(format!(".aside-{number}"));
        let aside = PathBuf::from(aside);
        if aside.symlink_metadata().is_err() {
            return rename(path, &aside).map(|()| aside);
        }
        number += 1;
    }
}

/// Whether what is at a path, or would be, is below `root`, wherever links lead to. Agents can
/// replace a directory of the project by a link; ralph, which is in no sandbox, must not write
/// where they may not.
pub fn is_inside(root: &Path, path: &Path) -> bool {
    let Ok(root) = root.canonicalize() else { return false };
    // A dangling link leads where it says.
    let there = |path: &Path| match path.canonicalize() {
        Ok(real) => Some(real.starts_with(&root)),
        Err(_) if path.is_symlink() => Some(false),
        Err(_) => None,
    };
    path.ancestors().find_map(there).unwrap_or(false)
}

/// Refuses a path that leads out of `root`.
pub fn check_inside(root: &Path, path: &Path) -> io::Result<()> {
    match is_inside(root, path) {
        true => Ok(()),
        false => Err(io::Error::other(format!("a link points outside the project: {}", path.display()))),
    }
}

/// Creates a directory of a project and its parents, unless a link leads out of it.
pub fn dir_inside(root: &Path, path: &Path) -> io::Result<()> {
    check_inside(root, path)?;
    dir(path)
}

fn named(cause: &io::Error, verb: &str, path: &Path) -> io::Error {
    io::Error::new(cause.kind(), format!("failed to {verb} `{}`: {cause}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("progress.md");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    #[test]
    fn a_range_in_the_middle_is_cut_out_of_a_file_that_was_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut file = fresh(&path).unwrap();
        let (head, middle, tail) = ("head".repeat(5000), "x".repeat(300_000), "tail".repeat(50_000));
        file.write_all(format!("{head}{middle}{tail}").as_bytes()).unwrap();
        cut_out(&file, head.len() as u64, middle.len() as u64, b"[cut]").unwrap();
        assert!(std::fs::read_to_string(&path).unwrap() == format!("{head}[cut]{tail}"));
        // There is no room for a note.
        cut_out(&file, 4, 4, b"longer than that").unwrap();
        assert!(std::fs::read_to_string(&path).unwrap() == format!("{head}[cut]{tail}"));
    }

    #[test]
    fn a_replaced_content_keeps_permissions_and_links() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
        std::fs::write(&file, "one").unwrap();
        // Wider than what the umask lets through.
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        replace_content(&link, b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o666);
        assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("file"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        assert!(replace_content(&dir.path().join("nowhere"), b"x").is_err());
    }

    #[test]
    fn a_new_file_never_takes_the_place_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| dir.path().join(name));
        write_new(&file, b"one").unwrap();
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        for taken in [&file, &link] {
            assert_eq!(write_new(taken, b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
