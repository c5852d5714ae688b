//! The result of a run, as programs get it.

use crate::error::continue_with;
use crate::journal::{self, UnreadableRun};
use crate::layout::RunDir;
use crate::report::{
    ErrorReport, NetworkReport, ProofReport, RunResult, TasksLeft, WITHOUT_COPY, in_the_way, proof,
    refusal_advice,
};
use ralph_loop::event::{Event, StopKind, StopReason};
use ralph_loop::state::Stopped;
use ralph_loop::view::Moments;
use ralph_loop::{Run, State};

/// A run's result as its journal records it.
pub fn result_of(run_dir: &RunDir) -> Result<RunResult, UnreadableRun> {
    let (mut moments, mut iterations) = (Moments::default(), Vec::new());
    let each = |run: &Run, state: &State, event: &Event| {
        iterations.extend(moments.iteration(run, state, event));
    };
    let replayed = journal::replay(run_dir, each).map_err(|cause| cause.of_run(&run_dir.id()))?;
    let journal::Replayed { run, state, .. } = replayed;
    iterations.extend(moments.cut_short(&run, &state));
    let stopped = state.stopped.as_ref();
    let reason = stopped.map(|stopped| stopped.reason);
    let error = stopped.and_then(|stopped| error(&run, &state, stopped));
    Ok(RunResult {
        plan: Some(run.plan.name()),
        success: reason.is_some_and(|reason| state.is_success(reason)),
        stop_reason: reason.unwrap_or(StopReason::Error),
        total_iterations: iterations.len(),
        total_cost: state.ledger.spent.usd.dollars(),
        cost_estimated: state.ledger.spent.estimated,
        total_duration: state.position.up_ms as f64 / 1000.0,
        iterations,
        tasks: tasks_left(&run, &state).map_or_else(Vec::new, |tasks| tasks.stories),
        sandbox: run.confinement.sandbox().map(|spec| spec.kind.name()),
        guard: run.guard.as_ref().is_some_and(|spec| spec.unwatched.is_empty()),
        network: NetworkReport::of(&state.refused),
        worktree_path: run.place.own_tree().map_or_else(String::new, |path| path.display().to_string()),
        proof: ProofReport::of(&run, &state),
        error,
        run: Some(run.id),
    })
}

/// What has gone wrong, where something has.
fn error(run: &Run, state: &State, stopped: &Stopped) -> Option<ErrorReport> {
    let hint = match stopped.reason.kind() {
        StopKind::Failed => refusal_advice(run, state).unwrap_or_else(|| continue_with(&run.id)),
        // It is more than that nothing changes.
        StopKind::Stalled if stopped.note.is_some() => {
            proof::only_on_copy_advice(state).unwrap_or_else(|| continue_with(&run.id))
        }
        StopKind::Unusable if stopped.reason == StopReason::SandboxInTheWay => {
            in_the_way::advice(state).join("; ")
        }
        StopKind::Unusable => WITHOUT_COPY.to_string(),
        StopKind::Done
        | StopKind::Limit
        | StopKind::Stalled
        | StopKind::GaveUp
        | StopKind::Paused
        | StopKind::Killed
        | StopKind::Interrupted => return None,
    };
    let message = stopped.note.clone().unwrap_or_else(|| "an unexpected error".into());
    Some(ErrorReport { message, cause: None, hint: Some(hint) })
}

pub(super) fn tasks_left(run: &Run, state: &State) -> Option<TasksLeft> {
    TasksLeft::of(run.plan.as_tasks()?, state.plan.as_tasks()?)
}
