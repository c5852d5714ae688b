//! "Agent Streaming Formats": what the three agents print, as events and for people.

use super::{DONE, has_line, speaker};
use crate::support::{Ran, Sandbox};
use crate::terminal::skip;
use serde_json::{Value, json};

/// The agent's events of `--format ndjson`, as their kinds and themselves.
fn agent_events(ran: &Ran) -> Vec<(String, Value)> {
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let agents = lines.filter(|line| line["type"] == "agent");
    agents.map(|line| (line["kind"].as_str().unwrap().to_owned(), line)).collect()
}

fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

/// The seed's picture of a session, as Claude's events.
fn session() -> Vec<Value> {
    let assistant = |block: Value| json!({"type": "assistant", "message": {"content": [block]}});
    let result = |id: &str, content: &str, is_error: bool| {
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error}]}})
    };
    let file = format!("package main\n{}", "x\n".repeat(44));
    let todos = json!([
        {"content": "Read the file", "status": "completed"},
        {"content": "Edit the code", "status": "in_progress"},
        {"content": "Run tests", "status": "pending"},
    ]);
    vec![
        // FACTS: a session's beginning has the subtype `init`.
        json!({"type": "system", "subtype": "init", "session_id": "s-1"}),
        assistant(json!({"type": "text", "text": "I look at it."})),
        assistant(
            json!({"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/path/to/file.go"}}),
        ),
        result("t1", &file, false),
        assistant(json!({"type": "tool_use", "id": "t2", "name": "TodoWrite", "input": {"todos": todos}})),
        result("t2", "ok", false),
        assistant(json!({"type": "tool_use", "id": "t3", "name": "Bash", "input": {"command": "make"}})),
        result("t3", "no rule", true),
        assistant(json!({"type": "text", "text": DONE})),
        json!({"type": "result", "result": DONE, "total_cost_usd": 5.76, "usage": {
            "input_tokens": 350_000, "output_tokens": 45_000,
            "cache_read_input_tokens": 850_000, "cache_creation_input_tokens": 1000}}),
    ]
}

#[test]
fn agent_streaming_formats_event_model() {
    let sandbox = Sandbox::bare();
    speaker(&sandbox, "claude", "true", &session());
    let events = agent_events(&sandbox.ralph(&["run", "-p", "x", "--format", "ndjson"]).exits(0));
    assert_eq!(
        kinds(&events),
        [
            "session",
            "text",
            "tool_start",
            "tool_end",
            "tool_start",
            "todo",
            "tool_end",
            "tool_start",
            "tool_end",
            "text",
            "result"
        ]
    );
    let event = |at: usize| &events[at].1;
    assert_eq!([&event(2)["id"], &event(2)["name"], &event(2)["input"]], ["t1", "Read", "/path/to/file.go"]);
    assert_eq!([&event(3)["id"], &event(8)["id"]], ["t1", "t3"], "tools and their ends belong together");
    assert_eq!([&event(3)["is_error"], &event(8)["is_error"]], [false, true]);
    assert_eq!(event(5)["items"][1], json!({"text": "Edit the code", "status": "in_progress"}));
    let result = event(10);
    assert_eq!(result["cost"], 5.76);
    assert_eq!(
        result["tokens"],
        json!({"input": 350_000, "output": 45_000, "cache_read": 850_000, "cache_write": 1000})
    );
}

#[test]
fn formatter() {
    let sandbox = Sandbox::bare();
    speaker(&sandbox, "claude", "true", &session());
    let ran = sandbox.ralph(&["run", "-p", "x"]).exits(0);
    // A pipe gets text markers.
    for line in [
        "* Read(/path/to/file.go)",
        "[OK] Result <- Read (45 lines, 101 chars)",
        "  | package main",
        "Todo List",
        "  [x] Read the file",
        "  [>] Edit the code <- ACTIVE",
        "  [ ] Run tests",
        "  Progress: 1/3 (33%)",
        "[ERR] Result <- Bash (1 line, 7 chars)",
    ] {
        has_line(&ran.stdout, line);
    }
    let complete = ran.stdout.lines().find(|line| line.starts_with("[OK] Complete (")).unwrap();
    let numbers = "cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 3, errors: 1, time: ";
    assert!(complete.contains(numbers), "{complete}");
    assert!(ran.stdout.matches("\n  | x\n").count() < 6, "tool output is cut");
    let ran = sandbox.ralph(&["run", "-p", "x", "--timestamps"]).exits(0);
    for line in ran.stdout.lines() {
        let shape: String = line.chars().take(11).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "[00:00:00] ", "{line}");
    }
    if sandbox.shell("command -v script").code != Some(0) {
        return skip("there is no `script` to make a terminal");
    }
    // A terminal that speaks UTF-8 gets emoji.
    let command = "stty cols 80; \"$RALPH\" run -p x";
    let shown =
        sandbox.shell(&format!("TERM=xterm NO_COLOR=1 exec script -qec '{command}' /dev/null")).exits(0);
    for part in [
        "⏺ Read(/path/to/file.go)",
        "✅ Result ← Read (45 lines, 101 chars)",
        "  ⎿ package main",
        "📋 Todo List",
        "  ✅ Read the file",
        "  🔄 Edit the code ← ACTIVE",
        "  ⏸️ Run tests",
        "  📊 Progress: 1/3 (33%)",
        "✅ Complete (cost: $5.76",
    ] {
        assert!(shown.stdout.contains(part), "{part:?} is missing in\n{}", shown.stdout);
    }
}

#[test]
fn claude_streaming_json() {
    let sandbox = Sandbox::bare();
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "s-1"}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}]}}),
        json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": false}]}}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": DONE}]}}),
        json!({"type": "result", "result": DONE, "total_cost_usd": 0.05, "usage": {"input_tokens": 1000, "output_tokens": 500, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 0}}),
    ];
    speaker(&sandbox, "claude", "true", &lines);
    let ran = sandbox.ralph(&["run", "-p", "x", "--format", "ndjson"]).exits(0);
    let events = agent_events(&ran);
    assert_eq!(kinds(&events), ["session", "text", "tool_start", "tool_end", "text", "result"]);
    assert_eq!(events[0].1["id"], "s-1");
    let result: Value = serde_json::from_str(ran.stdout.lines().next_back().unwrap()).unwrap();
    assert_eq!(result["total_cost"], 0.05);
    assert_eq!(result["iterations"][0]["steps_taken"], 3, "three messages of the assistant");
}

#[test]
fn codex_streaming_json() {
    let sandbox = Sandbox::bare();
    let item = |kind: &str, item: Value| json!({"type": kind, "item": item});
    let lines = [
        json!({"type": "thread.started", "thread_id": "t-1"}),
        item("item.started", json!({"id": "i1", "type": "command_execution", "command": "make test"})),
        item(
            "item.completed",
            json!({"id": "i1", "type": "command_execution", "command": "make test",
            "aggregated_output": "1 passed", "exit_code": 0}),
        ),
        item("item.completed", json!({"id": "i2", "type": "reasoning", "text": "Good."})),
        item("item.completed", json!({"id": "i3", "type": "agent_message", "text": DONE})),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1000, "cached_input_tokens": 800, "output_tokens": 500}}),
    ];
    speaker(&sandbox, "codex", "true", &lines);
    let args = ["run", "-p", "x", "--agent", "codex"];
    let events = agent_events(&sandbox.ralph(&[&args[..], &["--format", "ndjson"]].concat()).exits(0));
    assert_eq!(kinds(&events), ["session", "tool_start", "tool_end", "thinking", "text", "result"]);
    assert_eq!([&events[1].1["input"], &events[2].1["output"]], ["make test", "1 passed"]);
    let ran = sandbox.ralph(&args).exits(0);
    has_line(&ran.stdout, "* shell(make test)");
    has_line(&ran.stdout, "[OK] Result <- shell (1 line, 8 chars)");
    // Of 1000 tokens read, 800 came from the cache. Codex names no cost, so that is an estimate.
    ran.says("[OK] Complete (cost: ~$0.0164, tokens: 1.0K in (800 cached) / 500 out, tools: 1, time: ");
}

#[test]
fn amp_streaming_json() {
    let sandbox = Sandbox::bare();
    sandbox.plain_settings();
    let amp = |last: Value| {
        let lines = [
            json!({"type": "system", "subtype": "init", "session_id": "T-1", "tools": ["Read"]}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}], "usage": {}}}),
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}]}}),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "b"}]}}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": DONE}]}}),
            last,
        ];
        speaker(&sandbox, "amp", "true", &lines);
        let args = ["run", "-p", "x", "--agent", "amp", "--max-failures", "1", "--format", "ndjson"];
        sandbox.ralph(&args)
    };
    let usage = json!({"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 0});
    let success = json!({"type": "result", "subtype": "success", "result": DONE, "duration_ms": 1234, "num_turns": 3, "usage": usage});
    let events = agent_events(&amp(success).exits(0));
    assert_eq!(kinds(&events), ["session", "text", "tool_start", "tool_end", "text", "result"]);
    let result = &events[5].1;
    assert_eq!([&result["turns"], &result["duration_ms"]], [3, 1234]);
    assert_eq!(result["tokens"], json!({"input": 100, "output": 50, "cache_read": 80}));
    let error = json!({"type": "result", "subtype": "error_during_execution", "error": "out of credit", "is_error": true});
    let ran = amp(error).exits(1);
    let result: Value = serde_json::from_str(ran.stdout.lines().next_back().unwrap()).unwrap();
    assert_eq!(result["stop_reason"], "too_many_failures", "a claim before an error is none");
    assert!(result["iterations"][0]["error"].as_str().unwrap().contains("out of credit"), "{result:#}");
}
