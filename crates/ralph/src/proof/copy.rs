//! A clean copy of what is delivered, seen at the workspace's own path.
//!
//! Made before the first agent, kept for the run and refreshed by difference. Invariant: nothing in
//! it comes from an agent but the delivered tree itself, directories of dependencies, and files that
//! no tree holds; the last two are named if they have changed.

use super::carry::{self, Ignored, Manifests};
use super::mounted::temporary_places;
use super::mounts::{self, Access, Bwrap, Mounts};
use super::outside::{self, Stamp, Stamps};
use super::watched::{Compared, Moment};
use crate::fsx::{self, TreeCopy};
use crate::git::checked_out::{self, CheckedOut};
use crate::git::objects::Objects;
use crate::git::shadow::{Shadow, ShadowError};
use crate::git::users_head::AtStart;
use crate::layout::RunDir;
use ralph_loop::Run;
use ralph_loop::proof::ProofSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// What was ignored at the start is copied up to so many bytes; what is more is used as it is.
const MOST_COPIED: u64 = 8 << 30;
/// So much of the disk has to stay free.
const LEAST_FREE: u64 = 1 << 30;
/// So many ignored files are named.
const MOST_NAMED: usize = 10;

/// A second is waited for in so many parts.
const SHORT_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: usize = 200;

#[derive(Debug, Error)]
pub enum CopyError {
    #[error("{0}")]
    Shadow(#[from] ShadowError),
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub struct CleanCopy {
    pub(super) dir: PathBuf,
    pub(super) place: CheckedOut,
    /// The top of the work tree that it is a copy of.
    pub(super) top: PathBuf,
    pub(super) start: Start,
    /// Of the user's repository; asked for once.
    at_start: Option<AtStart>,
    mounts: Option<CopyMounts>,
    /// Made in the copy to mount something on.
    pub(super) points: Vec<PathBuf>,
    /// When it was last refreshed.
    refreshed: Option<Moment>,
    /// The same, if that was for a claim: before the first agent nothing is written.
    wrote: Option<Moment>,
}

/// How checks see it.
struct CopyMounts {
    alone: Mounts,
    /// In a sandbox, which has temporary files and a home of its own, and hides ralph's records.
    in_sandbox: Mounts,
}

/// What was there before the first agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// None where nothing can be mounted: the copy is then entered at its own path.
    bwrap: Option<Bwrap>,
    /// Directories that are used as they are, and other paths that no tree holds.
    pub(super) dependencies: Manifests,
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
    pub took: Duration,
}

/// What a copy is made with, beside a tree.
pub struct Around<'a> {
    pub spec: &'a ProofSpec,
    /// Programs that replace themselves.
    pub agents: &'a [String],
    /// Paths of the work tree that git ignores, and those that no tree holds.
    pub ignored: Vec<PathBuf>,
    pub unrecorded: Vec<String>,
}

/// What is there before a copy is refreshed.
pub struct Looked {
    copy: Option<checked_out::Looked>,
    /// Looking at the copy took so long.
    took: Duration,
    outside: Stamps,
    dependencies: Manifests,
}

impl Looked {
    /// What a path that is used as it is consists of.
    pub(super) fn manifest(&self, name: &str, outside: &Path) -> String {
        self.dependencies.get(name).cloned().unwrap_or_else(|| carry::manifest(outside))
    }
}

impl CleanCopy {
    fn at(dir: PathBuf, top: PathBuf, start: Start) -> CleanCopy {
        let place = CheckedOut::at(dir.join(TREE), dir.join(INDEX));
        CleanCopy {
            dir,
            place,
            top,
            start,
            at_start: None,
            mounts: None,
            points: Vec::new(),
            refreshed: None,
            wrote: None,
        }
    }

    /// One that was made before, if it was.
    pub fn open(run_dir: &RunDir, top: &Path) -> Option<CleanCopy> {
        let dir = run_dir.proof();
        let start = serde_json::from_slice(&fs_err::read(dir.join(START)).ok()?).ok()?;
        Some(CleanCopy::at(dir, top.to_path_buf(), start))
    }

    /// Makes the copy of an untouched tree, or says why there can be none.
    pub fn make(
        run_dir: &RunDir,
        shadow: &Shadow,
        tree: &str,
        around: &Around<'_>,
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
            Err(_) if !around.spec.setup.is_empty() => None,
            Err(why) => return Ok(Err(why)),
        };
        for name in [TMP, PYCACHE] {
            fsx::private_dir(&dir.join(name))?;
        }
        let mut copy = CleanCopy::at(dir, top, Start { bwrap, ..Start::default() });
        shadow.check_out(&copy.place, tree)?;
        copy.seed(&Ignored::of(&around.ignored, &around.spec.carry));
        for path in around.unrecorded.iter().cloned().chain(shadow.submodules(tree)?) {
            copy.note_dependency(Path::new(path.trim_end_matches('/')));
        }
        copy.start.outside = outside::look(around.agents).into_iter().collect();
        // Last: a copy without it was not finished.
        let start = serde_json::to_vec(&copy.start).map_err(io::Error::other)?;
        fsx::write_whole(&copy.dir.join(START), &start)?;
        Ok(Ok(copy))
    }

    /// Copies what is ignored, as it is before the first agent.
    fn seed(&mut self, ignored: &Ignored) {
        let free = fsx::free_bytes(&self.dir).unwrap_or(u64::MAX);
        let mut copier = TreeCopy::of_at_most(MOST_COPIED.min(free.saturating_sub(LEAST_FREE)));
        for path in &ignored.others {
            let to = self.place.dir.join(path);
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

    /// Looks at what checks and agents may have changed.
    pub fn look(&self, agents: &[String]) -> Looked {
        let began = Instant::now();
        let (copy, took) = (self.place.look(), began.elapsed());
        let manifest = |name: &String| (name.clone(), carry::manifest(&self.top.join(name)));
        let dependencies = self.start.dependencies.keys().map(manifest).collect();
        Looked { copy, took, outside: outside::look(agents), dependencies }
    }

    /// Makes the copy the same as a tree again.
    pub fn refresh(
        &mut self,
        objects: &mut Objects,
        tree: &str,
        around: &Around<'_>,
        mut looked: Looked,
    ) -> Result<Refreshed, CopyError> {
        let (began, mut found) = (Instant::now(), Refreshed::default());
        for point in self.points.drain(..) {
            // There may be something in it now.
            if fsx::remove_empty(&self.place.dir.join(point)).is_err() {
                self.place.distrust();
            }
        }
        let submodules = self.place.refresh(objects, tree, looked.copy.take())?;
        let at_start = self.at_start.get_or_insert_with(|| objects.shadow().at_start());
        self.place.make_repository(objects, tree, at_start)?;
        // Python takes compiled code for that of its source if size and second are the same, and two
        // rounds can be in one second.
        for name in [TMP, PYCACHE] {
            let dir = self.dir.join(name);
            fsx::remove_tree(&dir)?;
            fsx::private_dir(&dir)?;
        }
        self.refreshed = Moment::now_in(&self.dir).ok();
        let (shadow, ignored) = (objects.shadow(), Ignored::of(&around.ignored, &around.spec.carry));
        let outside = outside::changed(&self.start.outside, &looked.outside).into_iter().take(MOST_NAMED);
        let Some(bwrap) = self.start.bwrap.clone() else {
            // Nothing hides what an agent has left there.
            let temporary = temporary_places().into_iter().map(|place| place.display().to_string());
            (self.mounts, found.setup, found.carried) = (None, true, temporary.chain(outside).collect());
            found.took = looked.took + began.elapsed();
            return Ok(found);
        };
        let mut mounts = Mounts::by(bwrap.clone());
        mounts.bind(self.place.dir.clone(), self.top.clone(), Access::Write);
        self.mount_modules(&mut mounts, shadow)?;
        self.mount_dependencies(&mut mounts, &ignored, around.spec, &looked, &mut found)?;
        // A repository inside that the tree does not name is not delivered.
        let files = around.unrecorded.iter().filter(|path| !path.ends_with('/')).cloned();
        let along: Vec<String> = files.chain(submodules.iter().cloned()).collect();
        self.mount_unrecorded(&mut mounts, &along, &looked, &mut found)?;
        found.carried.extend(outside);
        // Compiled Python beside the sources could be an agent's.
        mounts.env.push(("PYTHONPYCACHEPREFIX".into(), self.dir.join(PYCACHE).into()));
        let new = ignored.others.difference(&self.start.ignored);
        let new = new.filter(|path| self.top.join(path).symlink_metadata().is_ok());
        let new = new.filter(|path| !self.start.ignored.iter().any(|known| path.starts_with(known)));
        found.ignored = new.take(MOST_NAMED).map(|path| path.display().to_string()).collect();
        let [mut alone, mut in_sandbox] = [Mounts::by(bwrap.clone()), Mounts::by(bwrap)];
        self.mount_temporary(&mut alone, shadow);
        for (dir, access) in self.needed_records(shadow) {
            in_sandbox.bind(dir.clone(), dir, access);
        }
        alone.extend(&mounts);
        in_sandbox.extend(&mounts);
        self.mounts = Some(CopyMounts { alone, in_sandbox });
        found.took = looked.took + began.elapsed();
        Ok(found)
    }

    /// What it takes to see what checks have changed in it.
    pub fn compared_with(&self, run: &Run) -> Option<Compared> {
        let run_dir = RunDir::at(self.dir.parent()?.to_path_buf());
        let shadow = Shadow::open(run_dir.checkpoints(), run.largest_file)?;
        Some(Compared::copy(shadow, self.place.clone(), self.refreshed?))
    }

    /// The top of the work tree that it is a copy of.
    pub fn top(&self) -> &PathBuf {
        &self.top
    }

    /// Where a directory of the work tree is in the copy.
    pub fn seen_at(&self, dir: &Path) -> PathBuf {
        self.place.dir.join(dir.strip_prefix(&self.top).unwrap_or(Path::new("")))
    }

    /// The next round writes files in another whole second than the last one. Tools that compare seconds
    /// (and sizes) would take a file that was put back for the one that they have seen.
    pub fn leave_second(&mut self) {
        let Some(wrote) = self.wrote else { return };
        for _ in 0..LONGEST_WAIT {
            match Moment::now_in(&self.dir) {
                Ok(now) if now.is_in_second_of(wrote) => thread::sleep(SHORT_WAIT),
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// It was refreshed for a claim.
    pub fn note_second(&mut self) {
        self.wrote = self.refreshed;
    }

    /// Has the checks of this round see a file outside as another one. Not where nothing can be mounted.
    pub fn show_as(&mut self, from: PathBuf, to: PathBuf) -> bool {
        let Some(CopyMounts { alone, in_sandbox }) = &mut self.mounts else { return false };
        alone.bind(from.clone(), to.clone(), Access::Read);
        // There the home has no settings but those that every program inside may read.
        if !std::env::home_dir().is_some_and(|home| to.starts_with(home)) {
            in_sandbox.bind(from, to, Access::Read);
        }
        true
    }

    /// For the checks of the round that it was last refreshed for; none where nothing can be mounted.
    pub fn mounts(&self, in_sandbox: bool) -> Option<&Mounts> {
        let mounts = self.mounts.as_ref()?;
        Some(if in_sandbox { &mounts.in_sandbox } else { &mounts.alone })
    }

    /// Checks see it at the path of the work tree.
    pub fn is_mounted(&self) -> bool {
        self.mounts.is_some()
    }

    /// Where a check that is to run in a directory of the work tree is started.
    pub fn entered_at(&self, dir: &Path) -> PathBuf {
        if self.is_mounted() { dir.to_path_buf() } else { self.seen_at(dir) }
    }
}

const START: &str = "start.json";
const TREE: &str = "tree";
const INDEX: &str = "index";
/// Temporary files of the checks.
pub(super) const TMP: &str = "tmp";
pub(super) const PYCACHE: &str = "pycache";
pub(super) const CACHES: &str = "caches";
