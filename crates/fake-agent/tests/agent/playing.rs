//! Which entry is played, and what each action does in the plain dialect.

use crate::stage::{Stage, stderr, stdout};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

#[test]
fn calls_are_taken_in_turn_and_the_last_one_stays() {
    let stage = Stage::with(r#"{"calls": [[{"say": "one"}], {"do": [{"say": "two {{call}}"}]}]}"#);
    let said: Vec<String> = (0..3).map(|_| stdout(&stage.run()).to_owned()).collect();
    assert_eq!(said, ["one\n", "two 2\n", "two 3\n"]);
    assert_eq!(stage.read("script.json.calls"), "3\n");
}

#[test]
fn agents_that_start_together_get_different_numbers() {
    let stage = Stage::with(r#"{"calls": [[{"say": "{{call}}"}]]}"#);
    let agents: Vec<Child> = (0..8).map(|_| stage.start()).collect();
    let numbers: BTreeSet<u32> = agents
        .into_iter()
        .map(|agent| stdout(&agent.wait_with_output().unwrap()).trim().parse().unwrap())
        .collect();
    assert_eq!(numbers, (1..=8).collect());
}

#[test]
fn the_iteration_selects_the_entry_when_the_script_says_so() {
    let stage = Stage::with(
        r#"{"by": "iteration", "after": "fail", "calls": [[{"say": "a"}], [{"say": "b{{iteration}}"}]]}"#,
    );
    let at = |n: &str| stage.command().env("RALPH_ITERATION", n).output().unwrap();
    assert_eq!(stdout(&at("2")), "b2\n");
    assert_eq!(stdout(&at("1")), "a\n");
    assert_eq!(at("3").status.code(), Some(70));
    assert!(stderr(&at("3")).contains("no entry for call 3"));
    assert_eq!(at("0").status.code(), Some(64));
    assert_eq!(stage.run().status.code(), Some(64));
    assert!(!stage.path("script.json.calls").exists());
}

#[test]
fn a_script_that_cannot_be_used_is_named() {
    let check = |script: &str, expected: &str| {
        let output = Stage::with(script).run();
        assert_eq!(output.status.code(), Some(64));
        assert!(stderr(&output).contains("script.json"), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    check("{", "line 1 column");
    check(r#"{"calls": []}"#, "it has no calls");
    check(r#"{"calls": [[{"jump": 1}]]}"#, "unknown variant `jump`");
}

#[test]
fn files_prompt_arguments_and_variables_are_kept() {
    let stage = Stage::with(
        r#"{"calls": [[
            {"write": {"path": "a/b.txt", "content": "one\n"}},
            {"append": {"path": "a/b.txt", "content": "{{call}}\n"}},
            {"write": {"path": "gone", "content": ""}}, {"delete": "gone"}, {"delete": "gone"},
            {"save_args": "args"},
            {"save_env": {"path": "env", "names": ["KNOWN", "UNKNOWN_TO_ALL"]}}
        ]]}"#,
    );
    let output = stage.command().args(["-p", "do it"]).env("KNOWN", "yes").output().unwrap();
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), ""));
    assert_eq!(stage.read("a/b.txt"), "one\n1\n");
    assert!(!stage.path("gone").exists());
    assert_eq!(stage.read("args"), "-p\ndo it\n");
    assert_eq!(stage.read("env"), "KNOWN=yes\nUNKNOWN_TO_ALL unset\n");
}

#[test]
fn the_prompt_is_kept_and_repeated_byte_for_byte() {
    let stage = Stage::with(
        r#"{"calls": [[{"save_prompt": "prompt-{{call}}"}, {"echo_prompt": true}, {"say": "<{{prompt}}>"}]]}"#,
    );
    let output = stage.run_with_prompt(b"\xffx {{call}}");
    assert_eq!(output.stdout, b"\xffx {{call}}<\xef\xbf\xbdx {{call}}>\n");
    assert_eq!(fs::read(stage.path("prompt-1")).unwrap(), b"\xffx {{call}}");
}

#[test]
fn stdin_is_left_alone_when_nobody_needs_the_prompt() {
    let stage = Stage::with(r#"{"calls": [[{"say": "hello"}]]}"#);
    let mut agent = stage.command().stdin(Stdio::piped()).spawn().unwrap();
    // The pipe stays open over the wait: an agent that read it would never end.
    let stdin = agent.stdin.take();
    assert!(agent.wait().unwrap().success());
    drop(stdin);
}

#[test]
fn output_is_what_the_script_says() {
    let stage = Stage::with(
        r#"{"calls": [[{"raw": "no newline"}, {"raw_hex": "FF000a"}, {"stderr": "oh"},
            {"tool": {"name": "Bash", "input": {"command": "ls"}}}, {"result": {"text": "unseen"}}, {"exit": 7}, {"say": "never"}]]}"#,
    );
    let output = stage.run();
    assert_eq!(output.stdout, b"no newline\xff\x00\n[tool] Bash\n");
    assert_eq!(stderr(&output), "oh\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn an_action_that_fails_ends_the_agent_with_74() {
    let stage = Stage::with(r#"{"calls": [[{"write": {"path": "script.json/x", "content": ""}}]]}"#);
    let output = stage.run();
    assert_eq!(output.status.code(), Some(74));
    assert!(stderr(&output).contains("script.json"), "{}", stderr(&output));
}

#[test]
fn the_ledger_has_an_end_for_every_agent_that_ended_by_itself() {
    let stage =
        Stage::with(r#"{"ledger": "log", "calls": [[{"exit": 1}], [{"kill_self": 9}], [{"say": "x"}]]}"#);
    let first = stage.command().env("RALPH_ITERATION", "4").spawn().unwrap();
    let first_pid = first.id();
    first.wait_with_output().unwrap();
    assert_eq!(stage.read("log"), format!("start 4 {first_pid}\nend 4 {first_pid}\n"));

    assert_eq!(stage.run().status.signal(), Some(9));
    assert!(stage.run().status.success());
    let log = stage.read("log");
    let words: Vec<&str> = log.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(words, ["start", "end", "start", "start", "end"]);
}

#[test]
fn a_polite_signal_ends_the_agent_unless_it_is_ignored() {
    let check = |actions: &str, expected: (Option<i32>, Option<i32>)| {
        let stage = Stage::with(&format!(r#"{{"calls": [{actions}]}}"#));
        let mut agent = stage.start();
        let mut line = String::new();
        BufReader::new(agent.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "armed\n");
        for signal in [Signal::TERM, Signal::INT] {
            kill_process(Pid::from_child(&agent), signal).unwrap();
        }
        let status = agent.wait().unwrap();
        assert_eq!((status.code(), status.signal()), expected);
    };
    check(r#"[{"ignore_term": true}, {"say": "armed"}, {"sleep_ms": 100}, {"exit": 5}]"#, (Some(5), None));
    check(r#"[{"say": "armed"}, {"hang": true}]"#, (None, Some(15)));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let stage = Stage::with(r#"{"calls": [[{"print_mb": {"mb": 64, "shape": "text"}}]]}"#);
    let mut agent = stage.start();
    let mut first = [0; 10];
    agent.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = agent.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn a_flood_has_exactly_the_size_asked_for() {
    for shape in ["events", "one_line", "text"] {
        let stage = Stage::with(&format!(
            r#"{{"calls": [[{{"print_mb": {{"mb": 3, "shape": "{shape}"}}}}, {{"print_mb": {{"mb": 0, "shape": "{shape}"}}}}]]}}"#
        ));
        let output = stage.run();
        assert_eq!(output.stdout.len(), 3 << 20, "{shape}");
        assert!(output.stdout.ends_with(b"\n"));
        let lines = stdout(&output).lines().count();
        assert!(if shape == "one_line" { lines == 1 } else { lines > 1000 }, "{shape}: {lines} lines");
    }
}
