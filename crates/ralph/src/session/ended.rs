//! A run that this process is through with, and what there is to say about it.

use super::limits::higher_limit;
use super::result::{result_of, tasks_left};
use crate::journal::UnreadableRun;
use crate::layout::{Home, Project, RunDir};
use crate::place;
use crate::report::{self, ChangedLines, RunResult, StoriesLeft, Summary, refusal_advice};
use crate::run_history::{Changed, RunHistory};
use crate::stories::backlog;
use crate::worker::Worker;
use ralph_loop::proof::Word;
use ralph_loop::run::Place;
use ralph_loop::state::Stopped;
use ralph_loop::text::counted;
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
        Summary { changed: self.changed(), ..summary(&self.run, &self.state, &self.stopped, name) }
    }

    /// In a terminal it is the newest run of the directory and needs no name. Commands do not find a run that is
    /// recorded in another home, as that of the demo.
    fn changed(&self) -> Option<ChangedLines> {
        let history = RunHistory::read(&self.run_dir.home(), &self.run.id).ok()?;
        let Changed { files, added, removed, commits } = history.changed()?;
        let commits = match commits {
            0 => String::new(),
            n => format!(", {}", counted(n, "commit")),
        };
        let name = self.worker.map_or_else(String::new, |worker| format!(" {}", worker.name));
        let back = match self.run.place {
            Place::Here => format!("; take it back: ralph undo{name}"),
            Place::Worktree { .. } => String::new(),
        };
        let is_found = Home::find().is_some_and(|home| home.root() == self.run_dir.home().root());
        (files > 0).then(|| ChangedLines {
            what: format!("{}, +{added} -{removed}{commits}", counted(files, "file")),
            see: is_found.then(|| format!("ralph diff{name}, ralph show{name}{back}")),
        })
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
        only_on_copy: report::proof::only_on_copy_advice(state),
        iterations: state.ledger.judged,
        cost: state.ledger.spent,
        max_cost: state.ledger.limits.max_cost,
        changed: None,
        up_ms: state.position.up_ms,
        in_the_way: report::in_the_way::advice(state),
        network: state.refused.lines(),
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
