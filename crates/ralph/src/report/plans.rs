//! Texts about a plan, for all reporters: what to do, what is in progress, how it went.

use super::style::{Style, Tone, fit};
use ralph_loop::plan::prompt::Completion;
use ralph_loop::plan::stories::StoriesPlan;
use ralph_loop::plan::tasks::TasksPlan;
use ralph_loop::plan::{Item, Plan};
use ralph_loop::task_list::{ReviewStatus, Story};
use ralph_loop::text::{counted, printable};
use ralph_loop::time::span;
use ralph_loop::verdict::{Judgement, Settlement};
use ralph_loop::view::{ItemView, Mark};
use ralph_loop::{Run, State};
use unicode_width::UnicodeWidthStr;

/// The command that begins such a run.
pub fn command_name(plan: &Plan) -> &'static str {
    match plan {
        Plan::Prompt(_) => "run",
        Plan::Stories(_) => "stories",
        Plan::Tasks(_) => "tasks",
    }
}

/// What to do, as names and texts of the banner.
pub(super) fn fields(run: &Run, state: &State) -> Vec<(&'static str, String)> {
    match &run.plan {
        Plan::Prompt(plan) => {
            let until = match &plan.completion {
                Completion::Response(word) if run.checks.is_empty() => format!("the agent says {word}"),
                Completion::Response(word) => format!("the checks pass and the agent says {word}"),
                Completion::ChecksOnly => "the checks pass".to_string(),
                Completion::Pattern(pattern) => format!("the agent's output matches {pattern}"),
                Completion::Never => {
                    return vec![(
                        "until",
                        match state.ledger.limits.iterations {
                            1 => "1 iteration has run".to_string(),
                            n => format!("{n} iterations have run"),
                        },
                    )];
                }
            };
            vec![(
                "until",
                format!("{until}, at most {}", counted(state.ledger.limits.iterations.into(), "iteration")),
            )]
        }
        Plan::Stories(plan) => {
            let ids: Vec<String> = plan.todo.iter().map(|story| story.id.to_string()).collect();
            if ids.is_empty() {
                return vec![("stories", "none to do".to_string())];
            }
            vec![
                ("stories", format!("{} to do: {}", ids.len(), ids.join(" "))),
                ("needs", attempts(state, plan)),
            ]
        }
        Plan::Tasks(plan) => {
            let tasks = format!("{}, {}", plan.dir.join("tasks.json").display(), reviews(plan));
            vec![("tasks", tasks)]
        }
    }
}

/// How many attempts to expect, and what ends one.
fn attempts(state: &State, plan: &StoriesPlan) -> String {
    let (best, most) = (plan.todo.len(), state.ledger.limits.iterations);
    let each =
        state.ledger.limits.agent_timeout_ms.map_or_else(String::new, |ms| format!("{} each, ", span(ms)));
    let word = if best == 1 { "attempt" } else { "attempts" };
    format!("at least {best} {word}, at most {most}; {each}{} per story", plan.max_retries)
}

fn reviews(plan: &TasksPlan) -> String {
    match plan.skip_review {
        true => "no reviews".to_string(),
        false => format!("each story gets at most {}", counted(plan.review_cap.into(), "review")),
    }
}

/// What the title of an iteration names.
pub(super) struct IterationTitle<'a> {
    pub iteration: u32,
    pub attempt: u32,
    pub item: &'a Item,
    /// The name of its agent, if the run has several.
    pub agent: Option<&'a str>,
}

/// The title of an iteration.
pub(super) fn title(run: &Run, state: &State, named: &IterationTitle<'_>, style: Style) -> String {
    let IterationTitle { iteration, attempt, item, agent } = *named;
    let mut title = format!("Iteration {iteration}/{}", state.ledger.limits.iterations);
    if let Some(agent) = agent {
        title += &format!(" ({})", printable(agent));
    }
    match (item, &run.plan) {
        (Item::Story { id, attempt }, Plan::Stories(plan)) => {
            let name = plan.story(*id).map_or("", |story| &story.title);
            // A long name must not hide the attempt.
            let again = match attempt {
                1 => String::new(),
                n => format!(" (attempt {n} of {})", plan.max_retries),
            };
            title += &format!(": story {id}{again}, {}", printable(name));
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

/// Every piece of work with its mark, on one line. Of more than fit, those around the one at work.
pub(super) fn marks(items: &[ItemView], style: Style) -> Option<String> {
    let at_work = items.iter().position(|item| item.mark == Mark::AtWork).unwrap_or(0);
    let words: Vec<String> =
        items.iter().map(|item| format!("{}{}", mark(item.mark, style), printable(&item.id))).collect();
    let (mut from, mut to) = (at_work, at_work + 1);
    let mut room = style.width.saturating_sub(MARGIN).checked_sub(words.get(at_work)?.width())?;
    loop {
        let before = from.checked_sub(1).map(|at| words[at].width() + 1);
        let after = words.get(to).map(|word| word.width() + 1);
        match (before, after) {
            // By turns, as far as there is room.
            (Some(wide), None) if wide <= room => (from, room) = (from - 1, room - wide),
            (Some(wide), Some(_)) if at_work - from <= to - at_work && wide <= room => {
                (from, room) = (from - 1, room - wide);
            }
            (_, Some(wide)) if wide <= room => (to, room) = (to + 1, room - wide),
            _ => break,
        }
    }
    let cut = |is_cut: bool| if is_cut { "… " } else { "" };
    let end = if to < words.len() { " …" } else { "" };
    Some(format!("  {}{}{end}", cut(from > 0), words[from..to].join(" ")))
}

/// For the indent, and for what says that there are more.
const MARGIN: usize = 6;

pub fn mark(mark: Mark, style: Style) -> &'static str {
    match (mark, style.emoji) {
        (Mark::Done, true) => "✓",
        (Mark::AtWork, true) => "▶",
        (Mark::Failed, true) => "✗",
        (Mark::NeedsReview, true) => "?",
        (Mark::NeedsChanges, true) => "✎",
        (Mark::Open, true) => "·",
        (Mark::Done, false) => "x",
        (Mark::AtWork, false) => ">",
        (Mark::Failed, false) => "!",
        (Mark::NeedsReview, false) => "?",
        (Mark::NeedsChanges, false) => "*",
        (Mark::Open, false) => ".",
    }
}

/// How an iteration over a story went; nothing for a prompt, where the checks say it all.
pub(super) fn outcome(run: &Run, state: &State, judgement: &Judgement, style: Style) -> Vec<String> {
    match (&judgement.item, &run.plan, &judgement.settlement) {
        (Item::Story { id, .. }, Plan::Stories(plan), Settlement::Settled) => {
            let left = run
                .plan
                .progress(&state.plan)
                .map_or(plan.todo.len(), |progress| progress.of - progress.done);
            vec![format!("{} story {id} is done, {left} left", style.ok())]
        }
        (Item::Story { id, attempt }, Plan::Stories(plan), Settlement::Retry { why }) => {
            let of = plan.max_retries;
            let why = fit(&printable(why), style.width.saturating_sub(4));
            vec![
                format!("{} story {id} failed, attempt {attempt} of {of}", style.bad()),
                style.paint(Tone::Quiet, &format!("{}{why}", style.under())),
            ]
        }
        (Item::Task { id, .. }, _, _) => {
            let red = !judgement.verdict.failed_checks().is_empty();
            let line = |story| format!("  {} {}", printable(id), standing(story, red));
            task(state, id).map(line).into_iter().collect()
        }
        (Item::Story { .. } | Item::Prompt, _, _) => Vec::new(),
    }
}

/// How much there is to do, in a line of a log.
pub(super) fn amount_of_work(run: &Run) -> String {
    match &run.plan {
        Plan::Prompt(_) => format!("at most {}", counted(run.limits.iterations.into(), "iteration")),
        Plan::Stories(plan) => format!("{} to do", counted(plan.todo.len() as u64, "story")),
        Plan::Tasks(plan) => format!("the tasks in {}", plan.dir.display()),
    }
}

/// What an agent does, in a line of a log.
pub(super) fn works_on(run: &Run, item: &Item) -> String {
    match (item, &run.plan) {
        (Item::Story { id, attempt }, Plan::Stories(plan)) => {
            let title = plan.story(*id).map_or("", |story| story.title.as_str());
            format!("works on story {id}, {title} (attempt {attempt}/{})", plan.max_retries)
        }
        (Item::Task { id, mode }, _) => format!("works on {id} ({mode})"),
        (Item::Story { .. } | Item::Prompt, _) => "works".into(),
    }
}

/// The status of a story in a task list.
fn standing(story: &Story, red: bool) -> &'static str {
    match story.review_status() {
        _ if red && story.passes() => "was approved, but checks fail",
        Some(ReviewStatus::Approved) => "is approved",
        Some(ReviewStatus::ChangesRequested) => "needs changes",
        Some(ReviewStatus::NeedsReview) => "needs review",
        Some(ReviewStatus::Unreviewed) | None if story.passes() => "is done",
        Some(ReviewStatus::Unreviewed) | None => "is not done",
    }
}

/// A story of the task list, as far as it is known.
fn task<'s>(state: &'s State, id: &str) -> Option<&'s Story> {
    state.plan.as_tasks()?.known.as_ref()?.list.story(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(marks: &str) -> Vec<ItemView> {
        let item = |(at, mark): (usize, char)| ItemView {
            id: format!("1.{}", at + 1),
            title: String::new(),
            mark: match mark {
                'x' => Mark::Done,
                '>' => Mark::AtWork,
                '!' => Mark::Failed,
                _ => Mark::Open,
            },
            depends_on: Vec::new(),
            reviews: None,
        };
        marks.chars().enumerate().map(item).collect()
    }

    #[test]
    fn marks_that_do_not_fit_are_left_out_at_both_ends() {
        let line = |marks: &str, width| {
            let mut style = Style::of_stdout();
            (style.width, style.emoji) = (width, false);
            super::marks(&items(marks), style)
        };
        assert_eq!(line("", 80), None);
        assert_eq!(line("xx>.", 80).as_deref(), Some("  x1.1 x1.2 >1.3 .1.4"));
        assert_eq!(
            line(&format!("xx>{}", ".".repeat(50)), 40).as_deref(),
            Some("  x1.1 x1.2 >1.3 .1.4 .1.5 .1.6 .1.7 …")
        );
        let late = line(&format!("{}>....", "x".repeat(500)), 40).unwrap();
        assert_eq!(late, "  … x1.498 x1.499 x1.500 >1.501 .1.502 …");
        assert_eq!(line("xxxx!", 80).as_deref(), Some("  x1.1 x1.2 x1.3 x1.4 !1.5"));
    }
}
