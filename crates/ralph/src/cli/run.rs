//! `ralph run`: arguments and settings become one [`Run`], and the run is lived.

use super::args::{OutputArgs, ProjectArgs, dollars, duration};
use super::config::refused;
use super::{home, report_on};
use crate::error::CliError;
use crate::git::Repository;
use crate::layout::{self, Project};
use crate::place;
use crate::process::tool::Tool;
use crate::report::{Loudness, say};
use crate::session::{self, Sharing};
use crate::settings::{self, Settings};
use clap::Args;
use ralph_loop::Run;
use ralph_loop::check::{CheckSpec, Excerpt, FailAction, Origin};
use ralph_loop::dialect::Dialect;
use ralph_loop::limits::{Backoff, Limits};
use ralph_loop::money::Usd;
use ralph_loop::plan::Plan;
use ralph_loop::plan::prompt::{Completion, PromptPlan, PromptSource};
use ralph_loop::run::{AgentSpec, Place, PromptOptions};
use ralph_loop::scm::ScmSpec;
use std::env;
use std::path::{Path, PathBuf};
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
    /// Let the checks alone decide, whatever the agent says
    #[arg(long, conflicts_with = "completion_response")]
    checks_only: bool,
    /// A command that must succeed; may be given several times
    #[arg(long, value_name = "COMMAND")]
    check: Vec<String>,
    /// The agent: claude, or a program
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    agent: Option<String>,
    /// The agent's model
    #[arg(short, long)]
    model: Option<String>,
    /// End an agent that takes longer: 90, 15m, 2h
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    timeout: Option<u64>,
    /// End the run after so long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    max_time: Option<u64>,
    /// Begin no iteration once agents report so many dollars
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

pub fn run(args: &RunArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let project = Project::at(args.project.dir()?);
    let loaded = settings::load(&project, args.config.as_deref()).map_err(|error| refused(&error))?;
    if args.output.loudness() == Loudness::Verbose {
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
    let (run, prompt) = build(args, &loaded.settings, &project)?;
    let sharing = if args.share_workspace { Sharing::Shared } else { Sharing::Alone };
    let (id, place) = (run.id.clone(), run.place.clone());
    let ended =
        report_on(&args.output, |reporter| session::open(&home, run, prompt.as_deref(), sharing, reporter));
    if let (Err(_), Place::Worktree { path, branch, origin }) = (&ended, &place)
        && !home.run(&id).journal().exists()
    {
        // Nothing was begun in it. If it cannot be removed, it is only an empty copy.
        let _ = place::remove_worktree(path, branch, origin);
    }
    ended
}

/// The run, and the text of its prompt if that is no file.
fn build(args: &RunArgs, settings: &Settings, project: &Project) -> Result<(Run, Option<String>), CliError> {
    let (source, prompt) = prompt_source(args)?;
    let checks = checks(args, settings, project.dir())?;
    let completion = completion(args, settings, &checks)?;
    let agent = agent(args, settings, project.dir())?;
    let ms = |seconds: f64| (seconds.max(0.0) * 1000.0).ceil() as u64;
    let limits = Limits {
        iterations: args.max_iterations.unwrap_or(settings.maximum_iterations),
        max_time_ms: args.max_time.or(settings.max_time.map(ms)),
        max_cost: args.max_cost.or(settings.max_cost.map(Usd::from_dollars)),
        max_failures: args.max_failures.unwrap_or(settings.max_failures),
        stall_after: args.stall_after.unwrap_or(settings.stall_after),
        agent_timeout_ms: args.timeout.or(settings.timeout.map(ms)),
        backoff: Backoff { base_ms: ms(settings.backoff.base), cap_ms: ms(settings.backoff.cap) },
    };
    let id = new_run_id();
    // Last, so that nothing is made for a run that is refused.
    let (place, workspace) = match args.worktree {
        true => place::make_worktree(project, &id)?,
        false => (Place::Here, project.dir().to_path_buf()),
    };
    let run = Run {
        id,
        plan: Plan::Prompt(PromptPlan { source, completion }),
        agents: vec![agent],
        checks,
        limits,
        scm: (!settings.scm.tasks.is_empty())
            .then(|| ScmSpec { command: settings.scm.command.clone(), tasks: settings.scm.tasks.clone() }),
        workspace,
        place,
        git: Repository::around(project.dir()).is_some(),
        checkpoints: settings.checkpoints,
        largest_file: settings.largest_file_bytes(),
        prompt: PromptOptions {
            context: settings.context,
            iteration_count: settings.include_iteration_count_in_prompt,
        },
    };
    Ok((run, prompt))
}

fn prompt_source(args: &RunArgs) -> Result<(PromptSource, Option<String>), CliError> {
    let words = [("TASK", args.task.as_ref()), ("--prompt", args.prompt.as_ref())];
    let files = [("--prompt-file", args.prompt_file.as_ref()), ("--spec", args.spec.as_ref())];
    let mut given: Vec<&str> = Vec::new();
    given.extend(words.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name));
    given.extend(files.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name));
    // A task beside a specification is a title for people; the specification is what is sent.
    if given == ["TASK", "--spec"] {
        given.remove(0);
    }
    match given[..] {
        [] => {
            return Err(CliError::usage("no prompt was given").hint(
                "say what to do: ralph run \"fix the failing test\", or name a file with --prompt-file",
            ));
        }
        [_] => {}
        _ => {
            let message = format!("more than one prompt was given: {}", given.join(", "));
            return Err(CliError::usage(message).hint("give one of TASK, --prompt, --prompt-file, --spec"));
        }
    }
    if let Some((flag, path)) = files.iter().find_map(|(flag, path)| Some((flag, (*path)?))) {
        let unreadable = |cause: std::io::Error| {
            CliError::usage(format!("cannot read the prompt file: {}", path.display()))
                .cause(cause)
                .hint(format!("name a file that can be read with {flag}, or pass the text with --prompt"))
        };
        let path = path.canonicalize().map_err(unreadable)?;
        let text = std::fs::read(&path).map_err(unreadable)?;
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(CliError::usage(format!("the prompt file is empty: {}", path.display())));
        }
        return Ok((PromptSource::File { path }, None));
    }
    let text = words.into_iter().find_map(|(_, text)| text.cloned()).unwrap_or_default();
    if text.trim().is_empty() {
        return Err(
            CliError::usage("the prompt is empty").hint("say what to do: ralph run \"fix the failing test\"")
        );
    }
    Ok((PromptSource::Text { hash: layout::hash(text.as_bytes()) }, Some(text)))
}

fn completion(args: &RunArgs, settings: &Settings, checks: &[CheckSpec]) -> Result<Completion, CliError> {
    if args.checks_only {
        if checks.is_empty() {
            return Err(CliError::usage("--checks-only needs a check")
                .hint("give one with --check COMMAND, or `guardrails` in .ralph/settings.json"));
        }
        return Ok(Completion::ChecksOnly);
    }
    let word = args.completion_response.as_ref().unwrap_or(&settings.completion_response).trim();
    if word.is_empty() {
        return Err(CliError::usage("the completion response is empty")
            .hint("name the word that the agent says when it is done, or pass --checks-only"));
    }
    Ok(Completion::Response(word.to_string()))
}

fn checks(args: &RunArgs, settings: &Settings, dir: &Path) -> Result<Vec<CheckSpec>, CliError> {
    let ms = |seconds: f64| (seconds * 1000.0).max(1.0) as u64;
    let guardrails = settings.guardrails.iter().map(|guardrail| CheckSpec {
        command: guardrail.command.clone(),
        timeout_ms: ms(guardrail.timeout.unwrap_or(settings.check_timeout)),
        fail_action: guardrail.fail_action,
        hint: guardrail.hint.clone(),
        excerpt: Excerpt::Head { chars: settings.output_truncate_chars },
        origin: Origin::Guardrail,
    });
    const TAIL_CHARS: usize = 2_000;
    let flags = args.check.iter().map(|command| CheckSpec {
        command: command.clone(),
        timeout_ms: ms(settings.check_timeout),
        fail_action: FailAction::Append,
        hint: None,
        excerpt: Excerpt::Tail { chars: TAIL_CHARS },
        origin: Origin::Flag,
    });
    let checks: Vec<CheckSpec> = guardrails.chain(flags).collect();
    for check in &checks {
        if check.command.trim().is_empty() {
            return Err(CliError::usage("a check is empty").hint("give a command: --check \"make test\""));
        }
        if let Some(missing) = missing_program(&check.command, dir) {
            return Err(CliError::usage(format!("a check names a program that is not there: {missing}"))
                .cause(format!("the check is: {}", check.command))
                .hint("install it, mend the name, or write ./NAME for one that the agent is to create"));
        }
    }
    Ok(checks)
}

/// The program that a check begins with, if it is a plain name that the shell does not know.
/// Paths may be created by the agent, and anything more than a name is the shell's business.
fn missing_program(command: &str, dir: &Path) -> Option<String> {
    let word = command.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    if !word.chars().all(plain) {
        return None;
    }
    let known = Tool::new("sh").args(["-c", "command -v -- \"$1\"", "sh", word]).cwd(dir).run();
    matches!(known, Ok(answer) if !answer.success()).then(|| word.to_string())
}

fn agent(args: &RunArgs, settings: &Settings, dir: &Path) -> Result<AgentSpec, CliError> {
    let variable = |name| env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    let (program, flags) = match &args.command[..] {
        [program, rest @ ..] => (program.clone(), rest.to_vec()),
        [] => match args.agent.clone().or_else(|| variable("RALPH_AGENT")) {
            // The settings' flags are for the settings' agent.
            Some(name) if name != settings.agent.command => (name, Vec::new()),
            Some(_) | None => (settings.agent.command.clone(), settings.agent.flags.clone()),
        },
    };
    if which::which_in(&program, env::var_os("PATH"), dir).is_err() {
        return Err(
            CliError::usage(format!("the agent is not installed: {program}")).hint(how_to_install(&program))
        );
    }
    let dialect = Dialect::of_program(&program);
    let model =
        args.model.clone().or_else(|| variable("RALPH_MODEL")).or_else(|| settings.agent.model.clone());
    if let (Dialect::Plain, Some(model)) = (dialect, &model)
        && !flags.iter().any(|flag| flag.contains("{model}"))
    {
        return Err(CliError::usage(format!("the agent cannot be told its model: {program}"))
            .cause(format!("the model is {model}, and the command has no place for it"))
            .hint("write {model} where it belongs: -- COMMAND --model {model}"));
    }
    let name = program.rsplit('/').next().unwrap_or(&program).to_string();
    Ok(AgentSpec { name, dialect, program, args: flags, model, autonomous: settings.agent.autonomous })
}

fn how_to_install(program: &str) -> String {
    match program {
        "claude" => "npm install -g @anthropic-ai/claude-code, or name another program after --".into(),
        "codex" => "npm install -g @openai/codex, or name another program after --".into(),
        "gemini" => "npm install -g @google/gemini-cli, or name another program after --".into(),
        _ => "install it, or name another program after --".into(),
    }
}

/// Sorts by time and fits `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`.
fn new_run_id() -> String {
    let now = jiff::Timestamp::now();
    let salt = layout::hash(format!("{now:?}{}", std::process::id()).as_bytes());
    format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), &salt[..4])
}
