//! A run that this process is through with, and what there is to say about it.

use super::limits::higher_limit;
use super::result::{result_of, tasks_left};
use crate::journal::UnreadableRun;
use crate::layout::{Project, RunDir};
use crate::place;
use crate::report::{self, RunResult, StoriesLeft, Summary, refusal_advice};
use crate::stories::backlog;
use crate::worker::Worker;
use ralph_loop::proof::Word;
use ralph_loop::state::Stopped;
use ralph_loop::{Run, State};

/// A run that has ended, or that this process has left.
pub struct Ended {
    pub run: Run,
    pub state: State,
    pub stopped: Stopped,
    pub(super) run_dir: RunDir,
    /// The worker whose run it is.
    pub(super) worker: Option<&'static Worker>,
}

impl Ended {
    pub fn summary(&self) -> Summary {
        let name = self.worker.map_or(&self.run.id, |worker| &worker.name);
        summary(&self.run, &self.state, &self.stopped, name)
    }

    /// The iterations come from the journal: a run never holds them all in memory.
    pub fn result(&self) -> Result<RunResult, UnreadableRun> {
        result_of(&self.run_dir)
    }
}

/// What the closing lines of a run are made of.
pub fn summary(run: &Run, state: &State, stopped: &Stopped, name: &str) -> Summary {
    Summary {
        name: name.to_string(),
        reason: stopped.reason,
        success: state.is_success(stopped.reason),
        stories: stories_left(run, state),
        tasks: tasks_left(run, state),
        note: stopped.note.clone(),
        refused: refusal_advice(run, state),
        iterations: state.ledger.judged,
        cost: state.ledger.spent,
        up_ms: state.position.up_ms,
        more: state.limit_reached().map(|limit| higher_limit(state, limit, name)),
        max_failures: run.limits.max_failures,
        stall_after: run.limits.stall_after,
        checked: !run.checks.is_empty(),
        proof: report::proof::sentence(run, state),
        doubtful: state.proof.weakest().is_some_and(Word::is_doubtful),
        place: place::advice(&run.place),
    }
}

fn stories_left(run: &Run, state: &State) -> Option<StoriesLeft> {
    let (plan, stories) = (run.plan.as_stories()?, state.plan.as_stories()?);
    let todo = plan.todo.iter().map(|story| story.id);
    let left = todo.filter(|id| !stories.done.contains(id)).collect();
    let mut others = backlog::not_done(&Project::at(run.workspace.clone()), &stories.done);
    others.retain(|id| plan.story(*id).is_none());
    let (failed, of, commits) = (stories.failed(), plan.todo.len(), plan.commit);
    Some(StoriesLeft { failed, of, left, others, commits })
}
