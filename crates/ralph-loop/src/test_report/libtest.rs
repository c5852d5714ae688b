//! `cargo test`: one block per test binary, from `running 3 tests` to `test result:`.
//!
//! Names are qualified with the binary that cargo names before a block, without its hash. Names of
//! doctests contain a line number; the tests of one item are numbered in the order of their lines.

use super::cut::Cut;
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, Totals, WHOLE, disagreement};
use crate::text::counted;
use std::collections::HashSet;

#[derive(Debug, Default)]
pub(super) struct Libtest {
    /// The binary that cargo started last.
    target: Option<String>,
    block: Option<Block>,
    after_blank: bool,
}

#[derive(Debug)]
struct Block {
    target: String,
    expected: u64,
    tests: Tests,
    doctests: Vec<(String, u64, Outcome)>,
    seen: HashSet<String>,
    repeated: bool,
    /// The characters of `--quiet`, which names only failures.
    terse: Totals,
    is_terse: bool,
    /// A test whose outcome is on a later line, as it printed something itself.
    pending: Option<String>,
    /// After `failures:` follows what the tests printed, which may look like anything.
    in_section: bool,
    forged: Option<String>,
}

impl Libtest {
    pub fn is_open(&self) -> bool {
        self.block.is_some()
    }

    pub fn line(&mut self, line: &str, book: &mut Book) {
        let after_blank = std::mem::replace(&mut self.after_blank, line.is_empty());
        if let Some(target) = target(line) {
            self.unfinished(book);
            self.target = Some(target);
            return;
        }
        let in_section = self.block.as_ref().is_some_and(|block| block.in_section);
        if after_blank
            && !in_section
            && let Some(expected) = running(line)
        {
            self.unfinished(book);
            let target = self.target.clone().unwrap_or_default();
            self.block = Some(Block::new(target, expected));
            return;
        }
        let summary = result(line);
        let Some(block) = &mut self.block else {
            if summary.is_some() {
                book.note(Runner::CargoTest, Problem::StraySummary { of: "cargo test".to_owned() });
            }
            return;
        };
        match summary {
            None => block.line(line),
            Some(summary) => match block.disagreement(&summary) {
                None => self.close(summary.totals, book),
                // What a test printed, quoted in its failure.
                Some(_) if block.in_section => {}
                // Either this line is forged, or those before it are. The real one may follow.
                Some(why) => block.forged = Some(why),
            },
        }
    }

    pub fn finish(&mut self, book: &mut Book) {
        self.unfinished(book);
    }

    fn close(&mut self, totals: Totals, book: &mut Book) {
        let Some(block) = self.block.take() else { return };
        let forged = block.forged.as_ref().map(|why| disagreement(block.label(), why));
        // With `--quiet` cargo does not name the binary.
        let group = if block.target.is_empty() { WHOLE } else { &block.target };
        let group = (group.to_owned(), totals);
        let mut run = block.into_run();
        run.unnamed = totals.less(run.tests.totals());
        run.groups.push(group);
        run.problem = forged;
        book.close(Runner::CargoTest, run);
    }

    /// The block that is still open never got its `test result:`.
    fn unfinished(&mut self, book: &mut Book) {
        let Some(block) = self.block.take() else { return };
        let problem = match &block.forged {
            Some(why) => disagreement(block.label(), why),
            None => Problem::NoSummary { of: block.label().to_owned() },
        };
        let mut run = block.into_run();
        run.problem = Some(problem);
        book.close(Runner::CargoTest, run);
    }
}

impl Block {
    fn new(target: String, expected: u64) -> Block {
        Block {
            target,
            expected,
            tests: Tests::default(),
            doctests: Vec::new(),
            seen: HashSet::new(),
            repeated: false,
            terse: Totals::default(),
            is_terse: false,
            pending: None,
            in_section: false,
            forged: None,
        }
    }

    fn label(&self) -> &str {
        if self.target.is_empty() { "cargo test" } else { &self.target }
    }

    fn line(&mut self, line: &str) {
        if self.in_section {
            return;
        }
        if let Some(name) = self.pending.take() {
            match outcome(line) {
                Some(outcome) => self.add(&name, outcome),
                None if matches!(line, "failures:" | "successes:") => self.in_section = true,
                // All else is what the test prints.
                None => self.pending = Some(name),
            }
            return;
        }
        if matches!(line, "failures:" | "successes:") {
            self.in_section = true;
        } else if let Some((name, rest)) =
            line.strip_prefix("test ").and_then(|test| test.split_once(" ... "))
        {
            match outcome(rest) {
                Some(outcome) => self.add(name, outcome),
                None => self.pending = Some(name.to_owned()),
            }
        } else if self.tests.is_empty() || self.is_terse {
            self.terse_line(line);
        }
    }

    fn terse_line(&mut self, line: &str) {
        if let Some(name) = line.strip_suffix(" --- FAILED") {
            self.is_terse = true;
            self.terse.failed += 1;
            self.add(name, Outcome::Failed);
            return;
        }
        let Some(outcomes) = terse(line) else { return };
        self.is_terse = true;
        self.terse = self.terse.plus(outcomes);
    }

    fn add(&mut self, name: &str, outcome: Outcome) {
        if self.seen.len() < super::NAMES_MAX && !self.seen.insert(name.to_owned()) {
            self.repeated = true;
        }
        match doctest(name) {
            Some((item, line)) if self.doctests.len() < super::NAMES_MAX => {
                self.doctests.push((item, line, outcome));
            }
            _ => self.tests.push(&self.qualified(name), outcome),
        }
    }

    fn qualified(&self, name: &str) -> String {
        if self.target.is_empty() { name.to_owned() } else { format!("{}::{name}", self.target) }
    }

    fn named(&self) -> Totals {
        let mut totals = self.tests.totals();
        for (_, _, outcome) in &self.doctests {
            totals.count(*outcome);
        }
        totals
    }

    /// Why the summary cannot be the one of this block.
    fn disagreement(&self, summary: &Summary) -> Option<String> {
        let said = summary.totals;
        if said.all() != self.expected {
            let were = if self.expected == 1 { "was" } else { "were" };
            return Some(format!(
                "{} {were} to run, it counts {}",
                counted(self.expected, "test"),
                said.all()
            ));
        }
        if summary.ok != (said.failed == 0) {
            return Some(format!("{} failed", said.failed));
        }
        if self.repeated {
            return Some("a test has two outcomes".to_owned());
        }
        let named = self.named();
        if self.is_terse {
            let more = self.terse.all() > said.all() || named.failed > said.failed;
            return more.then(|| format!("{} outcomes for {} tests", self.terse.all(), said.all()));
        }
        (named != said).then(|| format!("{named} by name, it says {said}"))
    }

    fn into_run(mut self) -> Run {
        self.doctests.sort();
        let doctests = std::mem::take(&mut self.doctests);
        let mut tests = std::mem::take(&mut self.tests);
        for (item, _, outcome) in doctests {
            tests.push(&self.qualified(&item), outcome);
        }
        Run { tests, ..Run::default() }
    }
}

struct Summary {
    ok: bool,
    totals: Totals,
}

/// `running 3 tests`
fn running(line: &str) -> Option<u64> {
    let mut cut = Cut(line);
    cut.literal("running ")?;
    let expected = cut.number()?;
    cut.literal(if expected == 1 { " test" } else { " tests" })?;
    cut.end()?;
    Some(expected)
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.12s`
fn result(line: &str) -> Option<Summary> {
    let mut cut = Cut(line);
    cut.literal("test result: ")?;
    let ok = match cut.until(". ")? {
        "ok" => true,
        "FAILED" => false,
        _ => return None,
    };
    let passed = cut.number()?;
    cut.literal(" passed; ")?;
    let failed = cut.number()?;
    cut.literal(" failed; ")?;
    let skipped = cut.number()?;
    cut.literal(" ignored; ")?;
    let measured = cut.number()?;
    cut.literal(" measured; ")?;
    cut.number()?;
    cut.literal(" filtered out")?;
    if !cut.0.is_empty() {
        cut.literal("; finished in ")?;
        cut.decimal()?;
        cut.literal("s")?;
        cut.end()?;
    }
    Some(Summary { ok, totals: Totals { passed: passed + measured, failed, skipped } })
}

/// `ok`, `FAILED`, `ignored, too slow`, `bench: 5 ns/iter (+/- 1)`, `ok <0.012s>`.
fn outcome(text: &str) -> Option<Outcome> {
    let bare = text.strip_suffix("s>").and_then(|text| text.rsplit_once(" <")).map_or(text, |(bare, _)| bare);
    match bare {
        "ok" => Some(Outcome::Passed),
        "FAILED" | "FAILED (time limit exceeded)" => Some(Outcome::Failed),
        "ignored" => Some(Outcome::Skipped),
        _ if text.starts_with("ignored, ") => Some(Outcome::Skipped),
        _ if text.starts_with("bench: ") && text.ends_with(')') => Some(Outcome::Passed),
        _ => None,
    }
}

/// `..F.i` or `..F.i 88/200`. Failures are named on a line of their own in newer versions.
fn terse(line: &str) -> Option<Totals> {
    let (outcomes, progress) = line.split_once(' ').unwrap_or((line, ""));
    if !progress.is_empty() {
        let mut cut = Cut(progress);
        cut.spaces();
        cut.number()?;
        cut.literal("/")?;
        cut.number()?;
        cut.end()?;
    }
    let mut totals = Totals::default();
    for outcome in outcomes.chars() {
        totals.count(match outcome {
            '.' | 'b' => Outcome::Passed,
            'F' => Outcome::Failed,
            'i' => Outcome::Skipped,
            _ => return None,
        });
    }
    (totals.all() > 0).then_some(totals)
}

/// The binary that cargo says it starts.
fn target(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("   Doc-tests ") {
        return (!name.is_empty() && !name.contains(' ')).then(|| format!("{name} (doc)"));
    }
    let what = line.strip_prefix("     Running ")?;
    // With `-v` it is the command line.
    if let Some(command) = what.strip_prefix('`') {
        let program = command.strip_suffix('`')?.split(' ').find(|word| word.contains("/deps/"))?;
        return Some(without_hash(program).to_owned());
    }
    let (source, program) = what.strip_suffix(')')?.rsplit_once(" (")?;
    let name = without_hash(program);
    // Most have the name of their crate. A second target of that name says where it is.
    match source.strip_prefix("unittests ") {
        Some("src/lib.rs") => Some(name.to_owned()),
        Some(path) => Some(format!("{name} ({path})")),
        None => Some(format!("{name} ({source})")),
    }
}

/// `target/debug/deps/calc-1cd44e4e967ddba4` is `calc`.
fn without_hash(program: &str) -> &str {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let file = file.strip_suffix(".exe").unwrap_or(file);
    match file.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => file,
    }
}

/// `src/lib.rs - add (line 5)`, with ` - compile` and the like behind it: the name without its line.
fn doctest(name: &str) -> Option<(String, u64)> {
    let (path, rest) = name.split_once(" - ")?;
    let at = rest.find("(line ")?;
    let mut cut = Cut(&rest[at..]);
    cut.literal("(line ")?;
    let line = cut.number()?;
    cut.literal(")")?;
    let item = rest[..at].trim_end();
    let how = cut.0;
    if item.is_empty() {
        return Some((format!("{path}{how}"), line));
    }
    Some((format!("{path} - {item}{how}"), line))
}
