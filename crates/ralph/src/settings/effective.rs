//! What the layers come to: every setting with its value and where that came from.

use super::file::Layer;
use super::mask;
use super::merge::origin;
use super::table::{KEYS, Key, Kind};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Where a value is from that no file has.
const DEFAULT: &str = "default";

#[derive(Debug)]
pub struct Effective {
    /// With every default put in.
    pub(super) value: Value,
    layers: Vec<Layer>,
    /// The model is the one that the agent's flags name.
    model_in_flags: bool,
}

/// One setting, its secrets masked.
#[derive(Debug, PartialEq, serde::Serialize)]
pub struct Entry {
    /// `agent.command`, `guardrails[0].hint`.
    pub key: String,
    pub value: Value,
    /// A file, a variable of the environment, or `default`.
    pub from: String,
}

impl Effective {
    /// `stated` is the model in the agent's flags, if that is the one that counts.
    pub(super) fn of(mut value: Value, layers: Vec<Layer>, stated: Option<String>) -> Effective {
        let model_in_flags = stated.is_some();
        if let Some(model) = stated {
            value["agent"]["model"] = model.into();
        }
        Effective { value, layers, model_in_flags }
    }

    /// The settings as a whole, secrets masked, keys in their usual order.
    pub fn masked(&self) -> InOrder {
        InOrder::new(mask::value(&self.value))
    }

    /// The values that look like secrets, under the names of their settings.
    pub fn secrets(&self) -> Vec<(String, String)> {
        mask::hidden(&self.value)
    }

    /// In the order of the table.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.collect(KEYS, &mut Vec::new(), &mask::value(&self.value), &mut entries);
        entries
    }

    fn collect(
        &self,
        keys: &'static [Key],
        path: &mut Vec<&'static str>,
        group: &Value,
        entries: &mut Vec<Entry>,
    ) {
        for key in keys {
            let value = &group[key.name];
            path.push(key.name);
            match (key.kind, value) {
                (Kind::Group(keys), _) => self.collect(keys, path, value, entries),
                (Kind::Groups(keys), Value::Array(items)) if !items.is_empty() => {
                    let name = path.join(".");
                    for (i, item) in items.iter().enumerate() {
                        let given = keys.iter().filter(|key| !item[key.name].is_null());
                        entries.extend(given.map(|key| Entry {
                            key: format!("{name}[{i}].{}", key.name),
                            value: item[key.name].clone(),
                            from: self.from(path),
                        }));
                    }
                }
                (Kind::Named(keys), Value::Object(named)) if !named.is_empty() => {
                    for (name, entry) in named {
                        let within: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
                        let given = keys.iter().filter(|key| !entry[key.name].is_null());
                        entries.extend(given.map(|key| Entry {
                            key: format!("{}[{name:?}].{}", path.join("."), key.name),
                            value: entry[key.name].clone(),
                            from: self.from(&[&within[..], &[key.name]].concat()),
                        }));
                    }
                }
                _ => {
                    let from = self.from(path);
                    entries.push(Entry { key: path.join("."), value: value.clone(), from });
                }
            }
            path.pop();
        }
    }

    fn from(&self, path: &[&str]) -> String {
        let path = if self.model_in_flags && path == ["agent", "model"] { &["agent", "flags"] } else { path };
        match origin(path, self.layers.iter().map(|layer| &layer.value)) {
            Some(layer) => self.layers[layer].file.display().to_string(),
            None => DEFAULT.to_string(),
        }
    }
}

/// Settings whose keys are written in the table's order, unknown ones last.
#[derive(Debug)]
pub struct InOrder {
    value: Value,
    keys: &'static [Key],
}

impl InOrder {
    pub fn new(value: Value) -> InOrder {
        InOrder { value, keys: KEYS }
    }
}

impl Serialize for InOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Ordered { value: &self.value, keys: self.keys }.serialize(serializer)
    }
}

struct Ordered<'v> {
    value: &'v Value,
    keys: &'static [Key],
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for key in self.keys {
                    if let Some(value) = entries.get(key.name) {
                        map.serialize_entry(key.name, &Ordered { value, keys: key.kind.keys() })?;
                    }
                }
                for (name, value) in entries {
                    if self.keys.iter().all(|key| key.name != name) {
                        map.serialize_entry(name, value)?;
                    }
                }
                map.end()
            }
            Value::Array(items) => {
                serializer.collect_seq(items.iter().map(|value| Ordered { value, keys: self.keys }))
            }
            other => other.serialize(serializer),
        }
    }
}
