//! Who does the work: a program, or a function of the program that uses ralph.

use super::function::Connection;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The agent of a run.
#[derive(Clone, Debug, Default)]
pub enum Agent {
    /// The one in the project's settings.
    #[default]
    FromSettings,
    /// `claude`, `codex`, `amp` or any other program.
    Named(String),
    /// A program and its arguments. It gets the prompt on standard input, or in place of `{prompt}` or
    /// `{prompt_file}`.
    Command(Vec<String>),
    Function(AgentFunction),
}

impl Agent {
    pub fn named(name: impl Into<String>) -> Agent {
        Agent::Named(name.into())
    }

    pub fn command(program: impl Into<String>, args: impl IntoIterator<Item = impl Into<String>>) -> Agent {
        let args = args.into_iter().map(Into::into);
        Agent::Command(std::iter::once(program.into()).chain(args).collect())
    }

    /// See [`AgentFunction::new`].
    pub fn function<F>(function: F) -> Agent
    where
        F: Fn(&AgentCall) -> Result<String, AgentError> + Send + Sync + 'static,
    {
        Agent::Function(AgentFunction::new(function))
    }
}

/// Why a function could not do its work.
pub type AgentError = Box<dyn Error + Send + Sync>;

type Function = dyn Fn(&AgentCall) -> Result<String, AgentError> + Send + Sync;

/// A function that plays the agent.
#[derive(Clone)]
pub struct AgentFunction(Arc<Function>);

impl AgentFunction {
    /// The function is called once per iteration, on a thread of its own and never twice at a time. It
    /// returns the last words of the agent, in which ralph looks for the response that it is done. An
    /// error or a panic is a failed agent.
    ///
    /// ralph starts a small process for each call, which stands for the function: timeouts, streams,
    /// the record and the checks are as for any other agent. A thread cannot be killed, though. A
    /// function that may run long has to look at [`AgentCall::is_cancelled`], and what it starts is its
    /// own to end.
    pub fn new<F>(function: F) -> AgentFunction
    where
        F: Fn(&AgentCall) -> Result<String, AgentError> + Send + Sync + 'static,
    {
        AgentFunction(Arc::new(function))
    }

    pub(super) fn call(&self, call: &AgentCall) -> Result<String, AgentError> {
        (self.0)(call)
    }
}

impl fmt::Debug for AgentFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentFunction")
    }
}

/// What a function is asked.
#[derive(Debug)]
pub struct AgentCall {
    pub(super) prompt: String,
    pub(super) dir: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    pub(super) connection: Connection,
}

impl AgentCall {
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The directory to work in: the project, or the worktree of the run.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Counts from 1.
    pub fn iteration(&self) -> u32 {
        self.env("RALPH_ITERATION").and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// A variable that other agents find in their environment, such as `RALPH_RUN` or `RALPH_STORY`.
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str)
    }

    /// Words of the agent, while it works. Nothing happens once the call is cancelled.
    pub fn print(&self, text: &str) {
        self.connection.print(text);
    }

    /// Whether the answer is no longer wanted: the agent took too long, or the run is stopped.
    pub fn is_cancelled(&self) -> bool {
        self.connection.is_closed()
    }
}
