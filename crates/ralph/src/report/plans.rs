//! What is said of a plan, whatever says it: what is to be done, what is worked on, how it went.

use super::style::{Style, fit};
use ralph_loop::plan::prompt::Completion;
use ralph_loop::plan::stories::StoriesPlan;
use ralph_loop::plan::tasks::TasksPlan;
use ralph_loop::plan::{Item, Plan, PlanState};
use ralph_loop::task_list::{ReviewStatus, Story};
use ralph_loop::text::printable;
use ralph_loop::time::span;
use ralph_loop::verdict::{Judgement, Settlement};
use ralph_loop::{Run, State};

/// The command that begins such a run.
pub(super) fn door(plan: &Plan) -> &'static str {
    match plan {
        Plan::Prompt(_) => "run",
        Plan::Stories(_) => "stories",
        Plan::Tasks(_) => "tasks",
    }
}

/// What is to be done, as names and texts of the banner.
pub(super) fn fields(run: &Run) -> Vec<(&'static str, String)> {
    match &run.plan {
        Plan::Prompt(plan) => {
            let until = match &plan.completion {
                Completion::Response(word) if run.checks.is_empty() => format!("the agent says {word}"),
                Completion::Response(word) => format!("the checks pass and the agent says {word}"),
                Completion::ChecksOnly => "the checks pass".to_string(),
                Completion::Pattern(pattern) => format!("the agent's words match {pattern}"),
                Completion::Never => "all of them are done".to_string(),
            };
            vec![("until", format!("{until}, at most {} iterations", run.limits.iterations))]
        }
        Plan::Stories(plan) => {
            let ids: Vec<String> = plan.todo.iter().map(|story| story.id.to_string()).collect();
            vec![("stories", format!("{} to do: {}", ids.len(), ids.join(" "))), ("tries", tries(run, plan))]
        }
        Plan::Tasks(plan) => vec![
            ("tasks", format!("{}, {}", plan.dir.join("tasks.json").display(), reviews(plan))),
            ("place", "here: no sandbox keeps the agent from the rest of the machine".to_string()),
        ],
    }
}

/// How many iterations to expect, and what ends one.
fn tries(run: &Run, plan: &StoriesPlan) -> String {
    let (best, most) = (plan.todo.len(), run.limits.iterations);
    let each = run.limits.agent_timeout_ms.map_or_else(String::new, |ms| format!("{} each, ", span(ms)));
    format!("{best} at best, {most} at most; {each}{} a story", plan.max_retries)
}

fn reviews(plan: &TasksPlan) -> String {
    match plan.skip_review {
        true => "no reviews".to_string(),
        false => format!("every story is reviewed, at most {} times", plan.review_cap),
    }
}

/// The title of an iteration.
pub(super) fn title(
    run: &Run,
    state: &State,
    (iteration, attempt): (u32, u32),
    item: &Item,
    style: Style,
) -> String {
    let mut title = format!("Iteration {iteration}/{}", state.limits.iterations);
    match (item, &run.plan) {
        (Item::Story { id, attempt }, Plan::Stories(plan)) => {
            let name = plan.story(*id).map_or("", |story| &story.title);
            title += &format!(": story {id}, {}", printable(name));
            if *attempt > 1 {
                title += &format!(", try {attempt} of {}", plan.max_retries);
            }
        }
        (Item::Task { id, mode }, _) => {
            let name = task(state, id).map_or("", Story::title);
            title += &format!(": {mode} {}, {}", printable(id), printable(name));
        }
        (Item::Story { .. } | Item::Prompt, _) if attempt > 1 => title += &format!(" (attempt {attempt})"),
        (Item::Story { .. } | Item::Prompt, _) => {}
    }
    fit(&title, style.width.saturating_sub(8))
}

/// How an iteration over a story went; none for a prompt, of which the checks tell all.
pub(super) fn outcome(run: &Run, state: &State, judgement: &Judgement, style: Style) -> Option<String> {
    match (&judgement.item, &run.plan, &judgement.settlement) {
        (Item::Story { id, .. }, Plan::Stories(plan), Settlement::Settled) => {
            let PlanState::Stories(stories) = &state.plan else { return None };
            let left = plan.todo.iter().filter(|story| !stories.done.contains(&story.id)).count();
            Some(format!("{} story {id} is done, {left} left", style.ok()))
        }
        (Item::Story { id, attempt }, Plan::Stories(plan), Settlement::Retry { why }) => {
            let of = plan.max_retries;
            Some(format!("{} story {id} failed: {} (try {attempt} of {of})", style.bad(), printable(why)))
        }
        (Item::Task { id, .. }, _, _) => {
            let red = !judgement.verdict.failed_checks().is_empty();
            Some(format!("  {} {}", printable(id), standing(task(state, id)?, red)))
        }
        (Item::Story { .. } | Item::Prompt, _, _) => None,
    }
}

/// Where a story of a task list stands.
fn standing(story: &Story, red: bool) -> &'static str {
    match story.review_status() {
        _ if red && story.passes() => "is said to be right; the checks are red",
        Some(ReviewStatus::Approved) => "is approved",
        Some(ReviewStatus::ChangesRequested) => "goes back with feedback",
        Some(ReviewStatus::NeedsReview) => "waits for a review",
        Some(ReviewStatus::Unreviewed) | None if story.passes() => "is done",
        Some(ReviewStatus::Unreviewed) | None => "is not done",
    }
}

/// A story of the task list, as far as it is known.
fn task<'s>(state: &'s State, id: &str) -> Option<&'s Story> {
    match &state.plan {
        PlanState::Tasks(tasks) => tasks.known.as_ref()?.list.story(id),
        PlanState::Prompt(_) | PlanState::Stories(_) => None,
    }
}
