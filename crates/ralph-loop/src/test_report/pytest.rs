//! pytest: a session from its header (or, with `-q`, from its first progress line) to the last line,
//! `=== 3 passed, 1 failed in 0.12s ===`.
//!
//! Names come from `-v`, `-rA` and the short summary. Without them the session has one count per file,
//! or one in all. The last line must match the number of collected items, the names of `-v` and the
//! progress characters, as far as they were printed. `-q -s` prints none of them reliably, so its last
//! line alone is not believed.

use super::cut::between;
use super::pytest_lines::{
    Counts, collected, counts, file_progress, letters, node_id, percent, status_line, summary_entry,
};
use super::report::{Book, Outcome, Problem, Run, Runner, Tests, Totals, WHOLE, disagreement};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Pytest {
    session: Option<Session>,
}

#[derive(Debug, Default)]
struct Session {
    /// Not with `-q`.
    has_header: bool,
    collected: Option<u64>,
    skipped_modules: u64,
    names: BTreeMap<String, Outcome>,
    beyond: Totals,
    /// Lines of `-v`: a test that fails in its teardown has two.
    verbose_lines: u64,
    pending: Option<String>,
    progress: Totals,
    files: BTreeMap<String, Totals>,
    file: Option<String>,
    /// The progress has percentages, so nothing that tests print comes in between.
    is_captured: bool,
    section: Section,
    stopped: bool,
    failed_subtests: u64,
    /// Tests that passed before they failed in their teardown, as far as that is printed.
    torn: u64,
    unloaded: Vec<String>,
    forged: Option<String>,
}

#[derive(Debug, Default, PartialEq)]
enum Section {
    #[default]
    Progress,
    /// Failures and warnings, with what the tests printed.
    Details,
    ShortSummary,
}

impl Pytest {
    pub fn is_open(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_header)
    }

    pub fn line(&mut self, line: &str, book: &mut Book) {
        let in_details = self.session.as_ref().is_some_and(|session| session.section == Section::Details);
        let banner = between(line, '=');
        if banner == Some("test session starts") && !in_details {
            self.finish(book);
            self.session = Some(Session { has_header: true, ..Session::default() });
            return;
        }
        let has_header = self.session.as_ref().is_some_and(|session| session.has_header);
        let summary = if has_header { banner.and_then(counts) } else { counts(line) };
        if let Some(counts) = summary {
            self.summary(&counts, book);
            return;
        }
        if self.session.is_none() {
            let begins = percent(line).is_some_and(|before| letters(before.trim_end()).is_some())
                || banner == Some("short test summary info");
            if !begins {
                return;
            }
        }
        self.session.get_or_insert_default().line(line, banner);
    }

    pub fn finish(&mut self, book: &mut Book) {
        let Some(session) = self.session.take() else { return };
        let of = Runner::Pytest.to_string();
        let problem = match &session.forged {
            Some(why) => disagreement(&of, why),
            None => Problem::NoSummary { of },
        };
        let (tests, unloaded) = session.into_tests();
        book.close(Runner::Pytest, Run { tests, unloaded, problem: Some(problem), ..Run::default() });
    }

    fn summary(&mut self, counts: &Counts, book: &mut Book) {
        let session = self.session.get_or_insert_default();
        match session.disagreement(counts) {
            // What a test printed, quoted in its failure.
            Some(_) if session.section == Section::Details => {}
            // The real line may follow.
            Some(why) => session.forged = Some(why),
            None => {
                if let Some(session) = self.session.take() {
                    session.close(counts, book);
                }
            }
        }
    }
}

impl Session {
    fn line(&mut self, line: &str, banner: Option<&str>) {
        if let Some(banner) = banner {
            self.section =
                if banner == "short test summary info" { Section::ShortSummary } else { Section::Details };
            return;
        }
        if between(line, '!').is_some() {
            self.stopped = true;
            return;
        }
        match self.section {
            Section::Details => {
                let is_torn =
                    between(line, '_').is_some_and(|title| title.starts_with("ERROR at teardown of "));
                self.torn += u64::from(is_torn);
            }
            Section::ShortSummary => self.short_summary(line),
            Section::Progress => self.progress(line),
        }
    }

    fn progress(&mut self, line: &str) {
        if let Some(found) = collected(line) {
            // Only once: a test may print such a line.
            if self.collected.is_none() {
                self.collected = Some(found.items);
                self.skipped_modules = found.skipped;
            }
            return;
        }
        if let Some((name, outcome)) = status_line(line) {
            self.verbose(&name, outcome);
            return;
        }
        let before = percent(line);
        let body = before.unwrap_or(line).trim_end();
        if let Some(outcome) = Outcome::of_word(body.split(" (").next().unwrap_or_default()) {
            if let Some(name) = self.pending.take() {
                self.verbose(&name, outcome);
            }
            return;
        }
        if let Some(outcomes) = letters(body) {
            self.count(outcomes, before.is_some());
        } else if let Some((file, outcomes)) = file_progress(body) {
            self.file = Some(file.to_owned());
            self.count(outcomes, before.is_some());
        } else if line.contains("::") && !line.starts_with(' ') {
            self.pending = node_id(line).map(|(name, _)| name.to_owned());
        }
    }

    fn count(&mut self, outcomes: Totals, is_captured: bool) {
        self.is_captured |= is_captured;
        self.progress = self.progress.plus(outcomes);
        let Some(file) = &self.file else { return };
        if self.files.len() < super::NAMES_MAX || self.files.contains_key(file) {
            let totals = self.files.entry(file.clone()).or_default();
            *totals = totals.plus(outcomes);
        }
    }

    fn verbose(&mut self, name: &str, outcome: Outcome) {
        self.pending = None;
        self.verbose_lines += 1;
        self.name(name, outcome);
    }

    /// A test that passed and failed in its teardown has failed.
    fn name(&mut self, name: &str, outcome: Outcome) {
        if let Some(known) = self.names.get_mut(name) {
            if outcome == Outcome::Failed {
                *known = outcome;
            }
        } else if self.names.len() < super::NAMES_MAX {
            self.names.insert(name.to_owned(), outcome);
        } else {
            self.beyond.count(outcome);
        }
    }

    fn short_summary(&mut self, line: &str) {
        if line.starts_with("SUBFAILED") {
            self.failed_subtests += 1;
            return;
        }
        let Some((name, outcome)) = summary_entry(line) else { return };
        if name.contains("::") {
            self.name(name, outcome);
        } else if outcome == Outcome::Failed && self.unloaded.len() < super::NAMES_MAX {
            self.unloaded.push(name.to_owned());
        }
    }

    fn disagreement(&self, counts: &Counts) -> Option<String> {
        let reports = counts.reports().saturating_sub(self.failed_subtests);
        let tests = reports.saturating_sub(counts.errors);
        if let Some(collected) = self.collected {
            let items = collected.saturating_add(self.skipped_modules);
            if tests > items || (reports < items && !self.stopped) {
                return Some(format!("{items} collected, it counts {reports}"));
            }
        }
        let unreported = counts.skipped.saturating_add(counts.errors);
        let fits = |seen: u64| seen <= reports && seen.saturating_add(unreported) >= reports;
        if self.verbose_lines > 0 && !fits(self.verbose_lines) {
            return Some(format!("{} outcomes by name, it counts {reports}", self.verbose_lines));
        }
        let backed = self.verbose_lines > 0 || (self.has_header && self.collected.is_some());
        if (self.is_captured || !backed) && !self.is_verbose() && !fits(self.progress.all()) {
            return Some(format!("{} progress marks, it counts {reports}", self.progress.all()));
        }
        let named = self.named();
        (named.failed > counts.totals().failed).then(|| format!("{} failures by name", named.failed))
    }

    fn is_verbose(&self) -> bool {
        self.verbose_lines > 0
    }

    fn named(&self) -> Totals {
        self.names.values().fold(self.beyond, |mut totals, outcome| {
            totals.count(*outcome);
            totals
        })
    }

    fn close(self, counts: &Counts, book: &mut Book) {
        let problem = self.forged.as_ref().map(|why| disagreement(&Runner::Pytest.to_string(), why));
        let mut said = counts.totals();
        said.failed = said.failed.saturating_sub(self.failed_subtests);
        // A module that cannot be imported is an error, and not a test.
        said.failed = said.failed.saturating_sub(self.unloaded.len() as u64);
        // A test that passed and failed in its teardown was counted as both.
        let twice = match self.collected {
            Some(collected) => said.all().saturating_sub(collected.saturating_add(self.skipped_modules)),
            None => self.torn.min(counts.errors),
        };
        said.passed = said.passed.saturating_sub(twice);
        let mut groups: Vec<(String, Totals)> = Vec::new();
        if self.is_verbose() {
            let mut files: BTreeMap<&str, Totals> = BTreeMap::new();
            for (name, outcome) in &self.names {
                files.entry(name.split("::").next().unwrap_or_default()).or_default().count(*outcome);
            }
            groups.extend(files.into_iter().map(|(file, totals)| (file.to_owned(), totals)));
            said = self.named();
        } else if twice == 0 && !self.files.is_empty() && self.progress.all() == counts.reports() {
            groups.extend(self.files.clone());
        }
        if groups.is_empty() {
            groups.push((WHOLE.to_owned(), said));
        }
        let (tests, unloaded) = self.into_tests();
        let unnamed = said.less(tests.totals());
        book.close(Runner::Pytest, Run { tests, unnamed, groups, unloaded, problem });
    }

    fn into_tests(self) -> (Tests, Vec<String>) {
        let mut tests = Tests::default();
        for (name, outcome) in &self.names {
            tests.push(name, *outcome);
        }
        (tests, self.unloaded)
    }
}

impl Outcome {
    /// What pytest calls it. An expected failure proves nothing, so it counts as skipped.
    pub(super) fn of_word(word: &str) -> Option<Outcome> {
        match word {
            "PASSED" | "XPASS" => Some(Outcome::Passed),
            "FAILED" | "ERROR" => Some(Outcome::Failed),
            "SKIPPED" | "XFAIL" => Some(Outcome::Skipped),
            _ => None,
        }
    }
}
