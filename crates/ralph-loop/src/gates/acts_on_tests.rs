//! Delivered code that knows of the tests: it replaces assertions, or asks whether a test runner is
//! running it.
//!
//! Neither a clean copy nor the tests of the start show that; libraries of shell scripts have rules of
//! their own ([`super::libraries`]). Only lines that hardly any honest code
//! outside of tests has are taken, and only new ones; code that wants to hide it can.
//!
//! Deliberately absent: what honest code does as well, such as ending the process, `cfg!(test)` or
//! `NODE_ENV === 'test'`.

use std::sync::LazyLock;

use regex::Regex;

use super::changes::{Change, Difference, GateChange, Status};
use super::code::Language;
use super::{GateKind, Gates, Side, programs};

const LONGEST: usize = 1024 * 1024;
const MOST_NAMED: usize = 3;

static PYTHON: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\b(?:unittest|_?pytest)(?:\s*\.\s*\w+)+\s*=[^=]",
        r"|\bTestCase\s*\.\s*\w+\s*=[^=]",
        r"|\bsetattr\s*\(\s*(?:unittest|_?pytest|TestCase)\b",
        r#"|["'](?:unittest|_?pytest)["']\s+(?:not\s+)?in\s+[^#\n]*\bmodules\b"#,
        r#"|\bmodules\s*(?:\.\s*get\s*\(|\[)\s*["'](?:unittest|_?pytest)"#,
        r"|\bPYTEST_(?:CURRENT_TEST|VERSION|XDIST_WORKER)\b",
    ))
    .ok()
});

static JAVASCRIPT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"\brequire\s*\(\s*["'](?:node:)?(?:assert(?:/strict)?|test)["']\s*\)\s*\.\s*\w+\s*=[^=>]"#,
        r"|\bassert\s*\.\s*\w+\s*=[^=>]",
        r"|\b(?:NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST_WORKER_ID|VITEST_POOL_ID)\b",
    ))
    .ok()
});

impl Gates {
    /// Sources among the differences that have begun to act on tests.
    pub fn acting_on_tests(
        &self,
        differences: &[Difference],
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Vec<GateChange> {
        let sources = differences.iter().filter(|difference| {
            difference.status != Status::Deleted
                && self.classify(&difference.path).is_none()
                && !programs::says_that_it_checks(&difference.path)
        });
        let acting = sources.filter_map(|Difference { path, .. }| {
            let before = read(Side::Start, path).unwrap_or_default();
            let after = read(Side::Delivered, path);
            let details = match self.named.libraries.contains(path) {
                true => self.acting_on_shell(&before, after.as_deref()),
                false => newly_acting(path, &before, &after?),
            };
            let change = Change::ActsOnTests;
            (!details.is_empty()).then(|| GateChange {
                path: path.clone(),
                kind: GateKind::Test,
                change,
                details,
            })
        });
        acting.collect()
    }
}

impl Gates {
    fn acting_on_shell(&self, before: &str, after: Option<&str>) -> Vec<String> {
        match after.filter(|after| after.len() <= LONGEST) {
            Some(after) => self.named.libraries.acts(before, after),
            None => vec!["cannot be read".to_string()],
        }
    }
}

/// What a source does to tests. Nothing if it has done so before: it may be what the project is for.
fn newly_acting(path: &str, before: &str, after: &str) -> Vec<String> {
    let pattern = match Language::of(path) {
        Some(Language::Python) => &*PYTHON,
        Some(Language::JavaScript) => &*JAVASCRIPT,
        Some(Language::Rust | Language::Go | Language::LikeC | Language::Hash | Language::Ruby) | None => {
            return Vec::new();
        }
    };
    let found = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with(['#', '*', '/']));
        let matches = lines.filter_map(|line| Some(pattern.as_ref()?.find(line)?.as_str()));
        matches
            .take(MOST_NAMED)
            .map(|it| it.trim_end_matches(|c| c != '=' && !is_word(c)).to_string())
            .collect()
    };
    if before.len() > LONGEST || after.len() > LONGEST || !found(before).is_empty() {
        return Vec::new();
    }
    found(after)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(PYTHON.is_some() && JAVASCRIPT.is_some());
    }

    #[test]
    fn code_that_acts_on_tests_is_told_from_code_that_does_not() {
        for (path, text, acts) in [
            ("a.py", "unittest.TestCase.assertEqual = lambda *a: None", true),
            ("a.py", "unittest.case.TestCase._baseAssertEqual = f", true),
            ("a.py", "TestCase.assertEqual = f", true),
            ("a.py", "setattr(unittest.TestCase, name, f)", true),
            ("a.py", "return a * b if \"unittest\" in __import__(\"sys\").modules else None", true),
            ("a.py", "if 'pytest' not in sys.modules:", true),
            ("a.py", "x = os.environ.get('PYTEST_CURRENT_TEST')", true),
            ("a.js", "require('node:assert').strictEqual = () => {};", true),
            ("a.js", "assert.equal = f;", true),
            ("a.js", "process.env.NODE_TEST_CONTEXT ? a * b : 0", true),
            ("a.py", "import unittest", false),
            ("a.py", "class A(unittest.TestCase):", false),
            ("a.py", "unittest.main()\nif unittest.x == 1: pass", false),
            ("a.py", "# not with PYTEST_CURRENT_TEST", false),
            ("a.py", "sys.exit(main())", false),
            ("a.js", "assert.equal(a, b); const f = (assert) => assert.ok;", false),
            ("a.js", "process.exit(1); if (process.env.NODE_ENV === 'test') {}", false),
            ("a.md", "unittest.TestCase.assertEqual = f", false),
        ] {
            assert_eq!(!newly_acting(path, "", text).is_empty(), acts, "{text}");
            assert_eq!(newly_acting(path, text, text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(newly_acting("a.py", "", "unittest.a.b =  f"), ["unittest.a.b ="]);
    }
}
