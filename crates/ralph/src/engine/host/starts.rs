//! The beginning of steps.

use super::RealHost;
use crate::engine::lane::{AgentStart, Begun, CheckStart, LaneNumber, Program, StartError, Thread};
use crate::engine::own_commit;
use crate::engine::scm::{self, Task};
use crate::place::Access;
use crate::process::ProcessError;
use ralph_loop::event::{End, Fact, SnapshotEnd, Step, StepId, directory_gone};
use ralph_loop::interactive::dropped_characters;
use ralph_loop::scm::{Message, TaskOutcome};
use ralph_loop::{Run, State};

impl RealHost<'_> {
    /// Begins a step in a lane that is free. Returns the fact of its end if it is over at once.
    pub(super) fn start_in_lane(
        &mut self,
        run: &Run,
        state: &State,
        id: StepId,
        step: &Step,
    ) -> Option<Fact> {
        let Some(lane) = self.lanes.free() else {
            let why = "internal error: no lane is free".to_string();
            return Some(Fact::Ended { id, end: End::Impossible { why } });
        };
        // Made again, it would be an empty one, and the run would go on in it.
        if step.needs_workspace() && !run.workspace.is_dir() {
            let why = directory_gone(&run.workspace);
            return Some(Fact::Ended { id, end: End::Impossible { why } });
        }
        self.put_link_aside();
        let begun = self.begin(run, state, lane, step);
        self.settle(lane, id, step, begun)
    }

    fn begin(
        &mut self,
        run: &Run,
        state: &State,
        number: LaneNumber,
        step: &Step,
    ) -> Result<Begun, StartError> {
        let (lane, shared) = (self.lanes.lane(number), &mut self.shared);
        match step {
            Step::Agent { iteration, attempt, agent, .. } => {
                let start = AgentStart { iteration: *iteration, attempt: *attempt, agent: *agent };
                let (program, prompt) = lane.start_agent(shared, run, state, &start, &self.projections)?;
                if let Some(warning) = prompt_warning(run, *agent, &prompt) {
                    self.reporter.warn(&warning);
                }
                self.reporter.prompt(&prompt);
                Ok(program.into())
            }
            Step::Check { iteration, index, round } => {
                let check = CheckStart { iteration: *iteration, index: *index, round: *round };
                lane.start_check(shared, run, state, check).map(Begun::from)
            }
            Step::Setup { iteration, index, round } => {
                let setup = CheckStart { iteration: *iteration, index: *index, round: *round };
                lane.start_setup(shared, run, setup).map(Begun::from)
            }
            Step::Prepare { round, .. } => Ok(shared.start_prepare(run, state, *round).into()),
            Step::Message { iteration, agent } => {
                Ok(Thread::survey(run, &self.shared, *iteration, *agent).into())
            }
            Step::CommitWorktree => lane.start_commit_worktree(shared, run, state).map(Begun::from),
            Step::Scm { iteration, task } => Ok(self.start_task(run, state, *iteration, *task)),
            Step::Plan { what, .. } => Ok(self.start_plan(run, state, what)),
            Step::Uncommitted { iteration, item } => {
                // That a story is done is part of its commit.
                if run.plan.restores() {
                    self.write_projections();
                }
                let lane = self.lanes.lane(number);
                lane.start_uncommitted(&self.shared, run, *iteration, item).map(Begun::from)
            }
            Step::Restore { attempt, .. } => Ok(match shared.start_restore(run, state, *attempt) {
                Some(thread) => thread.into(),
                None => Begun::Over(End::Impossible { why: "no checkpoint to go back to".to_string() }),
            }),
            Step::Snapshot { .. } => {
                // What ralph marks in the specs is no attempt's doing: it is there before one begins.
                if run.plan.restores() && self.shared.has_checkpoints() {
                    self.write_projections();
                }
                Ok(match self.shared.start_snapshot(run, state) {
                    Some(thread) => thread.into(),
                    None => Begun::Over(End::Snapshot(SnapshotEnd::default())),
                })
            }
        }
    }

    /// An agent is asked for a commit message, now that there is something to commit.
    pub(super) fn start_message(
        &mut self,
        run: &Run,
        lane: LaneNumber,
        iteration: u32,
        agent: usize,
    ) -> Result<Begun, StartError> {
        let lane = self.lanes.lane(lane);
        lane.start_message(&mut self.shared, run, iteration, agent).map(Begun::from)
    }

    /// The lane is busy with a step that has begun. One that could not begin, or is over already, ends
    /// by a fact like any other.
    pub(super) fn settle(
        &mut self,
        lane: LaneNumber,
        id: StepId,
        step: &Step,
        begun: Result<Begun, StartError>,
    ) -> Option<Fact> {
        let begun = begun.unwrap_or_else(|cause| not_begun(step, &cause));
        match begun {
            Begun::Working(work) => {
                self.lanes.lane(lane).begin(id, work);
                None
            }
            Begun::Over(end) => Some(Fact::Ended { id, end }),
        }
    }

    /// A commit and a push cannot be taken back: what led to them is on the disk first.
    fn start_task(&mut self, run: &Run, state: &State, iteration: u32, task_number: usize) -> Begun {
        let message =
            match state.work.stage.chores().and_then(|chores| chores.scm.as_ref()).map(|due| &due.message) {
                Some(Message::Text(text)) => Some(text.clone()),
                Some(Message::Unasked | Message::Needless) | None => None,
            };
        let lock = self.shared.lock();
        let access = Access::to(run).with(self.shared.sandbox.as_ref());
        let task = run.scm.as_ref();
        let task = task.and_then(|spec| Task::of(run, spec, access, iteration, task_number, message, lock));
        let refused = match (task, self.journal.settling()) {
            (Some(task), Ok(journal)) => return Thread::task(task, &mut self.shared, journal).into(),
            (None, _) => "internal error: no such scm task".to_string(),
            (_, Err(cause)) => scm::unsettled(&cause),
        };
        Begun::Over(End::Scm(TaskOutcome::Failed { why: refused }))
    }
}

/// What an agent on a terminal will not see of its prompt.
fn prompt_warning(run: &Run, agent: usize, prompt: &str) -> Option<String> {
    let agent = run.agents.get(agent).filter(|_| run.interactive.is_some())?;
    let dropped = dropped_characters(agent.dialect, prompt);
    (!dropped.is_empty())
        .then(|| format!("{} drops these characters of the prompt: {}", agent.name, dropped.join(", ")))
}

fn not_begun(step: &Step, cause: &StartError) -> Begun {
    if let StartError::Process(ProcessError::Gone) = cause {
        // The keeper has died between two steps. `wait` sees that and ends what it left; the step then
        // begins again with a new keeper.
        return Program::Unstarted.into();
    }
    let why = cause.to_string();
    Begun::Over(match step {
        // A commit that cannot be made is no reason to lose the run.
        Step::Message { .. } => scm::no_message(why),
        Step::Uncommitted { .. } => own_commit::uncommitted_failed(why),
        Step::CommitWorktree => own_commit::worktree_failed(why),
        _ => End::Impossible { why },
    })
}
