//! `ralph tasks list`: the stories and their status.

use super::WhichArgs;
use super::standing::{Standing, passing};
use crate::cli::format::ListFormat;
use crate::cli::table::{Column, Shape, table};
use crate::cli::{home, print_list};
use crate::error::CliError;
use crate::git::Repository;
use crate::lock::WorkspaceLock;
use crate::report::{Out, Style};
use crate::request::tasks::parse;
use crate::tally::tally;
use crate::tasks::archive;
use clap::Args;
use ralph_loop::money::{Cost, Usd};
use ralph_loop::plan::Plan;
use ralph_loop::review::{Reworded, Wording, standing};
use ralph_loop::task_list::{self, Pick, TaskList};
use ralph_loop::text::printable;
use ralph_loop::time::span;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Cost and time come from the runs since the last `ralph archive`.

Example:
  ralph tasks list --format json | jq -r '.[] | select(.reviews >= 3).id'")]
pub struct ListArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: ListFormat,
    #[command(flatten)]
    which: WhichArgs,
}

/// One story, as a line or an object.
#[derive(Debug, Serialize)]
struct TaskLine {
    id: String,
    title: String,
    #[serde(flatten)]
    standing: Standing,
    /// It is what the next iteration is about.
    next: bool,
    reviews: u64,
    iterations: u32,
    #[serde(flatten)]
    cost: Cost,
    /// Seconds.
    duration: f64,
    priority: f64,
    depends_on: Vec<String>,
    /// What agents have changed of what is asked of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reworded: Vec<Wording>,
}

pub fn list(args: &ListArgs) -> Result<ExitCode, CliError> {
    let (project, dir) = args.which.find()?;
    let home = home()?;
    let list = parse(&project, &dir)?;
    let tallies = tally(&home, &project, Plan::TASKS, archive::last(&project))?;
    let next = match task_list::pick(&list, false) {
        Pick::Work { story, .. } => story.id(),
        Pick::Done | Pick::Stuck(_) => "",
    };
    let passing = passing(&list);
    let mut reworded = tallies.reworded_by_story();
    let line = |story: &task_list::Story| {
        let tally = tallies.of(story.id());
        TaskLine {
            id: story.id().to_string(),
            title: story.title().to_string(),
            standing: Standing::of(story, &passing),
            next: story.id() == next,
            reviews: story.review_count().unwrap_or(0),
            iterations: tally.iterations,
            cost: tally.cost,
            duration: tally.duration_ms as f64 / 1000.0,
            priority: story.priority(),
            depends_on: story.depends_on().into_iter().map(String::from).collect(),
            reworded: reworded.remove(story.id()).unwrap_or_default(),
        }
    };
    let lines: Vec<TaskLine> = list.stories.iter().map(line).collect();
    print_list(
        args.format,
        &lines,
        |line| line.id.clone(),
        || {
            let tree = Repository::around(project.dir()).map(|repository| repository.top);
            let running = WorkspaceLock::is_held(&home, tree.as_deref().unwrap_or(project.dir()));
            print_table(&lines, &list, &tallies.reworded, running);
        },
    );
    Ok(ExitCode::SUCCESS)
}

const COLUMNS: [Column; 7] = [
    Column::kept("STORY", Shape::Left),
    Column::kept("TITLE", Shape::Title),
    Column::kept("STATUS", Shape::UpTo(17)),
    Column::kept("REVIEWS", Shape::Right),
    Column::kept("COST", Shape::Right),
    Column::kept("TIME", Shape::Right),
    Column::kept("DEPENDS ON", Shape::UpTo(15)),
];

fn print_table(lines: &[TaskLine], list: &TaskList, reworded: &[Reworded], running: bool) {
    let mut out = Out::stdout();
    if lines.is_empty() {
        out.line("No stories yet. `ralph tasks add \"Title\" --criterion \"…\"` adds one.");
    } else {
        let rows = rows(lines, Style::of_stdout().edge());
        rows.iter().for_each(|row| out.line(row));
        let done = list.stories.iter().filter(|story| story.passes()).count();
        let next = lines.iter().find(|line| line.next);
        let next = next.map_or_else(String::new, |line| {
            format!(", next: {} ({})", printable(&line.id), line.standing.words())
        });
        let at_work = if running { "; a run is active here" } else { "" };
        out.text(&format!("{done} of {} done{next}{at_work}", lines.len()));
    }
    if let Some(line) = Reworded::summary(reworded) {
        out.text(&printable(&line));
    }
    // Whatever cap the loop is run with.
    let rules = super::check::rules(false, u32::MAX);
    if !standing(Ok(list), &rules).is_empty() {
        out.line("The list has errors: `ralph tasks check` lists them.");
    }
    out.flush();
}

fn rows(lines: &[TaskLine], width: usize) -> Vec<String> {
    let cells = |line: &TaskLine| {
        let some = |is_some: bool, text: String| if is_some { text } else { "-".to_string() };
        [
            printable(&line.id).into_owned(),
            printable(&line.title).into_owned(),
            printable(&line.standing.words()).into_owned(),
            some(line.reviews > 0, line.reviews.to_string()),
            some(line.cost.usd > Usd::ZERO, line.cost.to_string()),
            some(line.duration > 0.0, span((line.duration * 1000.0) as u64)),
            printable(&line.depends_on.join(", ")).into_owned(),
        ]
    };
    table(&COLUMNS, &lines.iter().map(cells).collect::<Vec<_>>(), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn the_table_fits_80_columns() {
        let line = |id: &str, title: &str, standing, reviews| TaskLine {
            id: id.into(),
            title: title.into(),
            standing,
            next: false,
            reviews,
            iterations: 2,
            cost: Cost { usd: Usd::from_dollars(12.5), estimated: true },
            duration: 754.0,
            priority: 1.0,
            depends_on: vec!["US-001".into(), "US-002".into(), "US-003".into()],
            reworded: Vec::new(),
        };
        let waits = Standing::Waits { waits_for: vec!["US-001".into(), "US-002".into()] };
        let lines = [
            line("US-001", "A title that nobody could call a short one", Standing::ApprovedAtCap, 5),
            line("US-002", "\u{1b}[31mred", waits, 0),
        ];
        let rows = rows(&lines, 80);
        assert!(rows.iter().all(|row| row.width() <= 80), "{rows:#?}");
        insta::assert_snapshot!(rows.join("\n"), @"
        STORY  TITLE            STATUS            REVIEWS    COST   TIME DEPENDS ON
        US-001 A title that no… approved at cap         5 ~$12.50 12m34s US-001, US-002…
        US-002 red              waits for US-001…       - ~$12.50 12m34s US-001, US-002…
        ");
    }
}
