//! What is asked of a run, before settings and defaults have their say.
//!
//! `ralph run` and the library fill in a [`Request`]; [`build`] makes one validated,
//! immutable [`Run`] of it and the settings, or says what is wrong.

use crate::error::CliError;
use crate::fsx;
use crate::git::Repository;
use crate::layout::{self, Project};
use crate::place;
use crate::process::tool::Tool;
use crate::settings::{self, AgentSettings, Settings};
use ralph_loop::Run;
use ralph_loop::check::{CheckSpec, Excerpt, FailAction, Origin};
use ralph_loop::dialect::{Dialect, stated_model};
use ralph_loop::done_pattern::{DonePattern, DonePatternError};
use ralph_loop::limits::{
    Backoff, DEFAULT_MAX_OUTAGE_MS, Limits, Patience, WORKER_SILENCE_MS, WORKER_TOOL_MS,
};
use ralph_loop::money::Usd;
use ralph_loop::plan::Plan;
use ralph_loop::plan::prompt::{Completion, PromptPlan, PromptSource};
use ralph_loop::price;
use ralph_loop::run::{AgentSpec, Place, PromptOptions};
use ralph_loop::scm::ScmSpec;
use std::env;
use std::path::{Path, PathBuf};

/// Whatever is missing comes from the settings.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub task: Option<String>,
    pub prompt: Option<String>,
    pub prompt_file: Option<PathBuf>,
    pub spec: Option<PathBuf>,
    pub max_iterations: Option<u32>,
    pub completion_response: Option<String>,
    pub checks_only: bool,
    pub checks: Vec<String>,
    pub agent: Option<String>,
    /// A program and its arguments; stands above `agent`.
    pub command: Vec<String>,
    pub model: Option<String>,
    /// Milliseconds, as all times here.
    pub timeout: Option<u64>,
    pub max_time: Option<u64>,
    pub max_cost: Option<Usd>,
    pub max_failures: Option<u32>,
    pub stall_after: Option<u32>,
    /// Agents that stand in while the first one's service refuses.
    pub fallback_agents: Vec<String>,
    pub max_outage: Option<u64>,
    pub worktree: bool,
    /// A regular expression; the agent's words that match it are its claim.
    pub done_pattern: Option<String>,
    /// How long an agent may be silent, and how long while one of its tools runs.
    pub silence: Option<u64>,
    pub tool_silence: Option<u64>,
    /// For a worker, whom nobody watches: other defaults.
    pub seated: bool,
}

impl Request {
    pub fn patience(&self) -> Patience {
        let of_worker = |ms| self.seated.then_some(ms);
        Patience {
            silence_ms: self.silence.or(of_worker(WORKER_SILENCE_MS)),
            tool_ms: self.tool_silence.or(of_worker(WORKER_TOOL_MS)),
        }
    }
}

/// The run, and the text of its prompt if that is no file.
pub fn build(
    asked: &Request,
    settings: &Settings,
    project: &Project,
) -> Result<(Run, Option<String>), CliError> {
    let (source, prompt) = prompt_source(asked)?;
    let checks = checks(asked, settings, project.dir())?;
    let completion = completion(asked, settings, &checks)?;
    let mut agents = vec![agent(asked, settings, project.dir())?];
    for name in &asked.fallback_agents {
        // The model is the first agent's.
        let stand_in = Request { agent: Some(name.clone()), ..Request::default() };
        let own =
            Settings { agent: AgentSettings { model: None, ..settings.agent.clone() }, ..settings.clone() };
        agents.push(agent(&stand_in, &own, project.dir())?);
    }
    let ms = |seconds: f64| (seconds.max(0.0) * 1000.0).ceil() as u64;
    let limits = Limits {
        iterations: iterations(asked, settings)?,
        iterations_are_the_goal: completion == Completion::Never,
        max_time_ms: asked.max_time.or(settings.max_time.map(ms)),
        max_cost: asked.max_cost.or(settings.max_cost.map(Usd::from_dollars)),
        max_failures: asked.max_failures.unwrap_or(settings.max_failures),
        stall_after: asked.stall_after.unwrap_or(settings.stall_after),
        agent_timeout_ms: asked.timeout.or(settings.timeout.map(ms)),
        max_outage_ms: asked.max_outage.unwrap_or(DEFAULT_MAX_OUTAGE_MS),
        patience: asked.patience(),
        backoff: Backoff { base_ms: ms(settings.backoff.base), cap_ms: ms(settings.backoff.cap) },
    };
    let id = new_run_id();
    // Last, so that nothing is made for a run that is refused.
    let (place, workspace) = match asked.worktree {
        true => place::make_worktree(project, &id)?,
        false => (Place::Here, project.dir().to_path_buf()),
    };
    let run = Run {
        id,
        plan: Plan::Prompt(PromptPlan { source, completion }),
        agents,
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
            may_be_empty: asked.seated,
        },
    };
    Ok((run, prompt))
}

/// What a run cannot hold to, to be told before it begins.
pub fn warnings(run: &Run) -> Vec<String> {
    let mut warnings = cost_warnings(run);
    if run.prompt.may_be_empty && run.limits.iterations > MANY_ITERATIONS {
        warnings.push(format!("high iteration count (>{MANY_ITERATIONS}) may consume significant resources"));
    }
    warnings
}

/// More of them are worth a word where nobody watches.
const MANY_ITERATIONS: u32 = 50;

fn cost_warnings(run: &Run) -> Vec<String> {
    if run.limits.max_cost.is_none() {
        return Vec::new();
    }
    let silent = run.agents.iter().filter(|agent| agent.dialect == Dialect::Plain);
    silent
        .map(|agent| {
            format!("the agent tells neither cost nor tokens, so --max-cost cannot hold it: {}", agent.name)
        })
        .collect()
}

/// What is wrong with a worker's prompt, without making anything.
pub fn check_spawned(asked: &Request) -> Result<(), CliError> {
    prompt_source(asked)?;
    asked.max_iterations.map(drop).ok_or_else(|| CliError::usage("spawn requires --max-iterations"))
}

fn prompt_source(asked: &Request) -> Result<(PromptSource, Option<String>), CliError> {
    let words = [("TASK", asked.task.as_ref()), ("--prompt", asked.prompt.as_ref())];
    let files = [("--prompt-file", asked.prompt_file.as_ref()), ("--spec", asked.spec.as_ref())];
    let mut given: Vec<&str> = Vec::new();
    given.extend(words.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name));
    given.extend(files.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name));
    // A task beside a specification is a title for people; the specification is what is sent.
    if given == ["TASK", "--spec"] {
        given.remove(0);
    }
    match given[..] {
        [] if asked.seated => {
            return Err(CliError::usage("spawn requires --prompt-file")
                .hint("`ralph init prompt` writes one to begin with"));
        }
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
            if asked.seated && cause.kind() == std::io::ErrorKind::NotFound {
                return CliError::usage(format!("prompt file not found: {}", path.display()));
            }
            CliError::usage(format!("cannot read the prompt file: {}", path.display()))
                .cause(cause)
                .hint(format!("name a file that can be read with {flag}, or pass the text with --prompt"))
        };
        let path = path.canonicalize().map_err(unreadable)?;
        let text = fsx::read_regular(&path).map_err(unreadable)?;
        if text.iter().all(u8::is_ascii_whitespace) && !asked.seated {
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

fn completion(asked: &Request, settings: &Settings, checks: &[CheckSpec]) -> Result<Completion, CliError> {
    if asked.checks_only {
        if checks.is_empty() {
            return Err(CliError::usage("--checks-only needs a check")
                .hint("give one with --check COMMAND, or `guardrails` in .ralph/settings.json"));
        }
        return Ok(Completion::ChecksOnly);
    }
    if let Some(pattern) = &asked.done_pattern {
        DonePattern::new(pattern).map_err(|cause| bad_pattern(&cause))?;
        return Ok(Completion::Pattern(pattern.clone()));
    }
    // A worker has no criterion unless it is given one.
    if asked.seated && asked.completion_response.is_none() {
        return Ok(if checks.is_empty() { Completion::Never } else { Completion::ChecksOnly });
    }
    let word = asked.completion_response.as_ref().unwrap_or(&settings.completion_response).trim();
    if word.is_empty() {
        return Err(CliError::usage("the completion response is empty")
            .hint("name the word that the agent says when it is done, or pass --checks-only"));
    }
    // No more than this of a tag is kept, so a longer word would never be recognized.
    const LONGEST: usize = 200;
    if word.chars().count() > LONGEST {
        return Err(CliError::usage(format!("the completion response is longer than {LONGEST} characters")));
    }
    Ok(Completion::Response(word.to_string()))
}

pub fn bad_pattern(cause: &DonePatternError) -> CliError {
    let shown = CliError::usage(cause.to_string());
    match cause {
        DonePatternError::Unsupported(_) => {
            shown.hint("write the pattern without it: https://docs.rs/regex/latest/regex/#syntax")
        }
        DonePatternError::Empty | DonePatternError::Invalid(_) => {
            shown.hint("a plain text such as \"All tasks complete\" is a pattern too")
        }
    }
}

/// How many a worker may begin is for whoever spawns it to say.
fn iterations(asked: &Request, settings: &Settings) -> Result<u32, CliError> {
    match asked.max_iterations {
        Some(most) => Ok(most),
        None if asked.seated => Err(CliError::usage("spawn requires --max-iterations")),
        None => Ok(settings.maximum_iterations),
    }
}

fn checks(asked: &Request, settings: &Settings, dir: &Path) -> Result<Vec<CheckSpec>, CliError> {
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
    let flags = asked.checks.iter().map(|command| CheckSpec {
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

fn agent(asked: &Request, settings: &Settings, dir: &Path) -> Result<AgentSpec, CliError> {
    let variable = |name| env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    let named = asked.agent.clone().filter(|name| name != settings::DEFAULT_AGENT);
    let (program, flags) = match &asked.command[..] {
        [program, rest @ ..] => (program.clone(), rest.to_vec()),
        [] => match named.or_else(|| variable("RALPH_AGENT")) {
            // The settings' flags are for the settings' agent.
            Some(name) if name != settings.agent.command => (name, Vec::new()),
            Some(_) | None => (settings.agent.command.clone(), settings.agent.flags.clone()),
        },
    };
    let found = which::which_in(&program, env::var_os("PATH"), dir);
    if found.is_err() {
        return Err(
            CliError::usage(format!("the agent is not installed: {program}")).hint(how_to_install(&program))
        );
    }
    let dialect = Dialect::of_program(&program);
    let model =
        asked.model.clone().or_else(|| variable("RALPH_MODEL")).or_else(|| settings.agent.model.clone());
    if let (Dialect::Plain, Some(model)) = (dialect, &model)
        && !flags.iter().any(|flag| flag.contains("{model}"))
    {
        return Err(CliError::usage(format!("the agent cannot be told its model: {program}"))
            .cause(format!("the model is {model}, and the command has no place for it"))
            .hint("write {model} where it belongs: -- COMMAND --model {model}"));
    }
    // A path is the project's, wherever the agent will work.
    let program = match found {
        Ok(path) if program.contains('/') => path.to_str().map_or(program, String::from),
        _ => program,
    };
    let name = program.rsplit('/').next().unwrap_or(&program).to_string();
    let told = stated_model(dialect, &flags, model.as_deref());
    let price = price::resolve(&settings.own_prices(), dialect, told.as_deref());
    let autonomous = settings.agent.autonomous;
    Ok(AgentSpec { name, dialect, program, args: flags, model, autonomous, price })
}

fn how_to_install(program: &str) -> String {
    match program {
        "claude" => "npm install -g @anthropic-ai/claude-code, or name another program after --".into(),
        "codex" => "npm install -g @openai/codex, or name another program after --".into(),
        "amp" => "npm install -g @sourcegraph/amp, or name another program after --".into(),
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
