//! What a line leaves behind, as a later command of it names commits.

use super::{Branch, Repo, behind, placed};
use crate::guard::GitQuestion;
use crate::guard::arg::Arg;
use crate::guard::invocation::Invocation;

fn invocation(line: &str) -> Invocation {
    let args = line.split_whitespace().skip(1).map(Arg::from).collect();
    Invocation { program: Arg::from("git"), args, ..Invocation::default() }
}

/// A repository with the branches `main` and `work`, and a remote that also has `theirs`.
fn answer(question: GitQuestion<'_>) -> Option<bool> {
    match question {
        GitQuestion::HasRef(name) => Some(matches!(name, "refs/heads/main" | "refs/heads/work")),
        GitQuestion::IsPublished(commit) => matches!(commit, "main" | "work" | "v1").then_some(true),
        GitQuestion::HasRemoteBranch(name) => Some(matches!(name, "main" | "theirs")),
        _ => None,
    }
}

/// The branch after some commands, and what a commit is then.
#[track_caller]
fn check(lines: &str, branch: Option<&str>, commit: &str, means: Option<&str>) {
    let mut repo = Repo::default();
    for line in lines.split(" && ").chain(["git commit --amend"]) {
        repo.settle(&behind(&invocation(line)), answer);
        repo.follow(&invocation(line));
    }
    assert_eq!(repo.head.name(), branch, "{lines}");
    assert_eq!(repo.resolve(commit).as_deref(), means, "{lines}: {commit}");
}

#[test]
fn the_branch_of_later_commands_is_followed() {
    let head = Some("HEAD");
    check("git status", head, "HEAD~2", Some("HEAD~2"));
    check("git checkout main", Some("main"), "HEAD~2", Some("main~2"));
    check("git -c a=b switch -q main", Some("main"), "@^", Some("main^"));
    check("git checkout -b new", Some("new"), "HEAD~2", Some("HEAD~2"));
    check("git switch -c new origin/main", Some("new"), "HEAD", Some("origin/main"));
    check("git checkout -qB main origin/main", Some("main"), "HEAD^", Some("origin/main^"));
    check("git checkout main && git checkout -", head, "HEAD^", Some("HEAD^"));
    check("git checkout main && git checkout work && git switch -", Some("main"), "HEAD", Some("main"));
    check("git checkout -", Some("@{-1}"), "HEAD", Some("@{-1}"));
    check("git checkout HEAD~3", None, "HEAD", Some("HEAD~3"));
    check("git switch --detach main", None, "HEAD~1", Some("main~1"));
    check("git checkout v1", None, "HEAD~1", Some("v1~1"));
    check("git checkout theirs", Some("theirs"), "HEAD", Some("origin/theirs"));
    check("git rebase main work", Some("work"), "HEAD", Some("work"));
    check("git branch -M main", Some("main"), "HEAD", Some("HEAD"));
    check("git checkout -b a && git checkout main && git checkout a", Some("a"), "HEAD^", Some("HEAD^"));
    check("git checkout main", Some("main"), "@{u}", Some("main@{u}"));
}

#[test]
fn files_are_no_branches() {
    let head = Some("HEAD");
    for line in [
        "git checkout .",
        "git checkout src/main.rs",
        "git checkout -- main",
        "git checkout main -- file",
        "git checkout main file",
        "git checkout -p main",
    ] {
        check(line, head, "HEAD^", Some("HEAD^"));
    }
}

#[test]
fn commits_of_the_line_itself_are_counted() {
    let head = Some("HEAD");
    check("git commit -m x", head, "HEAD~1", Some("HEAD"));
    check("git commit -m x", head, "HEAD~3", Some("HEAD~2"));
    check("git commit -m x && git commit -m y", head, "HEAD^^^", Some("HEAD~1"));
    check("git commit -m x", head, "HEAD^2", None);
    check("git commit -m x", head, "HEAD~é", None);
    check("git commit -m x", head, "HEAD~99999999999", None);
    check("git cherry-pick abc", head, "HEAD~1", Some("HEAD"));
    check("git cherry-pick a..b", head, "HEAD~1", None);
    check("git merge main", head, "HEAD", Some("HEAD"));
    check("git merge main", head, "HEAD~1", None);
    check("git merge --abort", head, "HEAD~1", Some("HEAD~1"));
    check("git commit --amend", head, "HEAD~1", Some("HEAD~1"));
    check("git reset --soft HEAD~5", head, "HEAD~1", Some("HEAD~5~1"));
    check("git reset HEAD~5", head, "HEAD", Some("HEAD~5"));
    check("git reset HEAD~5 -- file", head, "HEAD", Some("HEAD"));
    let mut repo = Repo::default();
    repo.follow(&invocation("git commit -m x"));
    assert_eq!((repo.head.old_commit(), repo.head.base()), (None, Some("HEAD")));
}

#[test]
fn branches_are_put_by_many_commands() {
    for (line, expected) in [
        ("git checkout -b a", "Branch(\"a\") HEAD IfNew"),
        ("git checkout -B a origin/main", "Branch(\"a\") origin/main Forced"),
        ("git -C dir switch -C a", "Branch(\"a\") HEAD Forced"),
        ("git switch --force-create=a main", "Branch(\"a\") main Forced"),
        ("git branch a main", "Branch(\"a\") main IfNew"),
        ("git branch -f a main", "Branch(\"a\") main Forced"),
        ("git branch --force a", "Branch(\"a\") HEAD Forced"),
        ("git branch -M a b", "Branch(\"b\") a Forced"),
        ("git branch -m b", "Branch(\"b\") HEAD IfNew"),
        ("git branch -C a b", "Branch(\"b\") a Forced"),
        ("git -C dir branch -c a b", "Branch(\"b\") a IfNew"),
        ("git branch -D a", ""),
        ("git branch --merged main", ""),
        ("git branch", ""),
        ("git tag v1", "Tag(\"v1\") HEAD IfNew"),
        ("git tag -a -m text v1 main", "Tag(\"v1\") main IfNew"),
        ("git tag -d v1", ""),
        ("git update-ref refs/heads/a main", "Branch(\"a\") main Forced"),
        ("git update-ref -m why HEAD main", "Current main Forced"),
        ("git update-ref refs/backup/a main", ""),
        ("git reset --hard", "Current HEAD Forced"),
        ("git reset --keep main", "Current main Forced"),
        ("git reset --hard main --", "Current main Forced"),
        ("git reset src/main.rs", ""),
        ("git fetch origin +main:a", "Branch(\"a\") - Forced"),
        ("git fetch --force origin main:refs/heads/a", "Branch(\"a\") - Forced"),
        ("git fetch origin main:a", ""),
        ("git fetch origin +refs/heads/*:refs/remotes/origin/*", ""),
        ("git fetch origin +refs/heads/*:refs/heads/*", "EveryBranch - Forced"),
        ("git push . +HEAD:a", "Branch(\"a\") HEAD Forced"),
        ("git push origin +HEAD:a", ""),
        ("git worktree add -B a ../dir main", "Branch(\"a\") main Forced"),
        ("git worktree add ../dir main", ""),
    ] {
        let found: Vec<String> = placed(&behind(&invocation(line)))
            .into_iter()
            .map(|placed| {
                format!("{:?} {} {:?}", placed.name, placed.to.as_deref().unwrap_or("-"), placed.strength)
            })
            .collect();
        assert_eq!(found.join(", "), expected, "{line}");
    }
}

#[test]
fn what_cannot_be_known_is_no_branch() {
    let mut repo = Repo::default();
    let args = vec![Arg::from("checkout"), Arg::unknown()];
    repo.follow(&Invocation { program: Arg::from("git"), args, ..Invocation::default() });
    assert_eq!(repo.head.branch, Branch::Unknown);
    assert_eq!(repo.resolve("HEAD~1"), None);
    assert_eq!(repo.resolve("origin/main").as_deref(), Some("origin/main"));
}
