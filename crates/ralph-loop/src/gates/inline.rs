//! Tests inside of source files.
//!
//! Such a file is source and is never put back as a whole: its tests are held by their names, each
//! of which must run again. Here it is only told whether the part with the tests changed, so that it
//! can be named, and what the delivered file is with the tests of the start.
//!
//! Deliberately absent: a parser. A test part is found by its attribute or sign and its braces.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::code::{self, Language};
use super::skips;

const LONGEST: usize = 1024 * 1024;

/// What became of the tests inside of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineChange {
    pub path: String,
    pub change: InlineTests,
    /// Marks that keep tests from running which were not there before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InlineTests {
    /// There were none before.
    New,
    Changed,
    /// There are none any more.
    Removed,
}

/// Whether the tests inside of a source file differ; `None` if they do not, or if there are none.
pub fn inline_tests(path: &str, before: Option<&str>, after: Option<&str>) -> Option<InlineChange> {
    let text =
        |text: Option<&'_ str>| text.filter(|text| text.len() <= LONGEST).unwrap_or_default().to_string();
    let (old, new) = (text(before), text(after));
    let tests_of = |text: &str| -> String { parts(path, text).into_iter().map(|part| &text[part]).collect() };
    let (old_tests, new_tests) = (tests_of(&old), tests_of(&new));
    let change = match (old_tests.is_empty(), new_tests.is_empty()) {
        (true, true) => return None,
        (true, false) => InlineTests::New,
        (false, true) => InlineTests::Removed,
        (false, false) if old_tests == new_tests => return None,
        (false, false) => InlineTests::Changed,
    };
    let skipped = skips::newly_skipped(path, &old_tests, &new_tests);
    Some(InlineChange { path: path.to_string(), change, skipped })
}

/// The delivered file with the tests of the start; `None` if it has them, or if they cannot be told apart.
pub fn with_tests_of_start(path: &str, before: &str, after: &str) -> Option<String> {
    if before.len() > LONGEST || after.len() > LONGEST {
        return None;
    }
    let restored = match Language::of(path)? {
        Language::Rust => {
            let text = with_modules_of_start(before, after).unwrap_or_else(|| after.to_string());
            with_examples_of_start(before, &text)
        }
        Language::Python => with_prompts_of_start(before, after)?,
        Language::JavaScript | Language::Go | Language::LikeC | Language::Hash | Language::Ruby => {
            return None;
        }
    };
    (restored != after).then_some(restored)
}

/// One module takes the place of the other. If there are more, or none, those of the start come last.
fn with_modules_of_start(before: &str, after: &str) -> Option<String> {
    let (old, new) = (modules(before), modules(after));
    if let ([old], [new]) = (&old[..], &new[..]) {
        return Some(format!("{}{}{}", &after[..new.start], &before[old.clone()], &after[new.end..]));
    }
    let of = |text: &str, parts: &[Range<usize>]| -> Vec<String> {
        parts.iter().map(|part| text[part.clone()].to_string()).collect()
    };
    // One that is inside of another module would not find its names at the end.
    let at_top = |part: &Range<usize>| part.start == 0 || before[..part.start].ends_with('\n');
    if old.is_empty() || of(before, &old) == of(after, &new) || !old.iter().all(at_top) {
        return None;
    }
    let mut text = after.to_string();
    for part in new.into_iter().rev() {
        text.replace_range(part, "");
    }
    Some(format!("{text}\n{}\n", of(before, &old).join("\n")))
}

/// Examples of the start that are not there any more come last, as those of a function.
fn with_examples_of_start(before: &str, after: &str) -> String {
    let plain = |text: &str| -> Vec<String> {
        let said = |line: &str| {
            let text = line.trim_start().get(3..).unwrap_or_default();
            format!("/// {}\n", text.strip_prefix(' ').unwrap_or(text).trim_end())
        };
        let parts = examples(text, &["///", "//!"]).into_iter();
        parts.map(|part| text[part].lines().map(said).collect()).collect()
    };
    let kept = plain(after);
    let lost: Vec<String> = plain(before).into_iter().filter(|example| !kept.contains(example)).collect();
    if lost.is_empty() {
        return after.to_string();
    }
    format!("{after}\n{}#[allow(dead_code)]\nfn examples_of_the_start() {{}}\n", lost.join("///\n"))
}

/// Prompts of Python that are not as they were come last, where doctest finds them.
fn with_prompts_of_start(before: &str, after: &str) -> Option<String> {
    let said = |text: &str| -> String {
        let mut depth = 0;
        let mut lines = String::new();
        for part in prompts(text, ">>>") {
            let line = &text[part];
            if line.trim_start().starts_with(">>>") {
                depth = line.len() - line.trim_start().len();
            }
            lines.push_str(line.get(depth..).unwrap_or(line));
        }
        lines
    };
    let old = said(before);
    if old.is_empty() || old == said(after) || old.contains("'''") {
        return None;
    }
    let main = after.find("\nif __name__").map_or(after.len(), |at| at + 1);
    let tests = format!("\n\n__test__ = {{**globals().get('__test__', {{}}), 'start': '''\n{old}'''}}\n\n");
    Some(format!("{}{tests}{}", &after[..main], &after[main..]))
}

/// The parts of a text that are tests, in order.
fn parts(path: &str, text: &str) -> Vec<Range<usize>> {
    match Language::of(path) {
        Some(Language::Rust) => {
            let mut parts = modules(text);
            parts.extend(examples(text, &["///", "//!"]));
            parts.sort_by_key(|part| part.start);
            parts
        }
        Some(Language::Python) => prompts(text, ">>>"),
        Some(Language::Hash) => prompts(text, "iex>"),
        Some(Language::JavaScript) => blocks(text, Language::JavaScript, &["if (import.meta.vitest)"]),
        Some(Language::Go | Language::LikeC | Language::Ruby) | None => Vec::new(),
    }
}

/// Items of Rust that only exist in tests, and test functions outside of them.
fn modules(text: &str) -> Vec<Range<usize>> {
    blocks(
        text,
        Language::Rust,
        &["#[cfg(test)]", "#[cfg(all(test", "#[cfg(any(test", "#[test]", "#[tokio::test"],
    )
}

fn blocks(text: &str, language: Language, signs: &[&str]) -> Vec<Range<usize>> {
    let code = code::blanked(text, language);
    let found = signs.iter().flat_map(|sign| code.match_indices(sign).map(|(at, _)| at));
    let mut starts: Vec<usize> = found.collect();
    starts.sort_unstable();
    let mut parts: Vec<Range<usize>> = Vec::new();
    for start in starts {
        // A test inside of a module for tests is part of it.
        if parts.last().is_none_or(|last| last.end <= start) {
            parts.push(start..code::end_of_item(&code, start).max(start + 1));
        }
    }
    parts
}

/// Code blocks in documentation comments.
fn examples(text: &str, marks: &[&str]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut open = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let comment = marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark));
        match (comment.map(str::trim_start), open) {
            (Some(said), None) if said.starts_with("```") => open = Some(at),
            (Some(said), Some(start)) if said.starts_with("```") => {
                parts.push(start..end);
                open = None;
            }
            (Some(_), _) => {}
            (None, _) => open = None,
        }
        at = end;
    }
    parts
}

/// Lines from a prompt to the next empty line or the end of the text around them.
fn prompts(text: &str, prompt: &str) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut inside = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        let said = line.trim();
        inside = said.starts_with(prompt)
            || (inside && !said.is_empty() && !said.starts_with("\"\"\"") && said != "'''");
        if inside {
            parts.push(at..end);
        }
        at = end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, before: &str, after: &str, expected: Option<InlineTests>) {
        let found = inline_tests(path, Some(before), Some(after));
        assert_eq!(found.map(|found| found.change), expected, "{before:?} {after:?}");
    }

    const CODE: &str = "fn f() -> u8 { 1 }\n";
    const TESTS: &str = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(f(), 1); }\n}\n";

    #[test]
    fn the_tests_of_a_source_file_are_told_from_its_code() {
        use InlineTests::{Changed, New, Removed};
        let with = format!("{CODE}{TESTS}");
        check("a.rs", &with, &format!("fn f() -> u8 {{ 2 }}\n{TESTS}"), None);
        check("a.rs", &with, &format!("{CODE}{TESTS}fn g() {{}}"), None);
        check("a.rs", &with, &with.replace("assert_eq!(f(), 1);", ""), Some(Changed));
        check("a.rs", &with, CODE, Some(Removed));
        check("a.rs", CODE, &with, Some(New));
        check("a.rs", CODE, "fn f() { \"#[cfg(test)]\" } // #[cfg(test)]", None);
        check("a.rs", &with, &format!("{CODE}/* {TESTS} */"), Some(Removed));
        check(
            "a.rs",
            "/// ```\n/// a(1);\n/// ```\nfn a() {}",
            "/// ```\n/// a(2);\n/// ```\nfn a() {}",
            Some(Changed),
        );
        check(
            "a.rs",
            "/// A.\n///\n/// ```\n/// a(1);\n/// ```\nfn a() {}",
            "/// B.\n///\n/// ```\n/// a(1);\n/// ```\nfn a() {}",
            None,
        );
        check("a.py", "'''\n>>> a(1)\n2\n'''\n", "'''\n>>> a(1)\n3\n'''\n", Some(Changed));
        check("a.py", "'''\n>>> a(1)\n2\n\nSay.\n'''\n", "'''\n>>> a(1)\n2\n\nSo.\n'''\nx = 1", None);
        check("a.ts", "if (import.meta.vitest) { a }", "if (import.meta.vitest) { b }", Some(Changed));
        check("a.go", "a", "b", None);
        check("a.rs", "#[cfg(test)]", "#[cfg(test)] mod", Some(Changed));
    }

    #[test]
    fn a_mark_on_a_test_inside_is_named() {
        let before = format!("{CODE}{TESTS}");
        let after = before.replace("#[test]", "#[test]\n    #[ignore]");
        assert_eq!(inline_tests("a.rs", Some(&before), Some(&after)).unwrap().skipped, ["#[ignore"]);
    }

    #[test]
    fn the_tests_of_the_start_fit_into_the_delivered_file() {
        let after =
            format!("fn f() -> u8 {{ 2 }}\n{}fn g() {{}}\n", TESTS.replace("assert_eq!(f(), 1);", ""));
        let expected = format!("fn f() -> u8 {{ 2 }}\n{TESTS}fn g() {{}}\n");
        assert_eq!(
            with_tests_of_start("a.rs", &format!("{CODE}{TESTS}"), &after).as_deref(),
            Some(&*expected)
        );
        assert_eq!(with_tests_of_start("a.rs", CODE, &after), None);
    }

    #[test]
    fn tests_that_are_spread_or_gone_come_last() {
        let before = format!("{CODE}{TESTS}");
        let other = "#[cfg(test)]\nmod other {\n    #[test]\n    fn b() {}\n}\n";
        let empty = "#[cfg(test)]\nmod tests {}\n";
        let expected = format!("{CODE}\n\n\n{TESTS}");
        let restored = with_tests_of_start("a.rs", &before, &format!("{CODE}{empty}{other}")).unwrap();
        assert_eq!(restored.trim_end(), expected.trim_end());
        let restored = with_tests_of_start("a.rs", &before, CODE).unwrap();
        assert_eq!(restored.trim_end(), format!("{CODE}\n{TESTS}").trim_end());
        assert_eq!(with_tests_of_start("a.rs", &before, &format!("fn g() {{}}\n{TESTS}")), None);
    }

    #[test]
    fn examples_of_the_start_come_back() {
        let before = "/// A.\n///\n/// ```\n/// a(1);\n/// ```\nfn a() {}\n";
        let after = before.replacen("```", "```ignore", 1);
        let restored = with_tests_of_start("a.rs", before, &after).unwrap();
        let item = "#[allow(dead_code)]\nfn examples_of_the_start() {}\n";
        assert_eq!(restored, format!("{after}\n/// ```\n/// a(1);\n/// ```\n{item}"));
        assert_eq!(with_tests_of_start("a.rs", before, &before.replace("A.", "B.")), None);
        let before = "def a():\n    \"\"\"A.\n\n    >>> a()\n    1\n    \"\"\"\n";
        let after = before.replace("    1\n", "    2\n");
        let restored = with_tests_of_start("a.py", before, &after).unwrap();
        assert!(restored.ends_with("'start': '''\n>>> a()\n1\n'''}\n\n"), "{restored}");
        assert_eq!(with_tests_of_start("a.py", before, &before.replace("A.", "B.")), None);
    }
}
