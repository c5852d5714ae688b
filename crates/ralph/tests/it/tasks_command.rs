//! `ralph tasks list`, `show`, `add` and `check`, from outside.

use crate::support::{Ran, Sandbox};
use crate::tasks_support::{Act, back, list, new, now, project, right, run, text, verified, waiting, with};
use serde_json::{Value, json};
use std::fs;

/// Everything a command said.
fn output(sandbox: &Sandbox, args: &[&str]) -> String {
    let Ran { code, stdout, stderr, .. } = sandbox.ralph(args);
    let stderr = if stderr.is_empty() { String::new() } else { format!("--- stderr\n{stderr}") };
    sandbox.tidy(&format!("{stdout}{stderr}--- exit {}\n", code.unwrap()))
}

/// One story of every standing.
fn a_project() -> Sandbox {
    let depends = with(new("US-005"), &json!({"dependsOn": ["US-001", "US-004"], "priority": 2}));
    let stories = [right("US-001", 1), waiting("US-002", 0), back("US-003", 3), new("US-004"), depends];
    let mut tasks = verified(&stories, &["true"]);
    tasks["ours"] = json!({"z": 1, "a": [2.50, null]});
    tasks["userStories"][2]["estimate"] = json!("3d");
    let sandbox = Sandbox::bare();
    sandbox.write("ralph/tasks.json", text(&tasks));
    sandbox
}

#[test]
fn list_tells_standing_reviews_and_cost() {
    let sandbox = a_project();
    insta::assert_snapshot!("tasks_list", output(&sandbox, &["tasks", "list"]));
    let listed = sandbox.ralph(&["tasks", "list", "--format", "json"]).exits(0).json();
    assert_eq!(
        listed[4],
        json!({
            "id": "US-005", "title": "Do US-005", "standing": "waits", "waits_for": ["US-004"], "next": false,
            "reviews": 0, "iterations": 0, "cost": 0.0, "cost_estimated": false, "duration": 0.0,
            "priority": 2.0, "depends_on": ["US-001", "US-004"],
        })
    );
    let words: Vec<&str> =
        listed.as_array().unwrap().iter().map(|s| s["standing"].as_str().unwrap()).collect();
    assert_eq!(words, ["approved", "review", "review-fix", "implement", "waits"]);
    assert_eq!(listed[2]["next"], true);
    assert_eq!(sandbox.ralph(&["tasks", "list", "--format", "ndjson"]).exits(0).stdout.lines().count(), 5);
    sandbox.ralph(&["tasks", "list", "-n", "3"]).exits(2);
    let agent = sandbox.sh_agent("echo up > up; exec tail -f /dev/null");
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_file("up");
    sandbox.ralph(&["tasks", "list"]).exits(0).says("next: US-003 (to fix); a run is active here");
    running.kill();
}

#[test]
fn list_knows_from_the_journals_what_a_story_has_taken() {
    let sandbox = project(&list(&[new("US-001"), new("US-002")]));
    let waits = text(&list(&[waiting("US-001", 0), new("US-002")]));
    sandbox.claude(&json!([
        [{"write": {"path": "ralph/tasks.json", "content": waits}}, {"say": "ok"}, {"cost": 0.25}],
        [{"say": "no verdict"}, {"cost": 0.5}],
    ]));
    sandbox.ralph(&["tasks", "-n", "2", "--agent", "claude"]).exits(1);
    let listed = sandbox.ralph(&["tasks", "list", "--format", "json"]).exits(0).json();
    assert_eq!((&listed[0]["iterations"], &listed[0]["cost"]), (&json!(2), &json!(0.75)));
    assert_eq!((&listed[1]["iterations"], &listed[1]["cost"]), (&json!(0), &json!(0.0)));
    sandbox.ralph(&["tasks", "list"]).exits(0).says("$0.75");
    sandbox.ralph(&["tasks", "show", "US-001"]).exits(0).says("2 iterations, cost: $0.75");
}

#[test]
fn what_an_archived_list_has_taken_is_not_the_next_ones() {
    let sandbox = project(&list(&[new("US-001")]));
    run(&sandbox, &["-n", "1"], &[Act::makes(&list(&[waiting("US-001", 0)]))]).stops(1, "max_iterations", 1);
    let iterations =
        || sandbox.ralph(&["tasks", "list", "--format", "json"]).exits(0).json()[0]["iterations"].take();
    assert_eq!(iterations(), 1);
    sandbox.ralph(&["archive"]).exits(0);
    sandbox.write("ralph/tasks.json", text(&list(&[new("US-001")])));
    assert_eq!(iterations(), 0);
}

#[test]
fn show_tells_all_fields_of_one_story() {
    let sandbox = a_project();
    insta::assert_snapshot!("tasks_show", output(&sandbox, &["tasks", "show", "US-003"]));
    let shown = sandbox.ralph(&["tasks", "show", "US-003", "--format", "json"]).exits(0).json();
    assert_eq!((&shown["standing"], &shown["story"]["estimate"]), (&json!("review-fix"), &json!("3d")));
    sandbox.ralph(&["tasks", "show", "US-9"]).exits(1).says("no such story: US-9");
    sandbox.ralph(&["tasks", "show", "us-03"]).exits(1).says("did you mean US-003?");
}

#[test]
fn add_takes_the_next_id_and_keeps_everything_else() {
    let sandbox = a_project();
    let before = now(&sandbox);
    let added = sandbox.ralph(&[
        "tasks",
        "add",
        "Log out",
        "--criterion",
        "One is out",
        "--criterion",
        "And stays out",
        "--depends-on",
        "US-001",
        "--depends-on",
        "US-004",
        "--depends-on",
        "US-001",
    ]);
    assert_eq!(added.exits(0).stdout, "US-006\n");
    let mut after = now(&sandbox);
    let story = after["userStories"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!(after, before);
    let written = sandbox.read("ralph/tasks.json");
    assert_eq!(
        story,
        with(
            new("US-006"),
            &json!({
                "title": "Log out", "acceptanceCriteria": ["One is out", "And stays out"], "priority": 3,
                "dependsOn": ["US-001", "US-004"],
            })
        )
    );
    let refused = |args: &[&str], why: &str| {
        let all = [&["tasks", "add"], args].concat();
        sandbox.ralph(&all).exits(2).says(why);
        assert_eq!(sandbox.read("ralph/tasks.json"), written);
    };
    refused(&["x", "--criterion", "y", "--depends-on", "US-9"], "no such story to depend on: US-9");
    refused(&["x"], "--criterion");
    refused(&[" ", "--criterion", "y"], "must not be empty");
    refused(&["a\nb", "--criterion", "y"], "one line");
    sandbox.write("ralph/tasks.json", text(&list(&[with(new("US-001"), &json!({"passes": "yes"}))])));
    sandbox
        .ralph(&["tasks", "add", "x", "--criterion", "y"])
        .exits(2)
        .says("Story US-001: passes must be true or false");
}

#[test]
fn add_writes_keys_in_the_order_in_which_they_were_read() {
    let sandbox = Sandbox::bare();
    let before = r#"{
  "zeta": 1.50,
  "userStories": [
    {
      "notes": "",
      "mine": {
        "b": 1,
        "a": null
      },
      "id": "US-007",
      "title": "Old",
      "passes": false,
      "priority": 1,
      "reviewFeedback": "",
      "reviewCount": 0,
      "reviewStatus": null,
      "acceptanceCriteria": [
        "x"
      ]
    }
  ],
  "alpha": "é",
  "project": "",
  "description": "",
  "branchName": ""
}
"#;
    sandbox.write("ralph/tasks.json", before);
    assert_eq!(sandbox.ralph(&["tasks", "add", "New", "--criterion", "y"]).exits(0).stdout, "US-008\n");
    let after = sandbox.read("ralph/tasks.json");
    let (kept, rest) = before.split_once("\n  ],\n  \"alpha\"").unwrap();
    assert!(after.starts_with(&kept.replace("1.50", "1.5")), "{after}");
    assert!(after.ends_with(&format!("\n  ],\n  \"alpha\"{rest}")), "{after}");
}

#[test]
fn the_first_story_takes_the_place_of_the_one_that_was_laid_out() {
    let sandbox = Sandbox::bare();
    sandbox.ralph(&["init", "tasks"]).exits(0);
    sandbox
        .ralph(&["tasks", "check"])
        .exits(2)
        .says("Story US-001: acceptanceCriteria must be a non-empty list");
    sandbox.ralph(&["tasks", "--", "true"]).exits(2).says("acceptanceCriteria");
    let add = ["tasks", "add", "First", "--criterion", "c", "--description", "d", "--priority", "-2"];
    assert_eq!(sandbox.ralph(&add).exits(0).stdout, "US-001\n");
    assert_eq!(now(&sandbox)["userStories"].as_array().unwrap().len(), 1);
    assert_eq!(now(&sandbox)["userStories"][0]["priority"], -2);
    sandbox.write("ralph/prd.md", "what to build\n");
    sandbox.ralph(&["tasks", "check"]).exits(0).says("1 story, 0 errors, 2 warnings");
    sandbox.ralph(&["tasks", "check"]).exits(0).says("branchName is still ralph/feature-name");
    // A link stays a link: the list may lie elsewhere.
    sandbox.sh("mv ralph/tasks.json there.json && ln -s ../there.json ralph/tasks.json");
    sandbox.ralph(&["tasks", "add", "Second", "--criterion", "c"]).exits(0);
    assert!(sandbox.read("there.json").contains("Second"));
}

#[test]
fn check_tells_everything_that_is_wrong_and_exits_with_2() {
    let sandbox = a_project();
    let check = |tasks: &Value| {
        sandbox.write("ralph/tasks.json", text(tasks));
        output(&sandbox, &["tasks", "check"])
    };
    assert_eq!(output(&sandbox, &["tasks", "check"]), "5 stories, 0 errors, 0 warnings\n--- exit 0\n");
    let wrong = list(&[
        with(new("US-001"), &json!({"passes": true, "reviewCount": -1, "title": ""})),
        with(back("US-002", 9), &json!({"reviewFeedback": " "})),
        with(new("US-003"), &json!({"dependsOn": ["US-004"]})),
        with(new("US-004"), &json!({"dependsOn": ["US-003"]})),
        with(new("US-005"), &json!({"dependsOn": ["US-9"]})),
        new("US-005"),
    ]);
    insta::assert_snapshot!("tasks_check", check(&wrong));
    let checked = sandbox.ralph(&["tasks", "check", "--format", "json"]).exits(2).json();
    assert_eq!((&checked["file"], &checked["stories"]), (&json!("ralph/tasks.json"), &json!(6)));
    assert_eq!(checked["errors"], checked["problems"].as_array().unwrap().len() - 2);
    // Each is where its story begins; of two with the same id it is the second.
    let written = text(&wrong);
    let lines: Vec<&str> = written.lines().collect();
    for problem in checked["problems"].as_array().unwrap() {
        let Some(story) = problem["story"].as_str() else {
            assert!(problem["line"].is_null(), "{problem}");
            continue;
        };
        let line = usize::try_from(problem["line"].as_u64().unwrap()).unwrap();
        assert_eq!(lines[line - 1].trim(), "{", "{problem}");
        let id = format!("\"id\": \"{story}\"");
        let is_it = |line: &str| line.contains(&id);
        let found = match problem["text"].as_str().unwrap().contains("is used twice") {
            true => lines.iter().rposition(|line| is_it(line)),
            false => lines.iter().position(|line| is_it(line)),
        };
        let found = found.unwrap();
        assert!((line..line + 12).contains(&found), "{problem}");
    }
    // A field of one's own is fine; one that is spelled almost like ralph's would be missed.
    let mut slips = list(&[with(new("US-001"), &json!({"dependson": [], "owner": "me"}))]);
    slips["userStories"][0].as_object_mut().unwrap().remove("dependsOn");
    slips["verifyCommand"] = slips["verifyCommands"].take();
    slips.as_object_mut().unwrap().remove("verifyCommands");
    let slips_output = check(&slips);
    for slip in [
        "warning: The task list: unknown field verifyCommand is ignored; did you mean verifyCommands?",
        "warning: Story US-001: unknown field dependson is ignored; did you mean dependsOn?",
        "1 story, 0 errors, 3 warnings\n--- exit 0",
    ] {
        assert!(slips_output.contains(slip), "{slips_output}");
    }
    sandbox.write("ralph/tasks.json", "{\n\"userStories\": [\n {}, 1\n]}");
    assert!(output(&sandbox, &["tasks", "check"]).contains("ralph/tasks.json:3: error: every entry"));
    sandbox.write("ralph/tasks.json", "{\"userStories\": [\n\n {]}");
    assert!(
        output(&sandbox, &["tasks", "check"]).contains("ralph/tasks.json:3: error: the task list is not")
    );
    let passing = with(new("US-001"), &json!({"passes": true, "notes": "n"}));
    assert!(check(&list(&[passing])).contains("not 'approved'"));
    sandbox.ralph(&["tasks", "check", "--skip-review"]).exits(0);
    sandbox.write("ralph/tasks.json", "{\"userStories\": [], \"project\": 1, \"project\": 2}");
    sandbox.ralph(&["tasks", "check"]).exits(2).says("duplicate key: project");
    assert!(check(&list(&[])).contains("has no stories"));
    fs::remove_dir_all(sandbox.project().join("ralph")).unwrap();
    sandbox.ralph(&["tasks", "check"]).exits(2).says("no task list: ");
    sandbox.sh("mkdir -p there && mkdir ../outside");
    sandbox.write("there/tasks.json", text(&list(&[new("US-001")])));
    sandbox.ralph(&["tasks", "check", "--ralph-dir", "there"]).exits(0).says("there/tasks.json: warning");
    sandbox.ralph(&["tasks", "check", "--ralph-dir", "../outside"]).exits(2).says("outside the project");
}

#[test]
fn a_prd_that_was_laid_out_is_not_worked_on_before_it_is_written() {
    let sandbox = Sandbox::git();
    sandbox.ralph(&["init", "tasks", "--name", "login"]).exits(0);
    let refused = sandbox.ralph(&["tasks", "--stay", "--", "true"]).exits(2);
    assert!(refused.stderr.contains("line 7: Story US-001: acceptanceCriteria"), "{}", refused.stderr);
    sandbox.ralph(&["tasks", "add", "Log in", "--criterion", "A passkey logs in"]).exits(0);
    sandbox.sh("git add . && git commit -q -m tasks");
    let summary = sandbox.read("ralph/prd.md").lines().position(|line| line.contains("Two to four")).unwrap();
    let place = format!("ralph/prd.md:{}", summary + 1);
    let checked = sandbox.ralph(&["tasks", "check", "--format", "json"]).exits(2).json();
    let found =
        checked["problems"].as_array().unwrap().iter().find(|found| found["severity"] == "error").unwrap();
    assert_eq!((&found["file"], &found["line"]), (&json!("ralph/prd.md"), &json!(summary + 1)));
    sandbox.ralph(&["tasks", "check"]).exits(2).says(&format!("{place}: error: \"1. Summary\" still has"));
    let run = || sandbox.ralph(&["tasks", "-n", "1", "--", "true"]);
    let refused = run().exits(2);
    assert!(
        refused.stderr.contains(&place) && refused.stderr.contains("write what to build"),
        "{}",
        refused.stderr
    );
    assert_eq!(sandbox.sh("git branch --list ralph/login"), "");
    let prd = sandbox.read("ralph/prd.md").replace("## 1. Summary\n", "## 1. Summary\n\nPeople log in.\n");
    sandbox.write("ralph/prd.md", prd);
    sandbox.sh("git commit -qam prd");
    sandbox.ralph(&["tasks", "check"]).exits(0);
    run().exits(1).says("switched to branch ralph/login");
    // What counts is what the run will find: the branch has its own files now.
    sandbox.sh("git switch -q - && git checkout -q HEAD~1 -- ralph/prd.md && git commit -q -m back");
    run().exits(1).says("switched to branch ralph/login");
}

#[test]
fn stories_that_can_never_begin_are_found_before_the_branch_is_switched() {
    let circle = [("US-001", "US-002"), ("US-002", "US-001")]
        .map(|(id, on)| with(new(id), &json!({"dependsOn": [on]})));
    let mut tasks = list(&circle);
    tasks["branchName"] = json!("ralph/login");
    let sandbox = project(&tasks);
    let refused = sandbox.ralph(&["tasks", "--", "true"]).exits(2);
    assert!(
        refused.stderr.contains("story US-001 depends on itself: US-001 → US-002 → US-001"),
        "{}",
        refused.stderr
    );
    assert_eq!(sandbox.sh("git branch --list ralph/login"), "");
    assert!(sandbox.runs().is_empty());
}

#[test]
fn a_list_behind_a_link_is_worked_on_where_it_is_and_only_in_the_project() {
    let sandbox = project(&list(&[waiting("US-001", 0)]));
    sandbox.sh(
        "mkdir docs && git mv ralph docs/loop && ln -s docs/loop ralph && git add . && git commit -q -m link",
    );
    let approve = Act::makes(&list(&[right("US-001", 1)]));
    run(&sandbox, &[], &[approve]).stops(0, "completed", 1);
    assert!(sandbox.project().join("ralph").is_symlink());
    sandbox.sh("mv docs/loop ../elsewhere && rm ralph && ln -s ../elsewhere ralph");
    sandbox.ralph(&["tasks", "--", "true"]).exits(2).says("the tasks directory is outside the project: ");
}
