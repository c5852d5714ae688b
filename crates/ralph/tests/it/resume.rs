//! Carrying on where a run was left.

use crate::support::{RALPH, Sandbox};
use serde_json::json;

const DONE: &str = "<response>DONE</response>";

/// A run that is killed in its second iteration; the next agent mends it.
fn crashed() -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.claude(&json!([
        [{"write": {"path": "half", "content": "1"}}, {"say": "Half of it."}, {"cost": 0.25}],
        [{"leave": {"kind": "setsid", "ignore_term": true}}, {"leave": {"kind": "refork", "ignore_term": true}},
         {"say": "x"}, {"write": {"path": "up", "content": "1"}}, {"hang": true}],
        [{"save_env": {"path": "env", "names": ["RALPH_ITERATION", "RALPH_MAX_ITERATIONS"]}}, {"save_prompt": "told"},
         {"write": {"path": "fixed", "content": "1"}}, {"say": DONE}, {"cost": 0.5}],
    ]));
    let running = sandbox.start(&["run", "-p", "Mend it.", "-n", "6", "--check", "test -f fixed"]);
    sandbox.until_file("up");
    running.kill();
    sandbox
}

#[test]
fn a_killed_run_leaves_nothing_and_is_carried_on() {
    let sandbox = crashed();
    sandbox.soon_nothing_is_left();
    let listed = sandbox.listed();
    assert_eq!(
        (&listed["status"], &listed["iterations"], &listed["resumable"]),
        (&json!("crashed"), &json!(1), &json!(true))
    );
    let ran = sandbox.ralph(&["resume", "--format", "json"]);
    let result = ran.stops(0, "completed", 2);
    assert_eq!(result["total_cost"], 0.75, "the cost before the crash counts");
    assert_eq!(sandbox.read("env"), "RALPH_ITERATION=2\nRALPH_MAX_ITERATIONS=6\n", "it is run again");
    assert!(sandbox.read("told").contains("Check \"test -f fixed\" failed with exit code 1."));
    assert_eq!(sandbox.agents_begun(), 3);
    let listed = sandbox.listed();
    assert_eq!(
        (&listed["status"], &listed["iterations"], &listed["cost"]),
        (&json!("completed"), &json!(2), &json!(0.75))
    );
    let progress = sandbox.read(".ralph/progress.md");
    assert_eq!(progress.matches("## Iteration ").count(), 2, "{progress}");
    sandbox.nothing_is_left();
}

#[test]
fn a_run_can_be_carried_on_right_after_it_was_killed_while_its_tree_is_swept() {
    let sandbox = crashed();
    let ran = sandbox.ralph(&["resume", "--format", "json"]);
    ran.stops(0, "completed", 2);
    sandbox.nothing_is_left();
}

#[test]
fn a_new_run_says_that_the_one_before_it_was_cut_short() {
    let sandbox = crashed();
    let before = sandbox.only_run();
    let warning = format!("run {before} was interrupted here");
    let again = sandbox.ralph(&["run", "-p", "Mend it.", "-n", "6", "--check", "test -f fixed"]).exits(0);
    assert!(again.stderr.contains(&warning) && again.stderr.contains("ralph resume"), "{}", again.stderr);
    let third = sandbox.ralph(&["run", "-p", "x", "-n", "1", "--", "echo", DONE]).exits(0);
    assert!(!third.stderr.contains("was interrupted"), "{}", third.stderr);
}

#[test]
fn limits_count_on_across_a_crash() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"say": "one"}],
        [{"say": "x"}, {"write": {"path": "up", "content": "1"}}, {"hang": true}],
        [{"say": "again"}],
    ]));
    let running = sandbox.begin(&["-p", "x", "-n", "3"], &agent);
    sandbox.until_file("up");
    running.kill();
    sandbox.soon_nothing_is_left();
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 3);
    assert_eq!(sandbox.agents_begun(), 4);
    let id = sandbox.only_run();
    sandbox
        .ralph(&["resume", &id])
        .exits(1)
        .says("has used all of its 3 iterations")
        .says("ralph resume -n 6");
}

#[test]
fn a_run_that_used_its_iterations_goes_on_with_more_of_them() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent =
        sandbox.agent(&json!([[{"say": "one"}], [{"say": "two"}], [{"say": "three"}], [{"say": DONE}]]));
    let ran = sandbox.run(&["-p", "x", "-n", "1"], &agent).exits(1);
    let id = sandbox.only_run();
    assert!(ran.stdout.contains(&format!("ralph resume -n 2 {id}")), "{}", ran.stdout);
    let journal = || std::fs::read(sandbox.journal_file()).unwrap();
    let before = journal();
    sandbox.ralph(&["resume"]).exits(1).says("no run to resume").says(&format!("ralph resume -n 2 {id}"));
    sandbox.ralph(&["resume", "-n", "1"]).exits(1).says("has used all of its 1 iteration");
    assert_eq!(journal(), before, "what cannot be resumed is not changed");

    sandbox.ralph(&["resume", "-n", "2", "--format", "json"]).stops(1, "max_iterations", 2);
    sandbox.ralph(&["resume", "-n", "9", &id, "--format", "json"]).stops(0, "completed", 4);
    assert_eq!(sandbox.agents_begun(), 4);
}

#[test]
fn a_run_that_used_its_money_or_time_goes_on_with_more_of_it() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let dear = json!({"type": "result", "subtype": "success", "is_error": false, "result": "ok", "total_cost_usd": 0.5});
    let line = dear.to_string();
    sandbox.program("claude", &format!("cat > /dev/null\necho '{line}'"));
    let spent = sandbox.ralph(&["run", "-p", "x", "--max-cost", "0.5", "--format", "json"]);
    spent.stops(1, "budget_exhausted", 1);
    sandbox.ralph(&["resume"]).exits(1).says("no run to resume").says("ralph resume --max-cost 1.00 ");
    let human = sandbox.ralph(&["resume", "--max-cost", "1"]).exits(1);
    assert!(human.stdout.contains("ralph resume --max-cost 2.00"), "{}", human.stdout);

    let agent = sandbox.agent(&json!([[{"hang": true}], [{"say": DONE}]]));
    sandbox.run(&["-p", "y", "--max-time", "1s", "--format", "json"], &agent).exits(1);
    let refused = sandbox
        .ralph(&["resume"])
        .exits(1)
        .says("reached a limit (timeout); raise it: ralph resume --max-time ");
    assert!(!refused.stderr.contains("-n "), "{}", refused.stderr);
    sandbox.ralph(&["resume", "--max-time", "1ms"]).exits(1).says("has used all of its 1ms");
    sandbox.ralph(&["resume", "--max-time", "1h30m", "--format", "json"]).stops(0, "completed", 1);
}

#[test]
fn a_completed_run_is_not_resumed() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    sandbox.run(&["-p", "x"], &agent).exits(0);
    let before = std::fs::read(sandbox.journal_file()).unwrap();
    let id = sandbox.only_run();
    sandbox.ralph(&["resume", &id]).exits(1).says("is already complete");
    sandbox.ralph(&["resume"]).exits(1).says("no run to resume in this directory");
    let refused = sandbox.ralph(&["resume", &id, "--format", "json"]).exits(1).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("is already complete"), "{refused:#}");
    assert_eq!(std::fs::read(sandbox.journal_file()).unwrap(), before, "the record is untouched");
}

#[test]
fn the_newest_run_of_the_directory_is_resumed_and_others_by_the_beginning_of_their_names() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("other/.ralph/settings.json", "{\"context\": false}");
    sandbox.program("tell", "cat > told\necho x\nexit 1");
    let mut ids: Vec<String> = Vec::new();
    for (prompt, dir) in [("old", "."), ("new", "."), ("elsewhere", "other")] {
        let args = ["run", "-p", prompt, "-C", dir, "--max-failures", "1", "--format", "json", "--", "tell"];
        let result = sandbox.ralph(&args).stops(1, "too_many_failures", 1);
        ids.push(result["run"].as_str().unwrap().to_owned());
    }
    let listed = sandbox.ralph(&["runs", "--format", "json"]).exits(0).json();
    let order: Vec<&str> = listed.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(order, [&ids[2], &ids[1], &ids[0]], "newest first, also within a second");

    sandbox.program("tell", &format!("cat > told\necho '{DONE}'"));
    let resumed = |args: &[&str]| {
        let ran = sandbox.ralph(&[&["resume", "--format", "json"], args].concat()).exits(0);
        ran.json()["run"].as_str().unwrap().to_owned()
    };
    assert_eq!(resumed(&[]), ids[1]);
    assert_eq!(sandbox.read("told"), "new");
    assert_eq!(resumed(&["-C", "other"]), ids[2]);
    assert_eq!(sandbox.read("other/told"), "elsewhere");
    assert_eq!(resumed(&[&ids[0][..20]]), ids[0], "four hexadecimal digits tell them apart");
    assert_eq!(sandbox.read("told"), "old");

    sandbox.ralph(&["resume", &ids[0][..4]]).exits(1).says("several runs start with");
    sandbox.ralph(&["resume", "no-such-run"]).exits(1).says("no such run: no-such-run");
}

#[test]
fn a_resumed_run_keeps_the_settings_it_began_with() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"context": false, "completionResponse": "SHIPPED", "maxFailures": 1}));
    let agent =
        sandbox.agent(&json!([[{"exit": 1}], [{"say": DONE}], [{"say": "<response>SHIPPED</response>"}]]));
    sandbox.run(&["-p", "x"], &agent).exits(1);
    sandbox.settings(&json!({"completionResponse": "DONE"}));
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 3);
}

#[test]
fn two_at_once_do_not_resume_the_same_run() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "up", "content": "1"}}, {"hang": true}],
        [{"write": {"path": "again", "content": "1"}}, {"hang": true}],
    ]));
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_file("up");
    running.kill();
    sandbox.soon_nothing_is_left();
    let id = sandbox.only_run();
    let resumed = sandbox.start(&["resume", &id]);
    sandbox.until_file("again");
    sandbox.ralph(&["resume", &id]).exits(2).says("the run is already running");
    sandbox.ralph(&["resume"]).exits(1).says("no run to resume");
    assert_eq!(sandbox.agents_begun(), 2);
    resumed.kill();
}

#[test]
fn a_clock_that_was_set_back_in_between_decides_nothing() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"exit": 1}], [{"say": DONE}]]));
    sandbox.run(&["-p", "x", "--max-failures", "1", "--max-time", "60"], &agent).exits(1);
    let journal = std::fs::read_to_string(sandbox.journal_file()).unwrap();
    let century_ahead: String = journal
        .lines()
        .map(|line| {
            let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
            event["at"] = json!(event["at"].as_i64().unwrap() + 100 * 365 * 86_400_000);
            event.to_string() + "\n"
        })
        .collect();
    std::fs::write(sandbox.journal_file(), century_ahead).unwrap();
    assert_eq!(sandbox.listed()["resumable"], true);
    sandbox.ralph(&["resume", "--format", "json"]).stops(0, "completed", 2);
    assert!(sandbox.ralph(&["show", &sandbox.only_run()]).exits(0).stdout.contains("completed"), "{RALPH}");
}
