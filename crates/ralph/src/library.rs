//! Runs ralph from another program: no terminal, no arguments, the same engine.

use crate::error::CliError;
use crate::layout::{Home, Project};
use crate::place;
use crate::process::{self, KeeperProgram};
use crate::report::{RunResult, Silent};
use crate::request::Terms;
use crate::request::prompt::{self, PromptRequest};
use crate::session::{self, SessionOptions};
use crate::settings;
use ralph_loop::money::Usd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to run. Everything that is not set comes from the project's settings, as for `ralph run`.
///
/// The calling process becomes the subreaper of the run's processes, so that none of them outlives
/// it. ralph installs no signal handlers: a signal to the caller does not stop the run.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What the agent should do.
    pub task: String,
    /// A file to send instead of the task.
    pub spec_file: Option<PathBuf>,
    /// Commands that must succeed before the run is done.
    pub checks: Vec<String>,
    /// Done when the checks pass, whatever the agent says.
    pub checks_only: bool,
    /// The word the agent says when it is done.
    pub completion_response: Option<String>,
    pub max_iterations: Option<u32>,
    /// In US dollars.
    pub max_cost: Option<f64>,
    pub max_time: Option<Duration>,
    /// `claude`, `codex`, `amp` or any other program.
    pub agent: Option<String>,
    /// A program to use as the agent, with its arguments; overrides `agent`.
    pub command: Vec<String>,
    pub model: Option<String>,
    /// Work in a separate git worktree.
    pub use_worktree: bool,
    /// The project directory; by default the current directory.
    pub project_dir: Option<PathBuf>,
    /// Where runs are recorded; by default as for `ralph run`.
    pub home: Option<PathBuf>,
    /// The `ralph` program, which ralph starts to supervise the agents; by default the one in `PATH`.
    pub ralph: Option<PathBuf>,
}

impl Config {
    pub fn new(task: impl Into<String>) -> Config {
        Config { task: task.into(), ..Config::default() }
    }

    /// Runs until the run stops, for whatever reason. A run without success is a result, not an
    /// error.
    pub fn run(&self) -> Result<RunResult, CliError> {
        let home = match &self.home {
            Some(root) => Some(Home::at(root.clone())),
            None => Home::find(),
        };
        let home = home.ok_or_else(|| CliError::usage("no home directory to keep runs in"))?;
        let keeper = self.keeper()?;
        let project = Project::at(self.directory()?);
        process::become_subreaper().map_err(|cause| CliError::from_error(&cause, crate::Code::Failed))?;
        let loaded = settings::load(&project, None)
            .map_err(|problems| CliError::from_error(&problems, crate::Code::Usage))?;
        let asked = prompt::build(&self.request(), &loaded.settings, &project)?;
        let options = SessionOptions { share_workspace: false, signals: false, keeper, worker: None };
        Ok(session::open(&home, asked, &options, &mut Silent)?.result()?)
    }

    /// Removes the worktree of a run and its branch, even with unmerged or uncommitted work.
    pub fn cleanup_worktree(&self, result: &RunResult) -> Result<(), CliError> {
        let Some(run) = result.run.as_ref().filter(|_| !result.worktree_path.is_empty()) else {
            return Ok(());
        };
        place::remove_worktree(Path::new(&result.worktree_path), &place::branch(run), &self.directory()?)
            .map_err(|cause| CliError::from_error(&cause, crate::Code::Failed))
    }

    fn directory(&self) -> Result<PathBuf, CliError> {
        let asked = self.project_dir.as_deref().unwrap_or(Path::new("."));
        asked.canonicalize().map_err(|cause| {
            CliError::usage(format!("cannot enter the project directory: {}", asked.display())).cause(cause)
        })
    }

    fn keeper(&self) -> Result<KeeperProgram, CliError> {
        let found = match &self.ralph {
            Some(path) => which::which(path),
            None => which::which("ralph"),
        };
        found.map(KeeperProgram::At).map_err(|cause| {
            CliError::usage("the ralph program is not installed")
                .cause(cause)
                .hint("install it, or set its path in `ralph`")
        })
    }

    fn request(&self) -> PromptRequest {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        PromptRequest {
            task: Some(self.task.clone()).filter(|task| !task.is_empty()),
            spec: self.spec_file.clone(),
            checks_only: self.checks_only,
            completion_response: self.completion_response.clone(),
            terms: Terms {
                checks: self.checks.clone(),
                max_iterations: self.max_iterations,
                max_cost: self.max_cost.map(Usd::from_dollars),
                max_time: self.max_time.map(milliseconds),
                agent: self.agent.clone(),
                command: self.command.clone(),
                model: self.model.clone(),
                worktree: self.use_worktree,
                ..Terms::default()
            },
            ..PromptRequest::default()
        }
    }
}
