//! What the stories of a project have taken so far, whichever plan they belong to.

use crate::catalog::{self, CatalogError, RunLine};
use crate::journal;
use crate::layout::{Home, Project};
use ralph_loop::money::Cost;
use ralph_loop::review::{Reworded, Wording};
use ralph_loop::view::Moments;
use std::collections::{BTreeMap, HashMap};

/// Of one story, over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub iterations: u32,
    pub cost: Cost,
    /// From the first agent of an iteration to its judgement.
    pub duration_ms: u64,
}

/// Runs of one plan in one project.
#[derive(Debug, Default)]
pub struct Tallies {
    pub by_story: BTreeMap<String, Tally>,
    /// What agents have changed of what is asked of stories.
    pub reworded: Vec<Reworded>,
    pub runs: usize,
    /// Of the runs, with what was not spent on a story.
    pub cost: Cost,
    /// When the first of them began and the last of them was last heard of: milliseconds since 1970.
    pub span: Option<(i64, i64)>,
}

impl Tallies {
    pub fn of(&self, story: &str) -> Tally {
        self.by_story.get(story).copied().unwrap_or_default()
    }

    pub fn reworded(&self, story: &str) -> Vec<Wording> {
        self.reworded.iter().filter(|found| found.story == story).map(|found| found.what).collect()
    }

    pub fn reworded_by_story(&self) -> HashMap<&str, Vec<Wording>> {
        let mut by_story: HashMap<&str, Vec<Wording>> = HashMap::new();
        for found in &self.reworded {
            by_story.entry(&found.story).or_default().push(found.what);
        }
        by_story
    }
}

/// What every story of this project has taken, by the journals of its runs that began at `since`
/// or later. A record that cannot be read is reported by `ralph runs`.
pub fn tally(
    home: &Home,
    project: &Project,
    plan: &'static str,
    since_ms: i64,
) -> Result<Tallies, CatalogError> {
    let mut tallies = Tallies::default();
    let fits = |line: &RunLine| {
        line.origin() == Some(project.dir())
            && line.plan.as_deref() == Some(plan)
            && line.opened_at >= since_ms
    };
    for line in catalog::all(home)?.into_iter().filter(fits) {
        let mut moments = Moments::default();
        let replayed = journal::replay(&home.run(&line.id), |run, state, event| {
            let Some(iteration) = moments.iteration(run, state, event) else { return };
            iteration.reworded.into_iter().for_each(|reworded| reworded.enter(&mut tallies.reworded));
            let Some(story) = iteration.story else { return };
            let tally = tallies.by_story.entry(story).or_default();
            tally.iterations += 1;
            tally.cost += iteration.cost;
            tally.duration_ms += iteration.duration_ms;
        });
        let Ok(replayed) = replayed else { continue };
        tallies.runs += 1;
        tallies.cost += replayed.state.ledger.spent;
        let (first, last) = tallies.span.unwrap_or((replayed.opened_at, replayed.last_at));
        tallies.span = Some((first.min(replayed.opened_at), last.max(replayed.last_at)));
    }
    Ok(tallies)
}
