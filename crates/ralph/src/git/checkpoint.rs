//! The tree before each iteration.
//!
//! Each snapshot is a git tree in the run's [`Shadow`]; nothing is written when nothing has
//! changed. Left out, and named: files over a size, unreadable files, repositories inside.

use super::Repository;
use super::restore::{self, PutAside, RestoreError, Target};
use super::shadow::{Shadow, ShadowError};
use ralph_loop::event::{Head, SnapshotEnd};
use ralph_loop::prompt::CONTEXT_CHARS;
use std::path::Path;

pub struct Checkpoints {
    shadow: Shadow,
    /// The run's first tree; diffs are told from there.
    base: Option<String>,
    last: Option<Last>,
    /// Also record where the user's repository stands.
    with_head: bool,
    /// Where it was last, which is kept.
    head: Option<Head>,
    /// Bytes that they may take up; 0 is no limit.
    most: u64,
    /// Bytes that were recorded since they were last tidied.
    untidied: u64,
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
    /// Whether older ones had to go for it, if anything was tidied.
    pub older_gone: Result<bool, ShadowError>,
}

/// So much is recorded, at most, before it is packed.
const TIDY_BYTES: u64 = 64 << 20;

/// What comes back from the thread that takes a snapshot.
pub type Taken = (Checkpoints, Result<Snapshot, ShadowError>);

/// What comes back from the thread that puts a tree back.
pub type Restored = (Checkpoints, Result<PutAside, RestoreError>);

impl Checkpoints {
    /// `base` is the run's first tree, if it has one already; `most` bytes are kept, 0 being all.
    pub fn of(shadow: Shadow, base: Option<String>, with_head: bool, most: u64) -> Checkpoints {
        Checkpoints { shadow, base, last: None, with_head, head: None, most, untidied: 0 }
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        self.shadow.top()
    }

    pub fn repository(&self) -> &Repository {
        self.shadow.repository()
    }

    /// Puts the tree back to where a piece of work began.
    pub fn put_back(&mut self, project: &Path, target: &Target<'_>) -> Result<PutAside, RestoreError> {
        if self.last.take().is_none() {
            self.shadow.set_up(project)?;
        }
        restore::put_back(&self.shadow, self.shadow.repository(), target)
    }

    /// Where the user's repository is, kept so that it can be put back there.
    fn head(&mut self) -> Head {
        let head = self.shadow.repository().head();
        if self.head.as_ref() != Some(&head) {
            self.shadow.keep_head(&head);
        }
        self.head.insert(head).clone()
    }

    /// Records the tree. `project` is where ralph's own files lie, `needed` a tree that the run may
    /// go back to; `own_files` are no part of the diff.
    pub fn take(
        &mut self,
        project: &Path,
        with_diff: bool,
        needed: Option<&str>,
        own_files: &[String],
    ) -> Result<Snapshot, ShadowError> {
        if self.last.is_none() {
            self.shadow.set_up(project)?;
        }
        let changes = self.shadow.changes()?;
        let is_new = self.last.is_none() || !changes.is_empty();
        let last = match self.last.take() {
            Some(last) if changes.is_empty() => last,
            Some(_) | None => match &self.base {
                Some(base) if with_diff => {
                    let (tree, diff) =
                        self.shadow.record_and_diff(&changes, base, own_files, CONTEXT_BYTES)?;
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
        let head = self.with_head.then(|| self.head());
        let Last { tree, diff } = self.last.insert(last);
        let end = SnapshotEnd {
            tree: Some(tree.clone()),
            left_out: changes.left_out,
            left_out_hash: changes.left_out_hash,
            head,
            ..SnapshotEnd::default()
        };
        let snapshot = Snapshot { end, diff: diff.clone(), older_gone: Ok(false) };
        let tree = tree.clone();
        let older_gone = if is_new { self.tidy(&tree, needed, changes.bytes) } else { Ok(false) };
        Ok(Snapshot { older_gone, ..snapshot })
    }

    /// Keeps what is recorded small.
    fn tidy(&mut self, tree: &str, needed: Option<&str>, bytes: u64) -> Result<bool, ShadowError> {
        self.shadow.note(tree)?;
        self.untidied = self.untidied.saturating_add(bytes);
        let much = match self.most {
            0 => TIDY_BYTES,
            most => TIDY_BYTES.min(most / 4),
        };
        if self.untidied < much && !self.shadow.has_many_objects() {
            return Ok(false);
        }
        self.untidied = 0;
        let needed: Vec<&str> = self.base.as_deref().into_iter().chain(needed).collect();
        self.shadow.tidy(self.most, &needed)
    }
}
