//! What each command prints, word for word.

use crate::support::{Ran, Sandbox};
use rustix::process::Signal;
use serde_json::json;

const DONE: &str = "<response>DONE</response>";

/// Everything a command said.
fn both(sandbox: &Sandbox, ran: &Ran) -> String {
    let stderr = if ran.stderr.is_empty() { String::new() } else { format!("--- stderr\n{}", ran.stderr) };
    sandbox.tidy(&format!("{}{stderr}--- exit {}\n", ran.stdout, ran.code.unwrap()))
}

/// Columns whose width depends on times and paths are set with one space.
fn narrow(text: &str) -> String {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn a_run_with_claude_is_told_and_shown_and_listed() {
    let sandbox = Sandbox::git();
    sandbox.claude(&json!([
        [{"say": "I will look at the code first."},
         {"tool": {"name": "Bash", "input": {"command": "make test"}, "output": "1\n2\n3\n4\n5\n6\n", "error": true}},
         {"tokens": {"input": 1200, "output": 80, "cache_read": 45000}}, {"cost": 0.0123}],
        [{"say": "All done.\n<response>DONE</response>"}, {"cost": 0.01}],
        [{"leave": {"kind": "setsid"}}, {"append": {"path": "fixed", "content": "yes"}}, {"say": DONE}, {"cost": 0.02}],
    ]));
    let check = "test -f fixed || { echo 'error: nothing is fixed'; exit 4; }";
    let ran = sandbox.ralph(&["run", "Fix it.", "--model", "opus", "--check", check]).exits(0);
    insta::assert_snapshot!("run", both(&sandbox, &ran));
    let id = sandbox.only_run();
    insta::assert_snapshot!("show", both(&sandbox, &sandbox.ralph(&["show", &id])));
    insta::assert_snapshot!("runs", narrow(&both(&sandbox, &sandbox.ralph(&["runs"]))));
}

#[test]
fn a_run_that_fails_and_runs_out_of_iterations_is_told() {
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"stderr": "oh dear"}, {"exit": 7}],
        [{"say": "Better."}],
        [],
        [{"say": "Much better."}],
    ]));
    let ran = sandbox.run(&["-p", "x", "-n", "3", "--check", "true", "--check", "false"], &agent);
    insta::assert_snapshot!("run_used_up", both(&sandbox, &ran));
    insta::assert_snapshot!("show_used_up", both(&sandbox, &sandbox.ralph(&["show", &sandbox.only_run()])));
}

#[test]
fn an_interruption_and_its_resumption_are_told() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox
        .agent(&json!([[{"write": {"path": "up", "content": "1"}}, {"wait_for": "../go"}, {"say": DONE}]]));
    let running = sandbox.begin(&["-p", "x", "--check", "true"], &agent);
    sandbox.until_file("up");
    sandbox.interrupt_and_go(&running, Signal::INT);
    insta::assert_snapshot!("interrupted", both(&sandbox, &running.end()));
    insta::assert_snapshot!("resumed", both(&sandbox, &sandbox.ralph(&["resume"])));
}

#[test]
fn the_help_of_every_command() {
    let sandbox = Sandbox::bare();
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_run", &["run", "--help"]),
        ("help_resume", &["resume", "--help"]),
        ("help_runs", &["runs", "--help"]),
        ("help_show", &["show", "--help"]),
        ("help_demo", &["demo", "--help"]),
    ] {
        let ran = sandbox.ralph(args).exits(0);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{name}");
        insta::assert_snapshot!(name, ran.stdout);
    }
}

#[test]
fn errors_say_what_failed_why_and_a_way_out() {
    let sandbox = Sandbox::bare();
    sandbox.write("empty.md", " \n");
    let mut told = String::new();
    for args in [
        &["run"][..],
        &["run", "a task", "-p", "another"],
        &["run", "-p", " "],
        &["run", "-f", "nowhere.md"],
        &["run", "-f", "empty.md"],
        &["run", "-p", "x", "--agent", "claude-that-is-not-there"],
        &["run", "-p", "x", "--", "./nowhere"],
        &["run", "-p", "x", "--check", ""],
        &["run", "-p", "x", "--check", "no-such-program --all"],
        &["run", "-p", "x", "--checks-only"],
        &["run", "-p", "x", "-c", " "],
        &["run", "-p", "x", "-C", "nowhere"],
        &["run", "-p", "x", "-n", "0"],
        &["run", "-p", "x", "--max-time", "soon"],
        &["run", "-p", "x", "--max-cost", "0"],
        &["resume"],
        &["resume", "2026"],
        &["show", "../etc"],
        &["runs"],
    ] {
        let ran = sandbox.ralph(args);
        told += &format!("$ ralph {}\n{}\n", args.join(" "), both(&sandbox, &ran));
    }
    insta::assert_snapshot!("errors", told);
}

#[test]
fn an_agent_that_is_not_installed_comes_with_what_to_install() {
    let sandbox = Sandbox::bare();
    let mut command = sandbox.command(crate::support::RALPH);
    // Whoever tests this may have the real one.
    command.args(["run", "-p", "x"]).env("PATH", "/usr/bin:/bin");
    let ran = sandbox.spawn(command).end();
    insta::assert_snapshot!("not_installed", both(&sandbox, &ran));
}

#[test]
fn history_and_housekeeping_are_told() {
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    sandbox.settings(&json!({"context": false}));
    let agent = sandbox.sh_agent("echo changed > tracked; echo new > new; echo '<response>DONE</response>'");
    sandbox.write("tracked", "before");
    sandbox.run(&["-p", "x"], &agent).exits(0);
    let id = sandbox.only_run();
    let told = |args: &[&str]| both(&sandbox, &sandbox.ralph(args));
    insta::assert_snapshot!("diff", told(&["diff", &id]));
    insta::assert_snapshot!("diff_stat", told(&["diff", &id, "1", "--stat"]));
    insta::assert_snapshot!("undo_again", {
        let first = told(&["undo", &id]);
        first + &told(&["undo", &id])
    });
    insta::assert_snapshot!(
        "clean",
        told(&["clean"]) + &without_sizes(&told(&["clean", "--runs", "--keep", "0", "--dry-run"]))
    );
    insta::assert_snapshot!("config_show", told(&["config", "show"]));
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let sandbox = Sandbox::bare();
    let commands = [
        "run",
        "resume",
        "runs",
        "show",
        "diff",
        "undo",
        "clean",
        "init",
        "stories",
        "config",
        "schema",
        "doctor",
        "completions",
        "man",
        "demo",
    ];
    let listed = sandbox.ralph(&["--help"]).exits(0).stdout;
    for command in commands {
        assert!(listed.contains(command), "{command} is not in --help");
        let help = sandbox.ralph(&[command, "--help"]).exits(0).stdout;
        assert!(help.contains("Example"), "{command} --help has no example:\n{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{command} --help is too wide:\n{help}"
        );
    }
}

/// `396 KiB`, which depends on the disk, as `[SIZE]`.
fn without_sizes(text: &str) -> String {
    let number = |word: &str| word.trim_start_matches('(').parse::<f64>().is_ok();
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let at = words.windows(2).position(|pair| number(pair[0]) && pair[1].starts_with("KiB"));
        let Some(at) = at else { return line.to_owned() };
        let open = if words[at].starts_with('(') { "(" } else { "" };
        let end = words[at + 1].trim_start_matches("KiB");
        [&words[..at], &[&format!("{open}[SIZE]{end}")]].concat().join(" ")
    });
    lines.map(|line| line + "\n").collect()
}
