//! `ralph hook context-monitor` and `session-start`, as an agent calls them. The seed's lines
//! about hook scripts are the names of the tests.

use crate::support::{RALPH, Ran, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// A hook's call with this on its standard input.
pub fn call(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        took: std::time::Duration::ZERO,
    }
}

/// `ralph hook ARGS` in one of ralph's agents.
pub fn hook(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(RALPH);
    command.arg("hook").args(args).env("RALPH_RUN", "a-run");
    command
}

fn asked(sandbox: &Sandbox, session: &str) -> Value {
    json!({
        "session_id": session, "transcript_path": sandbox.root().join("transcript.jsonl"),
        "cwd": sandbox.project(), "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_response": {"stdout": "x"},
    })
}

/// What the monitor says after a tool call, if anything.
fn alert(sandbox: &Sandbox, session: &str) -> Option<String> {
    let ran =
        call(hook(sandbox, &["context-monitor"]), asked(sandbox, session).to_string().as_bytes()).exits(0);
    assert_eq!(ran.stderr, "");
    (!ran.stdout.is_empty()).then(|| {
        let output = ran.json();
        assert_eq!(output["hookSpecificOutput"]["hookEventName"], "PostToolUse");
        output["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
    })
}

fn write_transcript(sandbox: &Sandbox, text: &str) {
    fs::write(sandbox.root().join("transcript.jsonl"), text).unwrap();
}

/// A transcript whose last answer has used so many of 200,000 tokens.
fn used(sandbox: &Sandbox, tokens: u64) {
    let user = json!({"type": "user", "message": {"role": "user", "content": "x".repeat(1000)}});
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": tokens - 20, "output_tokens": 10});
    let answer = json!({"type": "assistant", "isSidechain": false, "message": {"usage": usage}});
    write_transcript(sandbox, &format!("{user}\n{answer}\n{user}\n"));
}

#[test]
fn alerts_fire_at_the_correct_thresholds_and_each_threshold_fires_only_once() {
    let sandbox = Sandbox::bare();
    for (percent, severity) in [
        (49, None),
        (50, Some("NOTICE: about 50%")),
        (55, None),
        (60, Some("NOTICE: about 60%")),
        (70, Some("WARNING: about 70%")),
        (79, None),
        (81, Some("WARNING: about 81%")),
        (90, Some("CRITICAL: about 90%")),
        (99, None),
    ] {
        used(&sandbox, percent * 2000);
        for again in [false, true] {
            let said = alert(&sandbox, "s1");
            match severity {
                Some(severity) if !again => assert!(said.unwrap().starts_with(severity), "{percent}"),
                _ => assert_eq!(said, None, "{percent}"),
            }
        }
    }
    // Another session is another context.
    assert!(alert(&sandbox, "s2").unwrap().starts_with("CRITICAL"));
}

#[test]
fn when_several_are_crossed_at_once_the_highest_speaks_for_all() {
    let sandbox = Sandbox::bare();
    used(&sandbox, 165_000);
    assert!(alert(&sandbox, "s").unwrap().starts_with("WARNING: about 82%"));
    // Not even once the context is shorter.
    for percent in [55, 65, 75] {
        used(&sandbox, percent * 2000);
        assert_eq!(alert(&sandbox, "s"), None);
    }
}

#[test]
fn of_hooks_that_run_at_once_one_speaks() {
    let sandbox = Sandbox::bare();
    used(&sandbox, 130_000);
    let said = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| alert(&sandbox, "s").is_some())).collect();
        calls.into_iter().map(|call| call.join().unwrap()).filter(|said| *said).count()
    });
    assert_eq!(said, 1);
}

#[test]
fn without_numbers_the_size_counts_and_the_window_is_a_variable() {
    let sandbox = Sandbox::bare();
    write_transcript(&sandbox, &"x\n".repeat(1_000));
    assert_eq!(alert(&sandbox, "s"), None);
    let with_window = |window: &str| {
        let mut command = hook(&sandbox, &["context-monitor"]);
        command.env("CLAUDE_CONTEXT_WINDOW", window);
        call(command, asked(&sandbox, window).to_string().as_bytes()).exits(0)
    };
    let said = with_window("800").json()["hookSpecificOutput"]["additionalContext"].to_string();
    assert!(said.contains("NOTICE: about 62% of the context is used (500 of 800 tokens)"), "{said}");
    assert_eq!(with_window("2000").stdout, "");
    let odd = with_window("large");
    assert_eq!(odd.stdout, "");
    assert!(odd.stderr.contains("CLAUDE_CONTEXT_WINDOW is not a number of tokens: large"), "{}", odd.stderr);
}

#[test]
fn the_numbers_are_found_behind_a_large_result_and_in_the_transcript_of_codex() {
    let sandbox = Sandbox::bare();
    let result = json!({"type": "user", "message": {"content": "y".repeat(3 << 20)}});
    let answer = json!({"type": "assistant", "message": {"usage": {"input_tokens": 140_000}}});
    write_transcript(&sandbox, &format!("{answer}\n{result}\n"));
    assert!(alert(&sandbox, "claude").unwrap().contains("140000 of 200000 tokens"));
    let info =
        json!({"last_token_usage": {"input_tokens": 900, "output_tokens": 60}, "model_context_window": 1000});
    let count = json!({"type": "event_msg", "payload": {"type": "token_count", "info": info}});
    write_transcript(&sandbox, &format!("{count}\n"));
    assert!(
        alert(&sandbox, "codex")
            .unwrap()
            .starts_with("CRITICAL: about 96% of the context is used (960 of 1000")
    );
}

#[test]
fn a_new_session_re_arms_the_thresholds() {
    let sandbox = Sandbox::bare();
    used(&sandbox, 130_000);
    assert!(alert(&sandbox, "s").is_some());
    assert!(alert(&sandbox, "s").is_none());
    for source in ["startup", "compact"] {
        let start = json!({"session_id": "s", "hook_event_name": "SessionStart", "source": source});
        let ran = call(hook(&sandbox, &["session-start"]), start.to_string().as_bytes()).exits(0);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""));
        assert!(alert(&sandbox, "s").is_some());
        assert!(alert(&sandbox, "s").is_none());
    }
}

#[test]
fn what_sessions_of_long_ago_left_is_removed() {
    let sandbox = Sandbox::bare();
    used(&sandbox, 130_000);
    for session in ["old", "young", "../../evil"] {
        assert!(alert(&sandbox, session).is_some());
    }
    let marks = sandbox.home().join("hooks");
    assert_eq!(fs::read_dir(&marks).unwrap().count(), 3);
    sandbox.sh(&format!("touch -d '8 days ago' '{}'", marks.join("old.context-60").display()));
    let start = json!({"session_id": "new", "source": "startup"});
    call(hook(&sandbox, &["session-start"]), start.to_string().as_bytes()).exits(0);
    assert!(marks.join("young.context-60").exists() && !marks.join("old.context-60").exists());
    assert_eq!(fs::read_dir(&marks).unwrap().count(), 2);
}

#[test]
fn a_persons_own_session_is_not_touched_unless_asked_for() {
    let sandbox = Sandbox::bare();
    used(&sandbox, 190_000);
    let input = asked(&sandbox, "mine").to_string();
    for args in [&["context-monitor"][..], &["session-start"], &["stop"], &["context-monitor", "--always"]] {
        let mut command = hook(&sandbox, args);
        command.env_remove("RALPH_RUN");
        let ran = call(command, input.as_bytes()).exits(0);
        assert_eq!(!ran.stdout.is_empty(), args.len() == 2, "{args:?}");
        assert_eq!(ran.stderr, "");
    }
}

#[test]
fn a_monitor_that_cannot_do_its_work_says_so_and_holds_nobody_up() {
    let sandbox = Sandbox::bare();
    let fails = |input: &str, why: &str| {
        let ran = call(hook(&sandbox, &["context-monitor"]), input.as_bytes()).exits(1);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.starts_with("ralph hook: ") && ran.stderr.contains(why), "{}", ran.stderr);
    };
    fails("no JSON", "cannot read the hook's input");
    fails("", "cannot read the hook's input");
    fails(&asked(&sandbox, "s").to_string(), "cannot read the transcript");
    sandbox.sh("mkfifo ../transcript.jsonl");
    fails(&asked(&sandbox, "s").to_string(), "not a regular file");
    fs::remove_file(sandbox.root().join("transcript.jsonl")).unwrap();
    used(&sandbox, 190_000);
    fs::create_dir_all(sandbox.home()).unwrap();
    fs::write(sandbox.home().join("hooks"), "in the way").unwrap();
    // What cannot be remembered is not said again and again.
    fails(&asked(&sandbox, "s").to_string(), "cannot record the alert");
}

#[test]
fn the_command_line_knows_the_hooks() {
    let sandbox = Sandbox::bare();
    sandbox.ralph(&["hook", "--help"]).exits(0).says("context-monitor").says("session-start").says("stop");
    sandbox.ralph(&["hook", "what"]).exits(2);
    sandbox.ralph(&["hook", "session-start", "--always"]).exits(1);
}
