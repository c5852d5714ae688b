//! Small projects of several languages, built and tested in a sandbox with the toolchains and
//! package caches of the user who runs these tests.

use crate::support::*;
use std::io::{self, Write};
use std::process::Command;

/// A command in the project with everything that the user has, but for ralph's home.
fn as_user(sandbox: &Sandbox, program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(sandbox.project()).env("RALPH_HOME", sandbox.home());
    command.env_remove("CARGO_TARGET_DIR").env_remove("RUSTFLAGS");
    command
}

fn inside(sandbox: &Sandbox, script: &str) -> Ran {
    let mut command = as_user(sandbox, RALPH);
    command.args(["sandbox", "shell", "--sandbox", "bwrap", "--", "sh", "-ec", script]);
    sandbox.spawn(command).end()
}

/// Whether a program is there to test with.
fn has(sandbox: &Sandbox, program: &str) -> bool {
    let mut command = as_user(sandbox, "sh");
    command.args(["-c", &format!("{program} > /dev/null 2>&1")]);
    let found = command.status().unwrap().success();
    if !found {
        skipped(&format!("{program} does not work here"));
    }
    found
}

/// Says so in the output of the tests.
fn skipped(why: &str) {
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

/// Installs something inside. What does not work there has to work outside to be a failure.
#[track_caller]
fn installs(sandbox: &Sandbox, script: &str) -> bool {
    let ran = inside(sandbox, script);
    if ran.code == Some(0) {
        return true;
    }
    let mut command = as_user(sandbox, "sh");
    command.args(["-ec", script]);
    let outside = sandbox.spawn(command).end();
    assert_ne!(outside.code, Some(0), "it works outside, but not inside: {}{}", ran.stdout, ran.stderr);
    skipped("the registry cannot be reached");
    false
}

#[test]
fn a_rust_project_builds_and_tests_inside_also_with_a_new_dependency() {
    let sandbox = Sandbox::git();
    if !has(&sandbox, "cargo --version") {
        return;
    }
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    sandbox.write("Cargo.toml", manifest);
    sandbox.write("src/lib.rs", "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n");
    inside(&sandbox, "cargo test --offline").exits(0).says("1 passed");
    // Twice: what the first has downloaded is there for the second.
    if installs(&sandbox, "cargo add itoa@1 && cargo fetch") {
        let test = "#[test]\nfn formats() {\n    assert_eq!(itoa::Buffer::new().format(7), \"7\");\n}\n";
        sandbox.write("src/lib.rs", test);
        inside(&sandbox, "cargo test --offline").exits(0).says("1 passed");
    }
    let commit = "git add -A && git commit -q -m inside && git log -1 --format=%s";
    inside(&sandbox, commit).exits(0).says("inside");
}

#[test]
fn a_run_builds_and_tests_a_rust_project_within_the_limits_that_it_has_by_default() {
    let sandbox = Sandbox::git();
    if !has(&sandbox, "cargo --version") {
        return;
    }
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    sandbox.write("Cargo.toml", manifest);
    sandbox.write(".gitignore", "/target\n/Cargo.lock\n");
    sandbox.write("src/lib.rs", "pub fn two() -> u8 {\n    3\n}\n");
    sandbox.write("tests/two.rs", "#[test]\nfn is_two() {\n    assert_eq!(small::two(), 2);\n}\n");
    sandbox.sh("git add . && git commit -q -m red");
    let agent =
        "cat > /dev/null; cargo test --offline; sed -i s/3/2/ src/lib.rs; echo '<response>DONE</response>'";
    let mut command = as_user(&sandbox, RALPH);
    command.args(["run", "-p", "x", "-n", "1", "--sandbox=bwrap", "--check", "cargo test --offline"]);
    command.args(["--", "sh", "-c", agent]);
    let ran = sandbox.spawn(command).end().exits(0);
    ran.says("proven: `cargo test --offline` was red and is green");
}

#[test]
fn a_node_project_tests_inside_also_with_a_new_dependency() {
    let sandbox = Sandbox::git();
    if !has(&sandbox, "npm --version") || !has(&sandbox, "node --version") {
        return;
    }
    let manifest = r#"{"name": "small", "version": "1.0.0", "scripts": {"test": "node --test"}}"#;
    sandbox.write("package.json", manifest);
    let test = |module: &str| {
        format!(
            "const test = require('node:test');\nconst used = require('{module}');\ntest('works', () => {{ if (!used) throw 1; }});\n"
        )
    };
    sandbox.write("small.test.js", test("node:fs"));
    inside(&sandbox, "npm test").exits(0).says("pass 1");
    if installs(&sandbox, "npm install is-number@7 && rm -r node_modules") {
        sandbox.write("small.test.js", test("is-number"));
        inside(&sandbox, "npm ci && npm test").exits(0).says("pass 1");
    }
}

#[test]
fn a_python_project_tests_inside_also_with_a_new_dependency() {
    let sandbox = Sandbox::git();
    if !has(&sandbox, "python3 -c 'import venv, ensurepip'") {
        return;
    }
    sandbox.write("pyproject.toml", "[project]\nname = \"small\"\nversion = \"0.1\"\n");
    let test = |module: &str| {
        format!(
            "import unittest\nimport {module}\n\nclass Small(unittest.TestCase):\n    def test_works(self):\n        self.assertTrue({module})\n"
        )
    };
    sandbox.write("test_small.py", test("json"));
    inside(&sandbox, "python3 -m venv .venv && .venv/bin/python -m unittest").exits(0).says("OK");
    if installs(&sandbox, ".venv/bin/python -m pip install --disable-pip-version-check iniconfig") {
        sandbox.write("test_small.py", test("iniconfig"));
        inside(&sandbox, ".venv/bin/python -m unittest").exits(0).says("OK");
    }
}
