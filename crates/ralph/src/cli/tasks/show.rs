//! `ralph tasks show`: a story in full.

use super::WhichArgs;
use super::standing::{Standing, passing};
use crate::cli::format::{Format, Shape};
use crate::cli::{home, print_json, print_lines};
use crate::error::CliError;
use crate::report::Out;
use crate::request::tasks::parse;
use crate::similar;
use crate::tally::{Tally, tally};
use crate::tasks::archive;
use clap::Args;
use ralph_loop::money::Cost;
use ralph_loop::plan::Plan;
use ralph_loop::review::Wording;
use ralph_loop::task_list::{Json, Story, field};
use ralph_loop::text::printable;
use ralph_loop::time::span;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Example:
  ralph tasks show US-003 --format json | jq -r .story.reviewFeedback")]
pub struct ShowArgs {
    /// Story id
    id: String,
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    #[command(flatten)]
    which: WhichArgs,
}

#[derive(Serialize)]
struct Shown<'l> {
    /// As it is in the file.
    story: &'l Story,
    #[serde(flatten)]
    standing: Standing,
    iterations: u32,
    #[serde(flatten)]
    cost: Cost,
    /// Seconds.
    duration: f64,
    /// What agents have changed of what is asked of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reworded: Vec<Wording>,
}

pub fn show(args: &ShowArgs) -> Result<ExitCode, CliError> {
    let (project, dir) = args.which.find()?;
    let list = parse(&project, &dir)?;
    let story = list.story(&args.id).ok_or_else(|| {
        let meant = similar::nearest(&args.id, list.stories.iter().map(Story::id));
        CliError::failed(format!("no such story: {}", args.id))
            .hint(similar::hint(meant, "`ralph tasks list` lists the stories"))
    })?;
    let tallies = tally(&home()?, &project, Plan::TASKS, archive::last(&project))?;
    let tally = tallies.of(story.id());
    let standing = Standing::of(story, &passing(&list));
    let Tally { iterations, cost, duration_ms } = tally;
    let (duration, reworded) = (duration_ms as f64 / 1000.0, tallies.reworded(story.id()));
    let shown = Shown { story, standing, iterations, cost, duration, reworded };
    match args.format.shape() {
        Shape::Text => print(&shown, &tally),
        Shape::Value => print_json(&shown),
        Shape::Lines => print_lines([shown]),
    }
    Ok(ExitCode::SUCCESS)
}

/// Fields that have a line or a section of their own.
const SHOWN_ABOVE: [&str; 11] = [
    field::ID,
    field::TITLE,
    field::DESCRIPTION,
    field::ACCEPTANCE_CRITERIA,
    field::PRIORITY,
    field::PASSES,
    field::REVIEW_STATUS,
    field::REVIEW_COUNT,
    field::REVIEW_FEEDBACK,
    field::NOTES,
    field::DEPENDS_ON,
];

fn print(shown: &Shown<'_>, tally: &Tally) {
    let Shown { story, standing, reworded, .. } = shown;
    let mut out = Out::stdout();
    let mut line = |text: &str| out.text(&printable(text));
    let raw = |name: &str| story.field(name).map_or_else(|| "missing".to_string(), Json::to_string);
    line(&format!("{}: {}", story.id(), story.title()));
    line(&format!("  status        {}", standing.words()));
    line(&format!("  passes        {}", raw(field::PASSES)));
    line(&format!("  reviewStatus  {}", raw(field::REVIEW_STATUS)));
    line(&format!("  reviewCount   {}", raw(field::REVIEW_COUNT)));
    line(&format!("  priority      {}", raw(field::PRIORITY)));
    let depends_on = story.depends_on().join(", ");
    line(&format!("  dependsOn     {}", if depends_on.is_empty() { "-" } else { &depends_on }));
    let Tally { iterations, cost, duration_ms } = tally;
    let word = if *iterations == 1 { "iteration" } else { "iterations" };
    line(&format!("  so far        {iterations} {word}, cost: {cost}, time: {}", span(*duration_ms)));
    if !reworded.is_empty() {
        let words: Vec<String> = reworded.iter().map(ToString::to_string).collect();
        line(&format!("  reworded      by agents: {}", words.join(", ")));
    }
    let others = story.fields().filter(|(name, _)| !SHOWN_ABOVE.contains(name));
    for (name, value) in others {
        line(&format!("  {name:<13} {value}"));
    }
    let mut section = |name: &str, texts: &[&str], mark: &str| {
        let texts: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
        if texts.is_empty() {
            return;
        }
        line("");
        line(name);
        for text in texts {
            for (number, part) in text.lines().enumerate() {
                let mark = if number == 0 { mark } else { "  " };
                line(&format!("{mark}{part}"));
            }
        }
    };
    section("description", &[story.description()], "  ");
    let criteria: Vec<String> = match story.field(field::ACCEPTANCE_CRITERIA) {
        Some(Json::Array(items)) => {
            items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), String::from)).collect()
        }
        _ => Vec::new(),
    };
    section("acceptanceCriteria", &criteria.iter().map(String::as_str).collect::<Vec<_>>(), "- ");
    section("reviewFeedback", &[story.review_feedback()], "  ");
    section("notes", &[story.notes()], "  ");
    out.flush();
}
