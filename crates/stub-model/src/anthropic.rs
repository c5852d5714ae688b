//! Anthropic's Messages: `POST …/v1/messages`.

use crate::reply::{Event, Reply};
use crate::scenario::ErrorSpec;
use serde_json::{Value, json};

pub(crate) fn whole(reply: &Reply) -> Value {
    json!({
        "id": format!("msg_{}", reply.id), "type": "message", "role": "assistant",
        "model": reply.model, "content": blocks(reply), "stop_reason": stop_reason(reply),
        "stop_sequence": null, "usage": usage(reply, reply.usage.output),
    })
}

pub(crate) fn events(reply: &Reply) -> Vec<Event> {
    let mut opening = whole(reply);
    opening["content"] = json!([]);
    opening["stop_reason"] = Value::Null;
    opening["usage"] = usage(reply, 1);
    let mut events = vec![("message_start", json!({"type": "message_start", "message": opening}))];
    for (index, block) in blocks(reply).into_iter().enumerate() {
        let (empty, deltas) = unfold(reply, block);
        events.push((
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": empty}),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            ("content_block_delta", json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        events.push(("content_block_stop", json!({"type": "content_block_stop", "index": index})));
    }
    events.push((
        "message_delta",
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
            "usage": usage(reply, reply.usage.output),
        }),
    ));
    events.push(("message_stop", json!({"type": "message_stop"})));
    events
}

pub(crate) fn error(spec: &ErrorSpec) -> Value {
    let kind = spec.kind.as_deref().unwrap_or(match spec.status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    });
    json!({
        "type": "error", "error": {"type": kind, "message": spec.message()}, "request_id": "req_stub",
    })
}

/// A block as it begins, and what fills it.
fn unfold(reply: &Reply, mut block: Value) -> (Value, Vec<Value>) {
    const SIGNATURE: &str = "c3R1Yg==";
    match block["type"].as_str() {
        Some("text") => {
            let pieces = reply.pieces(&reply.text).into_iter();
            block["text"] = json!("");
            (block, pieces.map(|piece| json!({"type": "text_delta", "text": piece})).collect())
        }
        Some("thinking") => {
            let pieces = reply.pieces(&reply.thinking).into_iter();
            let mut deltas: Vec<Value> =
                pieces.map(|piece| json!({"type": "thinking_delta", "thinking": piece})).collect();
            deltas.push(json!({"type": "signature_delta", "signature": SIGNATURE}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        _ => {
            let input = block["input"].take().to_string();
            block["input"] = json!({});
            let pieces = reply.pieces(&input).into_iter();
            (block, pieces.map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect())
        }
    }
}

fn blocks(reply: &Reply) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !reply.thinking.is_empty() {
        blocks.push(json!({"type": "thinking", "thinking": reply.thinking, "signature": "c3R1Yg=="}));
    }
    if reply.says_text() {
        blocks.push(json!({"type": "text", "text": reply.text}));
    }
    blocks.extend(reply.calls.iter().map(|call| {
        let input = if call.input.is_null() { json!({}) } else { call.input.clone() };
        json!({"type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.name, "input": input})
    }));
    blocks
}

fn stop_reason(reply: &Reply) -> &str {
    let usual = if reply.calls.is_empty() { "end_turn" } else { "tool_use" };
    reply.stop_reason.as_deref().unwrap_or(usual)
}

fn usage(reply: &Reply, output: u64) -> Value {
    json!({
        "input_tokens": reply.usage.input, "cache_creation_input_tokens": reply.usage.cache_write,
        "cache_read_input_tokens": reply.usage.cache_read, "output_tokens": output,
        "service_tier": "standard",
    })
}
