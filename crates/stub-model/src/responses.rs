//! OpenAI's Responses: `POST …/responses`.

use crate::reply::{Event, Reply, ToolCall};
use crate::scenario::ErrorSpec;
use serde_json::{Value, json};

pub(crate) fn whole(reply: &Reply) -> Value {
    let usage = reply.usage;
    let input = usage.input + usage.cache_read;
    json!({
        "id": format!("resp_{}", reply.id), "object": "response", "created_at": 1_700_000_000,
        "status": "completed", "model": reply.model, "output": items(reply), "error": null,
        "usage": {
            "input_tokens": input,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": input + usage.output,
        },
    })
}

pub(crate) fn events(reply: &Reply) -> Vec<Event> {
    let whole = whole(reply);
    let mut opening = whole.clone();
    opening["status"] = json!("in_progress");
    opening["output"] = json!([]);
    opening["usage"] = Value::Null;
    let mut events = vec![
        ("response.created", json!({"response": opening})),
        ("response.in_progress", json!({"response": opening})),
    ];
    for (index, item) in items(reply).into_iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        if item["type"] == "message" {
            begun["content"] = json!([]);
        }
        events.push(("response.output_item.added", json!({"output_index": index, "item": begun})));
        events.extend(unfold(reply, index, &item));
        events.push(("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    events.push(("response.completed", json!({"response": whole})));
    for (number, (name, data)) in events.iter_mut().enumerate() {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
    }
    events
}

pub(crate) fn error(spec: &ErrorSpec) -> Value {
    let kind = kind(spec);
    json!({"error": {"message": spec.message(), "type": kind, "param": null, "code": kind}})
}

pub(crate) fn stream_error(spec: &ErrorSpec) -> Event {
    const NAME: &str = "response.failed";
    let error = json!({"code": kind(spec), "message": spec.message()});
    let response = json!({"id": "resp_stub", "object": "response", "status": "failed", "error": error});
    (NAME, json!({"type": NAME, "sequence_number": 99, "response": response}))
}

fn kind(spec: &ErrorSpec) -> &str {
    spec.kind.as_deref().unwrap_or(match spec.status {
        401 => "invalid_api_key",
        400 | 403 | 404 => "invalid_request_error",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    })
}

/// What comes between an item's beginning and its end.
fn unfold(reply: &Reply, index: usize, item: &Value) -> Vec<Event> {
    let part = |more: Value| {
        let mut data = more;
        data["item_id"] = item["id"].clone();
        data["output_index"] = json!(index);
        data
    };
    let text = |more: Value| {
        let mut data = part(more);
        data["content_index"] = json!(0);
        data
    };
    match item["type"].as_str() {
        Some("message") => {
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            let mut events = vec![("response.content_part.added", text(json!({"part": empty})))];
            let pieces = reply.pieces(&reply.text).into_iter();
            events.extend(pieces.map(|piece| ("response.output_text.delta", text(json!({"delta": piece})))));
            events.push(("response.output_text.done", text(json!({"text": reply.text}))));
            events.push(("response.content_part.done", text(json!({"part": item["content"][0]}))));
            events
        }
        Some("function_call") => vec![
            ("response.function_call_arguments.delta", part(json!({"delta": item["arguments"]}))),
            ("response.function_call_arguments.done", part(json!({"arguments": item["arguments"]}))),
        ],
        Some("custom_tool_call") => vec![
            ("response.custom_tool_call_input.delta", part(json!({"delta": item["input"]}))),
            ("response.custom_tool_call_input.done", part(json!({"input": item["input"]}))),
        ],
        _ => Vec::new(),
    }
}

fn items(reply: &Reply) -> Vec<Value> {
    let mut items = Vec::new();
    if !reply.thinking.is_empty() {
        items.push(json!({
            "id": format!("rs_{}", reply.id), "type": "reasoning", "encrypted_content": null,
            "summary": [{"type": "summary_text", "text": reply.thinking}],
        }));
    }
    if reply.says_text() {
        items.push(json!({
            "id": format!("msg_{}", reply.id), "type": "message", "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
        }));
    }
    items.extend(reply.calls.iter().map(call_item));
    items
}

fn call_item(call: &ToolCall) -> Value {
    let call_id = format!("call_{}", call.id);
    if call.custom {
        let input = call.input.as_str().or_else(|| call.input["input"].as_str()).unwrap_or_default();
        return json!({
            "id": format!("ctc_{}", call.id), "type": "custom_tool_call", "call_id": call_id,
            "name": call.name, "status": "completed", "input": input,
        });
    }
    // The protocol has the arguments as a text.
    let arguments = if call.input.is_null() { "{}".to_owned() } else { call.input.to_string() };
    json!({
        "id": format!("fc_{}", call.id), "type": "function_call", "call_id": call_id,
        "name": call.name, "status": "completed", "arguments": arguments,
    })
}
