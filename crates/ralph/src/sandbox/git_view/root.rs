//! One repository, its copy, and the steps between both.

use super::GitViewError;
use super::carry::Carrying;
use super::config::{self, MOST_BYTES};
use super::copy::{BORROWED, Copying, alternates, borrowed, git_dirs, unknown_dirs};
use super::stamp::Stamp;
use super::taken;
use crate::fsx;
use crate::git::GitError;
use crate::proof::mounts::{Access, Mounts};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Root {
    /// In the directory of the run.
    dir: PathBuf,
    /// The git directory that all worktrees share. The copy is seen at this path.
    pub(super) real: PathBuf,
    /// What the run's worktree has for itself, relative to that: nothing, or `worktrees/NAME`.
    pub(super) own: PathBuf,
    /// The top of the work tree.
    pub(super) top: PathBuf,
    /// Where the real objects are seen inside.
    pub(super) seen: PathBuf,
    known: Mutex<Known>,
}

/// What the last look has shown.
#[derive(Debug, Default)]
struct Known {
    real: Option<Stamp>,
    copy: Option<Stamp>,
    /// The copy is to be made again, although nothing has changed outside.
    spoiled: bool,
    /// There is something in the copy that could not be carried over yet.
    pending: bool,
}

impl Root {
    /// The repository of a work tree, if its `.git` is where it is expected.
    pub(super) fn locate(dir: PathBuf, top: &Path, seen: PathBuf) -> Result<Root, GitViewError> {
        let place = top.join(".git");
        let Ok(meta) = place.symlink_metadata() else {
            return Err(GitViewError::Elsewhere(top.to_path_buf()));
        };
        if meta.is_symlink() {
            return Err(GitViewError::Linked(place));
        }
        let unreadable = |source| GitViewError::Unreadable { path: place.clone(), source };
        let own = if meta.is_dir() {
            place.clone()
        } else {
            let pointer = fsx::read_regular(&place).map_err(unreadable)?;
            let target = pointer.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end);
            let target = target.ok_or_else(|| unreadable(io::Error::other("it names no directory")))?;
            top.join(OsStr::from_bytes(target))
        };
        let own = own.canonicalize().map_err(unreadable)?;
        let real = match fs::read(own.join("commondir")) {
            Ok(path) => {
                own.join(OsStr::from_bytes(path.trim_ascii_end())).canonicalize().map_err(unreadable)?
            }
            Err(_) => own.clone(),
        };
        fs::metadata(own.join("HEAD")).map_err(unreadable)?;
        let below = own.strip_prefix(&real).map(Path::to_path_buf);
        match below {
            Ok(own) if own.as_os_str().is_empty() || own.parent() == Some(Path::new("worktrees")) => {
                Ok(Root { dir, real, own, top: top.to_path_buf(), seen, known: Mutex::default() })
            }
            Ok(_) | Err(_) => Err(GitViewError::Unusual { own, common: real }),
        }
    }

    pub(super) fn copy(&self) -> PathBuf {
        self.dir.join("git")
    }

    /// What the copy was when it and the real repository were last the same.
    pub(super) fn base(&self) -> PathBuf {
        self.dir.join("base")
    }

    /// The configuration as it was put into the first copy.
    pub(super) fn at_start(&self) -> PathBuf {
        self.dir.join("start")
    }

    /// For one use at a time.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a work tree has for itself, in a git directory below.
    pub(super) fn own_of(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() { self.own.clone() } else { below.to_path_buf() }
    }

    /// Files with configuration, whether they exist or not.
    pub(super) fn config_files(&self, below: &Path) -> Vec<PathBuf> {
        let mut files = vec![below.join("config"), below.join("config.worktree")];
        files.push(self.own_of(below).join("config.worktree"));
        files.dedup();
        files
    }

    /// Whether there is a copy that programs may have worked with.
    pub(super) fn was_used(&self) -> bool {
        self.base().is_dir()
    }

    /// Worktrees that were made inside, relative to the git directory.
    pub(super) fn made_worktrees(&self) -> BTreeSet<PathBuf> {
        let listed = fs::read(self.dir.join(WORKTREES)).unwrap_or_default();
        let names = listed.split(|byte| *byte == b'\n').filter(|name| !name.is_empty());
        names.map(|name| Path::new("worktrees").join(OsStr::from_bytes(name))).collect()
    }

    pub(super) fn note_worktrees(&self, made: &BTreeSet<PathBuf>) -> io::Result<()> {
        let names = made.iter().filter_map(|path| path.file_name());
        let listed: Vec<u8> = names.flat_map(|name| [name.as_bytes(), b"\n"].concat()).collect();
        fsx::write_whole(&self.dir.join(WORKTREES), &listed)
    }

    pub(super) fn mount(&self, mounts: &mut Mounts) {
        let copy = self.copy();
        mounts.bind(copy.clone(), self.real.clone(), Access::Write);
        for below in git_dirs(&self.real, &self.own) {
            let real = self.real.join(&below);
            for (name, at) in [("objects", &self.seen), ("lfs", &self.seen), ("hooks", &self.real)] {
                // Also what a link leads to.
                if let Ok(from) = real.join(name).canonicalize() {
                    mounts.bind(from, at.join(&below).join(name), Access::Read);
                } else if name == "hooks" {
                    mounts.bind(self.dir.join(EMPTY), at.join(&below).join(name), Access::Read);
                }
            }
            for alternate in alternates(&real.join("objects")) {
                mounts.bind(alternate.clone(), alternate, Access::Read);
            }
        }
        for name in unknown_dirs(&self.real) {
            if let Ok(from) = self.real.join(&name).canonicalize() {
                mounts.bind(from, self.real.join(name), Access::Read);
            }
        }
    }

    /// Makes the copy again if something has changed outside.
    pub(super) fn refresh(&self) -> Result<(), GitError> {
        let now = Stamp::of(&self.real);
        let is_same = {
            let known = self.known();
            !known.spoiled && !known.pending && now.is_some() && known.real == now && self.was_used()
        };
        // A lock that a killed git has left would stop all that follow.
        if is_same && !has_locks(&self.copy(), 0) && self.finds_objects() {
            return Ok(());
        }
        if self.known().pending {
            // It is all that there is of what could not be carried over.
            return Ok(());
        }
        self.make().map_err(GitError::Io)?;
        let owns: Vec<PathBuf> = self.owns().into_iter().collect();
        let (copy, last) = (self.copy(), self.dir.join("git.last"));
        let last = Some(last.as_path()).filter(|last| last.is_dir());
        Copying { root: self, to: &copy, last, owns: &owns }.carry_out()?;
        if let Some(last) = last {
            fsx::remove_tree(last).map_err(GitError::Io)?;
        }
        let base = self.dir.join("base.new");
        remove(&base).map_err(GitError::Io)?;
        taken::take(self, &base).map_err(GitError::Io)?;
        remove(&base.join("objects")).map_err(GitError::Io)?;
        fsx::rename(&base, &self.base()).map_err(GitError::Io)?;
        *self.known() = Known { real: now, copy: Stamp::of(&copy), spoiled: false, pending: false };
        Ok(())
    }

    fn finds_objects(&self) -> bool {
        const MOST: u64 = 1 << 20;
        git_dirs(&self.real, &self.own).iter().all(|below| {
            let listed = fsx::read_taken(&self.copy(), &below.join(BORROWED), MOST);
            listed.is_some_and(|listed| listed == borrowed(self, below))
        })
    }

    /// Room for a new copy. The last one is carried over, so from here on nothing needs it.
    fn make(&self) -> io::Result<()> {
        let last = self.dir.join("git.last");
        fsx::private_dir(&self.dir.join(EMPTY))?;
        // First: without it the copy is known to be of no use.
        remove(&self.base())?;
        if self.copy().is_dir() && !last.is_dir() {
            fsx::rename(&self.copy(), &last)?;
        }
        remove(&self.copy())?;
        fsx::private_dir(&self.copy())
    }

    /// Carries over what programs inside have done; sentences about what was not, or may surprise.
    pub(super) fn carry_over(&self, keep_under: &str) -> Vec<String> {
        if !self.was_used() {
            return Vec::new();
        }
        let mut told = self.carry_changes(keep_under);
        told.extend(self.disarm());
        told
    }

    fn carry_changes(&self, keep_under: &str) -> Vec<String> {
        let now = Stamp::of(&self.copy());
        {
            let known = self.known();
            if now.is_some() && known.copy == now && !known.pending {
                return Vec::new();
            }
        }
        let mut carrying = Carrying::of(self, keep_under);
        let done = carrying.carry_out();
        let Carrying { mut told, spoiled, .. } = carrying;
        let mut known = self.known();
        match done {
            Ok(()) => {
                known.copy = now;
                known.pending = false;
                known.spoiled |= spoiled;
            }
            Err(cause) => {
                known.pending = true;
                told.push(format!("what git did inside is not carried over yet: {cause}"));
            }
        }
        told
    }

    /// The worktree of the run, and those that were made inside.
    pub(super) fn owns(&self) -> BTreeSet<PathBuf> {
        let mut owns = self.made_worktrees();
        owns.insert(self.own.clone());
        owns
    }

    /// How the configuration inside differs from what it was: `key: old → new`.
    pub(super) fn config_changes(&self) -> Vec<String> {
        let mut changes = Vec::new();
        for below in git_dirs(&self.real, &self.own) {
            for file in self.config_files(&below) {
                changes.extend(self.changes_of(&file).into_iter().map(|change| match below.to_str() {
                    Some("") => change,
                    _ => format!("{}: {change}", below.display()),
                }));
            }
        }
        changes
    }

    fn changes_of(&self, file: &Path) -> Vec<String> {
        let start = self.at_start().join(file);
        let Some(now) = fsx::read_taken(&self.copy(), file, MOST_BYTES) else {
            return if start.exists() { vec![format!("{} was removed", file.display())] } else { Vec::new() };
        };
        let aside = self.scratch("config.now");
        let listed = fsx::write_whole(&aside, &now).map_err(GitError::Io).and_then(|()| config::list(&aside));
        match (config::list(&start), listed) {
            (Ok(before), Ok(now)) => config::changes(&before, &now),
            (_, Err(_)) => vec![format!("{} can no longer be read", file.display())],
            (Err(_), Ok(_)) => Vec::new(),
        }
    }
}

/// Names of worktrees that were made inside, one a line.
const WORKTREES: &str = "worktrees";
const EMPTY: &str = "empty";

fn has_locks(dir: &Path, depth: usize) -> bool {
    const DEEPEST: usize = 16;
    let mut entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => {
            entry.file_name() != "objects" && depth < DEEPEST && has_locks(&entry.path(), depth + 1)
        }
        Ok(_) => entry.file_name().as_bytes().ends_with(b".lock"),
        Err(_) => false,
    })
}

/// Whatever it is, and whether it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(meta) if meta.is_dir() => fsx::remove_tree(path),
        Ok(_) => fsx::remove(path),
    }
}
