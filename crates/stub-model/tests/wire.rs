//! The server as a client without any agent sees it.
#![expect(clippy::unwrap_used, reason = "clippy.toml allows them in tests, but not in helpers")]

mod client;

use client::{Client, data_of, names};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use stub_model::{Scenario, Server};

fn server(scenario: Value) -> Server {
    Server::start(Scenario::of(scenario).unwrap()).unwrap()
}

/// A scenario of one run.
fn saying(steps: &Value) -> Server {
    server(json!({"runs": [{"steps": steps}]}))
}

fn claude(stream: bool) -> Value {
    json!({"model": "m1", "stream": stream, "max_tokens": 1000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "do it"}]}],
        "tools": [{"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}]})
}

fn codex(stream: bool) -> Value {
    json!({"model": "m2", "stream": stream, "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do it"}]}],
        "tools": [{"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}}]})
}

#[test]
fn anthropic_streams_events_in_the_real_order() {
    let server = saying(&json!([{"thinking": "hm", "text": "hello", "chunk_chars": 3,
        "tools": [{"shell": "ls"}], "usage": {"input": 7, "output": 9, "cache_read": 1}}]));
    let answer = Client::to(&server).post("/any/prefix/v1/messages?beta=true", &claude(true));
    assert_eq!(answer.status, 200);
    let events = answer.events();
    let block = |deltas: usize| {
        let mut names = vec!["content_block_start"];
        names.extend(vec!["content_block_delta"; deltas]);
        names.push("content_block_stop");
        names
    };
    // The tool's input is 16 characters of JSON.
    let wanted =
        [vec!["message_start"], block(2), block(2), block(6), vec!["message_delta", "message_stop"]].concat();
    assert_eq!(names(&events), wanted);
    assert_eq!(data_of(&events, "message_start")["message"]["usage"]["input_tokens"], 7);
    let delta = data_of(&events, "message_delta");
    assert_eq!(
        (&delta["delta"]["stop_reason"], &delta["usage"]["output_tokens"]),
        (&json!("tool_use"), &json!(9))
    );
    let deltas = |kind: &str| {
        let all = events.iter().filter_map(|(_, data)| data["delta"][kind].as_str());
        all.collect::<String>()
    };
    assert_eq!((deltas("thinking"), deltas("text")), ("hm".into(), "hello".into()));
    assert_eq!(deltas("partial_json"), r#"{"command":"ls"}"#);
}

#[test]
fn responses_stream_events_in_the_real_order() {
    let server = saying(&json!([{"text": "hello", "tools": [{"shell": "ls"}], "model": "other"}]));
    let answer = Client::to(&server).post("/v1/responses", &codex(true));
    let events = answer.events();
    assert_eq!(
        names(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(number)));
    }
    let whole = &data_of(&events, "response.completed")["response"];
    assert_eq!((&whole["status"], &whole["model"]), (&json!("completed"), &json!("other")));
    assert_eq!(whole["output"][1]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(whole["usage"]["total_tokens"], 1050);
}

#[test]
fn without_a_stream_the_answer_is_whole() {
    let server =
        server(json!({"runs": [{"steps": [{"text": "a {{step}}"}]}, {"steps": [{"text": "b {{run}}"}]}]}));
    let mut client = Client::to(&server);
    let message = client.post("/v1/messages", &claude(false)).json();
    assert_eq!(message["content"], json!([{"type": "text", "text": "a 0"}]));
    assert_eq!((&message["stop_reason"], &message["model"]), (&json!("end_turn"), &json!("m1")));
    let response = client.post("/v1/responses", &codex(false)).json();
    assert_eq!(response["output"][0]["content"][0]["text"], "b 1");
    assert_eq!(response["status"], "completed");
}

#[test]
fn errors_have_the_shape_of_their_protocol_and_their_headers() {
    let errors = json!([{"error": {"status": 529, "message": "Overloaded", "retry_after": 3, "headers": {"x-a": 1}}},
        {"error": {"status": 429, "body": {"own": true}}}]);
    let server = server(json!({"runs": [{"steps": errors.clone()}, {"steps": errors}]}));
    let mut client = Client::to(&server);
    let answer = client.post("/v1/messages", &claude(true));
    assert_eq!(
        (answer.status, answer.header("retry-after"), answer.header("x-a")),
        (529, Some("3"), Some("1"))
    );
    assert_eq!(answer.json()["error"], json!({"type": "overloaded_error", "message": "Overloaded"}));
    // The same opening without an answer so far is a retry.
    assert_eq!(client.post("/v1/messages", &claude(true)).json(), json!({"own": true}));
    let mut other = codex(true);
    other["input"] = json!("someone else");
    assert_eq!(client.post("/v1/responses", &other).json()["error"]["code"], "server_error");
    let statuses: Vec<u16> = server.requests().iter().map(|seen| seen.status).collect();
    assert_eq!(statuses, [529, 429, 529]);
}

#[test]
fn a_drop_resets_the_connection_before_or_within_the_answer() {
    let server = saying(
        &json!([{"text": "x", "drop": {}}, {"text": "x", "drop": {"after_chunks": 2}}, {"text": "y"}]),
    );
    let reset = Client::to(&server).try_post("/v1/messages", &claude(true)).unwrap_err();
    assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);
    let cut = Client::to(&server).raw("/v1/messages", &claude(true));
    assert_eq!((cut.matches("event: ").count(), cut.contains("message_stop")), (2, false));
    let whole = Client::to(&server).post("/v1/messages", &claude(true));
    assert_eq!(names(&whole.events()).last(), Some(&"message_stop"));
    assert_eq!(server.requests()[0].status, 0);
}

#[test]
fn a_stream_may_end_in_an_error() {
    let broken = json!([{"text": "abcdef", "chunk_chars": 1,
        "stream_error": {"status": 529, "message": "Overloaded", "after_chunks": 3}}]);
    let server = server(json!({"runs": [{"steps": broken.clone()}, {"steps": broken}]}));
    let mut client = Client::to(&server);
    let events = client.post("/v1/messages", &claude(true)).events();
    assert_eq!(names(&events).last(), Some(&"error"));
    assert_eq!(events.len(), 4);
    assert_eq!(data_of(&events, "error")["error"]["type"], "overloaded_error");
    let events = client.post("/v1/responses", &codex(true)).events();
    assert_eq!(data_of(&events, "response.failed")["response"]["error"]["message"], "Overloaded");
}

#[test]
fn delays_and_stalls_take_their_time_and_end_with_the_server() {
    let server = saying(&json!([{"text": "x", "delay_ms": 150, "stall": {"ms": 150, "after_chunks": 1}},
        {"text": "y", "delay_ms": 600_000}]));
    let began = Instant::now();
    assert_eq!(Client::to(&server).post("/v1/messages", &claude(true)).status, 200);
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    let mut body = claude(true);
    body["messages"].as_array_mut().unwrap().push(json!({"role": "assistant", "content": "x"}));
    let mut client = Client::to(&server);
    client.send("POST", "/v1/messages", Some(&body));
    while server.requests().len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(10), "a request is logged when it comes");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn what_is_not_the_model_is_answered_and_logged() {
    let server = saying(&json!([]));
    let mut client = Client::to(&server);
    let tokens = client.post("/v1/messages/count_tokens?beta=true", &claude(false));
    assert!(tokens.json()["input_tokens"].as_u64().unwrap() > 10);
    assert_eq!(client.get("/v1/models?client_version=1").json()["data"][0]["id"], "stub-model");
    assert_eq!(client.get("/elsewhere").status, 404);
    assert_eq!(client.post("/v1/chat/completions", &json!({})).status, 404);
    let seen: Vec<(u16, String)> =
        server.requests().into_iter().map(|seen| (seen.status, seen.path)).collect();
    assert_eq!(seen[2], (404, "/elsewhere".into()));
    assert_eq!((seen.len(), server.turns().len()), (4, 0));
}

#[test]
fn housekeeping_uses_up_no_step() {
    let server = server(json!({"runs": [{"steps": [{"text": "work"}]}], "side": {"text": "A title"}}));
    let mut client = Client::to(&server);
    let mut title = claude(false);
    title["tools"] = json!([]);
    title["system"] = json!("Generate a short title for this conversation.");
    assert_eq!(client.post("/v1/messages", &title).json()["content"][0]["text"], "A title");
    assert_eq!(client.post("/v1/messages", &claude(false)).json()["content"][0]["text"], "work");
    assert_eq!(server.turns().len(), 1);
}

#[test]
fn the_log_tells_what_was_asked_and_said() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("log");
    let scenario = Scenario::of(
        json!({"runs": [{"steps": [{"text": "x", "tools": [{"shell": "ls"}]}, {"text": "end"}]}]}),
    );
    let server = Server::start_with_log(scenario.unwrap(), &file).unwrap();
    let mut client = Client::to(&server);
    client.post("/v1/responses", &codex(true));
    let mut body = codex(true);
    let items = body["input"].as_array_mut().unwrap();
    items.push(json!({"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "c"}));
    items.push(json!({"type": "function_call_output", "call_id": "c", "output": "a.txt"}));
    client.post("/v1/responses", &body);
    let turns = server.turns();
    assert_eq!((&*turns[0].opening, &*turns[1].opening), ("do it", "do it"));
    assert_eq!((&*turns[1].last_user, turns[1].assistant_turns), ("a.txt", 1));
    assert_eq!((&turns[0].called[..], &*turns[1].said), (&["exec_command".to_owned()][..], "end"));
    assert_eq!((turns[0].step, turns[1].step, turns[1].run), (0, 1, Some(0)));
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
}

#[test]
fn a_tool_that_the_client_lacks_is_told_to_both() {
    let server = saying(&json!([{"tools": [{"shell": "ls"}]}]));
    let mut body = claude(false);
    body["tools"] = json!([{"name": "Read"}]);
    let answer = Client::to(&server).post("/v1/messages", &body);
    assert_eq!(answer.status, 400);
    assert!(server.requests()[0].note.as_ref().unwrap().contains("no shell"));
}

#[test]
fn conversations_at_the_same_time_do_not_meet() {
    let runs: Vec<Value> = (0..8)
        .map(|n| json!({"match": format!("number {n}."), "steps": [{"text": format!("{n}a")}, {"text": format!("{n}b")}]}))
        .collect();
    let server = server(json!({"runs": runs}));
    std::thread::scope(|scope| {
        for n in 0..8 {
            let server = &server;
            scope.spawn(move || {
                let mut client = Client::to(server);
                let mut body = claude(true);
                body["messages"][0]["content"] = json!(format!("number {n}."));
                body["prompt_cache_key"] = json!(format!("session {n}"));
                for letter in ["a", "b"] {
                    let events = client.post("/v1/messages", &body).events();
                    let text = &data_of(&events, "content_block_delta")["delta"]["text"];
                    assert_eq!(*text, format!("{n}{letter}"));
                }
            });
        }
    });
    assert_eq!(server.turns().len(), 16);
}
