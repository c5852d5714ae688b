//! What agents do with git all day.

use super::*;

#[test]
fn commits_branches_and_the_index_are_the_same_outside_afterwards() {
    let mut bench = Bench::new();
    for script in [
        "echo two >file && git commit -q -am two",
        "git commit -q --amend -m 'two, amended'",
        "git checkout -q -b feature/x && echo x >x && git add x && git commit -q -m x",
        "git switch -q main && git branch other && git tag -a v1 -m 'version 1'",
        "echo staged >staged && git add staged",
        "echo changed >>file && git stash -q -u",
        "git stash pop -q && git commit -q -am all",
        "git merge -q --no-ff -m merged feature/x",
        "git mv x y && git rm -q staged && git commit -q -m moved",
        "git switch -q --detach HEAD~1",
        "git reset -q --hard HEAD~1",
        "git switch -q main && git reset -q --hard v1",
        "git pack-refs --all && git gc -q --prune=now",
        "git notes add -m note && git update-ref refs/custom/x HEAD",
        "git checkout -q --orphan fresh && git commit -q -m fresh",
    ] {
        bench.inside(script);
        bench.is_same();
    }
    assert_eq!(bench.outside("git branch --show-current"), "fresh");
    assert_eq!(bench.outside("git log -1 --format=%an"), "an agent");
    // A tree that agents used and that the user goes on with.
    bench.outside("git switch -q main && echo mine >mine && git add mine && git commit -q -m mine");
    bench.is_same();
}

#[test]
fn what_is_deleted_inside_is_deleted_outside_and_kept() {
    let mut bench = Bench::with(
        "git init -q -b main . && git commit -q --allow-empty -m one && git checkout -q -b a && \
         git commit -q --allow-empty -m a && git checkout -q -b b main && git pack-refs --all",
    );
    let commit = bench.outside("git rev-parse a");
    let told = bench.told("git branch -q -D a && git checkout -q -b a/b && git branch -q -d b");
    assert_eq!(told, "the branch a was deleted inside; it is kept as refs/ralph/run/deleted/heads/a");
    bench.is_same();
    assert_eq!(bench.outside("git rev-parse refs/ralph/run/deleted/heads/a"), commit);
    assert_eq!(bench.outside("git branch --list --format='%(refname:short)'"), "a/b\nmain");
}

#[test]
fn reflogs_lead_outside_to_what_was_amended_away_inside() {
    let mut bench = Bench::new();
    let lost = bench.inside(
        "echo x >x && git add x && git commit -q -m x && git rev-parse HEAD && git reset -q --hard HEAD~1",
    );
    assert_eq!(bench.outside("git rev-parse HEAD@{1}"), lost);
    assert_eq!(bench.outside("git reflog show main | wc -l"), "3");
    bench.is_same();
    // The user's own reflog is the way back from an agent that removes it.
    bench.inside("rm -r .git/logs && git reflog expire --expire=now --all");
    assert_eq!(bench.outside("git rev-parse HEAD@{1}"), lost);
}

#[test]
fn the_stash_is_one_list_on_both_sides() {
    let mut bench = Bench::new();
    bench.inside("echo 1 >file && git stash -q && echo 2 >file && git stash -q");
    assert_eq!(bench.outside("git stash list | wc -l"), "2");
    bench.inside("git stash drop -q stash@{1}");
    assert_eq!(bench.outside("git stash list | wc -l && git stash pop -q && cat file"), "1\n2");
    assert_eq!(bench.inside("git stash list"), "");
}

#[test]
fn an_unfinished_rebase_is_unfinished_outside_and_can_be_continued_on_either_side() {
    let mut bench = Bench::new();
    let conflict = "git checkout -q -b side && echo side >file && git commit -q -am side && \
                    git checkout -q main && echo main >file && git commit -q -am main && ! git rebase -q side 2>/dev/null";
    bench.inside(conflict);
    bench.is_same();
    bench.outside("git status | grep -q 'rebasing branch'");
    bench.outside("echo both >file && git add file && git rebase --continue");
    bench.is_same();
    assert_eq!(bench.inside("git log --format=%s"), "main\nside\none");

    let told = bench.told(
        "git checkout -q -b other HEAD~1 && echo other >file && git commit -q -am other && \
         ! git rebase -q -x 'touch /tmp/evil' main 2>/dev/null",
    );
    assert!(
        told.contains("removed from an unfinished rebase (git-rebase-todo): exec touch /tmp/evil"),
        "{told}"
    );
    bench.outside("echo all >file && git add file && git rebase --continue && test ! -e /tmp/evil");
    bench.is_same();
}

#[test]
fn an_unfinished_merge_and_a_bisection_are_carried_over() {
    let mut bench = Bench::new();
    bench.inside(
        "git checkout -q -b side && echo side >file && git commit -q -am side && \
         git checkout -q main && echo main >file && git commit -q -am main && ! git merge -q side 2>/dev/null >&2",
    );
    bench.is_same();
    bench.outside("git merge --abort && git bisect start -q HEAD HEAD~1 >/dev/null 2>&1");
    bench.is_same();
    bench.inside("git bisect reset 2>/dev/null");
    bench.is_same();
    assert_eq!(bench.outside("git bisect log 2>&1 || :"), "error: We are not bisecting.");
}

#[test]
fn configuration_can_be_changed_inside_and_is_not_changed_outside() {
    let mut bench = Bench::new();
    bench.outside(
        "git init -q --bare ../remote.git && git remote add old ../remote.git && git push -q old main",
    );
    let before = bench.outside("cat .git/config");
    bench.inside("git config user.name agent && git remote add origin \"$TOP/../remote.git\" && git config --unset remote.old.url");
    bench.inside("git checkout -q -b y && git branch -q -u main && git config alias.x '!touch evil'");
    // It stays for the next step, also if something has changed outside.
    bench.outside("git branch z");
    assert_eq!(bench.inside("git config user.name && git config branch.y.merge"), "agent\nrefs/heads/main");
    assert_eq!(bench.outside("cat .git/config"), before);
    assert_eq!(bench.outside("git config alias.x || :"), "");
    let changes = bench.view().config_changes();
    let remote = bench.top.join("../remote.git").display().to_string();
    assert_eq!(
        changes,
        [
            "alias.x: (not set) → !touch evil",
            "branch.y.merge: (not set) → refs/heads/main",
            "branch.y.remote: (not set) → .",
            "remote.old.url: ../remote.git → (not set)",
            "remote.origin.fetch: (not set) → +refs/heads/*:refs/remotes/origin/*",
            &format!("remote.origin.url: (not set) → {remote}"),
            "user.name: (not set) → agent",
        ]
    );
}

#[test]
fn push_with_an_upstream_and_a_tracking_branch_work_inside() {
    let mut bench = Bench::new();
    // In the work tree, so that it can be written.
    bench.outside("git init -q --bare remote.git && echo remote.git >.git/info/exclude && git remote add origin remote.git");
    bench.inside("git push -q -u origin main && git checkout -q -b topic && git commit -q --allow-empty -m t && git push -q -u origin topic");
    bench.is_same();
    bench.inside("git switch -q main && git branch -q -f topic origin/topic && git checkout -q -b back origin/topic && git fetch -q");
    assert_eq!(bench.inside("git rev-parse --abbrev-ref @{u}"), "origin/topic");
    assert_eq!(bench.outside("git --git-dir=remote.git branch --format='%(refname:short)'"), "main\ntopic");
    assert_eq!(bench.outside("git rev-parse origin/topic"), bench.outside("git rev-parse back"));
}

#[test]
fn a_worktree_made_inside_is_one_outside() {
    let mut bench = Bench::new();
    bench.outside("echo /wt >.git/info/exclude");
    bench.inside("git worktree add -q -b side wt && cd wt && echo s >s && git add s && git commit -q -m s");
    assert_eq!(bench.outside("git -C wt status --porcelain && git -C wt log -1 --format=%s"), "s");
    assert_eq!(bench.outside("git worktree list | wc -l"), "2");
    bench.inside("cd wt && git commit -q --allow-empty -m t");
    assert_eq!(
        bench.outside("git -C wt log -1 --format=%s && git -C wt symbolic-ref HEAD"),
        "t\nrefs/heads/side"
    );
    bench.outside("git -C wt commit -q --allow-empty -m mine");
    assert_eq!(bench.inside("git -C wt log -1 --format=%s"), "mine");
    bench.inside("git worktree remove wt && git branch -q -m side done");
    assert_eq!(bench.outside("git worktree list | wc -l && git log -1 --format=%s done"), "1\nmine");
    bench.is_same();
}
