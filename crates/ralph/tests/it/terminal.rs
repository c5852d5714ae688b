//! What reaches a terminal: ralph's own colors, and nothing that an agent could do to it.

use crate::support::Sandbox;
use crate::tasks_support::{Act, list, new, project, right, run_human, text};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use unicode_width::UnicodeWidthStr;

/// A color, a title, a clear screen in both forms, a bell, a backspace, an override.
const EVIL: &str = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}2J\u{7}\u{8}\u{202e}end";

fn evil_agent(sandbox: &Sandbox) {
    sandbox.claude(&json!([
        [{"say": EVIL}, {"stderr": EVIL}, {"raw": format!("{EVIL}\n")},
         {"tool": {"name": EVIL, "input": {"command": EVIL}, "output": EVIL, "error": true}}],
        [{"stderr": EVIL}, {"result": {"is_error": true, "text": EVIL}}],
        [{"say": "<response>DONE</response>"}],
    ]));
    sandbox.write("evil", EVIL);
    sandbox.settings(&json!({"backoff": {"base": 0.01, "cap": 0.01}}));
}

/// Fails the first time, and passes the second. Of the three iterations one is not checked.
const CHECK: &str = "if [ -e seen ]; then rm seen; else touch seen; cat evil; exit 1; fi";

#[test]
fn control_sequences_of_an_agent_reach_no_pipe() {
    let sandbox = Sandbox::bare();
    evil_agent(&sandbox);
    for verbose in [&[][..], &["-v"]] {
        let _ = fs::remove_file(sandbox.root().join("script-0.json.calls"));
        let ran = sandbox.ralph(&[&["run", "-p", "x", "--check", CHECK], verbose].concat()).exits(0);
        for (name, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            let bad = text.chars().find(|c| (c.is_control() && !"\n\t".contains(*c)) || *c == '\u{202e}');
            assert_eq!(bad, None, "{name}: {text:?}");
            assert!(!text.contains("title"), "{name}: {text:?}");
        }
        assert!(ran.stdout.contains("red") && ran.stderr.contains("red"), "the words themselves are shown");
    }
    let id = sandbox.runs().pop().unwrap();
    let shown = sandbox.ralph(&["show", &id]).exits(0);
    assert!(!shown.stdout.contains('\u{1b}'), "{:?}", shown.stdout);
    let raw = fs::read(sandbox.home().join("runs").join(id).join("streams/1-1.err")).unwrap();
    assert_eq!(raw, format!("{EVIL}\n").as_bytes(), "the record has it as it was");
}

#[test]
fn a_pipe_gets_no_colors_and_no_emoji() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    let ran = sandbox.run(&["-p", "x", "--check", "true"], &agent).exits(0);
    assert!(ran.stdout.is_ascii(), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'));
    let shown = sandbox.ralph(&["run", "--help"]).exits(0);
    assert!(!shown.stdout.contains('\u{1b}'));
    let refused = sandbox.ralph(&["run", "--no-such-flag"]).exits(2);
    assert!(!refused.stderr.contains('\u{1b}'));
}

#[test]
fn a_terminal_gets_colors_and_a_status_line_and_still_nothing_of_the_agent() {
    let sandbox = Sandbox::bare();
    if sandbox.shell("command -v script").code != Some(0) {
        skip("there is no `script` to make a terminal");
        return;
    }
    evil_agent(&sandbox);
    let on_terminal = |env: &str| {
        let _ = fs::remove_file(sandbox.root().join("script-0.json.calls"));
        let command = format!("stty cols 80; {env} \"$RALPH\" run -p x --check '{CHECK}'");
        let command = command.replace('\'', "'\\''");
        sandbox.shell(&format!("TERM=xterm exec script -qec '{command}' /dev/null")).exits(0).stdout
    };
    let shown = on_terminal("env");
    assert!(
        !shown.contains("title") && !shown.contains("\u{1b}[2J") && !shown.contains('\u{7}'),
        "{shown:?}"
    );
    assert!(shown.contains("\u{1b}[1m"), "the headings are bold: {shown:?}");
    assert!(shown.contains("iteration 1/10 \u{b7} claude "), "the status line: {shown:?}");
    let titles = shown.matches("\u{1b}]").count();
    assert!(titles > 0 && shown.matches("\u{1b}]2;ralph iteration ").count() == titles, "{shown:?}");
    assert_eq!(shown.matches("\u{1b}[22;2t").count(), shown.matches("\u{1b}[23;2t").count(), "{shown:?}");
    let shown = on_terminal("env NO_COLOR=1");
    assert!(!shown.contains("\u{1b}[1m") && !shown.contains("\u{1b}[3"), "{shown:?}");
}

/// What a command shows on a terminal of 80 columns, without colors and the status line.
fn on_terminal(sandbox: &Sandbox, words: &str) -> Vec<String> {
    let command = format!("stty cols 80; NO_COLOR=1 {words}").replace('\'', "'\\''");
    let shown = sandbox.shell(&format!("TERM=xterm exec script -qec '{command}' /dev/null")).stdout;
    let shown = shown.replace("\r\n", "\n");
    let drawn = |line: &str| line.rsplit("\u{1b}[2K").next().unwrap_or_default().replace('\r', "");
    shown.lines().map(drawn).collect()
}

#[test]
fn lines_end_at_the_edge_of_a_terminal_and_nowhere_in_a_pipe() {
    let sandbox = project(&list(&[new("US-001"), new("US-002")]));
    if sandbox.shell("command -v script").code != Some(0) {
        skip("there is no `script` to make a terminal");
        return;
    }
    let cheat = || Act::makes(&list(&[right("US-001", 0), new("US-002")]));
    let piped = run_human(&sandbox, &["-n", "1"], &[cheat()]).exits(1).stdout;
    let undone = "reverted in the task list: Implement iterations cannot set passes=true or approve stories. \
                  Only review iterations may approve. Story US-001 had illegal transition: passes false → true.";
    assert!(piped.lines().any(|line| line.ends_with(undone)), "{piped}");
    let agent = crate::tasks_support::agent(&sandbox, &[cheat()]).words().join("' '");
    let wrong = text(&list(&[json!({"id": "US-001"}), right("US-002", 9)]));
    for (words, message) in [
        (format!("\"$RALPH\" tasks -n 1 -- '{agent}'"), undone),
        ("\"$RALPH\" tasks check".to_string(), "with a review cap of 5 it cannot exceed 6."),
    ] {
        let shown = on_terminal(&sandbox, &words);
        assert!(shown.iter().all(|line| line.width() <= 80), "{shown:#?}");
        let words: Vec<&str> = shown.iter().flat_map(|line| line.split_whitespace()).collect();
        assert!(words.join(" ").contains(message), "{shown:#?}");
        sandbox.write("ralph/tasks.json", &wrong);
    }
}

#[test]
fn what_an_agent_says_is_folded_between_words_on_a_terminal_only() {
    let sandbox = Sandbox::bare();
    if sandbox.shell("command -v script").code != Some(0) {
        skip("there is no `script` to make a terminal");
        return;
    }
    let words = "words of an agent that has much to say ".repeat(5);
    sandbox.claude(&json!([[{"say": words.trim()}]]));
    let piped = sandbox.ralph(&["run", "-p", "x", "-n", "1"]).exits(1).stdout;
    assert!(piped.lines().any(|line| line == words.trim()), "{piped}");
    let shown = on_terminal(&sandbox, "\"$RALPH\" run -p x -n 1");
    assert!(shown.iter().all(|line| line.width() <= 80), "{shown:#?}");
    let told: Vec<&str> = shown.iter().flat_map(|line| line.split_whitespace()).collect();
    assert!(told.join(" ").contains(words.trim()), "{shown:#?}");
}

/// A test that is not run says so.
pub fn skip(why: &str) {
    // Not a print: those of tests that pass are not shown.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
