//! `ralph stories list`: the stories and their status.

use super::Stories;
use crate::cli::args::ProjectArgs;
use crate::cli::format::ListFormat;
use crate::cli::table::{Column, Shape, table};
use crate::cli::{home, print_list};
use crate::error::CliError;
use crate::lock::WorkspaceLock;
use crate::report::{Out, Style};
use crate::stories::state_file::StoryState;
use crate::stories::{Problem, Severity, Spec};
use crate::tally::{Tally, tally};
use clap::Args;
use ralph_loop::money::{Cost, Usd};
use ralph_loop::plan::Plan;
use ralph_loop::story_id::StoryId;
use ralph_loop::text::printable;
use ralph_loop::time::span;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Whether a story is done comes from .ralph/state.json, not from the status in its spec. A story is \
blocked until all stories it depends on are done.

Example:
  ralph stories list --format json | jq -r '.[] | select(.attempts > 1).id'")]
pub struct ListArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: ListFormat,
    #[command(flatten)]
    project: ProjectArgs,
}

/// One story, as a line or an object.
#[derive(Debug, Serialize)]
struct StoryLine {
    id: StoryId,
    title: String,
    #[serde(flatten)]
    status: Status,
    attempts: u32,
    #[serde(flatten)]
    cost: Cost,
    /// Seconds.
    duration: f64,
    depends_on: Vec<StoryId>,
    path: PathBuf,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
enum Status {
    Done,
    Running,
    /// Tried, and to be tried again.
    Failed {
        failed_attempts: u32,
    },
    Blocked {
        blocked_by: Vec<StoryId>,
    },
    Pending,
}

pub fn list(args: &ListArgs) -> Result<ExitCode, CliError> {
    let stories = Stories::read(&args.project)?;
    let home = home()?;
    let running = WorkspaceLock::is_held(&home, stories.project.dir());
    let tallies = tally(&home, &stories.project, Plan::STORIES, 0)?;
    let done = stories.state.completed_stories.iter().copied().collect();
    let line = |spec: &Spec| {
        let Tally { iterations, cost, duration_ms } = tallies.of(&spec.id.to_string());
        let status = status(spec, &stories.state, &done, running);
        // The state may know of attempts that are in no journal here.
        let failed = if let Status::Failed { failed_attempts } = status { failed_attempts } else { 0 };
        StoryLine {
            id: spec.id,
            title: spec.title.clone(),
            status,
            attempts: iterations.max(failed),
            cost,
            duration: duration_ms as f64 / 1000.0,
            depends_on: spec.depends_on.clone(),
            path: spec.path.clone(),
        }
    };
    let lines: Vec<StoryLine> = stories.backlog.specs.iter().map(line).collect();
    print_list(
        args.format,
        &lines,
        |line| line.id.to_string(),
        || {
            let is_error = |problem: &&Problem| problem.severity == Severity::Error;
            print_table(&lines, stories.backlog.problems.iter().filter(is_error).count());
        },
    );
    Ok(ExitCode::SUCCESS)
}

/// The state names a story that is worked on also after its run was killed: whether a run is
/// `running` decides.
fn status(spec: &Spec, state: &StoryState, done: &BTreeSet<StoryId>, running: bool) -> Status {
    let is_done = |id: &StoryId| done.contains(id);
    if state.current_story == Some(spec.id) {
        match state.retry_count {
            _ if running => return Status::Running,
            0 => {}
            failed_attempts => return Status::Failed { failed_attempts },
        }
    }
    if is_done(&spec.id) {
        return Status::Done;
    }
    let blocked_by: Vec<StoryId> = spec.depends_on.iter().filter(|id| !is_done(id)).copied().collect();
    if blocked_by.is_empty() { Status::Pending } else { Status::Blocked { blocked_by } }
}

impl Status {
    fn words(&self) -> String {
        match self {
            Status::Done => "done".to_string(),
            Status::Running => "running".to_string(),
            Status::Failed { failed_attempts: 1 } => "failed once".to_string(),
            Status::Failed { failed_attempts } => format!("failed {failed_attempts} times"),
            Status::Blocked { blocked_by } => format!("blocked by {}", ids(blocked_by)),
            Status::Pending => "pending".to_string(),
        }
    }
}

fn ids(ids: &[StoryId]) -> String {
    ids.iter().map(StoryId::to_string).collect::<Vec<_>>().join(", ")
}

const COLUMNS: [Column; 7] = [
    Column::kept("STORY", Shape::Left),
    Column::kept("TITLE", Shape::Title),
    Column::kept("STATUS", Shape::UpTo(17)),
    Column::kept("ATTEMPTS", Shape::Right),
    Column::kept("COST", Shape::Right),
    Column::kept("TIME", Shape::Right),
    Column::kept("DEPENDS ON", Shape::UpTo(12)),
];

fn print_table(lines: &[StoryLine], errors: usize) {
    let mut out = Out::stdout();
    if lines.is_empty() {
        out.line("No stories yet. `ralph stories new \"Title\" --epic 1` creates one.");
    } else {
        let rows = rows(lines, Style::of_stdout().edge());
        rows.iter().for_each(|row| out.line(row));
    }
    if errors > 0 {
        out.line("The specs have errors: `ralph stories check` lists them.");
    }
    out.flush();
}

fn rows(lines: &[StoryLine], width: usize) -> Vec<String> {
    let cells = |line: &StoryLine| {
        let some = |is_some: bool, text: String| if is_some { text } else { "-".to_string() };
        [
            line.id.to_string(),
            printable(&line.title).into_owned(),
            line.status.words(),
            some(line.attempts > 0, line.attempts.to_string()),
            some(line.cost.usd > Usd::ZERO, line.cost.to_string()),
            some(line.duration > 0.0, span((line.duration * 1000.0) as u64)),
            ids(&line.depends_on),
        ]
    };
    table(&COLUMNS, &lines.iter().map(cells).collect::<Vec<_>>(), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    fn line(id: &str, title: &str, status: Status, depends_on: &[&str]) -> StoryLine {
        let attempts = u32::from(status == Status::Done);
        StoryLine {
            id: id.parse().unwrap(),
            title: title.to_string(),
            status,
            attempts,
            cost: Cost { usd: Usd::from_dollars(1.5 * f64::from(attempts)), estimated: false },
            duration: 754.0 * f64::from(attempts),
            depends_on: depends_on.iter().map(|id| id.parse().unwrap()).collect(),
            path: PathBuf::new(),
        }
    }

    fn lines() -> [StoryLine; 5] {
        let blocked_by = vec!["10.11".parse().unwrap(), "10.12".parse().unwrap()];
        [
            line("1.1", "Log in", Status::Done, &[]),
            line("1.2", "日本語のタイトルはとても長いので切られます", Status::Running, &["1.1"]),
            line(
                "1.3",
                "A title that nobody could call a short one",
                Status::Failed { failed_attempts: 2 },
                &[],
            ),
            line("10.13", "Waits", Status::Blocked { blocked_by }, &["10.11", "10.12"]),
            line("10.14", "\u{1b}[31mred", Status::Pending, &[]),
        ]
    }

    #[test]
    fn the_table_fits_80_columns() {
        let rows = rows(&lines(), 80);
        assert!(rows.iter().all(|row| row.width() <= 80), "{rows:#?}");
        insta::assert_snapshot!(rows.join("\n"), @"
        STORY TITLE                 STATUS            ATTEMPTS  COST   TIME DEPENDS ON
        1.1   Log in                done                     1 $1.50 12m34s
        1.2   日本語のタイトルはと… running                  -     -      - 1.1
        1.3   A title that nobody … failed 2 times           -     -      -
        10.13 Waits                 blocked by 10.11…        -     -      - 10.11, 10.12
        10.14 red                   pending                  -     -      -
        ");
    }

    #[test]
    fn a_pipe_gets_everything() {
        insta::assert_snapshot!(rows(&lines(), usize::MAX).join("\n"), @"
        STORY TITLE                                    STATUS            ATTEMPTS  COST   TIME DEPENDS ON
        1.1   Log in                                   done                     1 $1.50 12m34s
        1.2   日本語のタイトルはとても長いので切られます running                  -     -      - 1.1
        1.3   A title that nobody could call a short one failed 2 times           -     -      -
        10.13 Waits                                    blocked by 10.11, 10.12        -     -      - 10.11, 10.12
        10.14 red                                      pending                  -     -      -
        ");
    }

    #[test]
    fn the_status_is_that_of_the_state() {
        let id = |text: &str| text.parse::<StoryId>().unwrap();
        let spec = |text: &str, depends_on: &[&str]| {
            let mut spec = Spec::for_tests(id(text), depends_on.iter().map(|text| id(text)).collect());
            spec.status = Some("done".to_string());
            spec
        };
        let state = StoryState {
            completed_stories: vec![id("1.1"), id("1.2")],
            current_story: Some(id("1.3")),
            retry_count: 2,
        };
        let done = state.completed_stories.iter().copied().collect();
        let words =
            |text: &str, on: &[&str], running| status(&spec(text, on), &state, &done, running).words();
        assert_eq!(words("1.1", &["9.9"], false), "done");
        assert_eq!(words("1.3", &[], true), "running");
        assert_eq!(words("1.3", &[], false), "failed 2 times");
        assert_eq!(words("1.4", &["1.1", "1.2"], true), "pending");
        assert_eq!(words("1.4", &["1.1", "1.3", "1.5"], false), "blocked by 1.3, 1.5");
        let state = StoryState { retry_count: 0, ..state.clone() };
        assert_eq!(status(&spec("1.3", &[]), &state, &done, false), Status::Pending);
    }
}
