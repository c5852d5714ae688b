//! Manifests, compared by the keys that decide over a verdict.
//!
//! A manifest is source and gate at once: an agent that adds a dependency must not be told that it
//! changed the checks, and one that changes `scripts.test` must. `manifest_keys.rs` has the keys;
//! here they are compared, and a manifest is composed that has the deciding ones of the start and
//! everything else as delivered. Invariant: a manifest that cannot be read counts as a whole.

use serde_json::{Map, Value};

use super::json_text;
use super::manifest_keys::{self, Rule};
use super::named::Named;

/// Longer texts are not compared by keys.
const LONGEST: usize = 1024 * 1024;
const DEEPEST: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    PackageJson,
    DenoJson,
    ComposerJson,
    CargoToml,
    PyprojectToml,
    GoMod,
}

impl Format {
    pub(super) fn of(path: &str) -> Option<Format> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        Some(match name.as_str() {
            "package.json" => Format::PackageJson,
            "deno.json" => Format::DenoJson,
            "composer.json" => Format::ComposerJson,
            "cargo.toml" => Format::CargoToml,
            "pyproject.toml" => Format::PyprojectToml,
            "go.mod" => Format::GoMod,
            _ => return None,
        })
    }

    fn parsed(self, text: &str) -> Option<Value> {
        if text.len() > LONGEST {
            return None;
        }
        let value = match self {
            Format::PackageJson | Format::DenoJson | Format::ComposerJson => {
                serde_json::from_str(text).ok()?
            }
            Format::CargoToml | Format::PyprojectToml => {
                let table: toml::Table = toml::from_str(text).ok()?;
                serde_json::to_value(table).ok()?
            }
            Format::GoMod => go_directives(text),
        };
        value.is_object().then_some(value)
    }
}

/// The names of a key and of those around it.
pub(super) type Keys = Vec<String>;

/// What of a manifest differs that decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deciding {
    Keys(Vec<Keys>),
    /// One of the two texts cannot be read.
    Whole,
}

/// Compares a manifest at the start with the delivered one; `None` is a file that does not exist.
pub(super) fn deciding(path: &str, before: Option<&str>, after: Option<&str>, named: &Named) -> Deciding {
    let Some(format) = Format::of(path) else { return Deciding::Whole };
    let parsed = |text: Option<&str>| match text {
        None => Some(Value::Object(Map::new())),
        Some(text) => format.parsed(text),
    };
    let (Some(old), Some(new)) = (parsed(before), parsed(after)) else { return Deciding::Whole };
    let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
    let mut comparison = Comparison { format, dir, existed: before.is_some(), named, found: Vec::new() };
    comparison.compare(Some(&old), Some(&new), &mut Vec::new());
    Deciding::Keys(comparison.found)
}

/// The delivered manifest with these keys as at the start.
pub(super) fn with_keys_of_start(path: &str, start: &str, delivered: &str, keys: &[Keys]) -> Option<String> {
    let format = Format::of(path)?;
    match format {
        Format::PackageJson | Format::DenoJson | Format::ComposerJson => {
            let mut text = delivered.to_string();
            for keys in keys {
                text = json_text::with(&text, keys, json_text::get(start, keys).as_deref())?;
            }
            Some(text)
        }
        Format::CargoToml | Format::PyprojectToml => {
            let old: toml::Table = toml::from_str(start).ok()?;
            let mut new: toml::Table = toml::from_str(delivered).ok()?;
            for keys in keys {
                set(&mut new, keys, lookup(&old, keys));
            }
            toml::to_string(&new).ok()
        }
        Format::GoMod => Some(go_mod_with(start, delivered)),
    }
}

struct Comparison<'a> {
    format: Format,
    dir: &'a str,
    /// Whether the manifest existed at the start.
    existed: bool,
    named: &'a Named,
    found: Vec<Keys>,
}

impl Comparison<'_> {
    fn compare(&mut self, before: Option<&Value>, after: Option<&Value>, keys: &mut Keys) {
        if before == after {
            return;
        }
        let decides = match manifest_keys::rule(self.format, keys) {
            Rule::Within if keys.len() < DEEPEST => {
                let empty = Map::new();
                let object = |value: Option<&'_ Value>| match value {
                    None => Some(empty.clone()),
                    Some(value) => value.as_object().cloned(),
                };
                // A text where a section is expected is nothing that an honest manifest has.
                let (Some(old), Some(new)) = (object(before), object(after)) else {
                    return self.found.push(keys.clone());
                };
                let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
                names.sort();
                names.dedup();
                for name in names {
                    keys.push(name.clone());
                    self.compare(old.get(name), new.get(name), keys);
                    keys.pop();
                }
                false
            }
            Rule::Within | Rule::Decides => true,
            Rule::Free => false,
            Rule::Script => self.script_decides(keys.last().map_or("", String::as_str), before.is_some()),
            Rule::Dependency => redirected(keys.last().map_or("", String::as_str), before, after),
            Rule::Removal => removed(before, after),
            Rule::Targets => targets(before) != targets(after),
        };
        if decides {
            self.found.push(keys.clone());
        }
    }

    /// A new script that no check uses decides nothing, and the tests of a new package are new tests.
    fn script_decides(&self, name: &str, existed: bool) -> bool {
        let base = ["pre", "post"].iter().find_map(|hook| name.strip_prefix(hook));
        let runs_on_install =
            matches!(name, "preinstall" | "install" | "postinstall" | "prepare" | "prepublish");
        let runs_in_checks = self.named.runs_script(name) || base.unwrap_or(name) == "test";
        let replaces = existed || self.named.uses_package(self.dir) || (base.is_some() && self.existed);
        runs_on_install || (runs_in_checks && replaces)
    }
}

/// Whether a dependency comes from somewhere else than before: from a directory, a repository or
/// under another name. A new one from there counts only if it is a tool that runs the tests.
fn redirected(name: &str, before: Option<&Value>, after: Option<&Value>) -> bool {
    let Some(after) = after.filter(|after| is_elsewhere(after)) else { return false };
    match before {
        Some(before) => !is_elsewhere(before) || (manifest_keys::is_test_tool(name) && before != after),
        None => manifest_keys::is_test_tool(name),
    }
}

fn is_elsewhere(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let begins = ["file:", "link:", "portal:", "npm:", "git", "http", "./", "../", "/", "patch:"];
            begins.iter().any(|begin| text.starts_with(begin)) || text.contains("://")
        }
        Value::Object(table) => ["path", "git", "package", "url", "file", "registry", "registry-index"]
            .iter()
            .any(|key| table.contains_key(*key)),
        _ => false,
    }
}

/// Whether a list of packages has lost one, or is no list.
fn removed(before: Option<&Value>, after: Option<&Value>) -> bool {
    let list = |value: Option<&Value>| -> Vec<Value> {
        match value {
            Some(Value::Array(all)) => all.clone(),
            Some(Value::Object(table)) => {
                table.get("packages").and_then(Value::as_array).cloned().unwrap_or_default()
            }
            _ => Vec::new(),
        }
    };
    let new = list(after);
    // `!packages/a` takes one out.
    let excludes = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('!'));
    let old = list(before);
    old.iter().any(|entry| !new.contains(entry))
        || new.iter().any(|entry| excludes(entry) && !old.contains(entry))
}

/// What targets of a Cargo manifest say about their tests, by name.
fn targets(value: Option<&Value>) -> Vec<(String, Vec<Option<Value>>)> {
    let says = |target: &Value| {
        let keys = ["test", "harness", "doctest", "required-features"];
        let said: Vec<Option<Value>> = keys.iter().map(|key| target.get(key).cloned()).collect();
        let name = target.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
        said.iter().any(Option::is_some).then_some((name, said))
    };
    let all = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut all: Vec<_> = all.iter().filter_map(says).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn lookup<'t>(table: &'t toml::Table, keys: &[String]) -> Option<&'t toml::Value> {
    let (first, rest) = keys.split_first()?;
    let value = table.get(first)?;
    if rest.is_empty() { Some(value) } else { lookup(value.as_table()?, rest) }
}

fn set(table: &mut toml::Table, keys: &[String], value: Option<&toml::Value>) {
    let Some((first, rest)) = keys.split_first() else { return };
    if !rest.is_empty() {
        let inner = table.entry(first.clone()).or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let Some(inner) = inner.as_table_mut() {
            set(inner, rest, value);
            if inner.is_empty() {
                table.remove(first);
            }
        }
        return;
    }
    match value {
        Some(value) => _ = table.insert(first.clone(), value.clone()),
        None => _ = table.remove(first),
    }
}

/// The lines of a `go.mod` by their directive, blocks taken apart, comments removed.
fn go_lines(text: &str) -> Vec<(String, String)> {
    let mut block: Option<String> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        match (&block, line.split_once(char::is_whitespace)) {
            (Some(_), _) if line == ")" => block = None,
            (Some(directive), _) => lines.push((directive.clone(), line.to_string())),
            (None, Some((directive, rest))) if rest.trim() == "(" => block = Some(directive.to_string()),
            (None, Some((directive, rest))) => lines.push((directive.to_string(), rest.trim().to_string())),
            (None, None) => match line.strip_suffix('(') {
                Some(directive) => block = Some(directive.to_string()),
                None => lines.push((line.to_string(), String::new())),
            },
        }
    }
    lines
}

fn go_directives(text: &str) -> Value {
    let mut directives = Map::new();
    for (directive, rest) in go_lines(text) {
        let list = directives.entry(directive).or_insert_with(|| Value::Array(Vec::new()));
        if let Some(list) = list.as_array_mut() {
            list.push(Value::String(rest));
        }
    }
    Value::Object(directives)
}

fn go_mod_with(start: &str, delivered: &str) -> String {
    let decides =
        |directive: &str| manifest_keys::rule(Format::GoMod, &[directive.to_string()]) == Rule::Decides;
    let free = go_lines(delivered).into_iter().filter(|(directive, _)| !decides(directive));
    let deciding = go_lines(start).into_iter().filter(|(directive, _)| decides(directive));
    free.chain(deciding).map(|(directive, rest)| format!("{directive} {rest}\n")).collect()
}
