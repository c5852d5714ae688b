//! What the stories of a project have taken so far.

use crate::catalog;
use crate::error::CliError;
use crate::journal;
use crate::layout::{Home, Project};
use ralph_loop::history::History;
use ralph_loop::money::Cost;
use ralph_loop::plan::Plan;
use ralph_loop::run::Place;
use ralph_loop::story_id::StoryId;
use std::collections::BTreeMap;

/// Of one story, over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub attempts: u32,
    pub cost: Cost,
    /// From the first agent of an attempt to its judgement.
    pub duration_ms: u64,
}

/// What every story of this project has taken, as the journals of its runs tell. A record that
/// cannot be read is `ralph runs`' to tell of.
pub fn tally(home: &Home, project: &Project) -> Result<BTreeMap<StoryId, Tally>, CliError> {
    let mut tallies: BTreeMap<StoryId, Tally> = BTreeMap::new();
    for line in catalog::all(home)?.into_iter().filter(|line| line.plan == Some(Plan::STORIES)) {
        let here = match &line.place {
            Place::Here => line.workspace.as_deref() == Some(project.dir()),
            Place::Worktree { origin, .. } => origin == project.dir(),
        };
        if !here {
            continue;
        }
        let mut history = History::default();
        let replayed = journal::replay(&home.run(&line.id), |run, _, event| {
            let Some(iteration) = history.follow(run, event) else { return };
            let Some(story) = iteration.story.and_then(|id| id.parse().ok()) else { return };
            let tally = tallies.entry(story).or_default();
            tally.attempts += 1;
            tally.cost += iteration.cost;
            tally.duration_ms += iteration.duration_ms;
        });
        drop(replayed);
    }
    Ok(tallies)
}
