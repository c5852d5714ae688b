//! Usage limits: the agent stops at once, ralph says until when, and the run gets done.

use crate::stage::{DONE, Real, Stage};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Claude believes what a subscription's headers say, and only with a subscription's token.
#[test]
fn claude_hits_its_limit_and_goes_on_after_it() {
    let reset = now() + 2;
    let headers = json!({
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": reset.to_string(),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-reset": reset.to_string(),
    });
    let limit = json!({"error": {"status": 429, "message": "usage limit"}, "headers": headers});
    let Some(events) = hits_its_limit(Real::Claude, &limit) else { return };
    let rate_limit = events.iter().find(|event| event["kind"] == "rate_limit").unwrap();
    assert_eq!(
        (&rate_limit["status"], &rate_limit["resets_at"], &rate_limit["limit"]),
        (&json!("rejected"), &json!(reset), &json!("five_hour")),
        "{rate_limit:#}"
    );
}

/// Codex says it in words, to the minute.
#[test]
fn codex_hits_its_limit_and_goes_on_after_it() {
    let body = json!({"error": {
        "type": "usage_limit_reached", "message": "The usage limit has been reached",
        "plan_type": "plus", "resets_at": now(), "resets_in_seconds": 1}});
    let limit = json!({"error": {"status": 429, "body": body}});
    let Some(events) = hits_its_limit(Real::Codex, &limit) else { return };
    let says =
        |event: &Value| event["kind"] == "result" && event["error"].to_string().contains("usage limit");
    assert!(events.iter().any(says), "{events:#?}");
    // `try again at 5:03 AM.`, and that is now.
    let read = |event: &Value| event["fact"]["ended"]["end"]["agent"]["retry_in_ms"] == 0;
    assert!(events.iter().any(read), "{events:#?}");
}

/// A limit at the first try and an answer at the second; what ralph reports.
fn hits_its_limit(real: Real, limit: &Value) -> Option<Vec<Value>> {
    let stage =
        Stage::set(real, &json!([{"steps": [limit]}, {"steps": [{"text": DONE}]}]))?.with_subscription();
    let ran = stage.start(&["run", "--format", "ndjson", "make it", "--check", "true"]).end();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    let statuses: Vec<u16> = stage.turns().iter().map(|turn| turn.status).collect();
    assert_eq!(statuses, [429, 200], "the agent itself does not try again");
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
    Some(ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
