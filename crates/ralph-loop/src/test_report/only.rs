//! Tests that pass in one place and fail, or do not run, in all others.

use super::report::{Outcome, Suite, TestReport};

/// So many are named.
const NAMED: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassOnly {
    pub tests: u64,
    /// The first of them; fewer where a runner does not name what passed.
    pub named: Vec<String>,
}

/// Compares the report of one place with those of others. Where a check printed nothing of a test
/// runner, none of its tests passed.
pub fn pass_only(here: &TestReport, elsewhere: &[Option<TestReport>]) -> PassOnly {
    let nothing = Suite::default();
    let mut only = PassOnly::default();
    for (runner, suite) in &here.runners {
        let of = |report: &'_ Option<TestReport>| {
            report.as_ref().and_then(|report| report.runners.get(runner)).cloned()
        };
        let others: Vec<Suite> =
            elsewhere.iter().map(|report| of(report).unwrap_or_else(|| nothing.clone())).collect();
        only.add(suite, &others);
    }
    only
}

impl PassOnly {
    fn add(&mut self, here: &Suite, others: &[Suite]) {
        let passed =
            here.tests.iter().filter(|(_, outcome)| **outcome == Outcome::Passed).map(|(name, _)| name);
        let failed = others.first().into_iter().flat_map(|other| &other.tests);
        let failed = failed.filter(|(_, outcome)| **outcome == Outcome::Failed).map(|(name, _)| name);
        // Of a runner that names only failures, what is no longer named has passed, if as many ran.
        let ran = others.iter().all(|other| here.totals.all() >= other.totals.all());
        let unnamed = failed.filter(|name| ran && !here.names_all() && !here.tests.contains_key(*name));
        let loaded = others.first().into_iter().flat_map(|other| other.unloaded.difference(&here.unloaded));
        let mut names: Vec<&String> =
            passed.chain(unnamed).filter(|name| others.iter().all(|other| is_red(other, name))).collect();
        names.extend(loaded.filter(|name| others.iter().all(|other| other.unloaded.contains(*name))));
        let counted = others.iter().map(|other| turned(other, here)).min().unwrap_or(0);
        self.tests += (names.len() as u64).max(if here.names_all() { 0 } else { counted });
        let room = NAMED.saturating_sub(self.named.len());
        self.named.extend(names.into_iter().take(room).cloned());
    }
}

/// Whether a test failed or did not run.
fn is_red(suite: &Suite, name: &str) -> bool {
    match suite.tests.get(name) {
        Some(Outcome::Failed) => true,
        // To skip a test is its own decision.
        Some(Outcome::Passed | Outcome::Skipped) => false,
        None => suite.names_all(),
    }
}

/// By numbers: how many more have passed, no more than failed or did not run before.
fn turned(before: &Suite, now: &Suite) -> u64 {
    let more = now.totals.passed.saturating_sub(before.totals.passed);
    let red = before.totals.failed.saturating_sub(now.totals.failed)
        + now.totals.all().saturating_sub(before.totals.all());
    more.min(red)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_report::read;

    fn libtest(lines: &str) -> Option<TestReport> {
        let tests: Vec<&str> = lines.split(' ').collect();
        let of = |word: &str| tests.iter().filter(|test| test.ends_with(word)).count();
        let mut text = format!("\nrunning {} tests\n", tests.len());
        for test in &tests {
            let (name, outcome) = test.split_once('=').unwrap();
            text += &format!("test {name} ... {outcome}\n");
        }
        text += &format!(
            "\ntest result: FAILED. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            of("ok"),
            of("FAILED"),
            of("ignored")
        );
        read(text.as_bytes())
    }

    #[track_caller]
    fn check(here: Option<TestReport>, elsewhere: &[Option<TestReport>], tests: u64, named: &[&str]) {
        let only = pass_only(&here.unwrap(), elsewhere);
        assert_eq!((only.tests, only.named), (tests, named.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn a_test_counts_if_it_passes_here_and_fails_everywhere_else() {
        let here = || libtest("a=ok b=ok c=FAILED d=ignored");
        check(here(), &[libtest("a=ok b=FAILED c=FAILED d=ignored")], 1, &["b"]);
        check(here(), &[libtest("a=ok b=FAILED c=FAILED d=ok"), libtest("a=ok b=ok c=FAILED d=ok")], 0, &[]);
        check(here(), &[libtest("a=ok b=ignored c=FAILED d=ok")], 0, &[]);
        check(here(), &[libtest("a=ok b=ok c=ok d=ok")], 0, &[]);
    }

    #[test]
    fn a_test_that_did_not_run_elsewhere_counts() {
        let here = || libtest("a=ok b=ok c=FAILED");
        check(here(), &[libtest("a=ok c=FAILED")], 1, &["b"]);
        check(here(), &[None, None], 2, &["a", "b"]);
        check(here(), &[None, libtest("a=ok b=FAILED c=FAILED")], 1, &["b"]);
    }

    #[test]
    fn where_a_runner_names_only_failures_they_are_compared_by_name_and_by_number() {
        let unittest = |dots: &str, failed: &[&str]| {
            let heads = failed.iter().map(|name| {
                format!(
                    "======================================================================\n\
                         FAIL: {name} (t.T.{name})\n\
                         ----------------------------------------------------------------------\n\
                         Traceback (most recent call last):\nAssertionError\n\n"
                )
            });
            let heads: String = heads.collect();
            let rule = "----------------------------------------------------------------------";
            read(
                format!(
                    "{dots}\n{heads}{rule}\nRan {} tests in 0.001s\n\nFAILED (failures={})\n",
                    dots.len(),
                    failed.len()
                )
                .as_bytes(),
            )
        };
        let inside = unittest("F.F", &["test_a", "test_c"]);
        let outside = unittest("..F", &["test_c"]);
        let only = pass_only(&outside.clone().unwrap(), &[inside]);
        assert_eq!(only.tests, 1, "{only:?}");
        assert!(only.named[0].contains("test_a"), "{only:?}");
        check(outside.clone(), &[outside], 0, &[]);
    }

    #[test]
    fn a_file_that_can_be_loaded_only_here_counts() {
        let here = read(b"============================= test session starts ==============================\n\
            collected 2 items\n\ntests/test_a.py .F                                                       [100%]\n\n\
            =========================== short test summary info ============================\n\
            FAILED tests/test_a.py::test_y - assert False\n\
            ========================= 1 failed, 1 passed in 0.01s ==========================\n");
        let elsewhere = read(
            b"============================= test session starts ==============================\n\
            collected 0 items / 1 error\n\n\
            ==================================== ERRORS ====================================\n\
            ______________________ ERROR collecting tests/test_a.py _______________________\n\
            E   FileNotFoundError: [Errno 2] No such file or directory: '/home/u/.foo'\n\
            =========================== short test summary info ============================\n\
            ERROR tests/test_a.py - FileNotFoundError\n\
            !!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n\
            =============================== 1 error in 0.05s ===============================\n",
        );
        let only = pass_only(&here.unwrap(), &[elsewhere]);
        assert!(only.tests >= 1 && only.named.contains(&"tests/test_a.py".to_string()), "{only:?}");
    }
}
