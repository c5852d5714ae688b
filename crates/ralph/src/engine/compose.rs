//! The prompt of an iteration, from the files and facts it is made of.

use super::projections::Projections;
use crate::fsx;
use crate::template::{self, StoryGaps, TemplateError};
use crate::texts::Texts;
use ralph_loop::plan::prompt::PromptSource;
use ralph_loop::plan::stories::StoriesPlan;
use ralph_loop::plan::{Item, Pick, Plan, PlanState};
use ralph_loop::prompt::{CONTEXT_CHARS, Context, Failure, Parts, compose};
use ralph_loop::story_id::StoryId;
use ralph_loop::text::head;
use ralph_loop::{Run, State};
use std::io;
use std::path::{Path, PathBuf};
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
    #[error("the prompt template cannot be filled in: {0}")]
    Template(#[from] TemplateError),
}

pub(super) fn prompt(
    run: &Run,
    state: &State,
    texts: &Texts,
    projections: &Projections,
) -> Result<String, ComposeError> {
    let Pick::Work(item) = state.plan.pick() else { return Err(ComposeError::NothingToDo) };
    let base = match (&run.plan, &item) {
        (Plan::Prompt(plan), Item::Prompt) => prompt_text(&plan.source, texts)?,
        (Plan::Stories(plan), Item::Story { id, attempt }) => {
            story_text(run, state, plan, (*id, *attempt), texts, projections)?
        }
        (Plan::Prompt(_), Item::Story { .. }) | (Plan::Stories(_), Item::Prompt) => {
            return Err(ComposeError::NothingToDo);
        }
    };
    let excerpts: Vec<String> = state
        .feedback
        .iter()
        .map(|failed| failed.excerpt.as_deref().map_or_else(|| Ok(String::new()), |hash| texts.get(hash)))
        .collect::<Result<_, _>>()?;
    let failures = state.feedback.iter().zip(&excerpts).filter_map(|(result, excerpt)| {
        let spec = run.checks.get(result.index)?;
        Some(Failure { spec, result, excerpt })
    });
    // A story's prompt says by itself how to finish and what came before.
    let completion = match &run.plan {
        Plan::Prompt(plan) if run.prompt.context => Some(&plan.completion),
        Plan::Prompt(_) | Plan::Stories(_) => None,
    };
    let diff = match completion {
        Some(_) => state.diff.as_deref().map(|hash| texts.get(hash)).transpose()?,
        None => None,
    };
    let context = completion.map(|completion| Context {
        completion,
        checks: &run.checks,
        diff: diff.as_deref(),
        progress: projections.progress_tail(),
    });
    Ok(compose(&Parts {
        base: &base,
        failures: failures.collect(),
        iteration: state.iteration(),
        of: state.limits.iterations,
        iteration_count: run.prompt.iteration_count,
        context,
    }))
}

fn prompt_text(source: &PromptSource, texts: &Texts) -> Result<String, ComposeError> {
    match source {
        PromptSource::Text { hash } => Ok(texts.get(hash)?),
        PromptSource::File { path } => read(path),
    }
}

fn read(path: &Path) -> Result<String, ComposeError> {
    let unreadable = |cause| ComposeError::PromptFile { path: path.to_path_buf(), cause };
    let text = fsx::read_regular(path).map_err(unreadable)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    if text.trim().is_empty() { Err(ComposeError::EmptyFile(path.to_path_buf())) } else { Ok(text) }
}

fn story_text(
    run: &Run,
    state: &State,
    plan: &StoriesPlan,
    (id, attempt): (StoryId, u32),
    texts: &Texts,
    projections: &Projections,
) -> Result<String, ComposeError> {
    let story = plan.story(id).ok_or(ComposeError::NothingToDo)?;
    let spec = read(&run.workspace.join(&story.spec))?;
    let template = plan.template.as_deref().map(|hash| texts.get(hash)).transpose()?;
    let last_failure = match &state.plan {
        PlanState::Stories(state) => state.last_failure.as_deref(),
        PlanState::Prompt(_) => None,
    };
    let tried = state.tried.as_ref();
    let diff = tried.and_then(|tried| tried.diff.as_deref()).map(|hash| texts.get(hash)).transpose()?;
    let diff = diff.as_deref().map(|diff| head(diff, CONTEXT_CHARS));
    let gaps = StoryGaps {
        story,
        attempt,
        last_failure,
        last_diff: diff.as_deref(),
        last_kept: tried.and_then(|tried| tried.kept.as_deref()),
        spec: spec.trim_start_matches('\u{feff}'),
        verify: run.checks.iter().map(|check| check.command.as_str()).collect(),
        learnings: projections.learnings(),
        git: run.git,
    };
    Ok(template::story(template.as_deref().unwrap_or(template::STORY), plan, &gaps)?)
}
