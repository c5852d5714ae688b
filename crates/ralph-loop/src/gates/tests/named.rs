//! Files that checks name, and those that these name in turn.

use super::{GONE, check, kind};
use crate::gates::GateKind;

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
    for script in ["test", "ci/make", "bin/pytest", "tool/env"] {
        let command = format!("./{script} -x");
        check(&command, &[(script, "exit 1")], &[(script, "exit 0")], &format!("{script} (changed)"));
    }
    check("sh run", test, &[("run", GONE)], "run (deleted)");
    check("./test.sh", &[], &[("test.sh", "exit 0")], "test.sh (new)");
    check("./Test.SH", test, &[("test.sh", "exit 0")], "test.sh (changed)");
    check("./other.sh", test, &[("run", "exit 0")], "");
}

#[test]
fn a_file_whose_text_becomes_a_command_is_a_gate() {
    let start = &[("ci/command", "sh inner.sh"), ("inner.sh", "exit 1"), ("notes.txt", "1")];
    for command in [
        "sh -c \"$(cat ci/command)\"",
        "sh -c \"cd . && $(cat ci/command)\"",
        "sh -c \"$(< ci/command)\"",
        "sh -c \"`cat ci/command`\"",
        "eval \"$(cat ci/command)\"",
        "eval \"$(grep -v '#' ci/command | tail -1)\"",
        "$(cat ci/command)",
        "x=$(cat ci/command); $x",
        "x=$(cat ci/command) && sh -c \"$x\"",
        "for x in $(cat ci/command); do $x; done",
        "while read -r x; do sh -c \"$x\"; done < ci/command",
        ". ci/command",
        ". /dev/stdin < ci/command",
        "sh < ci/command",
        "bash -eux < ci/command 2>&1 | tee log",
        "bash <(cat ci/command)",
        "cat ci/command | sh",
        "cat ci/command | grep -v '#' | bash -s",
        "xargs < ci/command",
        "xargs -n1 make < ci/command",
        "cat ci/command | xargs env",
        "python3 -c \"$(cat ci/command)\"",
        "pytest $(cat ci/command)",
        "env $(cat ci/command) make",
    ] {
        check(command, start, &[("ci/command", "true")], "ci/command (changed)");
    }
    check("eval \"$(cat ci/command)\"", start, &[("inner.sh", "true")], "inner.sh (changed)");
    check("eval \"$(cat ci/new)\"", start, &[("ci/new", "true")], "ci/new (new)");
    for command in [
        "test \"$(cat notes.txt)\" = 1",
        "x=$(cat notes.txt); test \"$x\" = 1",
        "cat notes.txt | grep -q 1",
        "cat notes.txt | python3 app.py",
        "./app < notes.txt",
        "echo $(cat notes.txt)",
    ] {
        check(command, start, &[("notes.txt", "2")], "");
    }
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
    check(
        "python -m unittest discover -s checks",
        start,
        &[("checks/login.py", "2")],
        "checks/login.py (changed)",
    );
    check("pytest src", start, &[("src/app.py", "2")], "");
    check("coverage run -m pytest checks", start, &[("checks/login.py", "2")], "checks/login.py (changed)");
    check(".venv/bin/pytest checks", start, &[("checks/login.py", "2")], "checks/login.py (changed)");
    check("node --test a.mjs", start, &[("a.mjs", "2")], "a.mjs (changed)");
    check("npx vitest run --config ci/v.ts", start, &[("ci/v.ts", "2")], "ci/v.ts (new)");
    check("go test ./...", start, &[("pkg/a.go", "2")], "");
    check("cargo test --locked", start, &[("src/main.rs", "2"), ("src/app.py", "2")], "");
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
fn a_program_whose_output_a_function_of_the_script_compares_is_what_is_checked() {
    let test = "#!/bin/sh\nfailed=0\n\
        check() { [ \"$2\" = \"$3\" ] || { echo \"$1: expected $3, got $2\"; failed=1; }; }\n\
        check 'add 2 3' \"$(sh calc.sh add 2 3)\" 5\nexit $failed\n";
    let calc = "# Sums.\nadd() { echo $(($1 - $2)); }\ndouble() { echo $(($1 * 3)); }\n\"$@\"\n";
    let start = &[("test.sh", test), ("calc.sh", calc)];
    check("./test.sh", start, &[("calc.sh", "add() { echo $(($1 + $2)); }\n\"$@\"\n")], "");
    check("./test.sh", start, &[("test.sh", "true\n")], "test.sh (changed)");
    let sums = "n=$((2 * $(sh count.sh)))\n(( n * 2 ))\nn=$((cd . && ./inner.sh); echo 1)\n";
    let start = &[("test.sh", sums), ("count.sh", "echo 1"), ("inner.sh", "true"), ("app.sh", "true")];
    check("./test.sh", start, &[("app.sh", "false"), ("count.sh", "echo 2")], "");
}
