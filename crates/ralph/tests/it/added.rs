//! Stories that are added by several processes at once, and beside a loop.

use crate::support::{Sandbox, until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// So many processes at once; what each of them printed.
fn at_once(sandbox: &Sandbox, count: usize, args: impl Fn(usize) -> Vec<String>) -> BTreeSet<String> {
    let start = |n| {
        let args = args(n);
        sandbox.start(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let running: Vec<_> = (0..count).map(start).collect();
    running.into_iter().map(|running| running.end().exits(0).stdout.trim().to_owned()).collect()
}

fn add(n: usize) -> Vec<String> {
    ["tasks", "add", &format!("added {n}"), "--criterion", "it works"].map(String::from).to_vec()
}

fn list(sandbox: &Sandbox) -> Vec<Value> {
    let list: Value = serde_json::from_str(&sandbox.read("ralph/tasks.json")).unwrap();
    list["userStories"].as_array().unwrap().clone()
}

fn titles(sandbox: &Sandbox) -> Vec<String> {
    list(sandbox).iter().map(|story| story["title"].as_str().unwrap().to_owned()).collect()
}

const FIRST: &str = r#"{"project": "x", "branchName": "", "description": "x", "userStories": [
  {"id": "US-001", "title": "first", "description": "", "acceptanceCriteria": ["it works"], "priority": 1,
   "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "", "dependsOn": []}]}"#;

fn with_list() -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.write("ralph/tasks.json", FIRST);
    sandbox.write("ralph/prompt.md", "Do it.\n");
    sandbox.write("ralph/prd.md", "x\n");
    sandbox.sh("git add . && git commit -q -m tasks");
    sandbox
}

#[test]
fn forty_tasks_that_are_added_at_once_are_all_there_under_ids_of_their_own() {
    let sandbox = with_list();
    let ids = at_once(&sandbox, 40, add);
    assert_eq!(ids.len(), 40, "{ids:?}");
    let there: BTreeSet<String> =
        list(&sandbox).iter().map(|story| story["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!((there.len(), list(&sandbox).len()), (41, 41));
    assert!(ids.is_subset(&there));
    sandbox.ralph(&["tasks", "check"]).exits(0);
}

#[test]
fn forty_stories_that_are_begun_at_once_have_files_and_numbers_of_their_own() {
    let sandbox = Sandbox::git();
    sandbox.ralph(&["init", "stories"]).exits(0);
    let before = sandbox.sh("ls specs/epic-1").lines().count();
    let new = |n: usize| ["stories", "new", &format!("new {n}"), "--epic", "1"].map(String::from).to_vec();
    let paths = at_once(&sandbox, 40, new);
    assert_eq!(paths.len(), 40);
    let number = |name: &str| name.split('-').nth(1).unwrap().to_owned();
    let names = sandbox.sh("ls specs/epic-1");
    let numbers: BTreeSet<String> = names.lines().map(number).collect();
    assert_eq!(numbers.len(), before + 40, "{names}");
    sandbox.write_stories();
    sandbox.ralph(&["stories", "check"]).exits(0);
}

/// An agent that has read the list before the stories were added, and writes all of it.
const OVERWRITES: &str = "cp ralph/tasks.json ../copy
    echo up > ../up; until test -e ../go; do sleep 0.05; done
    sed 's/\"notes\": \"\"/\"notes\": \"seen\"/' ../copy > ralph/tasks.json
    echo 1 >> ../agents";

#[test]
fn a_story_that_is_added_while_an_agent_works_is_not_lost() {
    let sandbox = with_list();
    let agent = sandbox.sh_agent(OVERWRITES);
    let words = [&["tasks", "-n", "2", "--stay", "--skip-review", "--"], &agent.words()[..]].concat();
    let running = sandbox.start(&words);
    sandbox.until_file("../up");
    at_once(&sandbox, 5, add);
    sandbox.write("../go", "1");
    running.end().exits(1);
    let titles: BTreeSet<String> = titles(&sandbox).into_iter().collect();
    for n in 0..5 {
        assert!(titles.contains(&format!("added {n}")), "{titles:?}");
    }
    assert_eq!((titles.len(), list(&sandbox).len()), (6, 6));
    let facts = sandbox.facts();
    let violations = facts.iter().filter(|fact| fact.to_string().contains("\"violations\":[\"")).count();
    assert_eq!(violations, 0, "the agent has broken no rule");
    // A person may remove what was added.
    sandbox.write("ralph/tasks.json", FIRST);
    sandbox.start(&words).end().exits(1);
    assert_eq!(list(&sandbox).len(), 1);
}

#[test]
fn an_agent_that_gives_the_same_id_away_does_not_replace_the_story() {
    let sandbox = with_list();
    let own = FIRST.replace(
        "]}]}",
        "]}, {\"id\": \"US-002\", \"title\": \"the agent's\", \"description\": \"\", \
         \"acceptanceCriteria\": [\"other\"], \"priority\": 2, \"passes\": false, \"reviewStatus\": null, \
         \"reviewCount\": 0, \"reviewFeedback\": \"\", \"notes\": \"\", \"dependsOn\": []}]}",
    );
    sandbox.write("../own", own);
    let agent = sandbox
        .sh_agent("echo up > ../up; until test -e ../go; do sleep 0.05; done; cp ../own ralph/tasks.json");
    let words = [&["tasks", "-n", "1", "--stay", "--skip-review", "--"], &agent.words()[..]].concat();
    let running = sandbox.start(&words);
    sandbox.until_file("../up");
    at_once(&sandbox, 1, add);
    sandbox.write("../go", "1");
    running.end().exits(1);
    let mut there = titles(&sandbox);
    there.sort();
    assert_eq!(there, ["added 0", "first", "the agent's"]);
    sandbox.ralph(&["tasks", "check"]).exits(0);
}

#[test]
fn a_list_that_is_put_back_after_a_crash_keeps_what_was_added() {
    let sandbox = with_list();
    let agent = sandbox.sh_agent(OVERWRITES);
    let words = [&["tasks", "-n", "2", "--stay", "--skip-review", "--"], &agent.words()[..]].concat();
    let running = sandbox.start(&words);
    sandbox.until_file("../up");
    at_once(&sandbox, 1, add);
    running.kill();
    sandbox.soon_nothing_is_left();
    sandbox.sh("cp ../copy ralph/tasks.json; touch ../go");
    at_once(&sandbox, 1, |_| add(1));
    sandbox.ralph(&["resume"]).exits(1);
    let there: BTreeSet<String> = titles(&sandbox).into_iter().collect();
    assert_eq!(there, ["added 0", "added 1", "first"].map(String::from).into());
}

/// The command is stopped while it has the list.
#[test]
fn a_loop_hears_signals_while_another_process_has_the_list() {
    let sandbox = with_list();
    let agent = sandbox.sh_agent("echo up > ../up; until test -e ../go; do sleep 0.05; done");
    let words = [&["tasks", "-n", "9", "--stay", "--skip-review", "--"], &agent.words()[..]].concat();
    let running = sandbox.start(&words);
    sandbox.until_file("../up");
    let locks = fs::read_dir(sandbox.home().join("locks")).unwrap();
    let lock = locks.map(|entry| entry.unwrap().path());
    let lock = lock.into_iter().find(|path| path.to_str().unwrap().contains("/tasks-")).unwrap();
    let held = fs::File::open(lock).unwrap();
    held.lock().unwrap();
    sandbox.write("../go", "1");
    until("the end of the agent", || {
        sandbox.facts().iter().any(|fact| fact["began"]["step"]["plan"]["what"] == "compare_tasks")
    });
    running.signal(rustix::process::Signal::INT);
    sandbox.until_fact("the signal", |fact| fact == "stop_asked");
    running.signal(rustix::process::Signal::INT);
    running.end().exits(130);
    drop(held);
}
