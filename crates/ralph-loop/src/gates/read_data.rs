//! Data that tests read, and code that says that it helps them, wherever it lies: what they compare
//! with is as much a part of them as their own code.
//!
//! Told by its name in a test of the start. Data that other code mentions as well belongs to the work:
//! a schema or a template may change with it.
//!
//! Deliberately absent: names that a test puts together.

use super::changes::{Change, Difference, GateChange, Status};
use super::code::Language;
use super::{GateKind, Gates};

/// So many names are looked for.
const MOST_LOOKED_FOR: usize = 20;
/// Shorter names are found everywhere.
const SHORTEST: usize = 4;

/// Code that [`Language`] does not know.
const OTHER_CODE: &[&str] = &[
    "css", "scss", "sass", "less", "hs", "ml", "mli", "clj", "cljs", "elm", "erl", "nix", "vim", "el",
    "lisp", "scm", "f90", "asm", "s", "cu", "metal", "glsl", "wgsl", "tf", "proto", "cmake", "zsh", "ps1",
];

/// A file that may be data of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestData {
    pub path: String,
    /// What tests that read it mention.
    pub name: String,
    change: Change,
}

impl Gates {
    /// Files among the differences that were there before and are neither gates nor code.
    pub fn possible_test_data(&self, differences: &[Difference]) -> Vec<TestData> {
        let data = differences.iter().filter_map(|Difference { path, status }| {
            let change = match status {
                Status::Added => return None,
                Status::Changed => Change::Changed,
                Status::Deleted => Change::Deleted,
            };
            let name = mentioned_as(path).or_else(|| support(path));
            let name = name.filter(|_| self.classify(path).is_none())?;
            Some(TestData { path: path.clone(), name: name.to_string(), change })
        });
        data.take(MOST_LOOKED_FOR).collect()
    }

    /// Those that a test of the start mentions, and no other code. `mentions` are names, and files
    /// of the start that have them.
    pub fn test_data(&self, possible: Vec<TestData>, mentions: &[(String, String)]) -> Vec<GateChange> {
        let is_read_by_tests = |data: &TestData| {
            let files = || mentions.iter().filter(|(name, _)| *name == data.name).map(|(_, file)| file);
            let is_test =
                |file: &String| matches!(self.classify(file), Some(GateKind::Test | GateKind::Check));
            let is_work = |file: &String| Language::of(file).is_some() && self.classify(file).is_none();
            files().any(is_test) && !files().any(is_work)
        };
        let of_tests = possible.into_iter().filter(is_read_by_tests);
        of_tests
            .map(|TestData { path, change, .. }| {
                let details = vec!["read by tests".to_string()];
                GateChange { path, kind: GateKind::Test, change, details }
            })
            .collect()
    }
}

/// The module name of code that says of itself that it helps tests.
fn support(path: &str) -> Option<&str> {
    Language::of(path)?;
    let (path, _) = path.rsplit_once('.')?;
    let path = path.strip_suffix("/__init__").or_else(|| path.strip_suffix("/index")).unwrap_or(path);
    let helps = |part: &str| {
        let part = part.to_ascii_lowercase();
        ["test", "assert", "fixture"].iter().any(|word| part.starts_with(word)) || part.ends_with("test")
    };
    let parts = path.split(|c: char| !c.is_alphanumeric());
    let name = path.rsplit('/').next().unwrap_or(path);
    (parts.into_iter().any(helps) && name.len() >= SHORTEST).then_some(name)
}

/// The name that a test would mention; none for code. One without an extension is looked for with its
/// directory.
fn mentioned_as(path: &str) -> Option<&str> {
    let start = path.rfind('/').map_or(0, |at| at + 1);
    let name = &path[start..];
    let end = name.trim_start_matches('.').rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    let is_code =
        Language::of(path).is_some() || end.as_ref().is_some_and(|end| OTHER_CODE.contains(&end.as_str()));
    let is_odd = name.contains(['\n', '\r', '\0']);
    let mentioned = match (end, path[..start.saturating_sub(1)].rfind('/')) {
        (Some(_), _) => name,
        (None, Some(above)) => &path[above + 1..],
        (None, None) => path,
    };
    (!is_code && !is_odd && mentioned.len() >= SHORTEST).then_some(mentioned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_no_data_and_a_name_without_an_extension_has_its_directory() {
        for (path, expected) in [
            ("data/products.json", Some("products.json")),
            ("snapshots/mul.txt", Some("mul.txt")),
            ("a/b/golden", Some("b/golden")),
            ("data/golden", Some("data/golden")),
            ("LICENSE", Some("LICENSE")),
            (".env", Some(".env")),
            ("src/lib.rs", None),
            ("site/main.css", None),
            ("a/b", None),
        ] {
            assert_eq!(mentioned_as(path), expected, "{path}");
        }
        for (path, expected) in [
            ("testing.py", Some("testing")),
            ("lib/testing/__init__.py", Some("testing")),
            ("src/test_support/files.rs", Some("files")),
            ("lib/asserts.js", Some("asserts")),
            ("src/latest.py", Some("latest")),
            ("src/app.py", None),
            ("testing.txt", None),
        ] {
            assert_eq!(support(path), expected, "{path}");
        }
    }

    #[test]
    fn data_counts_if_only_tests_mention_it() {
        let gates = Gates::new(&["pytest"], &[], &|_| None);
        let differences = [("data/x.json", Status::Changed), ("data/new.json", Status::Added)];
        let differences = differences.map(|(path, status)| Difference { path: path.to_string(), status });
        for (files, expected) in [
            (&["tests/test_a.py"][..], 1),
            (&["tests/test_a.py", "README.md", "Makefile"], 1),
            (&["tests/test_a.py", "src/app.py"], 0),
            (&["README.md"], 0),
            (&[], 0),
        ] {
            let mentions: Vec<(String, String)> =
                files.iter().map(|file| ("x.json".to_string(), file.to_string())).collect();
            let found = gates.test_data(gates.possible_test_data(&differences), &mentions);
            assert_eq!(found.len(), expected, "{files:?}");
        }
    }
}
