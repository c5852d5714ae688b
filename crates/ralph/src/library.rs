//! Runs ralph from another program: no terminal, no arguments, the same engine.

use crate::Error;
use crate::git::GitError;
use crate::journal::UnreadableRun;
use crate::layout::{Home, Project};
use crate::place;
use crate::process::{self, KeeperProgram, ProcessError};
use crate::report::{RunResult, Silent};
use crate::request::Terms;
use crate::request::prompt::{self, PromptError, PromptRequest};
use crate::session::{self, SessionError, SessionOptions};
use crate::settings::{self, SettingsError};
use ralph_loop::money::Usd;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a run could not begin, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("no home directory to keep runs in")]
    NoHome,
    #[error("cannot enter the project directory: {}", dir.display())]
    NoDirectory {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the ralph program is not installed")]
    NoProgram(#[source] which::Error),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Request(#[from] PromptError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Unreadable(#[from] UnreadableRun),
    #[error(transparent)]
    Git(#[from] GitError),
}

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
    pub fn run(&self) -> Result<RunResult, Error> {
        Ok(self.run_to_its_end()?)
    }

    fn run_to_its_end(&self) -> Result<RunResult, LibraryError> {
        let home = match &self.home {
            Some(root) => Some(Home::at(root.clone())),
            None => Home::find(),
        };
        let home = home.ok_or(LibraryError::NoHome)?;
        let keeper = self.keeper()?;
        let project = Project::at(self.directory()?);
        process::become_subreaper()?;
        let loaded = settings::load(&project, None)?;
        let asked = prompt::build(&self.request(), &loaded.settings, &project)?;
        let options = SessionOptions { share_workspace: false, signals: false, keeper, worker: None };
        Ok(session::open(&home, asked, &options, &mut Silent)?.result()?)
    }

    /// Removes the worktree of a run and its branch, even with unmerged or uncommitted work.
    pub fn cleanup_worktree(&self, result: &RunResult) -> Result<(), Error> {
        let Some(run) = result.run.as_ref().filter(|_| !result.worktree_path.is_empty()) else {
            return Ok(());
        };
        let (path, origin) = (Path::new(&result.worktree_path), self.directory()?);
        place::remove_worktree(path, &place::branch(run), &origin).map_err(LibraryError::Git)?;
        Ok(())
    }

    fn directory(&self) -> Result<PathBuf, LibraryError> {
        let asked = self.project_dir.as_deref().unwrap_or(Path::new("."));
        asked.canonicalize().map_err(|cause| LibraryError::NoDirectory { dir: asked.to_path_buf(), cause })
    }

    fn keeper(&self) -> Result<KeeperProgram, LibraryError> {
        let found = match &self.ralph {
            Some(path) => which::which(path),
            None => which::which("ralph"),
        };
        found.map(KeeperProgram::At).map_err(LibraryError::NoProgram)
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
