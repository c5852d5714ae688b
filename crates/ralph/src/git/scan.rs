//! What the files of a work tree look like from outside: names, kinds, sizes and times.
//!
//! Two scans tell, without git, whether a snapshot can differ from the one before. The rule is that
//! of git's own index: equal times prove nothing of a file that was changed shortly before it was
//! looked at, because it may have been changed again within the same tick of the clock. Of a few such
//! files the content is compared; the others count as changed, and git reads them.
//!
//! Deliberately absent: patterns of ignored files. Only git interprets those; what it has named
//! as ignored is skipped here.

use crate::fsx;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// More files are left to git, which looks at them with several threads.
const MOST_FILES: usize = 10_000;

/// From so many directories on, several threads are worth their start.
const MANY_DIRS: usize = 16;
const MOST_THREADS: usize = 4;

/// After so many new files git is asked which of them are ignored.
const MOST_NEW: usize = 100;

/// Times closer than this to the scan prove nothing. Git takes one second.
const RECENT_SECONDS: i64 = 2;

/// So many files that were just changed are read to compare them, and so many bytes.
const MOST_RECENT: usize = 64;
const MOST_RECENT_BYTES: u64 = 1 << 20;

const GITIGNORE: &str = ".gitignore";

/// Untracked paths that git ignores.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    files: BTreeSet<PathBuf>,
    dirs: BTreeSet<PathBuf>,
}

impl Ignored {
    /// As git names it: a directory ends with a slash. A `.gitignore` that is ignored still says what
    /// else is.
    pub(super) fn insert(&mut self, path: &[u8]) {
        if path.ends_with(b"/.gitignore") || path == b".gitignore" {
            return;
        }
        match path.strip_suffix(b"/") {
            Some(dir) => self.dirs.insert(PathBuf::from(OsStr::from_bytes(dir))),
            None => self.files.insert(PathBuf::from(OsStr::from_bytes(path))),
        };
    }

    pub(super) fn insert_files(&mut self, paths: impl Iterator<Item = PathBuf>) {
        self.files.extend(paths);
    }
}

/// A work tree at a moment.
#[derive(Debug)]
pub(super) struct Scan {
    /// The files of each directory, by name; directories are relative to the top.
    dirs: BTreeMap<PathBuf, BTreeMap<OsString, Stamp>>,
    /// Seconds since the epoch at which it was begun.
    at: i64,
    /// Hashes of files that were changed shortly before, if they are few.
    contents: BTreeMap<PathBuf, u64>,
}

/// Why a work tree cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    TooLarge,
    /// A repository inside, or a directory that cannot be read.
    Unreadable,
}

impl From<io::Error> for Unfit {
    fn from(_: io::Error) -> Unfit {
        Unfit::Unreadable
    }
}

/// What differs between two scans.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference {
    Nothing,
    /// These files, which are not ignored unless they are new.
    In(Changed),
    /// Git has to find out.
    Unclear,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) files: Vec<ChangedFile>,
    /// Those among them that were not there before.
    pub(super) new_files: Vec<PathBuf>,
    /// The size of all files to be read.
    pub(super) bytes: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Relative to the top.
    pub(super) path: PathBuf,
    /// None if it is gone.
    pub(super) now: Option<Mode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    Executable,
    Link,
}

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    kind: Kind,
    mode: u32,
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    /// A hash of the content of a `.gitignore`: what git ignores must be certain.
    patterns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Link,
    /// A fifo, a socket, a device.
    Special,
}

impl Stamp {
    /// Of a file that was not changed just now: while its stamp is the same, so is its content.
    pub(super) fn settled(path: &Path) -> Option<Stamp> {
        let now = seconds();
        let stamp = Stamp::of(&path.metadata().ok()?);
        (!stamp.is_recent(now)).then_some(stamp)
    }

    /// Whether a file that looked like this at some second may have been changed since without
    /// looking different.
    fn is_recent(&self, at: i64) -> bool {
        self.modified.0.max(self.changed.0) > at - RECENT_SECONDS
    }

    /// What a tree has for it.
    fn recorded_mode(&self) -> Mode {
        match self.kind {
            Kind::Link => Mode::Link,
            Kind::File | Kind::Special if self.mode & 0o100 != 0 => Mode::Executable,
            Kind::File | Kind::Special => Mode::Plain,
        }
    }

    fn of(meta: &Metadata) -> Stamp {
        let of_type = meta.file_type();
        let special =
            of_type.is_fifo() || of_type.is_socket() || of_type.is_block_device() || of_type.is_char_device();
        let kind = match of_type.is_symlink() {
            true => Kind::Link,
            false if special => Kind::Special,
            false => Kind::File,
        };
        Stamp {
            kind,
            mode: meta.mode(),
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            patterns: None,
        }
    }
}

impl Scan {
    pub(super) fn of(top: &Path, ignored: &Ignored) -> Result<Scan, Unfit> {
        // Before the first file: what is changed from here on is recent.
        let at = seconds();
        let (mut dirs, mut ahead, looker) = (BTreeMap::new(), vec![PathBuf::new()], Looker::at(top, ignored));
        while !ahead.is_empty() {
            let found = looker.look_into(&ahead)?;
            let mut below = Vec::new();
            for (dir, found) in ahead.into_iter().zip(found) {
                below.extend(found.dirs);
                dirs.insert(dir, found.files);
            }
            ahead = below;
        }
        let mut scan = Scan { dirs, at, contents: BTreeMap::new() };
        scan.contents = scan.recent_contents(top);
        Ok(scan)
    }

    fn recent_contents(&self, top: &Path) -> BTreeMap<PathBuf, u64> {
        let all = self.dirs.iter().flat_map(|(dir, files)| files.iter().map(move |file| (dir, file)));
        let recent = all.filter(|(_, (_, stamp))| stamp.is_recent(self.at) && stamp.kind == Kind::File);
        let recent: Vec<_> = recent.take(MOST_RECENT + 1).collect();
        let bytes: u64 = recent.iter().map(|(_, (_, stamp))| stamp.size).sum();
        if recent.len() > MOST_RECENT || bytes > MOST_RECENT_BYTES {
            return BTreeMap::new();
        }
        let paths = recent.into_iter().map(|(dir, (name, _))| dir.join(name));
        paths.filter_map(|path| content_hash(&top.join(&path)).map(|hash| (path, hash))).collect()
    }

    /// Whether a file that looks as it did in this scan has the same content.
    fn has_same_content(&self, top: &Path, path: &Path) -> bool {
        self.contents.get(path).is_some_and(|hash| content_hash(&top.join(path)) == Some(*hash))
    }

    /// Forgets what git has found to be ignored since.
    pub(super) fn without(mut self, ignored: &Ignored) -> Scan {
        self.dirs.retain(|dir, _| !dir.ancestors().any(|above| ignored.dirs.contains(above)));
        for path in &ignored.files {
            if let (Some(dir), Some(name)) = (path.parent(), path.file_name())
                && let Some(files) = self.dirs.get_mut(dir)
            {
                files.remove(name);
            }
        }
        self
    }

    /// Makes it a scan of long ago, for tests.
    #[cfg(test)]
    pub(super) fn settle(&mut self) {
        self.at = i64::MAX;
    }

    /// What differs from an earlier scan of the same tree. `largest_file` is what can be recorded.
    pub(super) fn since(&self, earlier: &Scan, top: &Path, largest_file: u64) -> Difference {
        let (mut changed, mut differs) = (Changed::default(), false);
        for (dir, files) in earlier.dirs.iter().filter(|(dir, _)| !self.dirs.contains_key(*dir)) {
            differs = true;
            let gone = |name: &OsString| ChangedFile { path: dir.join(name), now: None };
            changed.files.extend(files.keys().map(gone));
        }
        for (dir, files) in &self.dirs {
            let Some(before) = earlier.dirs.get(dir) else { return Difference::Unclear };
            let gone = before.keys().filter(|name| !files.contains_key(*name)).map(|name| (name, None));
            let there = files.iter().map(|(name, stamp)| (name, Some(stamp)));
            for (name, stamp) in gone.chain(there) {
                let known = before.get(name);
                let looks_the_same = known == stamp;
                let path = dir.join(name);
                if looks_the_same
                    && stamp.is_some_and(|stamp| {
                        !stamp.is_recent(earlier.at) || earlier.has_same_content(top, &path)
                    })
                {
                    continue;
                }
                differs |= !looks_the_same;
                if name == GITIGNORE && known.map(|file| file.patterns) != stamp.map(|file| file.patterns) {
                    return Difference::Unclear;
                }
                if let Some(stamp) = stamp {
                    if !can_be_recorded(&top.join(&path), stamp, largest_file) {
                        return Difference::Unclear;
                    }
                    changed.bytes = changed.bytes.saturating_add(stamp.size);
                    if known.is_none() {
                        changed.new_files.push(path.clone());
                    }
                }
                changed.files.push(ChangedFile { path, now: stamp.map(Stamp::recorded_mode) });
            }
        }
        match (changed.files.is_empty() && !differs, changed.new_files.len()) {
            (true, _) => Difference::Nothing,
            // Git can look at files that may have changed without writing anything.
            (false, _) if !differs => Difference::Unclear,
            (false, ..=MOST_NEW) => Difference::In(changed),
            (false, _) => Difference::Unclear,
        }
    }

    /// Whether a file has been there, and the same, from the scan until now.
    pub(super) fn still_holds(&self, top: &Path, path: &Path) -> bool {
        let stamp = path.parent().zip(path.file_name()).and_then(|(dir, name)| self.dirs.get(dir)?.get(name));
        let now = top.join(path).symlink_metadata().ok();
        now.zip(stamp)
            .is_some_and(|(now, stamp)| Stamp { patterns: stamp.patterns, ..Stamp::of(&now) } == *stamp)
    }
}

/// What is in one directory and not ignored.
struct Found {
    files: BTreeMap<OsString, Stamp>,
    dirs: Vec<PathBuf>,
}

struct Looker<'a> {
    top: &'a Path,
    ignored: &'a Ignored,
    /// Files and directories so far.
    seen: AtomicUsize,
}

impl<'a> Looker<'a> {
    fn at(top: &'a Path, ignored: &'a Ignored) -> Looker<'a> {
        Looker { top, ignored, seen: AtomicUsize::new(0) }
    }

    /// Looks into directories; into many of them with several threads, as git does.
    fn look_into(&self, dirs: &[PathBuf]) -> Result<Vec<Found>, Unfit> {
        let look = |dirs: &[PathBuf]| dirs.iter().map(|dir| self.look_at(dir)).collect();
        if dirs.len() < MANY_DIRS {
            return look(dirs);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        std::thread::scope(|all| {
            let started = dirs.chunks(dirs.len().div_ceil(threads)).map(|dirs| all.spawn(move || look(dirs)));
            let started: Vec<_> = started.collect();
            let found = started.into_iter().map(|thread| match thread.join() {
                Ok(found) => found,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            let found: Vec<Vec<Found>> = found.collect::<Result<_, Unfit>>()?;
            Ok(found.into_iter().flatten().collect())
        })
    }

    fn look_at(&self, dir: &Path) -> Result<Found, Unfit> {
        let mut found = Found { files: BTreeMap::new(), dirs: Vec::new() };
        for entry in fs_err::read_dir(self.top.join(dir))? {
            let entry = entry?;
            let name = entry.file_name();
            if name == ".git" {
                if dir.as_os_str().is_empty() {
                    continue;
                }
                return Err(Unfit::Unreadable);
            }
            let meta = match entry.metadata() {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                meta => meta?,
            };
            if self.seen.fetch_add(1, Ordering::Relaxed) == MOST_FILES {
                return Err(Unfit::TooLarge);
            }
            let path = dir.join(&name);
            if meta.is_dir() {
                if !self.ignored.dirs.contains(&path) {
                    found.dirs.push(path);
                }
            } else if !self.ignored.files.contains(&path) {
                let mut stamp = Stamp::of(&meta);
                if name == GITIGNORE && stamp.kind == Kind::File {
                    stamp.patterns = Some(hash(&fsx::read_regular(&self.top.join(&path))?));
                }
                found.files.insert(name, stamp);
            }
        }
        Ok(found)
    }
}

fn can_be_recorded(path: &Path, stamp: &Stamp, largest_file: u64) -> bool {
    match stamp.kind {
        Kind::File => stamp.size <= largest_file && fsx::open_regular(path).is_ok(),
        Kind::Link => true,
        Kind::Special => false,
    }
}

fn content_hash(path: &Path) -> Option<u64> {
    Some(hash(&fsx::read_regular(path).ok()?))
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}

fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_change_is_found_in_each_of_many_directories() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        let file = |number: usize| format!("d{}/e{number}/file", number % 5);
        for number in 0..60 {
            fs::create_dir_all(top.join(file(number)).parent().unwrap()).unwrap();
            fs::write(top.join(file(number)), "a").unwrap();
        }
        let ignored = Ignored::default();
        let mut before = Scan::of(top, &ignored).unwrap();
        before.settle();
        for number in 0..60 {
            fs::write(top.join(file(number)), "changed").unwrap();
            let now = Scan::of(top, &ignored).unwrap();
            let Difference::In(changed) = now.since(&before, top, 1 << 20) else { panic!("{number}") };
            let paths: Vec<PathBuf> = changed.files.into_iter().map(|file| file.path).collect();
            assert_eq!(paths, [PathBuf::from(file(number))]);
            before = now;
            before.settle();
        }
        assert_eq!(Scan::of(top, &ignored).unwrap().since(&before, top, 1 << 20), Difference::Nothing);
    }

    #[test]
    fn more_files_than_can_be_compared_are_left_to_git() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=MOST_FILES {
            fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        assert_eq!(Scan::of(dir.path(), &Ignored::default()).unwrap_err(), Unfit::TooLarge);
    }
}
