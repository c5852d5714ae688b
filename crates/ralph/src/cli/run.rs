//! `ralph run`: loop one prompt until it is proven done.

use super::args::{OutputArgs, ProjectArgs, WatchArgs, dollars, duration};
use super::config::refused;
use super::{Stream, home, report_on};
use crate::catalog;
use crate::error::CliError;
use crate::layout::Project;
use crate::report::say;
use crate::request::{self, Request};
use crate::seat;
use crate::session::{self, Conduct};
use crate::settings;
use clap::{Args, Parser};
use ralph_loop::money::Usd;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// What to do, in words
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// What to do, in words (instead of TASK)
    #[arg(short, long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A file that says what to do; read anew for each iteration
    #[arg(short = 'f', long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// A specification to send instead of TASK
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Stop after so many iterations
    #[arg(short = 'n', long, alias = "maximum-iterations", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,
    /// The word that the agent says when it is done
    #[arg(short, long, alias = "completion-tag", value_name = "WORD")]
    completion_response: Option<String>,
    /// A regular expression: done when a line of the agent's own words matches it
    #[arg(long, value_name = "REGEX", conflicts_with = "completion_response")]
    done_pattern: Option<String>,
    /// Let the checks alone decide, whatever the agent says
    #[arg(long, conflicts_with_all = ["completion_response", "done_pattern"])]
    checks_only: bool,
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
    /// End an agent that takes longer: 90, 15m, 2h
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
    /// End the run after so many failed agents in a row
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_failures: Option<u32>,
    /// End the run after so many iterations in a row that change nothing and fail alike; 0 is never
    #[arg(long, value_name = "N")]
    stall_after: Option<u32>,
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

const EXAMPLES: &str = "\
Examples:
  ralph run \"make the tests pass\" --check \"make test\"
  ralph run -f PROMPT.md --check \"cargo test\" --max-cost 5 --max-time 8h
  ralph run \"tidy up\" --checks-only --check ./lint.sh -- ./my-agent --file {prompt_file}

A run is done when all checks pass and the agent has said <response>DONE</response>.";

/// What a spawned prompt has to be told, said before anything else is looked at.
pub(super) fn check_spawned(words: &[OsString]) -> Result<(), CliError> {
    let Ok(parsed) = Spawned::try_parse_from(words) else { return Ok(()) }; // the worker says it
    let request = parsed.run.request();
    request::check_spawned(&Request { seated: true, ..request })
}

#[derive(Parser)]
struct Spawned {
    #[command(flatten)]
    run: RunArgs,
}

pub fn run(args: &RunArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let project = Project::at(args.project.dir()?);
    let loaded = settings::load(&project, args.config.as_deref()).map_err(|error| refused(&error))?;
    if args.output.verbose {
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
    let (run, prompt) = request::build(&args.request(), &loaded.settings, &project)?;
    for warning in request::warnings(&run) {
        say(&format!("ralph: warning: {warning}"));
    }
    let conduct = Conduct::of_program(args.share_workspace);
    let streams =
        (args.stream_agent_output || loaded.settings.stream_agent_output) && !args.no_stream_agent_output;
    let stream = if streams { Stream::Shown } else { Stream::Hidden };
    let ended = report_on(&args.output, stream, |reporter| {
        session::open(&home, run, prompt.as_deref(), &conduct, reporter)
    });
    if let Err(error) = catalog::prune(&home, loaded.settings.keep_runs) {
        say(&format!("ralph: warning: {}", error.message));
    }
    ended
}

impl RunArgs {
    fn request(&self) -> Request {
        Request {
            task: self.task.clone(),
            prompt: self.prompt.clone(),
            prompt_file: self.prompt_file.clone(),
            spec: self.spec.clone(),
            max_iterations: self.max_iterations,
            completion_response: self.completion_response.clone(),
            checks_only: self.checks_only,
            checks: self.check.clone(),
            agent: self.agent.clone(),
            command: self.command.clone(),
            model: self.model.clone(),
            timeout: self.timeout,
            max_time: self.max_time,
            max_cost: self.max_cost,
            max_failures: self.max_failures,
            stall_after: self.stall_after,
            fallback_agents: self.fallback_agent.clone(),
            max_outage: self.max_outage,
            worktree: self.worktree,
            done_pattern: self.done_pattern.clone(),
            silence: self.watch.inactivity_timeout,
            tool_silence: self.watch.tool_timeout,
            seated: seat::current().is_some(),
        }
    }
}
