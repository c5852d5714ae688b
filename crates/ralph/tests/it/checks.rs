//! Checks: run by ralph, each with a log and an end.

use crate::support::Sandbox;
use serde_json::json;

#[test]
fn a_check_that_takes_too_long_is_ended_with_its_tree_and_reads_as_a_failure() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"context": false, "checkTimeout": 4}));
    let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "x"}]]));
    let check = "echo begun; setsid sleep 600 & sleep 600";
    let ran = sandbox.run(&["-p", "BASE", "-n", "2", "--format", "json", "--check", check], &agent);
    let result = ran.stops(1, "max_iterations", 2);
    assert_eq!(result["iterations"][0]["check_results"][0]["output"], "timed out after 4s: begun");
    assert!(
        sandbox.read("prompt-2").starts_with(&format!(
            "BASE\n\nCheck \"{check}\" failed: timed out after 4s.\nOutput file: .ralph/guardrail_1_"
        )),
        "{}",
        sandbox.read("prompt-2")
    );
    sandbox.nothing_is_left();
}

#[test]
fn a_guardrail_can_have_a_timeout_of_its_own() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({
        "checkTimeout": 60,
        "guardrails": [{"command": "sleep 600", "failAction": "APPEND", "timeout": 0.2}],
    }));
    let agent = sandbox.agent(&json!([[{"say": "x"}]]));
    let result =
        sandbox.run(&["-p", "BASE", "-n", "1", "--format", "json"], &agent).stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["check_results"][0]["output"], "timed out after 0.2s");
}

#[test]
fn the_line_that_is_shown_is_from_the_end_of_the_output() {
    let sandbox = Sandbox::bare();
    let runner = "echo 'error handling: 3 tests'; seq 20000
        echo 'FAILED tests/x.py::test_y - assert 1 == 2'; echo; echo '=== 1 failed in 0.12s ==='; echo; exit 1";
    sandbox.write("runner", runner);
    sandbox.settings(&json!({"guardrails": [{"command": "sh runner", "failAction": "APPEND"}]}));
    let agent = sandbox.agent(&json!([[{"say": "x"}]]));
    let ran = sandbox.run(&["-p", "BASE", "-n", "1", "--check", "sh ./runner"], &agent).exits(1);
    // Whatever part of the output the agent gets: a guardrail's beginning, a check's end.
    assert_eq!(ran.stdout.matches("FAILED tests/x.py::test_y - assert 1 == 2").count(), 2, "{}", ran.stdout);
    assert!(!ran.stdout.contains("error handling"), "{}", ran.stdout);
}

#[test]
fn checks_with_one_slug_have_logs_of_their_own() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    sandbox.run(&["-p", "BASE", "--check", "echo a.b", "--check", "echo 'a-b'"], &agent).exits(0);
    assert_eq!(sandbox.read(".ralph/guardrail_1_echo_a_b.log"), "a.b\n");
    assert_eq!(sandbox.read(".ralph/guardrail_1_echo_a_b_2.log"), "a-b\n");
}

#[test]
fn each_iteration_has_logs_of_its_own() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "x"}]]));
    sandbox.write("count.sh", "echo x >> count; grep -c x count; exit 1");
    sandbox.run(&["-p", "BASE", "-n", "2", "--check", "sh count.sh"], &agent).exits(1);
    for n in [1, 2] {
        assert_eq!(sandbox.read(&format!(".ralph/guardrail_{n}_sh_count_sh.log")), format!("{n}\n"));
    }
}

#[test]
fn output_and_errors_of_a_check_come_in_their_order() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "x"}]]));
    let check = "echo 1; echo 2 >&2; echo 3; exit 1";
    sandbox.run(&["-p", "BASE", "-n", "1", "--check", check], &agent).exits(1);
    assert_eq!(sandbox.read(".ralph/guardrail_1_echo_1_echo_2_2_echo_3_exit_1.log"), "1\n2\n3\n");
}

#[test]
fn guardrails_and_flags_are_checks_alike() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"guardrails": [{"command": "test -f a", "failAction": "REPLACE"}]}));
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "a", "content": ""}}, {"say": "<response>DONE</response>"}],
        [{"write": {"path": "b", "content": ""}}, {"say": "<response>DONE</response>"}],
    ]));
    let args = ["-p", "BASE", "--format", "json", "--check", "test -f b"];
    sandbox.run(&args, &agent).stops(0, "completed", 2);
}

#[test]
fn what_a_check_leaves_behind_is_ended() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    let check = "(trap '' TERM HUP; setsid sleep 600 &) ; true";
    sandbox.run(&["-p", "BASE", "--check", check], &agent).exits(0);
    sandbox.nothing_is_left();
}

#[test]
fn a_check_ended_by_a_signal_has_failed() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
    let args = ["-p", "BASE", "-n", "1", "--format", "json", "--check", "kill -9 $$"];
    let result = sandbox.run(&args, &agent).stops(1, "max_iterations", 1);
    assert_eq!(result["iterations"][0]["check_results"][0]["output"], "failed: killed by signal 9");
}

#[test]
fn links_and_fifos_in_the_place_of_a_log_are_not_followed() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("precious", "mine");
    let agent = "mkdir -p .ralph; mkfifo .ralph/guardrail_1_true.log; ln -s ../precious .ralph/guardrail_1_echo_x.log; echo '<response>DONE</response>'";
    let args = [
        "run",
        "-p",
        "x",
        "--max-time",
        "20",
        "--check",
        "true",
        "--check",
        "echo x",
        "--",
        "sh",
        "-c",
        agent,
    ];
    sandbox.ralph(&args).exits(0);
    assert_eq!(sandbox.read("precious"), "mine");
    assert_eq!(sandbox.read(".ralph/guardrail_1_echo_x.log"), "x\n");
}

#[test]
fn the_progress_file_is_the_record_whatever_an_agent_does_to_it() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = "test $RALPH_ITERATION = 2 && rm -rf .ralph; test $RALPH_ITERATION = 3 && echo junk >> .ralph/progress.md; echo ok";
    sandbox.ralph(&["run", "-p", "x", "-n", "4", "--", "sh", "-c", agent]).exits(1);
    let progress = sandbox.read(".ralph/progress.md");
    let titles: Vec<&str> = progress.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(titles.len(), 4, "{progress}");
    assert!(!progress.contains("junk"), "{progress}");
}

#[test]
fn a_check_that_was_green_before_a_resume_is_run_again() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("good", "");
    let slow = "echo 1 > up; test -f resumed || exec tail -f /dev/null";
    let agent = sandbox.sh_agent("echo '<response>DONE</response>'");
    let running = sandbox.begin(&["-p", "x", "-n", "1", "--check", "test -f good", "--check", slow], &agent);
    sandbox.until_file("up");
    running.signal(rustix::process::Signal::INT);
    // Two of a kind that are pending at once are one.
    sandbox.until_fact("the first signal is heard", |fact| fact == "stop_asked");
    running.signal(rustix::process::Signal::INT);
    running.end().exits(130);
    sandbox.sh("rm good; touch resumed");
    sandbox.ralph(&["resume"]).exits(1).says("check: test -f good failed");
}

/// What stands at the name of the log may be anything: the check can put it there.
#[test]
fn a_check_that_puts_something_else_in_the_place_of_its_log_is_read_all_the_same() {
    for deed in ["mkfifo $log", "ln -s /nowhere $log", "ln -s /etc/passwd $log", "mkdir $log"] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let check = format!("echo what is wrong; log=$(ls .ralph/guardrail_*); rm $log; {deed}; exit 1");
        let agent = sandbox.agent(&json!([[{"say": "<response>DONE</response>"}]]));
        let result = sandbox.run(&["-p", "x", "-n", "1", "--format", "json", "--check", &check], &agent);
        let result = result.stops(1, "max_iterations", 1);
        let output = &result["iterations"][0]["check_results"][0]["output"];
        assert_eq!(output, "failed with exit code 1: what is wrong", "{deed}");
    }
}
