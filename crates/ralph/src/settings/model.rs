//! Which layer names the agent's model: `agent.model`, or a flag in `agent.flags`.

use super::file::Layer;
use super::merge::origin;
use ralph_loop::dialect::{Dialect, named_model, without_model};
use serde_json::{Value, json};

/// Of the two, what stands in the lower layer is taken out. Returns the model in the flags, if that
/// one counts. In the same layer the flags do: they go to the agent as they are.
pub fn settle(agent: &mut Value, layers: &[Layer]) -> Option<String> {
    let dialect = Dialect::of_program(agent["command"].as_str().unwrap_or_default());
    let flags: Vec<String> = serde_json::from_value(agent["flags"].clone()).unwrap_or_default();
    let stated = named_model(dialect, &flags)?;
    let layer = |key| origin(&["agent", key], layers.iter().map(|layer| &layer.value));
    if !agent["model"].is_null() && layer("model") > layer("flags") {
        agent["flags"] = json!(without_model(dialect, &flags));
        return None;
    }
    agent["model"] = Value::Null;
    Some(stated)
}
