//! How agents are started, and what they get.

use crate::support::{RALPH, Sandbox, lasting};
use serde_json::json;

const DONE: &str = "<response>DONE</response>";

#[test]
fn agents_know_their_run_and_iteration() {
    let sandbox = Sandbox::bare();
    let names = json!(["RALPH_RUN", "RALPH_ITERATION", "RALPH_MAX_ITERATIONS"]);
    let agent = sandbox
        .agent(&json!([[{"save_env": {"path": "agent-{{iteration}}", "names": names}}, {"say": DONE}]]));
    sandbox.run(&["-p", "x", "-n", "7", "--check", "test -f agent-2"], &agent).exits(0);
    let id = sandbox.only_run();
    for n in [1, 2] {
        let expected = format!("RALPH_RUN={id}\nRALPH_ITERATION={n}\nRALPH_MAX_ITERATIONS=7\n");
        assert_eq!(sandbox.read(&format!("agent-{n}")), expected);
    }
}

/// It would be ended as something that the agent has left running, half way and with its lock.
#[test]
fn an_agents_git_tidies_up_before_it_ends() {
    let sandbox = Sandbox::git();
    let script = "for n in 1 2 3 4 5 6; do echo $n >> w; git add w; git commit -qm $n; done
        git config my.own > own; git config --get-all gc.autoDetach >> own; echo '<response>DONE</response>'";
    let agent = sandbox.sh_agent(script);
    let mut ralph = sandbox.command(env!("CARGO_BIN_EXE_ralph"));
    ralph.args(["run", "-p", "x", "--"]).args(agent.words());
    ralph.envs([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "my.own"), ("GIT_CONFIG_VALUE_0", "kept")]);
    let ran = sandbox.spawn(ralph).end().exits(0);
    assert!(!ran.stdout.contains("left running"), "{}", ran.stdout);
    assert_eq!(sandbox.read("own"), "kept\nfalse\n");
}

#[test]
fn claude_gets_its_flags_the_model_and_the_prompt_on_stdin() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[{"save_args": "args"}, {"save_prompt": "told"}, {"say": DONE}]]));
    sandbox.ralph(&["run", "--prompt=--not a flag", "--model", "opus"]).exits(0);
    assert_eq!(
        lasting(&sandbox.read("args")),
        [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--dangerously-skip-permissions",
            "--model",
            "opus"
        ]
    );
    assert_eq!(sandbox.read("told"), "--not a flag");
}

#[test]
fn settings_name_agent_flags_model_and_autonomy() {
    let sandbox = Sandbox::bare();
    sandbox.settings(&json!({
        "agent": {"command": "claude", "flags": ["--max-turns 3"], "model": "haiku", "autonomous": false}
    }));
    sandbox.claude(&json!([[{"save_args": "args"}, {"say": DONE}]]));
    let args = || lasting(&sandbox.read("args"))[5..].join(" ");
    sandbox.ralph(&["run", "-p", "x"]).exits(0);
    assert_eq!(args(), "--model haiku --max-turns 3");
    sandbox.ralph(&["run", "-p", "x", "--model", "opus"]).exits(0);
    assert_eq!(args(), "--model opus --max-turns 3");
}

#[test]
fn an_agent_is_known_by_its_name_wherever_it_lies() {
    let sandbox = Sandbox::bare();
    sandbox.claude(&json!([[{"save_args": "args"}, {"say": DONE}, {"cost": 0.25}]]));
    let path = sandbox.root().join("bin/claude");
    let args = ["run", "-p", "x", "--format", "json", "--", path.to_str().unwrap(), "--mine"];
    let result = sandbox.ralph(&args).stops(0, "completed", 1);
    assert_eq!(result["total_cost"], 0.25);
    assert!(sandbox.read("args").ends_with("--mine\n"), "{}", sandbox.read("args"));
}

#[test]
fn a_plain_agent_gets_its_model_only_where_the_command_has_a_place_for_it() {
    let sandbox = Sandbox::bare();
    let tell = sandbox.program("tell", &format!("echo \"$@\" > args\necho '{DONE}'"));
    let run = |rest: &[&str]| sandbox.ralph(&[&["run", "-p", "x"], rest].concat());
    run(&["--model", "m1", "--", &tell, "-m={model}"]).exits(0);
    assert_eq!(sandbox.read("args"), "-m=m1\n");
    run(&["--model", "m1", "--", &tell]).exits(2).says("cannot pass the model to the agent").says("hint: ");
}

#[test]
fn the_prompt_can_be_an_argument_or_a_file() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let tell = sandbox.program(
        "tell",
        &format!("printf '%s' \"$1\" > arg\ncat > stdin\ncp \"${{2#@}}\" file\necho '{DONE}'"),
    );
    sandbox.ralph(&["run", "-p", "two\nlines", "--", &tell, "<{prompt}>", "@{prompt_file}"]).exits(0);
    assert_eq!(sandbox.read("arg"), "<two\nlines>");
    assert_eq!(sandbox.read("file"), "two\nlines");
    assert_eq!(sandbox.read("stdin"), "", "it is told once");
}

#[test]
fn a_prompt_of_any_size_fits_on_stdin() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("PROMPT.md", "0123456789abcde\n".repeat(20_000));
    let agent = sandbox.agent(&json!([[{"save_prompt": "told"}, {"say": DONE}]]));
    sandbox.run(&["-f", "PROMPT.md"], &agent).exits(0);
    assert!(sandbox.read("told") == sandbox.read("PROMPT.md"), "320,000 bytes arrive as they are");
    sandbox.claude(&json!([[{"save_prompt": "told-2"}, {"say": DONE}]]));
    sandbox.ralph(&["run", "-f", "PROMPT.md"]).exits(0);
    assert!(sandbox.read("told-2") == sandbox.read("PROMPT.md"));
}

#[test]
fn a_prompt_too_long_for_an_argument_is_an_error_that_says_so() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.write("PROMPT.md", "x".repeat(140_000));
    let args = ["run", "-f", "PROMPT.md", "--format", "json", "--", RALPH, "__agent", "none", "{prompt}"];
    let result = sandbox.ralph(&args).stops(1, "error", 0);
    let message = result["error"]["message"].as_str().unwrap();
    assert_eq!(message, "the prompt is too long for an argument, use `{prompt_file}`: 140000 bytes");
}

#[test]
fn an_agent_that_vanishes_in_mid_run_has_failed() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let tell = sandbox.program("tell", "rm -- \"$0\"; echo once");
    let args = ["run", "-p", "x", "--format", "json", "--max-failures", "2", "--", &tell];
    let result = sandbox.ralph(&args).stops(1, "too_many_failures", 3);
    let error = result["iterations"][1]["error"].as_str().unwrap();
    assert!(error.starts_with("cannot start it: "), "{error}");
}

#[test]
fn claudes_stream_and_exit_code_are_judged_together() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([
        [{"say": DONE}, {"result": {"is_error": true, "api_error_status": 400, "text": "too long"}}],
        [{"say": DONE}, {"exit": 0}],
        [{"say": DONE}, {"kill_self": 9}],
        [{"say": DONE}],
    ]));
    let result = sandbox.ralph(&["run", "-p", "x", "--format", "json"]).stops(0, "completed", 4);
    let error = |n: usize| result["iterations"][n]["error"].as_str().unwrap();
    assert_eq!(error(0), "API error 400: too long");
    assert_eq!(error(1), "exited without a result");
    assert_eq!(error(2), "killed by signal 9");
}

#[test]
fn the_environment_names_agent_and_model_and_flags_win() {
    let sandbox = Sandbox::bare();
    let tell = sandbox.program("tell", "cat > /dev/null; echo '<response>DONE</response>'");
    sandbox.claude(&json!([[{"save_args": "args"}, {"say": DONE}]]));
    let run = |args: &[&str]| {
        let mut command = sandbox.command(RALPH);
        command.args(["run", "-p", "x"]).args(args).env("RALPH_AGENT", "claude").env("RALPH_MODEL", "sonnet");
        sandbox.spawn(command).end()
    };
    run(&[]).exits(0);
    assert!(lasting(&sandbox.read("args")).ends_with(&["--model", "sonnet"]));
    run(&["--model", "opus"]).exits(0);
    assert!(lasting(&sandbox.read("args")).ends_with(&["--model", "opus"]));
    run(&["--agent", &tell]).exits(2).says("cannot pass the model to the agent");
}

#[test]
fn the_last_words_of_an_agent_are_heard_however_fast_it_ends() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.ralph(&["run", "-p", "x", "-n", "200", "-q", "--", "echo", "last words"]).exits(1);
    assert_eq!(sandbox.agents_begun(), 200, "an answer that was not heard is asked for again");
}

#[test]
fn every_claude_has_a_session_of_its_own_and_what_is_left_of_the_budget() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([
        [{"save_args": "args-1"}, {"say": "not yet"}, {"cost": 0.25}],
        [{"save_args": "args-2"}, {"say": DONE}],
    ]));
    sandbox.ralph(&["run", "-p", "x", "--max-cost", "1"]).exits(0);
    let value = |file: &str, flag: &str| {
        let args = sandbox.read(file);
        args.lines().skip_while(|word| *word != flag).nth(1).unwrap().to_owned()
    };
    assert_eq!(value("args-1", "--max-budget-usd"), "1.0000");
    assert_eq!(value("args-2", "--max-budget-usd"), "0.7500");
    let sessions = ["args-1", "args-2"].map(|file| value(file, "--session-id"));
    assert_ne!(sessions[0], sessions[1]);
    assert!(sessions.iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'4'), "{sessions:?}");
}

#[test]
fn an_answer_is_recorded_when_it_is_given() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    sandbox.claude(&json!([[{"say": DONE}, {"result": {"text": "done"}}, {"wait_for": "../go"}]]));
    let running = sandbox.start(&["run", "-p", "x"]);
    sandbox.until_fact("the answer", |fact| fact["answered"].is_object());
    sandbox.write("../go", "");
    running.end().exits(0);
    let kinds: Vec<String> =
        sandbox.facts().iter().filter_map(|fact| Some(fact.as_object()?.keys().next()?.clone())).collect();
    assert_eq!(kinds, ["opened", "began", "answered", "ended", "judged", "stopped"]);
}
