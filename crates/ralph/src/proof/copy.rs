//! A clean copy of what is delivered, seen at the workspace's own path.
//!
//! Made before the first agent, kept for the run and refreshed by difference. Invariant: nothing in
//! it comes from an agent but the delivered tree itself, directories of dependencies, and files that
//! no tree holds; the last two are named if they have changed.

use super::carry::{self, Ignored, Manifests};
use super::mounts::{self, Access, Bwrap, Mounts};
use super::outside::{self, Stamp};
use crate::fsx::{self, TreeCopy};
use crate::git::delivered::{AtStart, CheckedOut};
use crate::git::shadow::{Shadow, ShadowError};
use crate::layout::RunDir;
use ralph_loop::Run;
use ralph_loop::proof::ProofSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::thread;
use thiserror::Error;

/// What was ignored at the start is copied up to so many bytes; what is more is used as it is.
const MOST_COPIED: u64 = 8 << 30;
/// So much of the disk has to stay free.
const LEAST_FREE: u64 = 1 << 30;
/// So many ignored files are named, and so many paths are taken along.
const MOST_NAMED: usize = 10;
const MOST_TAKEN_ALONG: usize = 200;

#[derive(Debug, Error)]
pub enum CopyError {
    #[error("{0}")]
    Shadow(#[from] ShadowError),
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub struct CleanCopy {
    dir: PathBuf,
    /// The top of the work tree that it is a copy of.
    top: PathBuf,
    start: Start,
    /// Of the user's repository; asked for once.
    at_start: Option<AtStart>,
    mounts: Option<Mounts>,
}

/// What was there before the first agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Start {
    /// None where nothing can be mounted: the copy is then entered at its own path.
    bwrap: Option<Bwrap>,
    /// Directories that are used as they are, and other paths that no tree holds.
    dependencies: Manifests,
    outside: Vec<(PathBuf, Stamp)>,
    /// Ignored paths that are no dependencies.
    ignored: BTreeSet<PathBuf>,
}

/// What a copy has that does not come from its tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Directories of dependencies that have changed since the start.
    pub carried: Vec<String>,
    /// Dependencies have to be installed first.
    pub setup: bool,
    pub taken_along: Vec<String>,
    /// Ignored paths that were made since the start, the first of them.
    pub ignored: Vec<String>,
}

impl CleanCopy {
    /// One that was made before, if it was.
    pub fn open(run_dir: &RunDir, top: &Path) -> Option<CleanCopy> {
        let dir = run_dir.proof();
        let start = serde_json::from_slice(&fs_err::read(dir.join(START)).ok()?).ok()?;
        Some(CleanCopy { dir, top: top.to_path_buf(), start, at_start: None, mounts: None })
    }

    /// Makes the copy of an untouched tree, or says why there can be none.
    pub fn make(
        run_dir: &RunDir,
        shadow: &Shadow,
        tree: &str,
        spec: &ProofSpec,
        unrecorded: &[String],
        agents: &[String],
    ) -> Result<Result<CleanCopy, String>, CopyError> {
        let (dir, top) = (run_dir.proof(), shadow.top().to_path_buf());
        if run_dir.dir().starts_with(&top) {
            return Ok(Err("ralph's records are inside the project (RALPH_HOME)".to_string()));
        }
        if dir.symlink_metadata().is_ok() {
            fsx::remove_tree(&dir)?;
        }
        fsx::private_dir(&dir.join(TREE))?;
        let bwrap = match mounts::find(&dir) {
            Ok(bwrap) => Some(bwrap),
            // What was installed for another path is of no use: it has to be installed again.
            Err(_) if !spec.setup.is_empty() => None,
            Err(why) => return Ok(Err(why)),
        };
        for name in [TMP, PYCACHE] {
            fsx::private_dir(&dir.join(name))?;
        }
        let start = Start { bwrap, ..Start::default() };
        let mut copy = CleanCopy { dir, top, start, at_start: None, mounts: None };
        shadow.check_out(&copy.checked_out(), tree)?;
        copy.seed(&Ignored::of(&shadow.ignored()?, &spec.carry));
        for path in unrecorded.iter().cloned().chain(shadow.submodules(tree)?) {
            copy.note_dependency(Path::new(path.trim_end_matches('/')));
        }
        copy.start.outside = outside::look(agents).into_iter().collect();
        // Last: a copy without it was not finished.
        let start = serde_json::to_vec(&copy.start).map_err(io::Error::other)?;
        fsx::write_whole(&copy.dir.join(START), &start)?;
        Ok(Ok(copy))
    }

    fn checked_out(&self) -> CheckedOut {
        CheckedOut { dir: self.dir.join(TREE), index: self.dir.join(INDEX) }
    }

    /// Copies what is ignored, as it is before the first agent.
    fn seed(&mut self, ignored: &Ignored) {
        let free = fsx::free_bytes(&self.dir).unwrap_or(u64::MAX);
        let mut copier = TreeCopy::of_at_most(MOST_COPIED.min(free.saturating_sub(LEAST_FREE)));
        for path in &ignored.others {
            let to = self.dir.join(TREE).join(path);
            match copier.copy(&self.top.join(path), &to) {
                Ok(()) => {
                    self.start.ignored.insert(path.clone());
                }
                // Too much, or not readable: it is used as it is.
                Err(_) => {
                    let _ = fsx::remove_tree(&to);
                    self.note_dependency(path);
                }
            }
        }
        for path in &ignored.dependencies {
            self.note_dependency(path);
        }
    }

    fn note_dependency(&mut self, path: &Path) {
        let Some(name) = path.to_str() else { return };
        self.start.dependencies.insert(name.to_string(), carry::manifest(&self.top.join(path)));
    }

    /// Makes the copy the same as a tree again. `unrecorded` are paths that no tree holds.
    pub fn refresh(
        &mut self,
        shadow: &Shadow,
        tree: &str,
        spec: &ProofSpec,
        unrecorded: &[String],
        agents: &[String],
    ) -> Result<Refreshed, CopyError> {
        let place = self.checked_out();
        let at_start = self.at_start.get_or_insert_with(|| shadow.at_start());
        // None of these needs what another one finds.
        let (written, repository, ignored, submodules, outside) = thread::scope(|scope| {
            let written = scope.spawn(|| shadow.refresh(&place, tree));
            let ignored = scope.spawn(|| shadow.ignored());
            let submodules = scope.spawn(|| shadow.submodules(tree));
            let outside = scope.spawn(|| outside::look(agents));
            let repository = shadow.make_repository(&place, tree, at_start);
            (written.join(), repository, ignored.join(), submodules.join(), outside.join())
        });
        let (written, ignored, submodules) = (joined(written)?, joined(ignored)?, joined(submodules)?);
        written?;
        repository?;
        shadow.add_index(&place)?;
        // Python takes compiled code for that of its source if size and second are the same, and two
        // rounds can be in one second.
        for name in [TMP, PYCACHE] {
            let dir = self.dir.join(name);
            fsx::remove_tree(&dir)?;
            fsx::private_dir(&dir)?;
        }
        let ignored = Ignored::of(&ignored?, &spec.carry);
        let mut found = Refreshed::default();
        let Some(bwrap) = self.start.bwrap.clone() else {
            (self.mounts, found.setup) = (None, true);
            return Ok(found);
        };
        let mut mounts = Mounts::by(bwrap);
        self.mount_temporary(&mut mounts, shadow);
        mounts.bind(place.dir.clone(), self.top.clone(), Access::Write);
        self.mount_modules(&mut mounts, shadow)?;
        self.mount_dependencies(&mut mounts, &ignored, spec, &mut found)?;
        // A repository inside that the tree does not name is not delivered.
        let files = unrecorded.iter().filter(|path| !path.ends_with('/')).cloned();
        let along: Vec<String> = files.chain(submodules?).collect();
        self.mount_unrecorded(&mut mounts, &along, &mut found)?;
        let before = self.start.outside.iter().cloned().collect();
        let outside = outside::changed(&before, &joined(outside)?);
        found.carried.extend(outside.into_iter().take(MOST_NAMED));
        // Compiled Python beside the sources could be an agent's.
        mounts.env.push(("PYTHONPYCACHEPREFIX".into(), self.dir.join(PYCACHE).into()));
        let new = ignored.others.difference(&self.start.ignored);
        let new = new.filter(|path| !self.start.ignored.iter().any(|known| path.starts_with(known)));
        found.ignored = new.take(MOST_NAMED).map(|path| path.display().to_string()).collect();
        self.mounts = Some(mounts);
        Ok(found)
    }

    /// Temporary files are the checks' own, but for sockets of services, and for what is needed and lies
    /// there.
    fn mount_temporary(&self, mounts: &mut Mounts, shadow: &Shadow) {
        let own = std::env::var_os("TMPDIR").map(PathBuf::from).and_then(|dir| dir.canonicalize().ok());
        let places: BTreeSet<PathBuf> = own.into_iter().chain([PathBuf::from("/tmp")]).collect();
        for place in places.iter().filter(|place| place.is_dir() && **place != self.top) {
            mounts.bind(self.dir.join(TMP), place.clone(), Access::Write);
            for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                let is_service =
                    entry.file_type().is_ok_and(|kind| kind.is_socket()) || entry.file_name() == ".X11-unix";
                if is_service {
                    mounts.bind(entry.path(), entry.path(), Access::Write);
                }
            }
        }
        mounts.empty(PathBuf::from("/dev/shm"));
        let hidden = |path: &PathBuf| places.iter().any(|place| path.starts_with(place) && path != place);
        let path = std::env::var_os("PATH");
        let programs = path.iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute());
        let home = std::env::home_dir().into_iter().map(|home| (home, Access::Write));
        let ralphs = [shadow.kept().dir().join("objects"), self.dir.join(PYCACHE)];
        let ralphs = ralphs.into_iter().map(|dir| (dir, Access::Write));
        let programs = programs.map(|dir| (dir, Access::Read));
        for (dir, access) in home.chain(programs).chain(ralphs).filter(|(dir, _)| hidden(dir) && dir.is_dir())
        {
            mounts.bind(dir.clone(), dir, access);
        }
    }

    /// Submodules have their repositories inside of the user's.
    fn mount_modules(&self, mounts: &mut Mounts, shadow: &Shadow) -> io::Result<()> {
        if let Some(modules) = shadow.modules() {
            let inside = Path::new(".git/modules");
            fsx::private_dir(&self.dir.join(TREE).join(inside))?;
            mounts.bind(modules, self.top.join(inside), Access::Read);
        }
        Ok(())
    }

    fn mount_dependencies(
        &self,
        mounts: &mut Mounts,
        ignored: &Ignored,
        spec: &ProofSpec,
        found: &mut Refreshed,
    ) -> io::Result<()> {
        // Also those that are too large to be copied.
        let known = ignored
            .others
            .iter()
            .filter(|path| self.start.dependencies.contains_key(&path.display().to_string()));
        let all: BTreeSet<&PathBuf> = ignored.dependencies.iter().chain(known).collect();
        for (number, path) in all.into_iter().enumerate() {
            let outside = self.top.join(path);
            let Ok(meta) = outside.symlink_metadata() else { continue };
            let name = path.display().to_string();
            let has_changed = self.start.dependencies.get(&name) != Some(&carry::manifest(&outside));
            // What the agent has changed is installed again, where the user says how.
            if has_changed && meta.is_dir() && !spec.setup.is_empty() {
                found.setup = true;
                continue;
            }
            if has_changed {
                found.carried.push(name);
            }
            if meta.is_symlink() {
                continue;
            }
            let inside = self.top.join(path);
            self.make_mount_point(path, meta.is_dir())?;
            mounts.bind(outside.clone(), inside, Access::Write);
            for (cache_number, cache) in carry::caches(&outside).into_iter().enumerate() {
                let own = self.dir.join(CACHES).join(format!("{number}-{cache_number}"));
                fsx::private_dir(&own)?;
                mounts.bind(own, cache, Access::Write);
            }
        }
        Ok(())
    }

    fn mount_unrecorded(
        &self,
        mounts: &mut Mounts,
        unrecorded: &[String],
        found: &mut Refreshed,
    ) -> io::Result<()> {
        for name in unrecorded.iter().take(MOST_TAKEN_ALONG) {
            let path = Path::new(name.trim_end_matches('/'));
            let outside = self.top.join(path);
            let Ok(meta) = outside.symlink_metadata() else { continue };
            if meta.is_symlink() {
                continue;
            }
            let key = path.display().to_string();
            if self.start.dependencies.get(&key) != Some(&carry::manifest(&outside)) {
                found.carried.push(key);
            }
            self.make_mount_point(path, meta.is_dir())?;
            mounts.bind(outside.clone(), outside, Access::Write);
            found.taken_along.push(name.clone());
        }
        Ok(())
    }

    /// Something to mount on, where the copy has nothing.
    fn make_mount_point(&self, path: &Path, is_dir: bool) -> io::Result<()> {
        let point = self.dir.join(TREE).join(path);
        if point.symlink_metadata().is_ok() {
            return Ok(());
        }
        if is_dir {
            return fsx::dir(&point);
        }
        if let Some(above) = point.parent() {
            fsx::dir(above)?;
        }
        fsx::write_whole(&point, b"")
    }

    /// What it takes to see what checks have changed in it.
    pub fn compared_with(&self, run: &Run) -> Option<(Shadow, CheckedOut)> {
        let run_dir = RunDir::at(self.dir.parent()?.to_path_buf());
        Some((Shadow::open(&run.place, run_dir.checkpoints(), run.largest_file)?, self.checked_out()))
    }

    /// The top of the work tree that it is a copy of.
    pub fn top(&self) -> &PathBuf {
        &self.top
    }

    /// Where a directory of the work tree is in the copy.
    pub fn seen_at(&self, dir: &Path) -> PathBuf {
        self.dir.join(TREE).join(dir.strip_prefix(&self.top).unwrap_or(Path::new("")))
    }

    /// For the checks of the round that it was last refreshed for; none where nothing can be mounted.
    pub fn mounts(&self) -> Option<&Mounts> {
        self.mounts.as_ref()
    }

    /// Where a check that is to run in a directory of the work tree is started.
    pub fn entered_at(&self, dir: &Path) -> PathBuf {
        if self.mounts.is_some() { dir.to_path_buf() } else { self.seen_at(dir) }
    }
}

/// A thread that has panicked says nothing.
pub(super) fn joined<T>(result: thread::Result<T>) -> io::Result<T> {
    result.map_err(|_| io::Error::other("a thread has ended early"))
}

/// An index that trees are put together in.
pub fn scratch_index(run_dir: &RunDir) -> PathBuf {
    run_dir.proof().join("index.scratch")
}

const START: &str = "start.json";
const TREE: &str = "tree";
const INDEX: &str = "index";
/// Temporary files of the checks.
const TMP: &str = "tmp";
const PYCACHE: &str = "pycache";
const CACHES: &str = "caches";
