//! `ralph tasks check --strict` and `ralph stories check --strict`, from outside.

use crate::support::{Ran, Sandbox};
use crate::tasks_support::{list, new, right, text, verified, with};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn output(sandbox: &Sandbox, args: &[&str]) -> String {
    let Ran { code, stdout, stderr, .. } = sandbox.ralph(args);
    sandbox.tidy(&format!("{stdout}{stderr}--- exit {}\n", code.unwrap()))
}

/// A story that no rule objects to.
fn good(id: &str, title: &str) -> Value {
    with(
        new(id),
        &json!({
            "title": title, "description": format!("{title}, for everybody."),
            "acceptanceCriteria": ["GET /carts/7 answers 200", "An unknown cart answers 404"],
        }),
    )
}

fn project(tasks: &Value) -> Sandbox {
    let sandbox = Sandbox::bare();
    sandbox.write("ralph/tasks.json", text(tasks));
    sandbox
}

#[test]
fn a_bad_list_is_valid_without_strict_and_not_with_it() {
    let vague =
        json!({"acceptanceCriteria": ["Works correctly", "The cart is responsive"], "notes": "Soon."});
    let big = json!({"description": "Carts are kept. Carts are shared. Carts are merged. Carts expire."});
    let tasks = verified(
        &[
            right("US-001", 1),
            with(good("US-002", "Keep a cart"), &vague),
            with(good("US-003", "Share a cart"), &big),
        ],
        &["npm test || true"],
    );
    let sandbox = project(&tasks);
    sandbox.ralph(&["tasks", "check"]).exits(0).says("3 stories, 0 errors, 0 warnings");
    insta::assert_snapshot!("tasks_check_strict", output(&sandbox, &["tasks", "check", "--strict"]));

    let checked = sandbox.ralph(&["tasks", "check", "--strict", "--format", "json"]).exits(2).json();
    assert_eq!((&checked["errors"], &checked["warnings"]), (&json!(3), &json!(2)));
    let problems = checked["problems"].as_array().unwrap();
    let found = problems.iter().find(|problem| problem["rule"] == "one-iteration").unwrap();
    let line = usize::try_from(found["line"].as_u64().unwrap()).unwrap();
    assert!(text(&tasks).lines().nth(line - 1).unwrap().contains("Carts are merged."), "{found}");
    assert_eq!(
        (&found["severity"], &found["story"], &found["file"]),
        (&json!("error"), &json!("US-003"), &json!("ralph/tasks.json"))
    );
    assert!(found["hint"].as_str().unwrap().starts_with("split the story"), "{found}");
    let lines = sandbox.ralph(&["tasks", "check", "--strict", "--format", "ndjson"]).exits(2).stdout;
    assert_eq!(lines.lines().count(), problems.len());
}

#[test]
fn warnings_alone_do_not_fail() {
    let many: Vec<String> = (1..=9).map(|number| format!("Cart {number} has {number} items")).collect();
    let story = with(good("US-001", "Keep a cart"), &json!({"acceptanceCriteria": many}));
    let sandbox = project(&verified(&[story], &["npm test"]));
    let said = output(&sandbox, &["tasks", "check", "--strict"]);
    assert!(said.contains("warning: Story US-001: 9 acceptance criteria are many"), "{said}");
    assert!(said.ends_with("1 story, 0 errors, 1 warning\n--- exit 0\n"), "{said}");
}

#[test]
fn what_makes_a_list_invalid_is_still_told_and_nothing_twice() {
    let sandbox = project(&list(&[with(good("US-001", " "), &json!({"dependsOn": ["US-009"]}))]));
    let said = output(&sandbox, &["tasks", "check", "--strict"]);
    let count = |text: &str| said.matches(text).count();
    assert_eq!((count("which does not exist"), count("verifyCommands"), count("title")), (1, 1, 1), "{said}");
    assert!(said.ends_with("1 story, 3 errors, 0 warnings\n--- exit 2\n"), "{said}");

    // A list of another loop: a run adds the fields, but a planner should write them.
    let mut old = verified(&[good("US-001", "Keep a cart")], &["npm test"]);
    old["userStories"][0].as_object_mut().unwrap().remove("reviewStatus");
    sandbox.write("ralph/tasks.json", text(&old));
    sandbox.ralph(&["tasks", "check"]).exits(0).says("missing fields, which a run adds: reviewStatus");
    let said = output(&sandbox, &["tasks", "check", "--strict"]);
    assert!(said.contains("Story US-001: reviewStatus is missing [initial-fields]"), "{said}");
    assert!(said.ends_with("1 story, 1 error, 0 warnings\n--- exit 2\n"), "{said}");

    sandbox.write("ralph/tasks.json", "{\"userStories\": [\n\n {]}");
    let said = output(&sandbox, &["tasks", "check", "--strict"]);
    assert!(said.starts_with("ralph/tasks.json:3: error: the task list is not valid JSON"), "{said}");
}

fn specs(kind: &str) -> Sandbox {
    let sandbox = Sandbox::bare();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/specs").join(kind);
    sandbox.sh(&format!("cp -R '{}' specs", from.display()));
    sandbox.settings(&json!({"stories": {"verify": ["make test"]}}));
    sandbox
}

/// `file: line severity rule` of each problem.
fn found(sandbox: &Sandbox) -> Vec<String> {
    let checked = sandbox.ralph(&["stories", "check", "--strict", "--format", "json"]).json();
    let shown = |problem: &Value| {
        let file = problem["file"].as_str().unwrap();
        let file = file.strip_prefix("specs/").unwrap_or(file);
        let word = |name: &str| problem[name].as_str().unwrap_or("-").to_string();
        format!("{file}: {} {} {}", problem["line"], word("severity"), word("rule"))
    };
    let mut found: Vec<String> = checked["problems"].as_array().unwrap().iter().map(shown).collect();
    found.sort();
    found
}

#[test]
fn good_specs_have_no_findings_however_they_are_written() {
    let sandbox = specs("good");
    sandbox.write(
        ".ralph/state.json",
        json!({"completed_stories": ["2.4"], "current_story": null, "retry_count": 0}).to_string(),
    );
    assert_eq!(found(&sandbox), Vec::<String>::new());
    sandbox.ralph(&["stories", "check", "--strict"]).exits(0).says("7 stories, 0 errors, 0 warnings");
    // It is only good because it is done.
    fs::remove_file(sandbox.project().join(".ralph/state.json")).unwrap();
    sandbox.ralph(&["stories", "check", "--strict"]).exits(2).says("story 2.4: placeholder text: \"TODO\"");
}

#[test]
fn bad_specs_are_faulted_where_they_are_bad() {
    let sandbox = specs("bad");
    sandbox.ralph(&["stories", "check"]).exits(0).says("12 stories, 0 errors, 0 warnings");
    let expected = sandbox.read("specs/expected.txt");
    let mut expected: Vec<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
    expected.sort_unstable();
    assert_eq!(found(&sandbox), expected);
    let said = output(&sandbox, &["stories", "check", "--strict"]);
    assert!(
        said.contains(
            "specs/epic-1/story-1.4-vague.md:15:1: error: story 1.4: vague criterion: \
             \"Scanning works correctly\" [criteria]\n  hint: say what can be observed"
        ),
        "{said}"
    );
    assert!(said.ends_with("12 stories, 12 errors, 0 warnings\n--- exit 2\n"), "{said}");
}

#[test]
fn checks_of_stories_must_be_able_to_fail() {
    let sandbox = specs("good");
    fs::remove_file(sandbox.project().join("specs/epic-2/story-2.4-book-for-others.md")).unwrap();
    sandbox.settings(&json!({"stories": {"verify": ["make test", "echo ok"]}}));
    let said = output(&sandbox, &["stories", "check", "--strict"]);
    assert!(
        said.starts_with(
            ".ralph/settings.json:1:1: error: stories.verify: the command \"echo ok\" can never fail, \
             so it verifies nothing [verify-commands]\n"
        ),
        "{said}"
    );
    sandbox.settings(&json!({}));
    let said = output(&sandbox, &["stories", "check", "--strict"]);
    assert!(said.contains("warning: no stories.verify and no guardrails"), "{said}");
    assert!(said.ends_with("6 stories, 0 errors, 1 warning\n--- exit 0\n"), "{said}");
}
