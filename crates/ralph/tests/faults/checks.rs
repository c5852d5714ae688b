//! What has to hold, whatever died.

use crate::fold::Fold;
use crate::life::{Death, Life};
use crate::round::Round;
use crate::stage::{Stage, about};
use ralph_loop::dialect::Answer;
use ralph_loop::event::{Event, Fact, StopReason};
use ralph_loop::verdict::Settlement;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The exit code says what the journal says, and nothing but a signal ends ralph without a
/// last word in the journal. `facts` are those of this life.
pub fn death_fits(round: &Round<'_>, life: &Life, death: Death, facts: &[Event]) -> Result<(), String> {
    let killed = Death::Signal(Signal::KILL.as_raw());
    let stopped = facts.last().and_then(|event| match &event.fact {
        Fact::Stopped { reason, note } => Some((*reason, note.clone().unwrap_or_default())),
        _ => None,
    });
    let Some((reason, note)) = stopped else {
        // Before the first step a signal may still have its own way.
        let early = !facts.iter().any(|event| matches!(event.fact, Fact::Began { .. }));
        let signals = [Signal::TERM, Signal::INT].map(|signal| Death::Signal(signal.as_raw()));
        if death == killed || (early && round.signalled && signals.contains(&death)) {
            return Ok(());
        }
        return Err(format!("ralph left without a last fact: {death:?}: {}", life.last_words()));
    };
    let expected = match reason {
        StopReason::Completed => 0,
        StopReason::Interrupted if round.signalled => 130,
        // A run may give up when its keeper keeps dying, but not before the fourth time.
        StopReason::Error if note.contains("keeps dying") && round.keeper_hits > 3 => 1,
        _ => return Err(format!("ralph stopped as {}: {note}", reason.word())),
    };
    if death == killed {
        return Ok(());
    }
    if death != Death::Exit(expected) {
        return Err(format!("{death:?} after {}: {}", reason.word(), life.last_words()));
    }
    result_fits(life, facts)
}

/// The object that `--format json` prints, and the last one of `--format ndjson`.
fn result_fits(life: &Life, facts: &[Event]) -> Result<(), String> {
    let name = life.stdout.display().to_string();
    if name.ends_with("-human.out") {
        return Ok(());
    }
    let text = fs::read_to_string(&life.stdout).map_err(about("output"))?;
    let json = if name.ends_with("-json.out") { Some(text.as_str()) } else { text.lines().last() };
    let result: Value = serde_json::from_str(json.unwrap_or_default()).map_err(about("output"))?;
    let Some(Fact::Stopped { reason, .. }) = facts.last().map(|event| &event.fact) else { return Ok(()) };
    let said = result["stop_reason"].as_str().unwrap_or_default();
    if said == reason.word() { Ok(()) } else { Err(format!("the result says {said}: {result}")) }
}

/// Every iteration once and in order, with the verdict and the cost that the script makes.
pub fn record_holds(round: &Round<'_>, fold: &Fold) -> Result<(), String> {
    let part = &round.stage.part;
    if fold.judgements.len() != fold.state.ledger.judged as usize {
        return Err(format!("{} judgements of {}", fold.judgements.len(), fold.state.ledger.judged));
    }
    for (number, judgement) in (1..).zip(&fold.judgements) {
        if judgement.iteration != number {
            return Err(format!("iteration {} where {number} was due", judgement.iteration));
        }
        let hit = round.hit.contains(&number);
        if !hit && judgement.verdict != part.verdict(number) {
            let expected = part.verdict(number);
            return Err(format!("iteration {number}: {:?} where {expected:?} was due", judgement.verdict));
        }
        let settled = judgement.settlement == Settlement::Settled;
        if settled != (number >= part.done && judgement.verdict.is_green()) {
            return Err(format!("iteration {number} was settled: {settled}"));
        }
    }
    if fold.cost() != fold.state.ledger.spent {
        return Err(format!("spent {}, the agents' ends say {}", fold.state.ledger.spent, fold.cost()));
    }
    for (iteration, end) in &fold.agents {
        let complete = matches!(end.answer, Answer::Said | Answer::Empty);
        if complete && end.seen.cost != part.cost(*iteration) {
            return Err(format!("an agent of iteration {iteration} cost {:?}", end.seen.cost));
        }
    }
    Ok(())
}

/// The agent's own book: every judged iteration had an agent, none ran ahead, none ran more
/// often than it was begun, and no two ran at a time.
pub fn ledger_agrees(round: &Round<'_>, fold: &Fold) -> Result<(), String> {
    let text = fs::read_to_string(round.stage.path("ledger")).unwrap_or_default();
    let mut starts: BTreeMap<u32, usize> = BTreeMap::new();
    let mut last = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [word, iteration, pid] = words[..] else { return Err(format!("ledger: {line}")) };
        let iteration: u32 = iteration.parse().map_err(about("ledger"))?;
        match word {
            "start" => {
                *starts.entry(iteration).or_default() += 1;
                last = Some(pid.to_string());
            }
            _ if last.as_deref() != Some(pid) => return Err(format!("two agents at a time: {text}")),
            _ => {}
        }
    }
    if let Some(ahead) = starts.keys().find(|iteration| **iteration > fold.state.ledger.judged + 1) {
        return Err(format!("an agent of iteration {ahead} with {} judged", fold.state.ledger.judged));
    }
    for iteration in 1..=fold.state.ledger.judged {
        // One that was killed may not have got as far as its first word.
        if !starts.contains_key(&iteration) && !round.hit.contains(&iteration) {
            return Err(format!("no agent of iteration {iteration}"));
        }
    }
    for (iteration, count) in &starts {
        let begun = fold.begun.get(iteration).copied().unwrap_or(0);
        if *count > begun && !round.torn {
            return Err(format!("{count} agents of iteration {iteration}, {begun} begun"));
        }
    }
    Ok(())
}

/// A ralph that had time to say goodbye leaves the whole file. One that was killed leaves a
/// beginning of it.
pub fn progress_is_the_fold(round: &Round<'_>, fold: &Fold, death: Death) -> Result<(), String> {
    let found = fs::read_to_string(round.stage.path("repo/.ralph/progress.md")).unwrap_or_default();
    let holds = match death {
        Death::Exit(_) => found == fold.progress,
        Death::Signal(_) | Death::Unknown => {
            round.torn || round.overwritten || fold.progress.starts_with(&found)
        }
    };
    if holds { Ok(()) } else { Err(format!("progress.md:\n{found}\nthe journal:\n{}", fold.progress)) }
}

/// `home` is ralph's.
pub fn locks_are_free(home: &Path) -> Result<(), String> {
    let mut locks: Vec<PathBuf> = Vec::new();
    for (dir, name) in [("locks", ""), ("runs", "lock")] {
        let entries = fs::read_dir(home.join(dir)).into_iter().flatten().filter_map(Result::ok);
        locks.extend(entries.map(|entry| entry.path().join(name)).filter(|path| path.exists()));
    }
    for path in locks {
        let file = File::open(path.components().as_path()).map_err(about("lock"))?;
        // A process that a dead keeper was about to start drops its copy with the exec.
        let deadline = Instant::now() + Duration::from_millis(200);
        while let Err(cause) = file.try_lock() {
            if matches!(cause, TryLockError::Error(_)) || Instant::now() > deadline {
                return Err(format!("a lock is stuck: {}: {cause}", path.display()));
            }
            sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// `ralph runs` reads the same journal and comes to the same.
pub fn runs_tells_it(stage: &Stage, fold: &Fold) -> Result<(), String> {
    let output = stage.ralph().args(["runs", "--format", "json"]).output().map_err(about("runs"))?;
    let runs: Value = serde_json::from_slice(&output.stdout).map_err(about("runs"))?;
    let line = runs.as_array().into_iter().flatten().find(|line| line["id"] == fold.run.id.as_str());
    let line = line.ok_or("`ralph runs` does not know the run")?;
    let status = fold.state.stopped.as_ref().map_or("crashed", |stopped| stopped.reason.word());
    let fits = line["status"] == status
        && line["iterations"] == fold.state.ledger.judged
        && line["cost"].as_f64() == Some(fold.state.ledger.spent.usd.dollars())
        && line["resumable"] == !fold.is_over()
        && line["problem"].is_null();
    if fits { Ok(()) } else { Err(format!("`ralph runs` tells otherwise than {status}: {line}")) }
}

/// Done by the first agent that says so and was left alone.
pub fn outcome_is_expected(round: &Round<'_>, fold: &Fold) -> Result<(), String> {
    let reason = fold.state.stopped.as_ref().map(|stopped| stopped.reason);
    if reason != Some(StopReason::Completed) {
        return Err(format!("the run ended as {reason:?}"));
    }
    let settled = fold.judgements.iter().position(|j| j.settlement == Settlement::Settled);
    if settled.map(|at| at + 1) != Some(fold.judgements.len()) {
        return Err(format!("settled at {settled:?} of {}", fold.judgements.len()));
    }
    let needless =
        (round.stage.part.done..fold.state.ledger.judged).find(|iteration| !round.hit.contains(iteration));
    needless.map_or(Ok(()), |iteration| Err(format!("iteration {iteration} should have been the last")))
}

/// Each has the user's files as they are, and neither ralph's own nor ignored ones. Only
/// those whose git was killed are missing.
pub fn checkpoints_hold_the_users_work(round: &Round<'_>, fold: &Fold) -> Result<(), String> {
    let problems: Vec<&String> = fold.snapshots.iter().filter_map(|end| end.problem.as_ref()).collect();
    if problems.len() > round.git_hits {
        return Err(format!("{} git commands were killed: {problems:?}", round.git_hits));
    }
    let files = round.stage.recorded_files()?;
    let mut trees: Vec<&String> = fold.snapshots.iter().filter_map(|end| end.tree.as_ref()).collect();
    trees.sort_unstable();
    trees.dedup();
    if !trees.is_empty() {
        round.stage.fsck(&fold.run.id)?;
    }
    for tree in trees {
        let listing = round.stage.checkpoint(&fold.run.id, tree)?;
        for (name, id) in &files {
            if !listing.iter().any(|(found, path)| found == id && path == name) {
                return Err(format!("checkpoint {tree} has not {name} as it is: {listing:?}"));
            }
        }
        let foreign = |path: &str| path.starts_with(".ralph") || path == "local.secret";
        if let Some((_, path)) = listing.iter().find(|(_, path)| foreign(path)) {
            return Err(format!("checkpoint {tree} has {path}"));
        }
    }
    Ok(())
}
