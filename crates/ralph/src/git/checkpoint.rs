//! The tree before each iteration.
//!
//! Each snapshot is a git tree in the run's [`Shadow`]; nothing is written when nothing has
//! changed. Left out, and named: files over a size, unreadable files, repositories inside.

use super::restore::{self, PutAside, RestoreError, Target};
use super::shadow::{Shadow, ShadowError};
use ralph_loop::event::SnapshotEnd;
use ralph_loop::prompt::CONTEXT_CHARS;
use std::path::Path;

pub struct Checkpoints {
    shadow: Shadow,
    /// The run's first tree; diffs are told from there.
    base: Option<String>,
    last: Option<Last>,
    /// Also record where the user's repository stands.
    with_head: bool,
}

/// The newest tree and its diff: while nothing changes, neither is asked for again.
struct Last {
    tree: String,
    diff: Option<String>,
}

/// Four bytes a character at most; one more tells that there was more.
pub(super) const CONTEXT_BYTES: usize = CONTEXT_CHARS * 4 + 1;

pub struct Snapshot {
    pub end: SnapshotEnd,
    /// What has changed since the run's first snapshot, as much as a prompt carries.
    pub diff: Option<String>,
}

/// What comes back from the thread that takes a snapshot.
pub type Taken = (Checkpoints, Result<Snapshot, ShadowError>);

/// What comes back from the thread that puts a tree back.
pub type Restored = (Checkpoints, Result<PutAside, RestoreError>);

impl Checkpoints {
    /// `base` is the run's first tree, if it has one already.
    pub fn of(shadow: Shadow, base: Option<String>, with_head: bool) -> Checkpoints {
        Checkpoints { shadow, base, last: None, with_head }
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        self.shadow.top()
    }

    /// Puts the tree back to where a piece of work began.
    pub fn put_back(&mut self, project: &Path, target: &Target<'_>) -> Result<PutAside, RestoreError> {
        if self.last.take().is_none() {
            self.shadow.set_up(project)?;
        }
        restore::put_back(&self.shadow, self.shadow.repository(), target)
    }

    /// Records the tree. `project` is where ralph's own files lie.
    pub fn take(&mut self, project: &Path, with_diff: bool) -> Result<Snapshot, ShadowError> {
        if self.last.is_none() {
            self.shadow.set_up(project)?;
        }
        let changes = self.shadow.changes()?;
        let last = match self.last.take() {
            Some(last) if changes.is_empty() => last,
            Some(_) | None => match &self.base {
                Some(base) if with_diff => {
                    let (tree, diff) = self.shadow.record_and_diff(&changes, base, CONTEXT_BYTES)?;
                    let diff = String::from_utf8_lossy(&diff).into_owned();
                    Last { tree, diff: Some(diff).filter(|diff| !diff.is_empty()) }
                }
                Some(_) | None => {
                    let tree = self.shadow.record(&changes)?;
                    self.base.get_or_insert_with(|| tree.clone());
                    Last { tree, diff: None }
                }
            },
        };
        let Last { tree, diff } = self.last.insert(last);
        let end = SnapshotEnd {
            tree: Some(tree.clone()),
            left_out: changes.left_out,
            head: self.with_head.then(|| self.shadow.repository().head()),
            ..SnapshotEnd::default()
        };
        Ok(Snapshot { end, diff: diff.clone() })
    }
}
