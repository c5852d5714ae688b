//! Runs that are killed while their worktree is laid out.

use crate::support::{Running, Sandbox, until};
use rustix::process::{Signal, kill_process};
use serde_json::json;
use std::fs;

/// How far `git worktree add` has come when it stops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Point {
    Nothing,
    BranchLock,
    Branch,
    /// It holds the lock of all packed branches, which it takes while it checks files out.
    SharedLock,
    Files,
    End,
}

const POINTS: [Point; 6] =
    [Point::Nothing, Point::BranchLock, Point::Branch, Point::SharedLock, Point::Files, Point::End];

/// A project whose worktrees stop at that point, as long as there is a file `block`.
fn stopping_at(point: Point) -> Sandbox {
    let sandbox = Sandbox::git();
    let root = sandbox.root().display();
    let stop = format!("if test -e {root}/block; then echo up > {root}/up; exec sleep 600; fi");
    let git = sandbox.sh("command -v git");
    let git = git.trim();
    match point {
        Point::Nothing => {
            let stop = format!("case \"$*\" in *'worktree add'*) {stop};; esac\nexec {git} \"$@\"");
            drop(sandbox.program("git", &stop));
        }
        Point::BranchLock => {
            let made = "mkdir -p .git/refs/heads/ralph; echo > \".git/refs/heads/$5.lock\"";
            let made = format!("test -e {root}/block && {{ {made}; }}");
            let stop = format!("case \"$*\" in *'worktree add'*) {made}; {stop};; esac\nexec {git} \"$@\"");
            drop(sandbox.program("git", &stop));
        }
        Point::Branch | Point::SharedLock => {
            // It is made before the worktree is.
            let locked = if point == Point::SharedLock { "echo > .git/packed-refs.lock" } else { ":" };
            let made = format!("test -e {root}/block && {{ {git} branch \"$5\" HEAD; {locked}; }}");
            let stop = format!("case \"$*\" in *'worktree add'*) {made}; {stop};; esac\nexec {git} \"$@\"");
            drop(sandbox.program("git", &stop));
        }
        Point::Files => {
            sandbox.sh("for i in $(seq 20); do echo $i > file$i; done; echo x > middle.x; echo 1 > zz");
            sandbox.write(".gitattributes", "*.x filter=x\n");
            sandbox.sh("git add . && git commit -q -m files");
            let smudge = sandbox.program("smudge", &format!("{stop}\ncat"));
            sandbox.sh(&format!("git config filter.x.smudge {smudge}"));
        }
        Point::End => {
            sandbox.write(".git/hooks/post-checkout", format!("#!/bin/sh\n{stop}\n"));
            sandbox.sh("chmod +x .git/hooks/post-checkout");
        }
    }
    sandbox.write("../block", "");
    sandbox
}

fn begin(sandbox: &Sandbox) -> Running {
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "made", "content": "1"}}, {"say": "<response>DONE</response>"}]
    ]));
    let running = sandbox.begin(&["-p", "x", "--worktree"], &agent);
    sandbox.until_file("../up");
    running
}

fn kill_all(sandbox: &Sandbox) {
    until("the end of all processes", || {
        let alive = sandbox.alive();
        for pid in &alive {
            let _ = kill_process(*pid, Signal::KILL);
        }
        alive.is_empty()
    });
    fs::remove_file(sandbox.root().join("block")).unwrap();
}

#[track_caller]
fn nothing_is_left_of(sandbox: &Sandbox, id: &str, point: Point) {
    assert!(!sandbox.has(&format!(".ralph/worktrees/{id}")), "{point:?}");
    assert!(!sandbox.has(&format!(".git/worktrees/{id}")), "{point:?}");
    assert!(!sandbox.has(&format!(".git/refs/heads/ralph/{id}.lock")), "{point:?}");
    assert!(!sandbox.has(".git/packed-refs.lock"), "{point:?}");
    assert_eq!(sandbox.sh("git branch --format='%(refname:short)'; git worktree list | wc -l"), "main\n1\n");
}

#[test]
fn the_run_is_listed_and_clean_removes_all_of_it() {
    for point in POINTS {
        let sandbox = stopping_at(point);
        let running = begin(&sandbox);
        kill_all(&sandbox);
        running.end();
        let id = sandbox.only_run();
        assert_eq!(sandbox.listed()["status"], "crashed", "{point:?}");
        sandbox.ralph(&["clean", "--dry-run"]).exits(0);
        sandbox.ralph(&["clean"]).exits(0);
        nothing_is_left_of(&sandbox, &id, point);
        sandbox.ralph(&["clean", "--runs", "--keep", "0", "--force"]).exits(0);
        assert!(sandbox.runs().is_empty(), "{point:?}");
    }
}

#[test]
fn a_resumed_run_lays_it_out_again() {
    for point in POINTS {
        let sandbox = stopping_at(point);
        let running = begin(&sandbox);
        kill_all(&sandbox);
        running.end();
        let id = sandbox.only_run();
        sandbox.ralph(&["resume", &id]).exits(0).says("completed");
        assert_eq!(sandbox.sh(&format!("git show ralph/{id}:made")), "1", "{point:?}");
        let path = format!(".ralph/worktrees/{id}");
        assert_eq!(sandbox.sh(&format!("git -C {path} status --porcelain")), "", "{point:?}");
        sandbox.sh(&format!("git merge -q ralph/{id}"));
        sandbox.ralph(&["clean"]).exits(0);
        nothing_is_left_of(&sandbox, &id, point);
    }
}

/// Git goes on by itself if only ralph is killed.
#[test]
fn as_long_as_git_works_on_it_the_run_counts_as_alive() {
    let sandbox = stopping_at(Point::Files);
    begin(&sandbox).kill();
    sandbox.ralph(&["clean", "--force"]).exits(0).says("its run has not ended: running");
    kill_all(&sandbox);
    sandbox.ralph(&["clean"]).exits(0).says("removed");
    nothing_is_left_of(&sandbox, &sandbox.only_run(), Point::Files);
}

#[test]
fn a_worktree_that_git_refuses_leaves_no_record() {
    let sandbox = Sandbox::git();
    let git = sandbox.sh("command -v git");
    let refuse = "case \"$*\" in *'worktree add'*) echo refused >&2; exit 1;; esac";
    sandbox.program("git", &format!("{refuse}\nexec {} \"$@\"", git.trim()));
    sandbox.run(&["-p", "x", "--worktree"], &sandbox.sh_agent("true")).exits(1).says("refused");
    assert!(sandbox.runs().is_empty() && !sandbox.has(".ralph/worktrees"));
    assert_eq!(sandbox.sh("git branch --format='%(refname:short)'"), "main\n");
}

/// Otherwise git refuses to list worktrees, and to delete any branch, in all of the repository.
#[test]
fn what_a_killed_git_left_half_written_stops_no_other_run() {
    let sandbox = Sandbox::git();
    sandbox.sh("git worktree add -q -b half ../half && : > .git/worktrees/half/commondir");
    sandbox.sh("! git worktree list");
    let agent = sandbox.sh_agent("echo 1 > made; echo '<response>DONE</response>'");
    sandbox.run(&["-p", "x", "--worktree"], &agent).exits(0);
    sandbox.sh("git worktree list && : > .git/worktrees/half/commondir");
    sandbox.ralph(&["clean", "--force"]).exits(0).says("removed");
    assert_eq!(sandbox.sh("git branch --format='%(refname:short)'"), "half\nmain\n");
    assert_eq!(sandbox.sh("git -C ../half status --porcelain"), "");
}
