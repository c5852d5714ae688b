//! What the layers and the table promise, on real files and on arbitrary JSON.

use super::check::check;
use super::table::{FAIL_ACTIONS, KEYS, Key, complete};
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The problems and warnings of one file, a line each.
fn findings(mut value: Value) -> String {
    let findings = check(&mut value);
    let problems = findings.problems.into_iter().map(|found| format!("{}: {}\n", found.at, found.what));
    let warnings = findings.warnings.into_iter().map(|warning| format!("{warning}\n"));
    problems.chain(warnings).collect()
}

fn defaults() -> Settings {
    resolve(Layers::default()).unwrap().settings
}

#[test]
fn the_defaults_are_those_of_the_seeds_and_the_design() {
    let settings = defaults();
    assert_eq!(settings.maximum_iterations, 10);
    assert_eq!(settings.completion_response, "DONE");
    assert_eq!(settings.output_truncate_chars, 5_000);
    assert!(settings.stream_agent_output && settings.context && settings.checkpoints);
    assert!(!settings.include_iteration_count_in_prompt);
    assert_eq!((settings.agent.command.as_str(), settings.agent.autonomous), ("claude", true));
    assert!(settings.agent.flags.is_empty() && settings.agent.model.is_none());
    assert!(settings.guardrails.is_empty() && settings.scm.tasks.is_empty());
    assert_eq!(settings.scm.command, "git");
    assert_eq!((settings.max_cost, settings.max_time, settings.timeout), (None, None, None));
    assert_eq!((settings.max_failures, settings.stall_after, settings.keep_runs), (5, 5, 100));
    assert_eq!(settings.check_timeout, 120.0);
    assert_eq!(settings.largest_file_bytes(), 10 << 20);
    let backoff = ralph_loop::limits::Backoff::default();
    assert_eq!(settings.backoff.base * 1000.0, backoff.base_ms as f64);
    assert_eq!(settings.backoff.cap * 1000.0, backoff.cap_ms as f64);
}

#[test]
fn every_fail_action_is_one_of_the_policys() {
    for action in FAIL_ACTIONS {
        let read: FailAction = serde_json::from_value(json!(action)).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), json!(action));
    }
}

#[test]
fn all_problems_of_a_file_are_told_at_once() {
    let wrong = json!({
        "maximumIterations": 0,
        "completionResponse": "  ",
        "streamAgentOutput": "yes",
        "agent": {"command": "a\u{0}b", "flags": ["-v", 3, ""]},
        "guardrails": [
            {"command": "make", "failAction": "append"},
            {"command": "", "failAction": "NOPE", "timeout": 0},
            {},
            "make test",
        ],
        "scm": [],
        "maxCost": -1,
        "prices": {
            "gpt-5.1": {"input": 1.25, "output": "ten", "cachedinput": 1},
            "o3": {"input": -1, "cachedInput": null},
            "mine": 3,
            "taken back": null,
            " ": {"input": 0, "output": 0},
        },
        "stallAfter": 1.5,
        "keepRuns": 5_000_000_000_u64,
        "maxTme": 1,
        "model": "opus",
        "zzz": {},
    });
    insta::assert_snapshot!(findings(wrong), @r#"
    maximumIterations: expected a whole number, 1 or more, found 0
    completionResponse: expected non-empty text, found empty text
    streamAgentOutput: expected true or false, found "yes"
    agent.command: expected text without NUL characters, found "a\u0000b"
    agent.flags[1]: expected non-empty text, found 3
    agent.flags[2]: expected non-empty text, found empty text
    guardrails[1].command: expected non-empty text, found empty text
    guardrails[1].failAction: expected one of APPEND, PREPEND, REPLACE, found "NOPE"
    guardrails[1].timeout: expected a number above 0, found 0
    guardrails[2].command: missing; expected non-empty text
    guardrails[2].failAction: missing; expected one of APPEND, PREPEND, REPLACE
    guardrails[3]: expected an object {…}, found "make test"
    scm: expected an object {…}, found []
    maxCost: expected a number above 0, found -1
    prices[" "]: expected a name, found empty text
    prices["gpt-5.1"].output: expected a number, 0 or more, found "ten"
    prices["mine"]: expected an object {…}, found 3
    prices["o3"].input: expected a number, 0 or more, found -1
    prices["o3"].output: missing; expected a number, 0 or more
    stallAfter: expected a whole number, 0 or more, found 1.5
    keepRuns: expected at most 1000000000, found 5000000000
    unknown key: prices["gpt-5.1"].cachedinput; did you mean prices["gpt-5.1"].cachedInput?
    unknown key: maxTme; did you mean maxTime?
    unknown key: model; did you mean agent.model?
    unknown key: zzz
    "#);
}

#[test]
fn what_is_not_an_object_is_no_settings() {
    for value in [json!([]), json!(null), json!("x"), json!(3)] {
        assert!(findings(value.clone()).starts_with(": expected an object {…}, found "), "{value}");
    }
}

#[test]
fn values_are_brought_into_their_one_form() {
    let mut value = json!({
        "maximumIterations": 3.0,
        "guardrails": [{"command": "x", "failAction": " prepend", "hint": " "}],
    });
    assert!(check(&mut value).problems.is_empty());
    assert_eq!(value["maximumIterations"], json!(3));
    assert_eq!(value["guardrails"][0]["failAction"], "PREPEND");
    assert_eq!(value["guardrails"][0]["hint"], Value::Null);
}

#[test]
fn prices_merge_model_by_model_and_know_where_they_are_from() {
    let layer = |file: &str, value: Value| file::Layer { file: file.into(), value };
    let list = vec![
        layer(
            "low",
            json!({"prices": {"gpt-5": {"input": 1, "output": 2}, "o3": {"input": 5, "output": 6}}}),
        ),
        layer(
            "high",
            json!({"prices": {"gpt-5": {"input": 3, "cachedInput": 0.5, "output": 2}, "o3": null}}),
        ),
    ];
    let loaded = resolve(Layers { list, warnings: Vec::new() }).unwrap();
    let dollars = Usd::from_dollars;
    let price = Price {
        input: dollars(3.0),
        cached_input: dollars(0.5),
        cache_write: dollars(3.0),
        output: dollars(2.0),
    };
    assert_eq!(loaded.settings.own_prices(), [("gpt-5".to_string(), price)]);
    let entries = loaded.effective.entries();
    let prices = entries.iter().filter(|entry| entry.key.starts_with("prices"));
    let shown: Vec<String> = prices.map(|e| format!("{} = {} ({})", e.key, e.value, e.from)).collect();
    assert_eq!(
        shown,
        [
            r#"prices["gpt-5"].input = 3 (high)"#,
            r#"prices["gpt-5"].cachedInput = 0.5 (high)"#,
            r#"prices["gpt-5"].output = 2 (high)"#,
        ]
    );
    assert!(defaults().prices.is_empty());
}

#[test]
fn secrets_do_not_get_into_messages() {
    let said = findings(json!({"agent": {"flags": "--api-key abc123"}}));
    assert!(said.contains("***") && !said.contains("abc123"), "{said}");
}

/// Names that the table knows, and some that it does not.
fn name() -> impl Strategy<Value = String> {
    let mut names: Vec<&'static str> = Vec::new();
    fn collect(keys: &'static [Key], names: &mut Vec<&'static str>) {
        for key in keys {
            names.push(key.name);
            collect(key.kind.keys(), names);
        }
    }
    collect(KEYS, &mut names);
    prop_oneof![4 => prop::sample::select(names).prop_map(String::from), 1 => ".{0,12}"]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..100_u64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(FAIL_ACTIONS).prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..6).prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

/// Mostly right settings: what is wrong in any JSON is left out.
fn right() -> impl Strategy<Value = Value> {
    prop::collection::vec((name(), any_json()), 0..8).prop_map(|entries| {
        let mut right = json!({});
        for (key, value) in entries {
            let mut one = json!({ key: value });
            if check(&mut one).problems.is_empty() {
                merge(&mut right, one);
            }
        }
        right
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn checking_never_panics_and_what_passes_fits_the_types(mut value in any_json()) {
        if check(&mut value).problems.is_empty() {
            let again = value.clone();
            prop_assert!(check(&mut value).problems.is_empty());
            prop_assert_eq!(&value, &again, "a second look changes nothing");
            let full = complete(value, KEYS);
            prop_assert!(Settings::deserialize(&full).is_ok(), "{}", full);
        }
    }

    #[test]
    fn right_layers_make_right_settings(layers in prop::collection::vec(right(), 0..4)) {
        let list = layers.into_iter().map(|value| file::Layer { file: "x".into(), value });
        let loaded = resolve(Layers { list: list.collect(), warnings: Vec::new() });
        prop_assert!(loaded.is_ok(), "{:?}", loaded.err());
        let mut full = loaded.unwrap().effective.value;
        prop_assert!(check(&mut full).problems.is_empty(), "defaults are right too: {}", full);
    }

    #[test]
    fn a_file_of_any_bytes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64), yaml: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(if yaml { "c.yaml" } else { "c.json" });
        crate::fsx::write_whole(&path, &bytes).unwrap();
        let _ = Layers::read([Source { path: path.clone(), shown: path, role: Role::Config }]);
    }

    #[test]
    fn masking_keeps_everything_but_secrets(text in "[a-z =:'\"-]{0,40}") {
        let masked = mask::text(&text);
        let hidden = masked.matches(mask::MASK).count();
        prop_assert!(hidden > 0 || masked == text);
        prop_assert_eq!(masked.split_whitespace().count(), text.split_whitespace().count());
    }
}
