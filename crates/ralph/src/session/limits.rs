//! A run that has reached a limit, and the command that gives it more.

use super::SessionError;
use crate::journal::{self, UnreadableRun};
use crate::layout::{Home, WorkerDir};
use crate::report::command_name;
use crate::worker;
use ralph_loop::limits::TotalLimit;
use ralph_loop::state::Resumable;
use ralph_loop::{Run, State};

/// An error that says how to go on, where a run cannot be resumed as it is.
pub(super) fn is_resumable(run: &Run, state: &State, name: &str) -> Result<(), SessionError> {
    let id = &run.id;
    let Some(limit) = state.limit_reached().filter(|_| state.resumable() == Resumable::WithHigherLimit)
    else {
        return match state.resumable() {
            Resumable::Never => {
                Err(SessionError::Complete { run: id.clone(), command: command_name(&run.plan) })
            }
            Resumable::Now | Resumable::WithHigherLimit => Ok(()),
        };
    };
    let (used, resume) = ((limit.used)(state), higher_limit(state, limit, name));
    Err(SessionError::LimitReached { run: id.clone(), used, resume })
}

/// The command that resumes a run which has reached a limit, with a higher one.
pub fn resume_command(home: &Home, id: &str) -> Result<Option<String>, UnreadableRun> {
    let replayed = journal::replay(&home.run(id), |_, _, _| {}).map_err(|cause| cause.of_run(id))?;
    let state = &replayed.state;
    let name = worker::workers_of(home, id).first().map_or_else(|| id.to_string(), WorkerDir::name);
    Ok(state.limit_reached().map(|limit| higher_limit(state, limit, &name)))
}

/// The command that gives a run as much again as it has used.
pub(super) fn higher_limit(state: &State, limit: &TotalLimit, name: &str) -> String {
    format!("ralph resume {} {name}", (limit.doubled)(state))
}
