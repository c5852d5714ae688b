//! Where the user's repository is, and whether that is still where it was before the first agent.

use super::known_refs::RefFiles;
use super::shadow::Shadow;
use super::{git, is_object_id};
use crate::process::tool::Tool;
use std::collections::BTreeMap;
use std::thread;

/// The user's repository before the first agent.
pub struct AtStart {
    /// None if its history was not kept.
    pub(super) commit: Option<String>,
    refs: BTreeMap<String, String>,
    /// The files of refs with which it was the same later on.
    unchanged: Option<(RefFiles, UsersHead)>,
}

impl AtStart {
    /// Whether what HEAD and refs name was all kept.
    pub(super) fn has_all_of(&self, head: &UsersHead) -> bool {
        self.commit.is_some() && self.commit == head.commit && self.refs == head.refs
    }
}

impl Shadow {
    /// What the user's repository was at the start: it is kept and does not change.
    pub fn at_start(&self) -> AtStart {
        let kept = self.kept();
        AtStart { commit: kept.start(), refs: refs(git(kept.dir()).arg("--git-dir=."), &[]), unchanged: None }
    }

    /// Where the user's repository is now; where the kept one was if it is gone.
    pub(super) fn users_head(&self, start: &mut AtStart) -> UsersHead {
        // Read before git is asked: what changes meanwhile is found the next time.
        let files = RefFiles::of(self.top());
        if let (Some((known, head)), Some(files)) = (&start.unchanged, &files)
            && known == files
        {
            return head.clone();
        }
        let kept = self.kept();
        let of_user = || self.repository().local().env("GIT_NO_REPLACE_OBJECTS", "1");
        let of_kept = || git(kept.dir()).arg("--git-dir=.");
        let mut head = UsersHead::of(&of_user).or_else(|| UsersHead::of(&of_kept)).unwrap_or_default();
        // A tag that was moved is where it was.
        head.refs.extend(start.refs.clone());
        start.unchanged = files.filter(|_| start.has_all_of(&head)).map(|files| (files, head.clone()));
        head
    }
}

/// What a repository's HEAD is, and which refs and tags it contains.
#[derive(Clone, Default)]
pub(super) struct UsersHead {
    /// None before the first commit.
    pub(super) commit: Option<String>,
    pub(super) tree: Option<String>,
    /// `refs/heads/main`; none if it is detached.
    pub(super) branch: Option<String>,
    /// By name.
    pub(super) refs: BTreeMap<String, String>,
}

impl UsersHead {
    fn of(git: &(dyn Fn() -> Tool<'static> + Sync)) -> Option<UsersHead> {
        let ask = |what: &[&str]| {
            let answer = git().args(what).run().ok()?;
            let said = String::from_utf8_lossy(&answer.stdout).trim().to_string();
            Some(if answer.success() { said } else { String::new() })
        };
        let (told, refs) = thread::scope(|scope| {
            let refs = scope.spawn(|| refs(git(), &["--merged", "HEAD"]));
            let what = ["rev-parse", "HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD"];
            (ask(&what), refs.join().unwrap_or_default())
        });
        let told = told?;
        let mut lines = told.lines().map(str::to_string);
        if let (Some(commit), Some(tree), branch) = (lines.next(), lines.next(), lines.next())
            && is_object_id(commit.as_bytes())
        {
            let branch = branch.filter(|branch| branch.starts_with("refs/"));
            return Some(UsersHead { commit: Some(commit), tree: Some(tree), branch, refs });
        }
        // Before the first commit, or after the objects were lost.
        let branch = ask(&["symbolic-ref", "-q", "HEAD"]).filter(|branch| !branch.is_empty())?;
        Some(UsersHead { branch: Some(branch), ..UsersHead::default() })
    }
}

/// The objects that refs name.
fn refs(tool: Tool<'static>, which: &[&str]) -> BTreeMap<String, String> {
    let listed = tool.args(["for-each-ref", "--format=%(refname) %(objectname)"]).args(which).run();
    let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, object)| (name.to_string(), object.to_string())).collect()
}
