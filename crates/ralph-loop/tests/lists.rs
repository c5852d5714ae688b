//! Task lists that the strict check must fault, and others that it must not: `lists/README.md`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

use ralph_loop::strict::{Finding, Level, Rule, repairs, tasks};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// `line level rule` of each finding, by the name of the list.
type Findings = BTreeMap<String, Vec<String>>;

fn corpus(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lists").join(kind)
}

fn lists(kind: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(corpus(kind)).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ext| ext == "json")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn shown(finding: &Finding) -> String {
    let level = match finding.level {
        Level::Fault => "fault",
        Level::Warning => "warning",
    };
    format!("{} {level} {}", finding.line, finding.rule)
}

fn found(kind: &str) -> Findings {
    lists(kind)
        .into_iter()
        .map(|(name, text)| {
            let mut found: Vec<String> = tasks(&name, &text).iter().map(shown).collect();
            found.sort();
            (name, found)
        })
        .collect()
}

/// What `expected.txt` says, for every list of the directory.
fn expected(kind: &str) -> Findings {
    let mut expected: Findings = lists(kind).into_iter().map(|(name, _)| (name, Vec::new())).collect();
    let text = fs::read_to_string(corpus(kind).join("expected.txt")).unwrap();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, finding) = line.split_once(": ").unwrap();
        expected.get_mut(name).unwrap_or_else(|| panic!("no list {name}")).push(finding.to_owned());
    }
    expected.values_mut().for_each(|findings| findings.sort());
    expected
}

#[track_caller]
fn compare(kind: &str) -> Findings {
    let (expected, found) = (expected(kind), found(kind));
    let differing: Vec<_> =
        expected.iter().zip(&found).filter(|(expected, found)| expected != found).collect();
    assert!(differing.is_empty(), "expected and found: {differing:#?}");
    found
}

#[test]
fn every_bad_list_is_faulted_for_its_rule_at_its_line() {
    let found = compare("bad");
    assert!(found.len() >= 30, "{}", found.len());
    for (name, findings) in &found {
        assert!(findings.iter().any(|finding| finding.contains(" fault ")), "{name}: {findings:?}");
    }
}

#[test]
fn no_good_list_has_a_fault() {
    let found = compare("good");
    assert!(found.len() >= 10, "{}", found.len());
    for (name, findings) in &found {
        assert!(!findings.iter().any(|finding| finding.contains(" fault ")), "{name}: {findings:?}");
    }
}

#[test]
fn every_rule_has_a_bad_list() {
    let found = found("bad");
    let rules: BTreeSet<&str> = found
        .values()
        .flatten()
        .filter_map(|finding| finding.split_once(" fault "))
        .map(|(_, rule)| rule)
        .collect();
    assert_eq!(rules, Rule::ALL.iter().map(|rule| rule.name()).collect());
}

#[test]
fn every_finding_says_what_to_change_in_one_line() {
    for (name, text) in lists("bad") {
        let findings = tasks(&name, &text);
        let lines = repairs(&findings);
        assert_eq!(lines.lines().count(), findings.len(), "{lines}");
        for finding in findings {
            assert!(!finding.fix.is_empty() && !finding.fix.ends_with('.'), "{finding:?}");
            assert!(finding.line <= text.lines().count(), "{finding:?}");
        }
    }
}
