//! The table of settings as a JSON schema, for editors and other programs.
//!
//! Stricter than ralph in two ways, because an editor is the place to fix such things: a key
//! that is unknown is an error, and a fail action is written in capitals.

use super::table::{Fallback, KEYS, Key, Kind, MOST, SCHEMA_KEY};
use serde_json::{Map, Value, json};

pub fn schema() -> Value {
    let mut schema = object(KEYS);
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), "ralph settings".into());
    schema.insert("description".into(), "The format of .ralph/settings.json.".into());
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(SCHEMA_KEY.into(), json!({"type": "string", "description": "This schema."}));
    }
    Value::Object(schema)
}

fn object(keys: &'static [Key]) -> Map<String, Value> {
    let properties: Map<String, Value> = keys.iter().map(|key| (key.name.into(), property(key))).collect();
    let required: Vec<&str> =
        keys.iter().filter(|key| key.default == Fallback::Required).map(|key| key.name).collect();
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), properties.into());
    object.insert("additionalProperties".into(), false.into());
    if !required.is_empty() {
        object.insert("required".into(), required.into());
    }
    object
}

fn property(key: &Key) -> Value {
    let mut property = shape(key.kind);
    property.insert("description".into(), key.doc.into());
    match key.default {
        Fallback::Required | Fallback::Group => {}
        Fallback::Nothing => {
            property.insert("default".into(), Value::Null);
            let kind = property.remove("type");
            property.insert("type".into(), json!([kind, "null"]));
        }
        Fallback::Switch(_)
        | Fallback::Count(_)
        | Fallback::Text(_)
        | Fallback::EmptyList
        | Fallback::EmptyObject => {
            property.insert("default".into(), key.default_value());
        }
    }
    Value::Object(property)
}

fn shape(kind: Kind) -> Map<String, Value> {
    let shape = match kind {
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Count { least } => json!({"type": "integer", "minimum": least, "maximum": MOST}),
        Kind::Number { zero: true } => json!({"type": "number", "minimum": 0, "maximum": MOST}),
        Kind::Number { zero: false } => json!({"type": "number", "exclusiveMinimum": 0, "maximum": MOST}),
        Kind::Text => json!({"type": "string", "pattern": "\\S"}),
        Kind::Note => json!({"type": "string"}),
        Kind::Choice(choices) => json!({"type": "string", "enum": choices}),
        Kind::Texts => json!({"type": "array", "items": shape(Kind::Text)}),
        Kind::Group(keys) => return object(keys),
        Kind::Groups(keys) => json!({"type": "array", "items": object(keys)}),
        Kind::Named(keys) => json!({
            "type": "object",
            "propertyNames": {"pattern": "\\S"},
            "additionalProperties": object(keys),
        }),
    };
    match shape {
        Value::Object(shape) => shape,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_described_with_its_limits() {
        let schema = schema();
        assert_eq!(schema["properties"]["maximumIterations"]["minimum"], 1);
        assert_eq!(schema["properties"]["maximumIterations"]["default"], 10);
        assert_eq!(schema["properties"]["maxCost"]["type"], json!(["number", "null"]));
        let guardrail = &schema["properties"]["guardrails"]["items"];
        assert_eq!(guardrail["required"], json!(["command", "failAction"]));
        assert_eq!(guardrail["properties"]["failAction"]["enum"], json!(["APPEND", "PREPEND", "REPLACE"]));
        let price = &schema["properties"]["prices"]["additionalProperties"];
        assert_eq!(price["required"], json!(["input", "output"]));
        assert_eq!(price["properties"]["cachedInput"]["type"], json!(["number", "null"]));
        assert_eq!(schema["properties"]["agent"]["properties"]["command"]["default"], "claude");
        for key in KEYS {
            assert_eq!(schema["properties"][key.name]["description"], key.doc);
        }
    }
}
