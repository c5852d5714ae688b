//! Which checks run next, and on what.
//!
//! An iteration that claims nothing is checked in the workspace. One that would complete something
//! is checked on what would be delivered; if that is green, again with the tests and checks of the
//! start, where they have changed, and with new tests on the old source. What is red on the copy
//! runs in the workspace as well, so that the agent learns whether only the copy lacks something.
//!
//! Before the first agent the checks run on the copy; what is red there in the workspace; and what is
//! still red outside the sandbox, so that a sandbox that breaks them is found before anything is spent.

use super::{Baseline, Prepared, Round, RoundState, Rounds, Site, before, in_the_way};
use crate::event::Step;
use crate::plan::Evidence;
use crate::run::Run;
use crate::state::{Stage, State};
use crate::verdict::{Claim, Settlement, Verdict};

/// The next step of the checks of an iteration whose agent has answered.
pub fn due(run: &Run, state: &State) -> Option<Step> {
    let Stage::Answered { claim, rounds, .. } = &state.work.stage else { return None };
    if run.checks.is_empty() {
        return None;
    }
    let round = next_round(run, state, claim, rounds)?;
    step(run, state, rounds, round)
}

/// The next step of the checks before the first agent.
pub fn baseline_due(run: &Run, state: &State) -> Option<Step> {
    let spec = run.proof.as_ref().filter(|_| !run.checks.is_empty())?;
    let untouched = state.ledger.judged == 0 && state.work.attempts == 0;
    if !untouched {
        return None;
    }
    let empty = Rounds::default();
    let rounds = match &state.proof.baseline {
        // The copy is made in any case: later, what is ignored may be an agent's.
        Baseline::Unknown => &empty,
        Baseline::Running(rounds) if spec.baseline => rounds,
        Baseline::Running(_) | Baseline::Known(_) => return None,
    };
    let is_over = |baseline: &RoundState| baseline.results.len() == run.checks.len();
    match rounds.get(Round::Baseline) {
        Some(baseline) if is_over(baseline) => {
            let [in_place, outside] = [Round::BaselineInPlace, Round::BaselineOutside];
            step(run, state, rounds, in_place).or_else(|| step(run, state, rounds, outside))
        }
        Some(_) | None => step(run, state, rounds, Round::Baseline),
    }
}

/// Why the checks cannot run on a clean copy, where they have to.
pub fn no_copy(run: &Run, state: &State) -> Option<String> {
    run.proof.as_ref().filter(|proof| proof.mode.requires_copy())?;
    let baseline = match &state.proof.baseline {
        Baseline::Running(rounds) => rounds.get(Round::Baseline),
        Baseline::Unknown | Baseline::Known(_) => None,
    };
    let delivered = match &state.work.stage {
        Stage::Answered { rounds, .. } => rounds.get(Round::Delivered),
        Stage::Between(_) | Stage::Working | Stage::Failed { .. } => None,
    };
    let prepared = |round: &'_ RoundState| round.prepared.as_ref().map(|prepared| prepared.site.clone());
    let sites = [baseline.and_then(prepared), delivered.and_then(prepared), state.proof.site.clone()];
    sites.into_iter().flatten().find_map(|site| match site {
        Site::Copy => None,
        Site::Workspace { why } => Some(why.unwrap_or_else(|| "it was not asked for".to_string())),
    })
}

/// Whether an iteration would complete a run, a story or an approval if its checks are green.
pub fn concludes(run: &Run, state: &State, claim: &Claim) -> bool {
    let Stage::Answered { reply, .. } = &state.work.stage else { return false };
    let verdict = Verdict::Green { checks: run.checks.len() };
    let evidence = Evidence { claim, verdict: &verdict, silence: reply.silence(), checks: &run.checks };
    run.plan.judge(&state.plan, &evidence) == Settlement::Settled || state.plan.approves()
}

/// The round that is not over yet, or follows those that are.
fn next_round(run: &Run, state: &State, claim: &Claim, rounds: &Rounds) -> Option<Round> {
    let proves = run.proof.is_some() && concludes(run, state, claim);
    let Some(delivered) = rounds.get(Round::Delivered) else {
        let is_over = |round: &RoundState| round.results.len() == run.checks.len();
        return match rounds.get(Round::Workspace) {
            None if proves => Some(Round::Delivered),
            // It has come to conclude something meanwhile: the list was changed while checks ran.
            Some(round) if is_over(round) => (proves && round.is_green()).then_some(Round::Delivered),
            Some(_) | None => Some(Round::Workspace),
        };
    };
    if delivered.results.len() < run.checks.len() {
        return Some(Round::Delivered);
    }
    let copy = delivered.prepared.as_ref().filter(|prepared| prepared.is_copy())?;
    if !delivered.is_green() {
        let unexplained = wanted(run, rounds, Round::Workspace).next().is_some();
        return unexplained.then_some(Round::Workspace);
    }
    [Round::StartGates, Round::OldSource].into_iter().find(|round| {
        calls_for(copy, *round) && rounds.get(*round).is_none_or(|state| !is_finished(run, state))
    })
}

fn calls_for(delivered: &Prepared, round: Round) -> bool {
    match round {
        Round::StartGates => delivered.lowered().next().is_some(),
        Round::OldSource => delivered.new_tests,
        Round::Workspace
        | Round::Baseline
        | Round::BaselineInPlace
        | Round::BaselineOutside
        | Round::Delivered => false,
    }
}

/// One red check is enough to know that tests and checks of the start do not pass. Only a copy can
/// have them.
fn is_finished(run: &Run, state: &RoundState) -> bool {
    state.results.len() == run.checks.len() || !state.is_green() || !state.is_on_copy()
}

/// The checks of a round that have not run.
fn wanted<'a>(run: &'a Run, rounds: &'a Rounds, round: Round) -> impl Iterator<Item = usize> + 'a {
    let done = rounds.get(round);
    let delivered = rounds.get(Round::Delivered);
    let baseline = rounds.get(Round::Baseline);
    (0..run.checks.len()).filter(move |index| {
        let asked = match (round, delivered, baseline) {
            (Round::Workspace, Some(delivered), _) => delivered.passed(*index) == Some(false),
            (Round::BaselineInPlace, _, Some(baseline)) => {
                before::red_on_copy(baseline).any(|red| red == *index)
            }
            (Round::BaselineOutside, ..) => {
                let confined = run.confinement.sandbox().is_some();
                confined && in_the_way::red_inside(rounds).any(|red| red.index == *index)
            }
            _ => true,
        };
        asked && done.is_none_or(|done| done.result(*index).is_none())
    })
}

fn step(run: &Run, state: &State, rounds: &Rounds, round: Round) -> Option<Step> {
    let iteration = state.iteration();
    if round.needs_preparation() && rounds.get(round).is_none() {
        return Some(Step::Prepare { iteration, round });
    }
    let setup = run.proof.as_ref().map_or(0, |proof| proof.setup.len());
    if let Some(index) = rounds.get(round).and_then(|state| state.setup_due(setup)) {
        return Some(Step::Setup { iteration, round, index });
    }
    wanted(run, rounds, round).next().map(|index| Step::Check { iteration, index, round })
}
