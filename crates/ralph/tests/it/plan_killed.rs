//! `ralph plan`, killed while it puts its plan in place: the next ralph takes back what is there.

use crate::plan::{PRD, claude, done, files, give, half_done, list, record, story, titles};
use crate::support::{RALPH, Sandbox};
use crate::terminal::skip;
use serde_json::json;
use std::fs;

const KILLED_AT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/killed_at.py");

/// Runs `ralph plan --yes` and kills it as it is about to put this file in place. False where programs cannot be traced.
fn killed_at(sandbox: &Sandbox, path: &str, args: &[&str]) -> bool {
    let mut command = sandbox.command("python3");
    command.args([KILLED_AT, path, RALPH, "plan", "--yes"]).args(args);
    let ran = sandbox.spawn(command).end();
    if ran.code == Some(77) {
        skip("programs cannot be traced here");
        return false;
    }
    assert_eq!(ran.code, Some(0), "not killed at {path}: {}{}", ran.stdout, ran.stderr);
    sandbox.soon_nothing_is_left();
    assert!(record(sandbox).join("intent.json").exists());
    true
}

/// A project with a plan that changes the PRD and the list, all of it committed.
fn changes_both() -> Sandbox {
    let sandbox = half_done();
    let more = [done("US-001", "Hello"), story("US-002", "Goodbye"), story("US-003", "More")];
    give(&sandbox, "tasks.json", &list(&more).to_string());
    give(&sandbox, "prd.md", &format!("{PRD}\n## Assumptions\n\n- English only\n"));
    claude(&sandbox, "cp prd.md tasks.json $drafts");
    sandbox.sh("git checkout -q -b ralph/greeter && git add -A && git commit -qm plan");
    sandbox
}

fn status(sandbox: &Sandbox) -> String {
    sandbox.sh("git status --porcelain -uall -- ralph specs")
}

const SAID: &str = "ralph: `ralph plan` was killed while it wrote its plan";

#[test]
fn a_list_and_its_prd_are_as_they_were_whatever_command_comes_next() {
    let commands: [&[&str]; 5] = [
        &["tasks", "list"],
        &["tasks", "check"],
        &["tasks", "show", "US-002"],
        &["tasks", "--dry-run"],
        &["plan", "more", "--dry-run"],
    ];
    for (at, command) in commands.into_iter().enumerate() {
        let sandbox = changes_both();
        let before = files(&sandbox);
        if !killed_at(&sandbox, "/ralph/tasks.json", &["more"]) {
            return;
        }
        let [prd, tasks] = files(&sandbox);
        assert!(prd.contains("English only") && tasks == before[1], "it was killed in between");
        let ran = sandbox.ralph(command);
        assert!(
            ran.stderr.contains(&format!("{SAID}; restored: ralph/prd.md\n")),
            "{command:?}: {}",
            ran.stderr
        );
        assert_eq!(files(&sandbox), before, "{command:?}");
        assert_eq!(status(&sandbox), "", "{command:?}");
        let ran = sandbox.ralph(command);
        assert!(!ran.stderr.contains(SAID), "it is said once: {}", ran.stderr);
        if at == 0 {
            sandbox.ralph(&["plan", "--yes", "more"]).exits(0);
            assert_eq!(titles(&sandbox), ["US-001 Hello", "US-002 Goodbye", "US-003 More"]);
        }
    }
}

#[test]
fn before_the_first_file_there_is_nothing_to_take_back_and_nothing_is_left() {
    let sandbox = changes_both();
    let before = files(&sandbox);
    if !killed_at(&sandbox, "/ralph/prd.md", &["more"]) {
        return;
    }
    assert_ne!(status(&sandbox), "", "the new files are beside the old ones");
    let ran = sandbox.ralph(&["tasks", "check"]).exits(0);
    assert!(!ran.stderr.contains("killed"), "{}", ran.stderr);
    assert_eq!((files(&sandbox), status(&sandbox)), (before, String::new()));
}

#[test]
fn what_the_user_has_edited_since_stays() {
    let sandbox = changes_both();
    if !killed_at(&sandbox, "/ralph/tasks.json", &["more"]) {
        return;
    }
    let mine = format!("{PRD}\nMy own words.\n");
    sandbox.write("ralph/prd.md", &mine);
    let ran = sandbox.ralph(&["tasks", "list"]).exits(0);
    let line = format!("{SAID}; left alone, because you have edited it since: ralph/prd.md\n");
    assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    assert_eq!(sandbox.read("ralph/prd.md"), mine);
}

#[test]
fn specs_that_got_there_are_removed() {
    let sandbox = Sandbox::git();
    sandbox.write("specs/epic-1/story-1.1-begin.md", "---\ntitle: Begin\n---\n\nThe script exists.\n");
    sandbox.sh("git add -A && git commit -qm specs");
    let before = sandbox.sh("find specs | sort");
    for (number, word) in ["Hello", "Welcome", "Goodbye"].into_iter().enumerate() {
        let spec = format!(
            "---\ntitle: Say {word}\n---\n\nA visitor who runs the script sees the word {word}.\n\n\
             ## Acceptance criteria\n\n- `sh greet.sh {word}` prints \"{word}, Ada\"\n"
        );
        give(&sandbox, &format!("story-9.{}-hello.md", number + 1), &spec);
    }
    claude(&sandbox, "mkdir -p $drafts/specs/epic-9; cp story-9.* $drafts/specs/epic-9");
    if !killed_at(&sandbox, "/story-9.3-hello.md", &["--stories", "greet"]) {
        return;
    }
    assert!(
        sandbox.has("specs/epic-9/story-9.2-hello.md") && !sandbox.has("specs/epic-9/story-9.3-hello.md")
    );
    let ran = sandbox.ralph(&["stories", "list"]).exits(0);
    let removed = "removed: specs/epic-9/story-9.1-hello.md, specs/epic-9/story-9.2-hello.md\n";
    assert!(ran.stderr.contains(&format!("{SAID}; {removed}")), "{}", ran.stderr);
    assert_eq!(sandbox.sh("find specs | sort"), before);
}

#[test]
fn a_run_that_is_resumed_finds_the_old_list() {
    let sandbox = changes_both();
    let before = files(&sandbox);
    let agent = sandbox.agent(&json!([[{"say": "nothing yet"}], [{"say": "nothing yet"}]]));
    sandbox.ralph(&[&["tasks", "-n", "1", "--"], &agent.words()[..]].concat());
    if !killed_at(&sandbox, "/ralph/tasks.json", &["more"]) {
        return;
    }
    assert_ne!(files(&sandbox)[0], before[0]);
    let ran = sandbox.ralph(&["resume", "-n", "2"]);
    assert!(ran.stderr.contains("restored: ralph/prd.md"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(files(&sandbox)[0], before[0]);
}

#[test]
fn clean_keeps_the_record_that_is_needed_to_take_a_plan_back() {
    let sandbox = changes_both();
    let before = files(&sandbox);
    if !killed_at(&sandbox, "/ralph/tasks.json", &["more"]) {
        return;
    }
    let all = ["clean", "--runs", "--all", "--keep", "0", "--force"];
    sandbox.ralph(&all).exits(0);
    sandbox.ralph(&["tasks", "list"]).exits(0);
    assert_eq!(files(&sandbox), before);
    sandbox.ralph(&all).exits(0);
    assert_eq!(fs::read_dir(sandbox.home().join("plans")).unwrap().count(), 0);
}
