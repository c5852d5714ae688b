//! A sandbox that breaks the checks is found before the first agent.

use crate::pty::{CTRL_C, END_OF_INPUT, Terminal};
use crate::support::*;
use crate::tasks_support::{list, new, text};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

const DONE: &str = "<response>DONE</response>";

/// A project whose checks run in a sandbox, with a file in the user's home.
fn confined() -> Sandbox {
    let sandbox = Sandbox::git().confined();
    fs::write(sandbox.root().join("user/.foo"), "a word\n").unwrap();
    sandbox
}

fn agent(sandbox: &Sandbox) -> Agent {
    sandbox.sh_agent(&format!("cat > /dev/null; echo made > made; echo '{DONE}'"))
}

/// `ralph run` with a variable that looks like a secret, and these checks.
fn run(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command(RALPH);
    command.env("API_TOKEN", "a secret").args(["run", "-p", "x", "-n", "1"]).args(args);
    command.arg("--").args(agent(sandbox).words());
    sandbox.spawn(command).end()
}

fn rounds(sandbox: &Sandbox) -> Vec<Value> {
    let began = |mut fact: Value| fact["began"]["step"]["check"]["round"].take();
    sandbox.facts().into_iter().map(began).filter(|round| !round.is_null()).collect()
}

const READS_HOME: &str = "cat \"$HOME/.foo\"";

#[test]
fn a_check_that_reads_a_file_of_the_home_stops_the_run_and_the_line_to_add_lets_it_pass() {
    let sandbox = confined();
    for flag in ["--sandbox=bwrap", "--sandbox=auto", "--sandbox"] {
        let ran = run(&sandbox, &["--check", READS_HOME, flag]).exits(2);
        let ran = ran.says("running check before the first agent, outside the sandbox: cat");
        ran.says("sandbox_in_the_way: `cat \"$HOME/.foo\"` passes only outside the sandbox: ~/.foo cannot be read inside (sandbox.read)")
            .says("it printed: cat: ")
            .says("add to .ralph/settings.json: {\"sandbox\": {\"read\": [\"~/.foo\"]}}")
            .says("--no-sandbox");
        assert_eq!(sandbox.agents_begun(), 0);
        assert_eq!(rounds(&sandbox), ["baseline", "baseline_in_place", "baseline_outside"]);
        sandbox.nothing_is_left();
        sandbox.sh("rm -rf ../home");
    }
    let result =
        run(&sandbox, &["--check", READS_HOME, "--format", "json"]).stops(2, "sandbox_in_the_way", 0);
    assert!(result["error"]["message"].as_str().unwrap().contains("~/.foo"), "{result:#}");
    assert!(
        result["error"]["hint"].as_str().unwrap().contains("{\"sandbox\": {\"read\": [\"~/.foo\"]}}"),
        "{result:#}"
    );
    sandbox.sh("rm -rf ../home");
    sandbox.settings(&json!({"sandbox": {"read": ["~/.foo"]}}));
    run(&sandbox, &["--check", READS_HOME]).exits(0).says("sandbox bwrap");
    assert_eq!(rounds(&sandbox)[..1], ["baseline"], "it was green at once");
    sandbox.sh("rm -rf ../home");
    sandbox.settings(&json!({}));
    run(&sandbox, &["--check", READS_HOME, "--no-sandbox"]).exits(0).says("sandbox none");
}

#[test]
fn a_check_that_needs_a_variable_that_looks_like_a_secret_stops_the_run() {
    let sandbox = confined();
    let check = ["--check", "echo \"${API_TOKEN:?}\" > /dev/null"];
    let ran = run(&sandbox, &check).exits(2);
    ran.says("the variable API_TOKEN is not passed on (sandbox.variables)")
        .says("{\"sandbox\": {\"variables\": [\"API_TOKEN\"]}}");
    sandbox.sh("rm -rf ../home");
    sandbox.settings(&json!({"sandbox": {"variables": ["API_TOKEN"]}}));
    run(&sandbox, &check).exits(0);
}

#[test]
fn a_check_that_needs_a_socket_of_a_service_stops_the_run() {
    let sandbox = confined();
    let dir = sandbox.root().join("service");
    fs::create_dir(&dir).unwrap();
    let socket = dir.join("app.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let check = format!(
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(shift) or die $!' '{0}' || {{ echo 'no {0}'; exit 1; }}",
        socket.display()
    );
    let ran = run(&sandbox, &["--check", &check]).exits(2);
    let ran = ran.says(&format!("the socket {} is not there inside (sandbox.write)", dir.display()));
    ran.says(&format!("{{\"sandbox\": {{\"write\": [\"{}\"]}}}}", dir.display()));
    sandbox.sh("rm -rf ../home");
    sandbox.settings(&json!({"sandbox": {"write": [dir]}}));
    run(&sandbox, &["--check", &check]).exits(0);
}

#[test]
fn a_check_that_is_red_everywhere_is_the_agents_work() {
    let sandbox = confined();
    let ran = run(&sandbox, &["--check", "test -e made || { cat /nosuch; exit 1; }"]).exits(0);
    ran.says("baseline: 1 of 1 check fails").says("proven: ");
    assert_eq!(sandbox.agents_begun(), 1);
    assert_eq!(rounds(&sandbox)[..3], ["baseline", "baseline_in_place", "baseline_outside"]);
    let outside =
        sandbox.facts().into_iter().find(|fact| !fact["ended"]["end"]["check"]["only_outside"].is_null());
    assert_eq!(
        outside.unwrap()["ended"]["end"]["check"]["only_outside"],
        json!({"tests": 0}),
        "nothing is made up"
    );
}

/// Prints what cargo prints: `home` passes if a file of the home can be read, `work` if the agent has worked.
const TESTS: &str = r#"
home=FAILED work=FAILED passed=0 failed=2
cat "$HOME/.foo" > /dev/null && home=ok passed=1 failed=1
test -e made && work=ok passed=$((passed + 1)) failed=$((failed - 1))
printf '\nrunning 2 tests\ntest home ... %s\ntest work ... %s\n\n' $home $work
result=FAILED; test $failed != 0 || result=ok
echo "test result: $result. $passed passed; $failed failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
test $failed = 0
"#;

#[test]
fn one_test_that_passes_only_outside_is_enough_even_if_the_check_is_red_there_too() {
    let sandbox = confined();
    sandbox.write("test.sh", TESTS);
    let ran = run(&sandbox, &["--check", "sh test.sh"]).exits(2);
    ran.says("1 test of `sh test.sh` passes only outside the sandbox (home): ~/.foo cannot be read inside");
    assert_eq!(sandbox.agents_begun(), 0);
    sandbox.sh("rm -rf ../home");
    // The same in the working tree alone.
    run(&sandbox, &["--check", "sh test.sh", "--proof", "in-place"])
        .exits(2)
        .says("passes only outside the sandbox (home)");
    assert_eq!(rounds(&sandbox), ["baseline", "baseline_outside"]);
    sandbox.sh("rm -rf ../home");
    sandbox.settings(&json!({"sandbox": {"read": ["~/.foo"]}}));
    run(&sandbox, &["--check", "sh test.sh"]).exits(0).says("proven");
}

#[test]
fn without_a_baseline_it_is_not_found() {
    let sandbox = confined();
    let ran = run(&sandbox, &["--check", READS_HOME, "--no-baseline", "--format", "json"]);
    ran.stops(1, "max_iterations", 1);
    assert!(!rounds(&sandbox).contains(&json!("baseline_outside")));
}

#[test]
fn everything_that_is_missing_is_named_at_once_and_an_unknown_reason_leads_to_the_logs() {
    let sandbox = confined();
    let secret = "echo \"${API_TOKEN:?}\" > /dev/null";
    let ran = run(&sandbox, &["--check", READS_HOME, "--check", secret, "--check", "true"]).exits(2);
    ran.says("{\"sandbox\": {\"read\": [\"~/.foo\"], \"variables\": [\"API_TOKEN\"]}}");
    sandbox.sh("rm -rf ../home");
    let ran = run(&sandbox, &["--check", "cat \"$HOME/.foo\" 2> /dev/null"]).exits(2);
    let ran = ran.says("passes only outside the sandbox (0 iterations").says("compare what it printed: ");
    let line = ran.stdout.lines().find(|line| line.contains("compare what it printed")).unwrap();
    for log in line.split_whitespace().filter(|word| word.ends_with(".log")) {
        assert!(sandbox.project().join(Path::new(log)).is_file(), "{log}");
    }
}

#[test]
fn a_run_that_was_cut_short_outside_looks_again_and_one_that_went_on_does_not() {
    let sandbox = confined();
    run(&sandbox, &["--check", READS_HOME]).exits(2);
    sandbox.lose_from(|fact| fact["began"]["step"]["check"]["round"] == "baseline_outside");
    sandbox.ralph(&["resume"]).exits(2).says("~/.foo cannot be read inside");
    // The user has seen to it.
    fs::remove_file(sandbox.root().join("user/.foo")).unwrap();
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 1);
    let before = rounds(&sandbox).len();
    sandbox.lose_from(|fact| fact["ended"]["end"]["agent"].is_object());
    sandbox.ralph(&["resume", "--format", "json"]).stops(1, "max_iterations", 1);
    let again = rounds(&sandbox)
        .into_iter()
        .skip(before)
        .filter(|round| round.as_str().unwrap().starts_with("baseline"));
    assert_eq!(again.count(), 0);
    assert_eq!(sandbox.agents_begun(), 2);
}

/// At a terminal, with a variable that looks like a secret and a command that is notified.
fn at_terminal(sandbox: &Sandbox, args: &[&str]) -> Terminal {
    at_terminal_within(sandbox, "600", args)
}

fn at_terminal_within(sandbox: &Sandbox, seconds: &str, args: &[&str]) -> Terminal {
    let command = |program: &Path| {
        let mut command = sandbox.command(program.to_str().unwrap());
        command.env("API_TOKEN", "a secret").env("RALPH_ANSWER_WITHIN", seconds);
        command
    };
    let notify = "echo $RALPH_NOTIFY_EVENT $RALPH_NOTIFY_REASON >> ../told";
    let agent = agent(sandbox);
    let run = ["run", "-p", "x", "-n", "1", "--notify", notify];
    let all = [&run[..], args, &["--"], &agent.words()].concat();
    Terminal::ralph(command, &all)
}

/// What the user was notified of, a line each.
fn told(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.root().join("told")).unwrap_or_default()
}

/// The confinement of the newest run.
fn newest_confinement(sandbox: &Sandbox) -> Value {
    let journal = sandbox.home().join("runs").join(sandbox.runs().pop().unwrap()).join("journal.jsonl");
    let text = fs::read_to_string(journal).unwrap();
    let mut opened: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    opened["fact"]["opened"]["confinement"].take()
}

const SECRET: &str = "echo \"${API_TOKEN:?}\" > /dev/null";

#[test]
fn at_a_terminal_what_is_missing_can_be_allowed_for_this_run() {
    let sandbox = confined();
    let mut terminal = at_terminal(&sandbox, &["--check", READS_HOME, "--check", SECRET]);
    terminal.expect("sandbox_in_the_way");
    terminal.expect("a  allow it this time: read ~/.foo, pass on API_TOKEN");
    terminal.answer("Answer (a, w, s): ", "what");
    terminal.answer("Answer (a, w, s): ", "a");
    terminal.expect("add to .ralph/settings.json: {\"sandbox\": {\"read\": [\"~/.foo\"], \"variables\": [\"API_TOKEN\"]}}");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("checks pass, as they did before"), "{screen}");
    assert_eq!(sandbox.runs().len(), 2, "the first one has ended, and another was started");
    let spec = &newest_confinement(&sandbox)["sandbox"];
    assert_eq!((&spec["kind"], &spec["variables"]), (&json!("bwrap"), &json!(["API_TOKEN"])), "{spec:#}");
    assert!(!sandbox.has(".ralph/settings.json"), "nothing is written for the user");
    assert_eq!(told(&sandbox), "done completed\n", "who answers is not notified");
}

#[test]
fn at_a_terminal_a_run_can_do_without_a_sandbox_this_time() {
    let sandbox = confined();
    let mut terminal = at_terminal(&sandbox, &["--check", READS_HOME, "--sandbox=auto"]);
    terminal.answer("Answer (a, w, s): ", "w");
    terminal.expect("sandbox none: agents have your rights");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(newest_confinement(&sandbox), Value::Null);
    assert_eq!(told(&sandbox), "done completed\n");
}

#[test]
fn at_a_terminal_a_run_can_be_stopped_and_nothing_else_is_started() {
    let sandbox = confined();
    // Without a setting for it, there is nothing to allow.
    let mut terminal = at_terminal(&sandbox, &["--check", "cat \"$HOME/.foo\" 2> /dev/null"]);
    terminal.answer("Answer (w, s): ", "a");
    terminal.answer("Answer (w, s): ", "s");
    assert_eq!(terminal.end().0, Some(2));
    for key in [CTRL_C, END_OF_INPUT] {
        let mut terminal = at_terminal(&sandbox, &["--check", READS_HOME]);
        terminal.expect("Answer (a, w, s): ");
        terminal.key(key);
        assert_eq!(terminal.end().0, Some(130));
    }
    assert_eq!(sandbox.runs().len(), 3);
    assert_eq!(told(&sandbox), "");
}

#[test]
fn a_question_that_is_not_answered_ends_in_exit_code_2_and_a_notification() {
    let sandbox = confined();
    let mut terminal = at_terminal_within(&sandbox, "0.2", &["--check", READS_HOME]);
    terminal.expect("Answer (a, w, s): ");
    terminal.expect("there was no answer within 1 s");
    assert_eq!(terminal.end().0, Some(2));
    assert_eq!(told(&sandbox), "failed sandbox_in_the_way\n");
    assert_eq!(sandbox.agents_begun(), 0);
}

#[test]
fn a_sandbox_that_was_asked_for_is_not_asked_about() {
    let sandbox = confined();
    for (at, flag) in ["--sandbox=bwrap", "--sandbox"].into_iter().enumerate() {
        let (code, screen) = at_terminal(&sandbox, &["--check", READS_HOME, flag]).end();
        assert_eq!(code, Some(2), "{screen}");
        assert!(!screen.contains("Answer ("), "{screen}");
        assert_eq!(told(&sandbox), "failed sandbox_in_the_way\n".repeat(at + 1));
    }
    // Nor are programs.
    let (code, screen) = at_terminal(&sandbox, &["--check", READS_HOME, "--format", "json"]).end();
    assert!(code == Some(2) && !screen.contains("Answer ("), "{screen}");
}

#[test]
fn a_worker_has_no_one_to_ask() {
    let sandbox = confined();
    sandbox.write("PROMPT.md", "x\n");
    let notify = "echo $RALPH_NOTIFY_EVENT $RALPH_NOTIFY_REASON $RALPH_NOTIFY_WORKER >> ../told";
    let args = [
        "spawn",
        "--name",
        "night",
        "-f",
        "PROMPT.md",
        "-n",
        "1",
        "--notify",
        notify,
        "--check",
        READS_HOME,
        "--",
    ];
    sandbox.ralph(&[&args[..], &agent(&sandbox).words()].concat()).exits(0);
    sandbox.ralph(&["wait", "night"]).exits(2);
    assert_eq!(told(&sandbox), "failed sandbox_in_the_way night\n");
    let status = sandbox.ralph(&["status", "night", "--format", "json"]).exits(0).json();
    assert_eq!(status["status"], "failed", "{status:#}");
    assert!(status["note"].as_str().unwrap().contains("~/.foo cannot be read inside"), "{status:#}");
    sandbox.ralph(&["rm", "night"]).exits(0);
}

#[test]
fn stories_and_tasks_are_asked_about_as_well() {
    let sandbox = confined();
    sandbox.ralph(&["init", "stories"]).exits(0);
    sandbox.write_stories();
    let command = |program: &Path| sandbox.command(program.to_str().unwrap());
    let mut terminal = Terminal::ralph(command, &["stories", "-n", "1", "--check", READS_HOME, "--", "true"]);
    terminal.answer("Answer (a, w, s): ", "w");
    terminal.expect("sandbox none: agents have your rights");
    terminal.end();
    assert_eq!(sandbox.runs().len(), 2);
    sandbox.write("ralph/tasks.json", text(&list(&[new("US-001")])));
    sandbox.sh("git add -A && git commit -q -m tasks");
    let mut terminal = Terminal::ralph(command, &["tasks", "-n", "1", "--check", READS_HOME, "--", "true"]);
    terminal.answer("Answer (a, w, s): ", "a");
    terminal.expect("sandbox bwrap");
    terminal.end();
    assert_eq!(sandbox.runs().len(), 4);
}
