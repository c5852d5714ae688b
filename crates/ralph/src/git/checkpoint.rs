//! The tree before each iteration.
//!
//! Each snapshot is a git tree in the run's [`Shadow`]; nothing is written when nothing has
//! changed. Left out, and named: files over a size, unreadable files, repositories inside.
//!
//! From the third snapshot on, no git is asked if a scan of the files finds nothing changed, and
//! those that have been started before ([`LongLived`]) record what the scan has found.

use super::Repository;
use super::ignored::Ignored;
use super::known_head::{KnownCommit, KnownHead};
use super::left_out::LeftOut;
use super::long_lived::{DiffOf, LongLived, Recorded};
use super::objects::Objects;
use super::private::Private;
use super::restore::{self, PutAside, RestoreError, Target};
use super::scan::{Changed, Difference, Scan, Unfit};
use super::shadow::{Changes, FOR_A_PROMPT, Shadow, ShadowError};
use ralph_loop::event::{Head, SnapshotEnd};
use ralph_loop::prompt::CONTEXT_CHARS;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub struct Checkpoints {
    shadow: Shadow,
    /// The run's first tree; diffs begin there.
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
    outside: Outside,
    long_lived: LongLived,
    objects: Objects,
    /// What the gits that stay are to compare, once they are due.
    due: Option<Option<DiffOf>>,
    index: Index,
    known_head: KnownHead,
    known_commit: KnownCommit,
}

/// The newest tree and its diff: while nothing changes, neither is asked for again.
struct Last {
    tree: String,
    diff: Option<String>,
    left_out: LeftOut,
}

/// What the work tree looked like just before the newest tree was recorded.
#[derive(Default)]
struct Outside {
    /// Nothing before git was first asked.
    ignored: Option<Ignored>,
    scan: Option<Scan>,
    too_large: bool,
    /// Asked for once it matters.
    has_submodules: Option<bool>,
}

impl Outside {
    fn look(&mut self, top: &Path) -> Option<Scan> {
        let ignored = self.ignored.as_ref().filter(|_| !self.too_large)?;
        let scan = Scan::of(top, ignored);
        self.too_large = matches!(scan, Err(Unfit::TooLarge));
        scan.ok()
    }
}

/// What has changed since the newest tree.
enum Found {
    Nothing,
    /// It has been recorded as this tree; so many bytes.
    Recorded {
        tree: String,
        bytes: u64,
    },
    /// It is to be recorded.
    Listed(Changes),
}

/// What the shadow's index is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    Newest,
    /// Of a tree before the newest one: that was recorded without it.
    Older,
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
        Checkpoints {
            objects: Objects::of(&shadow),
            shadow,
            base,
            last: None,
            with_head,
            head: None,
            most,
            untidied: 0,
            outside: Outside::default(),
            long_lived: LongLived::default(),
            due: None,
            index: Index::Newest,
            known_head: KnownHead::default(),
            known_commit: KnownCommit::default(),
        }
    }

    /// The top of the work tree.
    pub fn top(&self) -> &Path {
        self.shadow.top()
    }

    pub fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// What is recorded, to be read.
    pub fn objects(&mut self) -> &mut Objects {
        &mut self.objects
    }

    /// Objects of other directories can be read as well.
    pub fn borrow_from(&mut self, others: &[PathBuf]) -> Result<(), ShadowError> {
        self.shadow.borrow_from(others)?;
        // The git that stays has not heard of them.
        self.objects = Objects::of(&self.shadow);
        Ok(())
    }

    /// Untracked paths that git ignored when the newest tree was recorded. Some may be gone.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, ShadowError> {
        let paths = |ignored: &Ignored| ignored.paths().cloned().collect();
        match &self.outside.ignored {
            Some(ignored) => Ok(paths(ignored)),
            None => self.shadow.changes_and_ignored().map(|(_, ignored)| paths(&ignored)),
        }
    }

    /// Paths that the newest tree does not hold, as far as they are text.
    pub fn unrecorded(&self) -> Vec<String> {
        let paths = self.last.iter().flat_map(|last| &last.left_out.unrecorded);
        paths.filter_map(|path| String::from_utf8(path.clone()).ok()).collect()
    }

    pub fn repository(&self) -> &Repository {
        self.shadow.repository()
    }

    /// What is known of the user's commit, to be used while a snapshot is taken.
    pub fn lend_known_commit(&mut self) -> KnownCommit {
        std::mem::take(&mut self.known_commit)
    }

    pub fn return_known_commit(&mut self, known: KnownCommit) {
        self.known_commit = known;
    }

    /// Has everything made ready that makes the next snapshot faster, on a thread. To be called when
    /// an agent has been started, which it would otherwise delay.
    pub fn prepare(&mut self) {
        if let Some(diff) = self.due.take() {
            self.long_lived.start(&self.shadow, diff.as_ref());
        }
    }

    /// Puts the tree back to where a piece of work began.
    pub fn put_back(&mut self, project: &Path, target: &Target<'_>) -> Result<PutAside, RestoreError> {
        self.long_lived.dismiss();
        match self.last.take() {
            Some(last) => self.catch_up(&last.tree)?,
            None => drop(self.shadow.set_up(project)?),
        }
        restore::put_back(&self.shadow, self.shadow.repository(), target)
    }

    /// Where the user's repository is, kept so that it can be put back there.
    fn head(&mut self) -> Head {
        let head = self.known_head.get(self.shadow.repository());
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
        let mut made = None;
        if self.last.is_none() {
            self.long_lived.dismiss();
            (self.outside, self.index) = (Outside::default(), Index::Newest);
            made = self.shadow.set_up(project)?;
        }
        // Before anything is recorded: what changes from here on is found the next time.
        let scan = self.outside.look(self.shadow.top());
        let last = self.last.take();
        let found = self.find(last.as_ref(), scan.as_ref())?;
        let (last, recorded) = match (found, made) {
            // As it is in the user's own index.
            (Found::Listed(changes), Some(tree)) if self.base.is_none() && changes.is_empty() => {
                self.base = Some(tree.clone());
                (Last { tree, diff: None, left_out: LeftOut::of(&changes) }, Some(0))
            }
            (found, _) => self.record(last, found, with_diff, own_files)?,
        };
        self.outside.scan = match &self.outside.ignored {
            Some(ignored) => scan.map(|scan| scan.without(ignored)),
            None => None,
        };
        let head = self.with_head.then(|| self.head());
        let Last { tree, diff, left_out } = self.last.insert(last);
        let end = SnapshotEnd {
            tree: Some(tree.clone()),
            left_out: left_out.named.clone(),
            left_out_hash: self.shadow.left_out_hash(&left_out.unrecorded),
            head,
            ..SnapshotEnd::default()
        };
        let (tree, diff) = (tree.clone(), diff.clone());
        let older_gone = match recorded {
            Some(bytes) => self.tidy(&tree, needed, bytes),
            None => Ok(false),
        };
        Ok(Snapshot { end, diff, older_gone })
    }

    /// Finds what has changed since the newest tree, with as little help from git as is safe.
    fn find(&mut self, last: Option<&Last>, scan: Option<&Scan>) -> Result<Found, ShadowError> {
        if let (Some(last), Some(scan), Some(before)) = (last, scan, &self.outside.scan)
            && self.shadow.exists()
        {
            match scan.since(before, self.shadow.top(), self.shadow.largest_file()) {
                Difference::Nothing => return Ok(Found::Nothing),
                Difference::In(changed) => {
                    if let Some(found) = self.record_changed(last, scan, &changed)? {
                        return Ok(found);
                    }
                }
                Difference::Unclear => {}
            }
        }
        // Patterns may have changed.
        self.long_lived.dismiss();
        if let Some(last) = last {
            self.catch_up(&last.tree)?;
        }
        let (changes, ignored) = self.shadow.changes_and_ignored()?;
        self.outside.ignored = Some(ignored);
        Ok(Found::Listed(changes))
    }

    /// Records files without the index. Nothing if that cannot be done.
    fn record_changed(
        &mut self,
        last: &Last,
        scan: &Scan,
        changed: &Changed,
    ) -> Result<Option<Found>, ShadowError> {
        if !last.left_out.is_nothing() || self.is_private(changed) || self.has_submodules()? {
            return Ok(None);
        }
        let Ok(Recorded { tree, written, ignored }) = self.long_lived.record(&last.tree, changed) else {
            return Ok(None);
        };
        written.iter().for_each(|object| self.objects.learn(object));
        self.learn_ignored(scan, ignored);
        if tree == last.tree {
            return Ok(Some(Found::Nothing));
        }
        self.index = Index::Older;
        Ok(Some(Found::Recorded { tree, bytes: changed.bytes }))
    }

    /// The index is of the newest tree again.
    fn catch_up(&mut self, newest: &str) -> Result<(), ShadowError> {
        if self.index == Index::Older {
            self.shadow.reset_index(newest)?;
            self.index = Index::Newest;
        }
        Ok(())
    }

    fn has_submodules(&mut self) -> Result<bool, ShadowError> {
        let found = self.outside.has_submodules.map_or_else(|| self.shadow.has_submodules(), Ok)?;
        Ok(*self.outside.has_submodules.insert(found))
    }

    fn is_private(&self, changed: &Changed) -> bool {
        let entries = changed.new_files.iter().map(|path| [b"?? ", path.as_os_str().as_bytes()].concat());
        let entries: Vec<Vec<u8>> = entries.collect();
        let private = Private::among(self.shadow.top(), &entries.join(&0));
        entries.iter().any(|entry| private.holds(entry))
    }

    /// One that was not there all the time may have been another when git was asked.
    fn learn_ignored(&mut self, scan: &Scan, paths: Vec<PathBuf>) {
        let top = self.shadow.top();
        let seen = paths.into_iter().filter(|path| scan.still_holds(top, path));
        if let Some(ignored) = &mut self.outside.ignored {
            ignored.insert_files(seen);
        }
    }

    /// The newest tree once what was found is in it, and how many bytes that were if it is new.
    fn record(
        &mut self,
        last: Option<Last>,
        found: Found,
        with_diff: bool,
        own_files: &[String],
    ) -> Result<(Last, Option<u64>), ShadowError> {
        let is_first = last.is_none();
        let of_base =
            |base: &String| DiffOf { from: base.clone(), own_files: own_files.to_vec(), most: CONTEXT_BYTES };
        let asked = self.base.as_ref().filter(|_| with_diff).map(of_base);
        let (tree, diff, left_out, bytes) = match (found, last) {
            (Found::Nothing, Some(last)) => return Ok((last, None)),
            // There is none that it could be the same as.
            (Found::Nothing, None) => {
                return self.record(None, Found::Listed(Changes::default()), with_diff, own_files);
            }
            (Found::Listed(changes), Some(last)) if changes.is_empty() => {
                return Ok((Last { left_out: LeftOut::of(&changes), ..last }, None));
            }
            (Found::Recorded { tree, bytes }, last) => {
                let diff = asked.as_ref().map(|asked| self.diff(asked, &tree)).transpose()?;
                (tree, diff, last.map(|last| last.left_out).unwrap_or_default(), bytes)
            }
            (Found::Listed(changes), _) => {
                self.shadow.add(&changes)?;
                let (tree, diff) = self.shadow.tree_and_diff(asked.as_ref())?;
                (tree, diff, LeftOut::of(&changes), changes.bytes)
            }
        };
        let diff = diff.map(|diff| String::from_utf8_lossy(&diff).into_owned());
        let diff = diff.filter(|diff| !diff.is_empty());
        self.base.get_or_insert_with(|| tree.clone());
        if !is_first {
            // Agents that have changed files will change more.
            self.due = Some(asked);
        }
        Ok((Last { tree, diff, left_out }, Some(bytes)))
    }

    fn diff(&mut self, asked: &DiffOf, tree: &str) -> Result<Vec<u8>, ShadowError> {
        let DiffOf { from, own_files, most } = asked;
        match self.long_lived.diff(asked, tree) {
            Ok(diff) => Ok(diff),
            Err(_) => self.shadow.diff_without(own_files, (from, tree), FOR_A_PROMPT, *most),
        }
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
        // Objects move, and those that only an older index names may go.
        self.long_lived.dismiss();
        self.catch_up(tree)?;
        let needed: Vec<&str> = self.base.as_deref().into_iter().chain(needed).collect();
        self.shadow.tidy(self.most, &needed)
    }
}

#[cfg(test)]
mod tests;
