//! A run of one prompt: what `ralph run` and the library ask for.

use super::{RequestError, RequestedRun, Terms, checks, limits};
use crate::fsx;
use crate::layout::{self, Project};
use crate::settings::Settings;
use ralph_loop::check::CheckSpec;
use ralph_loop::done_pattern::{DonePattern, DonePatternError};
use ralph_loop::limits::Limits;
use ralph_loop::plan::Plan;
use ralph_loop::plan::prompt::{Completion, PromptPlan, PromptSource};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// What is wrong with a request for one prompt.
#[derive(Debug, Error)]
pub enum PromptError {
    /// Of a worker without a plan's name.
    #[error("spawn requires --max-iterations")]
    NoLimit,
    /// Of a worker without a plan's name.
    #[error("spawn requires --prompt-file")]
    NoPromptFile,
    #[error("no prompt was given")]
    NoPrompt,
    /// By the names of their flags.
    #[error("more than one prompt was given: {}", .0.join(", "))]
    SeveralPrompts(Vec<&'static str>),
    #[error("prompt file not found: {}", .0.display())]
    FileNotFound(PathBuf),
    #[error("cannot read {}prompt file: {}", if *unplanned { "" } else { "the " }, path.display())]
    CannotRead {
        /// Of a worker without a plan's name, which has words of its own.
        unplanned: bool,
        path: PathBuf,
        flag: &'static str,
        #[source]
        cause: io::Error,
    },
    #[error("the prompt file is empty: {}", .0.display())]
    EmptyFile(PathBuf),
    #[error("the prompt is empty")]
    Empty,
    #[error("--checks-only needs a check")]
    NothingToCheck,
    #[error(transparent)]
    DonePattern(#[from] DonePatternError),
    #[error("the completion response is empty")]
    EmptyResponse,
    #[error("the completion response is longer than {longest} characters")]
    LongResponse { longest: usize },
    #[error(transparent)]
    Request(#[from] RequestError),
}

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

pub fn build(
    request: &PromptRequest,
    settings: &Settings,
    project: &Project,
) -> Result<RequestedRun, PromptError> {
    let (source, prompt) = prompt_source(request)?;
    let terms = &request.terms;
    let checks = checks::checks(&terms.checks, terms, settings, project.dir())?;
    let completion = completion(request, settings, &checks)?;
    let limits = Limits {
        iterations: iterations(terms, settings)?,
        iterations_are_the_goal: completion == Completion::Never,
        ..limits(terms, settings)
    };
    let plan = Plan::Prompt(PromptPlan { source, completion });
    let run = super::assemble(plan, checks, limits, terms, settings, project)?;
    Ok(RequestedRun { run, texts: prompt.into_iter().collect(), branch: None })
}

/// What is wrong with the prompt of a worker without a plan's name, without making anything.
pub fn check_spawned(request: &PromptRequest) -> Result<(), PromptError> {
    prompt_source(request)?;
    let most = request.terms.max_iterations;
    most.map(drop).ok_or(PromptError::NoLimit)
}

fn prompt_source(request: &PromptRequest) -> Result<(PromptSource, Option<String>), PromptError> {
    let words = [("TASK", request.task.as_ref()), ("--prompt", request.prompt.as_ref())];
    let files = [("--prompt-file", request.prompt_file.as_ref()), ("--spec", request.spec.as_ref())];
    let mut given: Vec<&'static str> = Vec::new();
    given.extend(words.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name));
    given.extend(files.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| *name));
    // A task beside a specification is a title for people; the specification is what is sent.
    if given == ["TASK", "--spec"] {
        given.remove(0);
    }
    match given[..] {
        [] if request.terms.unplanned => return Err(PromptError::NoPromptFile),
        [] => return Err(PromptError::NoPrompt),
        [_] => {}
        _ => return Err(PromptError::SeveralPrompts(given)),
    }
    if let Some((flag, path)) = files.iter().find_map(|(flag, path)| Some((*flag, (*path)?))) {
        let unreadable = |cause: io::Error| {
            let unplanned = request.terms.unplanned;
            if unplanned && cause.kind() == io::ErrorKind::NotFound {
                return PromptError::FileNotFound(path.clone());
            }
            PromptError::CannotRead { unplanned, path: path.clone(), flag, cause }
        };
        let path = path.canonicalize().map_err(unreadable)?;
        let text = fsx::read_regular(&path).map_err(unreadable)?;
        if text.iter().all(u8::is_ascii_whitespace) && !request.terms.unplanned {
            return Err(PromptError::EmptyFile(path));
        }
        return Ok((PromptSource::File { path }, None));
    }
    let text = words.into_iter().find_map(|(_, text)| text.cloned()).unwrap_or_default();
    if text.trim().is_empty() {
        return Err(PromptError::Empty);
    }
    Ok((PromptSource::Text { hash: layout::hash(text.as_bytes()) }, Some(text)))
}

fn completion(
    request: &PromptRequest,
    settings: &Settings,
    checks: &[CheckSpec],
) -> Result<Completion, PromptError> {
    if request.checks_only {
        if checks.is_empty() {
            return Err(PromptError::NothingToCheck);
        }
        return Ok(Completion::ChecksOnly);
    }
    if let Some(pattern) = &request.done_pattern {
        DonePattern::new(pattern)?;
        return Ok(Completion::Pattern(pattern.clone()));
    }
    // Such a worker has no criterion unless it is given one.
    if request.terms.unplanned && request.completion_response.is_none() {
        return Ok(if checks.is_empty() { Completion::Never } else { Completion::ChecksOnly });
    }
    let word = request.completion_response.as_ref().unwrap_or(&settings.completion_response).trim();
    if word.is_empty() {
        return Err(PromptError::EmptyResponse);
    }
    // No more than this of a tag is kept, so a longer word would never be recognized.
    const LONGEST: usize = 200;
    if word.chars().count() > LONGEST {
        return Err(PromptError::LongResponse { longest: LONGEST });
    }
    Ok(Completion::Response(word.to_string()))
}

/// How many iterations a run may begin. Where they are the work, the user has to say.
fn iterations(terms: &Terms, settings: &Settings) -> Result<u32, PromptError> {
    match terms.max_iterations {
        Some(most) => Ok(most),
        None if terms.unplanned => Err(PromptError::NoLimit),
        None => Ok(settings.maximum_iterations),
    }
}
