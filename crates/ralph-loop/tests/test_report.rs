//! What real test runners print, read whole and in pieces.
//!
//! `fixtures/test_report` has the output of small projects with passing, failing, skipped and crashing
//! tests, stdout and stderr in one. Those called `after` are of the same projects, changed: a test was
//! fixed, some were deleted, ignored or added. Paths are replaced; nothing else is.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

use proptest::prelude::*;
use ralph_loop::test_report::{
    NAMES_MAX, Outcome, Problem, Reader, Runner, TestChanges, TestReport, compare, junit, read,
};
use std::fmt::Write;
use std::path::PathBuf;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/test_report").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn report(name: &str) -> Option<TestReport> {
    let bytes = fixture(name);
    if name.ends_with(".xml") { junit(&String::from_utf8(bytes).unwrap()) } else { read(&bytes) }
}

fn report_of(name: &str) -> TestReport {
    report(name).unwrap_or_else(|| panic!("{name}: no report"))
}

/// `pytest 7/3/2`: passed, failed, skipped. `counted` if not all that ran have a name.
fn in_short(report: Option<&TestReport>) -> String {
    let Some(report) = report else { return "nothing".to_owned() };
    let mut text = String::new();
    for (runner, suite) in &report.runners {
        let totals = suite.totals;
        let counted = if suite.names_all() { "" } else { " counted" };
        write!(text, "{runner} {}/{}/{}{counted}", totals.passed, totals.failed, totals.skipped).unwrap();
        for name in &suite.unloaded {
            write!(text, ", not loaded: {name}").unwrap();
        }
        for problem in &suite.problems {
            write!(text, ", {problem}").unwrap();
        }
        text.push_str("; ");
    }
    text.trim_end_matches("; ").to_owned()
}

const TABLE: &[(&str, &str)] = &[
    ("cargo-color.txt", "cargo test 17/2/3"),
    ("cargo-crash-forged.txt", "cargo test 3/0/0"),
    ("cargo-crash.txt", "cargo test 2/0/0, crash (tests/crash.rs) ended without its summary"),
    ("cargo-filtered.txt", "cargo test 3/0/0"),
    ("cargo-forged-captured.txt", "cargo test 1/1/0"),
    (
        "cargo-forged-uncaptured.txt",
        "cargo test 3/0/0, the summary of direct (tests/direct.rs) does not match: 3 passed, 0 failed, 0 skipped by name, it says 2 passed, 0 failed, 0 skipped",
    ),
    ("cargo-no-build.txt", "nothing"),
    ("cargo-nocapture-serial.txt", "cargo test 3/1/2"),
    (
        "cargo-nocapture.txt",
        "cargo test 4/1/2, the summary of calc does not match: 6 tests were to run, it counts 5",
    ),
    ("cargo-quiet-after.txt", "cargo test 17/0/4 counted"),
    ("cargo-quiet-many.txt", "cargo test 120/0/0 counted"),
    ("cargo-quiet.txt", "cargo test 17/2/3 counted"),
    ("cargo-v.txt", "cargo test 1/0/0"),
    ("cargo-workspace-after.txt", "cargo test 17/0/4"),
    ("cargo-workspace.txt", "cargo test 17/2/3"),
    ("go-bare-v.txt", "go test 1/0/0"),
    ("go-broken-json.txt", "go test 0/0/0, not loaded: example.com/shop/broken"),
    ("go-broken.txt", "go test 1/0/0, not loaded: example.com/shop/broken"),
    ("go-cached.txt", "go test 1/1/0"),
    ("go-cover.txt", "go test 1/0/0"),
    ("go-crash-json.txt", "go test 1/1/0"),
    ("go-crash-v.txt", "go test 2/1/0"),
    ("go-crash.txt", "go test 0/1/0"),
    ("go-default.txt", "go test 1/1/0"),
    ("go-json.txt", "go test 9/3/2"),
    ("go-none-v.txt", "go test 0/0/1"),
    ("go-none.txt", "go test 0/0/1"),
    ("go-panic-v.txt", "go test 2/1/0"),
    ("go-v.txt", "go test 9/3/2"),
    ("jest-color.txt", "jest 5/1/2"),
    ("jest-crash.txt", "nothing"),
    ("jest-default.txt", "jest 5/1/2 counted, not loaded: j/bad.test.js"),
    ("jest-many.txt", "jest 21/1/0 counted"),
    ("jest-none.txt", "nothing"),
    ("jest-one.txt", "jest 2/0/0"),
    ("jest-pattern.txt", "jest 2/0/4"),
    ("jest-silent.txt", "jest 2/0/0 counted"),
    ("jest-verbose.txt", "jest 5/1/2, not loaded: j/bad.test.js"),
    (
        "make-all.txt",
        "cargo test 1/1/0; pytest 1/0/0 counted; unittest 1/0/1 counted; go test 1/0/0; jest 2/0/0; vitest 2/0/0 counted; TAP 1/0/0",
    ),
    ("nextest-after.txt", "cargo nextest 7/0/3"),
    ("nextest-crash.txt", "cargo nextest 3/0/0"),
    ("nextest-fail-fast.txt", "cargo nextest 4/1/2"),
    ("nextest-filtered.txt", "cargo nextest 3/0/6"),
    ("nextest-none.txt", "cargo nextest 0/0/9"),
    ("nextest-retries.txt", "cargo nextest 5/2/2"),
    ("nextest.txt", "cargo nextest 7/2/2"),
    ("node-crash-alone.txt", "nothing"),
    ("node-crash-spec.txt", "node --test 1/0/0"),
    ("node-crash-tap.txt", "TAP 1/0/0"),
    ("node-dot.txt", "nothing"),
    ("node-junit.xml", "JUnit 5/1/4"),
    ("node-none.txt", "TAP 0/0/0"),
    ("node-pattern.txt", "node --test 3/0/7"),
    ("node-spec.txt", "node --test 5/1/4"),
    ("node-tap.txt", "TAP 5/1/4"),
    ("pytest-collect-error-q.txt", "pytest 0/0/0, not loaded: test_b.py"),
    ("pytest-collect-error.txt", "pytest 0/0/0, not loaded: test_b.py"),
    ("pytest-collect-junit.xml", "JUnit 0/0/0, not loaded: pytest > test_b"),
    ("pytest-color.txt", "pytest 7/3/2 counted"),
    ("pytest-crash-forged.txt", "nothing"),
    ("pytest-crash-q.txt", "nothing"),
    ("pytest-crash-v.txt", "pytest 1/0/0, pytest ended without its summary"),
    ("pytest-crash-xdist.txt", "pytest 2/1/0 counted"),
    ("pytest-crash.txt", "pytest 0/0/0, pytest ended without its summary"),
    ("pytest-default-after.txt", "pytest 8/0/3 counted"),
    ("pytest-default.txt", "pytest 7/3/2 counted"),
    ("pytest-junit.xml", "JUnit 7/3/2"),
    ("pytest-k.txt", "pytest 1/0/0 counted"),
    ("pytest-many-q.txt", "pytest 150/1/0 counted"),
    ("pytest-many.txt", "pytest 150/1/0 counted"),
    ("pytest-none.txt", "pytest 0/0/0"),
    ("pytest-q-s.txt", "pytest 0/3/0, the summary of pytest does not match: 0 progress marks, it counts 13"),
    ("pytest-q-tb.txt", "pytest 7/3/2 counted"),
    ("pytest-q.txt", "pytest 8/3/2 counted"),
    ("pytest-qq.txt", "pytest 0/3/0, pytest ended without its summary"),
    ("pytest-rA.txt", "pytest 7/3/2"),
    ("pytest-s.txt", "pytest 7/3/2 counted"),
    ("pytest-space-v.txt", "pytest 1/0/0"),
    ("pytest-subtests-q.txt", "pytest 1/1/1 counted"),
    ("pytest-subtests-v.txt", "pytest 1/1/0"),
    ("pytest-subtests.txt", "pytest 1/1/1 counted"),
    ("pytest-v-after.txt", "pytest 8/0/3"),
    ("pytest-v-s.txt", "pytest 7/3/2"),
    ("pytest-v.txt", "pytest 7/3/2"),
    ("pytest-x.txt", "pytest 1/1/0 counted"),
    ("pytest-xdist-v.txt", "pytest 7/3/2"),
    ("pytest-xdist.txt", "pytest 7/3/2 counted"),
    ("tap-bare-crash.txt", "TAP 1/0/0, the summary of TAP does not match: 3 planned, 1 ran"),
    ("tap-bare.txt", "TAP 4/0/1"),
    ("tap-prove.txt", "TAP 5/1/1"),
    ("unittest-crash-v.txt", "unittest 1/0/0, unittest ended without its summary"),
    ("unittest-crash.txt", "nothing"),
    ("unittest-default.txt", "unittest 3/4/4 counted, not loaded: tests.test_calc.SetUpTest (setUpClass)"),
    ("unittest-missing.txt", "unittest 0/0/0, not loaded: none"),
    ("unittest-none-3.13.txt", "unittest 0/0/0"),
    (
        "unittest-default-3.8.txt",
        "unittest 3/4/4 counted, not loaded: tests.test_calc.SetUpTest (setUpClass)",
    ),
    ("unittest-v-3.8.txt", "unittest 3/4/4, not loaded: tests.test_calc.SetUpTest (setUpClass)"),
    ("unittest-v-3.13.txt", "unittest 3/4/4, not loaded: tests.test_calc.SetUpTest (setUpClass)"),
    ("unittest-none.txt", "unittest 0/0/0"),
    ("unittest-ok-v.txt", "unittest 1/0/1"),
    ("unittest-ok.txt", "unittest 1/0/1 counted"),
    ("unittest-v.txt", "unittest 3/4/4, not loaded: tests.test_calc.SetUpTest (setUpClass)"),
    ("vitest-color.txt", "vitest 5/1/2 counted"),
    (
        "vitest-crash.txt",
        "vitest 2/0/0 counted, the summary of vitest does not match: 2 of 4 tests have an outcome",
    ),
    ("vitest-default.txt", "vitest 5/1/2 counted, not loaded: bad.test.js"),
    ("vitest-dot.txt", "vitest 5/1/2 counted"),
    ("vitest-junit.xml", "JUnit 5/1/2"),
    ("vitest-none.txt", "vitest 0/0/0"),
    ("vitest-one.txt", "vitest 2/0/0 counted"),
    ("vitest-pattern.txt", "vitest 2/0/4"),
    ("vitest-tap.txt", "TAP 5/1/2"),
    ("vitest-tree.txt", "vitest 5/1/2 counted"),
    ("vitest-verbose.txt", "vitest 5/1/2, not loaded: bad.test.js"),
];

#[test]
fn every_runner_is_read_in_every_form_it_prints() {
    for (name, expected) in TABLE {
        let report = report(name);
        assert_eq!(in_short(report.as_ref()), *expected, "{name}");
        if let Some(report) = report {
            assert_eq!(report.complete(), report.problems().next().is_none());
            let sum: u64 = report.runners.values().map(|suite| suite.totals.all()).sum();
            assert_eq!(report.totals().all(), sum, "{name}");
        }
    }
}

#[test]
fn every_fixture_is_in_the_table() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/test_report");
    let mut files: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut listed: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    assert_eq!(files, listed);
}

#[test]
fn names_are_qualified_and_stable() {
    let mut text = String::new();
    let shown = ["cargo-workspace", "nextest", "pytest-v", "unittest-v", "go-v", "jest-verbose"];
    for name in shown.into_iter().chain(["vitest-verbose", "node-spec"]) {
        writeln!(text, "{name}").unwrap();
        for (test, outcome) in report_of(&format!("{name}.txt")).tests() {
            writeln!(text, "  {test}: {outcome:?}").unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn two_forms_of_a_runner_give_the_same_names() {
    for (one, other) in [
        ("go-v.txt", "go-json.txt"),
        ("pytest-v.txt", "pytest-xdist-v.txt"),
        ("pytest-v.txt", "pytest-v-s.txt"),
        ("cargo-workspace.txt", "cargo-color.txt"),
        ("node-spec.txt", "node-tap.txt"),
        ("node-spec.txt", "node-junit.xml"),
        ("unittest-v.txt", "unittest-v-3.8.txt"),
        ("unittest-v.txt", "unittest-v-3.13.txt"),
    ] {
        let tests =
            |name| report_of(name).tests().map(|(test, it)| (test.to_owned(), it)).collect::<Vec<_>>();
        assert_eq!(tests(one), tests(other), "{one} and {other}");
    }
}

#[test]
fn windows_line_ends_change_nothing() {
    for (name, _) in TABLE.iter().filter(|(name, _)| name.ends_with(".txt")) {
        let text = String::from_utf8(fixture(name)).unwrap();
        assert_eq!(read(text.replace('\n', "\r\n").as_bytes()), read(text.as_bytes()), "{name}");
    }
}

#[test]
fn an_output_that_ends_early_is_never_complete_or_has_fewer_tests() {
    for (name, _) in TABLE.iter().filter(|(name, _)| name.ends_with(".txt")) {
        let bytes = fixture(name);
        let Some(whole) = read(&bytes).filter(TestReport::complete) else { continue };
        let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
        for end in ends {
            let Some(cut) = read(&bytes[..end]) else { continue };
            let changes = compare(&whole, &cut);
            let worse = !changes.fewer.is_empty() || !changes.vanished.is_empty();
            assert!(!cut.complete() || worse || cut.totals() == whole.totals(), "{name} at byte {end}");
        }
    }
}

#[test]
fn several_runners_in_one_output_are_all_found() {
    let mut all = Vec::new();
    for name in ["cargo-workspace.txt", "pytest-default.txt", "unittest-v.txt", "go-v.txt", "go-default.txt"]
    {
        all.extend(fixture(name));
    }
    for name in ["jest-default.txt", "vitest-default.txt", "node-tap.txt", "node-spec.txt", "nextest.txt"] {
        all.extend(fixture(name));
    }
    let report = read(&all).unwrap();
    assert!(report.complete(), "{:?}", report.problems().collect::<Vec<_>>());
    assert_eq!(report.runners.len(), 9);
    assert_eq!(report.runners[&Runner::Pytest], report_of("pytest-default.txt").runners[&Runner::Pytest]);
}

#[test]
fn a_runner_that_runs_twice_has_numbered_names() {
    let twice = [fixture("pytest-v.txt"), fixture("pytest-v.txt")].concat();
    let report = read(&twice).unwrap();
    let suite = &report.runners[&Runner::Pytest];
    assert!(report.complete());
    assert_eq!(suite.totals.all(), 24);
    assert_eq!(suite.tests["tests/test_store.py::test_reads #2"], Outcome::Passed);
}

#[test]
fn a_report_survives_its_record() {
    for (name, _) in TABLE {
        let Some(report) = report(name) else { continue };
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<TestReport>(&json).unwrap(), report, "{name}");
    }
}

fn changes(before: &str, after: &str) -> TestChanges {
    compare(&report_of(before), &report_of(after))
}

#[track_caller]
fn check_line(before: &str, after: &str, expected: &str) {
    assert_eq!(changes(before, after).line(), expected, "{before} and {after}");
}

#[test]
fn a_change_is_said_in_one_line() {
    check_line(
        "cargo-workspace.txt",
        "cargo-workspace-after.txt",
        "1 test went from red to green, 1 new, 1 newly skipped: calc::tests::prints, 2 vanished: store::tests::returns_an_error, whole (tests/whole.rs)::adds #2",
    );
    check_line(
        "cargo-quiet.txt",
        "cargo-quiet-after.txt",
        "2 tests no longer reported as failing, 4 skipped, 3 before (cargo test), 21 tests, 22 before (cargo test)",
    );
    check_line(
        "nextest.txt",
        "nextest-after.txt",
        "1 test went from red to green, 1 new, 3 vanished: calc tests::prints, store tests::returns_an_error, store::whole adds, 3 skipped, 2 before (cargo nextest)",
    );
    check_line(
        "pytest-v.txt",
        "pytest-v-after.txt",
        "3 tests went from red to green, 1 newly skipped: tests/test_calc.py::test_adds, 1 vanished: tests/test_calc.py::TestGroup::test_in",
    );
    check_line(
        "pytest-default.txt",
        "pytest-default-after.txt",
        "3 tests no longer reported as failing, 3 skipped, 2 before (pytest), 11 tests, 12 before (pytest)",
    );
    check_line(
        "pytest-default-after.txt",
        "pytest-default.txt",
        "3 tests broken: tests/test_calc.py::test_subtracts, tests/test_store.py::test_setup, tests/test_store.py::test_teardown",
    );
    check_line(
        "node-spec.txt",
        "node-crash-spec.txt",
        "1 new test, 10 vanished: adds, calc > adds, calc > divides and 7 more",
    );
    check_line(
        "go-default.txt",
        "go-none.txt",
        "1 test newly skipped: example.com/shop/store, 1 vanished: example.com/shop/calc",
    );
    check_line("pytest-v.txt", "pytest-v.txt", "no test changed");
}

#[test]
fn lines_that_move_do_not_rename_doctests() {
    let changes = changes("cargo-workspace.txt", "cargo-workspace-after.txt");
    let is_doctest = |name: &String| name.contains("(doc)");
    assert!(!changes.vanished.iter().any(is_doctest), "{:?}", changes.vanished);
    assert!(!changes.added.iter().any(|(name, _)| is_doctest(name)), "{:?}", changes.added);
}

#[test]
fn a_runner_that_is_gone_took_its_tests_with_it() {
    let before = read(&[fixture("cargo-workspace.txt"), fixture("pytest-default.txt")].concat()).unwrap();
    let after = report_of("cargo-workspace.txt");
    let changes = compare(&before, &after);
    let fewer = changes.fewer.first().unwrap();
    assert_eq!((fewer.runner, fewer.before, fewer.after), (Runner::Pytest, 12, 0));
}

#[test]
fn another_run_of_a_runner_hides_no_lost_test() {
    let run = |tests: u32| format!("{}\nRan {tests} tests in 0.001s\n\nOK\n", "-".repeat(70));
    let before = read(run(10).as_bytes()).unwrap();
    let fewer = |output: String| compare(&before, &read(output.as_bytes()).unwrap()).fewer.len();
    assert_eq!(fewer(run(7) + &run(5)), 1);
    assert_eq!(fewer(run(5) + &run(10)), 0);
    assert_eq!(fewer(run(9)), 1);
}

#[test]
fn tests_that_lose_their_names_are_not_taken_for_vanished_ones() {
    let changes = changes("pytest-v.txt", "pytest-default.txt");
    assert_eq!((changes.unnamed, changes.vanished.len(), changes.fewer.len()), (7, 0, 0));
}

#[test]
fn a_file_that_loads_again_is_no_vanished_test() {
    let changes = changes("pytest-collect-error.txt", "pytest-v.txt");
    assert_eq!(changes.loaded, ["test_b.py"]);
    assert_eq!((changes.vanished.len(), changes.added.len()), (0, 12));
}

#[track_caller]
fn check(output: &str, expected: &str) {
    assert_eq!(in_short(read(output.as_bytes()).as_ref()), expected, "{output}");
}

#[test]
fn points_and_a_plan_are_tap_without_a_version() {
    check("1..2\nok 1 - a\nnoise\nok 2 - b\n", "TAP 2/0/0");
    check("ok 1 - a\nnot ok 2\n1..2\n", "TAP 1/1/0");
    check("1..1\nok 1\n1..2\nok 1\nok 2\nok 1\n1..1\n", "TAP 4/0/0");
    check("1..2\nok 1 - a\n", "TAP 1/0/0, the summary of TAP does not match: 2 planned, 1 ran");
    check("ok 1\nok 2\n1..3\n", "TAP 2/0/0, the summary of TAP does not match: 3 planned, 2 ran");
    check("1..1\nok 1\nok 2\n", "TAP 2/0/0, the summary of TAP does not match: 1 planned, 2 ran");
}

#[test]
fn a_plan_or_points_alone_are_no_tap() {
    for output in ["ok 1\n", "ok 1 file\nok 2 files\n", "1..3\n", "1..3\nok\n", "1..0\nok 2\n"] {
        check(output, "nothing");
    }
    for output in ["1..3\nok 2 files\n", "  1..3\n  ok 1\n", "1..3 of\nok 1\n", "1..3\nok 1st\n"] {
        check(output, "nothing");
    }
    let pytest = String::from_utf8(fixture("pytest-v.txt")).unwrap();
    check(&format!("1..3\nok 2 files\n{pytest}"), "pytest 7/3/2");
    check(&format!("ok 1\n{pytest}1.5\n"), "pytest 7/3/2");
}

const RESULT: &str = "0 ignored; 0 measured; 0 filtered out; finished in 0.00s";

#[test]
fn forged_lines_are_counted_against_the_runner() {
    check(
        &format!("\nrunning 1 test\ntest a ... ok\n\ntest result: ok. 5 passed; 0 failed; {RESULT}\n"),
        "cargo test 1/0/0, the summary of cargo test does not match: 1 test was to run, it counts 5",
    );
    check(
        &format!(
            "\nrunning 2 tests\ntest a ... ok\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; {RESULT}\n"
        ),
        "cargo test 2/0/0, the summary of cargo test does not match: a test has two outcomes",
    );
    check(
        &format!("test result: ok. 2 passed; 0 failed; {RESULT}\n"),
        "cargo test 0/0/0, cargo test printed a summary without a run",
    );
    check(
        "=== test session starts ===\ncollected 3 items\n\na.py .\n=== 5 passed in 0.01s ===\n",
        "pytest 0/0/0, the summary of pytest does not match: 3 collected, it counts 5",
    );
    check(
        "5 passed in 0.01s\n",
        "pytest 0/0/0, the summary of pytest does not match: 0 progress marks, it counts 5",
    );
    check(
        "=== RUN   TestA\nok  \tx/y\t0.01s\n",
        "go test 0/1/0, the summary of x/y does not match: a test without an outcome, or a failed one",
    );
    check(
        "TAP version 13\n1..3\nok 1 - a\n",
        "TAP 1/0/0, the summary of TAP does not match: 3 planned, 1 ran",
    );
    check("TAP version 13\nok 1 - a\n", "TAP 1/0/0, TAP ended without its summary");
    check(
        " RUN  v4.0.0 /x\n ✓ a.test.js (2 tests) 5ms\n Test Files  1 passed (1)\n      Tests  9 passed (9)\n   Start at  11:00:00\n",
        "vitest 9/0/0 counted, the summary of vitest does not match: 2 passed, 0 failed, 0 skipped in all \
         files, it says 9 passed, 0 failed, 0 skipped",
    );
    check(
        "PASS a.test.js\nTest Suites: 3 passed, 3 total\nTests:       9 passed, 9 total\nSnapshots:   0 total\nTime:        1 s\n",
        "jest 9/0/0 counted, the summary of jest does not match: 1 file, it counts 3",
    );
    check("PASS a.test.js\n", "jest 0/0/0, jest ended without its summary");
}

#[test]
fn what_only_looks_like_a_runner_is_none() {
    for text in [
        "running 3 tests\n",
        "Hello\nrunning 3 tests\n",
        "all tests passed in 3s\n",
        "PASS: a\nFAIL: b\nPASS some check\n",
        "ok 1 - a\n",
        "OK\nFAILED (failures=1)\nRan 3 tests in 1s\n",
        "  ✔ adds\n  ✔ slow (51ms)\n\n  2 passing (60ms)\n",
        "-----\nok  \t\n--- a\n+++ b\n",
        "Tests:       5 passed, 5 total\n",
        "Downloading (a.tar) ... done\ntest (a.b)\n",
        "...... [50%]\n=== ERRORS ===\n",
        "{\"Action\":5}\n{}\n{\n",
        "",
    ] {
        check(text, "nothing");
    }
}

#[test]
fn more_names_than_are_kept_are_counted() {
    let tests = NAMES_MAX + 10;
    let mut output = format!("\nrunning {tests} tests\n");
    for n in 0..tests {
        writeln!(output, "test t{n} ... ok").unwrap();
    }
    writeln!(output, "\ntest result: ok. {tests} passed; 0 failed; {RESULT}").unwrap();
    let report = read(output.as_bytes()).unwrap();
    let suite = &report.runners[&Runner::CargoTest];
    assert!(report.names_cut && report.complete(), "{:?}", report.problems().next());
    assert_eq!((suite.totals.passed, suite.tests.len()), (tests as u64, NAMES_MAX));
    // Twice is not twice as much.
    let twice = read([output.as_bytes(), output.as_bytes()].concat().as_slice()).unwrap();
    assert_eq!(twice.tests().count(), NAMES_MAX);
    assert_eq!(twice.totals().passed, 2 * tests as u64);
}

#[test]
fn a_torn_or_wrong_xml_file_is_not_complete() {
    let xml = String::from_utf8(fixture("pytest-junit.xml")).unwrap();
    for (at, _) in xml.char_indices() {
        assert!(junit(&xml[..at]).is_none_or(|report| !report.complete()), "{}", &xml[..at]);
    }
    let problem = |text: &str| junit(text).unwrap().problems().next().cloned();
    let wrong = problem("<testsuite name='a' tests='2'><testcase name='b'/></testsuite>");
    assert!(matches!(wrong, Some(Problem::Disagreement { .. })), "{wrong:?}");
    assert!(problem("<testsuites><testsuite></testsuites>").is_some());
    assert!(problem("<testsuite/><testsuite/>").is_some());
    assert!(junit("<html></html>").is_none());
    assert!(junit("<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>").is_none());
}

#[test]
fn names_in_xml_are_unescaped() {
    let xml = "<?xml version='1.0'?><testsuites><testsuite name=\"s\"><testcase classname='a&amp;b' name=\"x &gt; &#65;&#x42; &quot;>&quot; &no;\"/>\
               <testcase name='c'><system-out><![CDATA[<failure/>]]></system-out><failure/></testcase></testsuite></testsuites>";
    let report = junit(xml).unwrap();
    let tests: Vec<_> = report.tests().collect();
    assert_eq!(tests, [("a&b > x > AB \">\" &no;", Outcome::Passed), ("s > c", Outcome::Failed)]);
    assert!(report.complete());
}

/// Reads `bytes` cut at `cuts`.
fn in_pieces(bytes: &[u8], cuts: &[prop::sample::Index]) -> Option<TestReport> {
    let mut marks: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    marks.extend([0, bytes.len()]);
    marks.sort_unstable();
    let mut reader = Reader::default();
    for pair in marks.windows(2) {
        reader.feed(&bytes[pair[0]..pair[1]]);
    }
    reader.finish()
}

/// Lines of all fixtures, which random ones are made of.
fn all_lines() -> Vec<Vec<u8>> {
    let texts = TABLE.iter().filter(|(name, _)| name.ends_with(".txt")).map(|(name, _)| fixture(name));
    texts.flat_map(|text| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()).collect()
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_report(
        which in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let bytes = fixture(TABLE[which.index(TABLE.len())].0);
        prop_assert_eq!(in_pieces(&bytes, &cuts), read(&bytes));
    }

    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        prop_assert_eq!(in_pieces(&bytes, &cuts), read(&bytes));
        let _ = junit(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn lines_in_any_order_never_panic_and_keep_the_counts(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
    ) {
        let lines = all_lines();
        let output = picks.iter().map(|pick| lines[pick.index(lines.len())].as_slice()).collect::<Vec<_>>();
        let Some(report) = read(&output.join(&b'\n')) else { return Ok(()) };
        for suite in report.runners.values() {
            prop_assert_eq!(suite.tests.len() as u64, suite.named.all());
            prop_assert!(suite.named.all() <= suite.totals.all());
        }
        prop_assert!(compare(&report, &report).is_empty());
    }

    #[test]
    fn almost_xml_never_panics(parts in prop::collection::vec(prop::sample::select(vec![
        "<testsuites>", "</testsuites>", "<testsuite name='a' tests='1'>", "</testsuite>", "<testcase name=\"b\"",
        "/>", ">", "</testcase>", "<failure", "<skipped/>", "<![CDATA[", "]]>", "<!--", "-->", "&lt;", "\"", "'", "ü", "=",
    ]), 0..30)) {
        let _ = junit(&parts.concat());
    }
}
