//! The one line of a check's output that names the failure.
//!
//! Test runners and compilers name what failed near the end of their output, and close with totals
//! ("1 failed in 0.12s") and the programs around them ("make: *** Error 1"), which say less.

use crate::text::printable;

const LONGEST: usize = 160;

/// The last line that names a failure and is no closing line; else the last that names one at all;
/// else the last with a word.
pub fn line(output: &str) -> Option<String> {
    let output = printable(output);
    let lines = || {
        let lines = output.lines().rev().map(str::trim);
        lines.filter(|line| line.chars().any(char::is_alphanumeric))
    };
    let mut failures = lines().filter(|line| names_a_failure(line));
    let telling = failures.clone().find(|line| !is_closing(line));
    let line = telling.or_else(|| failures.next()).or_else(|| lines().next())?;
    Some(line.chars().take(LONGEST).collect())
}

fn names_a_failure(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    if is_located(&line) {
        return true;
    }
    // Such a count is of no failure.
    let none = ["0 failed", "0 errors", "0 failures", "0 failing"];
    let counted = none.iter().fold(format!(" {line}"), |line, none| line.replace(&format!(" {none}"), ""));
    ["error", "fail", "panic", "assert", "expected"].iter().any(|word| counted.contains(word))
}

/// Totals, and what the programs around a test runner add to its failure.
fn is_closing(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let bare = line.trim_matches(|c: char| !c.is_alphanumeric());
    let begins = [
        "make:",
        "make[",
        "gmake",
        "npm ",
        "elifecycle",
        "error: could not compile",
        "error: test failed",
        "error: script ",
        "error command failed",
        "for more information about this error",
        "test result:",
        "test suites:",
        "tests:",
        "failed (",
        "some tests failed",
        "note: ",
    ];
    matches!(bare, "fail" | "failed" | "failures" | "errors")
        || bare.starts_with(|c: char| c.is_ascii_digit())
        || is_go_total(bare)
        || begins.iter().any(|begin| bare.starts_with(begin) || line.starts_with(begin))
}

/// Go's line for a package: `FAIL example.com/x 0.003s` with tabs, or `[build failed]` for the time.
fn is_go_total(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("fail\t") else { return false };
    let time = rest.rsplit('\t').next().and_then(|time| time.strip_suffix('s'));
    time.is_some_and(|time| time.parse::<f64>().is_ok())
        || ["[build failed", "[setup failed"].iter().any(|end| rest.ends_with(end))
}

/// `x.go:3:5: undefined: y`: not every compiler calls it an error.
fn is_located(line: &str) -> bool {
    let mut parts = line.splitn(4, ':');
    let (file, line, column) = (parts.next(), parts.next(), parts.next());
    let is_number =
        |part: Option<&str>| part.is_some_and(|n| !n.is_empty() && n.bytes().all(|c| c.is_ascii_digit()));
    let is_file = file.is_some_and(|file| file.contains('.') && !file.contains(char::is_whitespace));
    let says = parts.next().map(str::trim_start).unwrap_or_default();
    let harmless = ["warning", "note", "info"].iter().any(|word| says.starts_with(word));
    is_file && is_number(line) && is_number(column) && !says.is_empty() && !harmless
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &str) {
        assert_eq!(line(output).as_deref(), Some(expected), "{output}");
    }

    #[test]
    fn test_runners_name_what_failed_before_they_count_it() {
        check(
            "collected 2 items\n\nE   assert 1 == 2\n\n=== short test summary info ===\n\
             FAILED tests/x.py::test_y - assert 1 == 2\n=== 1 failed, 1 passed in 0.12s ===\n",
            "FAILED tests/x.py::test_y - assert 1 == 2",
        );
        check(
            "running 1 test\ntest tests::adds ... FAILED\n\nfailures:\n\nthread 'tests::adds' panicked at \
             src/lib.rs:5:9:\n\nfailures:\n    tests::adds\n\ntest result: FAILED. 0 passed; 1 failed\n\n\
             error: test failed, to rerun pass `--lib`\nmake: *** [Makefile:2: test] Error 101\n",
            "thread 'tests::adds' panicked at src/lib.rs:5:9:",
        );
        check("--- FAIL: TestAdd (0.00s)\n    add_test.go:5: got 1\nFAIL\n", "--- FAIL: TestAdd (0.00s)");
        check(
            "=== RUN   TestAdd\n--- FAIL: TestAdd (0.00s)\n    add_test.go:5: got 1\nFAIL\n\
             FAIL\texample.com/x\t0.003s\nok  \texample.com/y\t0.002s\nFAIL\n",
            "--- FAIL: TestAdd (0.00s)",
        );
        check(
            "# example.com/x\n./x.go:3:5: undefined: y\nFAIL\texample.com/x [build failed]\nFAIL\n",
            "./x.go:3:5: undefined: y",
        );
        check(
            "  1) adds\n     AssertionError: 1 is not 2\n\n  1 failing\nnpm error code 1\n",
            "AssertionError: 1 is not 2",
        );
    }

    #[test]
    fn compilers_name_the_error_before_they_give_up() {
        check(
            "error[E0308]: mismatched types\n --> src/a.rs:2:5\nerror: could not compile `a` (lib) due to 1 \
             previous error\n",
            "error[E0308]: mismatched types",
        );
        check("a.c:3:5: error: x\na.c:4:5: warning: y\na.c:4:5: note: z\n", "a.c:3:5: error: x");
    }

    #[test]
    fn the_end_counts_and_not_the_beginning() {
        check("error handling: ok\nall assertions compiled\n0 errors\nFAILED b\n", "FAILED b");
        check("warning: 0 errors so far\nwent wrong here\n\n---\n\n", "went wrong here");
        check("1 failed\n", "1 failed");
        check("\u{1b}[31mFAILED\u{1b}[0m a\n", "FAILED a");
        assert_eq!(line("\n---\n"), None);
    }
}
