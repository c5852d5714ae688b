//! An API that says no.

use crate::stage::{Real, Stage};
use serde_json::json;

const NO: &str = "the stub takes no such request";

#[test]
fn claude_is_refused_for_good() {
    is_refused(Real::Claude, 400, NO, NO);
}

/// Claude says it in words of its own.
#[test]
fn claude_has_a_wrong_key() {
    is_refused(Real::Claude, 401, "invalid x-api-key", "401: Invalid API key");
}

#[test]
fn codex_is_refused_for_good() {
    is_refused(Real::Codex, 400, NO, NO);
}

#[test]
fn codex_has_a_wrong_key() {
    is_refused(Real::Codex, 401, "no such key", "no such key");
}

/// The run fails and tells what the API has said.
fn is_refused(real: Real, status: u16, message: &str, told: &str) {
    let error = json!({"error": {"status": status, "message": message}});
    let Some(stage) = Stage::set_scenario(
        real,
        json!({"on_exhausted": "repeat_last", "runs": [{"steps": [error], "match": "make it", "sticky": true}]}),
    ) else {
        return;
    };
    let ran = stage.run(&["make it", "--check", "true", "-n", "3", "--max-failures", "1"]);
    assert!(ran.code.is_some_and(|code| code != 0), "{}\n{}", ran.stdout, ran.stderr);
    let result: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["success"], false, "{result:#}");
    assert!(result.to_string().contains(told), "{result:#}\n{}", ran.stderr);
    stage.asked_only_the_model();
    assert_eq!(stage.alive(), []);
}
