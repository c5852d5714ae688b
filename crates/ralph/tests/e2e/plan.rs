//! Planning with the real agents.

use crate::stage::{Real, Stage};
use serde_json::{Value, json};
use std::fs;

/// Where the agent is told to write, as the model reads it.
const DRAFTS: &str = "{{after:You write drafts, in }}";

pub const PRD: &str = "# PRD: greeter\n\n## 1. Summary\n\nA script that greets people by name.\n\n## Assumptions\n\n- English only\n";

fn story(id: &str, title: &str, criterion: &str, on: &[&str]) -> Value {
    json!({
        "id": id, "title": title, "description": format!("People who run the script want this: {title}."),
        "acceptanceCriteria": [criterion], "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0,
        "reviewFeedback": "", "notes": "", "dependsOn": on,
    })
}

/// A list that has nothing wrong.
pub fn good() -> Value {
    json!({
        "project": "greeter", "branchName": "ralph/greeter", "description": "A script that greets.",
        "verifyCommands": ["test -f greet.sh"],
        "userStories": [
            story("US-001", "A script that greets", "`sh greet.sh Ada` prints \"Hello, Ada\"", &[]),
            story("US-002", "A greeting without a name", "`sh greet.sh` exits with 2 and prints a usage line", &["US-001"]),
        ],
    })
}

pub fn write(file: &str, content: &str) -> Value {
    json!({"write": {"path": format!("{DRAFTS}/{file}"), "content": content}})
}

#[test]
fn claude_plans_unattended_and_repairs_what_the_check_finds() {
    plans_unattended_and_repairs(Real::Claude);
}

#[test]
fn codex_plans_unattended_and_repairs_what_the_check_finds() {
    plans_unattended_and_repairs(Real::Codex);
}

fn plans_unattended_and_repairs(real: Real) {
    let mut vague = good();
    vague["userStories"][1]["acceptanceCriteria"] = json!(["works correctly"]);
    vague["userStories"][1]["dependsOn"] = json!(["US-009"]);
    let Some(stage) = Stage::set(
        real,
        &json!([
            {"steps": [
                {"text": "I read.", "tools": [{"shell": "ls"}]},
                {"text": "I write.", "tools": [write("prd.md", PRD), write("tasks.json", &vague.to_string())]},
                {"text": "It is planned."}]},
            {"steps": [
                {"text": "I repair.", "tools": [write("tasks.json", &good().to_string())]},
                {"text": "Repaired."}]},
        ]),
    ) else {
        return;
    };
    let ran = stage.start(&["plan", "--yes", "a script that greets people", "--format", "json"]).end();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    let planned: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(planned["stories"].as_array().unwrap().len(), 2, "{planned:#}");
    assert_eq!(planned["assumptions"], json!(["English only"]));
    // Claude names dollars, Codex only tokens.
    assert!(planned["cost"].as_f64().unwrap() > 0.0, "{planned:#}");
    assert_eq!(planned["cost_estimated"], real == Real::Codex, "{planned:#}");
    assert!(planned["tokens"]["output"].as_u64().unwrap() > 0, "{planned:#}");
    assert_eq!(planned["checks"], json!([{"command": "test -f greet.sh", "outcome": "red"}]));
    assert_eq!(stage.read("ralph/prd.md"), PRD);
    let list: Value = serde_json::from_str(&stage.read("ralph/tasks.json")).unwrap();
    assert_eq!(list, good());
    let openings: Vec<String> =
        stage.turns().into_iter().filter(|turn| turn.assistant_turns == 0).map(|turn| turn.opening).collect();
    assert_eq!(openings.len(), 2, "an agent that plans and one that repairs: {openings:#?}");
    assert!(openings[0].contains("a script that greets people"), "{}", openings[0]);
    for found in ["US-009", "works correctly"] {
        assert!(openings[1].contains(found), "{}", openings[1]);
    }
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
}

/// It may read, and write drafts: nothing else, also unattended.
#[test]
fn claude_cannot_change_the_project_while_it_plans() {
    let Some(stage) = Stage::set(
        Real::Claude,
        &json!([{"steps": [
            {"text": "Hm.", "tools": [{"shell": "echo evil > README"}, write("../../../../project/README", "evil"),
                write("../../../../project/new.sh", "evil")]},
            {"text": "I write.", "tools": [write("prd.md", PRD), write("tasks.json", &good().to_string())]},
            {"text": "Done."}]}]),
    ) else {
        return;
    };
    let ran = stage.start(&["plan", "--yes", "greet"]).end();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(stage.read("README"), "a project\n");
    assert!(stage.read("ralph/tasks.json").contains("US-002"));
    let left: Vec<String> = fs::read_dir(stage.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
