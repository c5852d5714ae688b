//! What is known of a story that does not get done: its fields, and what happened in each of its iterations.

use crate::catalog::{self, CatalogError, RunLine};
use crate::layout::{Home, Project};
use crate::run_history::RunHistory;
use ralph_loop::plan::Plan;
use ralph_loop::task_list::Story;
use ralph_loop::view::Iteration;
use std::fmt::Write as _;

/// Older iterations are counted only.
const MOST: usize = 30;

/// For the agent, as Markdown.
pub fn of(story: &Story, home: &Home, project: &Project) -> Result<String, CatalogError> {
    let of_project =
        |line: &RunLine| line.origin() == Some(project.dir()) && line.plan.as_deref() == Some(Plan::TASKS);
    let mut lines = catalog::all(home)?;
    lines.retain(of_project);
    lines.sort_by_key(|line| line.opened_at);
    let mut told = Vec::new();
    for line in lines {
        // One that cannot be read is reported by `ralph runs`.
        let Ok(history) = RunHistory::read(home, &line.id) else { continue };
        let own =
            history.iterations.iter().filter(|iteration| iteration.story.as_deref() == Some(story.id()));
        told.extend(own.map(|iteration| iteration_line(&line.id, iteration)));
    }
    let mut text = String::new();
    let _ = writeln!(text, "- title: {}", story.title());
    let count = story.review_count().unwrap_or_default();
    if let Some(status) = story.review_status() {
        let _ = writeln!(text, "- reviewStatus: {status}, reviewCount: {count}");
    }
    for (name, value) in [("reviewFeedback", story.review_feedback()), ("notes", story.notes())] {
        if !value.trim().is_empty() {
            let _ = writeln!(text, "- {name}: {}", value.trim());
        }
    }
    let left_out = told.len().saturating_sub(MOST);
    let _ = match told.len() {
        0 => writeln!(text, "- no iteration of a run has worked on it yet"),
        _ if left_out > 0 => writeln!(text, "- {left_out} earlier iterations are left out"),
        _ => Ok(()),
    };
    for line in told.into_iter().skip(left_out) {
        let _ = writeln!(text, "- {line}");
    }
    Ok(text)
}

fn iteration_line(run: &str, iteration: &Iteration) -> String {
    let mode = iteration.mode.map_or_else(String::new, |mode| format!(" ({mode})"));
    let mut line = format!("run {run}, iteration {}{mode}:", iteration.iteration);
    let failed = iteration.check_results.iter().filter(|check| !check.passed);
    let mut parts: Vec<String> =
        failed.map(|check| format!("check failed: {}: {}", check.name, check.output)).collect();
    parts.extend(iteration.error.clone());
    if iteration.denied_tool_calls > 0 {
        parts.push(format!("{} tool calls were denied", iteration.denied_tool_calls));
    }
    if parts.is_empty() {
        parts.push(if iteration.all_checks_passed { "checks green" } else { "no checks" }.to_owned());
    }
    let _ = write!(line, " {}", parts.join("; "));
    line
}
