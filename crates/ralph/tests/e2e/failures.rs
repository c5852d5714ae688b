//! An API that says no.

use crate::stage::{DONE, Real, Stage};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

const NO: &str = "the stub takes no such request";

#[test]
fn claude_is_refused_for_good() {
    is_refused(Real::Claude, 400, NO, NO);
}

/// It would try the key ten times more, for three minutes.
#[test]
fn claude_has_a_wrong_key_and_is_ended_at_its_first_retry() {
    let error = json!({"status": 401, "message": "invalid x-api-key"});
    let Some(stage) = answering(Real::Claude, &error) else { return };
    let args = ["run", "--format", "json", "make it"];
    let ran = stage.start_with(&args, &[("CLAUDE_CODE_MAX_RETRIES", "10")]).end();
    let result = ran.stops(1, "authentication", 0);
    assert_eq!(result["error"]["message"], "API error 401: authentication_failed");
    assert!(stage.turns().len() <= 4, "{}", stage.turns().len());
    assert_eq!(stage.alive(), []);
}

#[test]
fn claude_has_no_credit_and_another_agent_takes_over() {
    let message = "Your credit balance is too low to access the Anthropic API.";
    let error = json!({"status": 400, "message": message});
    stops_or_hands_over(Real::Claude, &error, "Credit balance is too low");
}

#[test]
fn codex_has_no_quota_and_another_agent_takes_over() {
    let body =
        json!({"error": {"type": "insufficient_quota", "code": "insufficient_quota", "message": "no"}});
    let error = json!({"status": 429, "body": body});
    stops_or_hands_over(Real::Codex, &error, "Quota exceeded. Check your plan and billing details.");
}

#[test]
fn codex_has_no_such_model_and_another_agent_takes_over() {
    let message = "The model `gpt-9` does not exist or you do not have access to it.";
    let body =
        json!({"error": {"type": "invalid_request_error", "code": "model_not_found", "message": message}});
    stops_or_hands_over(Real::Codex, &json!({"status": 404, "body": body}), message);
}

/// Without another agent the run stops at the first refusal, whatever failures it may endure.
fn stops_or_hands_over(real: Real, error: &Value, expected: &str) {
    let Some(stage) = answering(real, error) else { return };
    let result = stage.run(&["make it"]).stops(1, "authentication", 0);
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains(expected), "{result:#}");
    let second = second_agent(&stage);
    stage.run(&["make it", "-n", "1", "--fallback-agent", &second]).stops(0, "completed", 1);
    assert_eq!(stage.turns().len(), 2, "each of them asked once");
    assert_eq!(stage.alive(), []);
}

#[test]
fn codex_finds_its_service_down() {
    is_down(&json!({"status": 500, "message": "boom"}), "experiencing high demand");
}

#[test]
fn codex_finds_its_model_at_capacity() {
    let body = json!({"error": {"type": "server_error", "code": "server_is_overloaded", "message": "no"}});
    is_down(&json!({"status": 503, "body": body}), "Selected model is at capacity.");
}

/// Waited for up to the limit of an outage, and no failure; another agent does not wait.
fn is_down(error: &Value, expected: &str) {
    let Some(stage) = answering(Real::Codex, error) else { return };
    let ran = stage.start(&["run", "make it", "--max-failures", "1", "--max-outage", "0.01"]).end();
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Service unavailable") && ran.stdout.contains(expected), "{}", ran.stdout);
    assert!(ran.stdout.contains("outage:"), "{}", ran.stdout);
    let second = second_agent(&stage);
    stage.run(&["make it", "-n", "1", "--fallback-agent", &second]).stops(0, "completed", 1);
    assert_eq!(stage.alive(), []);
}

/// It does not end by itself.
#[test]
fn codex_without_a_network_is_an_outage() {
    let Some(stage) = Stage::set(Real::Codex, &json!([])) else { return };
    // A port that no process listens on any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!("model_providers.stub.base_url=\"http://{closed}/v1\"");
    let args = ["make it", "--max-outage", "1", "--", "codex", "-c", &config, CODEX_BYPASS];
    stage.run(&args).stops(1, "outage", 0);
    assert_eq!(stage.alive(), []);
}

const CODEX_BYPASS: &str = "--dangerously-bypass-approvals-and-sandbox";

#[test]
fn claude_does_not_know_a_flag() {
    let Some(stage) = Stage::set(Real::Claude, &json!([])) else { return };
    let result = stage.run(&["make it", "--", "claude", "--no-such-flag"]).stops(1, "error", 0);
    assert_eq!(result["error"]["message"], "error: unknown option '--no-such-flag'");
}

#[test]
fn codex_does_not_know_a_flag() {
    let Some(stage) = Stage::set(Real::Codex, &json!([])) else { return };
    let result = stage.run(&["make it", "--", "codex", "--no-such-flag"]).stops(1, "error", 0);
    assert_eq!(result["error"]["message"], "error: unexpected argument '--no-such-flag' found");
}

/// Before the run begins; or, where a script stands between, by its own words.
#[test]
fn claude_does_not_work_for_root() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let Some(stage) = Stage::set(Real::Claude, &json!([{"steps": [{"text": DONE}]}])) else { return };
    let outside = [("IS_SANDBOX", "")];
    let args = ["run", "--format", "json", "make it"];
    let ran = stage.start_with(&args, &outside).end();
    let result = ran.stops(2, "error", 0);
    assert!(result["error"]["hint"].as_str().unwrap().contains("export IS_SANDBOX=1"), "{result:#}");

    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", stage.program().display());
    executable(&stage, "claude", &script);
    let ran = stage.start_with(&[&args[..], &["--", "./claude"]].concat(), &outside).end();
    let result = ran.stops(1, "error", 0);
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("cannot be used with root/sudo privileges"), "{result:#}");
    assert_eq!(stage.turns().len(), 0);
    stage.run(&["make it", "--", "./claude"]).stops(0, "completed", 1);
}

/// A model that has one answer to everything.
fn answering(real: Real, error: &Value) -> Option<Stage> {
    let run = json!({"steps": [{"error": error}], "match": "make it", "sticky": true});
    Stage::set_scenario(real, json!({"on_exhausted": "repeat_last", "runs": [run]}))
}

/// An agent that needs no service, by its path.
fn second_agent(stage: &Stage) -> String {
    executable(stage, "second", &format!("#!/bin/sh\ncat > /dev/null\necho '{DONE}'\n"));
    "./second".to_string()
}

fn executable(stage: &Stage, name: &str, text: &str) {
    fs::write(stage.path(name), text).unwrap();
    fs::set_permissions(stage.path(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn codex_is_refused_for_good() {
    is_refused(Real::Codex, 400, NO, NO);
}

#[test]
fn codex_has_a_wrong_key() {
    let Some(stage) = answering(Real::Codex, &json!({"status": 401, "message": "no such key"})) else {
        return;
    };
    let result = stage.run(&["make it", "--check", "true", "-n", "3"]).stops(1, "authentication", 0);
    assert!(result["error"]["message"].as_str().unwrap().contains("no such key"), "{result:#}");
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
}

/// It would try for as long as an outage is waited for.
#[test]
fn codex_has_an_address_that_is_no_url() {
    let Some(stage) = Stage::set(Real::Codex, &json!([])) else { return };
    let flags = ["-c", "model_providers.stub.base_url=\"not a url\""];
    let args = [&["make it", "-n", "3", "--", "codex"], &flags[..]].concat();
    let result = stage.run(&args).stops(1, "error", 0);
    assert_eq!(result["error"]["message"], "stream disconnected before completion: builder error");
    assert!(result["error"]["hint"].as_str().unwrap().contains("base_url"), "{result:#}");
}

/// The run fails and reports what the API has said.
fn is_refused(real: Real, status: u16, message: &str, expected: &str) {
    let error = json!({"status": status, "message": message});
    let Some(stage) = answering(real, &error) else { return };
    let ran = stage.run(&["make it", "--check", "true", "-n", "3", "--max-failures", "1"]);
    assert!(ran.code.is_some_and(|code| code != 0), "{}\n{}", ran.stdout, ran.stderr);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["success"], false, "{result:#}");
    assert!(result.to_string().contains(expected), "{result:#}\n{}", ran.stderr);
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
}
