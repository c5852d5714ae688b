//! Layers of JSON: how they become one, and which of them a value came from.

use serde_json::Value;

/// Puts one layer over another: objects key by key, everything else replaced.
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

/// The last of the layers that decides the value at a path of keys, if one does. A layer also
/// decides by putting something that is no object where the path goes on.
pub fn origin<'l>(
    path: &[&str],
    mut layers: impl DoubleEndedIterator<Item = &'l Value> + ExactSizeIterator,
) -> Option<usize> {
    layers.rposition(|layer| decides(layer, path))
}

fn decides(layer: &Value, path: &[&str]) -> bool {
    match (layer, path) {
        (_, []) => true,
        (Value::Object(entries), [key, rest @ ..]) => {
            entries.get(*key).is_some_and(|value| decides(value, rest))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn merged(mut base: Value, over: &Value) -> Value {
        merge(&mut base, over.clone());
        base
    }

    #[test]
    fn objects_merge_arrays_and_scalars_replace() {
        let base = json!({"agent": {"command": "claude", "flags": ["--model opus"]}, "n": 1});
        let over = json!({"agent": {"flags": ["--verbose"]}, "n": 2, "new": {"x": null}});
        let both =
            json!({"agent": {"command": "claude", "flags": ["--verbose"]}, "n": 2, "new": {"x": null}});
        assert_eq!(merged(base, &over), both);
    }

    #[test]
    fn a_value_comes_from_the_last_layer_that_decides_it() {
        let layers = [json!({"scm": {"tasks": ["commit"]}, "a": 1}), json!({"scm": null}), json!({"b": {}})];
        let from = |path: &[&str]| origin(path, layers.iter());
        assert_eq!(from(&["a"]), Some(0));
        assert_eq!(from(&["scm", "tasks"]), Some(1));
        assert_eq!(from(&["b", "c"]), None);
        assert_eq!(from(&["c"]), None);
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from)
        ]
    }

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![scalar(), prop::collection::vec(scalar(), 0..3).prop_map(Value::from)]
    }

    /// Any JSON at all.
    fn anything() -> impl Strategy<Value = Value> {
        leaf().prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|entries| entries.into_iter().collect()),
            ]
        })
    }

    /// Objects of one shape, as settings are: `o` and `p` hold objects, `x` and `y` never do.
    fn shaped() -> impl Strategy<Value = Value> {
        let object = |groups: BoxedStrategy<Value>| {
            let entry = prop_oneof![("[xy]", leaf()), ("[op]", groups)];
            prop::collection::vec(entry, 0..4).prop_map(|entries| entries.into_iter().collect::<Value>())
        };
        let flat = prop::collection::btree_map("[xy]", leaf(), 0..3)
            .prop_map(|entries| entries.into_iter().collect::<Value>());
        object(object(flat.boxed()).boxed())
    }

    proptest! {
        #[test]
        fn an_empty_layer_changes_nothing(base in shaped()) {
            prop_assert_eq!(merged(base.clone(), &json!({})), base.clone());
            prop_assert_eq!(merged(json!({}), &base), base);
        }

        #[test]
        fn a_layer_over_itself_changes_nothing(base in anything()) {
            prop_assert_eq!(merged(base.clone(), &base), base);
        }

        #[test]
        fn it_does_not_matter_which_layers_are_merged_first(a in shaped(), b in shaped(), c in shaped()) {
            let left = merged(merged(a.clone(), &b), &c);
            let right = merged(a, &merged(b, &c));
            prop_assert_eq!(left, right);
        }

        #[test]
        fn scalars_and_arrays_replace(base in anything(), over in leaf()) {
            prop_assert_eq!(merged(base, &over), over);
        }

        #[test]
        fn every_value_of_the_last_layer_counts(base in shaped(), over in shaped()) {
            let both = merged(base.clone(), &over);
            for key in ["x", "y"] {
                let expected = over.get(key).or_else(|| base.get(key));
                prop_assert_eq!(both.get(key), expected);
                let from = origin(&[key], [&base, &over].into_iter());
                prop_assert_eq!(from.map(|layer| [&base, &over][layer].get(key)), expected.map(Some));
            }
        }

        #[test]
        fn any_two_values_merge(a in anything(), b in anything()) {
            merged(a, &b);
        }
    }
}
