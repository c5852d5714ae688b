//! What agents cost that report tokens and no dollars: an estimate, and shown as one.

use crate::support::Sandbox;
use rustix::process::Signal;
use serde_json::{Value, json};

const DONE: &str = "<response>DONE</response>";

/// A `codex` that says this and counts these tokens. At $1, $0.10 and $10 a million, as the
/// settings below have it, that is $0.2625 each time.
fn codex(sandbox: &Sandbox, work: &str, text: &str) {
    let usage = json!({"input_tokens": 100_000, "cached_input_tokens": 75_000, "output_tokens": 23_000});
    let lines = [
        json!({"type": "thread.started", "thread_id": "t-1"}),
        json!({"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": text}}),
        json!({"type": "turn.completed", "usage": usage}),
    ];
    let stream: String = lines.iter().map(|line| format!("{line}\n")).collect();
    sandbox.program("codex", &format!("cat > /dev/null\n{work}\ncat << 'EOF'\n{stream}EOF"));
}

fn settings(sandbox: &Sandbox, more: &Value) {
    let mut settings = json!({
        "context": false, "checkpoints": false,
        "agent": {"command": "codex", "model": "gpt-test"},
        "prices": {"gpt-te": {"input": 1, "cachedInput": 0.1, "output": 10}},
    });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    sandbox.settings(&settings);
}

#[test]
fn a_limit_in_dollars_ends_a_codex_run_by_its_estimate() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, &json!({}));
    codex(&sandbox, "", "not yet");
    let args = ["run", "-p", "x", "--max-cost", "0.70", "--format", "json"];
    let result = sandbox.ralph(&args).stops(1, "budget_exhausted", 2);
    assert_eq!((&result["total_cost"], &result["cost_estimated"]), (&json!(0.525), &json!(true)));
    let first = &result["iterations"][0];
    assert_eq!((&first["cost"], &first["cost_estimated"]), (&json!(0.2625), &json!(true)));
    let listed = sandbox.listed();
    assert_eq!((&listed["cost"], &listed["cost_estimated"]), (&json!(0.525), &json!(true)));
}

#[test]
fn an_estimate_is_marked_wherever_people_see_it() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, &json!({}));
    codex(&sandbox, "", "not yet");
    sandbox
        .ralph(&["run", "-p", "x", "--max-cost", "0.70", "-v"])
        .exits(1)
        .says("[OK] Complete (cost: ~$0.2625, tokens: ")
        .says(
            "the next iteration would cost about ~$0.2625, more than is left (2 iterations, cost: ~$0.5250 of $0.7000, ",
        )
        .says("not done, ~$0.2625 spent");
    sandbox.ralph(&["runs"]).exits(0).says(" ~$0.5250 ");
    let id = sandbox.only_run();
    sandbox.ralph(&["show", &id]).exits(0).says("(1 step, ~$0.2625, ").says("cost: ~$0.5250, ");
    assert!(sandbox.read(".ralph/progress.md").contains("\n- Cost: ~$0.2625\n"));
}

#[test]
fn an_estimate_survives_a_crash_and_keeps_its_price() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, &json!({}));
    codex(&sandbox, "test -f once && { echo up > up; sleep 600; }\ntouch once", "not yet");
    let running = sandbox.start(&["run", "-p", "x", "--max-cost", "0.70"]);
    sandbox.until_file("up");
    running.signal(Signal::KILL);
    running.end();
    assert_eq!(sandbox.listed()["cost"], 0.2625);
    // The run keeps what it began with, whatever the settings say by now.
    settings(&sandbox, &json!({"prices": {"gpt-te": {"input": 100, "output": 100}}}));
    codex(&sandbox, "", "not yet");
    let resumed = sandbox.ralph(&["resume", "--format", "json"]).stops(1, "budget_exhausted", 2);
    assert_eq!((&resumed["total_cost"], &resumed["cost_estimated"]), (&json!(0.525), &json!(true)));
}

#[test]
fn a_commit_message_is_estimated_too_where_its_tokens_are_told() {
    let sandbox = Sandbox::git();
    settings(&sandbox, &json!({"scm": {"tasks": ["commit"]}}));
    let work = "echo x >> made\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && echo Words > \"$2\"; shift; done";
    codex(&sandbox, work, DONE);
    let args = ["run", "-p", "x", "--format", "json", "--", "codex", "--json"];
    let result = sandbox.ralph(&args).stops(0, "completed", 1);
    assert_eq!(sandbox.sh("git rev-list --count HEAD"), "2\n", "the message was used");
    assert_eq!((&result["iterations"][0]["cost"], &result["total_cost"]), (&json!(0.2625), &json!(0.525)));
}

#[test]
fn the_price_is_that_of_the_model_and_the_settings_change_it() {
    let sandbox = Sandbox::bare();
    codex(&sandbox, "", DONE);
    let cost = |prices: Value, args: &[&str]| {
        settings(&sandbox, &json!({"agent": {"command": "codex"}, "prices": prices}));
        let args = [&["run", "-p", "x", "--format", "json"], args].concat();
        sandbox.ralph(&args).stops(0, "completed", 1)["total_cost"].as_f64().unwrap()
    };
    let tokens = |input: f64, cached: f64, output: f64| (25.0 * input + 75.0 * cached + 23.0 * output) / 1e3;
    let check = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    check(cost(json!({}), &[]), tokens(5.0, 0.5, 30.0));
    check(cost(json!({}), &["-m", "gpt-5-mini"]), tokens(0.25, 0.025, 2.0));
    check(cost(json!({}), &["--", "codex", "-m", "o3"]), tokens(2.0, 0.5, 8.0));
    let own = json!({"gpt-5": {"input": 1, "output": 2}});
    check(cost(own.clone(), &["-m", "gpt-5-mini"]), tokens(1.0, 1.0, 2.0));
    check(cost(own, &[]), tokens(1.0, 1.0, 2.0));
}

#[test]
fn a_wrong_price_is_an_error_and_an_unknown_word_in_one_a_warning() {
    let sandbox = Sandbox::bare();
    codex(&sandbox, "", DONE);
    let run = |price: Value| {
        settings(&sandbox, &json!({"prices": {"gpt-te": price}}));
        sandbox.ralph(&["run", "-p", "x"])
    };
    run(json!({"input": -1, "output": 1}))
        .exits(2)
        .says(r#".ralph/settings.json: prices["gpt-te"].input: expected a number, 0 or more, found -1"#);
    run(json!({"input": 1, "output": 1, "outptu": 2}))
        .exits(0)
        .says(r#"unknown key: prices["gpt-te"].outptu; did you mean prices["gpt-te"].output?"#);
}

#[test]
fn who_reports_dollars_is_taken_at_their_word() {
    let sandbox = Sandbox::bare();
    settings(&sandbox, &json!({"agent": {}, "prices": {"claude": {"input": 100, "output": 100}}}));
    sandbox.claude(&json!([[
        {"say": DONE}, {"tokens": {"input": 100_000, "output": 20_000, "cache_read": 0}}, {"cost": 0.25},
    ]]));
    let ran = sandbox.ralph(&["run", "-p", "x", "--max-cost", "1"]).exits(0).says("cost: $0.2500");
    assert!(!ran.stdout.contains('~') && ran.stderr.is_empty(), "{}{}", ran.stdout, ran.stderr);
    let result = sandbox.ralph(&["show", &sandbox.only_run(), "--format", "json"]).exits(0).json();
    assert_eq!((&result["total_cost"], &result["cost_estimated"]), (&json!(0.25), &json!(false)));
    assert_eq!(sandbox.listed()["cost_estimated"], false);
}

#[test]
fn a_limit_that_cannot_hold_an_agent_is_warned_about() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let agent = sandbox.agent(&json!([[{"say": DONE}]]));
    let warning = "ralph: warning: the agent reports neither cost nor tokens, so --max-cost has no effect on it: ralph\n";
    assert_eq!(sandbox.run(&["-p", "x", "--max-cost", "1"], &agent).exits(0).stderr, warning);
    assert_eq!(sandbox.run(&["-p", "x"], &agent).exits(0).stderr, "");
    // One that is known beside it does not change that.
    codex(&sandbox, "", DONE);
    let args = ["-p", "x", "--max-cost", "1", "--fallback-agent", "codex"];
    assert_eq!(sandbox.run(&args, &agent).exits(0).stderr, warning);
    let codex_only = sandbox.ralph(&["run", "-p", "x", "--max-cost", "1", "--agent", "codex"]);
    assert_eq!(codex_only.exits(0).stderr, "");
}
