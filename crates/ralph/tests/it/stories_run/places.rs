//! Branches, worktrees, and directories without git.

use super::stage::{Stage, spec_path};
use std::path::PathBuf;

#[test]
fn a_branch_is_made_or_switched_to_before_the_first_story() {
    let stage = Stage::new("1.1 1.2");
    stage.run(&["--branch", "feature/x", "-n", "1"], "echo a > a; commit a; DONE").exits(0);
    assert_eq!(stage.sandbox.sh("git branch --show-current"), "feature/x\n");
    assert_eq!(stage.sandbox.sh("git log --format=%s main..feature/x"), "a\n");
    stage.sandbox.sh("git switch -q main 2>&1 || { git stash -q -u && git switch -q main; }");
    stage.run(&["--branch", "feature/x"], "echo b > b; commit b; DONE").exits(0);
    assert_eq!(stage.sandbox.sh("git log --format=%s main..feature/x"), "b\na\n");
}

#[test]
fn a_branch_that_cannot_be_is_refused_and_nothing_begun() {
    let stage = Stage::new("1.1");
    for bad in ["..", "a b", "-x", "x.lock"] {
        let refused = stage.run(&[&format!("--branch={bad}")], "DONE").exits(2);
        assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
    }
    stage
        .run(&["--branch", "x", "--worktree"], "DONE")
        .exits(2)
        .says("--branch cannot be used with --worktree");
    assert_eq!(
        (stage.asked().as_str(), stage.sandbox.sh("git branch --show-current").as_str()),
        ("", "main\n")
    );
    Stage::without_git("1.1")
        .run(&["--branch", "x"], "DONE")
        .exits(2)
        .says("--branch needs a git repository");
}

#[test]
fn a_branch_that_is_switched_in_the_middle_is_noticed() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.sh("git branch elsewhere");
    let running = stage.begin(&[], "hold; echo $try > made; commit $try; DONE");
    stage.until_held("1.1#1");
    stage.let_go("1.1#1");
    stage.until_held("1.2#1");
    stage.sandbox.sh("git switch -q elsewhere -m 2>&1 || git checkout -q -f elsewhere");
    stage.let_go("1.2#1");
    let stopped = running.end().exits(1);
    let why = "the branch was switched from main to elsewhere";
    assert!(stopped.stdout.contains(why), "{}", stopped.stdout);
    assert_eq!(stage.state(), "1.1 / 1.2 / 0", "nothing is held against the story");
    // Still there.
    let refused = stage.sandbox.ralph(&["resume"]).exits(1);
    assert!(refused.stdout.contains("git switch main"), "says the way out: {}", refused.stdout);
    assert_eq!(stage.sandbox.sh("git branch --show-current"), "elsewhere\n", "and touches nothing");
    // Back again.
    stage.sandbox.sh("git checkout -q -f main");
    stage.let_go("1.2#2");
    stage.sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(stage.asked(), "1.1 1.2 1.2");
    assert_eq!(stage.commits(), "1.1#1, 1.2#2");
    assert_eq!(
        stage.sandbox.sh("git log --format=%s main..elsewhere"),
        "1.2#1\n",
        "what was done there stays there"
    );
}

#[test]
fn without_git_stories_are_worked_on_all_the_same() {
    let stage = Stage::without_git("1.1 1.2");
    let script = "case $try in 1.1#1) echo x > left; FAIL no ;; *) DONE ;; esac";
    stage.run(&[], script).exits(0).says("not a git repository");
    assert_eq!(stage.asked(), "1.1 1.1 1.2");
    assert_eq!(stage.sandbox.read("left"), "x\n", "there is nothing to put it back with");
    assert_eq!(stage.state(), "1.1 1.2 / - / 0");
    assert!(stage.sandbox.read(&spec_path("1.1")).contains("status: done"));
}

#[test]
fn checkpoints_that_are_turned_off_do_not_turn_off_putting_back() {
    let stage = Stage::new("1.1");
    stage.sandbox.settings(&serde_json::json!({"checkpoints": false}));
    stage.run(&[], "case $try in *#1) echo x > left; FAIL no ;; *) DONE ;; esac").exits(0);
    assert!(!stage.sandbox.has("left"));
}

#[test]
fn a_project_in_a_part_of_a_repository() {
    let stage = Stage::new("");
    stage.sandbox.write("sub/specs/epic-1/story-1.1-a.md", "---\nstatus: pending\n---\n");
    stage.sandbox.write("sub/progress.txt", "");
    stage.sandbox.sh("git add . && git commit -q -m sub");
    let script = "case $try in *#1) echo x > ../outside; commit x; FAIL no ;; *) DONE ;; esac";
    stage.run(&["-C", "sub"], script).exits(0);
    assert!(!stage.sandbox.has("outside"));
    let lines = stage.sandbox.read("sub/progress.txt");
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(stage.sandbox.read("sub/specs/epic-1/story-1.1-a.md").contains("status: done"));
}

#[test]
fn in_a_worktree_the_users_directory_is_not_touched() {
    let stage = Stage::new("1.1 1.2");
    stage.sandbox.write("mine", "not committed\n");
    let before = stage.sandbox.sh("git status --porcelain; git rev-parse HEAD");
    let script = "echo $try > made; commit $try; case $try in 1.2#1) FAIL no ;; *) DONE ;; esac";
    let result = stage.run(&["--worktree", "--format", "json"], script).exits(0).json();
    assert_eq!(stage.sandbox.sh("git status --porcelain; git rev-parse HEAD"), before);
    let worktree = PathBuf::from(result["worktree_path"].as_str().unwrap());
    let branch = format!("ralph/{}", stage.sandbox.only_run());
    assert_eq!(
        stage.sandbox.sh(&format!("git log --format=%s main..{branch} | grep -v ^ralph:")),
        "1.2#2\n1.1#1\n",
        "one commit a story; the failed one is kept elsewhere"
    );
    assert_eq!(stage.sandbox.sh(&format!("git show {}:made", stage.kept(1))), "1.2#1\n");
    let progress = std::fs::read_to_string(worktree.join("progress.txt")).unwrap();
    assert_eq!(progress.matches("[DONE]").count(), 2, "{progress}");
    // Merged, everything is as if it had been done here.
    stage.sandbox.sh(&format!("git merge -q {branch}"));
    assert!(stage.sandbox.read(&spec_path("1.2")).contains("status: done"));
    let listed = stage.sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0).json();
    let statuses: Vec<&str> =
        listed.as_array().unwrap().iter().map(|s| s["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["done", "done"]);
}
