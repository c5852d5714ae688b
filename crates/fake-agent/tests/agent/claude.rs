//! The claude dialect: every line is an event, and the events belong together.

use crate::stage::{Stage, stdout};
use serde_json::{Value, json};

/// The events that a list of actions prints.
fn events(actions: &str) -> Vec<Value> {
    let stage = Stage::with(&format!(r#"{{"dialect": "claude", "calls": [{actions}]}}"#));
    let output = stage.run();
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            let block = &event["message"]["content"][0]["type"];
            let kind = if block.is_string() { block } else { &event["type"] };
            kind.as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn a_talk_goes_from_init_to_result() {
    let events = events(
        r#"[{"say": "I look."}, {"tool": {"name": "Bash", "input": {"command": "ls"}, "output": "a", "error": true}},
            {"write": {"path": "x/y.txt", "content": "z"}}, {"append": {"path": "x/y.txt", "content": "z"}},
            {"delete": "x/y.txt"}, {"cost": 0.0123},
            {"tokens": {"input": 12, "output": 3, "cache_read": 4}}, {"say": "Done."}]"#,
    );
    let expected = [
        "system",
        "text",
        "tool_use",
        "tool_result",
        "tool_use",
        "tool_result",
        "tool_use",
        "tool_result",
        "tool_use",
        "tool_result",
        "text",
        "result",
    ];
    assert_eq!(kinds(&events), expected);

    let session = &events[0]["session_id"];
    assert_eq!(session.as_str().unwrap().len(), 36);
    assert!(events.iter().all(|event| event["session_id"] == *session));
    assert_eq!((&events[0]["subtype"], &events[0]["model"]), (&json!("init"), &json!("fake")));
    assert!(events[0]["cwd"].is_string() && events[0]["tools"].is_array());

    // A text and the tool call after it are one message of the model.
    assert_eq!(events[1]["message"]["id"], events[2]["message"]["id"]);
    assert_ne!(events[2]["message"]["id"], events[4]["message"]["id"]);
    for call in [2, 4, 6, 8] {
        let (used, answered) = (&events[call]["message"], &events[call + 1]["message"]);
        assert_eq!(used["content"][0]["id"], answered["content"][0]["tool_use_id"]);
    }
    assert_eq!(events[3]["message"]["content"][0]["is_error"], true);
    let write = &events[4]["message"]["content"][0];
    assert_eq!(write["name"], "Write");
    assert!(write["input"]["file_path"].as_str().unwrap().ends_with("/x/y.txt"));
    assert_eq!(events[8]["message"]["content"][0]["input"]["command"], "rm -f x/y.txt");

    let result = &events[11];
    assert_eq!(result["result"], "Done.");
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)));
    assert_eq!((&result["total_cost_usd"], &result["num_turns"]), (&json!(0.0123), &json!(5)));
    let usage = json!({"input_tokens": 12, "output_tokens": 3,
        "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0});
    assert_eq!(result["usage"], usage);
    assert!(result["duration_ms"].is_u64());
}

#[test]
fn an_early_exit_prints_no_result() {
    assert_eq!(kinds(&events(r#"[{"say": "x"}, {"exit": 1}]"#)), ["system", "text"]);
}

#[test]
fn a_result_of_the_script_takes_the_place_of_the_last_one() {
    let events = events(r#"[{"result": {"is_error": true, "api_error_status": 429, "text": "slow down"}}]"#);
    assert_eq!(kinds(&events), ["system", "result"]);
    assert_eq!((&events[1]["subtype"], &events[1]["is_error"]), (&json!("success"), &json!(true)));
    assert_eq!((&events[1]["api_error_status"], &events[1]["result"]), (&json!(429), &json!("slow down")));
    assert_eq!(events[1]["terminal_reason"], "api_error");
}

#[test]
fn floods_are_events_as_well() {
    let all = events(
        r#"[{"print_mb": {"mb": 2, "shape": "events"}}, {"print_mb": {"mb": 2, "shape": "one_line"}}]"#,
    );
    let (first, huge, last) = (&all[0], &all[all.len() - 2], &all[all.len() - 1]);
    assert_eq!((&first["type"], &last["type"]), (&json!("system"), &json!("result")));
    assert!(huge["message"]["content"][0]["text"].as_str().unwrap().len() > 2_000_000);
    assert!(all.iter().all(|event| event["session_id"] == first["session_id"]));
}
