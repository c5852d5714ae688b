//! Seed 003, "Ralph Loop — Automatic Iteration with Checks", section by section: each test is
//! named after a heading.
//!
//! A section is true of the program as it stands, or of what DESIGN.md decided about it; then
//! a comment says so. The library's runs are in `tests/library.rs`: a run makes its process
//! the reaper of orphans, which the tests beside it here must not have.

use crate::support::{Agent, Ran, Sandbox, lasting};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const DONE: &str = "<response>DONE</response>";

/// `ralph loop ARGS -- AGENT`, as the seed writes it.
fn ralph_loop(sandbox: &Sandbox, args: &[&str], agent: &Agent) -> Ran {
    let words = agent.words();
    sandbox.ralph(&[&["loop"], args, &["--"], &words[..]].concat())
}

/// Each agent keeps its prompt beside the project and its number in it.
fn worker(sandbox: &Sandbox, then: &str) -> Agent {
    sandbox.sh_agent(&format!("cat > \"$RALPH_HOME/../prompt-$RALPH_ITERATION\"; {then}"))
}

fn prompt(sandbox: &Sandbox, iteration: u32) -> String {
    fs::read_to_string(sandbox.root().join(format!("prompt-{iteration}"))).unwrap()
}

#[track_caller]
fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn concept_clean_context() {
    let sandbox = Sandbox::git();
    // Wrong, then half right, then right; each agent is a process that knows only its prompt.
    let then = format!("echo $$ >> ../pids; echo \"try $RALPH_ITERATION\" > code; echo '{DONE}'");
    let agent = worker(&sandbox, &then);
    let test = "grep -q 'try [23]' code || { echo 'test error on line 42'; exit 1; }";
    let lint = "grep -q 'try [13]' code || { echo 'lint warning'; exit 1; }";
    let args = ["the original spec", "--check", test, "--check", lint, "--format", "json"];
    ralph_loop(&sandbox, &args, &agent).stops(0, "completed", 3);
    let (first, second, third) = (prompt(&sandbox, 1), prompt(&sandbox, 2), prompt(&sandbox, 3));
    assert!(!first.contains("Progress so far") && !first.contains("Changed since"), "{first}");
    has_all(&second, &["the original spec", "test error on line 42", "+try 1", "## Iteration 1 — FAIL"]);
    has_all(&third, &["the original spec", "lint warning", "+try 2", "## Iteration 2 — FAIL"]);
    assert!(
        !third.contains("Output (truncated):\ntest error"),
        "errors of the iteration before only\n{third}"
    );
    let pids = fs::read_to_string(sandbox.root().join("pids")).unwrap();
    let mut pids: Vec<&str> = pids.lines().collect();
    pids.dedup();
    assert_eq!(pids.len(), 3, "a new process each");
}

#[test]
fn basic_usage() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.sh_agent(&format!("echo x >> tries; echo '{DONE}'"));
    let passes_at = |n: u32| format!("test $(wc -l < tries) -ge {n}");
    let run = |checks: &[&str]| {
        let flags: Vec<&str> = checks.iter().flat_map(|check| ["--check", check]).collect();
        ralph_loop(
            &sandbox,
            &[&["implementa autenticación JWT", "--format", "json"], &flags[..]].concat(),
            &agent,
        )
    };
    run(&[&passes_at(2)]).stops(0, "completed", 2);
    // Several: all must pass.
    run(&[&passes_at(1), &passes_at(5), &passes_at(4)]).stops(0, "completed", 3);
}

#[test]
fn with_spec_file() {
    let sandbox = Sandbox::bare();
    sandbox.write("requirements/auth-spec.md", "# What it must do\n");
    let agent = worker(&sandbox, &format!("[ $RALPH_ITERATION = 1 ] && echo no || echo '{DONE}'"));
    let args = ["implementar según spec", "--spec", "requirements/auth-spec.md", "--check", "true"];
    ralph_loop(&sandbox, &args, &agent).exits(0);
    for n in [1, 2] {
        let prompt = prompt(&sandbox, n);
        assert!(prompt.starts_with("# What it must do\n"), "{prompt}");
        assert!(!prompt.contains("implementar"), "instead of the task: {prompt}");
    }
}

#[test]
fn with_isolated_worktree() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent(&format!("echo new > made; echo '{DONE}'"));
    let args =
        ["migrar", "--check", "test -f made", "--worktree", "--max-iterations", "10", "--format", "json"];
    let result = ralph_loop(&sandbox, &args, &agent).stops(0, "completed", 1);
    // Decided: .ralph/worktrees/<run>, branch ralph/<run>, so that several fit.
    let path = PathBuf::from(result["worktree_path"].as_str().unwrap());
    assert_eq!(path, sandbox.project().join(".ralph/worktrees").join(sandbox.only_run()));
    assert!(path.join("made").exists() && !sandbox.has("made"));
}

#[test]
fn options() {
    let sandbox = Sandbox::git();
    sandbox.write("spec.md", "SPEC");
    sandbox.write("more.yaml", "ralph_loop:\n  max_iterations: 3\n");
    sandbox.claude(&json!([[{"save_args": "../args"}, {"say": "<response>READY</response>"}]]));
    // Decided: -c is the completion response; --config has no short form.
    let args = [
        "loop",
        "TASK",
        "--check",
        "true",
        "--check",
        "test 1 = 1",
        "--spec",
        "spec.md",
        "--max-iterations",
        "4",
        "--max-cost",
        "5.0",
        "--max-time",
        "600",
        "--completion-tag",
        "READY",
        "--agent",
        "build",
        "--model",
        "gpt-4o",
        "--config",
        "more.yaml",
        "--quiet",
    ];
    sandbox.ralph(&args).exits(0);
    let args = fs::read_to_string(sandbox.root().join("args")).unwrap();
    assert!(args.contains("--model\ngpt-4o\n"), "{args}");
    // Decided: a check is optional, 10 iterations and DONE are the defaults.
    let agent = sandbox.sh_agent("echo '<response>COMPLETE</response>'");
    ralph_loop(&sandbox, &["TASK", "--format", "json"], &agent).stops(1, "max_iterations", 10);
    ralph_loop(&sandbox, &["TASK", "--completion-tag", "COMPLETE"], &agent).exits(0);
}

#[test]
fn execution_flow() {
    let sandbox = Sandbox::git();
    let then = "seq -f 'line %g' 2000 > big; touch new; echo not yet";
    let agent = worker(&sandbox, then);
    let check = "seq 5000; false";
    ralph_loop(&sandbox, &["the task", "--check", check, "-n", "2", "-c", "READY"], &agent).exits(1);
    let text = prompt(&sandbox, 2);
    let order = [
        "the task\n",
        "Check \"seq 5000; false\" failed with exit code 1.",
        "This is iteration 2 of 2.",
        "<response>READY</response>",
        "\n- seq 5000; false\n",
        "Changed since the run started:\n",
        "... [truncated]\n",
        "Progress so far:\n## Iteration 1 — FAIL\n",
    ];
    let at: Vec<usize> = order
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("no {part:?} in\n{text}")))
        .collect();
    assert!(at.is_sorted(), "{at:?}\n{text}");
    let diff = text
        .split("Changed since the run started:\n")
        .nth(1)
        .unwrap()
        .split("... [truncated]")
        .next()
        .unwrap();
    assert_eq!(diff.chars().count(), 5000, "the first characters of the diff, new files included");
    let (stat, _) = diff.split_once("diff --git").unwrap();
    assert!(stat.contains(" big | 2000 +") && stat.contains(" new |"), "every file comes first: {stat}");
    let steps: Vec<String> = sandbox
        .facts()
        .iter()
        .filter_map(|fact| {
            let step = fact["began"]["step"].as_object()?;
            step.keys().next().cloned()
        })
        .collect();
    let order = ["snapshot", "prepare", "agent", "check", "snapshot", "agent", "check"];
    assert_eq!(steps[..7], order, "the tree is recorded, the agent works, the checks run");
}

#[test]
fn clean_context_per_iteration() {
    let sandbox = Sandbox::bare();
    sandbox.claude(&json!([
        [{"save_args": "args-1"}, {"say": "one"}, {"cost": 0.25}],
        [{"save_args": "args-2"}, {"say": DONE}, {"cost": 0.5}],
    ]));
    let result = sandbox.ralph(&["loop", "x", "--format", "json"]).stops(0, "completed", 2);
    assert_eq!(lasting(&sandbox.read("args-1")), lasting(&sandbox.read("args-2")));
    assert!(!sandbox.read("args-2").contains("resume"), "no session is carried on");
    assert_eq!(result["total_cost"], 0.75, "the cost is added up outside");
}

#[test]
fn checks() {
    let sandbox = Sandbox::bare();
    let agent = worker(&sandbox, &format!("echo '{DONE}'"));
    let run = |check: &str| {
        let ran = ralph_loop(&sandbox, &["x", "-n", "2", "--format", "json", "--check", check], &agent);
        ran.json()["iterations"][0]["check_results"][0].clone()
    };
    assert_eq!(run("pwd > where; true")["passed"], true);
    assert_eq!(sandbox.read("where").trim_end(), sandbox.project().to_str().unwrap());
    assert_eq!(
        run("exit 7"),
        json!({"name": "exit 7", "passed": false, "output": "failed with exit code 7"})
    );
    sandbox.settings(&json!({"checkTimeout": 0.3}));
    assert_eq!(run("sleep 600")["output"], "timed out after 0.3s");
    assert!(prompt(&sandbox, 2).contains("Check \"sleep 600\" failed: timed out after 0.3s."));
    sandbox.settings(&json!({}));
    run("printf %03000d 1; echo ' the end' >&2; false");
    let prompt = prompt(&sandbox, 2);
    let output = prompt.split("Output (truncated):\n").nth(1).unwrap().split("\n\n---\n").next().unwrap();
    let tail = output.strip_prefix("[truncated] ...").unwrap();
    assert!(tail.ends_with("01 the end"), "both streams, and their end: {tail}");
    assert!((1999..=2000).contains(&tail.chars().count()), "{}", tail.chars().count());
}

#[test]
fn progress_file() {
    let sandbox = Sandbox::bare();
    sandbox.claude(&json!([
        [{"say": "a"}, {"say": "b"}, {"cost": 0.0234}],
        [{"write": {"path": "fixed", "content": ""}}, {"save_prompt": "../told"}, {"say": DONE}, {"cost": 0.0089}],
    ]));
    let ruff = "test -f fixed || { echo 'src/auth.py:42:1: error F841'; exit 1; }";
    sandbox.ralph(&["loop", "x", "--check", "true", "--check", ruff]).exits(0);
    // Decided: in English, in .ralph/progress.md.
    let progress = sandbox.tidy(&sandbox.read(".ralph/progress.md"));
    let sections: Vec<&str> = progress.trim_end().split("\n\n").collect();
    assert_eq!(
        sections[0],
        format!(
            "## Iteration 1 — FAIL\n- Steps: 2\n- Cost: $0.0234\n- Duration: [TIME]\n- Checks:\n  - true: PASS\n  \
             - {ruff}: FAIL — failed with exit code 1: src/auth.py:42:1: error F841"
        )
    );
    has_all(sections[1], &["## Iteration 2 — PASS\n", "- Cost: $0.0089\n", "  - true: PASS\n"]);
    assert_eq!(sections.len(), 2);
    let prompt = fs::read_to_string(sandbox.root().join("told")).unwrap();
    assert!(sandbox.tidy(&prompt).contains(sections[0]), "the next prompt has it\n{prompt}");
}

#[test]
fn safety_nets() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[{"say": "not yet"}, {"cost": 0.2}]]));
    let run = |flags: &[&str]| sandbox.ralph(&[&["loop", "x", "--format", "json"], flags].concat());
    run(&["--max-iterations", "2"]).stops(1, "max_iterations", 2);
    // Decided: an iteration that would mostly cost more than is left is not begun.
    let result = run(&["--max-cost", "0.3"]).stops(1, "budget_exhausted", 1);
    assert!((result["total_cost"].as_f64().unwrap() - 0.2).abs() < 1e-9);
    // The time counts over all iterations, and a step that is under way is ended by it.
    let ran =
        ralph_loop(&sandbox, &["x", "--format", "json", "--max-time", "1"], &sandbox.sh_agent("sleep 600"));
    ran.stops(1, "timeout", 1);
    // Decided: success is `completed`, not `all_checks_passed`.
    let agent = sandbox.sh_agent(&format!("echo '{DONE}'"));
    ralph_loop(&sandbox, &["x", "--format", "json", "--check", "true"], &agent).stops(0, "completed", 1);
}

#[test]
fn worktrees() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent(&format!("echo $RALPH_ITERATION >> made; pwd >> made; echo '{DONE}'"));
    let check = "test $(wc -l < made) -ge 4";
    let result = ralph_loop(&sandbox, &["x", "--check", check, "--worktree", "--format", "json"], &agent)
        .stops(0, "completed", 2);
    let (run, path) = (sandbox.only_run(), result["worktree_path"].as_str().unwrap().to_owned());
    let made = fs::read_to_string(PathBuf::from(&path).join("made")).unwrap();
    assert_eq!(made, format!("1\n{path}\n2\n{path}\n"), "all iterations work in it");
    // It stays until it is removed; decided: what is left is committed on its branch.
    let diff = sandbox.sh(&format!("cd '{path}' && git diff HEAD~1"));
    assert!(diff.contains("+++ b/made"), "{diff}");
    sandbox.ralph(&["clean"]).exits(0);
    assert!(PathBuf::from(&path).exists(), "unmerged work is not removed");
    sandbox.sh(&format!("git checkout -q main && git merge -q ralph/{run}"));
    assert_eq!(sandbox.read("made"), made);
    sandbox.sh(&format!("git worktree remove '{path}' && git branch -q -D ralph/{run}"));
    assert_eq!(sandbox.sh("git worktree list | wc -l").trim(), "1");
}

#[test]
fn yaml_configuration() {
    let sandbox = Sandbox::bare();
    let yaml = "ralph_loop:\n  max_iterations: 3 # 1-100\n  max_cost: null\n  max_time: null\n  \
                completion_tag: \"COMPLETE\"\n  agent: build\n";
    sandbox.write("config.yaml", yaml);
    sandbox.claude(&json!([[{"say": DONE}], [{"say": DONE}], [{"say": "<response>COMPLETE</response>"}]]));
    let run = |flags: &[&str]| {
        sandbox.ralph(&[&["loop", "x", "--config", "config.yaml", "--format", "json"], flags].concat())
    };
    run(&[]).stops(0, "completed", 3);
    run(&["--max-iterations", "1", "--completion-tag", "NEVER"]).stops(1, "max_iterations", 1);
    sandbox.write("config.yaml", "ralph_loop:\n  max_iterations: 0\n");
    run(&[]).exits(2).says("ralph_loop.max_iterations");
}

#[test]
fn result_fields() {
    // RalphConfig: every field of it is one of the library's.
    let prompt = ralph::Prompt {
        task: "x".into(),
        spec_file: Some("spec.md".into()),
        completion_response: Some("COMPLETE".into()),
        ..ralph::Prompt::default()
    };
    let config = ralph::Config {
        checks: vec!["true".into()],
        max_iterations: Some(25),
        max_cost: Some(2.0),
        max_time: Some(Duration::from_secs(600)),
        agent: ralph::Agent::named("build"),
        model: Some("gpt-4o".into()),
        use_worktree: true,
        ..prompt.into()
    };
    assert!(config.project_dir.is_none(), "workspace_root; the current directory if not set");

    // RalphLoopResult and LoopIteration are what `--format json` prints.
    let sandbox = Sandbox::git();
    sandbox.plain_settings();
    sandbox.claude(&json!([
        [{"exit": 3}],
        [{"say": "one"}, {"say": DONE}, {"cost": 0.5}],
    ]));
    let args = ["loop", "x", "--format", "json", "--worktree", "--check", "true"];
    let result = sandbox.ralph(&args).stops(0, "completed", 2);
    assert_eq!(result["total_cost"], 0.5);
    assert!(result["total_duration"].as_f64().unwrap() > 0.0);
    assert!(PathBuf::from(result["worktree_path"].as_str().unwrap()).is_absolute());
    let [first, second] = &result["iterations"].as_array().unwrap()[..] else { panic!("{result:#}") };
    assert!(first["error"].is_string() && first["all_checks_passed"] == false, "{first:#}");
    let mut second = second.clone();
    assert!(second["duration"].take().as_f64().unwrap() > 0.0);
    let expected = json!({
        "iteration": 2, "steps_taken": 2, "cost": 0.5, "cost_estimated": false, "duration": null,
        "check_results": [{"name": "true", "passed": true, "output": "passed"}],
        "all_checks_passed": true, "completion_tag_found": true, "error": null, "denied_tool_calls": 0,
        "end": "answered", "proof": null,
    });
    assert_eq!(second["proof"].take()["word"], "nothing_changed");
    assert_eq!(second, expected);
}

#[test]
fn advanced_examples_budget_and_timeout() {
    let sandbox = Sandbox::bare();
    sandbox.write("spec.md", "feature X\n");
    sandbox.program("pytest", "test -f fixed");
    sandbox.program("ruff", "echo \"$@\" > ../ruff");
    sandbox.claude(&json!([
        [{"say": DONE}, {"cost": 1.0}],
        [{"write": {"path": "fixed", "content": ""}}, {"save_args": "../args"}, {"say": DONE}, {"cost": 1.0}],
    ]));
    let args = [
        "loop",
        "implementa feature X según la spec",
        "--spec",
        "spec.md",
        "--check",
        "pytest tests/ -x",
        "--check",
        "ruff check src/",
        "--max-iterations",
        "10",
        "--max-cost",
        "3.0",
        "--max-time",
        "600",
        "--model",
        "gpt-4o",
        "--format",
        "json",
    ];
    let result = sandbox.ralph(&args).stops(0, "completed", 2);
    assert_eq!(result["total_cost"], 2.0);
    let kept = |name: &str| fs::read_to_string(sandbox.root().join(name)).unwrap();
    assert_eq!(kept("ruff"), "check src/\n");
    assert!(lasting(&kept("args")).ends_with(&["--model", "gpt-4o"]));
}

#[test]
fn loop_in_ci() {
    let sandbox = Sandbox::bare();
    sandbox.program("pytest", "test -f fixed");
    sandbox.claude(&json!([[{"save_prompt": "../told"}, {"say": "chatter"}, {"say": DONE}, {"cost": 0.1}]]));
    let ci = |body: &str| {
        let mut command = sandbox.command("sh");
        let script =
            "\"$RALPH\" loop \"$BODY\" --check 'pytest tests/ -q' --max-iterations 2 --max-cost 2.0 --quiet";
        command.args(["-c", script]).env("RALPH", crate::support::RALPH).env("BODY", body).env("CI", "true");
        sandbox.spawn(command).end()
    };
    let body = "Fix `it`; $(touch pwned)\n\"now\"";
    let ran = ci(body).exits(1);
    // The result only, and where to look.
    assert!(ran.stdout.trim_start().starts_with("[ERR] max_iterations: "), "{}", ran.stdout);
    assert_eq!(ran.stdout.trim().lines().count(), 2, "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
    let prompt = fs::read_to_string(sandbox.root().join("told")).unwrap();
    assert!(prompt.starts_with(body) && !sandbox.has("pwned"), "{prompt}");
    sandbox.write("fixed", "");
    let ran = ci(body).exits(0);
    assert!(ran.stdout.trim().starts_with("[OK] completed: ") && !ran.stdout.contains("chatter"));
}

#[test]
fn loop_with_worktree_for_experimentation() {
    let sandbox = Sandbox::git();
    let agent = sandbox.sh_agent(&format!("echo async > code; echo '{DONE}'"));
    let args = ["migra a async/await", "--check", "test -f code", "--worktree", "--max-iterations", "15"];
    let ran = ralph_loop(&sandbox, &args, &agent).exits(0);
    let branch = format!("ralph/{}", sandbox.only_run());
    let ran = ran
        .says(&format!("show:     git diff HEAD...{branch}"))
        .says(&format!("merge:    git merge {branch}"));
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    assert!(sandbox.sh(&format!("git diff main...{branch}")).contains("+async"));
    sandbox.sh(&format!("git merge -q {branch}"));
    assert_eq!(sandbox.read("code"), "async\n");
    sandbox.ralph(&["clean"]).exits(0);
    assert_eq!(sandbox.sh("git worktree list | wc -l").trim(), "1", "merged, it is removed");
}
