//! What people and programs get to see.

use super::stage::Stage;
use serde_json::json;

/// A story that is done, one that fails for good after a false DONE, and one that never begins.
const SCRIPT: &str = "echo $try >> work; case $try in
    1.1#1) : > one; commit one; LEARN 'the port is 8081'; DONE ;;
    1.2#1) rm one; DONE ;;
    *) FAIL 'there is no network in this place, and without it nothing of what is asked for can be done' ;; esac";

fn project() -> Stage {
    let stage = Stage::new("1.1 1.2<1.1 1.10<1.2");
    stage.sandbox.settings(&json!({"stories": {"verify": ["test -e one"]}}));
    stage
}

#[test]
fn a_run_told_to_people_fits_80_columns() {
    let stage = project();
    let ran = stage.run(&["-l", "/dev/null"], SCRIPT).exits(1);
    // What agents say is theirs.
    let own = ran.stdout.lines().filter(|line| !line.contains("<ralph>"));
    for line in own {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!("stories_run", stage.sandbox.tidy(&ran.stdout));
}

#[test]
fn a_long_title_hides_neither_the_story_nor_the_attempt() {
    let stage = Stage::without_git("");
    let spec = format!("---\ntitle: {}\nstatus: pending\n---\n", "much to say ".repeat(20));
    stage.sandbox.write("specs/epic-8/story-8.3-x.md", spec);
    let ran = stage.run(&[], "FAIL no").exits(1);
    let title = ran.stdout.lines().find(|line| line.contains("Iteration 2/3")).unwrap();
    assert!(title.starts_with("--- Iteration 2/3: story 8.3 (attempt 2 of 3), much to say"), "{title}");
    assert!(title.chars().count() <= 80, "{title}");
}

#[test]
fn programs_get_the_story_of_each_iteration() {
    let stage = project();
    let result = stage.run(&["--format", "json"], SCRIPT).stops(1, "halted", 4);
    assert_eq!(result["plan"], "stories");
    assert_eq!(result["error"]["message"], "story 1.2 failed 3 times");
    let iterations: Vec<_> = result["iterations"].as_array().unwrap().iter().collect();
    let outcomes: Vec<_> =
        iterations.iter().map(|i| (i["story"].as_str().unwrap(), i["error"].as_str())).collect();
    assert_eq!(outcomes[0], ("1.1", None));
    assert_eq!(outcomes[1], ("1.2", Some("the agent reported DONE, but 1 check failed: test -e one")));
    assert!(outcomes[3].0 == "1.2" && outcomes[3].1.unwrap().starts_with("there is no network"));
    assert_eq!(iterations[0]["completion_tag_found"], true);
    assert_eq!(iterations[1]["check_results"][0]["passed"], false);
}

#[test]
fn what_a_run_did_is_in_the_list_of_stories() {
    let stage = project();
    stage.run(&[], SCRIPT).exits(1);
    let listed = stage.sandbox.ralph(&["stories", "list", "--format", "json"]).exits(0).json();
    let stories: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (s["id"].as_str().unwrap(), s["status"].as_str().unwrap(), s["attempts"].as_u64().unwrap()))
        .collect();
    assert_eq!(stories, [("1.1", "done", 1), ("1.2", "failed", 3), ("1.10", "blocked", 0)]);
}

#[test]
fn a_refusal_is_an_object_for_programs_too() {
    let stage = Stage::new("1.1<9.9");
    let refused = stage.run(&["--format", "json"], "DONE").exits(2).json();
    assert_eq!((&refused["success"], &refused["total_iterations"]), (&json!(false), &json!(0)));
    assert!(refused["error"]["message"].as_str().unwrap().contains("depends on 9.9"), "{refused:#}");
}

#[test]
fn quiet_runs_tell_the_end_only() {
    let stage = Stage::new("1.1");
    let ran = stage.run(&["-q", "--check", "true"], "DONE").exits(0);
    assert!(
        ran.stdout.starts_with("\nALL COMPLETE!\n\n[!] completed: checks pass, but nothing changed"),
        "{}",
        ran.stdout
    );
}
