//! What the guard asks about a repository: offline, in a moment, and without running anything that an agent could have
//! configured. What git does not answer is not known.

use super::apart_from_hooks;
use crate::process::tool::{Tool, ToolOutput};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// A tool call waits for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a repository was when an agent's work began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartedAt {
    Commit(String),
    /// Without a commit, or without a repository.
    Nothing,
    /// Commits that are older were there, in seconds since 1970.
    Time(i64),
    Unknown,
}

impl StartedAt {
    pub fn now(dir: &Path) -> StartedAt {
        match ask(dir, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
            Some(answer) if answer.success() => {
                StartedAt::Commit(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
            }
            Some(_) => StartedAt::Nothing,
            None => StartedAt::Unknown,
        }
    }
}

/// Whether a remote has the commit, as far as the last fetch or push told.
pub fn is_published(dir: &Path, commit: &str) -> Option<bool> {
    any_commit(dir, &["--not", "--remotes", "--not", "--end-of-options", commit])
        .map(|unpublished| !unpublished)
}

/// Whether a remote has a branch of this name. `HEAD` is the current one.
pub fn has_remote_branch(dir: &Path, name: &str) -> Option<bool> {
    if let "HEAD" | "@" = name {
        return has_remote_branch(dir, &current_branch(dir)?);
    }
    // No name of a branch has these, and here they would stand for others.
    if name.is_empty() || name.contains(['*', '?', '[', '\\']) {
        return None;
    }
    let pattern = format!("refs/remotes/*/{name}");
    let answer = ask(dir, &["for-each-ref", "--count=1", "--format=%(refname)", &pattern])?;
    answer.success().then_some(!answer.stdout.is_empty())
}

/// None where HEAD is detached.
fn current_branch(dir: &Path) -> Option<String> {
    let answer = ask(dir, &["symbolic-ref", "--quiet", "HEAD"]).filter(ToolOutput::success)?;
    Some(String::from_utf8(answer.stdout).ok()?.trim_end().strip_prefix("refs/heads/")?.to_owned())
}

/// Whether this is the name of a remote.
pub fn is_remote(dir: &Path, name: &str) -> Option<bool> {
    let answer = ask(dir, &["remote"])?;
    answer.success().then(|| String::from_utf8_lossy(&answer.stdout).lines().any(|line| line == name))
}

/// Whether commits that were there when the work began, and that no remote has, are not in this one.
pub fn loses_work(dir: &Path, commit: &str, started: &StartedAt) -> Option<bool> {
    let others = ["--not", "--remotes", "--end-of-options", commit];
    match started {
        StartedAt::Nothing => Some(false),
        StartedAt::Unknown => None,
        StartedAt::Commit(start) => any_commit(dir, &[&[start.as_str()][..], &others].concat()),
        StartedAt::Time(seconds) => {
            let older = format!("--min-age={seconds}");
            any_commit(dir, &[&[older.as_str(), "HEAD"][..], &others].concat())
        }
    }
}

/// Whether there is a commit among these.
fn any_commit(dir: &Path, which: &[&str]) -> Option<bool> {
    let answer = ask(dir, &[&["rev-list", "--max-count=1"][..], which].concat())?;
    answer.success().then_some(!answer.stdout.is_empty())
}

fn ask(dir: &Path, args: &[&str]) -> Option<ToolOutput> {
    let dir = dir.ancestors().find(|dir| dir.is_dir())?;
    let git = apart_from_hooks(Tool::new("git").cwd(dir).timeout(PATIENCE));
    let pinned = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.pager=cat"];
    let quiet = [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_TERMINAL_PROMPT", "0")];
    let git = quiet.iter().fold(git.args(pinned), |git, (name, value)| git.env(name, value));
    git.args(args).run().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;
    use std::path::PathBuf;

    fn git(dir: &Path, args: &[&str]) -> String {
        let who = ["-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main"];
        let output = apart_from_hooks(Tool::new("git").cwd(dir)).args(who).args(args).run().unwrap();
        assert!(output.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A clone with one commit that its remote has, and two that it has not.
    fn clone(root: &Path) -> PathBuf {
        let (remote, clone) = (root.join("remote.git"), root.join("clone"));
        git(root, &["init", "-q", "--bare", "remote.git"]);
        git(root, &["clone", "-q", "remote.git", "clone"]);
        for number in 1..=3 {
            fsx::write_whole(&clone.join("file"), format!("{number}").as_bytes()).unwrap();
            git(&clone, &["add", "."]);
            git(&clone, &["commit", "-q", "-m", &number.to_string()]);
            if number == 1 {
                git(&clone, &["push", "-q", "origin", "HEAD:main", "HEAD:feature/a"]);
            }
        }
        assert!(remote.is_dir());
        clone
    }

    #[test]
    fn what_remotes_have_is_known_offline() {
        let dir = tempfile::tempdir().unwrap();
        let clone = clone(dir.path());
        assert_eq!(is_published(&clone, "HEAD"), Some(false));
        assert_eq!(is_published(&clone, "HEAD~2"), Some(true));
        assert_eq!(is_published(&clone, "no-such-thing"), None);
        assert_eq!(is_published(&clone, "--all"), None);
        assert_eq!(has_remote_branch(&clone, "main"), Some(true));
        assert_eq!(has_remote_branch(&clone, "feature/a"), Some(true));
        assert_eq!(has_remote_branch(&clone, "feature/b"), Some(false));
        assert_eq!(has_remote_branch(&clone, "*"), None);
        // The current branch, also where a remote has a HEAD of its own.
        git(&clone, &["remote", "set-head", "origin", "main"]);
        assert_eq!(has_remote_branch(&clone, "HEAD"), Some(true));
        git(&clone, &["checkout", "-q", "-b", "feature/b"]);
        assert_eq!(has_remote_branch(&clone, "HEAD"), Some(false));
        git(&clone, &["checkout", "-q", "--detach"]);
        assert_eq!(has_remote_branch(&clone, "@"), None);
        git(&clone, &["checkout", "-q", "main"]);
        assert_eq!(is_remote(&clone, "origin"), Some(true));
        assert_eq!(is_remote(&clone, "origi"), Some(false));
        assert_eq!(is_remote(dir.path(), "origin"), None);
    }

    #[test]
    fn work_is_lost_that_was_there_at_the_start_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let clone = clone(dir.path());
        let middle = git(&clone, &["rev-parse", "HEAD~1"]);
        // The last commit is the agent's own.
        let start = StartedAt::Commit(middle);
        for (commit, lost) in [("HEAD", false), ("HEAD~1", false), ("HEAD~2", true)] {
            assert_eq!(loses_work(&clone, commit, &start), Some(lost), "{commit}");
        }
        // All that the remote has.
        let published = StartedAt::Commit(git(&clone, &["rev-parse", "HEAD~2"]));
        git(&clone, &["checkout", "-q", "--orphan", "empty"]);
        git(&clone, &["commit", "-q", "-m", "nothing"]);
        assert_eq!(loses_work(&clone, "HEAD", &published), Some(false));
        // By time: everything is younger than 1970, and older than a far day.
        assert_eq!(loses_work(&clone, "main~2", &StartedAt::Time(0)), Some(false));
        git(&clone, &["checkout", "-q", "main"]);
        assert_eq!(loses_work(&clone, "HEAD~2", &StartedAt::Time(i64::from(u32::MAX))), Some(true));
        assert_eq!(loses_work(&clone, "HEAD~2", &StartedAt::Unknown), None);
        assert_eq!(loses_work(&clone, "HEAD~2", &StartedAt::Nothing), Some(false));
        assert_eq!(StartedAt::now(&clone), StartedAt::Commit(git(&clone, &["rev-parse", "HEAD"])));
        assert_eq!(StartedAt::now(dir.path()), StartedAt::Nothing);
    }
}
