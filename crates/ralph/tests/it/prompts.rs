//! What the agent is told, iteration by iteration.

use crate::support::Sandbox;
use serde_json::json;

#[test]
fn a_failed_check_is_told_to_the_next_agent_word_for_word() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("report", "line 1\nline 2: wrong\n");
    let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "Working on it."}]]));
    sandbox.run(&["-p", "BASE", "-n", "2", "--check", "cat report; exit 3"], &agent).exits(1);
    assert_eq!(sandbox.read("prompt-1"), "BASE");
    assert_eq!(
        sandbox.read("prompt-2"),
        "BASE\n\nCheck \"cat report; exit 3\" failed with exit code 3.\n\
         Output file: .ralph/guardrail_1_cat_report_exit_3.log\n\
         Output (truncated):\nline 1\nline 2: wrong"
    );
    assert_eq!(sandbox.read(".ralph/guardrail_1_cat_report_exit_3.log"), "line 1\nline 2: wrong\n");
}

#[test]
fn a_check_that_is_mended_is_told_no_more() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([
        [{"say": "Later."}],
        [{"write": {"path": "fixed", "content": ""}}, {"save_prompt": "prompt-2"}, {"say": "There."}],
        [{"save_prompt": "prompt-3"}, {"say": "<response>DONE</response>"}],
    ]));
    sandbox.run(&["-p", "BASE", "--check", "test -f fixed"], &agent).exits(0);
    assert!(sandbox.read("prompt-2").contains("Check \"test -f fixed\" failed"));
    assert_eq!(sandbox.read("prompt-3"), "BASE");
}

#[test]
fn the_end_of_a_long_output_is_told_counted_in_characters() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("report", format!("{}{}", "x".repeat(500), "ä".repeat(2_000)));
    let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "Working on it."}]]));
    sandbox.run(&["-p", "BASE", "-n", "2", "--check", "cat report; exit 1"], &agent).exits(1);
    let prompt = sandbox.read("prompt-2");
    let output = prompt.split("Output (truncated):\n").nth(1).unwrap();
    assert_eq!(output, format!("[truncated] ...{}", "ä".repeat(2_000)));
    let log = sandbox.read(".ralph/guardrail_1_cat_report_exit_1.log");
    assert_eq!(log, sandbox.read("report"), "the log is whole");
}

#[test]
fn the_beginning_of_a_guardrails_output_is_told() {
    let sandbox = Sandbox::bare();
    sandbox.write("report", "ü".repeat(6_000));
    sandbox.settings(&json!({
        "context": false,
        "guardrails": [{"command": "cat report; exit 1", "failAction": "APPEND"}],
    }));
    let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "Working."}]]));
    sandbox.run(&["-p", "BASE", "-n", "2"], &agent).exits(1);
    let prompt = sandbox.read("prompt-2");
    let output = prompt.split("Output (truncated):\n").nth(1).unwrap();
    assert_eq!(output, format!("{}... [truncated]", "ü".repeat(5_000)));
    sandbox.settings(&json!({
        "context": false, "outputTruncateChars": 10,
        "guardrails": [{"command": "cat report; exit 1", "failAction": "APPEND"}],
    }));
    sandbox.run(&["-p", "BASE", "-n", "2"], &agent).exits(1);
    assert!(sandbox.read("prompt-2").ends_with(&format!("\n{}... [truncated]", "ü".repeat(10))));
}

#[test]
fn guardrails_stand_where_their_fail_action_says() {
    let sandbox = Sandbox::bare();
    let guardrail = |name: &str, action: &str| json!({"command": format!("echo {name} says no; exit 1"), "failAction": action, "hint": format!("See {name}.")});
    let heads = |guardrails: serde_json::Value| {
        sandbox.settings(&json!({"context": false, "guardrails": guardrails}));
        let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "Working."}]]));
        sandbox.run(&["-p", "BASE", "-n", "2"], &agent).exits(1);
        sandbox.read("prompt-2")
    };
    let message = |name: &str| {
        format!(
            "Guardrail \"echo {name} says no; exit 1\" failed with exit code 1.\nHint: See {name}.\n\
             Output file: .ralph/guardrail_1_echo_{name}_says_no_exit_1.log\n\
             Output (truncated):\n{name} says no"
        )
    };
    let (a, p, r) = (message("a"), message("p"), message("r"));
    assert_eq!(heads(json!([guardrail("a", "APPEND")])), format!("BASE\n\n{a}"));
    assert_eq!(heads(json!([guardrail("p", "PREPEND")])), format!("{p}\n\nBASE"));
    assert_eq!(heads(json!([guardrail("r", "REPLACE")])), r);
    assert_eq!(
        heads(json!([guardrail("a", "APPEND"), guardrail("r", "REPLACE"), guardrail("p", "PREPEND")])),
        format!("{p}\n\n{r}\n\n{a}")
    );
}

#[test]
fn the_prompt_file_is_read_anew_for_each_iteration() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("PROMPT.md", "first\n");
    let agent = sandbox.agent(&json!([
        [{"save_prompt": "prompt-1"}, {"write": {"path": "PROMPT.md", "content": "second\n"}}, {"say": "x"}],
        [{"save_prompt": "prompt-2"}, {"say": "<response>DONE</response>"}],
    ]));
    sandbox.run(&["-f", "PROMPT.md"], &agent).exits(0);
    assert_eq!([sandbox.read("prompt-1"), sandbox.read("prompt-2")], ["first\n", "second\n"]);
}

#[test]
fn a_prompt_comes_from_exactly_one_place() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("P.md", "from the file");
    let agent = sandbox.agent(&json!([[{"save_prompt": "told"}, {"say": "<response>DONE</response>"}]]));
    for (args, expected) in [
        (&["from the task"][..], "from the task"),
        (&["-p", "from the flag"], "from the flag"),
        (&["-f", "P.md"], "from the file"),
        (&["--spec", "P.md"], "from the file"),
        (&["a title", "--spec", "P.md"], "from the file"),
    ] {
        sandbox.run(args, &agent).exits(0);
        assert_eq!(sandbox.read("told"), expected, "{args:?}");
    }
    let runs = sandbox.runs().len();
    for args in [
        &["a task", "-p", "x"][..],
        &["a task", "-f", "P.md"],
        &["-p", "x", "-f", "P.md"],
        &["-p", "x", "--spec", "P.md"],
        &["-f", "P.md", "--spec", "P.md"],
        &["a task", "-p", "x", "--spec", "P.md"],
    ] {
        sandbox.run(args, &agent).exits(2).says("more than one prompt was given: ");
    }
    for args in [&[][..], &["-n", "3"]] {
        sandbox.run(args, &agent).exits(2).says("no prompt was given").says("hint: ");
    }
    for args in [&[" \n"][..], &["-p", ""]] {
        sandbox.run(args, &agent).exits(2).says("the prompt is empty");
    }
    assert_eq!(sandbox.runs().len(), runs, "what is refused leaves no run");
}

#[test]
fn the_context_tells_how_to_finish_what_changed_and_how_it_went() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([
        [{"write": {"path": "new.txt", "content": "hello from the first\n"}}, {"say": "Some."}],
        [{"save_prompt": "prompt-2"}, {"say": "<response>DONE</response>"}],
    ]));
    sandbox.run(&["-p", "BASE", "-n", "3", "--check", "test -f prompt-2"], &agent).exits(0);
    let prompt = sandbox.read("prompt-2");
    for part in [
        "BASE\n\nCheck \"test -f prompt-2\" failed",
        "This is iteration 2 of 3.",
        "end your answer with this line:\n<response>DONE</response>\n",
        "- test -f prompt-2\n",
        "+hello from the first\n",
        "## Iteration 1 — FAIL\n",
    ] {
        assert!(prompt.contains(part), "{part:?} is missing in:\n{prompt}");
    }
}

#[test]
fn the_progress_file_is_of_this_run_only() {
    let sandbox = Sandbox::git();
    let agent = sandbox.agent(&json!([[{"say": "x"}]]));
    sandbox.run(&["-p", "BASE", "-n", "2"], &agent).exits(1);
    sandbox.run(&["-p", "BASE", "-n", "1"], &agent).exits(1);
    let progress = sandbox.read(".ralph/progress.md");
    assert_eq!(progress.matches("## Iteration ").count(), 1, "{progress}");
    assert_eq!(sandbox.sh("git status --porcelain"), "", "ralph's own files are no changes");
}

#[test]
fn what_ralph_writes_is_no_change_of_the_run() {
    let sandbox = Sandbox::git();
    sandbox.write(".ralph/progress.md", "of an earlier run\n");
    sandbox.sh("git add -f .ralph/progress.md && git commit -q -m progress");
    let agent = sandbox.sh_agent("cat > ../told; echo x >> made; echo x >> progress.txt; echo on it");
    sandbox.run(&["-p", "x", "-n", "3"], &agent).exits(1);
    let prompt = sandbox.read("../told");
    let (_, diff) = prompt.split_once("Changed since the run started:\n").unwrap();
    assert!(diff.contains("+++ b/made\n"), "{prompt}");
    // A file of that name is ralph's only where it works through stories.
    assert!(diff.contains("+++ b/progress.txt\n") && !diff.contains("b/.ralph/progress.md"), "{prompt}");
}
