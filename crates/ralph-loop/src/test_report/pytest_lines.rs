//! The shapes of pytest's lines.

use super::cut::Cut;
use super::report::{Outcome, Totals};

/// The counts of the last line.
#[derive(Debug, Default)]
pub(super) struct Counts {
    passed: u64,
    failed: u64,
    pub skipped: u64,
    xfailed: u64,
    xpassed: u64,
    pub errors: u64,
}

impl Counts {
    /// A test that fails in its teardown is reported twice.
    pub fn reports(&self) -> u64 {
        self.totals().all()
    }

    pub fn totals(&self) -> Totals {
        Totals {
            passed: self.passed.saturating_add(self.xpassed),
            failed: self.failed.saturating_add(self.errors),
            skipped: self.skipped.saturating_add(self.xfailed),
        }
    }
}

/// `1 failed, 3 passed, 2 warnings in 0.12s`, `no tests ran in 0.01s`, `3 passed in 61.00s (0:01:01)`.
pub(super) fn counts(line: &str) -> Option<Counts> {
    let (list, time) = line.rsplit_once(" in ")?;
    let mut cut = Cut(time);
    cut.decimal()?;
    cut.literal("s")?;
    if cut.literal(" (").is_some() {
        let clock = cut.until(")")?;
        if clock.is_empty() || !clock.chars().all(|c| c.is_ascii_digit() || ": days,".contains(c)) {
            return None;
        }
    }
    cut.end()?;
    let mut counts = Counts::default();
    if list == "no tests ran" {
        return Some(counts);
    }
    for part in list.split(", ") {
        let mut cut = Cut(part);
        let n = cut.number()?;
        cut.literal(" ")?;
        match cut.0 {
            "passed" => counts.passed = n,
            "failed" => counts.failed = n,
            "skipped" => counts.skipped = n,
            "xfailed" => counts.xfailed = n,
            "xpassed" => counts.xpassed = n,
            "error" | "errors" => counts.errors = n,
            "deselected" | "warning" | "warnings" | "rerun" => {}
            word if word.starts_with("subtests ") => {}
            _ => return None,
        }
    }
    Some(counts)
}

pub(super) struct Collected {
    pub items: u64,
    pub skipped: u64,
}

/// `collected 12 items / 11 deselected / 1 selected`, and `2 workers [12 items]` of xdist.
pub(super) fn collected(line: &str) -> Option<Collected> {
    let mut cut = Cut(line.strip_prefix("collecting ... ").unwrap_or(line).trim_end());
    if cut.literal("collected ").is_some() {
        let mut found = Collected { items: cut.number()?, skipped: 0 };
        cut.literal(" item")?;
        let _ = cut.literal("s");
        let mut parts = cut.0.split(" / ");
        if !parts.next().is_some_and(str::is_empty) {
            return None;
        }
        for part in parts {
            let (n, word) = part.split_once(' ')?;
            let n: u64 = n.parse().ok()?;
            match word {
                "selected" => found.items = n,
                "skipped" => found.skipped = n,
                "deselected" => found.items = found.items.saturating_sub(n),
                "error" | "errors" => {}
                _ => return None,
            }
        }
        return Some(found);
    }
    cut.number()?;
    cut.literal(" worker")?;
    let _ = cut.literal("s");
    cut.literal(" [")?;
    let items = cut.number()?;
    cut.literal(" item")?;
    let _ = cut.literal("s");
    cut.literal("]")?;
    cut.end()?;
    Some(Collected { items, skipped: 0 })
}

/// What comes before the `[ 50%]` or `[ 5/12]` at the end of a line.
pub(super) fn percent(line: &str) -> Option<&str> {
    let (before, progress) = line.strip_suffix(']')?.rsplit_once('[')?;
    let mut cut = Cut(progress.trim_start());
    cut.number()?;
    if cut.literal("%").is_some() {
        // `  5%`, ` 50%`, `100%`: others print percentages too.
        (progress.len() == 4).then_some(())?;
    } else {
        cut.literal("/")?;
        cut.number()?;
    }
    cut.end()?;
    Some(before)
}

/// `.F.sxXE`; `,` and letters for subtests are not tests.
pub(super) fn letters(text: &str) -> Option<Totals> {
    let mut totals = Totals::default();
    for letter in text.chars() {
        totals.count(match letter {
            '.' | 'X' => Outcome::Passed,
            'F' | 'E' => Outcome::Failed,
            's' | 'x' => Outcome::Skipped,
            'u' | 'R' | ',' => continue,
            _ => return None,
        });
    }
    (!text.is_empty()).then_some(totals)
}

/// `tests/test_calc.py .F.`
pub(super) fn file_progress(line: &str) -> Option<(&str, Totals)> {
    let (file, outcomes) = line.rsplit_once(' ')?;
    let is_plain = file.contains('.') && !file.contains(' ');
    let is_file = (is_plain || file.ends_with(".py")) && !file.contains("::");
    is_file.then_some((file, letters(outcomes)?))
}

/// `tests/a.py::test_b PASSED  [ 8%]`, and `[gw0] [ 8%] PASSED tests/a.py::test_b` of xdist.
pub(super) fn status_line(line: &str) -> Option<(String, Outcome)> {
    if line.starts_with("[gw") {
        let (_, rest) = line.split_once("] ")?;
        let (progress, rest) = rest.split_once("] ")?;
        percent(&format!("{progress}]"))?;
        let (word, name) = rest.split_once(' ')?;
        let name = name.trim_end();
        return name.contains("::").then_some((name.to_owned(), Outcome::of_word(word)?));
    }
    if line.starts_with(' ') || !line.contains("::") {
        return None;
    }
    let body = percent(line).unwrap_or(line).trim_end();
    for word in ["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"] {
        let Some((name, reason)) = body.split_once(&format!(" {word}")) else { continue };
        let ends = reason.is_empty() || (reason.starts_with(" (") && reason.ends_with(')'));
        if ends && name.contains("::") {
            return Some((name.to_owned(), Outcome::of_word(word)?));
        }
    }
    None
}

/// An entry of the short summary: `FAILED tests/a.py::test_b - assert 1 == 2`.
pub(super) fn summary_entry(line: &str) -> Option<(&str, Outcome)> {
    let (word, rest) = line.split_once(' ')?;
    let outcome = Outcome::of_word(word)?;
    if word == "SKIPPED" {
        // It has a count and a place, and no name.
        return None;
    }
    Some((node_id(rest).map_or(rest, |(name, _)| name), outcome))
}

/// The id of a test and the rest of the line. Parameters in brackets may contain spaces.
pub(super) fn node_id(line: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (at, c) in line.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => return Some((&line[..at], &line[at..])),
            _ => {}
        }
    }
    (!line.is_empty()).then_some((line, ""))
}
