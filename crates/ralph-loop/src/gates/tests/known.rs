//! Files with well-known names, tests, pins, and honest work.

use std::collections::BTreeSet;

use super::{GONE, Trees, check, kind};
use crate::gates::{in_one_line, table};

#[test]
fn every_row_of_the_table_is_there_once_and_has_a_reason() {
    let mut seen = BTreeSet::new();
    for row in table::rows() {
        assert!(row.reason.ends_with('.') && row.reason.len() > 10, "{}", row.pattern);
        assert!(seen.insert(row.pattern), "{} is there twice", row.pattern);
    }
    assert!(seen.len() > 200);
}

#[test]
fn configuration_is_found_by_its_name_at_any_depth() {
    for path in [
        "conftest.py",
        "tests/conftest.py",
        "tests/pytest.ini",
        "Conftest.py",
        "pytest.ini",
        "tox.ini",
        "setup.cfg",
        ".npmrc",
        ".cargo/config.toml",
        "crates/a/.cargo/config.toml",
        "rust-toolchain.toml",
        "build.rs",
        "crates/a/build.rs",
        "pytest.py",
        "tasks.py",
        "jest.config.js",
        "packages/a/jest.setup.ts",
        ".mocharc.cjs",
        "vitest.config.ts",
        "vite.config.mts",
        "tsconfig.json",
        "tsconfig.build.json",
        ".eslintrc.json",
        "eslint.config.mjs",
        ".eslintignore",
        "ruff.toml",
        ".ruff.toml",
        "mypy.ini",
        "sitecustomize.py",
        "src/usercustomize.py",
        "x.pth",
        ".env",
        ".env.test",
        ".github/workflows/ci.yml",
        "justfile",
        "Taskfile.yml",
        "Rakefile",
        "build.gradle.kts",
        "pom.xml",
        "CMakeLists.txt",
        "build/CTestTestfile.cmake",
        ".coveragerc",
        "deno.jsonc",
        "bunfig.toml",
        "phpunit.xml.dist",
        ".rspec",
        "spec/spec_helper.rb",
        "test/test_helper.exs",
        "mix.exs",
        ".config/nextest.toml",
        ".pre-commit-config.yaml",
        ".gitattributes",
        "GNUmakefile",
        "go.work",
        ".golangci.yml",
        "clippy.toml",
        "noxfile.py",
        "pnpm-workspace.yaml",
        "babel.config.js",
        "playwright.config.ts",
        "Dockerfile",
    ] {
        check("x", &[], &[(path, "new")], &format!("{path} (new configuration)"));
        check("x", &[(path, "old")], &[(path, "new")], &format!("{path} (changed)"));
        check("x", &[(path, "old")], &[(path, GONE)], &format!("{path} (deleted)"));
    }
}

#[test]
fn tests_are_found_by_the_patterns_of_their_ecosystems() {
    for path in [
        "tests/test_login.py",
        "tests/a.rs",
        "crates/a/tests/it/main.rs",
        "test_a.py",
        "src/a_test.py",
        "pkg/a_test.go",
        "pkg/testdata/in.json",
        "src/a.test.ts",
        "src/a.test.tsx",
        "src/a.spec.mjs",
        "src/__tests__/a.js",
        "src/__snapshots__/a.test.js.snap",
        "spec/models/user_spec.rb",
        "src/test/java/ATest.java",
        "app/src/androidTest/A.kt",
        "src/main/FooTest.java",
        "lib/a_test.exs",
        "src/gates/tests.rs",
        "src/snapshots/a.snap",
        "tests/fixtures/project/Makefile",
        "tests/fixtures/package.json",
        "tests/golden/out.txt",
        "t/01.t",
        "a.bats",
        "Tests/AppTests/AppTests.swift",
        "e2e/login.ts",
        "features/login.feature",
    ] {
        check("x", &[], &[(path, "new")], &format!("{path} (new test)"));
        check("x", &[(path, "old")], &[(path, "new")], &format!("{path} (changed)"));
        check("x", &[(path, "old")], &[(path, GONE)], &format!("{path} (deleted)"));
    }
}

#[test]
fn honest_work_is_no_change_to_the_gates() {
    for path in [
        "src/main.rs",
        "src/app.py",
        "README.md",
        "docs/guide.md",
        "CHANGELOG.md",
        "LICENSE",
        ".gitignore",
        "Cargo.lock",
        "package-lock.json",
        "tests/Cargo.lock",
        "yarn.lock",
        "uv.lock",
        "go.sum",
        "requirements.txt",
        "src/Latest.java",
        "src/contest.py",
        "src/testimony.rs",
        "src/inspect.ts",
        "src/latest.go",
        "lib/attestation.rb",
        "assets/logo.png",
        "migrations/001.sql",
        "src/environment.ts",
        "src/builder.rs",
        "src/commands/build.rs",
        "app/tasks.py",
        "spec/openapi.yaml",
        "locales/en/global.json",
        "models/best.pth",
        "index.html",
    ] {
        check("make test", &[("Makefile", "")], &[(path, "new")], "");
        check("cargo test", &[(path, "old")], &[(path, "new")], "");
    }
    check("pytest", &[("src/a.py", "x")], &[("src/a.py", GONE), ("src/b.py", "x")], "");
}

#[test]
fn a_skipped_test_is_named_as_such() {
    let before = "def test_a():\n    assert f() == 1\n";
    let python = |after: &str, expected: &str| {
        check("pytest", &[("tests/test_a.py", before)], &[("tests/test_a.py", after)], expected);
    };
    python(
        &format!("import pytest\n@pytest.mark.skip\n{before}"),
        "tests/test_a.py (test skipped: mark.skip)",
    );
    python("def test_a():\n    pass\n", "tests/test_a.py (changed)");
    let go = "package a\nfunc TestA(t *testing.T) { f() }\n";
    check(
        "go test ./...",
        &[("a_test.go", go)],
        &[("a_test.go", &go.replace("f()", "t.Skip()"))],
        "a_test.go (test skipped: Skip)",
    );
    check(
        "go test ./...",
        &[("a_test.go", go)],
        &[("a_test.go", &format!("//go:build x\n{go}"))],
        "a_test.go (test skipped: //go:build x)",
    );
    check(
        "npm test",
        &[("a.test.ts", "it('a', f)")],
        &[("a.test.ts", "it.only('a', f)")],
        "a.test.ts (test skipped: it.only)",
    );
}

#[test]
fn a_new_test_that_acts_on_others_is_no_plain_new_test() {
    check(
        "pytest",
        &[],
        &[("tests/test_0.py", "import os\nos._exit(0)\n")],
        "tests/test_0.py (new: os._exit)",
    );
    check(
        "go test ./...",
        &[],
        &[("a_test.go", "func TestMain(m *testing.M) {}")],
        "a_test.go (new: func TestMain)",
    );
    check("pytest", &[], &[("tests/test_1.py", "def test_b(): assert True\n")], "tests/test_1.py (new test)");
    let loaded = "(new: other tests can load it)";
    check("pytest", &[], &[("tests/app.py", "def f(): return 1\n")], &format!("tests/app.py {loaded}"));
    check("jest", &[], &[("__mocks__/axios.js", "x")], &format!("__mocks__/axios.js {loaded}"));
    check("rspec", &[], &[("spec/json.rb", "x")], &format!("spec/json.rb {loaded}"));
    check("pytest", &[], &[("tests/__init__.py", "\n")], "tests/__init__.py (new test)");
}

#[test]
fn a_pin_makes_any_file_a_gate() {
    let trees = Trees::new(
        &[("src/rules.txt", "1"), ("golden.txt", "1")],
        &[("src/rules.txt", "2"), ("src/new.txt", "1"), ("golden.txt", "2")],
    );
    let gates = trees.gates(&["true"], &["src/*.txt"]);
    assert_eq!(in_one_line(&trees.changes(&gates), 9), "src/new.txt (new), src/rules.txt (changed)");
    kind(&["true"], &[], "src/rules.txt", None);
}
