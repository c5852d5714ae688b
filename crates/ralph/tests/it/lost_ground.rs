//! What a run needs and cannot have: its directory, its repository, its journal.

use crate::support::{Sandbox, until};
use serde_json::json;
use std::fs;
use std::os::unix::fs::chown;

const DONE: &str = "<response>DONE</response>";

/// Removes the directory that it runs in. Again, if ralph has written a file there in the same moment.
const REMOVE: &str = r#"for attempt in 1 2 3 4 5; do rm -rf "$PWD" 2>/dev/null && break; done"#;

#[test]
fn a_run_whose_directory_the_agent_removes_stops_with_an_error() {
    let remove = format!("echo once >> ../ran; {REMOVE}; echo '{DONE}'");
    for (args, code) in [(&[][..], 0), (&["--check", "true"][..], 0), (&["--max-failures", "9"][..], 1)] {
        for sandbox in [Sandbox::bare(), Sandbox::git()] {
            let agent = sandbox.sh_agent(&format!("{remove}; exit {code}"));
            let args = [&["-p", "x", "-n", "3", "--format", "json"], args].concat();
            let ran = sandbox.run(&args, &agent);
            let message = format!("the project directory is gone: {}", sandbox.project().display());
            let result = ran.exits(1).says(&message).json();
            assert_eq!(result["stop_reason"], "error", "{result:#}");
            assert!(!sandbox.project().exists(), "it is not made again");
            assert_eq!(fs::read_to_string(sandbox.root().join("ran")).unwrap(), "once\n");
            // Put back, it can be resumed.
            fs::create_dir(sandbox.project()).unwrap();
            sandbox.ralph(&["resume", &sandbox.only_run()]).exits(1).says(&message);
        }
    }
}

#[test]
fn a_check_that_removes_the_directory_proves_nothing() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.sh_agent(&format!("echo '{DONE}'"));
    let ran = sandbox.run(&["-p", "x", "-n", "3", "--check", REMOVE], &agent);
    ran.exits(1).says("the project directory is gone");
    assert!(!sandbox.project().exists());
}

#[test]
fn a_worktree_that_its_agent_removes_is_not_made_again() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent(&format!("{REMOVE}; echo '{DONE}'"));
    let ran = sandbox.run(&["-p", "x", "-n", "3", "--worktree"], &agent);
    ran.exits(1).says("the project directory is gone");
    assert!(!sandbox.has(&format!(".ralph/worktrees/{}", sandbox.only_run())));
}

#[test]
fn a_repository_of_another_user_is_refused_with_the_command_that_trusts_it() {
    let sandbox = Sandbox::git();
    if !rustix::process::geteuid().is_root() {
        return; // Only root can give a directory away.
    }
    for path in [sandbox.project(), sandbox.project().join(".git")] {
        chown(path, Some(12345), Some(12345)).unwrap();
    }
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    let mut trust = String::new();
    for args in [&["-p", "x"][..], &["-p", "x", "--worktree"]] {
        let ran = sandbox.run(args, &agent).exits(2).says("it belongs to another user");
        assert!(!ran.stderr.contains("not a git repository"), "{}", ran.stderr);
        let hint = ran.stderr.lines().find_map(|line| line.trim().strip_prefix("hint: if you trust it: "));
        trust = hint.unwrap_or_else(|| panic!("{}", ran.stderr)).to_owned();
    }
    assert!(trust.starts_with("git config --global --add safe.directory "), "{trust}");
    assert!(sandbox.runs().is_empty());
    sandbox.sh(&trust);
    sandbox.run(&["-p", "x"], &agent).exits(0);
    // Git may forget about it again; checkpoints do not need the user's repository.
    fs::remove_file(sandbox.root().join("user/.gitconfig")).unwrap();
    sandbox.ralph(&["diff"]).exits(0);
}

/// A run that is over, and the command that its broken journal leads to.
fn way_out(sandbox: &Sandbox, output: &str) -> String {
    let hint = output.lines().find_map(|line| line.trim().strip_prefix("hint: "));
    let hint = hint.unwrap_or_else(|| panic!("no hint: {output}"));
    let (_, command) = hint.split_once("ralph clean ").unwrap_or_else(|| panic!("{hint}"));
    assert!(sandbox.runs().iter().any(|id| command.contains(id)), "{hint}");
    format!("$RALPH clean {command}")
}

#[test]
fn a_journal_that_cannot_be_read_leads_to_a_way_out_that_works() {
    for keep in ["head -c 0", "head -c 40", "sed 3s/.*/nonsense/", "sed 1s/.*/nonsense/"] {
        let sandbox = Sandbox::git();
        let agent = sandbox.agent(&json!([[{"write": {"path": "made", "content": "1"}}, {"exit": 1}]]));
        sandbox.run(&["-p", "x", "--max-failures", "1"], &agent).exits(1);
        let id = sandbox.only_run();
        let journal = sandbox.journal_file();
        sandbox.sh(&format!("{keep} '{0}' > ../cut && cp ../cut '{0}'", journal.display()));
        assert_eq!(sandbox.listed()["status"], "damaged", "{keep}");
        for command in ["show", "resume", "diff", "undo"] {
            let ran = sandbox.ralph(&[command, &id]).exits(1);
            let way_out = way_out(&sandbox, &ran.stderr);
            assert_eq!(way_out, format!("$RALPH clean {id} --force"), "{command}");
        }
        sandbox.ralph(&["clean", &id]).exits(0).says("use --force to remove it");
        sandbox.sh(&way_out(&sandbox, &sandbox.ralph(&["resume", &id]).stderr));
        assert!(sandbox.runs().is_empty(), "{keep}");
        assert_eq!(sandbox.read("made"), "1", "the files stay");
        sandbox.run(&["-p", "x"], &sandbox.agent(&json!([[{"say": DONE}]]))).exits(0);
    }
}

#[test]
fn a_run_whose_journal_is_truncated_meanwhile_names_a_way_out_that_works() {
    for (cut, resumable) in [("head -c 0", false), ("head -n 2", true)] {
        let sandbox = Sandbox::git();
        let agent = sandbox.sh_agent(&format!(
            "if test ! -e ../cut; then {cut} \"$RALPH_HOME\"/runs/*/journal.jsonl > ../cut; \
             cp ../cut \"$RALPH_HOME\"/runs/*/journal.jsonl; fi; echo '{DONE}'"
        ));
        let ran =
            sandbox.run(&["-p", "x", "-n", "3"], &agent).exits(1).says("another process has truncated it");
        until("the end of its keeper", || sandbox.alive().is_empty());
        let id = sandbox.only_run();
        let resume = ran.stderr.contains(&format!("hint: continue with: ralph resume {id}"));
        assert_eq!(resume, resumable, "{cut}: {}", ran.stderr);
        if resumable {
            sandbox.ralph(&["resume", &id]).exits(0).says("completed");
        } else {
            sandbox.sh(&way_out(&sandbox, &ran.stderr));
            assert!(sandbox.runs().is_empty());
        }
    }
}
