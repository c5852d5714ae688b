//! What an agent of a task list is handed besides its prompt: hooks, and what they go by.
//!
//! All of it only tells the agent earlier what the engine will find out anyway. The marker
//! `.ralph-active` is for hooks that know no better, and is never read back.

use super::clock::wall_ms;
use super::task_files::{self, TaskFileError};
use crate::fsx;
use crate::hook::{self, ASSIGNMENT, Assignment};
use crate::layout::{Project, RunDir, TasksDir};
use crate::texts::Texts;
use ralph_loop::plan::tasks::{TasksPlan, TasksState};
use ralph_loop::run::AgentSpec;
use ralph_loop::task_list::{Mode, TaskList};
use ralph_loop::{Run, State};
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;

/// Where the agent finds it.
#[derive(Default)]
pub(super) struct HandedOut {
    pub(super) env: Vec<(&'static str, String)>,
    pub(super) hooks: Option<HookForms>,
}

/// How agents are told of hooks.
pub(super) struct HookForms {
    /// For those that take settings from a file.
    pub(super) settings: String,
    /// For those that take lines of a configuration.
    pub(super) config: Vec<String>,
}

pub(super) fn hand_out(
    run: &Run,
    state: &State,
    (plan, tasks): (&TasksPlan, &TasksState),
    (id, mode): (&str, Mode),
    (run_dir, project, texts): (&RunDir, &Project, &Texts),
    ralph: &Path,
) -> Result<HandedOut, TaskFileError> {
    let (before, text) = task_files::known_list(tasks, texts)?;
    let marker = marker(run, plan, mode, &before);
    // Nothing of ralph's depends on it, and an agent may have put something else in its place.
    let _ = fsx::write_whole(&project.active(), format!("{marker:#}\n").as_bytes());
    let assignment = Assignment {
        mode,
        story: Some(id.to_string()),
        tasks_file: TasksDir::at(run.workspace.join(&plan.dir)).list(),
        skip_review: plan.skip_review,
        review_cap: plan.review_cap,
        check_commits: run.git && agent_can_commit(run, state),
    };
    let path = run_dir.assignment();
    assignment.write(&path, &before, &text)?;
    let hooks = plan.hooks.then(|| forms(run, run_dir, ralph)).transpose()?;
    Ok(HandedOut { env: vec![(ASSIGNMENT, path.display().to_string())], hooks })
}

/// One that cannot would be held up in vain: what it leaves, ralph commits.
pub(super) fn agent_can_commit(run: &Run, state: &State) -> bool {
    let agent = state.agent_at_work().and_then(|agent| run.agents.get(agent));
    agent.is_none_or(AgentSpec::can_commit)
}

fn forms(run: &Run, run_dir: &RunDir, ralph: &Path) -> io::Result<HookForms> {
    let settings = run_dir.hooks();
    fsx::write_whole(&settings, hook::claude_settings(ralph).to_string().as_bytes())?;
    // Looked at for every agent: the one before may have written some.
    let config = if hook::codex_has_own(&run.workspace) { Vec::new() } else { hook::codex_config(ralph) };
    Ok(HookForms { settings: settings.display().to_string(), config })
}

fn marker(run: &Run, plan: &TasksPlan, mode: Mode, before: &TaskList) -> Value {
    let stories = before.stories.iter().map(|story| {
        let status = story.review_status().map_or(Value::Null, |status| json!(status.as_json()));
        let fields =
            json!({"passes": story.passes(), "reviewStatus": status, "reviewCount": story.review_count()});
        (story.id().to_string(), fields)
    });
    let at = jiff::Timestamp::from_second(wall_ms().div_euclid(1000)).unwrap_or_default();
    json!({
        "timestamp": at.to_string(),
        "pid": std::process::id(),
        "max_iterations": run.limits.iterations,
        "mode": "direct",
        "skipReview": plan.skip_review,
        "reviewCap": plan.review_cap,
        "iterationMode": mode,
        "preIterationSnapshot": stories.collect::<Map<String, Value>>(),
    })
}
