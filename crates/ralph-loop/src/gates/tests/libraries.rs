//! Shell files that a test script reads into its own shell.

use super::{Trees, check};
use crate::gates::{Side, in_one_line};

const LIB: &str = "mul() {\n    echo 0\n}\n";
const FIXED: &str = "mul() {\n    echo $(($1 * $2))\n}\n";

/// What is said about a delivery, with code that acts on tests.
#[track_caller]
fn acts(test: &str, before: &str, after: &str, expected: &str) {
    let trees = Trees::new(&[("test.sh", test), ("lib.sh", before)], &[("lib.sh", after)]);
    let gates = trees.gates(&["./test.sh"], &[]);
    let changes = trees.changes(&gates);
    assert_eq!(in_one_line(&changes, 20), "", "{test:?}");
    let acting = gates.acting_on_tests(&trees.differences(), &|side, path| trees.read(side, path));
    assert_eq!(in_one_line(&acting, 20), expected, "{after:?}");
}

#[test]
fn a_library_whose_output_is_judged_is_the_work() {
    for test in [
        ". ./lib.sh\ntest \"$(mul 3 4)\" = 12\n",
        "#!/bin/sh\nset -e\ncd \"$(dirname \"$0\")\"\nsource lib.sh\n[ \"$(mul 3 4)\" = 12 ] || exit 1\n",
        ". \"$(dirname \"$0\")/lib.sh\"\nout=$(mul 3 4)\ntest \"$out\" = 12\n",
        ". ./lib.sh\nmul 3 4 | grep -qx 12\n",
        ". ./lib.sh\nmul 3 4 > out.txt && grep -qx 12 out.txt\n",
        ". ./lib.sh\nif mul 3 4; then echo ok; else exit 1; fi\n",
        "same() { [ \"$1\" = \"$2\" ] || exit 1; }\n. ./lib.sh\nsame \"$(mul 3 4)\" 12\n",
        ". ./lib.sh\nwhile read -r a b c; do test \"$(mul \"$a\" \"$b\")\" = \"$c\" || exit 1; done < cases\n",
    ] {
        acts(test, LIB, FIXED, "");
    }
    // It reads another one.
    let start = &[
        ("test.sh", ". ./lib.sh\ntest \"$(mul 3 4)\" = 12\n"),
        ("lib.sh", ". ./math.sh\nmul() { product \"$1\" \"$2\"; }\n"),
        ("math.sh", "product() { sh times.sh; }\n"),
        ("times.sh", "echo 0\n"),
    ];
    for path in ["lib.sh", "math.sh", "times.sh"] {
        check("./test.sh", start, &[(path, "changed")], "");
    }
}

#[test]
fn a_library_that_judges_is_a_gate() {
    for test in [
        // A check that reads it by itself has it as a part.
        "",
        ". ./lib.sh\nmul\n",
        ". ./lib.sh\nout=$(sh app.sh)\nmul \"$out\" 12\n",
        ". ./lib.sh\nmul \"$(sh app.sh)\" 12\n",
        ". ./lib.sh\nmul ./app 3 4\n",
        ". ./lib.sh\nmul make test\n",
        ". ./lib.sh\nother() { true; }\nmul other\n",
        // Nothing of it is called, or its name is taken.
        ". ./lib.sh\n$COMMAND\n",
        ". ./lib.sh\nmul() { true; }\ntest \"$(mul 3 4)\" = 12\n",
    ] {
        let start = &[("test.sh", test), ("lib.sh", LIB), ("app", ""), ("app.sh", "")];
        let command = if test.is_empty() { ". ./lib.sh && test \"$(mul 3 4)\" = 12" } else { "./test.sh" };
        check(command, start, &[("lib.sh", FIXED)], "lib.sh (changed)");
    }
    let lib = "assert_is() { :; }\nmul() { :; }\n";
    let start = &[("test.sh", ". ./lib.sh\nassert_is 1\ntest \"$(mul 3 4)\" = 12\n"), ("lib.sh", lib)];
    check("./test.sh", start, &[("lib.sh", FIXED)], "lib.sh (changed)");
    for path in ["tests/lib.sh", "ci/common.sh", "check_lib.sh", "lib.env"] {
        let test = format!(". ./{path}\ntest \"$(mul 3 4)\" = 12\n");
        check("./t.sh", &[("t.sh", &test), (path, LIB)], &[(path, FIXED)], &format!("{path} (changed)"));
    }
    // Something else decides by its exit code.
    let start = &[("test.sh", ". ./lib.sh\ntest \"$(mul 3 4)\" = 12\nsh lib.sh\n"), ("lib.sh", LIB)];
    check("./test.sh", start, &[("lib.sh", FIXED)], "lib.sh (changed)");
}

#[test]
fn a_library_that_begins_to_act_on_its_tests_is_noticed() {
    let contained =
        ". ./lib.sh\nfailed=0\ntest \"$(mul 3 4)\" = 12 || failed=1\njson -e \"$x\"\nexit $failed\n";
    let exposed = ". ./lib.sh\nfailed=0\nmul 3 4 > out\ntest \"$(cat out)\" = 12 || failed=1\nexit $failed\n";
    for (line, details) in [
        ("exit 0", "exit 0"),
        ("exit", "exit"),
        ("[ -t 1 ] || exit 0", "exit 0"),
        ("exec true", "exec true"),
        ("trap 'exit 0' EXIT", "trap exit 0"),
        ("set +e", "set +e"),
        ("set -n", "set -n"),
        ("alias test=true", "alias test=true"),
        ("eval \"$x\"", "eval $"),
        (". ./more.sh", ". ./more.sh"),
        ("test() { :; }", "test()"),
        ("function [ { true; }", "[()"),
        ("cat() { echo 12; }", "cat()"),
        ("$(echo exit) 0", "$ 0"),
        ("failed=0", "failed="),
        ("readonly failed=0", "failed="),
        ("PATH=bin:$PATH", "PATH="),
    ] {
        let expected = format!("lib.sh (acts on tests: {details})");
        acts(contained, LIB, &format!("{FIXED}{line}\n"), &expected);
        acts(exposed, LIB, &format!("{FIXED}{line}\n"), &expected);
        // Was there before. A function that the test calls with what others print makes it a gate.
        if !details.ends_with("()") {
            acts(contained, &format!("{LIB}{line}\n"), &format!("{FIXED}{line}\n"), "");
        }
    }
    acts(contained, LIB, &format!("{FIXED}json() {{ :; }}\n"), "lib.sh (acts on tests: json())");
    acts(contained, LIB, "#\n", "lib.sh (acts on tests: mul() is gone)");
    let ends = "end() {\n    exit 0\n}\n";
    acts(contained, &format!("{LIB}{ends}"), &format!("{FIXED}{ends}end\n"), "lib.sh (acts on tests: end)");
    // In a process of its own, a function reaches nothing.
    let inside = "mul() {\n    failed=0\n    [ -t 1 ] || exit 0\n}\n";
    acts(contained, LIB, inside, "");
    acts(exposed, LIB, inside, "lib.sh (acts on tests: exit 0, failed=)");
    let oddly = "mul() {\n    echo {\n}\nexit 0\n";
    acts(contained, LIB, oddly, "lib.sh (acts on tests: exit 0)");
    // What honest code does.
    for line in ["exit 1", "set -eu", "add() { :; }", "VERSION=2", "local x=1", "# exit 0", "echo 'exit 0'"] {
        acts(contained, LIB, &format!("{FIXED}{line}\n"), "");
        acts(exposed, LIB, &format!("{FIXED}{line}\n"), "");
    }
}

#[test]
fn a_library_that_cannot_be_read_is_named() {
    let start = &[("test.sh", ". ./lib.sh\ntest \"$(mul 3 4)\" = 12\n"), ("lib.sh", LIB)];
    let trees = Trees::new(start, &[("lib.sh", FIXED)]);
    let gates = trees.gates(&["./test.sh"], &[]);
    let read = |side: Side, path: &str| (side == Side::Start).then(|| trees.read(side, path)).flatten();
    let acting = gates.acting_on_tests(&trees.differences(), &read);
    assert_eq!(in_one_line(&acting, 20), "lib.sh (acts on tests: cannot be read)");
}
