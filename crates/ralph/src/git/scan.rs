//! What the files of a work tree look like from outside: names, kinds, sizes and times.
//!
//! Two scans tell, without git, whether a snapshot can differ from the one before. The rule is that
//! of git's own index: equal times prove nothing of a file that was changed shortly before it was
//! looked at, because it may have been changed again within the same tick of the clock. Of a few such
//! files the content is compared; the others count as changed, and git reads them.
//!
//! Deliberately absent: patterns of ignored files. Only git interprets those; what it has named
//! as ignored is skipped here.

use super::ignored::Ignored;
use super::stamp::{Kind, Mode, Moment, Stamp, settled_before_now};
use crate::fsx;
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How much is looked at.
struct Most {
    /// More files are left to git, which looks at them with several threads.
    files: usize,
    /// So many files that were just changed are read to compare them, and so many bytes.
    recent: usize,
    recent_bytes: u64,
}

const OF_WORK_TREE: Most = Most { files: 10_000, recent: 64, recent_bytes: 1 << 20 };
/// Here git takes longer: it looks at everything twice, and the first time in one thread.
const OF_COPY: Most = Most { files: 50_000, recent: 2_000, recent_bytes: 16 << 20 };

/// From so many directories on, several threads are worth their start.
const MANY_DIRS: usize = 16;
const MOST_THREADS: usize = 4;

/// After so many new files git is asked which of them are ignored.
const MOST_NEW: usize = 100;

const GITIGNORE: &str = ".gitignore";

/// A work tree at a moment.
#[derive(Debug)]
pub(super) struct Scan {
    /// The files of each directory, by name; directories are relative to the top.
    dirs: BTreeMap<PathBuf, BTreeMap<OsString, Stamp>>,
    /// What was changed later may be changed again without looking different.
    settled_before: Moment,
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

impl Scan {
    pub(super) fn of(top: &Path, ignored: &Ignored) -> Result<Scan, Unfit> {
        // Before the first file: what is changed from here on is recent.
        Scan::with(top, ignored, &OF_WORK_TREE, settled_before_now())
    }

    /// Of a directory that only checks write to. Nothing was changed after `settled_before`, if that is
    /// given.
    pub(super) fn of_copy(
        top: &Path,
        ignored: &Ignored,
        settled_before: Option<Moment>,
    ) -> Result<Scan, Unfit> {
        Scan::with(top, ignored, &OF_COPY, settled_before.unwrap_or_else(settled_before_now))
    }

    fn with(top: &Path, ignored: &Ignored, most: &Most, settled_before: Moment) -> Result<Scan, Unfit> {
        let names = ignored.files.iter().filter_map(|path| path.file_name()).collect();
        let looker = Looker { top, ignored, names, most: most.files, seen: AtomicUsize::new(0) };
        let (mut dirs, mut ahead) = (BTreeMap::new(), vec![PathBuf::new()]);
        while !ahead.is_empty() {
            let found = looker.look_into(&ahead)?;
            let mut below = Vec::new();
            for (dir, found) in ahead.into_iter().zip(found) {
                below.extend(found.dirs);
                dirs.insert(dir, found.files);
            }
            ahead = below;
        }
        let mut scan = Scan { dirs, settled_before, contents: BTreeMap::new() };
        scan.contents = scan.recent_contents(top, most);
        Ok(scan)
    }

    fn recent_contents(&self, top: &Path, most: &Most) -> BTreeMap<PathBuf, u64> {
        let all = self.dirs.iter().flat_map(|(dir, files)| files.iter().map(move |file| (dir, file)));
        let recent = all.filter(|(_, (_, stamp))| !self.is_settled(stamp) && stamp.kind != Kind::Special);
        let recent: Vec<_> = recent.take(most.recent + 1).collect();
        let bytes: u64 = recent.iter().map(|(_, (_, stamp))| stamp.size).sum();
        if recent.len() > most.recent || bytes > most.recent_bytes {
            return BTreeMap::new();
        }
        let paths = recent.into_iter().map(|(dir, (name, _))| dir.join(name));
        paths.filter_map(|path| content_hash(&top.join(&path)).map(|hash| (path, hash))).collect()
    }

    /// What git would not make, and does not see: pipes, sockets and devices, and files with other
    /// permissions than new ones get.
    pub(super) fn odd_files(&self, usual: u32) -> Vec<PathBuf> {
        let all = self.dirs.iter().flat_map(|(dir, files)| files.iter().map(move |file| (dir, file)));
        let odd = all.filter(|(_, (_, stamp))| match stamp.kind {
            Kind::File => stamp.permissions() != stamp.as_recorded(usual),
            Kind::Special => true,
            Kind::Link => false,
        });
        odd.map(|(dir, (name, _))| dir.join(name)).collect()
    }

    fn is_settled(&self, stamp: &Stamp) -> bool {
        stamp.is_settled(self.settled_before)
    }

    /// Whether a file that looks as it did in this scan has the same content.
    fn has_same_content(&self, top: &Path, path: &Path) -> bool {
        self.contents.get(path).is_some_and(|hash| content_hash(&top.join(path)) == Some(*hash))
    }

    /// Forgets what git has found to be ignored since.
    pub(super) fn without(mut self, ignored: &Ignored) -> Scan {
        self.dirs.retain(|dir, _| !dir.ancestors().any(|above| ignored.dirs.contains(above)));
        ignored.files.iter().for_each(|path| self.forget(path));
        self
    }

    /// A file that was written since, with what is in it.
    pub(super) fn note_written(
        &mut self,
        place: &Path,
        path: &Path,
        meta: &Metadata,
        content: &[u8],
    ) -> io::Result<()> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
        let stamp = stamp_of(place, meta)?;
        self.contents.insert(path.to_path_buf(), hash(content));
        for dir in dir.ancestors() {
            self.dirs.entry(dir.to_path_buf()).or_default();
        }
        self.dirs.entry(dir.to_path_buf()).or_default().insert(name.to_os_string(), stamp);
        Ok(())
    }

    /// A file that was removed since.
    pub(super) fn forget(&mut self, path: &Path) {
        self.contents.remove(path);
        if let (Some(dir), Some(name)) = (path.parent(), path.file_name()) {
            self.dirs.get_mut(dir).and_then(|files| files.remove(name));
        }
    }

    /// A directory that was removed since.
    pub(super) fn forget_dir(&mut self, dir: &Path) {
        self.dirs.remove(dir);
    }

    /// Makes it a scan of long ago, for tests.
    #[cfg(test)]
    pub(super) fn settle(&mut self) {
        self.settled_before = (i64::MAX, 0);
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
            if files == before && files.values().all(|stamp| earlier.is_settled(stamp)) {
                continue;
            }
            let gone = before.keys().filter(|name| !files.contains_key(*name)).map(|name| (name, None));
            let there = files.iter().map(|(name, stamp)| (name, Some(stamp)));
            for (name, stamp) in gone.chain(there) {
                let known = before.get(name);
                let looks_the_same = known == stamp;
                let same_if =
                    |is_certain: &dyn Fn(&Stamp) -> bool| looks_the_same && stamp.is_some_and(is_certain);
                if same_if(&|stamp| earlier.is_settled(stamp)) {
                    continue;
                }
                let path = dir.join(name);
                if same_if(&|_| earlier.has_same_content(top, &path)) {
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
        now.zip(stamp).is_some_and(|(now, stamp)| Stamp::of(&now).with_patterns(stamp.patterns) == *stamp)
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
    /// Of ignored files, wherever they are.
    names: HashSet<&'a OsStr>,
    most: usize,
    /// Files and directories so far.
    seen: AtomicUsize,
}

impl Looker<'_> {
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
            if self.seen.fetch_add(1, Ordering::Relaxed) == self.most {
                return Err(Unfit::TooLarge);
            }
            if meta.is_dir() {
                let path = dir.join(&name);
                if !self.ignored.dirs.contains(&path) {
                    found.dirs.push(path);
                }
            } else if !self.names.contains(name.as_os_str()) || !self.ignored.files.contains(&dir.join(&name))
            {
                let stamp =
                    if name == GITIGNORE { stamp_of(&entry.path(), &meta)? } else { Stamp::of(&meta) };
                found.files.insert(name, stamp);
            }
        }
        Ok(found)
    }
}

/// With the patterns of a `.gitignore`.
fn stamp_of(path: &Path, meta: &Metadata) -> io::Result<Stamp> {
    let (stamp, mut patterns) = (Stamp::of(meta), None);
    if path.ends_with(GITIGNORE) && stamp.kind == Kind::File {
        patterns = Some(hash(&fsx::read_regular(path)?));
    }
    Ok(stamp.with_patterns(patterns))
}

fn can_be_recorded(path: &Path, stamp: &Stamp, largest_file: u64) -> bool {
    match stamp.kind {
        Kind::File => stamp.size <= largest_file && fsx::open_regular(path).is_ok(),
        Kind::Link => true,
        Kind::Special => false,
    }
}

fn content_hash(path: &Path) -> Option<u64> {
    let content = match path.read_link() {
        Ok(target) => target.into_os_string().into_encoded_bytes(),
        Err(_) => fsx::read_unlinked(path).ok()?,
    };
    Some(hash(&content))
}

/// With a key of this process: no content can be made to have the hash of another.
fn hash(content: &[u8]) -> u64 {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    let mut hasher = KEY.get_or_init(RandomState::new).build_hasher();
    hasher.write(content);
    hasher.finish()
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
        for number in 0..=OF_WORK_TREE.files {
            fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        assert_eq!(Scan::of(dir.path(), &Ignored::default()).unwrap_err(), Unfit::TooLarge);
    }
}
