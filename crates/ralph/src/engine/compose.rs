//! The prompt of an iteration, from the files and facts it is made of.

use super::assignment::agent_can_commit;
use super::projections::Projections;
use crate::fsx;
use crate::layout::TasksDir;
use crate::template::{self, StoryGaps, TemplateError};
use crate::texts::Texts;
use ralph_loop::event::RestoreEnd;
use ralph_loop::gates::{GateChange, in_one_line};
use ralph_loop::plan::prompt::{Completion, PromptPlan, PromptSource};
use ralph_loop::plan::stories::StoriesPlan;
use ralph_loop::plan::tasks::TasksPlan;
use ralph_loop::plan::{Item, Pick, Plan, PlanState};
use ralph_loop::prompt::{CONTEXT_CHARS, Context, Failure, Parts, compose};
use ralph_loop::story_id::StoryId;
use ralph_loop::task_list::Mode;
use ralph_loop::text::head;
use ralph_loop::{Run, State};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub(super) enum ComposeError {
    #[error("prompt file not found: {}", .0.display())]
    NoPromptFile(PathBuf),
    /// A worker's, in the words that its users know.
    #[error("cannot read prompt file: {}: {cause}", path.display())]
    WorkersPromptFile { path: PathBuf, cause: io::Error },
    #[error("cannot read the prompt file: {}: {cause}", path.display())]
    PromptFile { path: PathBuf, cause: io::Error },
    #[error("nothing is left to do")]
    NothingToDo,
    #[error("the prompt file is empty: {}", .0.display())]
    EmptyFile(PathBuf),
    #[error("cannot read one of the run's files: {0}")]
    Text(#[from] io::Error),
    #[error("cannot fill in the prompt template: {0}")]
    Template(#[from] TemplateError),
}

pub(super) fn prompt(
    run: &Run,
    state: &State,
    texts: &Texts,
    projections: &Projections,
) -> Result<String, ComposeError> {
    let Pick::Work(item) = &state.work.pick else { return Err(ComposeError::NothingToDo) };
    let base = match (&run.plan, &item) {
        (Plan::Prompt(plan), Item::Prompt) => {
            prompt_text(source(plan, state), texts, run.prompt.may_be_empty)?
        }
        (Plan::Stories(plan), Item::Story { id, attempt }) => {
            story_text(run, state, plan, *id, *attempt, texts, projections)?
        }
        (Plan::Tasks(plan), Item::Task { id, mode }) => task_text(run, state, plan, id, *mode)?,
        (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => return Err(ComposeError::NothingToDo),
    };
    let excerpts: Vec<String> = state
        .work
        .feedback
        .iter()
        .map(|failed| failed.excerpt.as_deref().map_or_else(|| Ok(String::new()), |hash| texts.get(hash)))
        .collect::<Result<_, _>>()?;
    let failures = state.work.feedback.iter().zip(&excerpts).filter_map(|(result, excerpt)| {
        let spec = run.checks.get(result.index)?;
        Some(Failure { spec, result, excerpt })
    });
    // A story's prompt says by itself how to finish and what came before.
    let completion = match &run.plan {
        Plan::Prompt(plan) if run.prompt.context => Some(completion(plan, state)),
        Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_) => None,
    };
    let diff = match completion {
        Some(_) => state.work.diff.as_deref().map(|hash| texts.get(hash)).transpose()?,
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
        refused: state.work.refused.as_deref(),
        iteration: state.iteration(),
        of: state.ledger.limits.iterations,
        iteration_count: run.prompt.iteration_count,
        notes: state.asked.notes.iter().map(|hash| texts.get(hash)).collect::<Result<_, _>>()?,
        network: state.refused.prompt(),
        context,
    }))
}

/// The current value: the user may have changed it.
fn source<'a>(plan: &'a PromptPlan, state: &'a State) -> &'a PromptSource {
    state.plan.as_prompt().map_or(&plan.source, |state| state.source(plan))
}

fn completion<'a>(plan: &'a PromptPlan, state: &'a State) -> &'a Completion {
    state.plan.as_prompt().map_or(&plan.completion, |state| state.completion(plan))
}

/// A worker's prompt file may be empty.
fn prompt_text(source: &PromptSource, texts: &Texts, of_worker: bool) -> Result<String, ComposeError> {
    match source {
        PromptSource::Text { hash } => Ok(texts.get(hash)?),
        PromptSource::File { path } => match read(path) {
            Err(ComposeError::EmptyFile(_)) if of_worker => Ok(String::new()),
            Err(ComposeError::PromptFile { path, cause }) if cause.kind() == io::ErrorKind::NotFound => {
                Err(ComposeError::NoPromptFile(path))
            }
            Err(ComposeError::PromptFile { path, cause }) if of_worker => {
                Err(ComposeError::WorkersPromptFile { path, cause })
            }
            read => read,
        },
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
    id: StoryId,
    attempt: u32,
    texts: &Texts,
    projections: &Projections,
) -> Result<String, ComposeError> {
    let story = plan.story(id).ok_or(ComposeError::NothingToDo)?;
    let spec = read(&run.workspace.join(&story.spec))?;
    let template = plan.template.as_deref().map(|hash| texts.get(hash)).transpose()?;
    let last_failure = state.plan.as_stories().and_then(|state| state.last_failure.as_deref());
    let tried = state.work.tried.as_ref();
    let diff = tried.and_then(|tried| tried.diff.as_deref()).map(|hash| texts.get(hash)).transpose()?;
    let diff = diff.as_deref().map(|diff| head(diff, CONTEXT_CHARS));
    let diff_command = tried.and_then(RestoreEnd::diff_command);
    let gaps = StoryGaps {
        story,
        attempt,
        last_failure,
        last_diff: diff.as_deref(),
        last_kept: tried.and_then(|tried| tried.kept.as_deref()),
        last_diff_command: diff_command.as_deref(),
        spec: spec.trim_start_matches('\u{feff}'),
        verify: run.checks.iter().map(|check| check.command.as_str()).collect(),
        learnings: projections.learnings(),
        git: run.git,
    };
    Ok(template::story(template.as_deref().unwrap_or(template::STORY), plan, &gaps)?)
}

/// So many changed tests and checks are named to a reviewer.
const GATES_NAMED: usize = 20;

/// The user's prompt for all iterations, under what this one is for.
fn task_text(
    run: &Run,
    state: &State,
    plan: &TasksPlan,
    id: &str,
    mode: Mode,
) -> Result<String, ComposeError> {
    let dir = TasksDir::at(run.workspace.join(&plan.dir));
    let prompt = match read(&dir.prompt()) {
        Err(ComposeError::PromptFile { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
            template::TASKS_PROMPT.to_string()
        }
        read => read?,
    };
    let (iteration, of) = (state.iteration().to_string(), state.ledger.limits.iterations.to_string());
    let prompt = template::iteration_numbers(&prompt, &iteration, &of);
    let PlanState::Tasks(tasks) = &state.plan else { return Err(ComposeError::NothingToDo) };
    let title = tasks.known.as_ref().and_then(|known| known.list.story(id)).map_or("", |story| story.title());
    let list = plan.dir.join("tasks.json");
    let mut head = format!(
        "This is iteration {iteration} of {of}. Mode: **{mode}**. Story {id}: {title}\n\
         The task list is {}. Work on this story only.\n",
        list.display()
    );
    let mode_rule = match (mode, plan.skip_review) {
        (_, true) => {
            "This loop has no reviews: when the story is done and its verifyCommands succeed, set passes to \
             true yourself and write in notes what you did. Leave reviewStatus at null."
        }
        (Mode::Implement, false) => {
            "When it is implemented, set its reviewStatus to \"needs_review\". Only a review sets passes."
        }
        (Mode::Review, false) => "Review it with fresh eyes. Do not change any code.",
        (Mode::ReviewFix, false) => {
            "Fix everything in its reviewFeedback. Then clear reviewFeedback and set reviewStatus to \"needs_review\"."
        }
    };
    let _ = writeln!(head, "{mode_rule}");
    if !plan.skip_review {
        let _ = writeln!(head, "The review cap is {}.", plan.review_cap);
    }
    if run.git && !agent_can_commit(run, state) {
        let _ = writeln!(
            head,
            "You cannot commit in your sandbox: leave your changes uncommitted. {}",
            match plan.commit_left {
                true => "Ralph commits them after you exit.",
                false => "The user commits them.",
            }
        );
    }
    let changed: Vec<GateChange> =
        state.work.gates.iter().filter(|gate| gate.needs_second_run()).cloned().collect();
    if mode == Mode::Review && !changed.is_empty() {
        let _ = writeln!(
            head,
            "These tests and checks were changed, which can hide that the work is not done; look at each \
             change: {}",
            in_one_line(&changed, GATES_NAMED)
        );
    }
    if !tasks.violations.is_empty() {
        head.push_str(
            "\nThe previous iteration broke these rules, so its changes to the task list were reverted:\n",
        );
        for violation in &tasks.violations {
            let _ = writeln!(head, "- {violation}");
        }
    }
    Ok(format!("{head}\n{prompt}"))
}
