//! People who step in: permissions, questions, keys, Esc, words for an agent at work.

use crate::screen::Screen;
use crate::stage::{DONE, Real, Stage, until};
use crate::worker::{NAME, Worker};
use serde_json::{Value, json};
use std::fs;

/// A command that every agent asks about: it writes where Codex's sandbox does not let it.
fn asks_first(real: Real, file: &str) -> Value {
    match real {
        Real::Claude => json!({"shell": format!("echo made > {file}")}),
        Real::Codex => json!({"name": "exec_command", "input": {
            "cmd": format!("echo made > {file}"), "sandbox_permissions": "require_escalated",
            "justification": "May I write it?"}}),
    }
}

/// An agent that has to ask before it acts. Codex does not, where it runs without its own sandbox.
fn asking(real: Real) -> Option<Stage> {
    if real == Real::Codex && !Stage::codex_has_a_sandbox() {
        return None;
    }
    let stage = Stage::set(
        real,
        &json!([{"steps": [
            {"text": "I write.", "tools": [asks_first(real, "made.txt")]},
            {"text": format!("I have. {DONE}")}]}]),
    )?;
    // Without, Claude may decide by itself what it asks about.
    let flags = if real == Real::Claude { json!(["--permission-mode", "default"]) } else { json!([]) };
    stage.settings(json!({"agent": {"autonomous": false, "flags": flags}}));
    Some(stage)
}

const ARGS: [&str; 5] = ["make it", "-n", "1", "--check", "test -f made.txt"];

#[test]
fn claude_gets_a_permission_by_policy() {
    gets_a_permission_by_policy(Real::Claude);
}

#[test]
fn codex_gets_a_permission_by_policy() {
    gets_a_permission_by_policy(Real::Codex);
}

fn gets_a_permission_by_policy(real: Real) {
    let Some(stage) = asking(real) else { return };
    let worker = Worker::spawn(&stage, &[&ARGS[..], &["--permissions", "allow"]].concat());
    worker.ends(0, "completed", 1);
    assert_eq!(stage.read("made.txt"), "made\n");
    assert!(!worker.has_line(|line| !line["waiting"].is_null()), "{:#?}", worker.stream());
}

#[test]
fn claude_waits_for_a_permission_and_gets_it_by_an_answer() {
    waits_for_a_permission(Real::Claude, |worker| drop(worker.ralph(&["answer", NAME, "yes"])));
}

#[test]
fn codex_waits_for_a_permission_and_gets_it_by_an_answer() {
    waits_for_a_permission(Real::Codex, |worker| drop(worker.ralph(&["answer", NAME, "yes"])));
}

#[test]
fn claude_waits_for_a_permission_and_gets_it_by_keys() {
    waits_for_a_permission(Real::Claude, |worker| drop(worker.ralph(&["send", NAME, "1"])));
}

#[test]
fn codex_waits_for_a_permission_and_gets_it_by_keys() {
    waits_for_a_permission(Real::Codex, |worker| drop(worker.ralph(&["send", NAME, "y"])));
}

#[test]
fn claude_gets_a_permission_from_a_person_who_is_attached() {
    waits_for_a_permission(Real::Claude, |worker| attached(worker, "echo made > made.txt", "1"));
}

#[test]
fn codex_gets_a_permission_from_a_person_who_is_attached() {
    waits_for_a_permission(Real::Codex, |worker| attached(worker, "echo made > made.txt", "y"));
}

/// A person attaches with tmux, sees what is asked, presses a key, and detaches.
fn attached(worker: &Worker<'_>, asked: &str, key: &str) {
    let setsid = worker.stage.command("setsid");
    let mut screen = Screen::start(setsid, &[Stage::ralph(), "attach", NAME], (100, 30));
    screen.shows(asked);
    screen.keys(key);
    until("the permission", || worker.stage.path("made.txt").exists());
}

fn waits_for_a_permission(real: Real, answers: impl Fn(&Worker<'_>)) {
    let Some(stage) = asking(real) else { return };
    let notes = stage.path("../notes");
    let notify = format!("cat >> {}; echo >> {0}", notes.display());
    let worker = Worker::spawn(&stage, &[&ARGS[..], &["--notify", &notify]].concat());
    worker.until_awaits("Bash: echo made > made.txt");
    assert!(!stage.path("made.txt").exists());
    let notified = || fs::read_to_string(&notes).unwrap_or_default();
    until("the notification", || notified().contains("echo made > made.txt"));
    assert!(notified().contains(r#""event":"waiting""#), "{}", notified());
    answers(&worker);
    worker.ends(0, "completed", 1);
    assert_eq!(stage.read("made.txt"), "made\n");
    // It went on, which the record says, too.
    assert!(worker.has_line(|line| line["working"] == true), "{:#?}", worker.stream());
}

#[test]
fn claude_is_refused_a_permission_and_waits_for_other_words() {
    let Some(stage) = asking(Real::Claude) else { return };
    let worker = Worker::spawn(&stage, &["make it", "-n", "1"]);
    worker.until_awaits("Bash: echo made > made.txt");
    worker.ralph(&["answer", NAME, "no"]);
    worker.until_awaits("interrupted");
    worker.ralph(&["say", "--now", NAME, "leave it then"]);
    worker.ends(0, "completed", 1);
    assert!(!stage.path("made.txt").exists());
    assert!(worker.has_line(|line| line["typed"] == "leave it then"), "{:#?}", worker.stream());
}

#[test]
fn claude_asks_a_question_and_gets_the_answer_by_its_name() {
    let question = json!({"name": "AskUserQuestion", "input": {"questions": [{
        "question": "Which store?", "header": "Store", "multiSelect": false,
        "options": [{"label": "SQLite", "description": "a file"}, {"label": "Postgres", "description": "a server"}]}]}});
    let Some(stage) = Stage::set(
        Real::Claude,
        &json!([{"steps": [{"text": "I ask.", "tools": [question]}, {"text": format!("So be it. {DONE}")}]}]),
    ) else {
        return;
    };
    let worker = Worker::spawn(&stage, &["make it", "-n", "1"]);
    worker.until_awaits("Which store? (SQLite, Postgres)");
    worker.ralph(&["answer", NAME, "Postgres"]);
    worker.ends(0, "completed", 1);
    let heard = &stage.turns()[1].heard;
    assert!(heard.contains("Postgres") && !heard.contains("SQLite"), "{heard}");
}

#[test]
fn claude_is_interrupted_and_goes_on_with_what_a_person_types() {
    is_interrupted(Real::Claude);
}

#[test]
fn codex_is_interrupted_and_goes_on_with_what_a_person_types() {
    is_interrupted(Real::Codex);
}

fn is_interrupted(real: Real) {
    let Some(stage) = Stage::set(
        real,
        &json!([{"steps": [
            {"text": "I work.", "tools": [{"shell": "echo up > up.txt; sleep 300"}]},
            {"text": "I go on.", "tools": [{"shell": "echo made > made.txt"}]},
            {"text": format!("I have. {DONE}")}]}]),
    ) else {
        return;
    };
    let worker = Worker::spawn(&stage, &ARGS);
    until("the tool", || stage.path("up.txt").exists());
    worker.ralph(&["send", NAME, "Escape"]);
    worker.until_awaits("interrupted");
    worker.ralph(&["say", "--now", NAME, "go on"]);
    worker.ends(0, "completed", 1);
    assert!(worker.has_line(|line| line["typed"] == "go on"), "{:#?}", worker.stream());
    assert!(stage.turns()[1].heard.contains("go on"), "{}", stage.turns()[1].heard);
}

#[test]
fn what_is_typed_while_claude_works_is_part_of_the_iteration() {
    is_typed_meanwhile(Real::Claude);
}

#[test]
fn what_is_typed_while_codex_works_is_part_of_the_iteration() {
    is_typed_meanwhile(Real::Codex);
}

fn is_typed_meanwhile(real: Real) {
    let Some(stage) = Stage::set(
        real,
        &json!([{"steps": [
            {"text": "I work.", "tools": [{"shell": "echo up > up.txt; until test -f go; do sleep 0.05; done"}]},
            {"text": "I see.", "tools": [{"shell": "echo made > made.txt"}]},
            {"text": format!("I have. {DONE}")}]}]),
    ) else {
        return;
    };
    let worker = Worker::spawn(&stage, &ARGS);
    until("the tool", || stage.path("up.txt").exists());
    worker.ralph(&["say", "--now", NAME, "mind the umlauts: äöü"]);
    until("the words on the terminal", || worker.screen().contains("mind the umlauts: äöü"));
    fs::write(stage.path("go"), "").unwrap();
    worker.ends(0, "completed", 1);
    assert!(worker.has_line(|line| line["typed"] == "mind the umlauts: äöü"), "{:#?}", worker.stream());
    let heard: Vec<String> = stage.turns().into_iter().map(|turn| turn.heard).collect();
    assert!(heard[1..].iter().any(|heard| heard.contains("mind the umlauts: äöü")), "{heard:#?}");
}
