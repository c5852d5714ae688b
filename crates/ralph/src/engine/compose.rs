//! The prompt of an iteration, from the files and facts it is made of.

use super::projections::Projections;
use crate::fsx;
use crate::texts::Texts;
use ralph_loop::plan::Pick;
use ralph_loop::plan::prompt::PromptSource;
use ralph_loop::prompt::{Context, Failure, Parts, compose};
use ralph_loop::{Run, State};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

#[derive(Debug, Error)]
pub(super) enum ComposeError {
    #[error("cannot read the prompt file: {}: {cause}", path.display())]
    PromptFile { path: PathBuf, cause: io::Error },
    #[error("there is nothing left to ask for")]
    NothingToDo,
    #[error("the prompt file is empty: {}", .0.display())]
    EmptyFile(PathBuf),
    #[error("cannot read a text of this run: {0}")]
    Text(#[from] io::Error),
}

pub(super) fn prompt(
    run: &Run,
    state: &State,
    texts: &Texts,
    projections: &Projections,
) -> Result<String, ComposeError> {
    let Pick::Work(item) = state.plan.pick() else { return Err(ComposeError::NothingToDo) };
    let source = run.plan.ask(&item);
    let base = match source {
        PromptSource::Text { hash } => texts.get(hash)?,
        PromptSource::File { path } => {
            let unreadable = |cause| ComposeError::PromptFile { path: path.clone(), cause };
            let text = fsx::read_regular(path).map_err(unreadable)?;
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    if let PromptSource::File { path } = source
        && base.trim().is_empty()
    {
        return Err(ComposeError::EmptyFile(path.clone()));
    }
    let excerpts: Vec<String> = state
        .feedback
        .iter()
        .map(|failed| failed.excerpt.as_deref().map_or_else(|| Ok(String::new()), |hash| texts.get(hash)))
        .collect::<Result<_, _>>()?;
    let failures = state.feedback.iter().zip(&excerpts).filter_map(|(result, excerpt)| {
        let spec = run.checks.get(result.index)?;
        Some(Failure { spec, result, excerpt })
    });
    let diff = if run.prompt.context {
        state.diff.as_deref().map(|hash| texts.get(hash)).transpose()?
    } else {
        None
    };
    let context = run.prompt.context.then(|| Context {
        completion: run.plan.completion(),
        checks: &run.checks,
        diff: diff.as_deref(),
        progress: projections.progress_tail(),
    });
    Ok(compose(&Parts {
        base: &base,
        failures: failures.collect(),
        iteration: state.iteration(),
        of: run.limits.iterations,
        iteration_count: run.prompt.iteration_count,
        context,
    }))
}
