//! Stories on disk: what `ralph stories list`, `check` and `new` and `ralph init stories` make of
//! what is there, from outside.

use crate::support::{Ran, Sandbox, until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// Everything a command said.
fn output(sandbox: &Sandbox, args: &[&str]) -> String {
    let Ran { code, stdout, stderr, .. } = sandbox.ralph(args);
    let stderr = if stderr.is_empty() { String::new() } else { format!("--- stderr\n{stderr}") };
    sandbox.tidy(&format!("{stdout}{stderr}--- exit {}\n", code.unwrap()))
}

fn spec(sandbox: &Sandbox, path: &str, frontmatter: &str) {
    sandbox.write(&format!("specs/{path}"), format!("---\n{frontmatter}\n---\n# What to do\n"));
}

/// Two epics: one story done, one that failed, one that waits, one that is free.
fn a_project() -> Sandbox {
    let sandbox = Sandbox::bare();
    spec(&sandbox, "epic-1/story-1.1-log-in.md", "status: pending");
    spec(&sandbox, "epic-1/story-1.2-log-out.md", "title: Leave again\nstatus: done\ndepends_on: 1.1");
    spec(&sandbox, "epic-1/story-1.10-passkeys.md", "depends_on: [\"1.1\", 1.2]");
    spec(&sandbox, "epic-2/story-2.1-export.md", "status: pending");
    sandbox.write(
        ".ralph/state.json",
        json!({"completed_stories": ["1.1"], "current_story": "1.2", "retry_count": 2}).to_string(),
    );
    sandbox
}

#[test]
fn list_tells_how_far_each_story_is_by_the_state_and_not_by_the_spec() {
    let sandbox = a_project();
    insta::assert_snapshot!("stories_list", output(&sandbox, &["stories", "list"]));
    let listed = sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0).json();
    assert_eq!(
        listed[2],
        json!({
            "id": "1.10", "title": "Passkeys", "status": "blocked", "blocked_by": ["1.2"], "attempts": 0,
            "cost": 0.0, "cost_estimated": false, "duration": 0.0, "depends_on": ["1.1", "1.2"],
            "path": "specs/epic-1/story-1.10-passkeys.md",
        })
    );
    let statuses: Vec<&str> =
        listed.as_array().unwrap().iter().map(|s| s["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["done", "failed", "blocked", "pending"]);
    assert_eq!((&listed[1]["failed_attempts"], &listed[1]["attempts"]), (&json!(2), &json!(2)));
    let lines = sandbox.ralph(&["stories", "list", "--format", "ndjson"]).exits(0).stdout;
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((first, lines.lines().count()), (listed[0].clone(), 4));
}

#[test]
fn list_calls_a_story_running_only_while_a_run_is_at_work() {
    let sandbox = a_project();
    let status =
        || sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0).json()[1]["status"].take();
    assert_eq!(status(), "failed");
    let agent = sandbox.agent(&json!([[{"write": {"path": "up", "content": "1"}}, {"hang": true}]]));
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_file("up");
    assert_eq!(status(), "running");
    running.kill();
    until("the end of the run", || status() == "failed");
}

#[test]
fn list_rebuilds_what_is_done_from_progress_txt_and_touches_nothing() {
    let sandbox = a_project();
    fs::remove_file(sandbox.project().join(".ralph/state.json")).unwrap();
    sandbox.write("progress.txt", "[DONE] Story 2.1 - Export - 2026-01-30 10:00:00\n");
    let listed = sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0);
    assert_eq!(listed.json()[3]["status"], "done");
    assert!(listed.stderr.contains(".ralph/state.json is missing; 1 story is done"), "{}", listed.stderr);
    sandbox.write(".ralph/state.json", "{\"completed_stories\": [");
    let listed = sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0);
    assert_eq!(listed.json()[3]["status"], "done");
    assert!(listed.stderr.contains("is damaged"), "{}", listed.stderr);
    assert_eq!(sandbox.read(".ralph/state.json"), "{\"completed_stories\": [");
    assert_eq!(fs::read_dir(sandbox.project().join(".ralph")).unwrap().count(), 1);
}

#[test]
fn check_is_content_with_a_project_that_is_fine() {
    let sandbox = a_project();
    assert_eq!(output(&sandbox, &["stories", "check"]), "4 stories, 0 errors, 0 warnings\n--- exit 0\n");
}

#[test]
fn check_names_everything_that_is_wrong_before_anything_runs() {
    let sandbox = Sandbox::bare();
    spec(&sandbox, "epic-1/story-1.1-a.md", "depends_on: [1.2]");
    spec(&sandbox, "epic-1/story-1.2-b.md", "depends_on: [1.1, 9.9]");
    spec(&sandbox, "epic-1/story-1.3-c.md", "status: [pending]");
    spec(&sandbox, "epic-1/story-1.3-d.md", "title: 5\ndepends_on:\n  - 08.3");
    spec(&sandbox, "epic-1/story-8.3-e.md", "");
    sandbox.write("specs/epic-1/story-1.4-f.md", "no frontmatter");
    sandbox.write("specs/epic-1/story-1.5-g.md", "\u{feff}---\r\ntitle: a: b\r\n---\r\n");
    sandbox.write("specs/epic-1/story-1.6.md", "");
    fs::create_dir(sandbox.project().join("specs/epic-1/story-1.7-dir.md")).unwrap();
    sandbox.settings(&json!({"stories": {"order": ["1.1", "7.7"]}}));
    insta::assert_snapshot!("stories_check", output(&sandbox, &["stories", "check"]));
    let checked = sandbox.ralph(&["stories", "check", "--format", "json"]).exits(2).json();
    assert_eq!(
        (&checked["stories"], &checked["errors"], &checked["warnings"]),
        (&json!(8), &json!(9), &json!(3))
    );
    let cycle =
        checked["problems"].as_array().unwrap().iter().find(|p| p["stories"] == json!(["1.1", "1.2"]));
    let cycle = cycle.unwrap();
    assert_eq!(cycle["severity"], "error");
    assert_eq!(
        (&cycle["file"], &cycle["line"], &cycle["column"]),
        (&json!("specs/epic-1/story-1.1-a.md"), &json!(2), &json!(14))
    );
}

#[test]
fn check_lets_warnings_pass() {
    let sandbox = Sandbox::bare();
    sandbox.write("specs/epic-1/story-1.1-a.md", "# no frontmatter, as before\n");
    let checked = sandbox.ralph(&["stories", "check"]).exits(0);
    assert!(checked.stdout.starts_with("specs/epic-1/story-1.1-a.md:1:1: warning: no frontmatter\n"));
    assert!(checked.stdout.ends_with("1 story, 0 errors, 1 warning\n"), "{}", checked.stdout);
}

#[test]
fn a_done_story_needs_no_spec_any_more() {
    let sandbox = a_project();
    fs::remove_file(sandbox.project().join("specs/epic-1/story-1.1-log-in.md")).unwrap();
    sandbox.settings(&json!({"stories": {"order": ["1.1", "1.2", "1.10", "2.1"]}}));
    sandbox.ralph(&["stories", "check"]).exits(0).says("3 stories, 0 errors, 0 warnings");
    fs::remove_file(sandbox.project().join(".ralph/state.json")).unwrap();
    sandbox.ralph(&["stories", "check"]).exits(2).says("3 stories, 3 errors, 0 warnings");
}

#[test]
fn a_spec_of_5_mb_is_no_trouble() {
    let sandbox = Sandbox::bare();
    let mut content = b"\xef\xbb\xbf---\r\nstatus: pending\r\n---\r\n".to_vec();
    content.resize(5 << 20, b'x');
    sandbox.write("specs/epic-1/story-1.1-big.md", content);
    sandbox.ralph(&["stories", "check"]).exits(0).says("1 story, 0 errors, 0 warnings");
}

#[test]
fn new_takes_the_next_number_of_its_epic() {
    let sandbox = a_project();
    let new = |args: &[&str]| sandbox.ralph(&[&["stories", "new"], args].concat());
    assert_eq!(
        new(&["Log in: again?", "--epic", "1"]).exits(0).stdout,
        "specs/epic-1/story-1.11-log-in-again.md\n"
    );
    let written =
        new(&["Second", "--epic", "2", "--depends-on", "1.10", "--depends-on", "2.1"]).exits(0).stdout;
    assert_eq!(written, "specs/epic-2/story-2.2-second.md\n");
    assert_eq!(new(&["Third", "--epic", "3"]).exits(0).stdout, "specs/epic-3/story-3.1-third.md\n");
    insta::assert_snapshot!("stories_new_spec", sandbox.read("specs/epic-2/story-2.2-second.md"));
    sandbox.write_stories();
    sandbox.ralph(&["stories", "check"]).exits(0).says("7 stories, 0 errors, 0 warnings");
    let listed = sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0).json();
    assert_eq!(listed[3]["title"], "Log in: again?");
    assert_eq!(listed[5]["depends_on"], json!(["1.10", "2.1"]));
}

#[test]
fn new_never_takes_the_number_of_a_story_that_was_done() {
    let sandbox = a_project();
    sandbox.write(".ralph/state.json", json!({"completed_stories": ["2.4"]}).to_string());
    let written = sandbox.ralph(&["stories", "new", "Next", "--epic", "2"]).exits(0).stdout;
    assert_eq!(written, "specs/epic-2/story-2.5-next.md\n");
}

#[test]
fn new_uses_the_projects_own_template() {
    let sandbox = a_project();
    sandbox.write(".ralph/templates/spec.md", "---\ntitle: {{ title|yaml }}\n---\n{{ id }} of {{ epic }}\n");
    sandbox.ralph(&["stories", "new", "A \"b\"", "--epic", "2"]).exits(0);
    assert_eq!(sandbox.read("specs/epic-2/story-2.2-a-b.md"), "---\ntitle: \"A \\\"b\\\"\"\n---\n2.2 of 2\n");
    sandbox.write(".ralph/templates/spec.md", "{{ titel }}");
    let refused = sandbox.ralph(&["stories", "new", "C", "--epic", "2"]).exits(1);
    assert!(refused.stderr.contains("invalid template: .ralph/templates/spec.md"), "{}", refused.stderr);
    assert!(!sandbox.has("specs/epic-2/story-2.3-c.md"));
}

#[test]
fn new_refuses_bad_ids_titles_and_dependencies_and_writes_nothing() {
    let sandbox = a_project();
    let count = || sandbox.sh("find specs -type f | wc -l");
    let before = count();
    for bad in ["../x", "8", "08.3", "8.3.1", "9.9"] {
        sandbox.ralph(&["stories", "new", "x", "--epic", "1", "--depends-on", bad]).exits(2);
    }
    for bad in ["../x", "08", "1.1", "-1", "x", "", "99999999999"] {
        sandbox.ralph(&["stories", "new", "x", &format!("--epic={bad}")]).exits(2);
    }
    for bad in ["", "  ", "two\nlines", "\u{1b}[31m"] {
        sandbox.ralph(&["stories", "new", bad, "--epic", "1"]).exits(2);
    }
    sandbox.ralph(&["stories", "new", "x"]).exits(2);
    assert_eq!(count(), before);
}

#[test]
fn new_says_that_an_order_of_the_users_own_does_not_name_the_story() {
    let sandbox = a_project();
    sandbox.settings(&json!({"stories": {"order": ["1.1", "1.2"]}}));
    let written = sandbox.ralph(&["stories", "new", "Next", "--epic", "2"]).exits(0);
    assert!(written.stderr.contains("2.2 is not in stories.order in the settings"), "{}", written.stderr);
}

#[test]
fn an_order_with_bad_ids_is_refused() {
    let sandbox = a_project();
    for bad in ["../x", "8", "08.3", "8.3.1"] {
        sandbox.settings(&json!({"stories": {"order": [bad]}}));
        let refused = sandbox.ralph(&["stories", "check"]).exits(2);
        assert!(
            refused
                .stderr
                .contains(&format!("invalid stories.order in the settings: not a story id: `{bad}`"))
        );
    }
}

#[test]
fn without_specs_there_is_a_way_out() {
    let sandbox = Sandbox::bare();
    for command in ["list", "check"] {
        let refused = sandbox.ralph(&["stories", command]).exits(2);
        assert!(refused.stderr.contains("no specs: "), "{}", refused.stderr);
        assert!(refused.stderr.contains("hint: `ralph init stories`"), "{}", refused.stderr);
    }
    fs::create_dir(sandbox.project().join("specs")).unwrap();
    sandbox.ralph(&["stories", "list"]).exits(0).says("No stories yet.");
}

#[test]
fn init_stories_lays_out_what_is_missing_and_overwrites_nothing() {
    let sandbox = Sandbox::bare();
    insta::assert_snapshot!(
        "init_stories",
        output(&sandbox, &["init", "stories"]) + &output(&sandbox, &["init", "stories"])
    );
    assert_eq!(sandbox.read("progress.txt"), "");
    sandbox.write_stories();
    sandbox.ralph(&["stories", "check"]).exits(0).says("1 story, 0 errors, 0 warnings");
    sandbox.write("progress.txt", "mine\n");
    sandbox.write("specs/epic-1/story-1.1-a-first-story.md", "mine\n");
    sandbox.ralph(&["init", "stories"]).exits(0);
    assert_eq!(sandbox.read("progress.txt"), "mine\n");
    assert_eq!(sandbox.read("specs/epic-1/story-1.1-a-first-story.md"), "mine\n");
}

#[test]
fn a_story_that_was_laid_out_is_not_run_before_it_is_written() {
    let sandbox = Sandbox::git();
    sandbox.ralph(&["init", "stories"]).exits(0);
    sandbox.ralph(&["stories", "new", "Log in", "--epic", "1", "--depends-on", "1.1"]).exits(0);
    let (first, second) = ("specs/epic-1/story-1.1-a-first-story.md", "specs/epic-1/story-1.2-log-in.md");
    let checked = sandbox.ralph(&["stories", "check", "--format", "json"]).exits(2).json();
    assert_eq!((&checked["errors"], &checked["warnings"]), (&json!(4), &json!(0)));
    let text = sandbox.read(first);
    for problem in &checked["problems"].as_array().unwrap()[..2] {
        assert_eq!(problem["file"], first);
        let line = usize::try_from(problem["line"].as_u64().unwrap()).unwrap();
        assert!(text.lines().nth(line - 1).is_some_and(|line| line.ends_with('.')), "{problem}");
    }
    // Nothing is begun, and the branch is not made.
    let run =
        |args: &[&str]| sandbox.ralph(&[&["stories", "--branch", "other"], args, &["--", "true"]].concat());
    let refused = run(&[]).exits(2);
    for part in
        [":11:1: \"Story\" still has the template's text: write who", ":15:1: \"Acceptance criteria\""]
    {
        assert!(refused.stderr.contains(&format!("{first}{part}")), "{}", refused.stderr);
    }
    // One that is done is not looked at, unless it is asked for; the other one still is.
    sandbox.write(
        ".ralph/state.json",
        r#"{"completed_stories": ["1.1"], "current_story": null, "retry_count": 0}"#,
    );
    run(&["-s", "1.1"]).exits(2);
    assert!(!run(&[]).exits(2).stderr.contains(first));
    let half = sandbox.read(second).replace(text.lines().nth(10).unwrap(), "People log in.");
    sandbox.write(second, half);
    run(&[]).exits(2).says("\"Acceptance criteria\" still has the template's text");
    sandbox
        .write(second, "---\nstatus: pending\n---\n\n## Acceptance criteria\n\n- [ ] A passkey logs in.\n");
    sandbox.ralph(&["stories", "check"]).exits(0);
    assert_eq!(sandbox.sh("git branch --list other"), "");
    run(&["--dry-run"]).exits(0).says("A passkey logs in.");
}

#[test]
fn stories_that_wait_for_each_other_are_found_before_the_branch_is_switched() {
    let sandbox = Sandbox::git();
    for (id, on) in [("1.1", "1.2"), ("1.2", "1.1")] {
        let spec = format!("---\nstatus: pending\ndepends_on: [\"{on}\"]\n---\nBuild it.\n");
        sandbox.write(&format!("specs/epic-1/story-{id}-x.md"), spec);
    }
    let refused = sandbox.ralph(&["stories", "--branch", "other", "--", "true"]).exits(2);
    assert!(refused.stderr.contains("1.1 -> 1.2 -> 1.1"), "{}", refused.stderr);
    assert_eq!(sandbox.sh("git branch --list other"), "");
}

#[test]
fn init_stories_adds_no_example_where_there_are_stories() {
    let sandbox = Sandbox::bare();
    spec(&sandbox, "epic-4/story-4.2-x.md", "");
    sandbox.ralph(&["init", "stories"]).exits(0).says("already exists  specs/epic-4/story-4.2-x.md");
    assert!(!sandbox.has("specs/epic-1"));
    let sandbox = Sandbox::bare();
    sandbox.write("specs", "a file");
    sandbox.ralph(&["init", "stories"]).exits(1);
    assert!(!sandbox.has("progress.txt"));
}

#[test]
fn linked_and_locked_specs_are_told_apart() {
    let sandbox = Sandbox::bare();
    sandbox.write("shared/spec.md", "---\ntitle: Shared\n---\n");
    fs::create_dir_all(sandbox.project().join("specs/epic-1")).unwrap();
    symlink("../../shared/spec.md", sandbox.project().join("specs/epic-1/story-1.1-x.md")).unwrap();
    symlink("nowhere", sandbox.project().join("specs/epic-1/story-1.2-y.md")).unwrap();
    sandbox.sh("mkfifo specs/epic-1/story-1.3-z.md");
    let listed = sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0).json();
    assert_eq!(listed[0]["title"], "Shared");
    let checked = sandbox.ralph(&["stories", "check"]).exits(2);
    assert!(checked.stdout.contains("story-1.2-y.md:1:1: error: cannot read the spec"), "{}", checked.stdout);
    assert!(checked.stdout.contains("story-1.3-z.md:1:1: error: cannot read the spec"), "{}", checked.stdout);
    let locked = sandbox.project().join("shared/spec.md");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads it all the same.
    if fs::read(&locked).is_err() {
        sandbox.ralph(&["stories", "check"]).exits(2).says("story-1.1-x.md:1:1: error: cannot read the spec");
    }
}
