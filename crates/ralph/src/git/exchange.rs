//! Objects on their way between the checkpoints and the user's repository.
//!
//! Neither borrows from the other: what one of them lacks is sent. Nothing is sent that is
//! already there, and nothing passes through ralph's memory.

use super::restore::RestoreError;
use super::shadow::{Shadow, ShadowError};
use super::{GitError, Repository, checked};
use crate::fsx;
use ralph_loop::event::Head;

const FETCH: [&str; 5] = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"];

impl Shadow {
    /// Gives trees to the user's repository and, as far as an attempt has pruned it and it is kept
    /// here, what the work has to go back to.
    pub(super) fn hand_over(&self, trees: &[&str], back_to: &Head) -> Result<(), RestoreError> {
        let repository = self.repository();
        if let Some(commit) = back_to.commit.as_ref().filter(|commit| !repository.has_object(commit))
            && self.has_object(commit)
        {
            self.send_commit(commit)?;
        }
        let index = back_to.index.as_ref().filter(|index| self.has_object(index));
        let list = ["rev-list", "--objects", "--no-object-names"];
        let names = checked("rev-list", self.git().args(list).args(trees).args(index))?;
        let check = ["cat-file", "--batch-check=%(objectname)", "--buffer"];
        let found = checked("cat-file", repository.local().args(check).stdin(&names))?;
        let found = String::from_utf8_lossy(&found);
        let missing = found.lines().filter_map(|line| line.strip_suffix(" missing"));
        let missing: String = missing.map(|name| format!("{name}\n")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let scratch = fsx::scratch_dir(self.dir()).map_err(ShadowError::Io)?;
        let pack = self.git().args(["pack-objects", "-q"]).arg(scratch.path().join("pack"));
        let hash = checked("pack-objects", pack.stdin(missing.as_bytes()))?;
        let pack = format!("pack-{}.pack", String::from_utf8_lossy(&hash).trim());
        let pack = fsx::open_regular(&scratch.path().join(pack)).map_err(ShadowError::Io)?;
        let unpack = self.repository().quiet().args(["unpack-objects", "-q"]).holding(pack.into());
        checked("unpack-objects", unpack)?;
        Ok(())
    }

    /// Gives a commit, with its history, to the user's repository.
    fn send_commit(&self, commit: &str) -> Result<(), GitError> {
        let name = "refs/ralph/sent";
        checked("update-ref", self.git().args(["update-ref", name, commit]))?;
        checked("fetch", self.repository().quiet().args(FETCH).arg(self.dir()).arg(name))?;
        checked("update-ref", self.git().args(["update-ref", "-d", name])).map(drop)
    }

    /// Keeps the commit and the index that a piece of work begins with: an attempt may prune them.
    /// What cannot be kept is missed only then, and a restore says so.
    pub(super) fn keep_head(&self, head: &Head) {
        // Without a history to build on, all of it would be fetched.
        if self.kept().has_history() && head.commit.as_ref().is_some_and(|commit| !self.has_object(commit)) {
            let _ = self.git().args(FETCH).arg(self.top()).arg("+HEAD:refs/kept/head").run();
        }
        if head.index.as_ref().is_some_and(|index| !self.has_object(index))
            && let Some(index) = self.repository().git_path("index")
            && let Ok(scratch) = fsx::scratch_dir(self.dir())
        {
            let copy = scratch.path().join("index");
            if fsx::copy(&index, &copy).is_ok() {
                let _ = self.git().env("GIT_INDEX_FILE", copy).args(["write-tree"]).run();
            }
        }
    }

    pub(super) fn has_object(&self, name: &str) -> bool {
        let look = self.git().args(["cat-file", "-e", name]).run();
        look.is_ok_and(|answer| answer.success())
    }
}

impl Repository {
    pub(super) fn has_object(&self, name: &str) -> bool {
        let look = self.local().args(["cat-file", "-e", name]).run();
        look.is_ok_and(|answer| answer.success())
    }
}
