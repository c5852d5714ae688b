//! Planning in a conversation: what the user types and sees, with the real agents in a terminal.

use crate::plan::{PRD, good, write};
use crate::screen::Screen;
use crate::stage::{Real, Stage, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

const CTRL_D: &str = "\x04";

fn questions() -> Value {
    let option = |label: &str| json!({"label": label, "description": format!("about {label}")});
    json!({"name": "AskUserQuestion", "input": {"questions": [
        {"question": "Which language should it greet in?", "header": "Language", "multiSelect": false,
         "options": [option("English"), option("French")]},
        {"question": "Where does the name come from?", "header": "Name", "multiSelect": false,
         "options": [option("An argument"), option("A file")]},
    ]}})
}

/// A home in which Claude has been used before, and a project that it trusts.
fn claude(runs: &Value) -> Option<Stage> {
    let stage = Stage::set(Real::Claude, runs)?;
    let project = stage.path("").display().to_string();
    let config = json!({
        "hasCompletedOnboarding": true,
        "customApiKeyResponses": {"approved": ["stub-key-0123"], "rejected": []},
        "projects": {project.trim_end_matches('/'): {"hasTrustDialogAccepted": true}},
    });
    fs::write(stage.user(".claude.json"), config.to_string()).unwrap();
    Some(stage)
}

fn start(stage: &Stage, args: &[&str]) -> Screen {
    Screen::start(stage.command("setsid"), &[&[Stage::ralph()], args].concat(), (120, 40))
}

fn drafts(list: &Value) -> Value {
    json!({"text": "I write.", "tools": [write("prd.md", PRD), write("tasks.json", &list.to_string())]})
}

fn list(stage: &Stage) -> Value {
    serde_json::from_str(&stage.read("ralph/tasks.json")).unwrap()
}

/// Leaves Claude. It takes two keys, and the first is not heard while a turn is coming to its end.
fn leave(screen: &mut Screen) {
    screen.keys(CTRL_D);
    screen.shows("Press Ctrl-D again to exit");
    screen.keys(CTRL_D);
}

#[test]
fn two_questions_answered_by_keys_become_a_valid_list() {
    let ask = json!({"text": "I have to know:", "tools": [questions()]});
    let Some(stage) = claude(&json!([{"steps": [ask, drafts(&good()), {"text": "The plan is written."}]}]))
    else {
        return;
    };
    let mut screen = start(&stage, &["plan", "a script that greets people"]);
    screen.shows("Which language should it greet in?");
    screen.keys("2");
    screen.shows("Where does the name come from?");
    screen.keys("1");
    screen.shows("Submit answers");
    screen.keys("1");
    screen.shows("the plan is valid (2 stories)");
    leave(&mut screen);
    screen.shows("What next? [l]:");
    screen.keys("l\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(list(&stage), good());
    assert_eq!(stage.read("ralph/prd.md"), PRD);
    let heard: String = stage.turns().iter().map(|turn| turn.heard.as_str()).collect();
    for answer in [
        "\"Which language should it greet in?\"=\"French\"",
        "\"Where does the name come from?\"=\"An argument\"",
    ] {
        assert!(heard.contains(answer), "{answer}: {:#?}", stage.turns());
    }
    until("the end of all processes", || stage.alive().is_empty());
}

#[test]
fn a_bad_list_is_repaired_in_the_conversation_which_can_be_continued() {
    let mut vague = good();
    vague["userStories"][1]["acceptanceCriteria"] = json!(["works correctly"]);
    let mut more = good();
    more["userStories"][0]["title"] = json!("A script that greets twice");
    let Some(stage) = claude(&json!([{"steps": [
        drafts(&vague), {"text": "The first plan is written."},
        drafts(&good()), {"text": "It is repaired."},
        drafts(&more), {"text": "It is changed."},
    ]}])) else {
        return;
    };
    let mut screen = start(&stage, &["plan", "a script that greets people"]);
    screen.shows("It is repaired.");
    screen.shows("the plan is valid (2 stories)");
    leave(&mut screen);
    screen.shows("What next? [l]:");
    let before = stage.read("ralph/tasks.json");
    screen.keys("c\n");
    screen.shows("It is repaired.");
    screen.shows("for shortcuts");
    screen.keys("greet twice\r");
    screen.shows("It is changed.");
    screen.shows("the plan is valid (2 stories)");
    assert_eq!(stage.read("ralph/tasks.json"), before, "nothing is in place before the user says so");
    leave(&mut screen);
    screen.until("the second summary", |screen| {
        screen.contains("US-001  A script that greets twice")
            && screen.trim_end().ends_with("What next? [l]:")
    });
    screen.keys("l\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(list(&stage), more);
    let turns = stage.turns();
    let told = turns.iter().find(|turn| turn.heard.contains("ralph checked the drafts")).unwrap();
    assert!(told.heard.contains("works correctly"), "{}", told.heard);
    assert!(
        turns.iter().any(|turn| turn.heard.contains("greet twice") && turn.assistant_turns > 3),
        "{turns:#?}"
    );
}

/// The agent in the terminal.
fn agent(stage: &Stage) -> Pid {
    let claude = |pid: &Pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains("--append-system-prompt-file") && !line.contains("plan ")
    };
    stage.alive().into_iter().find(claude).unwrap()
}

#[test]
fn a_killed_agent_leaves_the_terminal_and_the_files_as_they_were() {
    let Some(stage) = claude(&json!([{"steps": [drafts(&good()), {"text": "late", "delay_ms": 600_000}]}]))
    else {
        return;
    };
    let mut screen = start(&stage, &["plan", "a script that greets people"]);
    until("the drafts", || stage.turns().len() > 1);
    let before = stage.read("ralph/tasks.json");
    kill_process(agent(&stage), Signal::KILL).unwrap();
    screen.shows("ended with killed by signal 9");
    screen.shows("What next? [l]:");
    screen.keys("q\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(1), "{seen}");
    assert_eq!(stage.read("ralph/tasks.json"), before);
    until("the end of all processes", || stage.alive().is_empty());
}

#[test]
fn a_killed_ralph_takes_its_agent_along_and_leaves_the_files_as_they_were() {
    let Some(stage) = claude(&json!([{"steps": [drafts(&good()), {"text": "late", "delay_ms": 600_000}]}]))
    else {
        return;
    };
    let screen = start(&stage, &["plan", "a script that greets people"]);
    until("the drafts", || stage.turns().len() > 1);
    let before = stage.read("ralph/tasks.json");
    kill_process(screen.pid(), Signal::KILL).unwrap();
    until("the end of all processes", || stage.alive().is_empty());
    let (_, seen) = screen.restored();
    assert_eq!(stage.read("ralph/tasks.json"), before, "{seen}");
}

#[test]
fn questions_over_the_stream_are_asked_by_ralph_and_kept() {
    let ask = json!({"text": "I have to know:", "tools": [questions()]});
    let Some(stage) = claude(&json!([{"steps": [ask, drafts(&good()), {"text": "The plan is written."}]}]))
    else {
        return;
    };
    let mut screen = start(&stage, &["plan", "--ask", "a script that greets people"]);
    screen.shows("2. French: about French");
    screen.shows("1-2, or your own words [1]:");
    screen.keys("7\n");
    screen.shows("Please choose a number from 1 to 2.");
    screen.keys("2\n");
    screen.shows("Where does the name come from?");
    screen.shows("2. A file: about A file");
    screen.keys("the environment\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(list(&stage), good());
    let answers = "## Questions and answers\n\n- Which language should it greet in? **French**\n\
                   - Where does the name come from? **the environment**\n";
    assert_eq!(stage.read("ralph/prd.md"), format!("{PRD}\n{answers}"));
    assert_eq!(stage.alive(), []);
}

#[test]
fn codex_plans_in_a_conversation_that_can_be_continued() {
    let mut vague = good();
    vague["userStories"][1]["acceptanceCriteria"] = json!(["works correctly"]);
    // It is told to read its instructions, which are beside the drafts.
    let drafts = |list: &Value| {
        let dir = "$(dirname {{after:Read }})/draft";
        let list = list.to_string().replace('\'', "'\\''");
        json!({"text": "I write.", "tools": [{"shell": format!("printf %s '{PRD}' > {dir}/prd.md; printf %s '{list}' > {dir}/tasks.json")}]})
    };
    let Some(stage) = Stage::set(
        Real::Codex,
        &json!([{"steps": [
            drafts(&vague), {"text": "The first plan is written."},
            drafts(&good()), {"text": "It is repaired."},
            {"text": "I stay with it."},
        ]}]),
    ) else {
        return;
    };
    // For a model of its own, Codex first advertises another one.
    let mut screen = start(&stage, &["plan", "a script that greets people", "--model", "stub"]);
    screen.shows("the plan is valid (2 stories)");
    screen.keys(CTRL_D);
    screen.shows("What next? [l]:");
    screen.keys("c\n");
    screen.shows("It is repaired.");
    // An Enter that comes with the text would be part of it.
    screen.keys("is it good?");
    screen.shows("is it good?");
    screen.keys("\r");
    screen.shows("I stay with it.");
    screen.keys(CTRL_D);
    screen.until("the second question", |screen| screen.matches("What next? [l]:").count() == 2);
    screen.keys("l\n");
    let (code, seen) = screen.restored();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(list(&stage), good());
}
