//! The files of a round before its checks, so that what a check writes is noticed.
//!
//! Contents are compared by git, with an index of ralph's own. A file that was written to and put back
//! has its old content, and can have its old time too, so times of change (ctime) decide, which no
//! program can set; git itself compares them by the second. Invariant: nothing is written into the
//! user's work tree or repository. Deliberately absent: who wrote a file. A user who edits files in
//! the work tree while the checks run there is taken for one of the checks.

use super::prepare::Preparation;
use crate::fsx;
use crate::git::checked_out::CheckedOut;
use crate::git::shadow::Shadow;
use crate::layout::RunDir;
use ralph_loop::Run;
use ralph_loop::proof::{Prepared, Round};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A time of the clock that files of a directory go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64, i64);

impl Moment {
    pub fn now_in(dir: &Path) -> io::Result<Moment> {
        let path = dir.join("moment");
        fsx::write_whole(&path, b"")?;
        Ok(Moment::of_change(&path.symlink_metadata()?))
    }

    pub fn is_in_second_of(self, other: Moment) -> bool {
        self.0 == other.0
    }

    fn of_change(meta: &fs::Metadata) -> Moment {
        Moment(meta.ctime(), meta.ctime_nsec())
    }
}

/// When a file was last changed, and which one it is.
type Stamp = (u64, Moment);

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.ino(), Moment::of_change(&meta)))
}

/// What shows that a file was written to.
enum Written {
    /// In the copy, which lies beside the clock: everything that has changed since.
    Since(Moment),
    /// In the work tree, which can be on a disk with another clock: what differs from this.
    Unlike(Arc<HashMap<String, Stamp>>),
}

/// The files that a check runs on, as they were before the round.
pub struct Compared {
    shadow: Shadow,
    place: CheckedOut,
    written: Written,
    /// What differed from the tree before the round: files that no tree holds.
    beside: Arc<BTreeSet<String>>,
    /// Ralph's own files and directories of the plan, which ralph and people write to at any time.
    unwatched: Vec<String>,
}

impl Compared {
    /// A copy, where only checks write.
    pub fn copy(shadow: Shadow, place: CheckedOut, refreshed: Moment) -> Compared {
        let (beside, unwatched) = (Arc::default(), Vec::new());
        Compared { shadow, place, written: Written::Since(refreshed), beside, unwatched }
    }

    pub fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// Whether nothing was written there. If that is not certain, git is asked.
    pub fn is_untouched(&self) -> bool {
        self.place.is_untouched()
    }

    fn is_watched(&self, path: &str) -> bool {
        let is_below = |dir: &String| {
            path.strip_prefix(dir.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !self.beside.contains(path) && !self.unwatched.iter().any(is_below)
    }

    /// Paths that differ by now, the first of them. What cannot be compared is not said to have changed.
    pub fn changed(&self, most: usize) -> Vec<String> {
        let changed = self.shadow.changed_in(&self.place).unwrap_or_default();
        changed.into_iter().filter(|path| self.is_watched(path)).take(most).collect()
    }

    /// Files of the tree that were written to, whatever is in them now.
    pub fn written(&self) -> Vec<String> {
        let was_written = |path: &String| {
            let now = stamp(&self.place.dir.join(path));
            match &self.written {
                Written::Since(moment) => now.is_none_or(|(_, changed)| changed > *moment),
                Written::Unlike(before) => before.get(path).copied() != now,
            }
        };
        let files = self.shadow.files_in(&self.place).unwrap_or_default();
        files.into_iter().filter(|path| self.is_watched(path) && was_written(path)).collect()
    }
}

/// The user's work tree before a round that runs there.
pub struct WatchedTree {
    top: PathBuf,
    index: PathBuf,
    run_dir: RunDir,
    stamps: Arc<HashMap<String, Stamp>>,
    beside: Arc<BTreeSet<String>>,
    unwatched: Vec<String>,
}

impl Preparation {
    /// Notes the work tree, if checks of the round run there. Before the first agent they may do so
    /// even if there is a copy: a check that is red on it is tried here.
    pub fn watch(&self, prepared: &Prepared, shadow: &Shadow) -> Option<WatchedTree> {
        let runs_here = match self.round {
            Round::Baseline => true,
            Round::Delivered => !prepared.is_copy(),
            Round::Workspace
            | Round::BaselineInPlace
            | Round::BaselineOutside
            | Round::StartGates
            | Round::OldSource => false,
        };
        // A recorded tree says nothing of the workspace, and records inside of it change all the time.
        let is_comparable = self.spec.replay.is_none() && !self.run_dir.dir().starts_with(shadow.top());
        let tree = prepared.tree.as_ref().filter(|_| runs_here && is_comparable)?;
        let (top, index) = (shadow.top().to_path_buf(), self.run_dir.proof_in_place());
        let place = CheckedOut::at(top.clone(), index.clone());
        shadow.watch(&place, tree).ok()?;
        let beside = shadow.changed_in(&place).ok()?.into_iter().collect();
        let files = shadow.files_in(&place).ok()?.into_iter();
        let stamps = files.filter_map(|path| stamp(&top.join(&path)).map(|stamp| (path, stamp))).collect();
        let unwatched = self.own_files.iter().chain(&self.plan_dirs).cloned().collect();
        let (stamps, beside, run_dir) = (Arc::new(stamps), Arc::new(beside), self.run_dir.clone());
        Some(WatchedTree { top, index, run_dir, stamps, beside, unwatched })
    }
}

impl WatchedTree {
    /// What it takes to see what a check has changed.
    pub fn compared_with(&self, run: &Run) -> Option<Compared> {
        let shadow = Shadow::open(self.run_dir.checkpoints(), run.largest_file)?;
        let place = CheckedOut::at(self.top.clone(), self.index.clone());
        let (written, beside) = (Written::Unlike(self.stamps.clone()), self.beside.clone());
        Some(Compared { shadow, place, written, beside, unwatched: self.unwatched.clone() })
    }

    /// The top of the work tree.
    pub fn top(&self) -> &PathBuf {
        &self.top
    }
}
