//! Between attempts the tree goes back to where the story began, and what was there is kept.

use super::stage::{Stage, spec_path};

/// Everything of the user's that git knows or does not.
fn everything(stage: &Stage) -> String {
    stage.sandbox.sh("git symbolic-ref HEAD; git rev-parse HEAD; git ls-files -s; git stash list; \
         git status --porcelain -uall -- ':!progress.txt'; find . -name .git -prune -o -path ./.ralph -prune \
         -o -name ralph.log -o -name progress.txt -o -type f -print -exec cat {} +")
}

/// One attempt that does this and fails. The tree must be what it was before, and what the
/// attempt has left must be kept under its ref, which the log names.
#[track_caller]
fn check(stage: &Stage, script: &str, kept: &[(&str, &str)]) {
    let before = everything(stage);
    let script = format!("{{ {script} ; }} > \"$at/did\" 2>&1; FAIL no");
    stage.run(&["-n", "1"], &script).exits(1);
    assert_eq!(everything(stage), before, "what the agent did:\n{}", stage.note("did"));
    for (path, content) in kept {
        let shown = stage.sandbox.sh(&format!("git show '{}{path}'", stage.kept(1)));
        assert_eq!(shown, *content, "{path}");
    }
    let line = format!("files reset to where the story started; the attempt is kept as {}", stage.kept(1));
    assert!(stage.log().contains(&line), "{:?}", stage.log());
}

#[test]
fn commits() {
    let stage = Stage::new("1.1");
    let script = "echo a > a; commit one; echo b > b; git rm -q README; commit two";
    check(&stage, script, &[(":a", "a\n"), (":b", "b\n")]);
    let subjects = stage.sandbox.sh(&format!("git log --format=%s HEAD..{}", stage.kept(1)));
    assert_eq!(subjects, "ralph: failed attempt\ntwo\none\n");
}

#[test]
fn changes_and_new_files() {
    let stage = Stage::new("1.1");
    let script = "echo changed > README; mkdir -p d/e; echo new > d/e/f; rm AGENTS.md; chmod +x CLAUDE.md";
    check(&stage, script, &[(":README", "changed\n"), (":d/e/f", "new\n")]);
    assert!(!stage.sandbox.has("d"), "nor is an empty directory left");
    stage.sandbox.sh(&format!("! git cat-file -e {}:AGENTS.md", stage.kept(1)));
}

#[test]
fn what_was_staged_even_if_the_file_says_something_else_by_now() {
    let stage = Stage::new("1.1");
    check(&stage, "echo staged > s; git add s; echo later > s", &[(":s", "later\n"), ("^2:s", "staged\n")]);
    let stage = Stage::new("1.1");
    check(&stage, "echo x > README; git add README; git show HEAD:README > README", &[("^2:README", "x\n")]);
}

#[test]
fn what_is_kept_goes_with_its_run_and_not_before() {
    let stage = Stage::new("1.1 1.2");
    let kept = || stage.sandbox.sh("git for-each-ref --format='%(refname)' refs/ralph");
    stage.sandbox.sh("git update-ref refs/ralph/20200101-000000-0000/attempt-1 HEAD");
    let script = "case $try in *#1) echo mine > mine; commit mine; FAIL no ;; *) DONE ;; esac";
    stage.run(&["-s", "1.1", "-n", "2"], script).exits(0);
    let (id, refs) = (stage.sandbox.only_run(), kept());
    assert!(refs.contains(&format!("refs/ralph/{id}/attempt-1\n")), "{refs}");
    stage.sandbox.ralph(&["clean", "--runs", "--keep", "0", "--dry-run"]).exits(0).says("Would free ");
    stage.sandbox.ralph(&["clean", "--runs", "--keep", "1"]).exits(0).says("Nothing to remove.");
    assert_eq!(kept(), refs);
    stage
        .sandbox
        .ralph(&["clean", "--runs", "--keep", "0"])
        .exits(0)
        .says(&format!("removed       run {id} ("));
    assert_eq!(kept(), "refs/ralph/20200101-000000-0000/attempt-1\n", "of another run");
    assert_eq!(stage.sandbox.runs(), [] as [&str; 0]);
    // When another run ends, the oldest goes in the same way.
    stage.sandbox.settings(&serde_json::json!({"keepRuns": 1}));
    let script = "case $try in 1.2#1) echo mine > mine; FAIL no ;; *) DONE ;; esac";
    stage.run(&["-n", "2"], script).exits(0);
    assert_eq!(kept().lines().count(), 2);
    stage.sandbox.run(&["-p", "x"], &stage.sandbox.sh_agent("echo '<response>DONE</response>'")).exits(0);
    assert_eq!(kept().lines().count(), 1, "{}", kept());
    assert_eq!(stage.sandbox.runs().len(), 1);
}

#[test]
fn nothing_at_all_is_kept_as_nothing() {
    let stage = Stage::new("1.1");
    stage.run(&["-n", "2"], "FAIL no").exits(1);
    assert_eq!(stage.sandbox.sh("git for-each-ref refs/ralph"), "");
    assert!(!stage.prompt("1.1#2").contains("put aside"));
}

/// A branch with something to quarrel about.
fn quarrel() -> Stage {
    let stage = Stage::new("1.1");
    stage.sandbox.sh(
        "git checkout -q -b other && echo theirs > README && git commit -qam theirs && git checkout -q main",
    );
    stage
}

#[test]
fn an_unfinished_merge() {
    let ours = "echo ours > README; commit ours; ! git merge other";
    let stage = quarrel();
    check(&stage, ours, &[("^1:README", "ours\n")]);
    assert!(!stage.sandbox.has(".git/MERGE_HEAD"));
    // Without a conflict, and without any change of the files.
    let stage = quarrel();
    check(&stage, "git merge -q --no-commit -s ours other", &[(":README", "a project\n")]);
    assert!(!stage.sandbox.has(".git/MERGE_HEAD"));
}

#[test]
fn an_unfinished_cherry_pick_and_revert() {
    let stage = quarrel();
    check(&stage, "echo ours > README; commit ours; ! git cherry-pick other", &[("^1:README", "ours\n")]);
    assert!(!stage.sandbox.has(".git/CHERRY_PICK_HEAD"));
    let stage = quarrel();
    check(&stage, "git revert --no-commit HEAD", &[]);
    assert!(!stage.sandbox.has(".git/REVERT_HEAD"));
}

#[test]
fn an_unfinished_rebase_although_head_has_left_its_branch() {
    for how in ["--merge", "--apply"] {
        let stage = quarrel();
        let script =
            format!("echo ours > README; commit ours; echo b > b; commit second; ! git rebase {how} other");
        check(&stage, &script, &[("^1:README", "theirs\n")]);
        for sign in ["rebase-merge", "rebase-apply"] {
            assert!(!stage.sandbox.has(&format!(".git/{sign}")), "{how}");
        }
        // What was to be rebased is kept as well.
        let subjects = stage.sandbox.sh(&format!("git log --format=%s {}", stage.kept(1)));
        assert!(subjects.lines().any(|line| line == "second"), "{how}: {subjects}");
    }
}

#[test]
fn the_lock_of_a_git_that_was_killed() {
    let stage = Stage::new("1.1");
    check(&stage, "echo x > README; : > .git/index.lock; : > .git/HEAD.lock", &[(":README", "x\n")]);
    assert!(!stage.sandbox.has(".git/index.lock") && !stage.sandbox.has(".git/HEAD.lock"));
}

#[test]
fn the_users_own_uncommitted_work_is_part_of_where_the_story_began() {
    let stage = Stage::new("1.1");
    stage.sandbox.sh(
        "printf 'changed\\n' > README; printf 'staged\\n' > staged; git add staged; printf 'and changed\\n' > staged; \
         printf 'mine\\n' > untracked; git rm -q --cached AGENTS.md",
    );
    // The worst that an agent can do with it.
    let script = "git add -A; git commit -q -m 'all of it'; git rm -q -f untracked; rm -f staged; git reset -q --hard HEAD~1; git clean -fdq";
    check(&stage, script, &[]);
    assert_eq!(stage.sandbox.read("untracked"), "mine\n");
    assert_eq!(stage.sandbox.sh("git show :staged"), "staged\n");
}

#[test]
fn a_sparse_checkout_stays_one() {
    let stage = Stage::new("1.1");
    stage.sandbox.write("far/away", "not wanted here\n");
    stage.sandbox.sh("git add . && git commit -q -m far && git sparse-checkout set --no-cone '/*' '!/far/'");
    assert!(!stage.sandbox.has("far/away"));
    check(&stage, "echo a > a; git add a; echo b > README; commit b", &[(":README", "b\n")]);
    assert_eq!(stage.sandbox.sh("git ls-files -t far"), "S far/away\n");
    stage.run(&["-n", "3", "--max-retries", "9"], "echo a > a; FAIL no").exits(1);
    assert!(!stage.sandbox.has("far/away"), "nor after a second time");
}

#[test]
fn a_repository_without_a_commit() {
    let stage = Stage::without_git("1.1");
    stage.sandbox.sh("git init -q -b main && git config user.name a && git config user.email a@localhost");
    stage
        .run(&["-n", "2"], "case $try in *#1) echo a > a; commit first; FAIL no ;; *) DONE ;; esac")
        .exits(0);
    stage.sandbox.sh("! git rev-parse -q --verify HEAD && git symbolic-ref HEAD");
    assert!(!stage.sandbox.has("a"));
    assert_eq!(stage.sandbox.sh(&format!("git show {}:a", stage.kept(1))), "a\n");
    assert_eq!(stage.sandbox.sh("git ls-files"), "", "nor is anything staged");
}

#[test]
fn ralphs_own_files_stay_even_if_the_agent_commits_changes_and_removes_them() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("progress.txt", "by hand\n");
    stage.sandbox.sh("git add -f progress.txt && git commit -q -m progress");
    let script = "case $try in
        1.1#1) LEARN early; DONE ;;
        1.2#1)
            git add -A -f . && git commit -q -m everything
            rm -rf progress.txt ralph.log .ralph/state.json && sed -i s/done/pending/ specs/epic-1/story-1.1-*
            commit gone; FAIL no ;;
        1.2#2) DONE ;; esac";
    stage.run(&[], script).exits(0);
    assert!(stage.sandbox.read(&spec_path("1.1")).contains("status: done\n"), "the status is ralph's");
    assert_eq!(stage.state(), "1.1 1.2 / - / 0");
    let progress = stage.progress();
    // What the agent took away before it failed cannot come back; what came after is there.
    assert_eq!(progress.last().unwrap(), "[DONE] Story 1.2 - Part 1 2 - TIME");
    assert!(stage.log().last().unwrap().ends_with("ended: completed"));
}

#[test]
fn ralphs_own_files_are_not_put_back_with_the_rest() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("progress.txt", "by hand\n");
    stage.sandbox.sh("git add -f progress.txt && git commit -q -m progress");
    let script = "case $try in
        1.1#1) LEARN early; DONE ;;
        1.2#1) git add -A -f .; commit everything; LEARN late; FAIL no ;;
        1.2#2) DONE ;; esac";
    stage.run(&[], script).exits(0);
    assert_eq!(
        stage.progress(),
        [
            "by hand",
            "[LEARN] early",
            "[DONE] Story 1.1 - Part 1 1 - TIME",
            "[LEARN] late",
            "[FAIL] Story 1.2 - no - TIME (attempt 1/3)",
            "[DONE] Story 1.2 - Part 1 2 - TIME",
        ]
    );
    assert_eq!(stage.log().iter().filter(|line| line.contains("is done")).count(), 2);
    assert!(stage.sandbox.read(&spec_path("1.1")).contains("status: done\n"));
    assert_eq!(stage.commits(), "progress");
}

#[test]
fn a_halt_leaves_the_last_attempt_for_the_person_who_is_asked() {
    let stage = Stage::new("1.1");
    stage.run(&[], "echo $try > left; commit $try; FAIL no").exits(1);
    assert_eq!(stage.sandbox.read("left"), "1.1#3\n");
    assert_eq!(stage.commits(), "1.1#3");
    for attempt in 1..=2 {
        let kept = stage.sandbox.sh(&format!("git show {}:left", stage.kept(attempt)));
        assert_eq!(kept, format!("1.1#{attempt}\n"));
    }
    assert_eq!(stage.sandbox.sh("git for-each-ref --format='%(refname)' refs/ralph").lines().count(), 2);
}

#[test]
fn a_crash_of_the_agent_and_a_timeout_are_put_back_too() {
    for (end, limit) in [("exit 3", "60"), ("exec tail -f /dev/null", "8"), ("kill -9 $$", "60")] {
        let stage = Stage::new("1.1");
        let script = format!(
            "case $try in *#1) echo x > left; git add left; {end} ;; *) ls > \"$at/ls\"; DONE ;; esac"
        );
        stage.run(&["-t", limit], &script).exits(0);
        assert!(!stage.note("ls").contains("left"), "{end}");
        assert_eq!(stage.sandbox.sh(&format!("git show {}:left", stage.kept(1))), "x\n");
    }
}

#[test]
fn only_what_is_done_is_committed_by_ralph() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.settings(&serde_json::json!({"scm": {"tasks": ["commit"]}}));
    let script = "case $try in '#'*) echo 'part of it' ;; 1.1#1) echo x > bad; FAIL no ;; *) echo $try > good; DONE ;; esac";
    stage.run(&[], script).exits(0);
    let log = stage
        .sandbox
        .sh("git log --name-only --format= specs..HEAD 2>/dev/null || git log --name-only --format= -2");
    assert!(!log.contains("bad") && log.contains("good"), "{log}");
}

/// What is kept is a commit in the user's repository.
#[test]
fn local_settings_are_not_kept_and_stay() {
    let stage = Stage::new("1.1");
    stage.sandbox.write(".gitignore", "!.ralph/settings.local.json\n");
    stage.sandbox.sh("git add .gitignore && git commit -q -m ignored");
    stage.sandbox.write(".ralph/settings.local.json", "{}");
    let change = "echo mine > mine; echo ' {}' > .ralph/settings.local.json; FAIL no";
    stage.run(&["-n", "2"], &format!("case $try in *#1) {change} ;; *) DONE ;; esac")).exits(0);
    let id = stage.sandbox.only_run();
    let kept = stage.sandbox.sh(&format!("git ls-tree -r --name-only refs/ralph/{id}/attempt-1"));
    assert!(kept.contains("mine") && !kept.contains("settings.local"), "{kept}");
    assert_eq!(stage.sandbox.read(".ralph/settings.local.json"), " {}\n");
}

#[test]
fn a_spec_that_is_added_during_an_attempt_stays() {
    let stage = Stage::new("1.1");
    let add = format!("'{}' stories new Mine --epic 1", crate::support::RALPH);
    let script = format!("case $try in *#1) echo junk > junk; {add}; FAIL no ;; *) DONE ;; esac");
    stage.run(&["-n", "2"], &script).exits(0);
    assert!(!stage.sandbox.has("junk"), "the tree was put back");
    let names = stage.sandbox.sh("ls specs/epic-1");
    assert!(names.contains("story-1.2-mine.md"), "{names}");
}

/// The wrapper of git adds it when the restore looks at the tree.
#[test]
fn a_spec_that_is_added_while_the_tree_is_put_back_stays() {
    let stage = Stage::new("1.1");
    let git = stage.sandbox.sh("command -v git");
    let add = format!("'{}' stories new Mine --epic 1", crate::support::RALPH);
    let body = format!(
        "case \"$*\" in *checkpoints.git*status*) [ -e ../restoring ] && rm ../restoring && {add} >&2 ;; esac
         exec {git} \"$@\"",
        git = git.trim()
    );
    stage.sandbox.program("git", &body);
    let script = "case $try in *#1) echo junk > junk; touch ../restoring; FAIL no ;; *) DONE ;; esac";
    stage.run(&["-n", "2"], script).exits(0);
    assert!(!stage.sandbox.has("junk"), "the tree was put back");
    let names = stage.sandbox.sh("ls specs/epic-1");
    assert!(names.contains("story-1.2-mine.md"), "{names}");
}
