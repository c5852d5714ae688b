//! What a result is worth, in words.

use ralph_loop::gates::GateChange;
use ralph_loop::proof::{Baseline, Prepared, Proof, Round, Site, TestsSeen, Word};
use ralph_loop::text::counted;
use ralph_loop::{Run, State};
use serde::Serialize;
use std::collections::BTreeMap;

/// `result.proof` in JSON.
#[derive(Debug, Serialize)]
pub struct ProofReport {
    /// The weakest word of everything that was concluded.
    pub word: Word,
    /// Where the checks of the last conclusion ran.
    pub level: Level,
    /// Why they did not run on a clean copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<String>,
    /// How often each word was earned.
    pub words: BTreeMap<Word, u32>,
    /// Each check before the first agent, or when something was last proven before this.
    pub baseline: Vec<CheckBaseline>,
    /// Checks that were red and are green.
    pub fixed: Vec<String>,
    /// Checks that fail with new tests on the old source.
    pub new_tests: Vec<String>,
    /// Changed tests, checks and configuration.
    pub gates: Vec<GateChange>,
    /// Whether the checks also pass with these as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes_with_start_gates: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestsSeen>,
    /// Directories that were used as the agent left them.
    pub carried: Vec<String>,
    /// Paths that checkpoints leave out, taken from the working tree.
    pub taken_along: Vec<String>,
    /// Delivered files that the checks themselves change.
    pub changed_by_checks: Vec<String>,
    pub tree: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Clean,
    InPlace,
}

#[derive(Debug, Serialize)]
pub struct CheckBaseline {
    pub check: String,
    /// Not known if it took too long.
    pub passed: Option<bool>,
}

impl ProofReport {
    /// Nothing where nothing was concluded.
    pub fn of(run: &Run, state: &State) -> Option<ProofReport> {
        let (word, proof) = (state.proof.weakest()?, state.proof.last.as_ref()?);
        let commands = |indices: &[usize]| indices.iter().filter_map(|index| command(run, *index)).collect();
        let (level, in_place) = match &proof.site {
            Site::Copy => (Level::Clean, None),
            Site::Workspace { why } => (Level::InPlace, why.clone()),
        };
        Some(ProofReport {
            word,
            level,
            in_place,
            words: state.proof.words.clone(),
            baseline: before(run, proof),
            fixed: commands(&proof.fixed),
            new_tests: commands(&proof.new_tests),
            gates: proof.gates.clone(),
            passes_with_start_gates: proof.start_gates,
            tests: proof.tests.clone(),
            carried: proof.carried.clone(),
            taken_along: proof.taken_along.clone(),
            changed_by_checks: proof.changed_by_checks.clone(),
            tree: proof.tree.clone(),
        })
    }
}

fn before(run: &Run, proof: &Proof) -> Vec<CheckBaseline> {
    let checks = run.checks.iter().zip(&proof.before);
    checks.map(|(check, passed)| CheckBaseline { check: check.command.clone(), passed: *passed }).collect()
}

fn command(run: &Run, index: usize) -> Option<String> {
    run.checks.get(index).map(|check| check.command.clone())
}

/// For the last line.
pub fn sentence(run: &Run, state: &State) -> Option<String> {
    let (word, last) = (state.proof.weakest()?, state.proof.last.as_ref()?);
    if state.proof.words.len() > 1 {
        let words = state.proof.words.iter();
        let words: Vec<String> =
            words.map(|(word, times)| format!("{} × {}", times, word.sentence())).collect();
        return Some(words.join("; "));
    }
    Some(in_detail(run, word, last))
}

/// A word, and what it rests on.
pub fn in_detail(run: &Run, word: Word, proof: &Proof) -> String {
    let commands = |indices: &[usize]| {
        let commands = indices.iter().filter_map(|index| command(run, *index));
        commands.map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
    };
    let detail = match word {
        Word::Proven | Word::ProvenAsLeft | Word::ProvenInPlace if !proof.fixed.is_empty() => {
            let verb = if proof.fixed.len() == 1 { "was red and is green" } else { "were red and are green" };
            Some(format!("{} {verb}{}", commands(&proof.fixed), tests(proof)))
        }
        Word::Proven | Word::ProvenAsLeft | Word::ProvenInPlace => {
            Some(format!("new tests fail on the old source and pass now: {}", commands(&proof.new_tests)))
        }
        Word::ChangedTests => Some(proof.changed_gates()),
        Word::TestsMissing => Some(missing(proof)),
        Word::Reviewed
        | Word::PassAsBefore
        | Word::Pass
        | Word::Unrecorded
        | Word::NothingChanged
        | Word::NoChecks => None,
    };
    let word = if word == Word::ProvenAsLeft { Word::Proven } else { word };
    let mut line = word.sentence().to_string();
    if let Some(detail) = detail.filter(|detail| !detail.is_empty()) {
        line.push_str(": ");
        line.push_str(&detail);
    }
    if !proof.carried.is_empty() {
        line.push_str(&format!(", with {} as the agent left it", proof.carried.join(" and ")));
    }
    line
}

fn tests(proof: &Proof) -> String {
    let changed = proof.tests.as_ref().and_then(|tests| tests.changed.as_ref());
    let Some(changed) = changed else { return String::new() };
    let mut parts = Vec::new();
    if changed.fixed > 0 {
        parts.push(format!("{} fixed", counted(changed.fixed, "test")));
    }
    if changed.added > 0 {
        parts.push(format!("{} new", changed.added));
    }
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn missing(proof: &Proof) -> String {
    let Some(tests) = &proof.tests else { return "no test runner reports any more".to_string() };
    match &tests.changed {
        Some(changed) if !changed.named.is_empty() => changed.named.join(", "),
        Some(changed) if changed.fewer => "fewer ran than before".to_string(),
        Some(_) | None if tests.failed > 0 => {
            format!("{} failed, and the check passed", counted(tests.failed, "test"))
        }
        Some(_) | None if !tests.complete => "a test runner ended without its summary".to_string(),
        Some(_) | None => String::new(),
    }
}

/// Whether a check runs in the workspace only to explain why it fails on the copy.
pub fn explains(state: &State, round: Round) -> bool {
    round == Round::Workspace && state.prepared(Round::Delivered).is_some_and(Prepared::is_copy)
}

/// What a check runs on, where that is not the workspace as the agent has left it.
pub fn runs_on(state: &State, round: Round) -> Option<&'static str> {
    match round {
        Round::Workspace => explains(state, round).then_some("in the working tree"),
        Round::Baseline => Some("before the first agent"),
        Round::BaselineInPlace => Some("before the first agent, in the working tree"),
        Round::BaselineOutside => Some("before the first agent, outside the sandbox"),
        Round::Delivered => {
            state.prepared(round).is_some_and(Prepared::is_copy).then_some("on what is delivered")
        }
        Round::StartGates => Some("with tests and checks as they were"),
        Round::OldSource => Some("with new tests on the old source"),
    }
}

/// Why there is no clean copy, where one was wanted and it is news.
pub fn in_place(state: &State, round: Round, prepared: &Prepared) -> Option<String> {
    let before = state.prepared(Round::Baseline).map(|prepared| &prepared.site);
    let known = [before, state.proof.site.as_ref()].into_iter().flatten();
    if round != Round::Baseline && known.into_iter().any(|site| *site != Site::Copy) {
        return None;
    }
    match &prepared.site {
        Site::Workspace { why: Some(why) } => Some(format!("the proof runs in place: {why}")),
        Site::Workspace { why: None } | Site::Copy => None,
    }
}

/// Why the proof will run in place, where the baseline has found that it has to.
pub fn falls_back(state: &State) -> Option<String> {
    match &state.proof.site {
        Some(Site::Workspace { why: Some(why) }) if state.proof.fell_back => {
            Some(format!("the proof runs in place: {why}"))
        }
        Some(Site::Workspace { .. } | Site::Copy) | None => None,
    }
}

/// Whether everything that failed in the last iteration fails only on the clean copy.
pub fn fails_only_on_copy(state: &State) -> bool {
    let failures = &state.work.feedback;
    !failures.is_empty() && failures.iter().all(|failure| failure.only_on_copy.is_some())
}

/// What to do about checks that fail only on the clean copy, for a run that stops with them.
pub fn only_on_copy_advice(state: &State) -> Option<String> {
    let advice = "if a check needs what cannot be delivered: let it make that, add ignored paths to \
                  proof.carry, or use --proof in-place";
    fails_only_on_copy(state).then(|| advice.to_string())
}

/// What was red before the first agent.
pub fn baseline(state: &State) -> String {
    let Baseline::Known(checks) = &state.proof.baseline else { return String::new() };
    let red = checks.iter().filter(|check| check.passed == Some(false)).count() as u64;
    let unknown = checks.iter().filter(|check| check.passed.is_none()).count() as u64;
    let slow = match unknown {
        0 => String::new(),
        n => format!("; {} took too long to tell", counted(n, "check")),
    };
    match red {
        0 if unknown == 0 => "baseline: all checks pass already".to_string(),
        0 => format!("baseline: no check fails{slow}"),
        n => {
            let verb = if n == 1 { "fails" } else { "fail" };
            format!("baseline: {n} of {} {verb}{slow}", counted(checks.len() as u64, "check"))
        }
    }
}
