//! Seed 001, "Ralph Loop Harness", section by section: each test is named after a heading.
//!
//! A section is true of the program as it stands, or of what DESIGN.md or FACTS.md decided
//! about it; then a comment says so. The interactive part of "Init Command" is in
//! `tests/settings/init.rs`, on a real terminal; "Agent Streaming Formats" is in `streaming`.

mod streaming;

use crate::support::{RALPH, Sandbox, lasting, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

const DONE: &str = "<response>DONE</response>";
const MESSAGE_PROMPT: &str =
    "Provide a short imperative commit message for the changes. Output only the message, no explanation.";

/// A program that keeps its arguments (`args`, one a line) and its input (`stdin`) beside the
/// project, does some work, and prints these lines. Asked for a commit message, it keeps
/// `text-args` and `text-stdin` instead and says `text`, in the file after `-o` if there is one.
fn speaker(sandbox: &Sandbox, name: &str, work: &str, lines: &[Value]) {
    let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(sandbox.root().join(format!("{name}.jsonl")), stream).unwrap();
    let body = format!(
        r#"in=$(cat; echo .)
case "$*$in" in
*'commit message'*) keep=text-;;
*) keep=;;
esac
printf '%s\n' "$@" > "../${{keep}}args"
printf '%s' "${{in%.}}" > "../${{keep}}stdin"
if [ -z "$keep" ]; then {work}; cat ../{name}.jsonl; exit; fi
while [ $# -gt 1 ]; do
    if [ "$1" = -o ]; then echo 'Add the words' > "$2"; echo chatter; exit; fi
    shift
done
echo 'Add the words'"#
    );
    sandbox.program(name, &body);
}

fn kept(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.root().join(name)).unwrap()
}

fn words(sandbox: &Sandbox, name: &str) -> String {
    let words = lasting(&kept(sandbox, name)).join(" ");
    // The guard, in the form that Codex takes.
    match (words.split_once(" -c hooks.PreToolUse="), words.split_once(" --dangerously-bypass-hook-trust")) {
        (Some((before, _)), Some((_, after))) => format!("{before}{after}"),
        _ => words,
    }
}

fn claude_says(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "system", "subtype": "init", "session_id": "s-1"}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}),
        json!({"type": "result", "result": text, "total_cost_usd": 0.05}),
    ]
}

fn codex_says(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "thread.started", "thread_id": "t-1"}),
        json!({"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": text}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 800, "output_tokens": 500}}),
    ]
}

fn amp_says(text: &str) -> Vec<Value> {
    vec![
        json!({"type": "system", "subtype": "init", "session_id": "T-1", "tools": ["Read"]}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}),
        json!({"type": "result", "subtype": "success", "result": text, "duration_ms": 1234, "num_turns": 3}),
    ]
}

/// The three agents of the seed, each saying that it is done.
fn all_speakers(sandbox: &Sandbox, work: &str) {
    speaker(sandbox, "claude", work, &claude_says(DONE));
    speaker(sandbox, "codex", work, &codex_says(DONE));
    speaker(sandbox, "amp", work, &amp_says(DONE));
}

#[track_caller]
fn has_line(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
}

#[test]
fn cli_subcommands() {
    let sandbox = Sandbox::bare();
    // Decided: -V is the version, -v is --verbose.
    for flag in ["--version", "-V"] {
        let stdout = sandbox.ralph(&[flag]).exits(0).stdout;
        assert_eq!(stdout, format!("ralph {}\n", env!("CARGO_PKG_VERSION")));
    }
    for command in ["run", "loop", "init"] {
        sandbox.ralph(&[command, "--help"]).exits(0).says("Usage: ");
    }
    // Flags must follow the subcommand.
    sandbox.ralph(&["-p", "x"]).exits(2);
    sandbox.ralph(&[]).exits(2).says("Usage: ralph");
}

#[test]
fn cli_run_command_flags() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("P.md", "from the file");
    speaker(&sandbox, "claude", "true", &claude_says("<response>OK</response>"));
    for flags in [
        &["--prompt", "x", "--completion-response", "OK"][..],
        &["--prompt-file", "P.md", "--completion-tag", "ok"],
        &["-f", "P.md", "-c", "ok", "--maximum-iterations", "2", "--verbose"],
        // Decided: -n are the iterations, -m is the model, -v is verbose.
        &["-p", "x", "-c", "OK", "-n", "2", "-m", "opus", "-v"],
        &["-p", "x", "-c", "OK", "--stream-agent-output"],
        &["-p", "x", "-c", "OK", "--no-stream-agent-output"],
    ] {
        for name in ["run", "loop"] {
            sandbox.ralph(&[&[name], flags].concat()).exits(0);
        }
    }
    let streamed = |flags: &[&str]| {
        let ran = sandbox.ralph(&[&["run", "-p", "x", "-c", "OK"], flags].concat()).exits(0);
        ran.stdout.contains("<response>OK</response>")
    };
    assert!(streamed(&[]) && streamed(&["--no-stream-agent-output", "--stream-agent-output"]));
    assert!(!streamed(&["--no-stream-agent-output"]));
    sandbox.settings(&json!({"streamAgentOutput": false}));
    assert!(!streamed(&[]) && streamed(&["--stream-agent-output"]));
}

#[test]
fn cli_settings_path() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({"maximumIterations": 2}));
    let agent = sandbox.sh_agent("echo not yet");
    let run = |flags: &[&str]| sandbox.run(&[&["-p", "x", "--format", "json"], flags].concat(), &agent);
    run(&[]).stops(1, "max_iterations", 2);
    // Decided: a file can be laid on top of it.
    sandbox.write("more.json", r#"{"maximumIterations": 3}"#);
    run(&["--config", "more.json"]).stops(1, "max_iterations", 3);
}

#[test]
fn cli_validation() {
    let sandbox = Sandbox::bare();
    sandbox.write("P.md", "x");
    let agent = sandbox.sh_agent("echo never");
    sandbox.run(&[], &agent).exits(2).says("no prompt was given");
    sandbox.run(&["-p", "x", "-f", "P.md"], &agent).exits(2).says("--prompt, --prompt-file");
    for bad in ["0", "-1", "many"] {
        sandbox.run(&["-p", "x", &format!("--maximum-iterations={bad}")], &agent).exits(2);
    }
    assert!(sandbox.runs().is_empty());
}

#[test]
fn init_command() {
    let sandbox = Sandbox::bare();
    sandbox.ralph(&["init"]).exits(2).says("terminal");
    assert!(!sandbox.has(".ralph"), "nothing is written");
}

#[test]
fn settings_file() {
    let sandbox = Sandbox::git();
    let example = json!({
      "maximumIterations": 10,
      "completionResponse": "DONE",
      "outputTruncateChars": 5000,
      "streamAgentOutput": true,
      "includeIterationCountInPrompt": false,
      "agent": {"command": "claude", "flags": ["--model opus", "--no-auto-compact"]},
      "guardrails": [
        {"command": "make lint", "failAction": "APPEND", "hint": "Fix lint errors only. Do not change behavior."},
        {"command": "make test", "failAction": "APPEND"}
      ],
      "scm": {"command": "git", "tasks": ["commit", "push"]}
    });
    sandbox.settings(&example);
    sandbox.sh("git add . && git commit -q -m settings && git init -q --bare ../far.git && \
         git remote add origin ../far.git && git push -q -u origin main");
    sandbox.program("make", "echo $1 >> ../made");
    speaker(&sandbox, "claude", "echo new > new", &claude_says(DONE));
    sandbox.ralph(&["run", "-p", "x", "--format", "json"]).stops(0, "completed", 1);
    let args = words(&sandbox, "args");
    assert!(args.ends_with("--model opus --no-auto-compact"), "one text, two arguments: {args}");
    assert_eq!(kept(&sandbox, "made"), "lint\ntest\n");
    let far = sandbox.sh("git --git-dir=../far.git log -1 --format=%s --name-only main");
    assert_eq!(far, "Add the words\n\nnew\n");
    let shown = sandbox.ralph(&["config", "show", "--format", "json"]).exits(0).json();
    assert_eq!(shown["settings"]["scm"], example["scm"]);
    assert_eq!(shown["warnings"], json!([]), "every key is known");
}

#[test]
fn settings_file_loading_priority() {
    let sandbox = Sandbox::bare();
    let agent = sandbox.sh_agent("echo not yet");
    let run = |flags: &[&str]| sandbox.run(&[&["-p", "x", "--format", "json"], flags].concat(), &agent);
    sandbox.settings(&json!({"maximumIterations": 3}));
    run(&[]).stops(1, "max_iterations", 3);
    sandbox.write(".ralph/settings.local.json", r#"{"maximumIterations": 2}"#);
    run(&[]).stops(1, "max_iterations", 2);
    run(&["--maximum-iterations", "1"]).stops(1, "max_iterations", 1);
}

#[test]
fn settings_file_deep_merge_behavior() {
    let sandbox = Sandbox::bare();
    speaker(&sandbox, "claude", "true", &claude_says("<response>LOCAL</response>"));
    sandbox.settings(&json!({
        "completionResponse": "BASE",
        "agent": {"command": "claude", "flags": ["--model opus"]},
        "guardrails": [{"command": "exit 1", "failAction": "APPEND"}],
    }));
    sandbox.write(
        ".ralph/settings.local.json",
        json!({"completionResponse": "LOCAL", "agent": {"flags": ["--verbose"]}, "guardrails": []})
            .to_string(),
    );
    sandbox.ralph(&["run", "-p", "x", "-n", "1"]).exits(0);
    let args = words(&sandbox, "args");
    assert!(args.ends_with("--verbose") && !args.contains("opus"), "{args}");
}

#[test]
fn agent_command_inference() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    all_speakers(&sandbox, "true");
    // Decided (FACTS): codex' subcommand is written out, `exec`.
    for (name, first, last) in [("claude", "-p", None), ("codex", "exec", Some("-")), ("amp", "", Some("x"))]
    {
        for way in [&["--agent", name][..], &["--", name]] {
            sandbox.ralph(&[&["run", "-p", "x"], way].concat()).exits(0);
            let args = kept(&sandbox, "args");
            assert!(args.starts_with(first), "{name}: {args}");
            assert!(last.is_none_or(|last| args.lines().next_back() == Some(last)), "{name}: {args}");
        }
        sandbox.settings(&json!({"context": false, "agent": {"command": name}}));
        sandbox.ralph(&["run", "-p", "x"]).exits(0);
    }
    assert!(words(&sandbox, "args").ends_with(" -x x"));
    assert_eq!(sandbox.ralph(&["run", "-p", "x", "--agent", "mystery"]).code, Some(2));
}

#[test]
fn agent_output_flags() {
    // Decided (FACTS): autonomy by the flags of today. The stream is also read where it is not
    // shown; text mode is for commit messages.
    for (name, streaming, text) in [
        (
            "claude",
            "-p --output-format stream-json --verbose --include-partial-messages --dangerously-skip-permissions",
            "-p --output-format text --dangerously-skip-permissions",
        ),
        (
            "codex",
            "exec --json --sandbox workspace-write --skip-git-repo-check -",
            "exec -o FILE --sandbox workspace-write --skip-git-repo-check -",
        ),
        (
            "amp",
            "--stream-json --dangerously-allow-all -x do it",
            &format!("--dangerously-allow-all -x {MESSAGE_PROMPT}"),
        ),
    ] {
        let sandbox = Sandbox::git();
        sandbox
            .settings(&json!({"context": false, "agent": {"command": name}, "scm": {"tasks": ["commit"]}}));
        all_speakers(&sandbox, "echo new >> new");
        sandbox.ralph(&["run", "do it"]).exits(0);
        assert_eq!(words(&sandbox, "args"), streaming);
        let args = words(&sandbox, "text-args");
        let file = args.split_whitespace().skip_while(|word| *word != "-o").nth(1).unwrap_or("FILE");
        assert_eq!(args.replace(file, "FILE"), text);
        assert_eq!(sandbox.sh("git log -1 --format=%s"), "Add the words\n", "{name}");
        sandbox.ralph(&["run", "do it", "--no-stream-agent-output"]).exits(0);
        assert_eq!(words(&sandbox, "args"), streaming);
        // Decided: it can be turned off.
        sandbox.settings(&json!({"context": false, "agent": {"command": name, "autonomous": false}}));
        sandbox.ralph(&["run", "do it"]).exits(0);
        let args = words(&sandbox, "args");
        assert!(!args.contains("dangerously") && !args.contains("workspace-write"), "{args}");
    }
}

#[test]
fn amp_integration_details() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    speaker(&sandbox, "amp", "true", &amp_says(DONE));
    sandbox
        .ralph(&["run", "do it", "--", "amp", "--mode", "rush"])
        .exits(0)
        .says("runs tools without asking");
    assert_eq!(words(&sandbox, "args"), "--mode rush --stream-json --dangerously-allow-all -x do it");
    assert_eq!(kept(&sandbox, "stdin"), "");
}

#[test]
fn codex_integration_details() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    speaker(&sandbox, "codex", "true", &codex_says(DONE));
    let prompt = "it's \"$HOME\" `date`\n-- two lines";
    sandbox.ralph(&["run", "-p", prompt, "--agent", "codex", "--model", "m1"]).exits(0);
    // Decided (FACTS): no --full-auto, which ends today's codex, and the prompt on standard input.
    let args = "exec --json --sandbox workspace-write --skip-git-repo-check --model m1 -";
    assert_eq!(words(&sandbox, "args"), args);
    assert_eq!(kept(&sandbox, "stdin"), prompt, "no shell has touched it");
}

#[test]
fn loop_behavior() {
    let sandbox = Sandbox::bare();
    let guardrail = "test -f fixed || { echo 'fixed is missing'; exit 4; }";
    sandbox.settings(&json!({
        "context": false, "includeIterationCountInPrompt": true,
        "guardrails": [{"command": guardrail, "failAction": "APPEND"}],
    }));
    sandbox.write("P.md", "BASE");
    let agent = sandbox.agent(&json!([
        [{"save_prompt": "prompt-1"}, {"write": {"path": "P.md", "content": "BASE, read anew"}}, {"say": DONE}],
        [{"save_prompt": "prompt-2"}, {"write": {"path": "fixed", "content": ""}}, {"say": "Fixed it."}],
        [{"save_prompt": "prompt-3"}, {"say": DONE}],
    ]));
    let result = sandbox.run(&["-f", "P.md", "-n", "5", "--format", "json"], &agent).stops(0, "completed", 3);
    assert_eq!(result["iterations"][0]["completion_tag_found"], true, "said, but the guardrail was red");
    assert_eq!(sandbox.read("prompt-1"), "Iteration 1 of 5, 4 remaining.\n\nBASE");
    let log = ".ralph/guardrail_1_test_f_fixed_echo_fixed_is_missing_exit_4.log";
    assert_eq!(
        sandbox.read("prompt-2"),
        format!(
            "Iteration 2 of 5, 3 remaining.\n\nBASE, read anew\n\n\
             Guardrail \"{guardrail}\" failed with exit code 4.\nOutput file: {log}\n\
             Output (truncated):\nfixed is missing"
        )
    );
    assert_eq!(sandbox.read("prompt-3"), "Iteration 3 of 5, 2 remaining.\n\nBASE, read anew");
    assert_eq!(sandbox.read(log), "fixed is missing\n");
    sandbox.run(&["-f", "P.md", "-n", "1", "-c", "NEVER"], &agent).exits(1);
}

#[test]
fn loop_behavior_prompt_construction() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({
        "context": false,
        "guardrails": [
            {"command": "echo one; false", "failAction": "APPEND"},
            {"command": "echo two; false", "failAction": "PREPEND"},
        ],
    }));
    let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "x"}]]));
    sandbox.run(&["-p", "  as it is\n", "-n", "2"], &agent).exits(1);
    assert_eq!(sandbox.read("prompt-1"), "  as it is\n");
    let prompt = sandbox.read("prompt-2");
    assert!(prompt.starts_with("Guardrail \"echo two; false\""), "{prompt}");
    assert!(
        prompt.contains("\ntwo\n\n  as it is\n\n\nGuardrail \"echo one; false\""),
        "two newlines: {prompt}"
    );
    // Decided: a context follows, unless the settings say `"context": false`.
    sandbox.settings(&json!({}));
    sandbox.run(&["-p", "BASE", "-n", "1"], &agent).exits(1);
    assert!(sandbox.read("prompt-1").starts_with("BASE\n\n---\nThis is iteration 1 of 1."));
}

#[test]
fn completion_detection() {
    for (said, code) in [
        ("so: <response>DONE</response>", 0),
        // Decided: a plain agent's tag ends its line.
        ("I say <response>DONE</response> when it is so", 1),
        ("<RESPONSE>done</Response>", 0),
        ("DONE", 1),
        ("<response>DONE already</response>", 1),
        ("<response>later</response> <response>DONE</response>", 1),
        // Decided: trimmed, and <promise> works too.
        ("<promise>\nDone </promise>", 0),
    ] {
        let sandbox = Sandbox::bare();
        let agent = sandbox.agent(&json!([[{"say": said}]]));
        sandbox.run(&["-p", "x", "-n", "1"], &agent).exits(code);
        sandbox.run(&["-p", "x", "-n", "1", "--check", "false"], &agent).exits(1);
    }
}

#[test]
fn guardrails() {
    let sandbox = Sandbox::bare();
    let guardrail = |action: &str| {
        sandbox.settings(&json!({
            "context": false, "guardrails": [{"command": "make lint", "failAction": action, "hint": "Only lint."}],
        }));
        let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "x"}]]));
        let ran = sandbox.run(&["-p", "BASE", "-n", "2"], &agent);
        if ran.code == Some(2) { ran.stderr } else { sandbox.read("prompt-2") }
    };
    sandbox.program("make", "exit 1");
    assert!(guardrail("APPEND").starts_with("BASE\n\nGuardrail \"make lint\" failed"));
    assert!(guardrail("PREPEND").ends_with("\n\nBASE"));
    assert!(!guardrail("REPLACE").contains("BASE"));
    assert!(guardrail("REPLACE").contains("\nHint: Only lint.\n"));
    assert!(
        guardrail("IGNORE").contains("guardrails[0].failAction: expected one of APPEND, PREPEND, REPLACE")
    );
}

#[test]
fn guardrails_shell_execution() {
    let sandbox = Sandbox::bare();
    // Decided: Windows through WSL, so it is `/bin/sh -c` everywhere.
    let shell = "x='a b'; printf '%s|' \"$x\" $0 > seen; test $# -eq 0 && false || exit 0";
    sandbox.settings(&json!({"guardrails": [{"command": shell, "failAction": "APPEND"}]}));
    sandbox.run(&["-p", "x"], &sandbox.sh_agent(&format!("echo '{DONE}'"))).exits(0);
    assert_eq!(sandbox.read("seen"), "a b|/bin/sh|");
}

#[test]
fn guardrails_on_failure() {
    let sandbox = Sandbox::bare();
    sandbox.program("lint", "seq 10000; echo 'the end' >&2; exit 3");
    let log = || sandbox.read(".ralph/guardrail_1_lint.log");
    let prompt = |settings: Value| {
        sandbox.settings(&settings);
        let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "x"}]]));
        let ran = sandbox.run(&["-p", "BASE", "-n", "2"], &agent).exits(1);
        has_line(&ran.stdout, "  running check: lint");
        let ended =
            ran.stdout.lines().find(|line| line.contains("check: lint failed with exit code 3")).unwrap();
        assert!(ended.starts_with("[ERR] "), "{ended}");
        has_line(&ran.stdout, "  output goes before the next prompt");
        sandbox.read("prompt-2")
    };
    let lint = json!([{"command": "lint", "failAction": "PREPEND", "hint": "h".repeat(6000)}]);
    let text = prompt(json!({"context": false, "guardrails": lint}));
    assert!(log().starts_with("1\n2\n") && log().ends_with("\n10000\nthe end\n"), "all of both streams");
    let head: String = log().chars().take(5000).collect();
    assert!(text.contains(&format!("Output (truncated):\n{head}... [truncated]\n\nBASE")), "{text}");
    assert!(text.contains(&"h".repeat(6000)), "a hint is never cut");
    let text = prompt(json!({"context": false, "guardrails": lint, "outputTruncateChars": 3}));
    assert!(text.contains("Output (truncated):\n1\n2... [truncated]\n\nBASE"), "{text}");
    let text = prompt(json!({"context": false, "guardrails": lint, "outputTruncateChars": 100_000}));
    assert!(!text.contains("[truncated]") && text.contains("\nthe end\n\nBASE"), "nothing was cut");
}

#[test]
fn guardrails_failure_message_format() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({
        "context": false,
        "guardrails": [
            {"command": "echo a; exit 1", "failAction": "APPEND", "hint": "Mind {{this}} $HOME."},
            {"command": "echo b; exit 2", "failAction": "APPEND"},
        ],
    }));
    let agent = sandbox.agent(&json!([[{"save_prompt": "prompt-{{iteration}}"}, {"say": "x"}]]));
    sandbox.run(&["-p", "BASE", "-n", "2"], &agent).exits(1);
    assert_eq!(
        sandbox.read("prompt-2"),
        "BASE\n\n\
         Guardrail \"echo a; exit 1\" failed with exit code 1.\nHint: Mind {{this}} $HOME.\n\
         Output file: .ralph/guardrail_1_echo_a_exit_1.log\nOutput (truncated):\na\n\n\
         Guardrail \"echo b; exit 2\" failed with exit code 2.\n\
         Output file: .ralph/guardrail_1_echo_b_exit_2.log\nOutput (truncated):\nb"
    );
}

#[test]
fn guardrails_log_file_naming() {
    let sandbox = Sandbox::bare();
    sandbox.write("mvnw", "#!/bin/sh\necho built\n");
    sandbox.sh("chmod +x mvnw");
    let long = format!("true {}", "x".repeat(80));
    sandbox.settings(&json!({"guardrails": [
        {"command": "./mvnw clean install -T 2C", "failAction": "APPEND"},
        {"command": long, "failAction": "APPEND"},
    ]}));
    let agent = sandbox.sh_agent(&format!("[ $RALPH_ITERATION = 1 ] && echo no || echo '{DONE}'"));
    sandbox.run(&["-p", "x"], &agent).exits(0);
    for n in [1, 2] {
        let log = format!(".ralph/guardrail_{n}_mvnw_clean_install_T_2C.log");
        assert_eq!(sandbox.read(&log), "built\n");
        assert!(sandbox.has(&format!(".ralph/guardrail_{n}_true_{}.log", "x".repeat(45))), "50 characters");
    }
}

#[test]
fn scm_tasks() {
    let sandbox = Sandbox::git();
    sandbox.settings(&json!({"context": false, "scm": {"command": "git", "tasks": ["commit", "push"]}}));
    sandbox.sh("git add . && git commit -q -m settings && git init -q --bare ../far.git && \
         git remote add origin ../far.git && git push -q -u origin main");
    speaker(&sandbox, "claude", "echo $RALPH_ITERATION >> new", &claude_says(DONE));
    // If guardrails fail, SCM tasks do not run.
    sandbox.ralph(&["run", "-p", "x", "-n", "1", "--check", "false"]).exits(1);
    assert!(!sandbox.root().join("text-args").exists());
    let ran = sandbox.ralph(&["run", "-p", "x"]).exits(0);
    assert_eq!(kept(&sandbox, "text-stdin"), MESSAGE_PROMPT);
    has_line(&ran.stdout, "  commit message: Add the words");
    has_line(&ran.stdout, "[OK] scm: git commit");
    has_line(&ran.stdout, "[OK] scm: git push");
    // Decided: new files are part of the commit, which `-am` alone would leave out.
    let log = sandbox.sh("git --git-dir=../far.git log -1 --format=%s --name-only main");
    assert_eq!(log, "Add the words\n\nnew\n");
    assert_eq!(sandbox.sh("git status --porcelain"), "");
}

#[test]
fn defaults() {
    let sandbox = Sandbox::bare();
    let shown = sandbox.ralph(&["config", "show", "--format", "json"]).exits(0).json();
    for (key, default) in [
        ("maximumIterations", json!(10)),
        ("completionResponse", json!("DONE")),
        ("outputTruncateChars", json!(5000)),
        ("streamAgentOutput", json!(true)),
    ] {
        assert_eq!(shown["settings"][key], default, "{shown:#}");
    }
    sandbox.run(&["-p", "x", "--format", "json"], &sandbox.sh_agent("echo no")).stops(
        1,
        "max_iterations",
        10,
    );
}

#[test]
fn exit_codes() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.run(&["-p", "x"], &sandbox.sh_agent(&format!("echo '{DONE}'"))).exits(0);
    sandbox.run(&["-p", "x", "-n", "1"], &sandbox.sh_agent("echo no")).exits(1);
    sandbox.run(&[], &sandbox.sh_agent("echo no")).exits(2);
    sandbox.write(".ralph/settings.local.json", "{");
    sandbox.run(&["-p", "x"], &sandbox.sh_agent("echo no")).exits(2);
    fs::remove_file(sandbox.project().join(".ralph/settings.local.json")).unwrap();
    let running = sandbox.begin(
        &["-p", "x"],
        &sandbox.sh_agent("echo 1 > up; until [ -e ../go ]; do sleep 0.02; done; echo no"),
    );
    sandbox.until_file("up");
    running.signal(Signal::TERM);
    until("the signal", || running.stderr().contains("Received signal"));
    sandbox.write("../go", "");
    running.end().exits(130);
}

#[test]
fn signal_handling() {
    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = Sandbox::bare();
        sandbox.plain_settings();
        let agent = sandbox.sh_agent(&format!("echo agent >> steps; echo '{DONE}'"));
        let check = "echo 1 > up; until [ -e ../go ]; do sleep 0.02; done; echo check >> steps; exit 1";
        let running = sandbox.begin(&["-p", "x", "--check", check, "--check", "echo never >> steps"], &agent);
        sandbox.until_file("up");
        sandbox.interrupt_and_go(&running, signal);
        let ran = running.end().exits(130);
        has_line(&ran.stderr, "Received signal, shutting down...");
        assert_eq!(
            sandbox.read("steps"),
            "agent\ncheck\n",
            "the current step is finished, no other is begun"
        );
    }
}

#[test]
fn verbose_output() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({
        "context": false,
        "agent": {"command": "claude", "flags": ["--model opus", "--api-key=sk-secret-0123456789"]},
        "guardrails": [{"command": "./mvnw clean install", "failAction": "APPEND"}],
    }));
    sandbox.write(".ralph/settings.local.json", "{}");
    sandbox.write("mvnw", "#!/bin/sh\n");
    sandbox.sh("chmod +x mvnw");
    speaker(&sandbox, "claude", "true", &claude_says(DONE));
    let prompt = "p".repeat(300);
    let ran = sandbox.ralph(&["run", "-p", &prompt, "--verbose"]).exits(0);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with("[ralph] ")), "{}", ran.stderr);
    has_line(&ran.stderr, "[ralph] Loading settings from .ralph/settings.json");
    has_line(&ran.stderr, "[ralph] Loading settings from .ralph/settings.local.json");
    has_line(&ran.stderr, "[ralph] Iteration 1/10 starting");
    let command = lines.iter().find(|line| line.starts_with("[ralph] Agent command: ")).unwrap();
    assert!(command.contains(": claude -p ") && command.contains(" --model opus"), "{command}");
    has_line(&ran.stderr, &format!("[ralph] Prompt: {}... [truncated]", "p".repeat(200)));
    has_line(&ran.stderr, "[ralph] Running guardrail: ./mvnw clean install");
    let ended = lines.iter().find(|line| line.starts_with("[ralph] Guardrail exited with code 0 (")).unwrap();
    assert!(ended.ends_with("s)"), "with its time: {ended}");
    assert!(lines.iter().any(|line| line.contains("completion: tag \"DONE\"")), "{}", ran.stderr);
    assert!(lines.iter().any(|line| line.starts_with("[ralph] Merged settings: {")), "{}", ran.stderr);
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
}

/// Out of scope there, done here: completions and timeouts.
#[test]
fn future_considerations() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.ralph(&["completions", "fish"]).exits(0).says("max-iterations");
    let args = ["run", "-p", "x", "-t", "0.2", "--max-failures", "1", "--format", "json", "--", RALPH];
    let script = sandbox.root().join("hang.json");
    fs::write(&script, json!({"calls": [[{"hang": true}]]}).to_string()).unwrap();
    let agent = ["__agent", script.to_str().unwrap()];
    sandbox.ralph(&[&args[..], &agent].concat()).stops(1, "too_many_failures", 1);
}
