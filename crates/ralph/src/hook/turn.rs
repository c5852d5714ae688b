//! `ralph hook turn`: what an interactive agent does, passed on to the host of its terminal.
//!
//! Where another hook of ralph's is called for the same event, that one passes it on: only it knows whether the agent
//! may stop. A host that does not answer holds up no one: its agent ends with it.

use super::{HookAnswer, variable};
use crate::terminal::{TURN, tell};
use serde_json::Value;
use std::path::Path;

/// Passes on what the agent has said, and returns what it is to be answered.
pub(super) fn pass_on(input: &[u8]) -> HookAnswer {
    let Some(socket) = variable(TURN) else { return HookAnswer::nothing() };
    match tell(Path::new(&socket), input) {
        Ok(answer) if answer.is_empty() => HookAnswer::nothing(),
        Ok(answer) => match serde_json::from_str::<Value>(&answer) {
            Ok(output) => HookAnswer { output: Some(output), ..HookAnswer::nothing() },
            Err(cause) => HookAnswer::failed(format!("cannot read the answer of the terminal: {cause}")),
        },
        Err(cause) => HookAnswer::failed(format!("cannot reach the terminal: {cause}")),
    }
}
