//! What the command line makes of errors from below it: the exit code, and a way out.
//!
//! Modules say what went wrong, as data. Only here does it become advice, since only the command
//! line knows the flags and commands that help. Invariant: a hint is written once.

mod guard;
mod history;
mod library;
mod place;
mod planner;
mod plugin;
mod request;
mod sandbox;
mod session;
mod tasks;
mod tmux;
mod worker;

pub use history::ALL_RUNS;
pub use plugin::fix as plugin_fix;
pub use request::how_to_install;

use crate::error::CliError;

/// The way out where nothing can be recorded.
pub const RALPH_HOME: &str = "set RALPH_HOME to a writable directory";

/// Errors are converted by reference, since one can hold another; `?` hands them over.
macro_rules! by_value {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for CliError {
            fn from(error: $error) -> CliError {
                CliError::from(&error)
            }
        })+
    };
}

by_value!(
    crate::catalog::CatalogError,
    crate::guard::DecidedError,
    crate::guard::OrdersError,
    crate::journal::UnreadableRun,
    crate::lock::LockError,
    crate::place::PlaceError,
    crate::planner::PlannerError,
    crate::plugin::PluginError,
    crate::request::RequestError,
    crate::request::prompt::PromptError,
    crate::request::root::RefusesRoot,
    crate::request::stories::StoriesError,
    crate::request::tasks::TasksError,
    crate::run_history::HistoryError,
    crate::sandbox::SandboxError,
    crate::session::SessionError,
    crate::target::TargetError,
    crate::tasks::archive::ArchiveError,
    crate::tasks::import::NoTaskList,
    crate::tmux::TmuxError,
    crate::worker::WorkerError,
    ralph_loop::done_pattern::DonePatternError,
);
