//! Flags that mean the same in every plan, and those that people bring along from other tools.

use crate::stories_run::stage::Stage;
use crate::support::Sandbox;
use crate::tasks_support::{list, new, project};
use serde_json::json;

#[test]
fn a_dry_run_of_a_prompt_shows_what_the_agent_would_be_asked_and_starts_nothing() {
    let sandbox = Sandbox::git();
    sandbox.program("agent", "touch started");
    let args = ["run", "Fix it.", "-d", "--worktree", "--check", "true", "--", "agent"];
    let shown = sandbox.ralph(&args).exits(0).stdout;
    for part in ["agent: ", "check: true\n", "--- iteration 1\nFix it.\n", "Nothing was started.\n"] {
        assert!(shown.contains(part), "{part:?} in\n{shown}");
    }
    assert_eq!(sandbox.runs(), [""; 0]);
    assert!(!sandbox.has("started") && !sandbox.has(".ralph/worktrees"));
}

#[test]
fn a_dry_run_of_tasks_shows_the_next_story_and_starts_nothing() {
    let sandbox = project(&list(&[new("US-001")]));
    let before = sandbox.read("ralph/tasks.json");
    let shown = sandbox.ralph(&["tasks", "-d", "--stay", "--", "true"]).exits(0).stdout;
    assert!(shown.contains("--- iteration 1: story US-001, implement\n"), "{shown}");
    assert!(shown.contains("Mode: **implement**") && shown.ends_with("Nothing was started.\n"), "{shown}");
    assert_eq!(sandbox.read("ralph/tasks.json"), before);
    assert_eq!(sandbox.runs(), [""; 0]);
    let broken = "{\"userStories\": [";
    sandbox.write("ralph/tasks.json", broken);
    sandbox.ralph(&["tasks", "-d", "--stay", "--", "true"]).exits(2);
}

#[test]
fn every_plan_logs_to_the_file_that_is_named() {
    let sandbox = Sandbox::bare();
    sandbox.ralph(&["run", "x", "-n", "1", "-l", "run.log", "--", "echo", "hello"]).exits(1);
    assert!(sandbox.read("run.log").contains("max_iterations"), "{}", sandbox.read("run.log"));
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.ralph(&["tasks", "--stay", "-n", "1", "-l", "../tasks.log", "--", "echo", "hello"]).exits(1);
    assert!(sandbox.read("../tasks.log").contains("max_iterations"), "{}", sandbox.read("../tasks.log"));
}

#[test]
fn failures_in_a_row_end_tasks_and_stories_too() {
    let sandbox = project(&list(&[new("US-001")]));
    sandbox.settings(&json!({"backoff": {"base": 0, "cap": 0}}));
    let args = ["tasks", "--stay", "--max-failures", "2", "--format", "json", "--", "false"];
    sandbox.ralph(&args).stops(1, "too_many_failures", 2);
    let stage = Stage::new("1.1 1.2");
    let args = ["stories", "--max-failures", "2", "--format", "json", "--", "false"];
    stage.sandbox.ralph(&args).stops(1, "too_many_failures", 2);
}

#[test]
fn a_check_has_the_time_that_the_flag_gives_it_in_every_plan() {
    let sandbox = project(&list(&[new("US-001")]));
    let timed = ["--check", "sleep 600", "--check-timeout", "100ms", "-n", "1", "--", "echo", "hello"];
    for plan in [&["run", "x"][..], &["tasks", "--stay"]] {
        sandbox.ralph(&[plan, &timed].concat()).exits(1).says("timed out");
    }
    let stage = Stage::new("1.1");
    stage.sandbox.ralph(&[&["stories"], &timed[..]].concat()).exits(1).says("timed out");
}

#[test]
fn attempts_at_a_story_that_fail_alike_are_a_stall_if_the_flag_is_given() {
    let asked = |given: &[&str], script: &str| {
        let stage = Stage::new("1.1");
        let args = [&["--max-retries", "4", "--check", "false", "--format", "json"], given].concat();
        stage.run(&args, script)
    };
    let given = ["--stall-after", "2"];
    asked(&given, "DONE").stops(1, "stalled", 2);
    asked(&given, "echo same > part; git add part; DONE").stops(1, "stalled", 2);
    // Each of them tries something else.
    asked(&given, "echo $try > part; DONE").stops(1, "halted", 4);
    asked(&[], "DONE").stops(1, "halted", 4);
}

#[test]
fn iterations_that_bring_no_task_further_are_a_stall_after_as_many_as_the_flag_says() {
    let sandbox = project(&list(&[new("US-001")]));
    let args = ["tasks", "--stay", "--stall-after", "2", "--format", "json", "--", "echo", "hello"];
    sandbox.ralph(&args).stops(1, "stalled", 2);
    let sandbox = project(&list(&[new("US-001")]));
    let off = [&args[..3], &["0", "-n", "7"], &args[4..]].concat();
    sandbox.ralph(&off).stops(1, "max_iterations", 7);
}

#[test]
fn habits_from_other_tools_get_the_way_out() {
    let sandbox = Sandbox::bare();
    sandbox.write("ralph.toml", "");
    sandbox.program("agent", "touch started");
    for (args, message, hint) in [
        (&["run", "x", "-m", "20"][..], "-m is the agent's model, not a number: 20", "did you mean -n 20?"),
        (
            &["run", "x", "-c", "ralph.toml"],
            "the word the agent says when it is done, not a file",
            "did you mean --config ralph.toml?",
        ),
        (&["run", "x", "-V"], "-V prints the version and does not run anything", "use -v for debug output"),
        (&["run", "-V", "x"], "-V prints the version and does not run anything", "use -v for debug output"),
        (&["run", "- fix the tests"], "starts with a dash", "pass it with -p"),
        (&["run", "-p", "--check", "true"], "-p is followed by a flag", "say what to do"),
        (&["run", "x", "--check", "--", "agent"], "--check is followed by a flag", "--check=--"),
        (&["run", "x", "--check", "-q"], "--check is followed by a flag", "--check=-q"),
        (&["set", "--done-pattern", "--help-me"], "followed by a flag", "--done-pattern=--help-me"),
        (&["tasks", "add", "x", "--criterion", "-q"], "--criterion is followed", "--criterion=-q"),
        (&["tasks", "-c", "ralph.toml"], "`ralph tasks` has no -c", "did you mean --config ralph.toml?"),
        (&["stories", "-n", "2", "-c", "ralph.toml"], "has no -c", "did you mean --config ralph.toml?"),
        (&["tasks", "-d", "plans"], "-d is --dry-run", "--ralph-dir plans"),
        (&["run", "x", "--", "agent", "-m", "{model}"], "{model}", "set it with -m"),
    ] {
        sandbox.ralph(args).exits(2).says(message).says(hint);
    }
    assert!(!sandbox.has("started") && sandbox.runs().is_empty());
    sandbox.ralph(&["run", "-V"]).exits(0);
    sandbox.ralph(&["-V"]).exits(0);
}

#[test]
fn a_prompt_may_begin_with_a_dash() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.program("agent", "cat > told; echo '<response>DONE</response>'");
    sandbox.ralph(&["run", "-p", "- item one\n- item two", "--", "agent"]).exits(0);
    assert_eq!(sandbox.read("told"), "- item one\n- item two");
}

#[test]
fn only_commands_with_a_prompt_get_a_hint_about_prompts() {
    let sandbox = Sandbox::bare();
    for args in [&["tasks", "- fix it"][..], &["set", "- fix it"], &["pause", "- fix it"]] {
        let refused = sandbox.ralph(args).exits(2);
        assert!(!refused.stderr.contains("-p"), "{}", refused.stderr);
    }
}

#[test]
fn values_may_begin_with_a_dash() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.program("agent", "cat > told; echo '- all done'");
    sandbox.program("-", "exit 3");
    let checked =
        ["run", "--prompt=-item", "--done-pattern", "- all", "--check", "- item", "-n", "1", "--", "agent"];
    sandbox.ralph(&checked).exits(1).says("- item");
    assert!(sandbox.read("told").starts_with("-item"), "{}", sandbox.read("told"));
    let id = sandbox.only_run();
    sandbox.ralph(&["set", &id, "--done-pattern", "- x"]).exits(0).says("set done-pattern of ");
    for note in [&["say", &id, "- item"][..], &["say", "- item", &id], &["say", &id, "--", "-item"]] {
        sandbox.ralph(note).exits(0).says("added to the next prompt");
    }
    sandbox.ralph(&["say", "- item"]).exits(1).says("no run is running in this directory");
    sandbox.ralph(&["say", "- item", "-C", "."]).exits(1).says("no run is running in this directory");
    sandbox.ralph(&["say", &id, "-item"]).exits(2);
    let sandbox = project(&list(&[new("US-001")]));
    let add = ["tasks", "add", "x", "--criterion", "- item", "--description", "- more"];
    sandbox.ralph(&add).exits(0);
    sandbox.ralph(&["tasks", "show", "US-002"]).exits(0).says("- item").says("- more");
}
