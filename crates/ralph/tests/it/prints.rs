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

/// Every visible command, by the words that lead to it, with its help at 80 columns.
fn all_help(sandbox: &Sandbox) -> Vec<(Vec<String>, String)> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    let mut waiting = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let mut command = sandbox.command(crate::support::RALPH);
        command.args(&words).arg("--help").env("COLUMNS", "80");
        let help = sandbox.spawn(command).end().exits(0).stdout;
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
        let names = listed.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
        let names: Vec<&str> = names.filter(|name| *name != "help").collect();
        waiting.extend(names.into_iter().rev().map(|name| [&words[..], &[name.to_string()]].concat()));
        found.push((words, help));
    }
    found
}

#[test]
fn the_help_of_every_command() {
    let mut all = String::new();
    for (words, help) in all_help(&Sandbox::bare()) {
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{words:?} is too wide:\n{help}");
        // Clap pads the empty lines around possible values.
        let help: String = help.lines().map(|line| line.trim_end().to_string() + "\n").collect();
        all += &format!("$ ralph {}\n\n{help}\n", [&words[..], &["--help".into()]].concat().join(" "));
    }
    insta::assert_snapshot!("help", all);
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let all = all_help(&Sandbox::bare());
    assert!(all.len() > 40, "only {} commands were found", all.len());
    for (words, help) in all {
        assert!(help.contains("Example"), "{words:?} --help has no example:\n{help}");
        let summary = help.lines().next().unwrap_or_default();
        assert!(!summary.ends_with('.') && summary.starts_with(char::is_uppercase), "{words:?}: {summary}");
    }
}

/// What is said to command lines that cannot be done as they are.
fn refusals(sandbox: &Sandbox, commands: &[&[&str]]) -> String {
    let mut all = String::new();
    for args in commands {
        let shown = args.iter().map(|arg| match arg.is_empty() || arg.contains([' ', '(']) {
            true => format!("'{arg}'"),
            false => (*arg).to_string(),
        });
        let shown = shown.collect::<Vec<_>>().join(" ");
        all += &format!("$ ralph {}\n{}\n", sandbox.tidy(&shown), both(sandbox, &sandbox.ralph(args)));
    }
    all
}

#[test]
fn errors_say_what_failed_why_and_a_way_out() {
    let nothing = Sandbox::bare();
    nothing.write("empty.md", " \n");
    nothing.write("broken.json", "{\"maxCost\": -1, \"guardrail\": []}");
    let unknown_flags: Vec<Vec<String>> =
        all_help(&nothing).into_iter().map(|(words, _)| [words, vec!["--nope".into()]].concat()).collect();
    let unknown_flags: Vec<Vec<&str>> =
        unknown_flags.iter().map(|words| words.iter().map(String::as_str).collect()).collect();
    let unknown_flags: Vec<&[&str]> = unknown_flags.iter().map(Vec::as_slice).collect();
    let mut all = "## unknown flags\n\n".to_string() + &refusals(&nothing, &unknown_flags);
    all += &("## nothing there\n\n".to_string() + &refusals(&nothing, NOTHING_THERE));
    all += &("## wrong values\n\n".to_string() + &refusals(&nothing, WRONG_VALUES));
    all += &("## with plans\n\n".to_string() + &with_plans());
    all += &("## with runs\n\n".to_string() + &with_runs());
    insta::assert_snapshot!("errors", all);
}

const NOTHING_THERE: &[&[&str]] = &[
    &[],
    &["rnu"],
    &["run"],
    &["run", "-p", " "],
    &["run", "-f", "nowhere.md"],
    &["run", "-f", "empty.md"],
    &["run", "--spec", "nowhere.md"],
    &["run", "-p", "x", "--agent", "claude-that-is-not-there"],
    &["run", "-p", "x", "--", "./nowhere"],
    &["run", "-p", "x", "--check", "no-such-program --all"],
    &["run", "-p", "x", "--checks-only", "--", "true"],
    &["run", "-p", "x", "-C", "nowhere"],
    &["run", "-p", "x", "-C", "empty.md"],
    &["run", "-p", "x", "--config", "nowhere.json"],
    &["run", "-p", "x", "--worktree", "--", "true"],
    &["stories"],
    &["stories", "lsit"],
    &["stories", "list"],
    &["stories", "check"],
    &["stories", "new"],
    &["stories", "new", "Log in"],
    &["tasks"],
    &["tasks", "list"],
    &["tasks", "show"],
    &["tasks", "show", "US-001"],
    &["tasks", "add"],
    &["tasks", "add", "Log in", "--criterion", "It works"],
    &["tasks", "check"],
    &["archive"],
    &["init"],
    &["spawn"],
    &["spawn", "-f", "nowhere.md", "-n", "3", "--name", "night"],
    &["spawn", "-p", "x", "--name", "night"],
    &["ls"],
    &["status"],
    &["status", "night"],
    &["attach"],
    &["attach", "night"],
    &["logs"],
    &["logs", "night"],
    &["pause"],
    &["pause", "night"],
    &["kill"],
    &["kill", "night"],
    &["kill", "--all"],
    &["wait"],
    &["wait", "night"],
    &["set"],
    &["set", "night", "-n", "3"],
    &["say"],
    &["say", "be quick"],
    &["say", "night", "be quick"],
    &["rm"],
    &["rm", "night"],
    &["resume"],
    &["resume", "2026"],
    &["runs"],
    &["show"],
    &["show", "../etc"],
    &["diff"],
    &["diff", "2026"],
    &["undo"],
    &["undo", "2026"],
    &["clean"],
    &["clean", "2026"],
    &["config"],
    &["config", "show", "--config", "nowhere.json"],
    &["schema"],
    &["agents", "verify"],
    &["agents", "verify", "nobody"],
    &["plugin", "print"],
    &["hook"],
    &["completions"],
    &["man", "nothing"],
];

const WRONG_VALUES: &[&[&str]] = &[
    &["run", "a task", "-p", "another"],
    &["run", "- a task"],
    &["run", "-p", "--check"],
    &["run", "-p", "x", "-V"],
    &["run", "-p", "x", "-c", " "],
    &["run", "-p", "x", "-c", "empty.md"],
    &["run", "-p", "x", "-m", "20"],
    &["run", "-p", "x", "-n", "0"],
    &["run", "-p", "x", "--check", ""],
    &["run", "-p", "x", "--max-time", "soon"],
    &["run", "-p", "x", "--timeout", "0"],
    &["run", "-p", "x", "--max-cost", "0"],
    &["run", "-p", "x", "--max-cost", "much"],
    &["run", "-p", "x", "--done-pattern", "("],
    &["run", "-p", "x", "--checks-only", "-c", "OK"],
    &["run", "-p", "x", "--config", "broken.json"],
    &["run", "-p", "x", "--format", "xml"],
    &["run", "-p", "x", "--", "true", "{model}"],
    &["stories", "-s", "x"],
    &["stories", "-s", "1.1", "-r", "1.2"],
    &["stories", "new", "", "--epic", "1"],
    &["stories", "new", "Log in", "--epic", "x"],
    &["stories", "list", "--format", "xml"],
    &["stories", "check", "--format", "xml"],
    &["tasks", "-d", "elsewhere"],
    &["tasks", "--ralph-dir", "../elsewhere"],
    &["tasks", "--skip-review", "--review-cap", "3"],
    &["tasks", "--sandbox=docker"],
    &["run", "--sandbox", "bwrap"],
    &["tasks", "add", "Log in", "--criterion", ""],
    &["tasks", "list", "--format", "xml"],
    &["tasks", "show", "US-001", "--format", "xml"],
    &["tasks", "check", "--skip-review", "--review-cap", "3"],
    &["init", "nothing"],
    &["init", "stories", "--name", "login"],
    &["init", "prompt", "--ralph-dir", "plan"],
    &["init", "tasks", "--name", "a b"],
    &["spawn", "--name", "../etc", "run", "x"],
    &["spawn", "--name", "night", "show"],
    &["ls", "--format", "xml"],
    &["status", "--format", "xml"],
    &["logs", "--lines", "few"],
    &["kill", "--all", "night"],
    &["set", "night", "--max-cost", "0"],
    &["set", "night", "--min-free-space", "much"],
    &["set", "night", "-f", "nowhere.md"],
    &["resume", "-n", "0"],
    &["runs", "--format", "xml"],
    &["show", "--format", "xml"],
    &["diff", "2026", "0"],
    &["undo", "--to", "0"],
    &["undo", "--tree", "HEAD"],
    &["clean", "--keep", "5"],
    &["clean", "2026", "--all"],
    &["config", "show", "--config", "broken.json"],
    &["schema", "tasks"],
    &["agents", "--format", "xml"],
    &["agents", "verify", "amp"],
    &["agents", "verify", "plain"],
    &["doctor", "--format", "xml"],
    &["plugin", "install", "--agent", "amp"],
    &["plugin", "status", "--format", "xml"],
    &["hook", "nothing"],
    &["template", "PROMPT.md"],
    &["completions", "cmd"],
    &["demo", "--quiet", "--verbose"],
];

/// Stories and tasks as they were laid out, before anything is written there.
fn with_plans() -> String {
    let sandbox = Sandbox::git();
    for subject in ["stories", "tasks", "prompt"] {
        sandbox.ralph(&["init", subject]).exits(0);
    }
    refusals(
        &sandbox,
        &[
            &["init", "prompt"],
            &["stories"],
            &["stories", "check"],
            &["stories", "-s", "9.9"],
            &["stories", "-r", "9.9"],
            &["stories", "new", "Log in", "--epic", "1", "--depends-on", "9.9"],
            &["tasks"],
            &["tasks", "check"],
            &["tasks", "show", "US-010"],
            &["tasks", "add", "Log in", "--criterion", "It works", "--depends-on", "US-009"],
            &["tasks", "--ralph-dir", "elsewhere"],
            &["archive", "--label", "a/b"],
        ],
    )
}

/// A run that has ended, then one that is at work.
fn with_runs() -> String {
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    sandbox.settings(&json!({"context": false}));
    sandbox.write("../elsewhere/file", "");
    sandbox.run(&["-p", "x"], &sandbox.sh_agent("echo '<response>DONE</response>'")).exits(0);
    let ended = sandbox.only_run();
    let id = ended.as_str();
    let all = refusals(
        &sandbox,
        &[
            &["resume"],
            &["resume", id],
            &["pause", id],
            &["kill", id],
            &["set", id],
            &["say", id, " "],
            &["attach", id],
            &["rm", id],
            &["diff", id, "9"],
            &["undo", id, "--to", "9"],
            &["undo", id, "-C", "../elsewhere"],
            &["undo", id, "--restore-git"],
        ],
    );
    let agent = sandbox.agent(&json!([[{"write": {"path": "up", "content": "1"}}, {"wait_for": "../go"}]]));
    let running = sandbox.begin(&["-p", "x", "-n", "1"], &agent);
    sandbox.until_file("up");
    let at_work = sandbox.runs().into_iter().find(|run| *run != ended).unwrap();
    let id = at_work.as_str();
    let refused = refusals(
        &sandbox,
        &[
            &["run", "-p", "x", "--", "true"],
            &["resume", id],
            &["undo", id],
            &["archive"],
            &["clean", id],
            &["set", id, "--done-pattern", "("],
        ],
    );
    let pid = format!("process {}", running.pid().as_raw_nonzero());
    sandbox.write("../go", "");
    running.end();
    all + &refused.replace(&pid, "process [PID]")
}

#[test]
fn an_agent_that_is_not_installed_comes_with_what_to_install() {
    let sandbox = Sandbox::bare();
    let mut command = sandbox.command(crate::support::RALPH);
    // The machine that tests this may have the real one.
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
    let output = |args: &[&str]| both(&sandbox, &sandbox.ralph(args));
    insta::assert_snapshot!("diff", output(&["diff", &id]));
    insta::assert_snapshot!("diff_stat", output(&["diff", &id, "1", "--stat"]));
    insta::assert_snapshot!("undo_again", {
        let first = output(&["undo", &id]);
        first + &output(&["undo", &id])
    });
    insta::assert_snapshot!(
        "clean",
        output(&["clean"]) + &without_sizes(&output(&["clean", "--runs", "--keep", "0", "--dry-run"]))
    );
    insta::assert_snapshot!("config_show", output(&["config", "show"]));
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
