//! What the commands that run a loop have in common: their flags, and how a run is lived.

use super::args::{InteractiveArgs, OutputArgs, ProjectArgs, WatchArgs, count, dollars, duration};
use super::config::refused;
use super::format::{Format, is_for_a_person};
use super::habits;
use super::in_the_way::{Question, Reply, allow};
use super::{INTERRUPTED, Stream, code, home, report_on};
use crate::catalog;
use crate::engine::{FirstPrompt, first_prompt};
use crate::error::CliError;
use crate::layout::Project;
use crate::report::{Out, say};
use crate::request::{self, RequestedRun, Terms};
use crate::session::{self, Ended, SessionOptions};
use crate::settings::{self, Settings};
use crate::worker;
use clap::Args;
use ralph_loop::money::Usd;
use ralph_loop::proof::ProofMode;
use ralph_loop::sandbox::SandboxChoice;
use ralph_loop::text::{counted, printable};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct LoopArgs {
    /// Stop after this many iterations [default: run 10, tasks 15; stories: enough
    /// for all retries]
    #[arg(short = 'n', long, alias = "maximum-iterations", value_name = "N", value_parser = count)]
    pub max_iterations: Option<u32>,
    /// Command that must succeed before the work is done; can be repeated
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    check: Vec<String>,
    /// The agent: claude, codex, amp or any other program
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Option<String>,
    /// Switch to this agent while the service of the first one is unavailable; can be repeated
    #[arg(long, value_name = "NAME")]
    fallback_agent: Vec<String>,
    /// Model for the agent to use
    #[arg(short, long)]
    model: Option<String>,
    /// Stop an agent that takes longer: 90 (seconds), 15m, 2h [default: none; stories: 30m]
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    timeout: Option<u64>,
    /// Stop the run after this much time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_time: Option<u64>,
    /// Wait at most this long for a service that is unavailable [default: 2h]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_outage: Option<u64>,
    /// Start no more iterations once the agents have cost this much
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Usd>,
    /// Stop after this many failed agents in a row [default: 5; stories: no limit]
    #[arg(long, value_name = "N", value_parser = count)]
    max_failures: Option<u32>,
    /// Stop after this many iterations in a row that change nothing and fail the same way; 0 means
    /// never [default: 5; stories: never]
    #[arg(long, value_name = "N")]
    stall_after: Option<u32>,
    /// Stop a check that takes longer, and count it as failed [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    check_timeout: Option<u64>,
    /// Where the checks prove a result: on a clean copy where that is possible (auto), only there
    /// (clean), in the working tree (in-place), or on a clean copy with unchanged tests (strict)
    #[arg(long, value_name = "HOW", value_parser = proof_mode)]
    proof: Option<ProofMode>,
    /// Do not run the checks before the first agent
    #[arg(long)]
    no_baseline: bool,
    /// Keep agents and checks inside the project: auto (the default), bwrap, landlock or none; alone,
    /// any that works. NAME needs the equals sign: after a space comes the prompt
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "any",
          value_parser = sandbox, conflicts_with = "no_sandbox")]
    sandbox: Option<SandboxChoice>,
    /// Let agents and checks run with your own rights
    #[arg(long)]
    no_sandbox: bool,
    /// Print the prompt without starting anything
    #[arg(short, long)]
    pub dry_run: bool,
    /// Also log to this file [default: none; stories: ralph.log]
    #[arg(short, long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// Read more settings from this file; they override the project's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show what the agent does while it works (the default)
    #[arg(long, overrides_with = "no_stream_agent_output")]
    stream_agent_output: bool,
    /// Show only what ralph does
    #[arg(long)]
    no_stream_agent_output: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    interactive: InteractiveArgs,
    /// Work in a separate git worktree and leave this directory alone
    #[arg(long)]
    worktree: bool,
    /// Allow other runs in the same directory
    #[arg(long)]
    share_workspace: bool,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Any program to use as the agent, with its arguments; it gets the prompt on standard input,
    /// or in place of {prompt} or {prompt_file}
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
            max_failures: self.max_failures,
            stall_after: self.stall_after,
            check_timeout: self.check_timeout,
            proof: self.proof,
            no_baseline: self.no_baseline,
            sandbox: if self.no_sandbox { Some(SandboxChoice::None) } else { self.sandbox },
            log_file: self.log_file.clone(),
            fallback_agents: self.fallback_agent.clone(),
            max_outage: self.max_outage,
            // Nothing is made for a run that does not begin.
            worktree: self.worktree && !self.dry_run,
            silence: self.watch.inactivity_timeout,
            tool_silence: self.watch.tool_timeout,
            notify: self.watch.notify.clone(),
            interactive: self.interactive.terms(),
            seated: worker::current().is_some(),
            unplanned: worker::current().is_some_and(|worker| worker.unplanned),
        }
    }

    pub fn project(&self) -> Result<Project, CliError> {
        habits::model(self.model.as_deref())?;
        self.project.project()
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

    /// The same, without a word.
    pub fn quiet_settings(&self, project: &Project) -> Result<Settings, CliError> {
        let loaded = settings::load(project, self.config.as_deref()).map_err(|error| refused(&error))?;
        Ok(loaded.settings)
    }

    /// As a worker's.
    pub fn seated_terms(&self, unplanned: bool) -> Terms {
        Terms { seated: true, unplanned, ..self.terms() }
    }

    /// Runs what was asked for to its end, or shows how it would begin. `again` makes the same request with other
    /// terms and settings, where the user has decided so.
    pub fn live(
        &self,
        requested: RequestedRun,
        settings: &Settings,
        again: impl Fn(Terms, &Settings) -> Result<RequestedRun, CliError>,
    ) -> Result<ExitCode, CliError> {
        if self.dry_run {
            return dry_run(&requested, self.output.verbose);
        }
        let mut question = Question::at_terminal(&self.output);
        let (mut terms, mut settings, mut requested) = (self.terms(), settings.clone(), requested);
        loop {
            let ended = self.live_once(requested, &settings, question.is_some())?;
            let Some(question) = question.as_mut().filter(|_| Question::is_about(&ended)) else {
                return Ok(code(&ended));
            };
            match question.ask(&ended) {
                Reply::Allow => allow(&mut settings.sandbox, &ended),
                Reply::WithoutSandbox => terms.sandbox = Some(SandboxChoice::None),
                Reply::Stop => return Ok(code(&ended)),
                Reply::Interrupted => return Ok(ExitCode::from(INTERRUPTED)),
            }
            requested = again(terms.clone(), &settings)?;
        }
    }

    /// Those of workers are shown by `ralph attach`.
    fn can_show_terminals(&self) -> bool {
        worker::current().is_some() || (self.output.format == Format::Human && is_for_a_person())
    }

    fn live_once(&self, requested: RequestedRun, settings: &Settings, asks: bool) -> Result<Ended, CliError> {
        let (home, dir) = (home()?, self.project.dir()?);
        if requested.run.interactive.is_some() && !self.can_show_terminals() {
            return Err(CliError::usage("--interactive needs a terminal to show the agent's")
                .hint("in the background: ralph spawn --name NAME --interactive …"));
        }
        let ignored = self.watch.tool_timeout.and_then(|_| request::tool_timeout_warning(&requested.run));
        for warning in request::warnings(&requested.run).into_iter().chain(ignored) {
            say(&format!("ralph: warning: {warning}"));
        }
        let options = SessionOptions { asks, ..SessionOptions::of_program(self.share_workspace) };
        let streams =
            (self.stream_agent_output || settings.stream_agent_output) && !self.no_stream_agent_output;
        let stream = if streams { Stream::Shown } else { Stream::Hidden };
        let ended =
            report_on(&self.output, stream, |reporter| session::open(&home, requested, &options, reporter));
        if let Err(error) = catalog::prune(&home, &dir, settings.keep_runs) {
            say(&format!("ralph: warning: {error}"));
        }
        ended
    }
}

pub fn sandbox(text: &str) -> Result<SandboxChoice, String> {
    let any = (text == "any").then_some(SandboxChoice::Any);
    any.or_else(|| SandboxChoice::named(text))
        .ok_or_else(|| format!("expected one of {}", SandboxChoice::NAMES.join(", ")))
}

fn proof_mode(text: &str) -> Result<ProofMode, String> {
    let mode = ProofMode::ALL.into_iter().find(|mode| mode.word() == text);
    mode.ok_or_else(|| format!("expected one of {}", ProofMode::ALL.map(ProofMode::word).join(", ")))
}

/// Lines of a prompt that a dry run shows.
const PREVIEW_LINES: usize = 20;

fn dry_run(requested: &RequestedRun, whole: bool) -> Result<ExitCode, CliError> {
    let RequestedRun { run, texts, .. } = requested;
    let first =
        first_prompt(run, texts).map_err(|cause| CliError::failed("cannot start the run").cause(cause))?;
    let mut out = Out::stdout();
    for agent in &run.agents {
        out.text(&format!("agent: {}", agent.name));
    }
    for check in &run.checks {
        out.text(&format!("check: {}", check.command));
    }
    match first {
        Some(FirstPrompt { item, text }) => {
            let about = match (item.story(), item.mode()) {
                (Some(story), Some(mode)) => format!(": story {story}, {mode}"),
                (Some(story), None) => format!(": story {story}"),
                (None, _) => String::new(),
            };
            out.text(&format!("--- iteration 1{about}"));
            preview(&mut out, &text, whole);
            out.line("Nothing was started.");
        }
        None => out.line("Nothing to do."),
    }
    out.flush();
    Ok(ExitCode::SUCCESS)
}

/// The beginning of a prompt, or all of it, and an empty line.
pub fn preview(out: &mut Out, prompt: &str, whole: bool) {
    let shown = if whole { usize::MAX } else { PREVIEW_LINES };
    for line in prompt.lines().take(shown) {
        out.line(&printable(line));
    }
    let hidden = prompt.lines().count().saturating_sub(shown);
    if hidden > 0 {
        out.line(&format!("... ({}; use -v to show all)", counted(hidden as u64, "more line")));
    }
    out.line("");
}
