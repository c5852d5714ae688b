//! Runs ralph from another program: no terminal, no arguments, the same engine.
//!
//! A run lives on a thread of its own, so it can be started from anywhere, also from within a tokio
//! runtime. The program keeps its signal handlers and its children: unlike `ralph` itself it does not
//! become the parent of orphaned processes.
//!
//! Deliberately absent: output. What there is to say comes as moments.

mod agent;
mod cleanup;
mod error;
mod feed;
mod function;
mod handle;
mod moment;
mod plan;
mod resume;

pub use crate::worktree_removal::Kept;
pub use agent::{Agent, AgentCall, AgentError, AgentFunction};
pub use cleanup::Unmerged;
pub use error::Error;
pub use function::{SUBCOMMAND as FUNCTION, relay};
pub use handle::{Canceller, RunHandle};
pub use moment::Moment;
pub use plan::{Plan, Prompt, Stories, Tasks};
pub use resume::Resume;

use crate::catalog;
use crate::fsx;
use crate::layout::{Home, Project};
use crate::planner::intent;
use crate::process::KeeperProgram;
use crate::report::RunResult;
use crate::request::{self, Terms};
use crate::session::{self, SessionError};
use crate::settings::{self, AgentSettings, Settings};
use function::FunctionServer;
use handle::Way;
use ralph_loop::Run;
use ralph_loop::money::Usd;
use ralph_loop::sandbox::SandboxChoice;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to run, and how. Everything that is not set comes from the project's settings, as on the
/// command line.
///
/// [`Config::new`] is for a prompt; [`Prompt`], [`Stories`] and [`Tasks`] become a configuration with
/// `Config::from`.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub plan: Plan,
    /// Commands that must succeed before the work is done.
    pub checks: Vec<String>,
    pub agent: Agent,
    /// Agents that take over while the service of the first one is unavailable, by name.
    pub fallback_agents: Vec<String>,
    /// The model for the agent to use. A function chooses its own.
    pub model: Option<String>,
    pub max_iterations: Option<u32>,
    /// In US dollars.
    pub max_cost: Option<f64>,
    pub max_time: Option<Duration>,
    /// Stop after this many failed agents in a row.
    pub max_failures: Option<u32>,
    /// Stop after this many iterations in a row that change nothing and fail the same way; 0 is never.
    pub stall_after: Option<u32>,
    /// Wait at most this long for a service that is unavailable.
    pub max_outage: Option<Duration>,
    /// End an agent that takes longer.
    pub agent_timeout: Option<Duration>,
    /// End an agent that is silent for so long.
    pub inactivity_timeout: Option<Duration>,
    /// End an agent that is silent for so long while one of its tools runs.
    pub tool_timeout: Option<Duration>,
    /// End a check that takes longer; it has failed then.
    pub check_timeout: Option<Duration>,
    /// Work in a separate git worktree.
    pub use_worktree: bool,
    /// Allow other runs in the same directory.
    pub share_workspace: bool,
    /// Also log to this file.
    pub log_file: Option<PathBuf>,
    /// A command that is run when the run ends or waits.
    pub notify: Option<String>,
    /// More settings, which override the project's.
    pub settings_file: Option<PathBuf>,
    /// The project directory; by default the current directory.
    pub project_dir: Option<PathBuf>,
    /// Where runs are recorded; by default as on the command line.
    pub home: Option<PathBuf>,
    /// The `ralph` program of the same version, which supervises the agents; by default the one in
    /// `PATH`.
    pub ralph: Option<PathBuf>,
}

impl Config {
    /// For a prompt.
    pub fn new(task: impl Into<String>) -> Config {
        Prompt { task: task.into(), ..Prompt::default() }.into()
    }

    /// Runs until the run stops, for whatever reason. A run without success is a result, not an
    /// error.
    pub fn run(&self) -> Result<RunResult, Error> {
        self.start()?.wait()
    }

    /// Starts the run on a thread of its own. What is wrong with the configuration is an error here; to
    /// find that out, settings are read and git is called.
    pub fn start(&self) -> Result<RunHandle, Error> {
        let (home, ralph) = (self.home()?, program(self.ralph.as_deref())?);
        let project = Project::at(self.directory()?);
        let loaded = settings::load(&project, self.settings_file.as_deref())?;
        let (settings, mut warnings) = (self.agent.adapt(loaded.settings), loaded.warnings);
        let taken_back = intent::take_back(&home, &project).map_err(SessionError::from)?;
        warnings.extend(taken_back.iter().map(ToString::to_string));
        let (mut requested, about_plan) = self.plan.build(self.terms(&ralph), &settings, &project)?;
        warnings.extend(about_plan);
        warnings.extend(request::warnings(&requested.run));
        warnings.extend(self.tool_timeout.and_then(|_| request::tool_timeout_warning(&requested.run)));
        let server = self.agent.serve(&home, &mut requested.run)?;
        let id = requested.run.id.clone();
        let way = Way { keeper: KeeperProgram::At(ralph), share_workspace: self.share_workspace };
        RunHandle::start(id.clone(), warnings, way, move |options, reporter| {
            let ended = session::open(&home, requested, options, reporter);
            drop(server);
            let run_dir = home.run(&id);
            if ended.is_err() && !run_dir.journal().exists() {
                // It was made for the socket of a function; without a journal it is no run.
                let _ = fsx::remove_empty_dir(run_dir.dir());
            }
            if let Err(error) = catalog::prune(&home, project.dir(), settings.keep_runs) {
                reporter.warn(&error.to_string());
            }
            ended
        })
    }

    fn home(&self) -> Result<Home, Error> {
        home(self.home.as_deref())
    }

    fn directory(&self) -> Result<PathBuf, Error> {
        let dir = self.project_dir.as_deref().unwrap_or(Path::new("."));
        dir.canonicalize().map_err(|cause| Error::NoDirectory { dir: dir.to_path_buf(), cause })
    }

    fn terms(&self, ralph: &Path) -> Terms {
        let (agent, command) = match &self.agent {
            Agent::FromSettings => (None, Vec::new()),
            Agent::Named(name) => (Some(name.clone()), Vec::new()),
            Agent::Command(command) => (None, command.clone()),
            Agent::Function(_) => (None, vec![ralph.to_string_lossy().into_owned(), FUNCTION.into()]),
        };
        let model = match &self.agent {
            Agent::Function(_) => None,
            Agent::FromSettings | Agent::Named(_) | Agent::Command(_) => self.model.clone(),
        };
        Terms {
            max_iterations: self.max_iterations,
            checks: self.checks.clone(),
            agent,
            command,
            model,
            timeout: self.agent_timeout.map(milliseconds),
            max_time: self.max_time.map(milliseconds),
            max_cost: self.max_cost.map(Usd::from_dollars),
            max_failures: self.max_failures,
            stall_after: self.stall_after,
            check_timeout: self.check_timeout.map(milliseconds),
            log_file: self.log_file.clone(),
            fallback_agents: self.fallback_agents.clone(),
            max_outage: self.max_outage.map(milliseconds),
            worktree: self.use_worktree,
            silence: self.inactivity_timeout.map(milliseconds),
            tool_silence: self.tool_timeout.map(milliseconds),
            notify: self.notify.clone(),
            // A function works in the program that uses the library.
            sandbox: Some(SandboxChoice::None),
            ..Terms::default()
        }
    }
}

impl Agent {
    /// The model in the settings is not for a function.
    fn adapt(&self, settings: Settings) -> Settings {
        match self {
            Agent::Function(_) => {
                let agent = AgentSettings { model: None, ..settings.agent };
                Settings { agent, ..settings }
            }
            Agent::FromSettings | Agent::Named(_) | Agent::Command(_) => settings,
        }
    }

    /// Makes a function the first agent of a run. It is called as long as the server is there.
    fn serve(&self, home: &Home, run: &mut Run) -> Result<Option<FunctionServer>, Error> {
        let Agent::Function(function) = self else { return Ok(None) };
        let run_dir = home.run(&run.id);
        if let Some(agent) = run.agents.first_mut() {
            agent.name = "function".to_string();
            agent.args = vec![FUNCTION.to_string(), run_dir.dir().to_string_lossy().into_owned()];
        }
        listen(home, &run.id, function).map(Some)
    }
}

fn listen(home: &Home, run: &str, function: &AgentFunction) -> Result<FunctionServer, Error> {
    let run_dir = home.run(run);
    FunctionServer::listen(&run_dir, function.clone())
        .map_err(|cause| Error::CannotListen { dir: run_dir.dir().to_path_buf(), cause })
}

fn home(asked: Option<&Path>) -> Result<Home, Error> {
    match asked {
        // The home outlives changes of directory.
        Some(root) => std::path::absolute(root).ok().map(Home::at),
        None => Home::find(),
    }
    .ok_or(Error::NoHome)
}

fn program(asked: Option<&Path>) -> Result<PathBuf, Error> {
    let found = which::which(asked.unwrap_or(Path::new("ralph"))).map_err(Error::NoProgram)?;
    Ok(std::path::absolute(&found).unwrap_or(found))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
