//! What is wrong with a request, whatever it is for. Each kind of request has its own errors
//! beside these.

use super::root::RefusesRoot;
use crate::guard::DecidedError;
use crate::place::PlaceError;
use crate::sandbox::SandboxError;
use ralph_loop::dialect::CommandLineError;
use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum RequestError {
    #[error("the agent is not installed: {program}")]
    AgentMissing { program: String },
    #[error("the agent's command uses {{model}}, but no model is set: {program}")]
    NoModel { program: String },
    /// The agent's command has no place for it.
    #[error("cannot pass the model to the agent: {program}")]
    ModelWithoutPlace { program: String, model: String },
    /// It could not be started on a terminal.
    #[error("cannot run {program} with --interactive")]
    NotInteractive {
        program: String,
        #[source]
        cause: CommandLineError,
    },
    #[error(transparent)]
    Root(#[from] RefusesRoot),
    #[error("the command of a check is empty")]
    EmptyCheck,
    #[error("the program of a check is not installed: {program}")]
    CheckMissing { program: String, check: String },
    #[error(transparent)]
    LogFile(io::Error),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Guard(#[from] DecidedError),
}
