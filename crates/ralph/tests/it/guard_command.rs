//! `ralph guard`: verdicts explained, the rules, the log.

use crate::hooks::call;
use crate::pty::Terminal;
use crate::support::{RALPH, Sandbox};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

fn project() -> Sandbox {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"deny": ["make deploy *"], "allow": ["make release *"]}}));
    sandbox
}

#[test]
fn a_verdict_is_explained_step_by_step() {
    let sandbox = project();
    let ran = sandbox.ralph(&["guard", "check", "cd sub && sh -c 'make deploy prod'"]).exits(1);
    assert_eq!(
        ran.stdout,
        "\
block  guard.deny  cd sub && sh -c 'make deploy prod'

understood as
  runs       sh -c 'make deploy prod'
    runs       make deploy prod

rule guard.deny (block)
  what     make deploy prod
  why      `guard.deny` has \"make deploy *\"
  instead  leave it to the user
  to allow remove the entry of guard.deny
"
    );
    let ran = sandbox.ralph(&["guard", "check", "ls"]).exits(0);
    assert_eq!(ran.stdout, "allow  -  ls\n\nunderstood as\n  runs       ls\n");
    // By the settings of the project that the directory is in, wherever ralph is started.
    let elsewhere = sandbox.root().join("tmp");
    let cwd = sandbox.project().display().to_string();
    sandbox.ralph_in(&elsewhere, &["guard", "check", "make deploy x"]).exits(0);
    sandbox.ralph_in(&elsewhere, &["guard", "check", "make deploy x", "--cwd", &cwd]).exits(1);
    sandbox.ralph(&["guard", "check", "ls", "--cwd", "no-such-dir"]).exits(2);
    sandbox.ralph(&["guard", "check"]).exits(2);
    let verdict = sandbox.ralph(&["guard", "check", "make deploy x", "--format", "json"]).exits(1).json();
    assert_eq!((&verdict["verdict"], &verdict["findings"][0]["verdict"]), (&json!("block"), &json!("block")));
}

#[test]
fn a_warning_is_allowed_by_turning_it_off_and_settings_are_warned_of() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"guard": {"alow": ["ls"]}}));
    let ran = sandbox.ralph(&["guard", "check", "npx some-package"]).exits(0);
    assert!(ran.stdout.starts_with("warn  packages/run-package"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains(r#"{"packages": "off"}"#) && !ran.stdout.contains("\"warn\""),
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("ralph: warning: ") && ran.stderr.contains("alow"), "{}", ran.stderr);
}

#[test]
fn a_list_has_a_line_per_command_and_a_sum() {
    let sandbox = project();
    let list = |args: &[&str], input: &str| {
        let mut command = sandbox.command(RALPH);
        command.args(["guard", "check", "--stdin"]).args(args);
        call(command, input.as_bytes())
    };
    let ran = list(&[], "ls\n\nmake deploy x\n").exits(1);
    let blank = " ".repeat(18);
    assert_eq!(
        ran.stdout,
        format!(
            "allow  -         {blank}  ls\nblock  guard.deny{blank}  make deploy x\n\
             2 commands: 1 blocked, 0 warned, 1 allowed\n"
        )
    );
    // Several lines are one command between NUL characters.
    let both = "cat <<'X'\nmake deploy x\nX\n\0echo\nmake deploy y\n";
    let tally = list(&["-0", "--format", "json"], both).exits(1).json();
    assert_eq!((&tally["blocked"], &tally["allowed"]), (&json!(1), &json!(1)), "{tally}");
    assert_eq!(tally["commands"][1]["command"], "echo\nmake deploy y\n");
    list(&[], "").exits(0).says("0 commands: 0 blocked, 0 warned, 0 allowed");
}

#[test]
fn nothing_is_wider_than_the_terminal_and_a_pipe_gets_whole_lines() {
    let sandbox = Sandbox::git();
    let long = format!("echo {}&& terraform destroy -auto-approve", "word ".repeat(30));
    for args in [&["guard", "check", long.as_str()][..], &["guard", "rules"]] {
        let command = |program: &Path| {
            let mut command = sandbox.command(program.to_str().unwrap());
            command.env("TERM", "xterm");
            command
        };
        let (_, seen) = Terminal::sized(80, 24, command, args).end();
        assert!(seen.contains("terraform"), "{seen}");
        for line in seen.lines() {
            // A word that is too wide by itself stays in one piece.
            assert!(line.width() <= 80 || !line.trim().contains(' '), "{args:?}: {line:?}");
        }
    }
    let piped = sandbox.ralph(&["guard", "check", &long]).exits(1).stdout;
    assert!(piped.lines().next().unwrap().ends_with("destroy -auto-approve"), "{piped}");
}

#[test]
fn a_bad_category_names_the_one_that_was_meant() {
    let sandbox = Sandbox::bare();
    let ran = sandbox.ralph(&["guard", "rules", "gti"]).exits(2);
    assert!(ran.stderr.contains("no such category: gti") && ran.stderr.contains("git"), "{}", ran.stderr);
    sandbox.ralph(&["guard", "rules", "git"]).exits(0).says("git: published history rewritten");
    let all = sandbox.ralph(&["guard", "rules", "--format", "json"]).exits(0).json();
    let known = |rule: &Value| rule["category"].is_string() && rule["catches"].is_string();
    assert!(all.as_array().unwrap().iter().all(known));
}

#[test]
fn a_log_of_a_run_that_denied_nothing_is_empty_and_one_of_none_is_an_error() {
    let sandbox = Sandbox::bare();
    sandbox.ralph(&["guard", "log"]).exits(1).says("no runs in this directory");
    assert_eq!(sandbox.ralph(&["guard", "log", "--all"]).exits(0).stdout, "0 entries of the guard\n");
    sandbox.run(&["-p", "x", "-n", "1"], &sandbox.sh_agent("cat >/dev/null; echo x"));
    assert_eq!(sandbox.ralph(&["guard", "log"]).exits(0).stdout, "0 entries of the guard\n");
    // Agents in a sandbox can write there.
    let log = sandbox.run_dir().join("guard.jsonl");
    let entry = json!({"at": "2026-11-18T01:02:03Z", "session": "s", "tool": "Bash\u{1b}[31m", "command": "a\nb\u{7}",
        "outcome": "block", "rule": "git/x", "why": "y"});
    fs::write(&log, format!("nonsense\n{entry}\n")).unwrap();
    let ran = sandbox.ralph(&["guard", "log"]).exits(0).says("1 entry of the guard");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'), "{:?}", ran.stdout);
}
