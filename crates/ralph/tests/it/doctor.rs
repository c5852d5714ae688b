//! `ralph doctor`, `ralph completions`, `ralph man`.

use crate::support::{RALPH, Ran, Sandbox};
use crate::terminal::skip;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

fn doctor(sandbox: &Sandbox, args: &[&str], path: Option<&str>) -> Ran {
    let mut command = sandbox.command(RALPH);
    command.arg("doctor").args(args);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    sandbox.spawn(command).end()
}

#[track_caller]
fn finding(ran: &Ran, name: &str) -> Value {
    let all = ran.json();
    let found = all.as_array().unwrap().iter().find(|finding| finding["name"] == name);
    found.unwrap_or_else(|| panic!("nothing of {name} in {all:#}")).clone()
}

#[test]
fn it_tells_what_is_there_with_versions_and_what_to_do_about_what_is_not() {
    let sandbox = Sandbox::bare();
    sandbox.program("claude", "echo '9.8.7 (Claude Code)'; echo more");
    sandbox.program("codex", "exit 3");
    let bin = sandbox.root().join("bin");
    let only_bin = bin.to_str();

    let ran = doctor(&sandbox, &["--format", "json"], only_bin).exits(0);
    let claude = finding(&ran, "claude");
    assert_eq!((&claude["ok"], &claude["found"]), (&json!(true), &json!("9.8.7 (Claude Code)")));
    assert_eq!(
        finding(&ran, "codex")["found"],
        bin.join("codex").to_str().unwrap(),
        "there, without a version"
    );
    let git = finding(&ran, "git");
    assert_eq!((&git["ok"], &git["found"]), (&json!(false), &json!(null)));
    assert!(git["advice"].as_str().unwrap().contains("needed for checkpoints, diff, undo"), "{git:#}");
    assert_eq!(finding(&ran, "records")["found"], sandbox.home().to_str().unwrap());
    assert_eq!(
        finding(&ran, "bwrap")["advice"],
        "apt-get install bubblewrap; needed for a sandbox, and to run checks on a clean copy"
    );

    let ran =
        doctor(&sandbox, &[], only_bin).exits(0).says("9.8.7 (Claude Code)").says("apt-get install git");
    let line = ran.stdout.lines().find(|line| line.contains(" git ")).unwrap();
    assert!(line.starts_with("--") && line.contains("not found"), "{line}");
    assert!(
        ran.stdout.lines().all(|line| line.len() <= 120) && !ran.stdout.contains('\u{1b}'),
        "{}",
        ran.stdout
    );

    let ran = doctor(&sandbox, &["--format", "json"], None).exits(0);
    assert!(finding(&ran, "git")["found"].as_str().unwrap().starts_with("git version "));
}

#[test]
fn without_any_agent_it_says_that_a_program_can_be_one() {
    let sandbox = Sandbox::bare();
    doctor(&sandbox, &[], Some("/nowhere")).exits(0).says("No known agent is installed").says("-- COMMAND");
}

#[test]
fn a_home_that_cannot_be_written_is_a_finding_and_a_failure() {
    let sandbox = Sandbox::bare();
    fs::write(sandbox.home(), "a file").unwrap();
    let ran = doctor(&sandbox, &["--format", "json"], None).exits(1);
    let records = finding(&ran, "records");
    assert_eq!(records["ok"], false);
    assert!(records["advice"].as_str().unwrap().contains("set RALPH_HOME"), "{records:#}");
    assert_eq!(finding(&ran, "git")["ok"], true, "the rest is reported all the same");
    doctor(&sandbox, &[], None).exits(1).says("set RALPH_HOME");
}

#[test]
fn it_ends_what_a_crashed_run_has_left() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.agent(&json!([[
        {"leave": {"kind": "setsid", "ignore_term": true}}, {"leave": {"kind": "refork", "ignore_term": true}},
        {"write": {"path": "up", "content": "1"}}, {"hang": true},
    ]]));
    let running = sandbox.begin(&["-p", "x"], &agent);
    sandbox.until_file("up");
    let alive = doctor(&sandbox, &["--format", "json"], None).exits(0);
    assert_eq!(
        finding(&alive, "runs")["found"],
        "0 crashed, killed 0 processes they left behind",
        "a live run is left alone"
    );

    let keeper = sandbox.keeper().unwrap();
    kill_process(running.pid(), Signal::STOP).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    running.kill();
    assert!(!sandbox.alive().is_empty(), "no process was left to end them");
    let ran = doctor(&sandbox, &[], None).exits(0);
    let id = sandbox.only_run();
    let ran = ran.says("1 crashed, ").says(&format!("continue the newest: ralph resume {id}"));
    assert!(!ran.stdout.contains(" 0 processes"), "{}", ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn completions_know_every_command_and_bash_takes_them() {
    let sandbox = Sandbox::bare();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.ralph(&["completions", shell]).exits(0).stdout;
        for word in ["worktree", "completions", "undo", "doctor"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
        // `ralph agents` is a command, the scripted agent's role is not.
        let script = script.replace("agents", "");
        assert!(!script.contains("__keeper") && !script.contains("__agent"), "{shell}");
    }
    let complete = "set -e; \"$RALPH\" completions bash > ../c; bash -n ../c
                    bash -c '. ../c; COMP_WORDS=(ralph und); COMP_CWORD=1; _ralph ralph und ralph; echo \"${COMPREPLY[@]}\"'";
    assert_eq!(sandbox.sh(complete), "undo\n");
    sandbox.ralph(&["completions", "tcsh"]).exits(2);
}

#[test]
fn manual_pages_render() {
    let sandbox = Sandbox::bare();
    for (command, words) in [("", "completions"), ("run", "--worktree"), ("undo", "--tree")] {
        let page = sandbox.sh(&format!("\"$RALPH\" man {command}"));
        assert!(page.contains(".TH ") && page.contains(".SH SYNOPSIS"), "{page}");
        if sandbox.shell("command -v groff").code != Some(0) {
            skip("groff is not installed");
            continue;
        }
        let ran =
            sandbox.shell(&format!("\"$RALPH\" man {command} | groff -man -Tutf8 -ww -P-cbou")).exits(0);
        assert!(ran.stdout.contains("SYNOPSIS") && ran.stdout.contains(words), "{command}\n{}", ran.stdout);
        assert_eq!(ran.stderr, "", "{command}");
    }
    sandbox.ralph(&["man", "no-such-command"]).exits(2).says("no such command: no-such-command");
    sandbox.ralph(&["man", "tasks", "add"]).exits(0).says(".TH ralph-tasks-add 1");
    let refused = sandbox.ralph(&["man", "tasks", "remove"]).exits(2).says("no such command: tasks remove");
    refused.says("`ralph tasks --help` lists the commands");
}

#[test]
fn a_bwrap_that_cannot_mount_anything_is_not_ok() {
    let sandbox = Sandbox::bare();
    sandbox.program(
        "bwrap",
        "[ \"$1\" = --version ] && echo 'bubblewrap 0.0' && exit
        echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
    );
    let ran = doctor(&sandbox, &["--format", "json"], None).exits(0);
    let found = finding(&ran, "bwrap");
    assert_eq!((&found["ok"], &found["found"]), (&false.into(), &"bubblewrap 0.0".into()), "{found:#}");
    let why = "bwrap cannot mount anything here: No permissions to create new namespace; checks run in place";
    assert_eq!(found["advice"], why);
}
