//! A task list between runs: `ralph init tasks` and `ralph archive`. The seed's verification lines 4
//! and 7 are here.

use crate::support::{Ran, Sandbox};
use crate::tasks_support::{Act, back, list, new, now, project, right, run, text, waiting, with};
use serde_json::json;
use std::fs;

/// Everything a command said, without today's date.
fn output(sandbox: &Sandbox, args: &[&str]) -> String {
    let Ran { code, stdout, stderr, .. } = sandbox.ralph(args);
    let stderr = if stderr.is_empty() { String::new() } else { format!("--- stderr\n{stderr}") };
    let today = sandbox.sh("date +%Y-%m-%d");
    sandbox.tidy(&format!("{stdout}{stderr}--- exit {}\n", code.unwrap())).replace(today.trim(), "[TODAY]")
}

#[test]
fn ralph_init_run_in_a_temp_directory_creates_all_files_correctly() {
    let sandbox = Sandbox::git();
    sandbox.write(".gitignore", "target");
    insta::assert_snapshot!("init_tasks", output(&sandbox, &["init", "tasks", "--name", "login"]));
    let tasks = now(&sandbox);
    assert_eq!((&tasks["branchName"], &tasks["verifyCommands"]), (&json!("ralph/login"), &json!([])));
    assert_eq!(
        tasks["userStories"],
        json!([{
            "id": "US-001", "title": "", "description": "", "acceptanceCriteria": [], "priority": 1,
            "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "",
            "dependsOn": [],
        }])
    );
    let today = sandbox.sh("date +%Y-%m-%d");
    let log = format!(
        "# Ralph Progress Log\nStarted: {}\nPRD: login\n\n## Codebase Patterns\n\
         - (Reusable patterns discovered during this loop)\n\n---\n",
        today.trim()
    );
    assert_eq!(sandbox.read("ralph/progress.txt"), log);
    let prd = sandbox.read("ralph/prd.md");
    for section in [
        "1. Summary",
        "2. Problem Statement",
        "3. Goals",
        "4. Non-Goals",
        "5. Background & Context",
        "6. Technical Design",
        "6a. Database Changes",
        "6b. API Contracts",
        "6c. Core Logic Changes",
        "6d. Frontend Changes",
        "6e. Infrastructure / Config Changes",
        "7. Constraints",
        "8. Edge Cases & Error Handling",
        "9. Risks & Mitigations",
        "10. Open Questions",
    ] {
        let heading = prd.lines().position(|line| line.trim_start_matches('#').trim() == section);
        let rest = prd.lines().skip(heading.unwrap_or_else(|| panic!("no {section}")) + 1);
        let own: Vec<&str> = rest.take_while(|line| !line.starts_with('#')).collect();
        let says = |what: &str| own.iter().any(|line| line.contains(what));
        assert!(says("<!--"), "no comment: {section}");
        assert!(
            says("Required")
                || says("Recommended")
                || section.starts_with("6") && section != "6. Technical Design",
            "no tier: {section}"
        );
    }
    let prompt = sandbox.read("ralph/prompt.md");
    for part in [
        "$RALPH_ITERATION of $RALPH_MAX_ITERATIONS",
        "Step 1: Orient",
        "Step 2",
        "mode implement",
        "mode review",
        "mode review-fix",
        "Step 4",
        "Step 5",
        "Step 6",
        "feat: [US-xxx]",
        "review: [US-xxx] - approved",
        "review: [US-xxx] - changes requested",
        "fix: [US-xxx] - address review feedback",
        "[AUTO-APPROVED AT CAP]",
        "<promise>COMPLETE</promise>",
        "skipReview",
        "Hard rules",
    ] {
        assert!(prompt.contains(part), "{part}");
    }
    assert_eq!(sandbox.read(".gitignore"), "target\n.ralph-active\n");
}

#[test]
fn init_never_overwrites() {
    let sandbox = Sandbox::bare();
    sandbox.write("ralph/prd.md", "mine");
    sandbox.write("ralph/tasks.json", "also mine");
    sandbox.write(".gitignore", "/.ralph-active\n");
    insta::assert_snapshot!("init_tasks_again", output(&sandbox, &["init", "tasks", "--name", "x"]));
    assert_eq!(
        (sandbox.read("ralph/prd.md"), sandbox.read("ralph/tasks.json")),
        ("mine".into(), "also mine".into())
    );
    assert_eq!(sandbox.read(".gitignore"), "/.ralph-active\n");
    sandbox.ralph(&["init", "tasks", "--name", "a b"]).exits(2).says("like login-v2");
    sandbox.ralph(&["init", "stories", "--name", "x"]).exits(2).says("only works with `ralph init tasks`");
    sandbox.sh("mkdir other");
    sandbox.ralph(&["init", "tasks", "--project-dir", "other"]).exits(0);
    assert!(sandbox.has("other/ralph/prompt.md") && sandbox.has("other/.gitignore"));
    sandbox.sh("mkdir third && echo x > third/ralph");
    sandbox.ralph(&["init", "tasks", "-C", "third"]).exits(1).says("cannot write ralph/");
}

#[test]
fn ralph_archive_after_a_completed_loop_gives_the_archive_structure_and_a_clean_reset() {
    let sandbox = project(&list(&[new("US-001"), new("US-002")]));
    sandbox.write("ralph/prd.md", "what to build\n");
    sandbox.write("ralph/prompt.md", "our own prompt\n");
    sandbox.write("ralph/progress.txt", "# Log\nStarted: 2026-01-02\n\n---\n");
    sandbox.sh("git add . && git commit -q -m more");
    let acts = [
        list(&[waiting("US-001", 0), new("US-002")]),
        list(&[right("US-001", 1), new("US-002")]),
        list(&[right("US-001", 1), waiting("US-002", 0)]),
        list(&[right("US-001", 1), back("US-002", 1)]),
        list(&[right("US-001", 1), waiting("US-002", 1)]),
        list(&[right("US-001", 1), right("US-002", 2)]),
    ];
    run(&sandbox, &[], &acts.each_ref().map(Act::makes)).stops(0, "completed", 6);
    let before = sandbox.read("ralph/tasks.json");
    // The user's own work is neither committed nor lost.
    sandbox.write("theirs", "unstaged");
    sandbox.write("staged", "staged");
    sandbox.sh("git add staged");
    let said = output(&sandbox, &["archive", "--label", "the shop/v1"]);
    assert_eq!(
        said,
        "Archived to ralph-archive/[TODAY]-the-shop-v1: 2 of 2 stories done\n\
         Created a new list in ralph/: write prd.md and tasks.json, then run `ralph tasks check`\n--- exit 0\n"
    );
    let today = sandbox.sh("date +%Y-%m-%d").trim().to_string();
    let dir = format!("ralph-archive/{today}-the-shop-v1");
    assert_eq!(sandbox.sh(&format!("ls {dir}")), "prd.md\nprogress.txt\nsummary.md\ntasks.json\n");
    assert_eq!(sandbox.read(&format!("{dir}/tasks.json")), before);
    assert_eq!(sandbox.read(&format!("{dir}/prd.md")), "what to build\n");
    let summary = sandbox.read(&format!("{dir}/summary.md"));
    for part in [
        "# shop\n\nA shop\n\n- Stories: 2 of 2 done\n",
        &format!("- Dates: 2026-01-02 to {today}\n"),
        "- Runs: 1, from ",
        "- Cost: $0.00",
        "| US-001 | Do US-001 | approved | 1 | 2 |",
        "| US-002 | Do US-002 | approved | 2 | 4 |",
    ] {
        assert!(summary.contains(part), "{part}\n---\n{summary}");
    }
    assert_eq!(now(&sandbox)["userStories"][0]["title"], "");
    assert_eq!(now(&sandbox)["branchName"], "ralph/feature-name");
    assert!(sandbox.read("ralph/prd.md").starts_with("# PRD: project\n"));
    assert!(sandbox.read("ralph/progress.txt").contains(&format!("Started: {today}")));
    assert_eq!(sandbox.read("ralph/prompt.md"), "our own prompt\n");
    let mut committed: Vec<String> =
        sandbox.sh("git show --format= --name-only").lines().map(String::from).collect();
    committed.sort();
    let ours = ["prd.md", "progress.txt", "summary.md", "tasks.json"].map(|name| format!("{dir}/{name}"));
    let reset = ["ralph/prd.md", "ralph/progress.txt", "ralph/tasks.json"].map(String::from);
    let mut wanted: Vec<String> = reset.into_iter().chain(ours).collect();
    wanted.sort();
    assert_eq!(committed, wanted);
    assert_eq!(sandbox.sh("git status --porcelain"), "A  staged\n?? theirs\n");
    sandbox.ralph(&["archive"]).exits(1).says("nothing to archive");
}

#[test]
fn archives_of_one_day_do_not_meet_and_are_called_by_their_branch() {
    let sandbox = Sandbox::bare();
    let mut tasks =
        list(&[with(right("US-001", 5), &json!({"reviewFeedback": "[AUTO-APPROVED AT CAP] a|b"}))]);
    tasks["branchName"] = json!("ralph/log/in");
    for _ in 0..2 {
        sandbox.write("ralph/tasks.json", text(&tasks));
        sandbox.ralph(&["archive", "-C", "."]).exits(0).says("not committed: not a git repository");
    }
    let today = sandbox.sh("date +%Y-%m-%d").trim().to_string();
    assert_eq!(sandbox.sh("ls -A ralph-archive"), format!("{today}-log-in\n{today}-log-in-2\n"));
    let summary = sandbox.read(&format!("ralph-archive/{today}-log-in-2/summary.md"));
    assert!(summary.contains("| approved at the review cap | 5 |"), "{summary}");
    assert!(summary.contains("- Runs: none"), "{summary}");
    sandbox.ralph(&["archive", "--label", "/"]).exits(1).says("nothing to archive");
    sandbox.write("ralph/tasks.json", text(&tasks));
    sandbox
        .ralph(&["archive", "--label", "/"])
        .exits(2)
        .says("the label has no characters that are valid in a path");
    sandbox.write("ralph/tasks.json", "{");
    sandbox.ralph(&["archive"]).exits(1).says("invalid task list");
    assert_eq!(sandbox.read("ralph/tasks.json"), "{");
    fs::remove_file(sandbox.project().join("ralph/tasks.json")).unwrap();
    sandbox.ralph(&["archive"]).exits(2).says("no task list: ");
}

#[test]
fn an_archive_that_cannot_be_committed_says_so_and_is_there() {
    let sandbox = project(&list(&[right("US-001", 1)]));
    sandbox.sh("git switch -q -c other && git commit -q --allow-empty -m theirs && git switch -q main");
    sandbox.sh("git merge -q --no-ff --no-commit other");
    let ran = sandbox.ralph(&["archive", "--label", "x"]).exits(1).says("archived, but not committed");
    assert!(ran.stderr.contains("during a merge") && ran.stderr.contains("yourself"), "{}", ran.stderr);
    let today = sandbox.sh("date +%Y-%m-%d").trim().to_string();
    assert!(sandbox.read(&format!("ralph-archive/{today}-x/tasks.json")).contains("US-001"));
    // What git ignores is archived all the same.
    sandbox.sh("git merge --abort; git reset -q --hard");
    sandbox.write(".gitignore", "ralph-archive\nralph\n");
    sandbox.sh("git rm -rq --cached ralph && git add .gitignore && git commit -q -m ignore");
    sandbox.write("ralph/tasks.json", text(&list(&[right("US-001", 1)])));
    let head = sandbox.sh("git rev-parse HEAD");
    sandbox.ralph(&["archive", "--label", "y"]).exits(0).says("not committed: git ignores these files");
    assert_eq!(sandbox.sh("git rev-parse HEAD"), head);
}

#[test]
fn archive_is_refused_while_a_run_is_at_work() {
    let sandbox = project(&list(&[new("US-001")]));
    let agent = crate::tasks_support::agent(&sandbox, &[Act::shell("echo up > up; exec tail -f /dev/null")]);
    let running = crate::tasks_support::begin(&sandbox, &[], &agent);
    sandbox.until_file("up");
    let refused = sandbox.ralph(&["archive"]).exits(1).says("is already working in this directory");
    assert!(refused.stderr.contains("stop it first"), "{}", refused.stderr);
    assert!(!sandbox.has("ralph-archive"));
    running.kill();
    sandbox.soon_nothing_is_left();
    sandbox.ralph(&["archive"]).exits(0);
}
