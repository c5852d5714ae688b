//! The gits of the next snapshot, started ahead of time.
//!
//! Starting a git takes longer than what it does in a small repository. While agents change files,
//! the gits that record a tree are started during the agent's work, up to where they wait: `add` for
//! the paths that it is to look at, the others for their configuration, which is their (empty)
//! standard input. Nothing of the index or of an object is read before that. `add` holds the lock of
//! the index from its start.

use super::shadow::{Shadow, ShadowError};
use super::{GitError, checked_output};
use crate::process::tool::{Tool, Waiting};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread::JoinHandle;

/// What was started, if anything.
#[derive(Default)]
pub(super) struct Ahead {
    started: Option<JoinHandle<Started>>,
    add: Option<Waiting>,
    tree: Option<Waiting>,
    diff: Option<Waiting>,
    /// What the diff is asked for.
    asked: Option<DiffOf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiffOf {
    pub(super) from: String,
    pub(super) own_files: Vec<String>,
    pub(super) most: usize,
}

type Started = [Option<Waiting>; 3];

impl Ahead {
    /// Has the next gits started by another thread: even that takes a while.
    pub(super) fn start(&mut self, shadow: &Shadow, diff: Option<&DiffOf>) {
        self.dismiss();
        self.asked = diff.cloned();
        let add = Some(add(shadow));
        let tree = Some(gated(shadow.write_tree_tool()));
        let diff = diff.map(|diff| gated(shadow.diff_tool(diff)));
        let probe = gated(shadow.write_tree_tool());
        let start = |tool: Option<Tool<'static>>| tool.and_then(|tool| tool.start().ok());
        self.started = Some(std::thread::spawn(move || {
            let holds = *GATE_HOLDS.get_or_init(|| gate_holds(probe));
            [add, tree.filter(|_| holds), diff.filter(|_| holds)].map(start)
        }));
    }

    /// Adds what is in these directories, relative to the top, apart from what is ignored. Returns
    /// whether that changed the index.
    pub(super) fn add(&mut self, shadow: &Shadow, dirs: &BTreeSet<PathBuf>) -> Result<bool, ShadowError> {
        let before = index_stamp(shadow);
        let mut paths: Vec<u8> = Vec::new();
        for dir in dirs {
            paths.extend(if dir.as_os_str().is_empty() { b"." } else { dir.as_os_str().as_bytes() });
            paths.push(0);
        }
        self.join();
        let done = match self.add.take() {
            Some(waiting) => waiting.finish(&paths),
            None => add(shadow).stdin(&paths).run(),
        };
        checked_output("add", done.map_err(GitError::from)?)?;
        Ok(index_stamp(shadow) != before)
    }

    /// The tree of the index and, if it is asked for, its difference from an earlier one, at the same
    /// time.
    pub(super) fn tree_and_diff(
        &mut self,
        shadow: &Shadow,
        diff: Option<&DiffOf>,
    ) -> Result<(String, Option<Vec<u8>>), ShadowError> {
        // A tree is written under its lock.
        self.release_index();
        let (tree, ahead) = (self.tree.take(), self.diff.take());
        let ahead = ahead.filter(|_| self.asked.as_ref() == diff);
        std::thread::scope(|both| {
            let diff = diff.map(|diff| {
                let diff = shadow.diff_tool(diff);
                both.spawn(move || finish("diff", ahead, diff))
            });
            let tree = finish("write-tree", tree, shadow.write_tree_tool());
            let diff = diff.map(|diff| diff.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let tree = String::from_utf8_lossy(&tree?).trim().to_owned();
            Ok((tree, diff.transpose()?))
        })
    }

    /// Lets others change the index.
    pub(super) fn release_index(&mut self) {
        self.join();
        self.add = None;
    }

    /// Ends what was started.
    pub(super) fn dismiss(&mut self) {
        self.join();
        (self.add, self.tree, self.diff) = (None, None, None);
    }

    fn join(&mut self) {
        if let Some([add, tree, diff]) = self.started.take().and_then(|started| started.join().ok()) {
            (self.add, self.tree, self.diff) = (add, tree, diff);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.dismiss();
    }
}

/// What a git says, be it that it was started ahead of time. If that one fails, another tells why.
fn finish(what: &str, ahead: Option<Waiting>, tool: Tool<'static>) -> Result<Vec<u8>, GitError> {
    let done = match ahead.map(|ahead| ahead.finish(&[])) {
        Some(Ok(done)) if done.success() => Ok(done),
        Some(_) | None => tool.run(),
    };
    checked_output(what, done.map_err(GitError::from)?)
}

/// Files that are gone are removed from the index, too. With `-A` it would add everything when it is
/// given no path, which is how it is told that it is not needed.
fn add(shadow: &Shadow) -> Tool<'static> {
    let add = ["add", "--pathspec-from-file=-", "--pathspec-file-nul"];
    shadow.git().env("GIT_LITERAL_PATHSPECS", "1").args(add)
}

/// Git reads its configuration before anything else.
fn gated(tool: Tool<'static>) -> Tool<'static> {
    tool.env("GIT_CONFIG_GLOBAL", GATE)
}

const GATE: &str = "/dev/stdin";

/// Whether git waits for its configuration there. An old git does not know the variable, and there
/// may be no such file; it would then read the index too early.
static GATE_HOLDS: OnceLock<bool> = OnceLock::new();

/// It does if it stumbles over what is no configuration.
fn gate_holds(gated: Tool<'static>) -> bool {
    let answer = gated.stdin(b"[\n").run();
    answer.is_ok_and(|answer| !answer.success() && String::from_utf8_lossy(&answer.stderr).contains(GATE))
}

/// Git never writes into an index; it puts another file in its place.
fn index_stamp(shadow: &Shadow) -> Option<(u64, i64, i64)> {
    let meta = shadow.dir().join("index").metadata().ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Repository, git};

    #[test]
    fn a_git_that_waits_is_told_from_one_that_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        assert!(git(&top).args(["init", "-q"]).run().unwrap().success());
        let shadow = Shadow::over(Repository::around(&top).unwrap(), top.join(".git/own"), 1 << 20);
        shadow.set_up(&top).unwrap();
        assert!(gate_holds(gated(shadow.write_tree_tool())));
        assert!(!gate_holds(shadow.write_tree_tool()));
        assert!(!gate_holds(gated(shadow.write_tree_tool()).env("GIT_CONFIG_GLOBAL", "/dev/no-such-file")));
    }
}
