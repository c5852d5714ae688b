//! What the commands that run a loop have in common: their flags, and how a run is lived.

use super::args::{OutputArgs, ProjectArgs, WatchArgs, dollars, duration};
use super::config::refused;
use super::{Stream, home, report_on};
use crate::catalog;
use crate::error::CliError;
use crate::layout::Project;
use crate::report::say;
use crate::request::{self, Asked, Terms};
use crate::seat;
use crate::session::{self, Conduct};
use crate::settings::{self, Settings};
use clap::Args;
use ralph_loop::money::Usd;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct LoopArgs {
    /// Stop after so many iterations (run: 10, tasks: 15, stories: what they can take)
    #[arg(short = 'n', long, alias = "maximum-iterations", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_iterations: Option<u32>,
    /// A command that must succeed; may be given several times
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    /// The agent: claude, codex, amp, or any program
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Option<String>,
    /// Another agent while the first one's service refuses; may be given several times
    #[arg(long, value_name = "NAME")]
    fallback_agent: Vec<String>,
    /// The agent's model
    #[arg(short, long)]
    model: Option<String>,
    /// End an agent that takes longer: 90, 15m, 2h (stories: 30m)
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    timeout: Option<u64>,
    /// End the run after so long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_time: Option<u64>,
    /// Wait so long for a service that is down (2h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_outage: Option<u64>,
    /// Begin no iteration once agents have cost so many dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Usd>,
    /// More settings, above those of the project
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show what the agent does while it does it (the default)
    #[arg(long, overrides_with = "no_stream_agent_output")]
    stream_agent_output: bool,
    /// Show only what ralph itself does
    #[arg(long)]
    no_stream_agent_output: bool,
    #[command(flatten)]
    watch: WatchArgs,
    /// Work in a git worktree of the run's own; this directory is not touched
    #[arg(long)]
    worktree: bool,
    /// Allow other runs in the same directory
    #[arg(long)]
    share_workspace: bool,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Any program as the agent, with its arguments; the prompt goes to its standard input, or
    /// where {prompt} or {prompt_file} stands
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl LoopArgs {
    pub fn terms(&self) -> Terms {
        Terms {
            max_iterations: self.max_iterations,
            checks: self.check.clone(),
            agent: self.agent.clone(),
            command: self.command.clone(),
            model: self.model.clone(),
            timeout: self.timeout,
            max_time: self.max_time,
            max_cost: self.max_cost,
            max_failures: None,
            stall_after: None,
            fallback_agents: self.fallback_agent.clone(),
            max_outage: self.max_outage,
            worktree: self.worktree,
            silence: self.watch.inactivity_timeout,
            tool_silence: self.watch.tool_timeout,
            notify: self.watch.notify.clone(),
            seated: seat::current().is_some(),
            unplanned: seat::current().is_some_and(|seat| seat.unplanned),
        }
    }

    pub fn project(&self) -> Result<Project, CliError> {
        Ok(Project::at(self.project.dir()?))
    }

    /// The settings that count, with what there is to say about them said.
    pub fn settings(&self, project: &Project) -> Result<Settings, CliError> {
        let loaded = settings::load(project, self.config.as_deref()).map_err(|error| refused(&error))?;
        if self.output.verbose {
            for file in &loaded.files {
                say(&format!("[ralph] Loading settings from {}", file.display()));
            }
            if let Ok(merged) = serde_json::to_string(&loaded.effective.masked()) {
                say(&format!("[ralph] Merged settings: {merged}"));
            }
        }
        for warning in &loaded.warnings {
            say(&format!("ralph: warning: {warning}"));
        }
        Ok(loaded.settings)
    }

    /// Lives a run from its beginning to its end.
    pub fn live(&self, asked: Asked, settings: &Settings) -> Result<ExitCode, CliError> {
        let (home, dir) = (home()?, self.project.dir()?);
        for warning in request::warnings(&asked.run) {
            say(&format!("ralph: warning: {warning}"));
        }
        let conduct = Conduct::of_program(self.share_workspace);
        let streams =
            (self.stream_agent_output || settings.stream_agent_output) && !self.no_stream_agent_output;
        let stream = if streams { Stream::Shown } else { Stream::Hidden };
        let ended =
            report_on(&self.output, stream, |reporter| session::open(&home, asked, &conduct, reporter));
        if let Err(error) = catalog::prune(&home, &dir, settings.keep_runs) {
            say(&format!("ralph: warning: {}", error.message));
        }
        ended
    }
}
