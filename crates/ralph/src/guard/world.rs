//! What the guard asks about this machine, and the answers.

use super::orders::{AgentOf, Orders, Since};
use crate::fsx;
use crate::git::asked;
use ralph_loop::guard::{self, GitQuestion, Judgement, PolicyError, ToolCall, World};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use thiserror::Error;

/// Longer scripts are not looked into: then they cannot be known.
const LONGEST_SCRIPT: u64 = 256 << 10;

/// A directory can hold millions of files.
const MOST_NAMES: usize = 10_000;

/// A link to a link to a link.
const MOST_LINKS: u8 = 16;

/// Commands can be nested deeply. Memory that is not used costs nothing.
const STACK: usize = 64 << 20;

#[derive(Debug, Error)]
pub enum JudgeError {
    #[error(transparent)]
    Policy(#[from] PolicyError),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
    #[error("internal error")]
    Crashed,
}

/// Where a tool call would run.
pub struct Surroundings {
    pub orders: Orders,
    /// Of the tool call, canonical.
    cwd: PathBuf,
}

impl Surroundings {
    pub fn new(orders: Orders, cwd: &Path) -> Surroundings {
        Surroundings { orders, cwd: resolve(cwd) }
    }

    /// The verdict on a call.
    pub fn judge(&self, tool: &str, input: &Value) -> Result<Judgement, JudgeError> {
        let policy = self.orders.spec.policy(self.orders.scope)?;
        let judge = || self.ask(|world| guard::judge(ToolCall { name: tool, input }, world, &policy));
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, judge)?;
            thread.join().map_err(|_| JudgeError::Crashed)
        })
    }

    /// Calls a function with the world around the call.
    fn ask<R>(&self, judge: impl FnOnce(&World<'_>) -> R) -> R {
        let Orders { workspace, writable, protected, since, .. } = &self.orders;
        // Nothing runs in between, so an answer stays the same.
        let answers: RefCell<HashMap<String, Option<bool>>> = RefCell::default();
        judge(&World {
            workspace: workspace.clone(),
            home: std::env::home_dir().map_or_else(|| PathBuf::from("/nonexistent"), |home| resolve(&home)),
            cwd: self.cwd.clone(),
            writable: writable.clone(),
            protected: protected.clone(),
            variable: &|name| std::env::var(name).ok(),
            script: &|path| script(path, *since),
            resolve: &resolve,
            names: &names,
            git: &|dir, question| {
                let key = format!("{} {question:?}", dir.display());
                if let Some(known) = answers.borrow().get(&key) {
                    return *known;
                }
                let answer = self.git(dir, question);
                answers.borrow_mut().insert(key, answer);
                answer
            },
        })
    }
}

impl Surroundings {
    /// What git says of the repository in a directory.
    fn git(&self, dir: &Path, question: GitQuestion<'_>) -> Option<bool> {
        let Orders { workspace, started, agent_of, .. } = &self.orders;
        match question {
            GitQuestion::IsPublished(commit) => asked::is_published(dir, commit),
            GitQuestion::AnyPublished { upstream, tip } => asked::any_published(dir, upstream, tip),
            GitQuestion::HasRemoteBranch(name) => asked::has_remote_branch(dir, name),
            GitQuestion::PushesOver(name) => asked::pushes_over(dir, name),
            GitQuestion::HasRef(name) => asked::has_ref(dir, name),
            GitQuestion::LosesWork { branch, kept } => match started {
                Since::Time(start) => asked::loses_work(dir, branch, kept, *start),
                Since::Unknown => None,
            },
            GitQuestion::IsRemote(name) => asked::is_remote(dir, name),
            GitQuestion::IsUsersWorktree => match agent_of {
                AgentOf::Run => Some(false),
                AgentOf::Person => asked::share_repository(dir, workspace),
            },
        }
    }
}

/// The text of a script of this session. A file's content, name and rights change its `ctime`, and no program can set
/// that back.
fn script(path: &Path, since: Since) -> Option<String> {
    let changed = path.metadata().ok()?.ctime();
    let is_new = match since {
        Since::Time(start) => changed >= start,
        Since::Unknown => true,
    };
    let bytes = is_new.then(|| fsx::read_at_most(path, LONGEST_SCRIPT).ok()).flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The names in a directory, as many as matter.
fn names(dir: &Path) -> Option<Vec<String>> {
    let entries = fs_err::read_dir(dir).ok()?;
    let names = entries.take(MOST_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Some(names.collect())
}

/// All links followed, as far as there is something; a link that leads nowhere yet, too.
fn resolve(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let (there, missing) = there_and_missing(&path);
        let Some(first) = missing.components().next() else { return there };
        match there.join(first).read_link() {
            Ok(target) => {
                let rest: PathBuf = missing.components().skip(1).collect();
                path = joined(&there.join(target), &rest);
            }
            Err(_) => return joined(&there, &missing),
        }
    }
    path
}

/// What exists of a path, canonical, and the rest.
fn there_and_missing(path: &Path) -> (PathBuf, PathBuf) {
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return (real, rest.to_path_buf());
        }
    }
    (PathBuf::new(), path.to_path_buf())
}

/// Joined with nothing, a path would only get a slash at its end.
fn joined(path: &Path, rest: &Path) -> PathBuf {
    path.components().chain(rest.components()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn links_are_followed_as_far_as_there_is_something() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fsx::dir(&root.join("real")).unwrap();
        fsx::symlink(Path::new("real"), &root.join("link")).unwrap();
        fsx::symlink(Path::new("real/not-yet"), &root.join("dangling")).unwrap();
        fsx::symlink(Path::new("loop"), &root.join("loop")).unwrap();
        for (path, wanted) in [
            ("real", "real"),
            ("link", "real"),
            ("link/new/file", "real/new/file"),
            ("dangling", "real/not-yet"),
            ("dangling/deeper", "real/not-yet/deeper"),
            ("missing/a", "missing/a"),
        ] {
            let found = resolve(&root.join(path));
            assert_eq!(found, root.join(wanted), "{path}");
            assert!(!found.to_str().unwrap().ends_with('/'), "{path}");
        }
        // It has an end.
        assert!(resolve(&root.join("loop/x")).starts_with(&root));
    }

    #[test]
    fn only_scripts_of_this_session_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.sh");
        fsx::write_whole(&file, b"rm -rf /\n").unwrap();
        let hour = Duration::from_secs(3600);
        let now = SystemTime::now();
        assert_eq!(script(&file, Since::of(now - hour)).as_deref(), Some("rm -rf /\n"));
        assert_eq!(script(&file, Since::Unknown).as_deref(), Some("rm -rf /\n"));
        assert_eq!(script(&file, Since::of(now + hour)), None);
        assert_eq!(script(dir.path(), Since::Unknown), None);
        fsx::write_whole(&file, &vec![b'x'; 300 << 10]).unwrap();
        assert_eq!(script(&file, Since::Unknown), None);
    }
}
