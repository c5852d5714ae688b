//! Marks that keep tests from running, and code in new tests that reaches beyond them.
//!
//! Deliberately absent: whether a mark has an effect. The second run of the checks shows what a
//! change does; here it only gets a name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::code::{self, Language};

const LONGEST: usize = 1024 * 1024;

struct Marks {
    skips: Regex,
    /// Looked for in the text as it is: they are comments or strings.
    raw: Option<Regex>,
    /// What changes other tests than those of its file.
    reaches: Option<Regex>,
}

/// Never matches, should a pattern be wrong; a test compiles all of them.
fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

type Table = Vec<(Language, Option<Marks>)>;

static MARKS: LazyLock<Table> = LazyLock::new(|| {
    let marks = |skips: &str, raw: Option<&str>, reaches: Option<&str>| {
        Some(Marks { skips: regex(skips)?, raw: raw.and_then(regex), reaches: reaches.and_then(regex) })
    };
    vec![
        (
            Language::Python,
            marks(
                r"\bmark\s*\.\s*(?:skip(?:if)?|xfail)\b|\bpytest\s*\.\s*(?:skip|xfail|importorskip)\b|\bunittest\s*\.\s*(?:skip(?:If|Unless)?|expectedFailure|SkipTest)\b|@\s*(?:skip(?:If|Unless)?|expectedFailure)\b|\bskipTest\b|\b__test__\s*=\s*False\b|\bcollect_ignore(?:_glob)?\b|\bimport\s+skip(?:If|Unless)?\b|\bSkipTest\b",
                None,
                Some(
                    r"\bos\s*\.\s*_exit\b|\bsys\s*\.\s*exit\b|\bsys\s*\.\s*modules\b|\bsys\s*\.\s*path\b|\bdef\s+pytest_\w+|\bautouse\s*=\s*True\b|\bos\s*\.\s*kill\b|\batexit\b|\bpytest\s*\.\s*exit\b|\bpytest_plugins\b|\b__import__\b|\bbuiltins\b|\bsetattr\b|\bload_tests\b|\bglobals\s*\(|\bvars\s*\(|\b__dict__\b|\bexec\s*\(|\.\s*start\s*\(\s*\)|(?m)^[ \t]*[A-Za-z_]\w*(?:[ \t]*\.[ \t]*\w+)+[ \t]*=[^=]",
                ),
            ),
        ),
        (
            Language::JavaScript,
            marks(
                r"\b(?:it|test|describe|context|suite|specify|bench|each)\s*\.\s*(?:skip|only|todo|fixme|skipIf|runIf|failing|fails|fail)\b|\b(?:xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\s*(?:\(|\.)|\bthis\s*\.\s*skip\s*\(|\bt\s*\.\s*(?:skip|todo)\b|\b(?:skip|only|todo)\s*:\s*(?:true\b|1\b)|\bDeno\s*\.\s*test\s*\.\s*(?:ignore|only)\b|\bignore\s*:\s*true\b",
                None,
                Some(
                    r"\bprocess\s*\.\s*(?:exit|abort|reallyExit|exitCode|kill)\b|\b(?:globalThis|global)\s*\.\s*\w+\s*=[^=]|\bDeno\s*\.\s*exit\b|\bModule\s*\.\s*_\w+|\brequire\s*\.\s*cache\b|\bprototype\s*\.\s*\w+\s*=[^=]|\bObject\s*\.\s*(?:assign|defineProperty)\b|(?m)^[ \t]*[A-Za-z_$][\w$]*(?:[ \t]*\.[ \t]*[\w$]+)+[ \t]*=[^=>]",
                ),
            ),
        ),
        (
            Language::Rust,
            marks(
                r"#\[\s*ignore\b|#\[\s*cfg_attr\s*\([^\]]*\bignore\b|#!?\[\s*cfg\s*\(\s*(?:any\s*\(\s*\)|false|not\s*\(\s*test)",
                Some(r"(?m)^\s*//[/!]\s*```(?:\w+,)*(?:ignore|no_run|text)\b"),
                Some(r"\bprocess\s*::\s*(?:exit|abort)\b"),
            ),
        ),
        (
            Language::Go,
            marks(
                r"\.\s*Skip(?:f|Now)?\s*\(",
                Some(r"(?m)^//\s*(?:go:build|\+build)\b.*$"),
                Some(
                    r"\bfunc\s+TestMain\b|\bos\s*\.\s*Exit\b|\bfunc\s+init\s*\(|(?m)^var\b.*=.*\(|(?m)^\s*_\s*=|(?m)^\s*[A-Z]\w*\s*=[^=]|(?m)^\s*\w+\s*=\s*func\b|\bsyscall\s*\.\s*(?:Exit|Kill)\b",
                ),
            ),
        ),
        (
            Language::LikeC,
            marks(
                r"@\s*(?:Ignore|Disabled\w*)\b|\[\s*(?:Ignore|Explicit)\b|\bSkip\s*=|\bAssum(?:e|ptions)\s*\.\s*\w+|\benabled\s*=\s*false\b|\bmarkTest(?:Skipped|Incomplete)\b|\bXCTSkip\w*|\.\s*disabled\s*\(|\bGTEST_SKIP\b|\bDISABLED_\w+|\bskip\s*:|\b(?:it|test|describe)\s*\(.*\)\s*->\s*(?:skip|only|todo)\b|\bTEST_IGNORE\w*|\berror\.SkipZigTest\b|\bvm\s*\.\s*skip\b",
                None,
                Some(
                    r"\bSystem\s*\.\s*exit\b|\bRuntime\s*\.\s*getRuntime\b|\bexitProcess\b|\bEnvironment\s*\.\s*Exit\b|\b_?exit\s*\(|\b(?:quick_exit|abort)\s*\(",
                ),
            ),
        ),
        (
            Language::Ruby,
            marks(
                r"\b(?:skip|pending|xit|xdescribe|xcontext|xspecify|xexample|fit|fdescribe|fcontext|omit)\b|\b(?:skip|focus|pending)\s*:|:skip\b|:focus\b",
                None,
                Some(
                    r"\bexit!?\b|\bat_exit\b|\babort\b|\bKernel\b|\bRSpec\s*\.\s*configure\b|\bdefine_method\b",
                ),
            ),
        ),
        (
            Language::Hash,
            marks(
                r"(?m)@(?:module|describe)?tag\s+:?skip\b|\bskip\s*:|(?:^|[;&]|\bthen\b|\|\|)[ \t]*skip\b|\bskip_all\b|\bskip_if\w*|\bskip\s*\(|^\s*@(?:skip|wip|ignore)\b|\bexclude\s*:",
                None,
                Some(r"\bSystem\s*\.\s*halt\b|\bexit\b|\bquit\s*\(|\bos\s*\.\s*exit\b|\bkill\b"),
            ),
        ),
    ]
});

fn marks(path: &str) -> Option<(Language, &'static Marks)> {
    let language = Language::of(path)?;
    let (_, marks) = MARKS.iter().find(|(of, _)| *of == language)?;
    marks.as_ref().map(|marks| (language, marks))
}

/// Marks that the new text has more of than the old one, each once. A file above 1 MiB has none.
pub fn newly_skipped(path: &str, before: &str, after: &str) -> Vec<String> {
    let Some((language, marks)) = marks(path) else { return Vec::new() };
    let counted = |text: &str| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        if text.len() > LONGEST {
            return counts;
        }
        let code = code::blanked(text, language);
        let raw = marks.raw.iter().flat_map(|raw| raw.find_iter(text));
        for found in marks.skips.find_iter(&code).chain(raw) {
            *counts.entry(shown(found.as_str())).or_default() += 1;
        }
        counts
    };
    let old = counted(before);
    let new = counted(after).into_iter();
    new.filter(|(mark, count)| *count > old.get(mark).copied().unwrap_or(0)).map(|(mark, _)| mark).collect()
}

/// What a new test does beyond itself: end the process, replace modules, run hooks around others.
pub fn reaches_beyond(path: &str, text: &str) -> Vec<String> {
    let Some((language, Marks { reaches: Some(reaches), .. })) = marks(path) else { return Vec::new() };
    if text.len() > LONGEST {
        return vec!["too long to read".to_string()];
    }
    let code = code::blanked(text, language);
    let is_own = |found: &&str| {
        // Its own object, and what a module of JavaScript offers.
        ["self", "cls", "this", "exports", "module"].iter().any(|own| {
            let rest = found.trim_start().strip_prefix(own);
            rest.is_some_and(|rest| rest.trim_start().starts_with('.'))
        })
    };
    let found = reaches.find_iter(&code).map(|found| found.as_str()).filter(|found| !is_own(found));
    let mut found: Vec<String> = found.map(shown).collect();
    found.sort();
    found.dedup();
    found
}

/// Whether a new file among the tests can take the place of a module: it is loaded by its name, not
/// collected as a test.
pub(super) fn is_loaded_by_name(path: &str, text: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match Language::of(path) {
        Some(Language::Python) => {
            let is_test =
                stem.starts_with("test_") || stem.ends_with("_test") || matches!(stem, "test" | "tests");
            !is_test && !text.trim().is_empty()
        }
        Some(Language::Ruby) => {
            !(stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_spec"))
        }
        Some(Language::JavaScript) => path.split('/').any(|dir| dir == "__mocks__"),
        Some(Language::Rust | Language::Go | Language::LikeC | Language::Hash) | None => false,
    }
}

/// A mark on one line, without the parenthesis that it was told by.
fn shown(mark: &str) -> String {
    let trimmed = mark.trim().trim_end_matches(['(', '.', ':', '=']).trim_start_matches([';', '&', '|', '.']);
    let words: Vec<&str> = trimmed.split_whitespace().collect();
    words.join(" ").chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, before: &str, after: &str, expected: &[&str]) {
        assert_eq!(newly_skipped(path, before, after), expected, "{path}: {after:?}");
    }

    #[test]
    fn every_pattern_compiles() {
        for (language, marks) in &*MARKS {
            let marks = marks.as_ref().unwrap_or_else(|| panic!("{language:?}"));
            assert!(marks.reaches.is_some(), "{language:?}");
            assert_eq!(marks.raw.is_some(), matches!(language, Language::Rust | Language::Go));
        }
    }

    #[test]
    fn a_new_mark_is_found() {
        check("a.py", "", "@pytest.mark.skip\ndef test_a(): pass", &["mark.skip"]);
        check("a.py", "", "@pytest.mark.skipif(True, reason='x')", &["mark.skipif"]);
        check("a.py", "", "@pytest.mark.xfail", &["mark.xfail"]);
        check("a.py", "", "    pytest.skip('later')", &["pytest.skip"]);
        check("a.py", "", "@unittest.skip('x')", &["unittest.skip"]);
        check("a.py", "", "    self.skipTest('x')", &["skipTest"]);
        check("a.py", "", "    raise SkipTest", &["SkipTest"]);
        check("a.py", "", "__test__ = False", &["__test__ = False"]);
        check("a.test.ts", "it('a', f)", "it.skip('a', f)", &["it.skip"]);
        check("a.test.ts", "", "test.only('a', f)", &["test.only"]);
        check("a.test.ts", "", "describe\n  .skip('a', f)", &["describe .skip"]);
        check("a.test.ts", "", "xit('a', f); fdescribe('b', f)", &["fdescribe", "xit"]);
        check("a.test.ts", "", "test('a', { skip: true }, f)", &["skip: true"]);
        check("a.test.ts", "", "test.todo('a')", &["test.todo"]);
        check("a.rs", "", "#[test]\n#[ignore]\nfn a() {}", &["#[ignore"]);
        check("a.rs", "", "#[ignore = \"slow\"]", &["#[ignore"]);
        check("a.rs", "", "#[cfg_attr(not(x), ignore)]", &["#[cfg_attr(not(x), ignore"]);
        check("a.rs", "", "#![cfg(any())]", &["#![cfg(any()"]);
        check("a.rs", "/// ```\n/// a();\n/// ```", "/// ```ignore\n/// a();\n/// ```", &["/// ```ignore"]);
        check("a_test.go", "", "func TestA(t *testing.T) { t.Skip() }", &["Skip"]);
        check("a_test.go", "package a", "//go:build never\n\npackage a", &["//go:build never"]);
        check("ATest.java", "", "@Disabled @Test void a() {}", &["@Disabled"]);
        check("ATest.php", "", "$this->markTestSkipped();", &["markTestSkipped"]);
        check("a_test.cc", "", "TEST(A, DISABLED_b) { GTEST_SKIP(); }", &["DISABLED_b", "GTEST_SKIP"]);
        check("ATests.cs", "", "[Fact(Skip = \"x\")]", &["Skip"]);
        check("a_spec.rb", "", "xit 'a' do\nend", &["xit"]);
        check("a_spec.rb", "", "it 'a', skip: true do\nend", &["skip"]);
        check("a_test.exs", "", "@tag :skip", &["@tag :skip"]);
        check("a.bats", "", "@test 'a' {\n  skip 'x'\n}", &["skip"]);
    }

    #[test]
    fn what_was_there_before_or_is_no_code_is_no_new_mark() {
        check("a.py", "@pytest.mark.skip", "@pytest.mark.skip\nx = 1", &[]);
        check("a.py", "", "# @pytest.mark.skip\nx = '@pytest.mark.skip'", &[]);
        check("a.test.ts", "", "it('does not skip', f) // it.skip", &[]);
        check("a.test.ts", "", "benefit(1); profit(2); list.only", &[]);
        check("a.rs", "", "// #[ignore]\nlet ignore = \"#[ignore]\";", &[]);
        check("a_test.go", "", "t.Log(\"t.Skip()\")", &[]);
        check("a.md", "", "it.skip(", &[]);
        check("a.py", "@pytest.mark.skip\n@pytest.mark.skip", "@pytest.mark.skip", &[]);
    }

    #[test]
    fn a_new_test_that_acts_on_others_says_how() {
        for (path, text, expected) in [
            ("test_a.py", "import os\nos._exit(0)", &["os._exit"][..]),
            ("test_a.py", "@pytest.fixture(autouse=True)\ndef f(): ...", &["autouse=True"]),
            ("test_a.py", "def pytest_runtest_call(item): ...", &["def pytest_runtest_call"]),
            ("a_test.go", "func TestMain(m *testing.M) { os.Exit(0) }", &["func TestMain", "os.Exit"]),
            ("a.test.js", "after(() => process.exit(0))", &["process.exit"]),
            ("test_a.py", "import calc\ncalc.mul = f", &["calc.mul"]),
            ("test_a.py", "unittest.TestCase.assertEqual = f", &["unittest.TestCase.assertEqual"]),
            ("a.test.js", "require('assert')\nassert.equal = f", &["assert.equal"]),
            ("a_test.go", "var _ = replaced()", &["var _ = replaced"]),
            ("a_test.go", "func TestA(t *testing.T) {\n\tMul = func() {}\n}", &["Mul"]),
            ("test_a.py", "def test_a(self):\n    self.x.y = 1\n    x = 1\n    a.b == 1", &[]),
            ("a.test.js", "this.a = 1; const f = x.y\nmodule.exports = f", &[]),
            ("a_test.go", "func TestA(t *testing.T) {\n\tgot := Mul(1)\n\tgot = 2\n}", &[]),
            ("test_a.py", "def test_a():\n    assert f(1) == 2", &[]),
            ("a.test.js", "test('a', () => expect(f(1)).toBe(2))", &[]),
            ("a_test.go", "func TestA(t *testing.T) {}", &[]),
        ] {
            assert_eq!(reaches_beyond(path, text), expected, "{text}");
        }
    }
}
