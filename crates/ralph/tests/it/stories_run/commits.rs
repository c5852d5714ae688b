//! One commit per story, made by ralph.

use super::stage::{Stage, spec_path};
use crate::support::{Sandbox, until};
use rustix::process::Signal;
use serde_json::json;

const WORKS: &str =
    "case $try in 1.1#1) echo wrong > part; FAIL no ;; esac; echo $try > part-$RALPH_STORY; DONE";

fn git(sandbox: &Sandbox, args: &str) -> String {
    sandbox.sh(&format!("git {args}"))
}

#[test]
fn every_story_that_is_done_is_one_commit_on_a_branch_of_the_run() {
    let stage = Stage::new("1.1 1.2");
    let sandbox = &stage.sandbox;
    sandbox.write(".ralph/settings.json", json!({"stories": {"commit": true}}).to_string());
    git(sandbox, "add . && git commit -q -m settings");
    sandbox.write(".ralph/settings.local.json", "{}");
    stage.run(&[], WORKS).exits(0).says("committed: ");
    let run = sandbox.only_run();
    assert_eq!(git(sandbox, "branch --show-current"), format!("ralph/{run}\n"));
    // The second iteration is the attempt that did it; what the first left is in no commit.
    let commits =
        git(sandbox, "log --reverse --format='%s|%(trailers:key=Ralph-Run,valueonly,separator=)' main..");
    assert_eq!(commits, format!("[1.1] Part 1 1|{run}/2\n[1.2] Part 1 2|{run}/3\n"));
    let files = |commit: &str| git(sandbox, &format!("show --format= --name-only {commit}"));
    for (commit, id) in [("HEAD~1", "1.1"), ("HEAD", "1.2")] {
        assert_eq!(files(commit), format!("part-{id}\nprogress.txt\n{}\n", spec_path(id)));
    }
    assert!(git(sandbox, &format!("show HEAD~1:{}", spec_path("1.1"))).contains("status: done"));
    assert!(git(sandbox, "show HEAD:progress.txt").contains("[DONE] Story 1.2"));
    assert_eq!(git(sandbox, "status --porcelain"), "");
    let prompt = stage.prompt("1.1#1");
    assert!(
        prompt.contains("leave your changes uncommitted") && !prompt.contains("commit your work"),
        "{prompt}"
    );
    // The next run goes on where this one was.
    stage.specs("1.1 1.2 1.3");
    git(
        sandbox,
        "checkout -q specs/epic-1/story-1.1* specs/epic-1/story-1.2* && git add specs && git commit -q -m more",
    );
    stage.run(&[], WORKS).exits(0);
    assert_eq!(git(sandbox, "branch --show-current"), format!("ralph/{run}\n"));
    assert_eq!(git(sandbox, "log -1 --format=%s"), "[1.3] Part 1 3\n");
}

#[test]
fn the_branch_can_be_named_or_be_that_of_a_worktree() {
    let stage = Stage::new("1.1 1.2");
    let sandbox = &stage.sandbox;
    stage.run(&["--commit", "--branch", "main", "-n", "1", "-s", "1.2"], WORKS).exits(0);
    assert_eq!(git(sandbox, "log -1 --format='%s %D'"), "[1.2] Part 1 2 HEAD -> main\n");
    sandbox.write("mine", "not committed\n");
    let ran = stage.run(&["--commit", "--worktree"], WORKS).exits(0);
    assert!(ran.stderr.contains("1 uncommitted change: mine, not in the worktree"), "{}", ran.stderr);
    assert_eq!(git(sandbox, "log -1 --format=%s main"), "[1.2] Part 1 2\n");
    let last = sandbox.sh("git log -1 --format=%s $(git branch --list 'ralph/*' --format='%(refname)')");
    assert_eq!(last, "[1.1] Part 1 1\n");
}

#[test]
fn changes_of_the_users_own_are_never_part_of_a_commit() {
    let stage = Stage::new("1.1");
    let sandbox = &stage.sandbox;
    for name in ["a", "b", "c", "d"] {
        sandbox.write(name, "mine\n");
    }
    let refused = stage.run(&["--commit"], WORKS).exits(2);
    for part in
        ["4 uncommitted changes: a, b, c and 1 more", "commit them, or stash them with `git stash -u`"]
    {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    assert_eq!((stage.asked().as_str(), git(sandbox, "branch --list 'ralph/*'").as_str()), ("", ""));
    assert!(sandbox.runs().is_empty());
    stage.run(&["--commit", "--dry-run"], WORKS).exits(0);
    // Without commits they stay where they are, and the user knows.
    let ran = stage.run(&[], WORKS).exits(0);
    assert!(
        ran.stderr.contains("4 uncommitted changes: a, b, c and 1 more; every attempt starts"),
        "{}",
        ran.stderr
    );
    assert_eq!((stage.commits().as_str(), git(sandbox, "branch --list 'ralph/*'").as_str()), ("", ""));
    let one = Stage::new("1.1");
    one.sandbox.write("mine", "x\n");
    let ran = one.run(&[], WORKS).exits(0);
    assert!(
        ran.stderr.contains("1 uncommitted change: mine; every attempt starts with it"),
        "{}",
        ran.stderr
    );
    Stage::without_git("1.1")
        .run(&["--commit"], WORKS)
        .exits(2)
        .says("committing stories needs a git repository: ");
}

#[test]
fn a_story_that_was_done_when_the_run_was_stopped_is_committed_by_the_next_life() {
    let stage = Stage::new("1.1 1.2");
    let sandbox = &stage.sandbox;
    let running = stage.begin(&["--commit"], "echo $try > part-$RALPH_STORY; hold; DONE");
    stage.until_held("1.1#1");
    sandbox.interrupt(&running, Signal::INT);
    stage.let_go("1.1#1");
    running.end().exits(130);
    stage.let_go("1.2#1");
    sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(git(sandbox, "log --reverse --format=%s main.."), "[1.1] Part 1 1\n[1.2] Part 1 2\n");
    assert_eq!(git(sandbox, "status --porcelain"), "");
}

#[test]
fn what_ralph_itself_left_uncommitted_does_not_block_the_next_run() {
    let stage = Stage::new("1.1 1.2");
    let sandbox = &stage.sandbox;
    // A `[DONE]` line and a marked spec of a run without commits, the work of which the user committed.
    stage.run(&["-s", "1.1"], "echo $try > part; DONE").exits(0);
    git(sandbox, "add part && git commit -q -m part");
    stage.run(&["--commit", "-n", "1"], "LEARN use tabs; FAIL no").exits(1);
    assert_eq!(git(sandbox, "status --porcelain"), format!(" M {}\n?? progress.txt\n", spec_path("1.1")));
    stage.run(&["--commit"], "echo $try > part-2; DONE").exits(0);
    assert_eq!(git(sandbox, "status --porcelain"), "");
    let progress = git(sandbox, "show HEAD:progress.txt");
    let kinds: Vec<&str> = progress.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["[DONE]", "[LEARN]", "[FAIL]", "[DONE]"]);
}

#[test]
fn what_people_wrote_into_ralphs_files_is_theirs_to_commit() {
    let refused = |file: &str, edit: &str| {
        let stage = Stage::new("1.1 1.2");
        stage.run(&["--commit", "-s", "1.1"], WORKS).exits(0);
        stage.run(&["--commit", "-n", "1"], "FAIL no").exits(1);
        stage.sandbox.sh(edit);
        let refused = stage.run(&["--commit"], WORKS).exits(2);
        assert!(refused.stderr.contains(&format!("1 uncommitted change: {file}")), "{}", refused.stderr);
    };
    refused("progress.txt", "echo 'asked the team about 1.2' >> progress.txt");
    refused("progress.txt", "sed -i s/Part/part/ progress.txt");
    let (done, open) = (spec_path("1.1"), spec_path("1.2"));
    refused(&done, &format!("echo more >> {done}"));
    refused(&open, &format!("sed -i s/pending/done/ {open}"));
}

#[test]
fn after_a_halt_the_way_on_that_is_printed_works() {
    let stage = Stage::new("1.1");
    let sandbox = &stage.sandbox;
    let script = "echo $try > part; [ -e \"$at/fixed\" ] || exit 0; DONE";
    let halted = stage.run(&["--commit", "--max-retries", "2"], script).exits(1);
    let resume = format!("ralph resume {}", sandbox.only_run());
    assert!(halted.stdout.contains(&format!("When story 1.1 is unblocked: {resume}")), "{}", halted.stdout);
    assert_eq!(sandbox.read("part"), "1.1#2\n");
    let refused = stage.run(&["--commit"], script).exits(2);
    for part in
        ["1 uncommitted change: part\n", &format!("continue it with `{resume}`, or commit or stash it")]
    {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    std::fs::write(stage.at("fixed"), "").unwrap();
    sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(git(sandbox, "log --format=%s main.."), "[1.1] Part 1 1\n");
    assert_eq!(git(sandbox, "status --porcelain"), "");
}

#[test]
fn a_story_that_was_done_when_ralph_was_killed_is_committed_by_the_next_life() {
    let stage = Stage::new("1.1 1.2");
    let sandbox = &stage.sandbox;
    let (real, at) = (sandbox.sh("command -v git"), stage.at("").display().to_string());
    // The first commit never begins; its git is let go once ralph is dead.
    let wait = "while [ ! -e \"$at/over\" ] && [ $i -lt 3000 ]; do sleep 0.02; i=$((i+1)); done; exit 1";
    sandbox.program(
        "git",
        &format!(
            "at='{at}'; [ -e \"$at/over\" ] || case \" $* \" in *' commit '*) : > \"$at/commits\"; i=0; {wait} ;; esac\n\
             exec {} \"$@\"",
            real.trim()
        ),
    );
    let running = stage.begin(&["--commit"], "echo $try > part-$RALPH_STORY; DONE");
    until("the commit", || stage.at("commits").exists());
    running.kill();
    std::fs::write(stage.at("over"), "").unwrap();
    sandbox.soon_nothing_is_left();
    let judged = sandbox.facts().iter().filter(|fact| !fact["judged"].is_null()).count();
    assert_eq!((judged, git(sandbox, "log --format=%s main..").as_str()), (1, ""));
    sandbox.ralph(&["resume"]).exits(0);
    assert_eq!(stage.asked(), "1.1 1.2", "what is done is not done again");
    assert_eq!(git(sandbox, "log --reverse --format=%s main.."), "[1.1] Part 1 1\n[1.2] Part 1 2\n");
    let files = git(sandbox, "show --format= --name-only HEAD~1");
    assert_eq!(files, format!("part-1.1\nprogress.txt\n{}\n", spec_path("1.1")));
    assert_eq!(git(sandbox, "status --porcelain"), "");
}
