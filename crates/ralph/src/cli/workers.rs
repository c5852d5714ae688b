//! What the commands about workers share.

use super::exit_code;
use crate::error::{CliError, continue_with};
use crate::fsx;
use crate::journal;
use crate::layout::Home;
use crate::lock::{NameLock, RunLock};
use crate::report::say;
use crate::tmux::{SESSION, Tmux};
use std::process::ExitCode;

/// Waits for the end of a run and of the process of its worker, whose name is free then. Returns the run's exit
/// code.
pub(super) fn end_of(home: &Home, run: &str, worker: Option<&str>) -> Result<ExitCode, CliError> {
    let run_dir = home.run(run);
    let process = |()| worker.map_or(Ok(()), |name| NameLock::wait(home, name));
    let ended = RunLock::wait(&run_dir).and_then(process);
    ended.map_err(|cause| CliError::failed("cannot wait for the worker").cause(cause))?;
    let replayed = journal::replay(&run_dir, |_, _, _| {}).map_err(|cause| cause.of_run(run))?;
    match &replayed.state.stopped {
        Some(stopped) => Ok(exit_code(stopped.reason, &replayed.state)),
        None => Err(CliError::failed("its process died before the run ended").hint(continue_with(run))),
    }
}

/// A worker runs without its window too: problems there are only warnings.
pub(super) fn show_window(home: &Home, name: &str) -> String {
    match Tmux::of(home).show(name) {
        Ok(()) => format!("tmux: {SESSION}:{name}"),
        Err(cause) => {
            say(&format!("ralph: warning: no tmux window for '{name}': {cause}"));
            "no tmux".to_string()
        }
    }
}

/// Removes a worker that is not running; its run stays.
pub(super) fn forget(home: &Home, name: &str) -> Result<(), CliError> {
    Tmux::of(home).close(name);
    fsx::remove_tree(home.worker(name).dir())
        .map_err(|cause| CliError::failed(format!("cannot remove worker '{name}'")).cause(cause))
}
