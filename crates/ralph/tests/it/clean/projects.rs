//! `ralph clean` where several projects share one home.

use super::{DONE, finished, has_branch};
use crate::support::{Agent, Sandbox};
use serde_json::json;
use std::path::PathBuf;

/// A second project in the same home.
fn other(sandbox: &Sandbox) -> PathBuf {
    sandbox.sh("git init -q -b main ../other && cd ../other && git config user.name Someone \
         && git config user.email someone@localhost && git commit -q --allow-empty -m begin");
    sandbox.root().join("other")
}

fn says_done(sandbox: &Sandbox) -> Agent {
    sandbox.agent(&json!([[{"say": DONE}]]))
}

#[test]
fn another_projects_runs_are_left_alone() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    let other = other(&sandbox);
    let there = ["-C", other.to_str().unwrap()];
    sandbox.run(&[&["-p", "x", "-q"], &there[..]].concat(), &says_done(&sandbox)).exits(0);
    assert_eq!(sandbox.runs().len(), 2);
    for args in [&["clean", "--force"][..], &["clean", "--runs", "--keep", "0", "--force"]] {
        let ran = sandbox.ralph(&[args, &there].concat()).exits(0);
        assert!(!ran.stdout.contains(&id), "{}", ran.stdout);
        assert!(path.exists() && has_branch(&sandbox, &id));
    }
    assert_eq!(sandbox.only_run(), id, "only the record of the project");
    sandbox.sh("mkdir -p ../nothing ../.git");
    for args in [&["clean", "--force"][..], &["clean", "--runs", "--keep", "0", "--force"]] {
        let nothing = sandbox.root().join("nothing");
        sandbox
            .ralph(&[args, &["-C", nothing.to_str().unwrap()]].concat())
            .exits(0)
            .says(&format!("No runs in this project: {}", nothing.display()))
            .says("1 run in other projects: `ralph clean --all` includes them.");
    }
    assert!(path.exists() && sandbox.runs() == [id]);
}

#[test]
fn a_directory_of_the_repository_is_the_same_project_and_a_repository_inside_another() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    sandbox.sh("git init -q inner; mkdir sub");
    sandbox.ralph(&["clean", "--force", "-C", "inner"]).exits(0).says("No runs in this project");
    assert!(path.exists());
    sandbox.ralph(&["clean", "--force", "-C", "sub"]).exits(0).says("removed");
    assert!(!path.exists() && !has_branch(&sandbox, &id));
}

/// What is in it, nothing else has: git knows the branch no more.
#[test]
fn a_worktree_whose_repository_is_gone_is_kept_also_inside_another_repository() {
    let sandbox = Sandbox::git();
    let (_, path) = finished(&sandbox, "made");
    sandbox.sh("git init -q .. && rm -rf .git");
    sandbox.ralph(&["clean"]).exits(0).says("git cannot read its repository");
    assert!(path.join("made").exists());
    sandbox.ralph(&["clean", "--force"]).exits(0).says("removed");
    assert!(!path.exists());
}

#[test]
fn all_tells_how_many_projects_and_unmerged_branches_and_names_what_only_force_removes() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    let other = other(&sandbox);
    sandbox
        .run(&["-p", "x", "-q", "-C", other.to_str().unwrap(), "--worktree"], &says_done(&sandbox))
        .exits(0);
    let nowhere = sandbox.root().join("tmp");
    let all = |args: &[&str]| {
        let mut command = sandbox.command(crate::support::RALPH);
        command.args(["clean", "--all"]).args(args).current_dir(&nowhere);
        sandbox.spawn(command).end().exits(0).says("2 projects, 1 unmerged branch\n")
    };
    all(&["--dry-run"]).says(&format!("its branch is not merged: ralph/{id}"));
    let commit = sandbox.sh(&format!("git rev-parse --short ralph/{id}"));
    let named = format!("unmerged      ralph/{id} at {} ({})\n", commit.trim(), sandbox.project().display());
    all(&["--force", "--dry-run"]).says(&named);
    assert!(path.exists() && has_branch(&sandbox, &id));
    all(&["--force"]).says(&named);
    assert!(!path.exists() && !has_branch(&sandbox, &id));
    sandbox.sh(&format!("git branch ralph/{id} {} && git merge -q ralph/{id}", commit.trim()));
    assert_eq!(sandbox.read("made"), "1");
}

#[test]
fn how_many_runs_are_kept_is_counted_for_each_project() {
    let sandbox = Sandbox::git();
    sandbox.run(&["-p", "x", "-q"], &says_done(&sandbox)).exits(0);
    let id = sandbox.only_run();
    let other = other(&sandbox);
    sandbox.write("../other/.ralph/settings.json", r#"{"keepRuns": 1}"#);
    for _ in 0..3 {
        let args = ["-p", "x", "-q", "-C", other.to_str().unwrap()];
        sandbox.run(&args, &says_done(&sandbox)).exits(0);
    }
    assert_eq!(sandbox.runs().len(), 2, "{:?}", sandbox.runs());
    assert!(sandbox.runs().contains(&id));
}
