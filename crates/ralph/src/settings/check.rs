//! Holds what a file says against the table of keys, and lists everything that is wrong.
//!
//! A value that is right is brought into its one form in passing: `append` becomes `APPEND`,
//! `10.0` becomes `10`, a blank note becomes none.

use super::mask;
use super::table::{Fallback, KEYS, Key, Kind, MOST, SCHEMA_KEY};
use crate::similar::slips;
use serde_json::{Map, Value, json};

/// What is wrong with one file. `at` is the path to a value, empty for the file as a whole.
#[derive(Debug, Default)]
pub struct Findings {
    pub problems: Vec<Finding>,
    pub warnings: Vec<String>,
}

#[derive(Debug, PartialEq)]
pub struct Finding {
    pub at: String,
    pub what: String,
}

pub fn check(value: &mut Value) -> Findings {
    // The one thing that most people want to say of it.
    if let Some(sandbox @ Value::String(_)) = value.get_mut("sandbox") {
        *sandbox = json!({"kind": sandbox.take()});
    }
    let mut walk = Findings::default();
    walk.object(KEYS, "", value);
    walk
}

/// One object whose keys are not those of the settings.
pub fn check_group(keys: &'static [Key], at: &str, value: &mut Value) -> Findings {
    let mut walk = Findings::default();
    walk.object(keys, at, value);
    walk
}

impl Findings {
    fn wrong(&mut self, at: &str, what: String) {
        self.problems.push(Finding { at: at.to_string(), what });
    }

    fn object(&mut self, keys: &'static [Key], at: &str, value: &mut Value) {
        let Value::Object(object) = value else {
            return self.wrong(at, format!("expected an object {{…}}, found {}", mask::excerpt(value)));
        };
        for key in keys {
            let at = join(at, key.name);
            match object.get_mut(key.name) {
                None | Some(Value::Null) if key.default == Fallback::Required => {
                    self.wrong(&at, format!("missing; expected {}", expected(key.kind)));
                }
                None | Some(Value::Null) => {}
                Some(value) => self.value(key.kind, &at, value),
            }
        }
        self.unknown(keys, at, object);
    }

    fn unknown(&mut self, keys: &'static [Key], at: &str, object: &Map<String, Value>) {
        let known =
            |name: &str| keys.iter().any(|key| key.name == name) || (at.is_empty() && name == SCHEMA_KEY);
        for name in object.keys().filter(|name| !known(name)) {
            let meant = match nearest(name, keys, at) {
                Some(meant) => format!("; did you mean {meant}?"),
                None => String::new(),
            };
            let name: String = name.escape_debug().collect();
            self.warnings.push(format!("unknown key: {}{meant}", join(at, &name)));
        }
    }

    fn value(&mut self, kind: Kind, at: &str, value: &mut Value) {
        match (kind, &mut *value) {
            (Kind::Switch, Value::Bool(_)) => return,
            (Kind::Count { least }, Value::Number(number)) => {
                if let Some(count) = whole(number).filter(|count| (least..=MOST).contains(count)) {
                    *value = count.into();
                    return;
                }
            }
            (Kind::Number { zero }, Value::Number(number)) => {
                let fits = |number: f64| {
                    number.is_finite() && number <= MOST as f64 && (number > 0.0 || zero && number == 0.0)
                };
                if number.as_f64().is_some_and(fits) {
                    return;
                }
            }
            (Kind::Text, Value::String(text)) if is_text(text) => return,
            (Kind::Note, Value::String(text)) if !text.contains('\0') => {
                if text.trim().is_empty() {
                    *value = Value::Null;
                }
                return;
            }
            (Kind::Choice(choices), Value::String(text)) => {
                let text = text.trim();
                if let Some(choice) = choices.iter().find(|choice| choice.eq_ignore_ascii_case(text)) {
                    *value = (*choice).into();
                    return;
                }
            }
            (Kind::Texts, Value::Array(items)) => {
                for (i, item) in items.iter_mut().enumerate() {
                    self.value(Kind::Text, &format!("{at}[{i}]"), item);
                }
                return;
            }
            (Kind::Groups(keys), Value::Array(items)) => {
                for (i, item) in items.iter_mut().enumerate() {
                    self.object(keys, &format!("{at}[{i}]"), item);
                }
                return;
            }
            (Kind::Named(keys), Value::Object(entries)) => {
                for (name, entry) in entries {
                    let at = format!("{at}[{name:?}]");
                    if name.trim().is_empty() {
                        self.wrong(&at, "expected a name, found empty text".to_string());
                    }
                    // What a lower layer says of this name is taken back.
                    if !entry.is_null() {
                        self.object(keys, &at, entry);
                    }
                }
                return;
            }
            (Kind::Group(keys), value) => return self.object(keys, at, value),
            _ => {}
        }
        let found = match &*value {
            Value::String(text) if text.trim().is_empty() => "empty text".to_string(),
            value => mask::excerpt(value),
        };
        let expected = match (kind, &*value) {
            (Kind::Count { .. } | Kind::Number { .. }, Value::Number(number))
                if number.as_f64().is_some_and(|number| number > MOST as f64) =>
            {
                format!("at most {MOST}")
            }
            (Kind::Text | Kind::Note, Value::String(text)) if text.contains('\0') => {
                "text without NUL characters".to_string()
            }
            _ => expected(kind),
        };
        self.wrong(at, format!("expected {expected}, found {found}"));
    }
}

/// What a key may hold, in words.
pub fn expected(kind: Kind) -> String {
    match kind {
        Kind::Switch => "true or false".into(),
        Kind::Count { least } => format!("a whole number, {least} or more"),
        Kind::Number { zero: true } => "a number, 0 or more".into(),
        Kind::Number { zero: false } => "a number above 0".into(),
        Kind::Text => "non-empty text".into(),
        Kind::Note => "text".into(),
        Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
        Kind::Texts => "a list [\"…\"] of strings".into(),
        Kind::Group(_) => "an object {…}".into(),
        Kind::Groups(_) => "a list [{…}] of objects".into(),
        Kind::Named(_) => "an object {…} of objects".into(),
    }
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains('\0')
}

fn whole(number: &serde_json::Number) -> Option<u64> {
    let float = || number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=MOST as f64).contains(n));
    number.as_u64().or_else(|| float().map(|n| n as u64))
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_string() } else { format!("{at}.{name}") }
}

/// The known key that was probably meant: one beside it with a similar name, else one of the
/// same name elsewhere.
fn nearest(name: &str, keys: &'static [Key], at: &str) -> Option<String> {
    let plain = |name: &str| name.replace(['_', '-', ' '], "").to_lowercase();
    let name = plain(name);
    let beside = keys
        .iter()
        .filter_map(|key| Some((slips(&name, &plain(key.name))?, key)))
        .min_by_key(|(slips, _)| *slips);
    if let Some((_, key)) = beside {
        return Some(join(at, key.name));
    }
    let elsewhere = |group: &Key| {
        let inner = group.kind.keys().iter().find(|key| plain(key.name) == name)?;
        Some(format!("{}{}{}", group.name, group.kind.way_in(), inner.name))
    };
    let top = KEYS.iter().find(|key| plain(key.name) == name).map(|key| key.name.to_string());
    top.or_else(|| KEYS.iter().find_map(elsewhere))
}
