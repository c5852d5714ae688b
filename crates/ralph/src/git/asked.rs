//! What the guard asks about a repository: offline, in a moment, and without running anything that an agent could have
//! configured. What git does not answer is not known.

use super::apart_from_hooks;
use crate::process::Exit;
use crate::process::tool::{Tool, ToolOutput};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A tool call waits for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether a remote has the commit, as far as the last fetch or push told.
pub fn is_published(dir: &Path, commit: &str) -> Option<bool> {
    any_commit(dir, &["--not", "--remotes", "--not", "--end-of-options", commit])
        .map(|unpublished| !unpublished)
}

/// Whether a remote has some of the commits up to one, without those of another.
pub fn any_published(dir: &Path, upstream: Option<&str>, tip: &str) -> Option<bool> {
    let without = upstream.map(|upstream| format!("^{upstream}"));
    let range: Vec<&str> = ["--end-of-options", tip].into_iter().chain(without.as_deref()).collect();
    let all = count(dir, &range)?;
    let own = count(dir, &[&["--not", "--remotes", "--not"][..], &range].concat())?;
    Some(own < all)
}

/// Whether a remote has a branch of this name. `HEAD` is the current one.
pub fn has_remote_branch(dir: &Path, name: &str) -> Option<bool> {
    let name = branch(dir, name)?;
    let pattern = format!("refs/remotes/*/{name}");
    let answer = ask(dir, &["for-each-ref", "--count=1", "--format=%(refname)", &pattern])?;
    answer.success().then_some(!answer.stdout.is_empty())
}

/// Whether a push without the name of a branch, from this one, goes to a branch that a remote has.
///
/// By default git pushes a branch to one of the same name, or refuses. It can be told to push others, or to another.
pub fn pushes_over(dir: &Path, name: &str) -> Option<bool> {
    let name = branch(dir, name)?;
    let set = ask(dir, &["config", "--get-regexp", r"^(push\.default|remote\..*\.(push|mirror))$"])?;
    let set = String::from_utf8(set.stdout).ok()?;
    let is_usual =
        |line: &str| matches!(line, "push.default simple" | "push.default current" | "push.default nothing");
    if !set.lines().all(is_usual) {
        return Some(true);
    }
    has_remote_branch(dir, &name)
}

/// Whether there is a ref of this name.
pub fn has_ref(dir: &Path, name: &str) -> Option<bool> {
    let answer = ask(dir, &["show-ref", "--verify", "--quiet", "--", name])?;
    match answer.exit {
        Exit::Code(0) => Some(true),
        Exit::Code(1) => Some(false),
        _ => None,
    }
}

/// Whether this is the name of a remote.
pub fn is_remote(dir: &Path, name: &str) -> Option<bool> {
    let answer = ask(dir, &["remote"])?;
    answer.success().then(|| String::from_utf8_lossy(&answer.stdout).lines().any(|line| line == name))
}

/// Whether two directories are worktrees of one repository.
pub fn share_repository(one: &Path, other: &Path) -> Option<bool> {
    Some(repository(one)? == repository(other)?)
}

fn repository(dir: &Path) -> Option<PathBuf> {
    let answer = ask(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let answer = answer.filter(ToolOutput::success)?;
    PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim_end()).canonicalize().ok()
}

/// Whether a branch holds commits that were made up to a moment, in seconds since 1970, and that nothing else has: no other
/// branch, no tag, no remote, none of the commits that are named.
///
/// A commit's own time says whether it was there before an agent began. The commit that was checked out then would say
/// it of one branch only, and nothing of a commit that was amended since. The agent's commits are younger, unless it
/// sets their time, and so are those that it rebases or amends: it may throw them away.
pub fn loses_work(dir: &Path, name: &str, kept: &[&str], start: i64) -> Option<bool> {
    let current = branch(dir, name);
    let tip = match (&current, name) {
        // Detached: every branch stays where it is.
        (None, "HEAD" | "@") => "HEAD".to_owned(),
        (None, _) => return None,
        (Some(name), _) => format!("refs/heads/{name}"),
    };
    let older = format!("--min-age={start}");
    let itself = current.map(|name| format!("--exclude={name}"));
    let kept: Vec<String> = kept.iter().map(|commit| format!("^{commit}")).collect();
    // What is not there, or not yet, keeps nothing, and loses nothing.
    let mut which = vec!["--ignore-missing", &older, "--not", "--remotes", "--tags"];
    which.extend(itself.as_deref());
    which.extend(["--branches", "--not", "--end-of-options", &tip]);
    which.extend(kept.iter().map(String::as_str));
    any_commit(dir, &which)
}

/// The full name of a branch: `HEAD` is the current one, `@{-1}` the one before. None where HEAD is detached.
fn branch(dir: &Path, name: &str) -> Option<String> {
    let asked = match name {
        "HEAD" | "@" => ask(dir, &["symbolic-ref", "--quiet", "HEAD"]),
        "@{-1}" => ask(dir, &["rev-parse", "--symbolic-full-name", name]),
        // No name of a branch has these, and here they would stand for others.
        _ if name.is_empty()
            || name.contains(['*', '?', '[', '\\', '^', '~', ':'])
            || name.contains("..") =>
        {
            return None;
        }
        _ => return Some(name.to_owned()),
    };
    let answer = asked.filter(ToolOutput::success)?;
    Some(String::from_utf8(answer.stdout).ok()?.trim_end().strip_prefix("refs/heads/")?.to_owned())
}

/// What stands before it is a commit, also where a file has its name.
const NO_PATHS: [&str; 1] = ["--"];

fn count(dir: &Path, which: &[&str]) -> Option<u64> {
    let answer =
        ask(dir, &[&["rev-list", "--count"][..], which, &NO_PATHS].concat()).filter(ToolOutput::success)?;
    String::from_utf8(answer.stdout).ok()?.trim_end().parse().ok()
}

/// Whether there is a commit among these.
fn any_commit(dir: &Path, which: &[&str]) -> Option<bool> {
    let answer = ask(dir, &[&["rev-list", "--max-count=1"][..], which, &NO_PATHS].concat())?;
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

    /// When the work began.
    const START: i64 = 1_700_000_000;

    /// At a time, in seconds from the start.
    fn git_at(dir: &Path, time: i64, args: &[&str]) -> String {
        let who = ["-c", "user.name=A", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main"];
        let tool = apart_from_hooks(Tool::new("git").cwd(dir));
        let tool = tool.env("GIT_COMMITTER_DATE", format!("{} +0000", START + time));
        let output = tool.args(who).args(args).run().unwrap();
        assert!(output.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Before the start.
    fn git(dir: &Path, args: &[&str]) -> String {
        git_at(dir, -100, args)
    }

    fn commit_at(dir: &Path, time: i64, message: &str) {
        fsx::write_whole(&dir.join("file"), message.as_bytes()).unwrap();
        git(dir, &["add", "."]);
        git_at(dir, time, &["commit", "-q", "-m", message]);
    }

    /// A clone with one commit that its remote has, and two that it has not.
    fn clone(root: &Path) -> PathBuf {
        let clone = root.join("clone");
        git(root, &["init", "-q", "--bare", "remote.git"]);
        git(root, &["clone", "-q", "remote.git", "clone"]);
        commit_at(&clone, -100, "1");
        git(&clone, &["push", "-q", "origin", "HEAD:main", "HEAD:feature/a"]);
        commit_at(&clone, -100, "2");
        commit_at(&clone, -100, "3");
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
        assert_eq!(is_published(&clone, "file"), None, "a file");
        assert_eq!(has_remote_branch(&clone, "main"), Some(true));
        assert_eq!(has_remote_branch(&clone, "feature/a"), Some(true));
        assert_eq!(has_remote_branch(&clone, "feature/b"), Some(false));
        assert_eq!(has_remote_branch(&clone, "*"), None);
        // The current branch, also where a remote has a HEAD of its own.
        git(&clone, &["remote", "set-head", "origin", "main"]);
        assert_eq!(has_remote_branch(&clone, "HEAD"), Some(true));
        git(&clone, &["checkout", "-q", "-b", "feature/b"]);
        assert_eq!(has_remote_branch(&clone, "HEAD"), Some(false));
        assert_eq!(has_remote_branch(&clone, "@{-1}"), Some(true), "the branch before");
        git(&clone, &["checkout", "-q", "--detach"]);
        assert_eq!(has_remote_branch(&clone, "@"), None);
        git(&clone, &["checkout", "-q", "main"]);
        assert_eq!(is_remote(&clone, "origin"), Some(true));
        assert_eq!(is_remote(&clone, "origi"), Some(false));
        assert_eq!(is_remote(dir.path(), "origin"), None);
        assert_eq!(has_ref(&clone, "refs/heads/feature/b"), Some(true));
        assert_eq!(has_ref(&clone, "refs/heads/feature"), Some(false));
        assert_eq!(has_ref(dir.path(), "refs/heads/main"), None);
    }

    #[test]
    fn commits_are_rewritten_that_a_remote_has() {
        let dir = tempfile::tempdir().unwrap();
        let clone = clone(dir.path());
        for (upstream, any) in [
            (Some("HEAD"), Some(false)),
            (Some("HEAD~1"), Some(false)),
            (Some("HEAD~2"), Some(false)),
            (Some("HEAD^^"), Some(false)),
            (Some("origin/main"), Some(false)),
            (None, Some(true)),
            (Some("HEAD~3"), None),
            (Some("no-such-thing"), None),
        ] {
            assert_eq!(any_published(&clone, upstream, "HEAD"), any, "{upstream:?}");
        }
        // A branch that was pushed, rebased onto another.
        git(&clone, &["push", "-q", "origin", "HEAD~1:refs/heads/topic"]);
        assert_eq!(any_published(&clone, Some("origin/main"), "HEAD"), Some(true));
        assert_eq!(any_published(&clone, Some("HEAD~1"), "HEAD"), Some(false));
        assert_eq!(any_published(&clone, Some("HEAD~2"), "HEAD"), Some(true));
        // Without a remote, all of it is free.
        git(dir.path(), &["init", "-q", "alone"]);
        let alone = dir.path().join("alone");
        commit_at(&alone, -100, "1");
        assert_eq!(any_published(&alone, None, "HEAD"), Some(false));
        assert_eq!(any_published(dir.path(), None, "HEAD"), None);
    }

    #[test]
    fn a_push_without_a_name_goes_where_git_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let clone = clone(dir.path());
        assert_eq!(pushes_over(&clone, "HEAD"), Some(true));
        git(&clone, &["checkout", "-q", "-b", "topic", "--track", "origin/main"]);
        assert_eq!(pushes_over(&clone, "HEAD"), Some(false));
        assert_eq!(pushes_over(&clone, "main"), Some(true));
        assert_eq!(pushes_over(dir.path(), "HEAD"), None);
        for (key, value, over) in [
            ("push.default", "current", false),
            ("push.default", "upstream", true),
            ("push.default", "matching", true),
            ("remote.origin.push", "+HEAD:main", true),
            ("remote.origin.mirror", "true", true),
        ] {
            git(&clone, &["config", key, value]);
            assert_eq!(pushes_over(&clone, "HEAD"), Some(over), "{key} {value}");
            git(&clone, &["config", "--unset", key]);
        }
    }

    #[test]
    fn a_branch_loses_what_was_there_at_the_start_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let clone = clone(dir.path());
        let loses = |branch: &str, kept: &[&str]| loses_work(&clone, branch, kept, START);
        // The last commit is the agent's own.
        commit_at(&clone, 10, "4");
        for (commit, lost) in
            [("HEAD", false), ("HEAD~1", false), ("HEAD~2", true), ("HEAD~3", true), ("origin/main", true)]
        {
            assert_eq!(loses("HEAD", &[commit]), Some(lost), "{commit}");
            assert_eq!(loses("main", &[commit]), Some(lost), "main to {commit}");
        }
        // To what is not there, or not there yet.
        assert_eq!(loses("HEAD", &["no-such-thing"]), Some(true));
        assert_eq!(loses("HEAD", &["--all"]), None);
        assert_eq!(loses("HEAD", &[]), Some(true));
        // No branch, so nothing to lose.
        assert_eq!(loses("topic", &["origin/main"]), Some(false));
        assert_eq!(loses("a..b", &["origin/main"]), None);
        assert_eq!(loses_work(dir.path(), "HEAD", &["HEAD"], START), None);
        // Something else has them: a branch, a tag, a commit that is named, a remote.
        assert_eq!(loses("HEAD", &["origin/main", "HEAD~1"]), Some(false));
        git(&clone, &["branch", "backup", "HEAD~1"]);
        assert_eq!(loses("HEAD", &["origin/main"]), Some(false));
        git(&clone, &["branch", "-D", "backup"]);
        git(&clone, &["tag", "-a", "-m", "x", "v1", "HEAD~1"]);
        assert_eq!(loses("HEAD", &["origin/main"]), Some(false));
        git(&clone, &["tag", "-d", "v1"]);
        assert_eq!(loses("HEAD", &["origin/main"]), Some(true));
        // Without a branch, none is moved.
        git(&clone, &["checkout", "-q", "--detach"]);
        assert_eq!(loses("HEAD", &["origin/main"]), Some(false));
        git(&clone, &["push", "-q", "origin", "main:topic"]);
        assert_eq!(loses("main", &["origin/main"]), Some(false));
    }

    #[test]
    fn work_on_another_branch_is_judged_there() {
        let dir = tempfile::tempdir().unwrap();
        let clone = clone(dir.path());
        // Old work on `exp` alone; `main` has nothing that is not pushed, and the run began on `exp`.
        git(&clone, &["branch", "exp"]);
        git(&clone, &["reset", "-q", "--hard", "origin/main"]);
        git(&clone, &["checkout", "-q", "exp"]);
        let loses = |branch: &str, kept: &[&str]| loses_work(&clone, branch, kept, START);
        assert_eq!(loses("main", &["origin/main"]), Some(false));
        assert_eq!(loses("exp", &["main"]), Some(true));
        assert_eq!(loses("@{-1}", &["origin/main"]), Some(false), "main was before");
        git(&clone, &["checkout", "-q", "main"]);
        assert_eq!(loses("@{-1}", &["origin/main"]), Some(true));
        // An old commit that the agent has amended is its own now.
        git(&clone, &["checkout", "-q", "exp"]);
        git_at(&clone, 10, &["commit", "-q", "--amend", "-m", "better"]);
        assert_eq!(loses("exp", &["exp~1"]), Some(false));
        assert_eq!(loses("exp", &["exp~2"]), Some(true));
    }

    #[test]
    fn worktrees_share_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let clone = clone(dir.path());
        git(&clone, &["worktree", "add", "-q", "../worktree"]);
        let worktree = dir.path().join("worktree");
        assert_eq!(share_repository(&clone, &worktree), Some(true));
        assert_eq!(share_repository(&worktree.join("not/there"), &clone), Some(true));
        git(dir.path(), &["init", "-q", "other"]);
        assert_eq!(share_repository(&clone, &dir.path().join("other")), Some(false));
        assert_eq!(share_repository(&clone, dir.path()), None);
    }
}
