//! What the environment says, as layers above all files.

use super::file::{Layer, Layers, Problem};
use super::table;
use super::{SettingsError, check};
use serde_json::{Value, json};
use std::env;

const AGENT: &str = "RALPH_AGENT";
const MODEL: &str = "RALPH_MODEL";
pub const SANDBOX: &str = "RALPH_SANDBOX";

/// The agent that the environment names.
pub fn agent() -> Option<String> {
    set(AGENT)
}

/// Puts the model that the environment names above the layers that are there.
pub fn add_model(layers: &mut Layers) {
    let model = set(MODEL).map(|model| json!({"agent": {"model": model}}));
    layers.list.extend(model.map(|value| Layer { file: MODEL.into(), value }));
}

/// The same for its agent. For showing only: a flag can name the agent of the files again, and then
/// their flags count.
pub fn add_agent(layers: &mut Layers) {
    let agent = agent().map(|name| over_files(&name, layers));
    layers.list.extend(agent.map(|value| Layer { file: AGENT.into(), value }));
}

/// Puts the sandbox that the environment names above the layers that are there.
pub fn add_sandbox(layers: &mut Layers) -> Result<(), SettingsError> {
    let Some(name) = set(SANDBOX) else { return Ok(()) };
    let mut value = json!({"sandbox": {"kind": name}});
    let problems = check::check(&mut value).problems.into_iter();
    let problems: Vec<Problem> = problems
        .map(|finding| Problem { file: SANDBOX.into(), at: String::new(), what: finding.what })
        .collect();
    if !problems.is_empty() {
        return Err(SettingsError { problems });
    }
    layers.list.push(Layer { file: SANDBOX.into(), value });
    Ok(())
}

/// The flags in the files are for the agent in the files.
fn over_files(name: &str, layers: &Layers) -> Value {
    let files = table::complete(layers.merged(), table::KEYS);
    match files["agent"]["command"] == name {
        true => json!({"agent": {"command": name}}),
        false => json!({"agent": {"command": name, "flags": []}}),
    }
}

fn set(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}
