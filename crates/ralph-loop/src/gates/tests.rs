//! What agents do to the files around their work, honest and not, and what is said about it.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

type Files<'a> = &'a [(&'a str, &'a str)];

/// A delivered file that does not exist any more.
const GONE: &str = "\0gone";

struct Trees {
    start: BTreeMap<String, String>,
    delivered: BTreeMap<String, String>,
}

impl Trees {
    /// The start, and what was delivered on top of it.
    fn new(start: Files<'_>, delivered: Files<'_>) -> Trees {
        let owned = |(path, text): &(&str, &str)| (path.to_string(), text.to_string());
        let start: BTreeMap<String, String> = start.iter().map(owned).collect();
        let mut all = start.clone();
        all.extend(delivered.iter().map(owned));
        all.retain(|_, text| text != GONE);
        Trees { start, delivered: all }
    }

    fn read(&self, side: Side, path: &str) -> Option<String> {
        match side {
            Side::Start => self.start.get(path).cloned(),
            Side::Delivered => self.delivered.get(path).cloned(),
        }
    }

    fn differences(&self) -> Vec<Difference> {
        let paths: BTreeSet<&String> = self.start.keys().chain(self.delivered.keys()).collect();
        let status = |path: &String| match (self.start.get(path), self.delivered.get(path)) {
            (None, _) => Some(Status::Added),
            (_, None) => Some(Status::Deleted),
            (old, new) => (old != new).then_some(Status::Changed),
        };
        let differences = paths.into_iter().filter_map(|path| Some((path.clone(), status(path)?)));
        differences.map(|(path, status)| Difference { path, status }).collect()
    }

    fn gates(&self, checks: &[&str], pins: &[&str]) -> Gates {
        let pins: Vec<String> = pins.iter().map(ToString::to_string).collect();
        Gates::new(checks, &pins, &|path| self.read(Side::Start, path))
    }

    fn changes(&self, gates: &Gates) -> Vec<GateChange> {
        gates.changes(&self.differences(), &|side, path| self.read(side, path))
    }

    /// The delivered tree with the gates of the start.
    fn restored(&self, gates: &Gates) -> BTreeMap<String, String> {
        let plan = gates.restored_tree_plan(&self.changes(gates), &|side, path| self.read(side, path));
        let mut tree = self.delivered.clone();
        for (path, restore) in plan {
            match restore {
                Restore::PutBack => _ = tree.insert(path.clone(), self.start[&path].clone()),
                Restore::Remove => assert!(tree.remove(&path).is_some(), "{path}"),
                Restore::Replace(text) => _ = tree.insert(path, text),
            }
        }
        tree
    }
}

/// What is said about a delivery.
#[track_caller]
fn check(command: &str, start: Files<'_>, delivered: Files<'_>, expected: &str) {
    let trees = Trees::new(start, delivered);
    let gates = trees.gates(&[command], &[]);
    let changes = trees.changes(&gates);
    assert_eq!(in_one_line(&changes, 20), expected, "check {command:?}, delivered {delivered:?}");
    // The restored tree has the gates of the start: compared with it, nothing is left to put back.
    let restored = Trees { start: trees.start.clone(), delivered: trees.restored(&gates) };
    let left: Vec<GateChange> =
        restored.changes(&gates).into_iter().filter(GateChange::needs_second_run).collect();
    assert_eq!(in_one_line(&left, 20), "", "restored from {delivered:?}");
}

/// Which kind of gate a path is.
#[track_caller]
fn kind(checks: &[&str], start: Files<'_>, path: &str, expected: Option<GateKind>) {
    let gates = Trees::new(start, &[]).gates(checks, &[]);
    assert_eq!(gates.classify(path), expected, "{path} with {checks:?}");
    assert_eq!(gates.reason(path).is_some(), expected.is_some(), "{path}");
}

#[test]
fn every_row_of_the_table_has_a_reason_and_is_reached() {
    let mut seen = BTreeSet::new();
    for row in table::rows() {
        assert!(row.reason.ends_with('.') && row.reason.len() > 10, "{}", row.pattern);
        assert!(seen.insert(row.pattern), "{} is there twice", row.pattern);
    }
    assert!(seen.len() > 200);
}

#[test]
fn a_script_that_a_check_names_is_a_gate() {
    let test = &[("test.sh", "exit 1"), ("scripts/test.sh", "exit 1"), ("run", "exit 1")];
    for command in [
        "./test.sh",
        "sh test.sh",
        "bash ./test.sh",
        "bash -eux -o pipefail test.sh",
        "sh -c './test.sh'",
        "sh -c 'cd . && sh test.sh'",
        "cd scripts && sh ../test.sh",
        "(cd scripts; true) && ./test.sh",
        "A=1 ./test.sh --fast",
        "env A=1 timeout 60 ./test.sh",
        "time nice -n 5 ./test.sh",
        "./test.sh | tee log",
        "./test.sh 2>&1 | grep -q PASS",
        "sh < test.sh",
        "source test.sh",
        ". ./test.sh",
        "make -v; ./test.sh || exit 1",
        "if ./test.sh; then echo ok; fi",
        "D=.; $D/test.sh",
        "\"$PWD\"/test.sh",
        "$(git rev-parse --show-toplevel)/test.sh",
    ] {
        check(command, test, &[("test.sh", "exit 0")], "test.sh (changed)");
    }
    check("bash scripts/test.sh --fast", test, &[("scripts/test.sh", "exit 0")], "scripts/test.sh (changed)");
    check("cd scripts && ./test.sh", test, &[("scripts/test.sh", "exit 0")], "scripts/test.sh (changed)");
    check("./run", test, &[("run", "exit 0")], "run (changed)");
    check("sh run", test, &[("run", GONE)], "run (deleted)");
    check("./test.sh", &[], &[("test.sh", "exit 0")], "test.sh (new)");
    check("./Test.SH", test, &[("test.sh", "exit 0")], "test.sh (changed)");
    check("./other.sh", test, &[("run", "exit 0")], "");
}

#[test]
fn what_a_script_runs_is_a_gate_too() {
    let start = &[
        ("test.sh", "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\n./run_all.sh\npython check.py\n"),
        (
            "run_all.sh",
            "for t in cases/*.sh; do sh \"$t\"; done\nsh deep/a.sh\n. \"$(dirname \"$0\")/lib.sh\"\n",
        ),
        ("check.py", "import subprocess\nsubprocess.run(['sh', 'inner.sh'])\nopen('app.py')\n"),
        ("deep/a.sh", "sh \"$HERE/b.sh\"\n"),
        ("deep/b.sh", "true\n"),
        ("inner.sh", "true\n"),
        ("lib.sh", "true\n"),
        ("cases/a.sh", "true\n"),
        ("app.py", "print(1)\n"),
    ];
    for path in ["run_all.sh", "check.py", "deep/a.sh", "deep/b.sh", "inner.sh", "lib.sh", "cases/a.sh"] {
        check("./test.sh", start, &[(path, "changed")], &format!("{path} (changed)"));
    }
    check("./test.sh", start, &[("app.py", "changed")], "");
    // Scripts that call each other end.
    check("sh a.sh", &[("a.sh", "sh b.sh"), ("b.sh", "sh a.sh")], &[("b.sh", "")], "b.sh (changed)");
    // A link is a text with the path it leads to.
    check(
        "ci/t.sh",
        &[("ci/t.sh", "../tools/t.sh"), ("tools/t.sh", "x")],
        &[("tools/t.sh", "y")],
        "tools/t.sh (changed)",
    );
}

#[test]
fn what_make_and_just_run_is_a_gate() {
    let make = &[
        (
            "Makefile",
            "D = ci\ntest: lint\n\t@sh $(D)/t.sh\n\t$(MAKE) -C sub all\nlint:\n\t./l\nrun:\n\t./app.sh\ninclude more.inc\n",
        ),
        ("sub/Makefile", "all:\n\tpython3 verify.py\n"),
        ("ci/t.sh", ""),
        ("l", ""),
        ("app.sh", ""),
        ("sub/verify.py", ""),
        ("more.inc", ""),
    ];
    for path in ["Makefile", "ci/t.sh", "l", "sub/Makefile", "sub/verify.py", "more.inc"] {
        check("make test", make, &[(path, "x")], &format!("{path} (changed)"));
    }
    check("make test", make, &[("app.sh", "x")], "");
    check("make run", make, &[("app.sh", "x")], "app.sh (changed)");
    check("make -C sub", make, &[("sub/verify.py", "x")], "sub/verify.py (changed)");
    check(
        "make -f rules.txt test",
        &[("rules.txt", "test:\n\ttrue")],
        &[("rules.txt", "")],
        "rules.txt (changed)",
    );
    check("make --file=rules.txt", &[("rules.txt", "")], &[("rules.txt", "x")], "rules.txt (changed)");
    for path in ["GNUmakefile", "makefile", "gnumakefile", "sub/GNUmakefile"] {
        check("make test", make, &[(path, "test:\n\ttrue")], &format!("{path} (new configuration)"));
    }
    check("make test", make, &[("Makefile", GONE)], "Makefile (deleted)");
    let tox = &[("tox.ini", "[testenv]\ncommands = bash ci/unit.sh {posargs}"), ("ci/unit.sh", "")];
    check("tox -e py3", tox, &[("ci/unit.sh", "x")], "ci/unit.sh (changed)");
    let task = &[("Taskfile.yml", "tasks:\n  t:\n    cmds: [./verify.py]"), ("verify.py", "")];
    check("task t", task, &[("verify.py", "x")], "verify.py (changed)");
    let just = &[("justfile", "test: build\n    ./t.sh\nbuild:\n    ./b.sh\n"), ("t.sh", ""), ("b.sh", "")];
    check("just test", just, &[("b.sh", "x")], "b.sh (changed)");
    check("just test", just, &[("justfile", "test:\n")], "justfile (changed)");
}

#[test]
fn code_that_is_judged_by_another_program_is_the_work() {
    let start = &[
        ("app.py", "1"),
        ("check.py", "1"),
        ("expected.txt", "1"),
        ("deploy.sh", "1"),
        ("schema.json", "{}"),
    ];
    let app = &[("app.py", "2")];
    for command in [
        "python app.py | grep -q ok",
        "test \"$(python app.py)\" = ok",
        "python app.py | sort | diff - expected.txt",
        "diff <(python app.py) expected.txt",
        "ruff check app.py",
        "python -m py_compile app.py",
        "python -m doctest app.py",
        "test -f app.py && grep -q x app.py",
        "python check.py app.py",
        "pytest && mypy app.py",
        "cat app.py | wc -l",
    ] {
        check(command, start, app, "");
    }
    for command in ["python app.py", "uv run python3 app.py --self-test", "python3 -u app.py > log"] {
        check(command, start, app, "app.py (changed)");
    }
    check("python hello.py", start, &[("hello.py", "print(1)")], "");
    check("test -f hello.txt", start, &[("hello.txt", "")], "");
    check("grep -q x deploy.sh", start, &[("deploy.sh", "2")], "");
    check("shellcheck deploy.sh", start, &[("deploy.sh", "2")], "");
    check("python app.py | diff - expected.txt", start, &[("expected.txt", "2")], "expected.txt (changed)");
    check("diff <(./app) expected.txt", start, &[("expected.txt", "2")], "expected.txt (changed)");
    check("python check.py app.py", start, &[("check.py", "2")], "check.py (changed)");
    check("python verify.py", start, &[("verify.py", "2")], "verify.py (new)");
    check("python check.py | grep -q PASS", start, &[("check.py", "2")], "check.py (changed)");
    check("$PYTHON check.py", start, &[("check.py", "2")], "check.py (changed)");
    check("ajv validate -s schema.json", start, &[("schema.json", "2")], "schema.json (changed)");
    check("tool --config=rules.x", start, &[("rules.x", "2")], "rules.x (new)");
    check("python -m pytest", start, &[("pytest/__init__.py", "x")], "pytest/__init__.py (new)");
    check("python -m mypy app.py", start, &[("mypy.py", "x")], "mypy.py (new)");
    check("python -m app", start, &[("app/__main__.py", "x")], "");
    check("PATH=bin:$PATH make", start, &[("bin/cc", "x")], "bin/cc (new)");
    check("export PATH=\"$PWD/bin:$PATH\"; x", start, &[("bin/x", "y")], "bin/x (new)");
    check("RULES=schema.json ./t", start, &[("schema.json", "2")], "schema.json (changed)");
    check(
        "python -m tools.gate",
        &[("tools/gate.py", "")],
        &[("tools/gate.py", "x")],
        "tools/gate.py (changed)",
    );
}

#[test]
fn what_a_test_runner_is_given_are_tests() {
    let start = &[("checks/login.py", "1"), ("src/app.py", "1"), ("ci/p.ini", "1"), ("a.mjs", "1")];
    check("pytest checks/login.py::test_a", start, &[("checks/login.py", "2")], "checks/login.py (changed)");
    check("python -m pytest -q checks", start, &[("checks/login.py", "2")], "checks/login.py (changed)");
    check("pytest -c ci/p.ini checks", start, &[("ci/p.ini", "2")], "ci/p.ini (changed)");
    check("pytest src", start, &[("src/app.py", "2")], "");
    check("coverage run -m pytest checks", start, &[("checks/login.py", "2")], "checks/login.py (changed)");
    check("node --test a.mjs", start, &[("a.mjs", "2")], "a.mjs (changed)");
    check("npx vitest run --config ci/v.ts", start, &[("ci/v.ts", "2")], "ci/v.ts (new)");
    check("go test ./...", start, &[("pkg/a.go", "2")], "");
    check("cargo test --locked", start, &[("src/main.rs", "2"), ("src/app.py", "2")], "");
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
fn package_json_counts_by_the_keys_that_decide() {
    let start = r#"{"name":"a","version":"1.0.0","scripts":{"test":"npm run unit","unit":"node run.js","dev":"vite"},"dependencies":{"x":"1"},"devDependencies":{"jest":"29"},"jest":{"bail":true},"workspaces":["a","b"]}"#;
    let files = &[("package.json", start), ("run.js", "")];
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(start.contains(from), "{from}");
        check("npm test", files, &[("package.json", &start.replace(from, to))], expected);
    };
    for (from, to) in [
        (r#""x":"1""#, r#""x":"2","y":"^3""#),
        (r#""version":"1.0.0""#, r#""version":"1.1.0","description":"d""#),
        (r#""jest":"29""#, r#""jest":"30""#),
        (r#""dev":"vite""#, r#""dev":"vite --host","extra":"echo""#),
        (r#""dev":"vite""#, r#""dev":"vite","prelint":"x""#),
        (r#"["a","b"]"#, r#"["a","b","c"]"#),
        (r#""name":"a""#, r#""name":"a","type":"module","exports":{"import":"./a.mjs","default":"./a.cjs"}"#),
        (r#""x":"1""#, r#""x":"1","local":"file:../local""#),
        (r#"{"name":"a""#, "{\n  \"name\": \"a\""),
    ] {
        edit(from, to, "");
    }
    for (from, to, keys) in [
        (r#""test":"npm run unit""#, r#""test":"true""#, "scripts.test"),
        (r#""unit":"node run.js""#, r#""unit":"true""#, "scripts.unit"),
        (r#""dev":"vite""#, r#""dev":"vite","pretest":"x""#, "scripts.pretest"),
        (r#""dev":"vite""#, r#""dev":"vite","posttest":"x""#, "scripts.posttest"),
        (r#""dev":"vite""#, r#""dev":"vite","preunit":"x""#, "scripts.preunit"),
        (r#""dev":"vite""#, r#""dev":"vite","postinstall":"x""#, "scripts.postinstall"),
        (r#""test":"npm run unit","#, "", "scripts.test"),
        (r#"{"bail":true}"#, r#"{"bail":true,"testPathIgnorePatterns":["."]}"#, "jest"),
        (r#""jest":{"bail":true}"#, r#""jest":{"bail":true},"mocha":{"require":"x"}"#, "mocha"),
        (r#""name":"a""#, r#""name":"a","eslintConfig":{}"#, "eslintConfig"),
        (r#""name":"a""#, r#""name":"a","overrides":{"jest":"npm:fake@1"}"#, "overrides"),
        (r#""name":"a""#, r#""name":"a","config":{"x":1}"#, "config"),
        (r#"["a","b"]"#, r#"["a"]"#, "workspaces"),
        (r#"["a","b"]"#, r#"["a","b","!b"]"#, "workspaces"),
        (r#""jest":"29""#, r#""jest":"file:./fake""#, "devDependencies.jest"),
        (r#""x":"1""#, r#""x":"npm:other@1""#, "dependencies.x"),
        (r#""x":"1""#, r#""x":"1","mocha":"file:./m""#, "dependencies.mocha"),
        (
            r#""scripts":{"test":"npm run unit","unit":"node run.js","dev":"vite"}"#,
            r#""scripts":"x""#,
            "scripts",
        ),
    ] {
        edit(from, to, &format!("package.json (changed: {keys})"));
    }
    check("npm test", files, &[("package.json", "{")], "package.json (changed)");
    check("npm test", files, &[("package.json", GONE)], "package.json (deleted)");
    check("npm test", files, &[("run.js", "x")], "run.js (changed)");
    check(
        "npm test",
        &[],
        &[("package.json", start)],
        "package.json (new configuration: jest, scripts.test)",
    );
    check("npm test", files, &[("packages/new/package.json", r#"{"name":"n","scripts":{"test":"x"}}"#)], "");
    check(
        "pnpm -r test",
        &[("p/package.json", start)],
        &[("p/package.json", &start.replace("npm run unit", "true"))],
        "p/package.json (changed: scripts.test)",
    );
    check(
        "npm --prefix p run unit",
        &[("p/package.json", start), ("p/run.js", "")],
        &[("p/run.js", "x")],
        "p/run.js (changed)",
    );
    check(
        "yarn unit",
        &[("package.json", start)],
        &[("package.json", &start.replace("node run.js", "true"))],
        "package.json (changed: scripts.unit)",
    );
    check(
        "run-s lint:*",
        &[("package.json", r#"{"scripts":{"lint:a":"x"}}"#)],
        &[("package.json", r#"{"scripts":{"lint:a":"y"}}"#)],
        "package.json (changed: scripts.lint:a)",
    );
}

#[test]
fn cargo_toml_counts_by_the_keys_that_decide() {
    let start = "[package]\nname = \"a\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[dependencies]\nserde = \"1\"\n\n\
                 [features]\ndefault = []\n\n[lints.clippy]\nunwrap_used = \"deny\"\n\n[workspace]\nmembers = [\"x\", \"y\"]\n";
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(start.contains(from), "{from}");
        check("cargo test", &[("Cargo.toml", start)], &[("Cargo.toml", &start.replace(from, to))], expected);
    };
    for (from, to) in [
        ("serde = \"1\"", "serde = { version = \"1.1\", features = [\"derive\"] }\ntoml = \"1\""),
        ("version = \"1.0.0\"", "version = \"1.1.0\"\ndescription = \"d\""),
        ("default = []", "default = [\"x\"]\nx = []"),
        ("[workspace]", "[dev-dependencies]\ninsta = \"1\"\n[workspace]"),
        ("[workspace]", "[[bin]]\nname = \"b\"\npath = \"src/b.rs\"\n[workspace]"),
        ("[workspace]", "[lib]\nname = \"l\"\npath = \"src/l.rs\"\n[workspace]"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\", \"z\"]"),
        ("[workspace]", "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"\n[workspace]"),
        ("serde = \"1\"", "serde = \"1\" # a comment\nnew = { path = \"new\" }"),
    ] {
        edit(from, to, "");
    }
    for (from, to, keys) in [
        ("\"deny\"", "\"allow\"", "lints"),
        ("edition = \"2024\"", "edition = \"2024\"\nautotests = false", "package.autotests"),
        ("edition = \"2024\"", "edition = \"2024\"\nbuild = \"b.rs\"", "package.build"),
        ("[workspace]", "[lib]\ntest = false\n[workspace]", "lib.test"),
        ("[workspace]", "[lib]\ndoctest = false\n[workspace]", "lib.doctest"),
        ("[workspace]", "[ \"lib\" ]\n\"test\" = false\n[workspace]", "lib.test"),
        ("[package]", "lib.test = false\n[package]", "lib.test"),
        ("[package]", "lib = { test = false }\n[package]", "lib.test"),
        ("[workspace]", "[[test]]\nname = \"a\"\nharness = false\n[workspace]", "test"),
        ("[workspace]", "[[bin]]\nname = \"a\"\ntest = false\n[workspace]", "bin"),
        ("[workspace]", "[profile.test]\noverflow-checks = false\n[workspace]", "profile"),
        ("[workspace]", "[patch.crates-io]\nserde = { path = \"s\" }\n[workspace]", "patch"),
        ("serde = \"1\"", "serde = { path = \"fake\" }", "dependencies.serde"),
        ("[\"x\", \"y\"]", "[\"x\"]", "workspace.members"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\"]\nexclude = [\"x\"]", "workspace.exclude"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\"]\ndefault-members = [\"x\"]", "workspace.default-members"),
        ("[\"x\", \"y\"]", "[\"x\", \"y\"]\n[workspace.lints.rust]\nx = \"allow\"", "workspace.lints"),
    ] {
        edit(from, to, &format!("Cargo.toml (changed: {keys})"));
    }
    edit("[workspace]", "[workspace", "Cargo.toml (changed)");
    check(
        "cargo test",
        &[],
        &[("crates/n/Cargo.toml", "[package]\nname = \"n\"\n[dependencies]\nx = \"1\"\n")],
        "",
    );
    check(
        "cargo test",
        &[],
        &[("n/Cargo.toml", "[lib]\ntest = false\n")],
        "n/Cargo.toml (new configuration: lib.test)",
    );
}

#[test]
fn pyproject_go_mod_and_others_count_by_the_keys_that_decide() {
    let start = "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"x\"]\n[tool.pytest.ini_options]\naddopts = \"-q\"\n[tool.poetry.dependencies]\ny = \"1\"\n";
    let edit = |from: &str, to: &str, expected: &str| {
        assert!(start.contains(from), "{from}");
        check(
            "pytest",
            &[("pyproject.toml", start)],
            &[("pyproject.toml", &start.replace(from, to))],
            expected,
        );
    };
    edit("[\"x\"]", "[\"x\", \"z>=2\"]", "");
    edit("version = \"1\"", "version = \"2\"\ndescription = \"d\"", "");
    edit("y = \"1\"", "y = \"2\"\nz = \"1\"", "");
    edit(
        "[tool.poetry.dependencies]",
        "[dependency-groups]\ndev = [\"pytest\"]\n[tool.poetry.dependencies]",
        "",
    );
    edit("\"-q\"", "\"-q --ignore=tests\"", "pyproject.toml (changed: tool.pytest)");
    edit(
        "[tool.poetry.dependencies]",
        "[tool.ruff]\nexclude = [\"src\"]\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: tool.ruff)",
    );
    edit(
        "[tool.poetry.dependencies]",
        "[tool.coverage.report]\nfail_under = 0\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: tool.coverage)",
    );
    edit(
        "[tool.pytest.ini_options]",
        "[project.entry-points.pytest11]\nx = \"p\"\n[tool.pytest.ini_options]",
        "pyproject.toml (changed: project.entry-points.pytest11)",
    );
    edit(
        "[tool.poetry.dependencies]",
        "[build-system]\nrequires = []\nbackend-path = [\".\"]\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: build-system.backend-path)",
    );
    edit(
        "[tool.poetry.dependencies]",
        "[tool.uv.sources]\npytest = { path = \"fake\" }\n[tool.poetry.dependencies]",
        "pyproject.toml (changed: tool.uv.sources.pytest)",
    );
    check(
        "pytest",
        &[],
        &[("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--co\"\n")],
        "pyproject.toml (new configuration: tool.pytest)",
    );
    check("pytest", &[], &[("pyproject.toml", "[project]\nname = \"a\"\n")], "");

    let go = "module a\n\ngo 1.24\n\nrequire (\n\tx v1.0.0\n\ty v1.0.0 // indirect\n)\n";
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &go.replace("x v1.0.0", "x v1.1.0\n\tz v1.0.0"))],
        "",
    );
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &format!("{go}replace x => ./fake\n"))],
        "go.mod (changed: replace)",
    );
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &format!("{go}replace(\n\tx => ./fake\n)\n"))],
        "go.mod (changed: replace)",
    );
    check(
        "go test ./...",
        &[("go.mod", go)],
        &[("go.mod", &format!("{go}toolchain go1.1\n"))],
        "go.mod (changed: toolchain)",
    );
    let deno = r#"{"tasks":{"test":"deno test"},"imports":{"a":"jsr:a@1"}}"#;
    check(
        "deno task test",
        &[("deno.json", deno)],
        &[("deno.json", &deno.replace("deno test", "true"))],
        "deno.json (changed: tasks)",
    );
    check("deno task test", &[("deno.json", deno)], &[("deno.json", &deno.replace("a@1", "a@2"))], "");
    check(
        "deno test",
        &[("deno.json", deno)],
        &[("deno.json", &deno.replace("jsr:a@1", "./fake.ts"))],
        "deno.json (changed: imports.a)",
    );
    let composer = r#"{"require":{"a/b":"^1"},"scripts":{"test":"phpunit"}}"#;
    check(
        "composer test",
        &[("composer.json", composer)],
        &[("composer.json", &composer.replace("^1", "^2"))],
        "",
    );
    check(
        "composer test",
        &[("composer.json", composer)],
        &[("composer.json", &composer.replace("phpunit", "true"))],
        "composer.json (changed: scripts)",
    );
}

#[test]
fn a_restored_manifest_keeps_what_was_honestly_added() {
    let start = r#"{"name":"a","scripts":{"test":"jest","dev":"x"},"dependencies":{"x":"1"}}"#;
    let delivered = r#"{"name":"a","exports":{"import":"./a.mjs","default":"./a.js"},"scripts":{"dev":"y","test":"true","new":"z"},"dependencies":{"x":"1","y":"2"}}"#;
    let trees = Trees::new(&[("package.json", start)], &[("package.json", delivered)]);
    let restored = &trees.restored(&trees.gates(&["npm test"], &[]))["package.json"];
    let text: String = restored.split_whitespace().collect();
    assert_eq!(text, delivered.replace("\"true\"", "\"jest\""), "with the order of keys");

    let start = "[package]\nname = \"a\"\n[lints.rust]\nx = \"deny\"\n[dependencies]\nx = \"1\"\n";
    let delivered = "[package]\nname = \"a\"\nautotests = false\n[dependencies]\nx = \"1\"\ny = { version = \"2\", features = [\"f\"] }\n";
    let trees = Trees::new(&[("Cargo.toml", start)], &[("Cargo.toml", delivered)]);
    let restored = &trees.restored(&trees.gates(&["cargo test"], &[]))["Cargo.toml"];
    let restored: toml::Table = toml::from_str(restored).unwrap();
    let expected = "[package]\nname = \"a\"\n[lints.rust]\nx = \"deny\"\n[dependencies]\nx = \"1\"\ny = { version = \"2\", features = [\"f\"] }\n";
    assert_eq!(restored, toml::from_str::<toml::Table>(expected).unwrap());

    let start = "module a\nreplace z => ../z\n";
    let delivered = "module a\nrequire (\n\ty v2.0.0\n)\nreplace x => ./fake\n";
    let trees = Trees::new(&[("go.mod", start)], &[("go.mod", delivered)]);
    let restored = &trees.restored(&trees.gates(&["go test"], &[]))["go.mod"];
    assert_eq!(restored, "module a\nrequire y v2.0.0\nreplace z => ../z\n");
}

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
fn a_pin_makes_any_file_a_gate() {
    let trees = Trees::new(
        &[("src/rules.txt", "1"), ("golden.txt", "1")],
        &[("src/rules.txt", "2"), ("src/new.txt", "1"), ("golden.txt", "2")],
    );
    let gates = trees.gates(&["true"], &["src/*.txt"]);
    assert_eq!(in_one_line(&trees.changes(&gates), 9), "src/new.txt (new), src/rules.txt (changed)");
    kind(&["true"], &[], "src/rules.txt", None);
}

#[test]
fn a_gate_has_a_kind() {
    use GateKind::{Check, Config, Manifest, Test};
    kind(&["./test.sh"], &[], "test.sh", Some(Check));
    kind(&["make test"], &[], "Makefile", Some(Check));
    kind(&["cargo test"], &[], "Makefile", Some(Config));
    kind(&["cargo test"], &[], "crates/a/Cargo.toml", Some(Manifest));
    kind(&["jq -e . package.json"], &[], "package.json", Some(Manifest));
    kind(&["sh tests/run.sh"], &[], "tests/run.sh", Some(Check));
    kind(&["sh tests/run.sh"], &[], "tests/a.sh", Some(Test));
    kind(&["sh ../outside.sh"], &[], "outside.sh", None);
    kind(&["/usr/bin/test.sh"], &[], "usr/bin/test.sh", None);
    kind(&[], &[], "src/lib.rs", None);
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
