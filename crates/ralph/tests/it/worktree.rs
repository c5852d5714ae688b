//! Runs in a git worktree of their own.

use crate::support::{Ran, Sandbox, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const DONE: &str = "<response>DONE</response>";

fn new_file(name: &str) -> Value {
    json!([[{"write": {"path": name, "content": "made\n"}}, {"say": DONE}]])
}

fn path_of(result: &Value) -> PathBuf {
    PathBuf::from(result["worktree_path"].as_str().unwrap())
}

/// Everything of the user's that a run in a worktree must not touch.
fn users_own(sandbox: &Sandbox) -> String {
    sandbox.sh(
        "git symbolic-ref HEAD; git rev-parse HEAD; git ls-files -s; git status --porcelain; git stash list; \
         git for-each-ref | grep -v refs/heads/ralph/; find . -name .git -prune -o -name .ralph -prune \
         -o -type f -print -exec cat {} +",
    )
}

#[test]
fn the_users_tree_index_branch_and_head_stay_as_they_are() {
    let sandbox = Sandbox::git();
    sandbox.write("README", "changed, not staged\n");
    sandbox.write("staged", "1");
    sandbox.sh("git add staged && echo 2 > staged");
    sandbox.write("untracked", "1");
    let before = users_own(&sandbox);
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "README", "content": "the agent's\n"}}, {"say": "half"}],
        [{"write": {"path": "made", "content": "1"}}, {"save_prompt": "told"}, {"say": DONE}],
    ]));
    let check = ["--check", "test -f made && test ! -e untracked"];
    let args = [&["-p", "x", "--worktree", "--format", "json"], &check[..]].concat();
    let result = sandbox.run(&args, &agent).stops(0, "completed", 2);
    assert_eq!(users_own(&sandbox), before);

    let path = path_of(&result);
    let id = sandbox.only_run();
    assert_eq!(path, sandbox.project().join(".ralph/worktrees").join(&id), "absolute");
    assert_eq!(fs::read_to_string(path.join("README")).unwrap(), "the agent's\n");
    let branch = format!("ralph/{id}");
    assert_eq!(sandbox.sh(&format!("git show {branch}:README")), "the agent's\n", "leftovers are committed");
    assert_eq!(sandbox.sh(&format!("git -C '{}' status --porcelain", path.display())), "");
    assert_eq!(sandbox.sh(&format!("git show --name-only --format= {branch}")), "README\nmade\ntold\n");
    let prompt = fs::read_to_string(path.join("told")).unwrap();
    assert!(prompt.contains("+the agent's"), "the context's diff is the worktree's\n{prompt}");
    assert_eq!(sandbox.listed()["workspace"], path.to_str().unwrap());
}

#[test]
fn the_closing_lines_say_where_it_is_and_how_to_look_merge_and_remove() {
    let sandbox = Sandbox::git();
    let ran = sandbox.run(&["-p", "x", "--worktree"], &sandbox.agent(&new_file("made"))).exits(0);
    let id = sandbox.only_run();
    let path = sandbox.project().join(".ralph/worktrees").join(&id);
    let ran = ran.says(&format!("worktree: {}", path.display())).says("remove:   ralph clean");
    let hint = |word: &str| {
        let line = ran.stdout.lines().find_map(|line| line.trim().strip_prefix(word));
        line.unwrap_or_else(|| panic!("no {word} in\n{}", ran.stdout)).trim().to_owned()
    };
    assert!(sandbox.sh(&hint("show:")).contains("+++ b/made"));
    sandbox.sh(&hint("merge:"));
    assert_eq!(sandbox.read("made"), "made\n");
}

#[test]
fn what_an_interrupted_run_leaves_is_committed() {
    let sandbox = Sandbox::git();
    let go = sandbox.root().join("go");
    let agent =
        sandbox.agent(&json!([[{"write": {"path": "half", "content": "1"}}, {"wait_for": go.to_str()}]]));
    let running = sandbox.begin(&["-p", "x", "--worktree", "--format", "json", "--check", "false"], &agent);
    until("the agent", || {
        sandbox.runs().pop().is_some_and(|id| sandbox.has(&format!(".ralph/worktrees/{id}/half")))
    });
    sandbox.interrupt_and_go(&running, Signal::INT);
    let result = running.end().exits(130).json();
    assert_eq!(result["stop_reason"], "interrupted");
    let branch = format!("ralph/{}", sandbox.only_run());
    assert_eq!(sandbox.sh(&format!("git show {branch}:half")), "1");
}

#[test]
fn what_is_left_is_committed_whatever_hooks_signing_and_identity_say() {
    let sandbox = Sandbox::git();
    for name in ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"] {
        sandbox.write(&format!(".git/hooks/{name}"), "#!/bin/sh\ntouch ../../../ran; exit 1\n");
    }
    sandbox.sh("chmod +x .git/hooks/*; git config commit.gpgsign true; git config gpg.program false; \
         git config --unset user.name; git config --unset user.email; git config user.useConfigOnly true");
    let ran = sandbox.run(&["-p", "x", "--worktree"], &sandbox.agent(&new_file("made"))).exits(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let branch = format!("ralph/{}", sandbox.only_run());
    assert_eq!(sandbox.sh(&format!("git show {branch}:made")), "made\n");
    assert!(!sandbox.has("ran"));
}

#[test]
fn what_is_left_is_committed_although_a_git_was_killed_there() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent("echo made > made; : > \"$(git rev-parse --git-path index.lock)\"");
    sandbox.run(&["-p", "x", "--worktree", "-n", "1"], &agent).exits(1);
    let branch = format!("ralph/{}", sandbox.only_run());
    assert_eq!(sandbox.sh(&format!("git show {branch}:made")), "made\n");
}

#[test]
fn a_run_that_leaves_nothing_makes_no_commit() {
    let sandbox = Sandbox::git();
    sandbox.run(&["-p", "x", "--worktree"], &sandbox.agent(&json!([[{"say": DONE}]]))).exits(0);
    assert_eq!(sandbox.sh("git log --all --format=%s"), "begin\n");
}

#[test]
fn two_runs_work_in_one_repository_at_the_same_time() {
    let sandbox = Sandbox::git();
    // Each waits until it sees the other's file.
    let meet = |mine: &str, other: &str| {
        let body = format!(
            "echo 1 > ../../../../{mine}; while ! [ -e ../../../../{other} ]; do sleep 0.01; done; \
             echo {mine} > file; echo '{DONE}'"
        );
        sandbox.program(mine, &body)
    };
    let programs = [meet("one", "two"), meet("two", "one")];
    let running = programs
        .map(|program| sandbox.start(&["run", "-p", "x", "--worktree", "--format", "json", "--", &program]));
    let contents: Vec<String> = running
        .into_iter()
        .map(|running| {
            let result = running.end().stops(0, "completed", 1);
            fs::read_to_string(path_of(&result).join("file")).unwrap()
        })
        .collect();
    assert_eq!(contents, ["one\n", "two\n"]);
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

fn refused(sandbox: &Sandbox, code: i32) -> Ran {
    let ran = sandbox.run(&["-p", "x", "--worktree"], &sandbox.agent(&new_file("made"))).exits(code);
    assert_eq!(sandbox.runs(), [""; 0], "no run was begun");
    ran
}

#[test]
fn without_a_repository_or_a_commit_it_is_refused() {
    let sandbox = Sandbox::bare();
    refused(&sandbox, 2).says("--worktree needs a git repository").says("hint: ");
    let sandbox = Sandbox::empty_repository();
    refused(&sandbox, 2).says("--worktree needs a commit to start from").says("hint: ");
}

#[test]
fn a_place_or_a_name_that_is_taken_is_told() {
    let sandbox = Sandbox::git();
    sandbox.write(".ralph/worktrees", "a file");
    refused(&sandbox, 1).says(".ralph/worktrees");
    assert_eq!(sandbox.read(".ralph/worktrees"), "a file");
    fs::remove_file(sandbox.project().join(".ralph/worktrees")).unwrap();

    // No branch can be named ralph/<run> beside a branch ralph.
    sandbox.sh("git branch ralph");
    refused(&sandbox, 1).says("refs/heads/ralph");
    assert_eq!(sandbox.sh("git worktree list | wc -l").trim(), "1");
    assert_eq!(sandbox.sh("git branch --format='%(refname:short)'"), "main\nralph\n");
}

#[test]
fn a_run_that_is_refused_for_another_reason_leaves_no_worktree() {
    let sandbox = Sandbox::git();
    fs::write(sandbox.home(), "a file").unwrap();
    let agent = sandbox.agent(&new_file("made"));
    let ran = sandbox.run(&["-p", "x", "--worktree"], &agent);
    assert_ne!(ran.code, Some(0));
    assert_eq!(sandbox.sh("git branch --format='%(refname:short)'"), "main\n");
    assert_eq!(sandbox.sh("git worktree list | wc -l").trim(), "1");
}

#[test]
fn from_a_subdirectory_it_works_in_the_same_one() {
    let sandbox = Sandbox::git();
    sandbox.write("sub/file", "1");
    sandbox.sh("git add . && git commit -q -m sub && mkdir empty");
    for dir in ["sub", "empty"] {
        let agent = sandbox.agent(&new_file("made"));
        let args = ["-p", "x", "--worktree", "-C", dir, "--format", "json", "--check", "pwd > where"];
        let result = sandbox.run(&args, &agent).stops(0, "completed", 1);
        let path = path_of(&result);
        assert!(path.starts_with(sandbox.project().join(dir).join(".ralph/worktrees")), "{}", path.display());
        let inside = path.join(dir);
        assert_eq!(fs::read_to_string(inside.join("where")).unwrap().trim_end(), inside.to_str().unwrap());
        assert!(inside.join("made").exists());
        let branch = format!("ralph/{}", result["run"].as_str().unwrap());
        let changed = sandbox.sh(&format!("git show --name-only --format= {branch}"));
        assert_eq!(changed, format!("{dir}/made\n{dir}/where\n"), "and no runtime files");
    }
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

#[test]
fn a_killed_run_is_carried_on_in_its_worktree() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "half", "content": "1"}}, {"hang": true}],
        [{"write": {"path": "rest", "content": "1"}}, {"say": DONE}],
    ]));
    let running = sandbox.begin(&["-p", "x", "--worktree"], &agent);
    until("the agent", || {
        sandbox.runs().pop().is_some_and(|id| sandbox.has(&format!(".ralph/worktrees/{id}/half")))
    });
    running.kill();
    sandbox.soon_nothing_is_left();
    let result = sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 1);
    let branch = format!("ralph/{}", sandbox.only_run());
    assert_eq!(sandbox.sh(&format!("git show --name-only --format= {branch}")), "half\nrest\n");
    assert!(path_of(&result).join("rest").exists());
    assert!(!sandbox.has("rest"));
}

#[test]
fn tasks_commit_in_the_worktree() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"scm": {"tasks": ["commit"]}, "context": false}));
    sandbox.sh("git add . && git commit -q -m settings");
    let agent = sandbox
        .agent(&json!([[{"write": {"path": "made", "content": "1"}}, {"say": DONE}], [{"say": "work"}]]));
    sandbox.run(&["-p", "x", "--worktree"], &agent).exits(0);
    let branch = format!("ralph/{}", sandbox.only_run());
    assert_eq!(sandbox.sh(&format!("git log --format=%s {branch}")), "work\nsettings\nbegin\n");
    assert_eq!(sandbox.sh("git log --format=%s"), "settings\nbegin\n");
}

#[test]
fn a_worktree_that_lost_its_git_never_leads_to_the_users_own_tree() {
    let sandbox = Sandbox::git();
    sandbox.write("mine", "not committed");
    let before = (sandbox.sh("git rev-parse HEAD"), sandbox.sh("git status --porcelain"));
    let ran = sandbox.ralph(&[
        "run",
        "-p",
        "x",
        "--worktree",
        "--",
        "sh",
        "-c",
        "rm -f .git; echo '<response>DONE</response>'",
    ]);
    ran.exits(0).says("not a worktree any more");
    assert_eq!((sandbox.sh("git rev-parse HEAD"), sandbox.sh("git status --porcelain")), before);
}

#[test]
fn a_run_whose_worktree_is_gone_is_not_resumed_somewhere_else() {
    let sandbox = Sandbox::git();
    sandbox.write("mine", "not committed");
    let agent = "kill -9 $(ps -o ppid= -p $PPID)";
    sandbox.ralph(&["run", "-p", "x", "--worktree", "--", "sh", "-c", agent]);
    let id = sandbox.only_run();
    sandbox.soon_nothing_is_left();
    sandbox.sh(&format!("git worktree remove -f .ralph/worktrees/{id}"));
    sandbox.ralph(&["resume", &id]).exits(2).says("the run's directory is gone");
    assert!(sandbox.sh("git status --porcelain").contains("mine"));
}

#[test]
fn two_signals_end_a_run_in_a_worktree_at_once() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([[{"write": {"path": "../../../up", "content": "1"}}, {"hang": true}]]));
    let running = sandbox.begin(&["-p", "x", "--worktree"], &agent);
    sandbox.until_file("up");
    running.signal(Signal::INT);
    sandbox.until_fact("the first signal is heard", |fact| fact == "stop_asked");
    running.signal(Signal::INT);
    running.end().exits(130);
}

#[test]
fn nothing_that_git_runs_for_the_last_commit_is_left() {
    let sandbox = Sandbox::git();
    let root = sandbox.root().display();
    let ghost = sandbox.program("ghost", &format!("echo up > {root}/up; exec sleep 600"));
    let agent = sandbox.sh_agent(&format!(
        "git config filter.x.clean 'setsid {ghost} > /dev/null 2>&1 < /dev/null & until test -e {root}/up; do sleep 0.01; done; cat'
         echo '*.c filter=x' > .gitattributes; echo x > x.c; echo '{DONE}'"
    ));
    sandbox.run(&["-p", "x", "--worktree"], &agent).exits(0);
    assert!(sandbox.has("../up"), "the filter has run");
    sandbox.nothing_is_left();
    let branch = format!("ralph/{}", sandbox.only_run());
    assert!(sandbox.sh(&format!("git show --name-only --format= {branch}")).contains("x.c"));
}
