//! What the stories of a project have taken so far.

use crate::layout::{Home, Project};
use ralph_loop::money::Usd;
use ralph_loop::story_id::StoryId;
use std::collections::BTreeMap;

/// Of one story, over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Agents that were started for it.
    pub attempts: u32,
    pub cost: Usd,
    /// How long they worked.
    pub duration_ms: u64,
}

/// What every story of this project has taken, as the journals of its runs tell.
///
/// Facts do not name the story of an iteration yet, so no journal has anything to tell, and every
/// story has taken nothing. This is the one place to fill in: for each run of
/// `catalog::all(home)` whose workspace is the project's directory and whose plan is stories, add
/// each iteration's cost and duration to the story that it worked on.
pub fn tally(_home: &Home, _project: &Project) -> BTreeMap<StoryId, Tally> {
    BTreeMap::new()
}
