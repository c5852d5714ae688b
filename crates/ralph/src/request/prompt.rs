//! A run of one prompt: what `ralph run` and the library ask for.

use super::{Asked, Terms, checks, limits};
use crate::error::CliError;
use crate::fsx;
use crate::layout::{self, Project};
use crate::settings::Settings;
use ralph_loop::check::CheckSpec;
use ralph_loop::done_pattern::{DonePattern, DonePatternError};
use ralph_loop::limits::Limits;
use ralph_loop::plan::Plan;
use ralph_loop::plan::prompt::{Completion, PromptPlan, PromptSource};
use std::path::PathBuf;

/// Whatever is missing comes from the settings.
#[derive(Clone, Debug, Default)]
pub struct PromptRequest {
    pub task: Option<String>,
    pub prompt: Option<String>,
    pub prompt_file: Option<PathBuf>,
    pub spec: Option<PathBuf>,
    pub completion_response: Option<String>,
    /// A regular expression; the agent's words that match it are its claim.
    pub done_pattern: Option<String>,
    pub checks_only: bool,
    pub terms: Terms,
}

pub fn build(asked: &PromptRequest, settings: &Settings, project: &Project) -> Result<Asked, CliError> {
    let (source, prompt) = prompt_source(asked)?;
    let terms = &asked.terms;
    let checks = checks::checks(&terms.checks, terms, settings, project.dir())?;
    let completion = completion(asked, settings, &checks)?;
    let limits = Limits {
        iterations: iterations(terms, settings)?,
        iterations_are_the_goal: completion == Completion::Never,
        ..limits(terms, settings)
    };
    let plan = Plan::Prompt(PromptPlan { source, completion });
    super::assemble(plan, checks, limits, terms, settings, project).map(|run| Asked {
        run,
        texts: prompt.into_iter().collect(),
        branch: None,
    })
}

/// What is wrong with the prompt of a worker without a plan's name, without making anything.
pub fn check_spawned(asked: &PromptRequest) -> Result<(), CliError> {
    prompt_source(asked)?;
    let most = asked.terms.max_iterations;
    most.map(drop).ok_or_else(no_limit)
}

fn no_limit() -> CliError {
    CliError::usage("spawn requires --max-iterations").hint("unattended runs need a limit, such as -n 20")
}

fn prompt_source(asked: &PromptRequest) -> Result<(PromptSource, Option<String>), CliError> {
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
        [] if asked.terms.unplanned => {
            return Err(CliError::usage("spawn requires --prompt-file")
                .hint("`ralph init prompt` creates one; or pass the text with --prompt"));
        }
        [] => {
            return Err(CliError::usage("no prompt was given").hint(
                "say what to do: ralph run \"fix the failing test\", or pass a file with --prompt-file",
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
            if asked.terms.unplanned && cause.kind() == std::io::ErrorKind::NotFound {
                return CliError::usage(format!("prompt file not found: {}", path.display()));
            }
            let the = if asked.terms.unplanned { "" } else { "the " };
            CliError::usage(format!("cannot read {the}prompt file: {}", path.display()))
                .cause(cause)
                .hint(format!("pass a readable file with {flag}, or the text with --prompt"))
        };
        let path = path.canonicalize().map_err(unreadable)?;
        let text = fsx::read_regular(&path).map_err(unreadable)?;
        if text.iter().all(u8::is_ascii_whitespace) && !asked.terms.unplanned {
            return Err(CliError::usage(format!("the prompt file is empty: {}", path.display()))
                .hint("write what to do in it; `ralph template` prints a starter prompt"));
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

fn completion(
    asked: &PromptRequest,
    settings: &Settings,
    checks: &[CheckSpec],
) -> Result<Completion, CliError> {
    if asked.checks_only {
        if checks.is_empty() {
            return Err(CliError::usage("--checks-only needs a check")
                .hint("add one with --check COMMAND or `guardrails` in .ralph/settings.json"));
        }
        return Ok(Completion::ChecksOnly);
    }
    if let Some(pattern) = &asked.done_pattern {
        DonePattern::new(pattern).map_err(|cause| bad_pattern(&cause))?;
        return Ok(Completion::Pattern(pattern.clone()));
    }
    // Such a worker has no criterion unless it is given one.
    if asked.terms.unplanned && asked.completion_response.is_none() {
        return Ok(if checks.is_empty() { Completion::Never } else { Completion::ChecksOnly });
    }
    let word = asked.completion_response.as_ref().unwrap_or(&settings.completion_response).trim();
    if word.is_empty() {
        return Err(CliError::usage("the completion response is empty")
            .hint("set the word the agent says when it is done, or pass --checks-only"));
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
        DonePatternError::Unsupported(_) => shown.hint("rewrite the pattern without it"),
        DonePatternError::Empty | DonePatternError::Invalid(_) => {
            shown.hint("plain text such as \"All tasks complete\" works too")
        }
    }
}

/// How many iterations a run may begin. Where they are the work, the user has to say.
fn iterations(terms: &Terms, settings: &Settings) -> Result<u32, CliError> {
    match terms.max_iterations {
        Some(most) => Ok(most),
        None if terms.unplanned => Err(no_limit()),
        None => Ok(settings.maximum_iterations),
    }
}
