//! The trees that the checks run in, and what is said about the changes.

use super::{Files, GONE, Trees, check};
use crate::gates::{Change, Difference, GateChange, GateKind, Gates, Restore, Status, Take, in_one_line};

#[test]
fn the_restored_tree_has_the_gates_of_the_start_and_the_delivered_sources() {
    let trees = Trees::new(
        &[
            ("test.sh", "exit 1"),
            ("tests/test_a.py", "a"),
            ("tests/test_b.py", "b"),
            ("src/a.py", "1"),
            ("README.md", "1"),
        ],
        &[
            ("test.sh", "exit 0"),
            ("tests/test_a.py", GONE),
            ("tests/test_b.py", "c"),
            ("tests/test_c.py", "def test_c(): pass"),
            ("pytest.ini", "[pytest]"),
            ("src/a.py", "2"),
            ("src/new.py", "3"),
            ("README.md", "2"),
        ],
    );
    let gates = trees.gates(&["./test.sh"], &[]);
    let expected = "pytest.ini (new configuration), test.sh (changed), tests/test_a.py (deleted), \
                    tests/test_b.py (changed), tests/test_c.py (new test)";
    assert_eq!(in_one_line(&trees.changes(&gates), 20), expected);
    assert_eq!(in_one_line(&trees.changes(&gates), 1), "pytest.ini (new configuration) and 4 more");
    let restored = trees.restored(&gates);
    let shown: Vec<String> = restored.iter().map(|(path, text)| format!("{path}={text}")).collect();
    let expected = [
        "README.md=2",
        "src/a.py=2",
        "src/new.py=3",
        "test.sh=exit 1",
        "tests/test_a.py=a",
        "tests/test_b.py=b",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_directory_of_tests_that_became_a_link_is_put_back() {
    let trees = Trees::new(&[("tests/a.py", "a")], &[("tests/a.py", GONE), ("tests", "elsewhere")]);
    let gates = trees.gates(&["pytest"], &[]);
    let plan = gates.restored_tree_plan(&trees.changes(&gates), &|side, path| trees.read(side, path));
    assert_eq!(plan, [("tests".to_string(), Restore::Remove), ("tests/a.py".to_string(), Restore::PutBack)]);
}

#[test]
fn new_test_modules_among_the_sources_stay() {
    let trees =
        Trees::new(&[], &[("src/a/tests.rs", "x"), ("src/snapshots/a.snap", "x"), ("tests/b.rs", "x")]);
    let gates = trees.gates(&["cargo test"], &[]);
    let kept: Vec<String> = trees.restored(&gates).into_keys().collect();
    assert_eq!(kept, ["src/a/tests.rs", "src/snapshots/a.snap"]);
}

#[test]
fn the_start_with_the_new_tests_differs_from_the_delivery_in_its_sources() {
    let start: Files<'_> =
        &[("src/a.py", "1"), ("tests/test_a.py", "a"), ("tox.ini", "x"), ("tests/old.py", "o")];
    let delivered: Files<'_> = &[
        ("src/a.py", "2"),
        ("tests/test_a.py", "b"),
        ("tests/test_b.py", "c"),
        ("tests/old.py", GONE),
        ("package.json", r#"{"devDependencies":{"x":"1"}}"#),
        ("package-lock.json", "{}"),
    ];
    let trees = Trees::new(start, delivered);
    let gates = trees.gates(&["pytest"], &[]);
    let shown = |(path, take): (String, Take)| format!("{path} {take:?}");
    let plan: Vec<String> =
        gates.new_tests_on_old_source(&trees.differences()).into_iter().map(shown).collect();
    let expected = [
        "tests/old.py Remove",
        "package-lock.json Delivered",
        "package.json Delivered",
        "tests/test_a.py Delivered",
        "tests/test_b.py Delivered",
    ];
    assert_eq!(plan, expected);
    assert!(gates.has_new_tests(&trees.differences()));
    let none = Trees::new(start, &[("src/a.py", "2"), ("tests/old.py", GONE)]);
    assert!(!gates.has_new_tests(&none.differences()));
}

#[test]
fn tests_inside_of_sources_are_told_apart() {
    let with = "fn f() {}\n#[cfg(test)]\nmod tests { #[test] fn a() { f(); } }\n";
    let trees = Trees::new(
        &[("src/a.rs", with), ("src/b.rs", with), ("src/c.rs", "fn c() {}"), ("tests/t.rs", with)],
        &[
            ("src/a.rs", &with.replace("f();", "")),
            ("src/b.rs", &with.replace("fn f() {}", "fn f() { g() }")),
            ("src/c.rs", with),
            ("tests/t.rs", ""),
        ],
    );
    let gates = trees.gates(&["cargo test"], &[]);
    let inline = gates.inline_changes(&trees.differences(), &|side, path| trees.read(side, path));
    let shown: Vec<String> =
        inline.iter().map(|inline| format!("{} {:?}", inline.path, inline.change)).collect();
    assert_eq!(shown, ["src/a.rs Changed", "src/c.rs New"]);
    assert_eq!(in_one_line(&trees.changes(&gates), 9), "tests/t.rs (changed)");
}

#[test]
fn texts_that_are_long_or_no_text_are_changed() {
    let long = "x".repeat(2 * 1024 * 1024);
    check("pytest", &[("tests/test_a.py", "a")], &[("tests/test_a.py", &long)], "tests/test_a.py (changed)");
    check(
        "npm test",
        &[("package.json", "{}")],
        &[("package.json", &format!("{{\"a\":\"{long}\"}}"))],
        "package.json (changed)",
    );
    let gates = Gates::new(&["npm test"], &[], &|_| None);
    let differences = [Difference { path: "package.json".to_string(), status: Status::Changed }];
    let changes = gates.changes(&differences, &|_, _| None);
    assert_eq!(in_one_line(&changes, 9), "package.json (changed)");
}

#[test]
fn a_path_with_control_characters_is_shown_on_one_line() {
    let change = GateChange {
        path: "tests/a\u{1b}[31m\nb.py".to_string(),
        kind: GateKind::Test,
        change: Change::Changed,
        details: Vec::new(),
    };
    assert!(!change.to_string().contains(['\n', '\u{1b}']), "{change}");
}

#[test]
fn a_change_is_a_fact_that_can_be_read_back() {
    let change = GateChange {
        path: "package.json".to_string(),
        kind: GateKind::Manifest,
        change: Change::NewConfiguration,
        details: vec!["jest".to_string()],
    };
    let text = serde_json::to_string(&change).unwrap();
    assert_eq!(
        text,
        r#"{"path":"package.json","kind":"manifest","change":"new_configuration","details":["jest"]}"#
    );
    assert_eq!(serde_json::from_str::<GateChange>(&text).unwrap(), change);
}
