//! `ralph clean`: what may go and what is kept.

mod projects;

use crate::support::{Sandbox, until};
use crate::workers::Yard;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

const DONE: &str = "<response>DONE</response>";

/// A finished run in a worktree; its id and the worktree.
fn finished(sandbox: &Sandbox, file: &str) -> (String, PathBuf) {
    let agent = sandbox.agent(&json!([[{"write": {"path": file, "content": "1"}}, {"say": DONE}]]));
    let result = sandbox.run(&["-p", "x", "--worktree", "--format", "json"], &agent).stops(0, "completed", 1);
    let text = |key: &str| result[key].as_str().unwrap().to_owned();
    (text("run"), PathBuf::from(text("worktree_path")))
}

fn has_branch(sandbox: &Sandbox, id: &str) -> bool {
    sandbox.shell(&format!("git rev-parse -q --verify refs/heads/ralph/{id}")).code == Some(0)
}

#[test]
fn a_worktree_goes_once_it_is_merged() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    let ran = sandbox.ralph(&["clean"]).exits(0).says(&format!("its branch is not merged: ralph/{id}"));
    assert!(ran.stdout.contains("Nothing to remove.") && path.exists());

    sandbox.sh(&format!("git merge -q ralph/{id}"));
    sandbox.ralph(&["clean", "--dry-run"]).exits(0).says("would remove").says(path.to_str().unwrap());
    assert!(path.exists() && has_branch(&sandbox, &id));

    sandbox.ralph(&["clean"]).exits(0).says("removed").says(path.to_str().unwrap());
    assert!(!path.exists() && !has_branch(&sandbox, &id));
    assert_eq!(sandbox.sh("git worktree list | wc -l").trim(), "1");
    assert_eq!(sandbox.read("made"), "1", "what was merged stays");
    sandbox.ralph(&["clean"]).exits(0).says("Nothing to remove.");
    sandbox.ralph(&["show", &id]).exits(0).says("completed");
}

#[test]
fn only_another_branch_makes_a_branch_merged() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    let keeps = |why: &str| {
        sandbox.ralph(&["clean"]).exits(0).says(&format!("its branch is not merged: ralph/{id}"));
        assert!(path.exists() && has_branch(&sandbox, &id), "{why}");
    };
    sandbox.sh(&format!("git checkout -q --detach ralph/{id}"));
    keeps("a detached HEAD is no branch");
    sandbox.sh(&format!("git switch -q main && git tag ralph/{id} main"));
    keeps("a tag of the same name is no branch");
    sandbox.sh(&format!("git tag -d ralph/{id} && git branch ralph/copy refs/heads/ralph/{id}"));
    keeps("another run may go at the same time");
    sandbox.sh(&format!("git tag ralph/{id} main && git branch mine refs/heads/ralph/{id}"));
    sandbox.ralph(&["clean"]).exits(0).says("removed");
    assert!(!path.exists() && !has_branch(&sandbox, &id));
    assert_eq!(sandbox.sh("git show mine:made"), "1");
}

#[test]
fn a_branch_that_is_checked_out_is_kept_and_the_others_go() {
    let sandbox = Sandbox::git();
    let runs = ["one", "two", "three"].map(|file| finished(&sandbox, file));
    let (id, path) = &runs[1];
    sandbox.sh(&format!("git worktree remove -f .ralph/worktrees/{id} && git checkout -q ralph/{id}"));
    let ran = sandbox.ralph(&["clean", "--runs", "--keep", "0", "--force"]).exits(0);
    let why = format!("its branch is checked out in {}: ralph/{id}", sandbox.project().display());
    ran.says(&format!("kept          {} ({why})", path.display()));
    for (id, path) in [&runs[0], &runs[2]] {
        assert!(!path.exists() && !has_branch(&sandbox, id));
    }
    assert!(has_branch(&sandbox, id) && sandbox.runs() == [id.clone()]);
}

/// What the journal said about it is gone; the hint of the commands that need one leads here.
#[test]
fn a_worktree_whose_journal_is_lost_goes_as_that_of_any_run() {
    for checkpoints in [true, false] {
        let sandbox = Sandbox::git();
        sandbox.settings(&json!({"checkpoints": checkpoints}));
        sandbox.sh("git add -f .ralph && git commit -q -m settings");
        let (id, path) = finished(&sandbox, "made");
        fs::write(sandbox.journal_file(), "").unwrap();
        let hint = format!("ralph clean {id} --force");
        sandbox.ralph(&["show", &id]).exits(1).says(&hint);
        let commit = sandbox.sh(&format!("git rev-parse --short ralph/{id}"));
        let named =
            format!("unmerged      ralph/{id} at {} ({})\n", commit.trim(), sandbox.project().display());
        sandbox.ralph(&["clean", &id]).exits(0).says("kept");
        sandbox
            .ralph(&["clean", &id, "--force", "--dry-run"])
            .exits(0)
            .says(&named)
            .says(path.to_str().unwrap());
        assert!(path.exists() && has_branch(&sandbox, &id) && sandbox.runs() == [id.clone()]);
        // From elsewhere only checkpoints lead there; in the project the branch is found by its name.
        if checkpoints {
            let mut elsewhere = sandbox.command(crate::support::RALPH);
            elsewhere.args(["clean", &id, "--force"]).current_dir(sandbox.root());
            sandbox.spawn(elsewhere).end().exits(0).says(&named);
        } else {
            sandbox.ralph(&["clean", &id, "--force"]).exits(0).says(&named);
        }
        assert!(!path.exists() && !has_branch(&sandbox, &id) && sandbox.runs().is_empty());
    }
}

/// As git refuses it for reasons of its own, such as a rebase of the branch elsewhere.
#[test]
fn a_branch_that_git_does_not_delete_is_named_and_the_others_go() {
    let sandbox = Sandbox::git();
    let runs = ["one", "two", "three"].map(|file| finished(&sandbox, file));
    let id = &runs[1].0;
    sandbox.sh(&format!(
        "git worktree remove -f .ralph/worktrees/{id} && git checkout -q ralph/{id} &&
         git commit -q --allow-empty -m more && git bisect start -q && git checkout -q --detach main"
    ));
    let ran = sandbox.ralph(&["clean", "--force"]).exits(1);
    ran.says(&format!("(branch ralph/{id}: ")).says("removed");
    for (id, path) in [&runs[0], &runs[2]] {
        assert!(!path.exists() && !has_branch(&sandbox, id));
    }
    assert!(has_branch(&sandbox, id));
}

#[test]
fn uncommitted_work_and_repositories_inside_are_kept() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    sandbox.sh(&format!("git merge -q ralph/{id}"));
    let keeps = |what: &str| {
        sandbox.ralph(&["clean"]).exits(0).says("it has uncommitted changes").says("Nothing to remove.");
        assert!(path.exists(), "{what}");
    };
    fs::write(path.join("mine"), "1").unwrap();
    keeps("a new file");
    fs::remove_file(path.join("mine")).unwrap();
    fs::write(path.join("made"), "2").unwrap();
    keeps("a changed file");
    fs::write(path.join("made"), "1").unwrap();
    sandbox.sh(&format!("git init -q '{0}/inner' && echo 1 > '{0}/inner/file'", path.display()));
    keeps("a repository inside");
    sandbox.ralph(&["clean", "--force"]).exits(0).says("removed");
    assert!(!path.exists() && !has_branch(&sandbox, &id));
}

#[test]
fn force_takes_what_is_not_merged_and_only_with_force() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    sandbox.ralph(&["clean", "--force", "--dry-run"]).exits(0).says("would remove");
    assert!(path.exists());
    sandbox.ralph(&["clean", "--force"]).exits(0);
    assert!(!path.exists() && !has_branch(&sandbox, &id));
}

#[test]
fn a_run_that_is_alive_is_never_touched_and_one_that_can_go_on_only_with_force() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([[{"write": {"path": "up", "content": "1"}}, {"hang": true}]]));
    let running = sandbox.begin(&["-p", "x", "--worktree"], &agent);
    until("the agent", || {
        sandbox.runs().pop().is_some_and(|id| sandbox.has(&format!(".ralph/worktrees/{id}/up")))
    });
    let id = sandbox.only_run();
    for args in [&["clean"][..], &["clean", "--force"], &["clean", "--runs", "--keep", "0", "--force"]] {
        sandbox.ralph(args).exits(0).says("its run has not ended: running");
        assert!(
            sandbox.has(&format!(".ralph/worktrees/{id}/up")) && sandbox.runs() == [id.clone()],
            "{args:?}"
        );
    }
    running.kill();
    sandbox.soon_nothing_is_left();
    for args in [&["clean"][..], &["clean", "--runs", "--keep", "0"]] {
        sandbox.ralph(args).exits(0).says("its run has not ended: crashed");
        assert!(
            sandbox.has(&format!(".ralph/worktrees/{id}/up")) && sandbox.runs() == [id.clone()],
            "{args:?}"
        );
    }
    sandbox.ralph(&["clean", "--runs", "--keep", "0", "--force"]).exits(0);
    assert!(!sandbox.has(&format!(".ralph/worktrees/{id}")) && sandbox.runs().is_empty());
}

#[test]
fn old_records_go_and_the_newest_stay() {
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    let run = |calls, args: &[&str]| {
        let ran = sandbox.run(&[&["-p", "x", "--format", "json"], args].concat(), &sandbox.agent(&calls));
        ran.json()["run"].as_str().unwrap().to_owned()
    };
    let failed = run(json!([[{"exit": 1}]]), &["--max-failures", "1"]);
    let done: Vec<String> = (0..3).map(|_| run(json!([[{"say": DONE}]]), &[])).collect();
    let damaged = run(json!([[{"say": DONE}]]), &[]);
    let runs = sandbox.home().join("runs");
    fs::write(runs.join(&damaged).join("journal.jsonl"), "nonsense\nmore of it\n").unwrap();
    let left = |ids: &[&String]| {
        let mut ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
        ids.sort();
        assert_eq!(sandbox.runs(), ids);
    };
    sandbox.ralph(&["clean"]).exits(0).says("Nothing to remove.");
    sandbox.ralph(&["clean", "--runs"]).exits(0).says("Nothing to remove.");
    sandbox
        .ralph(&["clean", "--runs", "--keep", "1", "--dry-run"])
        .exits(0)
        .says(&format!("would remove  run {}", done[0]));
    left(&[&failed, &done[0], &done[1], &done[2], &damaged]);
    sandbox
        .ralph(&["clean", "--runs", "--keep", "1"])
        .exits(0)
        .says(&format!("removed       run {}", done[1]));
    // What can be resumed stays, and so does what cannot be read.
    left(&[&failed, &done[2], &damaged]);
    sandbox.ralph(&["clean", "--runs", "--keep", "0", "--force"]).exits(0);
    // Nothing says any more which project it is of.
    left(&[&damaged]);
    sandbox.ralph(&["clean", "--all", "--runs", "--keep", "0", "--force"]).exits(0);
    left(&[]);
    sandbox.ralph(&["clean", "--keep", "3"]).exits(2);
}

#[test]
fn a_record_stays_as_long_as_its_worktree() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    sandbox.ralph(&["clean", "--runs", "--keep", "0"]).exits(0).says("kept");
    assert!(path.exists() && sandbox.runs() == [id.clone()]);
    sandbox.sh(&format!("git merge -q ralph/{id}"));
    sandbox.ralph(&["clean", "--runs", "--keep", "0"]).exits(0);
    assert!(!path.exists() && sandbox.runs().is_empty());
}

#[test]
fn it_says_how_much_it_has_freed() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.sh_agent("seq -f '%079.0f' 75000; echo '<response>DONE</response>'");
    for _ in 0..2 {
        sandbox.run(&["-p", "x", "-q"], &agent).exits(0);
    }
    let freed = |args: &[&str], word: &str| {
        let stdout = sandbox.ralph(args).exits(0).stdout;
        let last = stdout.lines().last().unwrap().to_owned();
        let amount = last.strip_prefix(word).unwrap_or_else(|| panic!("{last}")).to_owned();
        amount.strip_suffix(" MiB.").unwrap_or_else(|| panic!("{last}")).parse::<f64>().unwrap()
    };
    let would = freed(&["clean", "--runs", "--keep", "0", "--dry-run"], "Would free ");
    assert!((10.5..12.5).contains(&would), "{would}");
    let half = freed(&["clean", "--runs", "--keep", "1"], "Freed ");
    assert!((5.7..6.5).contains(&half), "{half}");
}

#[test]
fn a_dry_run_tells_of_the_record_that_would_go_with_its_worktree() {
    let sandbox = Sandbox::git();
    let (id, path) = finished(&sandbox, "made");
    let dry = || sandbox.ralph(&["clean", "--runs", "--keep", "0", "--dry-run"]).exits(0).stdout;
    assert!(!dry().contains(&format!("would remove  run {id}")), "{}", dry());
    sandbox.sh(&format!("git merge -q ralph/{id}"));
    assert!(dry().contains(&format!("would remove  run {id}")), "{}", dry());
    assert!(path.exists() && sandbox.runs() == [id]);
}

#[test]
fn what_a_worker_printed_goes_with_its_run_and_how_it_ended_stays() {
    let yard = Yard::new();
    yard.0.settings(&json!({"context": false, "keepStreams": 0.05}));
    let (loud, quiet) = (yard.0.sh_agent("seq 20000"), yard.0.sh_agent("echo quiet"));
    yard.spawn_as("loud", &["-f", "PROMPT.md", "-n", "1"], &loud).exits(0);
    yard.ends("loud", 0);
    let outputs = |worker: &str| {
        let entries = fs::read_dir(yard.file(worker, "")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("output.log")).count()
    };
    assert_eq!(outputs("loud"), 2);
    // The name has another run by now, so what is there is that one's.
    yard.spawn_as("again", &["-f", "PROMPT.md", "-n", "1"], &loud).exits(0);
    yard.ends("again", 0);
    yard.spawn_as("again", &["-f", "PROMPT.md", "-n", "1"], &quiet).exits(0);
    yard.ends("again", 0);
    yard.0.ralph(&["clean", "--runs", "--keep", "1"]).exits(0);
    assert_eq!((outputs("loud"), outputs("again")), (0, 1));
    yard.0.ralph(&["status", "loud"]).exits(0).says("Status: stopped (max_iterations)\n");
    assert!(yard.0.ralph(&["logs", "again"]).exits(0).stdout.contains("quiet"));
    yard.0.ralph(&["logs", "loud"]).exits(1).says("no output is kept for worker 'loud'");
}

/// Removing takes a while, and the user may want to resume the run just then.
#[test]
fn a_run_that_is_being_removed_cannot_be_taken_up() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent("echo ran >> ../ran; exit 1");
    sandbox.settings(&json!({"maxFailures": 1, "backoff": {"base": 0.01, "cap": 0.01}}));
    sandbox.run(&["-p", "x", "-n", "3"], &agent).exits(1);
    let git = "case \"$*\" in *for-each-ref*) echo up > ../removing; until [ -e ../go ]; do sleep 0.02; done;; esac";
    let real = sandbox.sh("command -v git");
    sandbox.program("git", &format!("{git}\nexec {} \"$@\"", real.trim()));
    let id = sandbox.only_run();
    // What a process that was killed at it had begun to remove.
    let remains = sandbox.home().join("runs/.20261115-221503-4f2a");
    fs::create_dir(&remains).unwrap();
    let clean = sandbox.start(&["clean", "--runs", "--keep", "0", "--force"]);
    sandbox.until_file("../removing");
    assert_ne!(sandbox.ralph(&["resume", &id]).code, Some(0));
    sandbox.write("../go", "");
    clean.end().exits(0).says(&format!("removed       run {id}"));
    assert_eq!(sandbox.read("../ran"), "ran\n", "by the first life, and by no other");
    assert!(sandbox.runs().is_empty(), "nor remains: {:?}", sandbox.runs());
}
