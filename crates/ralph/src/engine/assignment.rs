//! What an agent gets besides its prompt: hooks, and, for one of a task list, the file that they read.
//!
//! With it the agent learns earlier what the engine will find out anyway. The marker
//! `.ralph-active` is for the hooks of other loops, and is never read back.

use super::clock::wall_ms;
use super::guarded;
use super::task_files::{self, TaskFileError};
use crate::fsx;
use crate::hook::{self, ASSIGNMENT, Assignment, HookCalls, HookSet};
use crate::layout::{Project, RunDir, TasksDir};
use crate::texts::Texts;
use ralph_loop::plan::tasks::{TasksPlan, TasksState};
use ralph_loop::task_list::{Mode, TaskList};
use ralph_loop::{Run, State};
use serde_json::{Map, Value, json};
use std::io;
use std::path::Path;

/// What the agent gets.
#[derive(Default)]
pub(super) struct HandedOut {
    pub(super) env: Vec<(&'static str, String)>,
    pub(super) hooks: Option<HookSet>,
}

/// The hooks, in the forms in which agents take them.
pub(super) struct HookForms {
    /// For those that take settings from a file.
    pub(super) settings: String,
    /// For those that take lines of a configuration.
    pub(super) config: Vec<String>,
}

/// An agent that is about to work on one task.
pub(super) struct TaskAgent<'a> {
    pub(super) run: &'a Run,
    pub(super) plan: &'a TasksPlan,
    pub(super) tasks: &'a TasksState,
    pub(super) id: &'a str,
    pub(super) mode: Mode,
    pub(super) can_commit: bool,
    pub(super) run_dir: &'a RunDir,
    pub(super) project: &'a Project,
    pub(super) texts: &'a Texts,
}

impl TaskAgent<'_> {
    pub(super) fn hand_out(&self) -> Result<HandedOut, TaskFileError> {
        let TaskAgent { run, plan, mode, run_dir, .. } = *self;
        let (before, text) = task_files::known_list(self.tasks, self.texts)?;
        let marker = marker(run, plan, mode, &before);
        // Nothing of ralph's depends on it, and an agent may have put something else in its place.
        let _ = fsx::write_whole(&self.project.active(), format!("{marker:#}\n").as_bytes());
        let assignment = Assignment {
            mode,
            story: Some(self.id.to_string()),
            tasks_file: TasksDir::at(run.workspace.join(&plan.dir)).list(),
            skip_review: plan.skip_review,
            review_cap: plan.review_cap,
            check_commits: run.git && self.can_commit,
        };
        let path = run_dir.assignment();
        assignment.write(&path, &before, &text)?;
        let hooks = plan.hooks.then_some(HookSet::Tasks);
        Ok(HandedOut { env: vec![(ASSIGNMENT, path.display().to_string())], hooks })
    }
}

/// An agent that cannot commit must not be held up until it does: ralph commits its changes.
pub(super) fn agent_can_commit(run: &Run, state: &State) -> bool {
    let agent = state.agent_at_work().and_then(|agent| run.agents.get(agent));
    agent.is_none_or(|agent| agent.can_commit(run.confinement.sandbox().is_some()))
}

/// The hooks of an agent and its guard, in the forms in which agents take them. `ralph` is the program that they call.
pub(super) fn forms(
    run: &Run,
    run_dir: &RunDir,
    ralph: &Path,
    set: Option<HookSet>,
) -> io::Result<HookForms> {
    let guard = guarded::prepare(run, run_dir, ralph)?;
    let terminal = run.interactive.is_some();
    let calls = HookCalls { program: ralph, set, guard: Some(&guard), terminal };
    let settings = run_dir.hooks();
    fsx::write_whole(&settings, hook::claude_settings(&calls).to_string().as_bytes())?;
    // Looked at for every agent: the one before may have written some.
    let config = if hook::codex_has_own(&run.workspace) { Vec::new() } else { hook::codex_config(&calls) };
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
        "mode": if run.confinement.sandbox().is_some() { "sandbox" } else { "direct" },
        "skipReview": plan.skip_review,
        "reviewCap": plan.review_cap,
        "iterationMode": mode,
        "preIterationSnapshot": stories.collect::<Map<String, Value>>(),
    })
}
