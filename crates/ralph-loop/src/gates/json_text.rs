//! A value inside of a JSON text, read and replaced without touching the rest.
//!
//! The order of keys stays: in `exports` of a `package.json` the first one that fits counts, so that
//! a sorted copy would be another manifest.

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text of a value by the names on the way to it.
pub(super) fn get(text: &str, keys: &[String]) -> Option<String> {
    let (first, rest) = keys.split_first()?;
    let entries = entries(text)?;
    // As in every reader of JSON, the last of two equal keys counts.
    let (_, value) = entries.iter().rev().find(|(key, _)| key == first)?;
    if rest.is_empty() { Some(value.clone()) } else { get(value, rest) }
}

/// The text with this value replaced, added or (`None`) removed.
pub(super) fn with(text: &str, keys: &[String], value: Option<&str>) -> Option<String> {
    let (first, rest) = keys.split_first()?;
    let mut entries = entries(text)?;
    let old = entries.iter().rev().find(|(key, _)| key == first).map(|(_, value)| value.clone());
    let new = match rest {
        [] => value.map(str::to_string),
        rest => match (old, value) {
            (None, None) => None,
            (old, value) => Some(with(old.as_deref().unwrap_or("{}"), rest, value)?),
        },
    };
    let at = entries.iter().position(|(key, _)| key == first).unwrap_or(entries.len());
    entries.retain(|(key, _)| key != first);
    if let Some(new) = new {
        entries.insert(at.min(entries.len()), (first.clone(), new));
    }
    let shown = |(key, value): &(String, String)| {
        serde_json::to_string(key).map(|key| format!("{key}: {value}")).ok()
    };
    let entries: Vec<String> = entries.iter().map(shown).collect::<Option<_>>()?;
    Some(format!("{{{}}}", entries.join(",\n")))
}

fn entries(text: &str) -> Option<Vec<(String, String)>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let entries = reader.deserialize_map(Entries).ok()?;
    reader.end().ok()?;
    Some(entries)
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, String)>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
            entries.push((key, value.get().to_string()));
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, keys: &str, value: Option<&str>, expected: &str) {
        let keys: Vec<String> = keys.split('.').map(str::to_string).collect();
        let with = with(text, &keys, value).map(|text| text.replace(",\n", ", "));
        assert_eq!(with.as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn one_value_is_replaced_and_the_order_stays() {
        check(
            r#"{"z":1,"a":{"y":2,"b":3}}"#,
            "a.y",
            Some("4"),
            r#"{"z": 1, "a": {"y": 4, "b":3}}"#.replace("\"b\":3", "\"b\": 3").as_str(),
        );
        check(r#"{"z":1,"a":2}"#, "z", None, r#"{"a": 2}"#);
        check(r#"{"z":1}"#, "a.b", Some("[ 1 ]"), r#"{"z": 1, "a": {"b": [ 1 ]}}"#);
        check(r#"{"a":1,"b":2,"a":3}"#, "a", Some("4"), r#"{"a": 4, "b": 2}"#);
        check(r#"{"z":1}"#, "a.b", None, r#"{"z": 1}"#);
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        assert_eq!(with("[1]", &["a".to_string()], None), None);
        assert_eq!(with("{", &["a".to_string()], None), None);
        assert_eq!(with(r#"{"a":1}"#, &["a".to_string(), "b".to_string()], Some("1")), None);
        assert_eq!(
            get(r#"{"a":1,"a":{"b":"x"}}"#, &["a".to_string(), "b".to_string()]).as_deref(),
            Some("\"x\"")
        );
    }
}
