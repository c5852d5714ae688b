//! Task lists that were made for other loops: the plugin behind the seed, as it is shipped, and
//! loops that keep their stories in a `prd.json`.

use crate::support::Sandbox;
use crate::tasks_support::{
    Act, agent, back, fields, list, new, now, project, prompt, right, run, run_human, text, waiting, with,
};
use serde_json::{Value, json};

/// A list as other loops write it: without reviews.
fn prd(branch: &str) -> Value {
    let story = |id: &str, passes: bool| {
        json!({"id": id, "title": format!("Do {id}"), "description": "As a user …", "priority": 1,
            "acceptanceCriteria": ["It is done"], "passes": passes, "notes": ""})
    };
    json!({"project": "shop", "branchName": branch, "description": "A shop",
        "userStories": [story("US-001", true), story("US-002", false)]})
}

/// A repository with this `prd.json` and no list of ralph's.
fn other_project(file: &str, prd: &Value) -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"backoff": {"base": 0.01, "cap": 0.05}}));
    sandbox.write(file, text(prd));
    sandbox.sh("git add . && git commit -q -m prd");
    sandbox
}

#[test]
fn a_tree_of_the_shipped_plugin_runs_unchanged() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"backoff": {"base": 0.01, "cap": 0.05}}));
    let tree = |stories: &[Value]| {
        let mut list = list(stories);
        list.as_object_mut().unwrap().remove("branchName");
        list
    };
    sandbox.write(".ralph/tasks.json", text(&tree(&[new("US-001")])));
    sandbox.write(".ralph/prd.md", "what to build\n");
    sandbox.write(".ralph/progress.txt", "# Log\n");
    sandbox.write(
        ".ralph/prompt.md",
        "{{RALPH_ITERATION}} of {{RALPH_MAX_ITERATIONS}}, $RALPH_ITERATION again\n",
    );
    sandbox.sh("git add -A && git commit -q -m tasks");
    let makes = |stories: &[Value]| {
        let list = text(&tree(stories));
        Act::shell(&format!("cat > .ralph/tasks.json <<'END'\n{list}END\n"))
            .then("echo more >> .ralph/progress.txt; git add -A && git commit -q -m work")
    };
    let acts = [makes(&[waiting("US-001", 0)]), makes(&[right("US-001", 1)])];
    run(&sandbox, &["-n", "9"], &acts).stops(0, "completed", 2);
    assert!(prompt(&sandbox, 1).contains("\n1 of 9, 1 again\n"), "{}", prompt(&sandbox, 1));
    assert!(prompt(&sandbox, 2).contains("\n2 of 9, 2 again\n"));
    assert_eq!(sandbox.sh("git branch --show-current").trim(), "main");
    assert_eq!(sandbox.sh("git show --format= --name-only"), ".ralph/progress.txt\n.ralph/tasks.json\n");
    sandbox.ralph(&["tasks", "list"]).exits(0).says("US-001");
    sandbox.ralph(&["archive", "--label", "v1"]).exits(0).says("Created a new list in .ralph/");
    assert!(!sandbox.has("ralph"));
}

#[test]
fn a_review_fix_that_leaves_the_feedback_is_told_and_it_is_cleared() {
    let sandbox = project(&list(&[back("US-001", 1)]));
    let kept = with(waiting("US-001", 1), &json!({"reviewFeedback": "line 3 is wrong"}));
    let acts = [Act::makes(&list(&[kept])), Act::makes(&list(&[right("US-001", 2)]))];
    let ran = run_human(&sandbox, &["-n", "2"], &acts).exits(0);
    ran.says("reverted in the task list: Review-fix iterations must clear reviewFeedback. Story US-001");
    let seen = crate::tasks_support::seen(&sandbox, 2);
    assert_eq!(fields(&seen, "US-001"), json!([false, "needs_review", 1]));
    assert_eq!(seen["userStories"][0]["reviewFeedback"], "");
}

#[test]
fn the_prd_of_another_loop_is_imported_and_left_alone() {
    for file in ["prd.json", "ralph/prd.json", "scripts/ralph/prd.json"] {
        let sandbox = other_project(file, &prd("ralph/shop"));
        let before = sandbox.read(file);
        let finished = |sandbox: &Sandbox, status: Value, reviews: u32, passes: bool| {
            let mut list = crate::tasks_support::seen(sandbox, 1);
            let fields =
                json!({"reviewStatus": status, "reviewCount": reviews, "passes": passes, "notes": "did it"});
            list["userStories"][1] = with(list["userStories"][1].clone(), &fields);
            list
        };
        // What the first agent finds is what the acts go by.
        let probe = agent(&sandbox, &[Act::shell("true")]);
        let args = [&["tasks", "-n", "1", "--"], &probe.words()[..]].concat();
        let ran = sandbox.ralph(&args).exits(1);
        let message = "ralph: imported 2 stories from FILE into ralph/tasks.json; added the missing fields: \
                    reviewStatus, reviewCount, reviewFeedback, notes; FILE is unchanged";
        assert!(ran.stderr.contains(&message.replace("FILE", file)), "{}", ran.stderr);
        assert_eq!(sandbox.sh("git branch --show-current").trim(), "ralph/shop");
        let seen = crate::tasks_support::seen(&sandbox, 1);
        assert_eq!(fields(&seen, "US-001"), json!([true, "approved", 0]));
        assert_eq!(fields(&seen, "US-002"), json!([false, null, 0]));
        let acts = [
            Act::makes(&finished(&sandbox, json!("needs_review"), 0, false)),
            Act::makes(&finished(&sandbox, json!("approved"), 1, true)),
        ];
        run(&sandbox, &[], &acts).stops(0, "completed", 2);
        assert_eq!(sandbox.read(file), before);
        // Back where there is no list: that of the branch counts, and nothing is imported again.
        sandbox.sh("git switch -q main");
        let ran = sandbox.ralph(&["tasks", "--", "true"]).exits(0);
        assert!(!ran.stderr.contains("imported"), "{}", ran.stderr);
    }
}

#[test]
fn init_imports_a_prd_and_a_dry_run_does_not() {
    let sandbox = other_project("prd.json", &prd(""));
    sandbox.ralph(&["tasks", "-d", "--", "true"]).exits(2).says("`ralph init tasks` imports prd.json");
    assert!(!sandbox.has("ralph"));
    sandbox.ralph(&["init", "tasks"]).exits(0).says("imported 2 stories from prd.json into ralph/tasks.json");
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", 0]));
    assert_eq!(sandbox.read("ralph/prd.md"), "# PRD: shop\n\n## 1. Summary\n\nA shop\n");
    sandbox.ralph(&["tasks", "check"]).exits(0);
    // What cannot be filled in is reported before anything is written.
    let mut vague = prd("");
    vague["userStories"][1]["acceptanceCriteria"] = json!([]);
    let sandbox = other_project("prd.json", &vague);
    let ran = sandbox.ralph(&["tasks", "--", "true"]).exits(2).says("cannot import prd.json");
    assert!(ran.stderr.contains("Story US-002: acceptanceCriteria"), "{}", ran.stderr);
    assert!(!sandbox.has("ralph"));
    // A file of that name may be anything.
    let sandbox = other_project("prd.json", &json!({"features": []}));
    sandbox.ralph(&["tasks", "--", "true"]).exits(2).says("prd.json cannot be imported");
    sandbox
        .ralph(&["init", "tasks"])
        .exits(0)
        .says("not imported    prd.json: the task list has no `userStories`");
    assert_eq!(now(&sandbox)["userStories"][0]["title"], "");
}

#[test]
fn a_list_without_review_fields_is_filled_in_when_a_run_reads_it() {
    let sandbox = project(&prd(""));
    let text = sandbox.read("ralph/tasks.json");
    sandbox.ralph(&["tasks", "check"]).exits(0).says("missing fields, which a run adds: reviewStatus");
    sandbox.ralph(&["tasks", "list"]).exits(0).says("US-002");
    sandbox.ralph(&["tasks", "-d", "--", "true"]).exits(0).says("story US-002, implement");
    assert_eq!(sandbox.read("ralph/tasks.json"), text, "nothing was written so far");
    let ran = run_human(&sandbox, &["-n", "1"], &[Act::shell("true")]).exits(1);
    ran.says("added missing fields to ralph/tasks.json: reviewStatus, reviewCount, reviewFeedback, notes");
    assert_eq!(fields(&crate::tasks_support::seen(&sandbox, 1), "US-002"), json!([false, null, 0]));
    assert_eq!(fields(&now(&sandbox), "US-001"), json!([true, "approved", 0]));
}

#[test]
fn init_and_archive_take_the_directory_of_the_list() {
    let sandbox = Sandbox::git();
    sandbox.ralph(&["init", "tasks", "--ralph-dir", "plans/login", "--name", "login"]).exits(0);
    assert!(sandbox.has("plans/login/prompt.md") && !sandbox.has("ralph"));
    sandbox.ralph(&["init", "tasks", "--ralph-dir", "../out"]).exits(2).says("outside the project");
    sandbox.ralph(&["init", "tasks", "--ralph-dir", "x/../../out"]).exits(2).says("outside the project");
    sandbox
        .ralph(&["init", "stories", "--ralph-dir", "x"])
        .exits(2)
        .says("only works with `ralph init tasks`");
    sandbox.write("plans/login/tasks.json", text(&list(&[right("US-001", 1)])));
    sandbox.sh("git add . && git commit -q -m tasks");
    let ran = sandbox.ralph(&["archive", "--ralph-dir", "plans/login", "--label", "x"]).exits(0);
    ran.says("Created a new list in plans/login/");
    let reset: Value = serde_json::from_str(&sandbox.read("plans/login/tasks.json")).unwrap();
    assert_eq!(reset["userStories"][0]["title"], "");
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

#[test]
fn init_overwrites_only_if_forced_and_never_under_a_run() {
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.write("ralph/prompt.md", "mine");
    sandbox.write("ralph/prd.md", "what to build\n");
    sandbox.ralph(&["init", "tasks"]).exits(0).says("already exists  ralph/prompt.md");
    let running = crate::tasks_support::begin(
        &sandbox,
        &[],
        &agent(&sandbox, &[Act::shell("echo up > up; exec tail -f /dev/null")]),
    );
    sandbox.until_file("up");
    sandbox.ralph(&["init", "tasks", "--force"]).exits(1).says("is already working in this directory");
    running.kill();
    sandbox.soon_nothing_is_left();
    assert_eq!(sandbox.read("ralph/prompt.md"), "mine");
    sandbox
        .ralph(&["init", "tasks", "--force", "--name", "x"])
        .exits(0)
        .says("overwritten     ralph/tasks.json");
    assert_ne!(sandbox.read("ralph/prompt.md"), "mine");
    assert_eq!(now(&sandbox)["branchName"], "ralph/x");
}

#[test]
fn commands_about_a_list_name_the_prd_that_could_be_imported() {
    let sandbox = other_project("scripts/ralph/prd.json", &prd(""));
    for args in [
        &["tasks", "check"][..],
        &["tasks", "list"],
        &["tasks", "show", "US-001"],
        &["tasks", "add", "x", "--criterion", "y"],
        &["archive"],
    ] {
        let ran = sandbox.ralph(args).exits(2).says("no task list: ");
        ran.says("hint: `ralph init tasks` imports scripts/ralph/prd.json\n");
    }
    assert!(!sandbox.has("ralph"));
    let sandbox = other_project("prd.json", &json!({"features": []}));
    let ran = sandbox.ralph(&["tasks", "list"]).exits(2).says("cause: prd.json cannot be imported: ");
    ran.says("hint: `ralph init tasks` creates one\n");
}
