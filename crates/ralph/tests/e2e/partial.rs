//! Messages that take long to write: they are seen while they are written, and count once.

use crate::stage::{DONE, Real, Stage, until};
use serde_json::{Value, json};

/// Of Claude nothing else is seen until a whole thought, text or tool call is written.
#[test]
fn claude_prints_while_the_model_thinks_and_writes_a_tool_call() {
    let slow = json!({
        "thinking": "I shall write it. ".repeat(3), "text": "Slowly but surely.",
        "tools": [{"write": {"path": "long.txt", "content": "a line\n".repeat(12)}}],
        "chunk_chars": 12, "chunk_delay_ms": 120,
    });
    let steps = json!([slow, {"text": format!("There it is. {DONE}"), "chunk_chars": 4}]);
    let Some(stage) = Stage::set(Real::Claude, &json!([{"steps": steps}])) else { return };
    let running = stage.start(&["run", "--format", "ndjson", "write it", "--check", "test -s long.txt"]);
    // Pieces of the call, and nothing whole yet.
    until("a part of the call", || {
        let stream = stage.stream();
        stream.contains(r#""type":"input_json_delta""#) && !stream.contains(r#""input":{"file_path""#)
    });
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    let stream = stage.stream();
    assert!(stream.contains(r#""type":"thinking_delta""#) && stream.contains(r#""type":"text_delta""#));
    let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let times = |fits: &dyn Fn(&Value) -> bool| events.iter().filter(|event| fits(event)).count();
    assert_eq!(times(&|event| event["kind"] == "text" && event["text"] == "Slowly but surely."), 1);
    assert_eq!(times(&|event| event["kind"] == "tool_start"), 1);
    assert_eq!(times(&|event| event["kind"] == "thinking"), 1);
    let result = events.last().unwrap();
    assert_eq!(result["iterations"][0]["steps_taken"], 2, "{result:#}");
    assert_eq!(stage.alive(), []);
}

/// A fragment that is printed is shorter than a secret, and the tool prints the whole.
fn a_secret_is_in_nothing_that_is_kept(real: Real) {
    const SECRET: &str = "tok-0123456789-abcdefghij";
    let steps = json!([
        {"thinking": format!("The key is {SECRET}."), "text": format!("It is {SECRET}, I print it."),
         "tools": [{"shell": format!("echo $API_TOKEN; echo {SECRET} > kept.txt")}], "chunk_chars": 5},
        {"text": format!("{SECRET} it was. {DONE}"), "chunk_chars": 3},
    ]);
    let Some(stage) = Stage::set(real, &json!([{"steps": steps}])) else { return };
    // The guard would not let it print the token.
    stage.settings(json!({"guard": {"categories": {"credentials": "off"}}}));
    let args = ["run", "--format", "ndjson", "print it", "--check", "cat kept.txt"];
    let ran = stage.start_with(&args, &[("API_TOKEN", SECRET)]).end();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(stage.read("kept.txt").trim(), SECRET, "the agent's own files are its own");
    let stream = stage.stream();
    for text in [&ran.stdout, &ran.stderr, &stage.journal(), &stream] {
        assert!(!text.contains("0123456789") && !text.contains(SECRET), "{text}");
    }
    assert!(stream.contains("***API_TOKEN***"), "{stream}");
    let said: String = stream
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| line["event"]["delta"]["text"].as_str().map(str::to_owned))
        .collect();
    let whole = format!("It is ***API_TOKEN***, I print it.***API_TOKEN*** it was. {DONE}");
    assert!(real != Real::Claude || said == whole, "{said}");
}

#[test]
fn a_secret_that_claude_prints_in_fragments_is_masked() {
    a_secret_is_in_nothing_that_is_kept(Real::Claude);
}

#[test]
fn a_secret_that_codex_prints_is_masked() {
    a_secret_is_in_nothing_that_is_kept(Real::Codex);
}
