//! What ralph says at the end of a run, and the flags that switch its defence off.
//!
//! Every name that ralph uses for a word is in this file and nowhere else in the suite.

use serde_json::Value;

/// The flags that make ralph believe an agent whose checks are green.
pub const DEFENCE_OFF: [&str; 3] = ["--proof", "in-place", "--no-baseline"];

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Not completed, exit code 1: the checks are red, or red on the clean copy.
    Red,
    Proven,
    Reviewed,
    UnchangedChecks,
    ProvenAsLeft,
    ProvenInPlace,
    ChangedTests,
    TestsMissing,
    NoChecks,
    NothingChanged,
}

/// A row per word: its name in case files, its name in `proof.word`, the text for people.
const WORDS: &[(Word, &str, &str, &str)] = &[
    (Word::Proven, "proven", "proven", "proven"),
    (Word::Reviewed, "reviewed", "reviewed", "reviewed"),
    (Word::UnchangedChecks, "unchanged_checks", "pass_as_before", "checks pass, as they did before"),
    (Word::ProvenAsLeft, "proven_as_left", "proven_as_left", "as the agent left it"),
    (Word::ProvenInPlace, "proven_in_place", "proven_in_place", "proven in place"),
    (Word::ChangedTests, "changed_tests", "changed_tests", "done, but green only with changed tests"),
    (Word::TestsMissing, "tests_missing", "tests_missing", "done, but tests are missing"),
    (Word::NoChecks, "no_checks", "no_checks", "said to be done, no checks"),
    (Word::NothingChanged, "nothing_changed", "nothing_changed", "checks pass, but nothing changed"),
];

impl Word {
    /// By its name in case files.
    pub fn named(name: &str) -> Option<Word> {
        match name {
            "red" => Some(Word::Red),
            _ => WORDS.iter().find(|row| row.1 == name).map(|row| row.0),
        }
    }

    /// What the last lines say, for the words that a run that is completed ends with.
    pub fn text(self) -> Option<&'static str> {
        WORDS.iter().find(|row| row.0 == self).map(|row| row.3)
    }
}

/// How the run ended that printed this with `--format json`. The error is what is wrong with it.
pub fn word_of(code: Option<i32>, result: &Value) -> Result<Word, String> {
    // An agent that fails is a mistake in the case, not a red check.
    let red = ["max_iterations", "halted", "stalled"].iter().any(|reason| result["stop_reason"] == *reason);
    if code == Some(1) && red {
        return Ok(Word::Red);
    }
    if code != Some(0) || result["stop_reason"] != "completed" {
        return Err(format!("exit code {code:?}, stop reason {}", result["stop_reason"]));
    }
    let name = &result["proof"]["word"];
    let row = WORDS.iter().find(|row| name == row.2);
    row.map(|row| row.0).ok_or_else(|| format!("unknown proof.word: {name}"))
}
