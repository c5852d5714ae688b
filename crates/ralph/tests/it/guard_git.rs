//! What the guard says of git in real repositories: commits that would be lost, and history that others have.

use crate::hooks::call;
use crate::support::{RALPH, Ran, Sandbox};
use serde_json::json;
use std::fs;
use std::path::Path;

/// A repository before a session in it:
///
/// - `main` is what the remote has,
/// - `exp`, which is checked out, has two commits that are nowhere else,
/// - `feature` has one that the remote has as well,
/// - `kept` has one that a tag has as well,
/// - `mine` has one of this session.
fn repository() -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.sh("export GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000'
         commit() { echo \"$1\" >>file; git add file; git commit -q -m \"$1\"; }
         git commit -q --amend --no-edit && commit two
         git init -q --bare ../remote.git && git remote add origin ../remote.git && git push -q -u origin main
         git checkout -q -b exp && commit e1 && commit e2
         git checkout -q -b feature main && commit f && git push -q origin feature
         git checkout -q -b kept main && commit k && git tag v0
         git checkout -q -b mine main && GIT_COMMITTER_DATE='2096-01-01 00:00:00 +0000' && commit m
         git checkout -q exp");
    fs::write(sandbox.root().join("transcript.jsonl"), "{}\n").unwrap();
    sandbox
}

/// What a person's session in a directory hears of a command there.
fn ask(sandbox: &Sandbox, dir: &Path, shell: &str) -> Ran {
    let input = json!({
        "session_id": "s", "transcript_path": sandbox.root().join("transcript.jsonl"), "cwd": dir,
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": shell},
    });
    let mut command = sandbox.command(RALPH);
    command.args(["hook", "guard", "--always"]).env("CLAUDE_PROJECT_DIR", dir);
    call(command, input.to_string().as_bytes())
}

/// Every command with the rule that denies it, or none.
#[track_caller]
fn check(sandbox: &Sandbox, dir: &Path, rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(shell, rule)| {
            let ran = ask(sandbox, dir, shell);
            let is_right = match *rule {
                "" => ran.code == Some(0),
                rule => ran.code == Some(2) && ran.stderr.contains(&format!("(git/{rule})")),
            };
            (!is_right).then(|| format!("{shell}: {:?} {}", ran.code, ran.stderr))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commits_that_nothing_else_has_are_not_lost() {
    let sandbox = repository();
    let dir = sandbox.project();
    check(
        &sandbox,
        &dir,
        &[
            ("git reset --hard main", "hard-reset"),
            ("git reset --hard HEAD~1", "hard-reset"),
            ("git reset --keep HEAD~1", "hard-reset"),
            ("git reset --merge origin/main", "hard-reset"),
            ("git reset --hard $(git merge-base HEAD origin/main)", "hard-reset"),
            ("git reset --hard $SOMEWHERE", "hard-reset"),
            ("git reset --soft main && git reset --hard", "hard-reset"),
            ("git commit -am x && git reset --hard HEAD~2", "hard-reset"),
            ("git checkout main && git checkout exp && git reset --hard main", "hard-reset"),
            ("git checkout main && git checkout - && git reset --hard main", "hard-reset"),
            ("sh -c 'git switch mine'; git switch exp; git reset --hard mine", "hard-reset"),
            ("git checkout file && git reset --hard main", "hard-reset"),
            // There is one of that name, so no other is made.
            ("git branch mine; git reset --hard main", "hard-reset"),
            ("git branch new && git branch -D new && git reset --hard main", "hard-reset"),
            ("git checkout -b new && git reset --hard main && git branch -f exp", "move-branch"),
            ("git checkout -B exp origin/main", "move-branch"),
            ("git checkout main && git checkout -B exp", "move-branch"),
            ("git switch -C exp origin/main", "move-branch"),
            ("git checkout main && git branch -f exp", "move-branch"),
            ("git branch --force exp main", "move-branch"),
            ("git branch -M mine exp", "move-branch"),
            ("git branch -C mine exp", "move-branch"),
            ("git update-ref refs/heads/exp main", "move-branch"),
            ("git update-ref HEAD origin/main", "move-branch"),
            ("git fetch origin +main:exp", "move-branch"),
            ("git fetch --force origin main:exp", "move-branch"),
            ("git fetch origin '+refs/heads/*:refs/heads/*'", "move-branch"),
            ("git push . +main:exp", "move-branch"),
            ("git worktree add -B exp wt main", "move-branch"),
        ],
    );
    check(
        &sandbox,
        &dir,
        &[
            ("git reset --hard", ""),
            ("git reset --hard HEAD && git checkout . && git clean -fd", ""),
            ("git reset --soft HEAD~2 && git commit -m one", ""),
            ("git commit -am x && git reset --hard HEAD~1", ""),
            ("git reset --hard $(git rev-parse HEAD)", ""),
            ("git checkout main && git reset --hard origin/main", ""),
            ("git fetch && git checkout main && git reset --hard origin/main", ""),
            ("git checkout mine && git reset --hard main", ""),
            ("git checkout feature && git reset --hard main", ""),
            ("git checkout kept && git reset --hard main", ""),
            ("git checkout -b new && git reset --hard HEAD~2", ""),
            ("git branch backup && git reset --hard main", ""),
            ("git tag before && git reset --hard main", ""),
            ("git checkout --detach && git reset --hard main", ""),
            ("git checkout -B mine main", ""),
            ("git checkout -B new origin/main", ""),
            ("git checkout -B exp", ""),
            ("git switch -C kept main", ""),
            ("git branch -f mine main", ""),
            ("git branch -f exp feature && git branch x exp", "move-branch"),
            ("git branch backup exp && git branch -f exp main", ""),
            ("git update-ref refs/heads/feature main", ""),
            ("git fetch origin main:new", ""),
            ("git fetch origin +feature:feature", ""),
            ("git branch -D exp", ""),
            ("git branch -M mine better", ""),
            (
                "git clone ../remote.git vendor/x && cd vendor/x && git reset --hard v1 && git checkout -B exp v1",
                "",
            ),
            ("git worktree add wt -b side && cd wt && git reset --hard main", ""),
        ],
    );
}

#[test]
fn history_that_a_remote_has_is_not_rewritten() {
    let sandbox = repository();
    let dir = sandbox.project();
    check(
        &sandbox,
        &dir,
        &[
            ("git checkout feature && git commit --amend --no-edit", "amend-published"),
            ("git switch main; git commit --amend -m x", "amend-published"),
            ("git checkout HEAD~2 && git commit --amend -m x", "amend-published"),
            ("git checkout feature && git checkout file && git commit --amend -m x", "amend-published"),
            ("git checkout feature && git rebase main", "rebase-published"),
            ("git checkout feature && git rebase -i HEAD^", "rebase-published"),
            ("git checkout feature && git rebase -i @~1", "rebase-published"),
            ("git rebase main feature", "rebase-published"),
            ("git rebase --onto exp main feature", "rebase-published"),
            ("git rebase -i HEAD~3", "rebase-published"),
            ("git rebase HEAD~3 --exec 'make test'", "rebase-published"),
            ("git rebase -i --root", "rebase-published"),
            ("git checkout main && git push -f", "force-push"),
            ("git checkout feature && git push --force-with-lease", "force-push"),
            ("git checkout feature && git push -f origin HEAD", "force-push"),
            ("git checkout feature && git push -f origin $(git branch --show-current)", "force-push"),
            ("git push -f origin feature", "force-push"),
            ("git push -f origin exp:main", "force-push"),
            ("git -c push.default=matching push -f", "force-push"),
            ("git submodule foreach 'git push -f'", "force-push"),
            ("git -c remote.origin.push=+exp:main push", "git-setting-once"),
            ("git -c gc.pruneExpire=now gc", "forget-history"),
            ("git config gc.reflogExpireUnreachable now", "forget-history"),
            ("git gc --prune=1.second.ago", "forget-history"),
        ],
    );
    check(
        &sandbox,
        &dir,
        &[
            ("git commit --amend --no-edit", ""),
            ("git checkout main && git commit -m x && git commit --amend -m y", ""),
            ("git checkout feature && git cherry-pick mine && git commit --amend -m y", ""),
            ("git checkout mine && git commit --amend --no-edit", ""),
            ("git rebase main", ""),
            ("git rebase", ""),
            ("git rebase -i HEAD^", ""),
            ("git rebase -i HEAD~2", ""),
            ("git rebase -i $(git merge-base HEAD origin/main)", ""),
            ("git rebase --onto feature HEAD~1", ""),
            ("git rebase --continue", ""),
            ("git fetch origin && git rebase origin/main", ""),
            ("git checkout feature && git pull --rebase", ""),
            ("git checkout feature && git commit -m x && git rebase -i HEAD~1", ""),
            (
                "b=$(git branch --show-current); git checkout main; git pull; git checkout $b; git rebase main",
                "",
            ),
            ("git push -f", ""),
            ("git push --force-with-lease", ""),
            ("git push -f origin HEAD", ""),
            ("git push -f origin $(git rev-parse --abbrev-ref HEAD)", ""),
            ("git checkout main && git checkout -b fresh && git push -f", ""),
            ("git push -u origin exp", ""),
            ("git branch -D $(git branch --merged | grep -v main)", ""),
            ("git branch -D $(git branch | grep -v main)", "delete-branch"),
            ("git gc", ""),
            ("git gc --prune=2.weeks.ago", ""),
        ],
    );
    // Without a remote, all of it is free.
    sandbox.sh("git init -q -b main alone && cd alone && git -c user.name=a -c user.email=a@localhost commit -q --allow-empty -m x");
    let rows = [("git rebase -i --root", ""), ("git commit --amend", ""), ("git rebase -i HEAD~1", "")];
    check(&sandbox, &dir.join("alone"), &rows);
}

#[test]
fn a_session_in_a_worktree_may_merge_in_the_repository_and_discard_nothing_there() {
    let sandbox = repository();
    // Not in a temporary directory, where everything may be changed.
    let home = sandbox.root().join("user");
    sandbox.sh(&format!(
        "git clone -q ../remote.git {0}/proj && cd {0}/proj && git worktree add -q -b side ../wt && git init -q ../other",
        home.display()
    ));
    let rows = [
        ("cd ../proj && git merge side", ""),
        ("git -C ../proj checkout main && git -C ../proj merge side && git -C ../proj push", ""),
        ("cd ../proj && git reset --hard", "other-repository"),
        ("cd ../proj && git checkout .", "other-repository"),
        ("cd ../proj && git clean -fd", "other-repository"),
        ("cd ../other && git merge side", "other-repository"),
        ("git -C ../other commit -m x", "other-repository"),
    ];
    check(&sandbox, &home.join("wt"), &rows);
}
