//! A line of `go test -json`.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Event {
    pub action: String,
    pub package: Option<String>,
    pub test: Option<String>,
    pub output: Option<String>,
    pub failed_build: Option<String>,
}

impl Event {
    pub fn parse(line: &str) -> Option<Event> {
        // Most JSON is something else: no parser is needed for that.
        line.contains("\"Action\":").then(|| serde_json::from_str(line).ok())?
    }
}
