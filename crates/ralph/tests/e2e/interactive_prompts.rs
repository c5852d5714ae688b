//! Prompts arrive whole: what the agent's own hook received, and what the model was asked.

use crate::stage::{DONE, Real, Stage};
use crate::worker::{NAME, Worker};
use serde_json::json;
use std::fs;

/// What a prompt is followed by.
const REST: &str = "\n\n---\n";

#[test]
fn claude_gets_prompts_whole_whatever_they_begin_with() {
    for prompt in ["!echo no", "#1 is first", "\ttabs\t and\t\tmore", "- a list\n\n\n", "héllo 日本 🎉"]
    {
        arrives(Real::Claude, prompt, prompt);
    }
}

#[test]
fn codex_gets_prompts_whole_whatever_they_begin_with() {
    for prompt in ["/help me", "#1 is first", "\ttabs\t and\t\tmore", "- a list\n\n\n", "héllo 日本 🎉"]
    {
        arrives(Real::Codex, prompt, prompt);
    }
}

#[test]
fn a_command_of_claudes_is_a_text_with_words_in_front() {
    arrives(Real::Claude, "/help me", "Task:\n/help me");
}

#[test]
fn a_command_of_codexs_shell_is_a_text_with_a_line_in_front() {
    arrives(Real::Codex, "!touch no.txt", "\n!touch no.txt");
}

#[test]
fn claude_gets_a_prompt_of_a_megabyte_whole() {
    let prompt = long(1_000_000);
    arrives(Real::Claude, &prompt, &prompt);
}

#[test]
fn codex_gets_a_prompt_of_119_kilobytes_whole() {
    let prompt = long(119_000);
    arrives(Real::Codex, &prompt, &prompt);
}

/// An argument cannot be that long, so that a short prompt names a file.
#[test]
fn codex_reads_a_prompt_of_300_kilobytes_from_a_file() {
    let prompt = long(300_000);
    let Some(stage) = Stage::set(
        Real::Codex,
        &json!([{"steps": [{"text": "I read.", "tools": [{"shell": "cat \"{{after:Read the file}}\" > got.txt"}]},
            {"text": DONE}]}]),
    ) else {
        return;
    };
    fs::write(stage.path("../PROMPT.md"), &prompt).unwrap();
    let worker = Worker::spawn(&stage, &["-f", "../PROMPT.md", "-n", "1"]);
    worker.ends(0, "completed", 1);
    assert!(worker.has_line(|line| line["received"]["whole"] == true), "{:#?}", worker.stream());
    let opening = &stage.turns()[0].opening;
    assert!(opening.starts_with("Read the file ") && opening.len() < 1000, "{}", opening.len());
    assert!(stage.read("got.txt").starts_with(&format!("{prompt}{REST}")), "{}", stage.read("got.txt").len());
}

/// Claude drops them, which is said before it starts.
#[test]
fn characters_that_claude_drops_are_named() {
    let Some(stage) = Stage::set(Real::Claude, &json!([{"steps": [{"text": DONE}]}])) else { return };
    fs::write(stage.path("../PROMPT.md"), "a \u{1b}[1mbold\u{1b}[0m word").unwrap();
    let worker = Worker::spawn(&stage, &["-f", "../PROMPT.md", "-n", "1"]);
    worker.ends(0, "completed", 1);
    assert!(stage.turns()[0].opening.starts_with("a [1mbold[0m word"), "{}", stage.turns()[0].opening);
    let log = worker.ralph(&["logs", NAME]);
    assert!(log.contains("ESC"), "{log}");
}

/// Lines that differ, so that none can be missing or in another place.
fn long(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes);
    for number in 0.. {
        let line = format!("line {number} of the prompt, with a tab\tand words\n");
        if text.len() + line.len() > bytes {
            break;
        }
        text.push_str(&line);
    }
    text.push_str(&"x".repeat(bytes - text.len()));
    text
}

/// The hook got all of it, and so did the model.
#[track_caller]
fn arrives(real: Real, prompt: &str, expected: &str) {
    let Some(stage) = Stage::set(real, &json!([{"steps": [{"text": DONE}]}])) else { return };
    fs::write(stage.path("../PROMPT.md"), prompt).unwrap();
    let worker = Worker::spawn(&stage, &["-f", "../PROMPT.md", "-n", "1"]);
    worker.ends(0, "completed", 1);
    let short = |text: &str| text.chars().take(300).collect::<String>();
    let received: Vec<_> = worker.stream().into_iter().filter(|line| !line["received"].is_null()).collect();
    assert_eq!(received.len(), 1, "{}: {:#?}", short(prompt), worker.stream());
    assert_eq!(received[0]["received"]["whole"], true, "{}", short(prompt));
    assert!(!worker.has_line(|line| !line["typed"].is_null()), "{}", short(prompt));
    // What a client puts around it is left out of an opening, and the space around that.
    let opening = &stage.turns()[0].opening;
    let begins = opening.starts_with(expected.trim_start()) || opening.contains(&format!("\n{expected}"));
    assert!(begins, "{}: {} bytes: {}", short(prompt), opening.len(), short(opening));
    assert!(!stage.path("no.txt").exists());
}
