//! Escape sequences in what agents, checks and files say: none reaches a terminal, whatever shows it.

use crate::screen::Screen;
use crate::support::{PATIENCE, RALPH, Sandbox};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;
use std::fs;
use std::io::Read;

/// A color that ralph does not use, a cleared screen, a title, a bell, a C1 sequence and a reversed line.
const HOSTILE: &str = "\x1b[35;45mX\x1b[2JY\x1b]0;pwned\x07Z\u{9b}35;45mW\u{202e}V";

/// What is left of it.
const CLEAN: &str = "XYZWV";

/// What a command writes to a terminal.
#[track_caller]
fn on_terminal(sandbox: &Sandbox, args: &[&str]) -> String {
    let mut screen = Screen::start(sandbox.command("setsid"), &[&[RALPH], args].concat(), (100, 40));
    let mut written = Vec::new();
    loop {
        let mut ready = [PollFd::new(&screen.master, PollFlags::IN)];
        let patience = Timespec::try_from(PATIENCE).unwrap();
        assert!(poll(&mut ready, Some(&patience)).unwrap() > 0, "ralph {args:?} does not end");
        let mut bytes = [0; 4096];
        // A terminal that no program has any more cannot be read.
        let Ok(count @ 1..) = screen.master.read(&mut bytes) else { break };
        written.extend_from_slice(&bytes[..count]);
    }
    let written = String::from_utf8_lossy(&written).into_owned();
    for sequence in ["\x1b[35;45m", "\x1b[2J", "\x1b]0;", "\x07", "\u{9b}", "\u{202e}"] {
        assert!(!written.contains(sequence), "ralph {args:?} has {sequence:?}:\n{written:?}");
    }
    written
}

fn for_printf() -> String {
    HOSTILE.bytes().map(|byte| format!("\\{byte:03o}")).collect()
}

#[test]
fn what_agents_checks_and_files_say_reaches_a_terminal_without_sequences() {
    let sandbox = Sandbox::git();
    let hostile = for_printf();
    sandbox.program(
        "agent",
        &format!(
            "case \"$(cat)\" in *'commit message'*) printf '{hostile}: subject\\n' ;; *)\n\
             printf '{hostile} said\\n'; printf '{hostile} on stderr\\n' >&2\n\
             touch \"$(printf '{hostile}-file')\"; printf '{hostile} content' > plain; echo \"$RALPH_RUN\" > new\n\
             echo '<response>DONE</response>' ;; esac"
        ),
    );
    sandbox.settings(&json!({"scm": {"tasks": ["commit"]}}));
    sandbox.sh("git add . && git commit -q -m settings");
    let prompt = format!("Do {HOSTILE}");
    let check = format!("printf 'error: {hostile} is wrong\\n'; test \"$(printf '{HOSTILE}')\" = x");
    let run =
        ["run", "-n", "1", "--verbose", "-p", &prompt, "--check", &check, "--check", "true", "--", "agent"];
    let written = on_terminal(&sandbox, &run);
    assert!(written.contains(&format!("{CLEAN} said")), "{written:?}");
    assert!(written.contains(&format!("error: {CLEAN} is wrong")), "{written:?}");
    let written = on_terminal(&sandbox, &["run", "-n", "1", "-p", &prompt, "--", "agent"]);
    assert!(written.contains(&format!("{CLEAN}: subject")), "{written:?}");
    on_terminal(&sandbox, &["run", "-n", "1", "-p", &prompt, "--format", "ndjson", "--", "agent"]);
    for args in [
        &["runs"][..],
        &["show"],
        &["show", "--format", "json"],
        &["show", "--format", "ndjson"],
        &["status"],
        &["ls"],
        &["logs"],
        &["logs", "--events"],
        &["diff"],
        &["diff", "--stat"],
        &["config", "show"],
        &["undo"],
    ] {
        on_terminal(&sandbox, args);
    }
    // The record has the bytes.
    let run = sandbox.home().join("runs").join(&sandbox.runs()[0]);
    let stream = fs::read_to_string(run.join("streams/1-1.out")).unwrap();
    assert!(stream.starts_with(&format!("{HOSTILE} said\n")), "{stream:?}");
}

#[test]
fn titles_of_stories_names_and_errors_have_none_either() {
    let sandbox = Sandbox::git();
    let title = format!("Title {HOSTILE}");
    let list = json!({
        "projectName": title, "branchName": "main", "description": title,
        "userStories": [{
            "id": "US-1", "title": title, "description": title, "acceptanceCriteria": [format!("It works {HOSTILE}")],
            "verifyCommands": ["true"], "priority": 1, "passes": false, "notes": title,
        }],
    });
    sandbox.write("ralph/tasks.json", list.to_string());
    sandbox.write("specs/01-a/01.md", format!("---\ntitle: \"{title}\"\n---\nBuild it.\n"));
    for args in [
        &["tasks", "list"][..],
        &["tasks", "show", "US-1"],
        &["tasks", "check"],
        &["tasks", "check", "--strict"],
        &["stories", "list"],
        &["stories", "check"],
        &["show", HOSTILE],
        &["logs", HOSTILE],
        &["spawn", "--name", HOSTILE, "-p", "x", "-n", "1"],
        &["run", "-p", "x", "--agent", HOSTILE],
        &["run", "-f", HOSTILE],
        &["run", HOSTILE, HOSTILE],
        &[HOSTILE],
        &["runs", "--format", HOSTILE],
        &["run", "-C", HOSTILE, "-p", "x"],
        &["tasks", "run", "-n", "1", "--", "false"],
    ] {
        on_terminal(&sandbox, args);
    }
    sandbox.write(
        ".ralph/settings.json",
        format!("{{\"{}\": 1, \"notify\": 7}}", "bad\\u001b[2J\\u001b[35;45m"),
    );
    on_terminal(&sandbox, &["config", "show"]);
    on_terminal(&sandbox, &["run", "-p", "x"]);
}
