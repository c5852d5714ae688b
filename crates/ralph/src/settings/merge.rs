//! Deep merge of JSON: objects key by key, everything else replaced.

use serde_json::Value;

pub fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_merge_arrays_and_scalars_replace() {
        let mut base = json!({"agent": {"command": "claude", "flags": ["--model opus"]}, "n": 1});
        merge(&mut base, json!({"agent": {"flags": ["--verbose"]}, "n": 2, "new": {"x": null}}));
        assert_eq!(
            base,
            json!({"agent": {"command": "claude", "flags": ["--verbose"]}, "n": 2, "new": {"x": null}})
        );
    }
}
