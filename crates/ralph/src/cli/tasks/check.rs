//! `ralph tasks check`: what is wrong with the list.

use super::WhichArgs;
use crate::cli::format::{Format, Shape};
use crate::cli::{print_json, print_lines};
use crate::error::{CliError, Code};
use crate::fsx;
use crate::layout::{Project, TasksDir};
use crate::placeholder::{self, Placeholder};
use crate::report::Out;
use crate::similar;
use crate::tasks::import;
use clap::Args;
use ralph_loop::review::{DEFAULT_REVIEW_CAP, ReviewRules, standing};
use ralph_loop::task_list::{Mode, Story, TWICE, TaskList, Unreadable, dead_ends, field, story_lines};
use ralph_loop::text::printable;
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
An error keeps `ralph tasks` from running, or a story from ever being done: fields of the wrong type, \
duplicate ids, contradictory passes and reviewStatus, dependencies on missing stories or on the story \
itself, a prd.md without a summary.

Exit codes: 0 no errors, 2 errors or no list.

Example:
  ralph tasks check --format json | jq -r '.problems[].text'")]
pub struct CheckArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    format: Format,
    /// Validate for a run without reviews
    #[arg(long)]
    skip_review: bool,
    /// Review cap of the run [default: 5]
    #[arg(long, value_name = "N", conflicts_with = "skip_review")]
    review_cap: Option<u32>,
    #[command(flatten)]
    which: WhichArgs,
}

#[derive(Serialize)]
struct Checked {
    file: PathBuf,
    stories: usize,
    errors: usize,
    warnings: usize,
    problems: Vec<Problem>,
}

#[derive(Serialize)]
struct Problem {
    severity: Severity,
    file: PathBuf,
    /// Where the story begins, or the text is no JSON any more.
    line: Option<usize>,
    story: Option<String>,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Error,
    Warning,
}

/// What a story without an id goes by, before its number.
const NUMBER: &str = "number ";

/// What `ralph init tasks` writes if no feature is named.
const PLACEHOLDER_BRANCH: &str = "ralph/feature-name";

/// What any list is held against, whatever iteration comes next.
pub fn rules(skip_review: bool, review_cap: u32) -> ReviewRules<'static> {
    ReviewRules { mode: Mode::Implement, story: None, skip_review, review_cap }
}

pub fn check(args: &CheckArgs) -> Result<ExitCode, CliError> {
    let (project, dir) = args.which.find()?;
    let (mut list, text) = read(&project, &dir)?;
    let filled = list.as_mut().map(|list| list.fill_missing(&project.name())).unwrap_or_default();
    let rules = rules(args.skip_review, args.review_cap.unwrap_or(DEFAULT_REVIEW_CAP));
    let file = project.shown(&dir.list());
    let mut problems = errors(&list, &rules, &file);
    if let Ok(list) = &list {
        problems.extend(warnings(list, &file));
    }
    if !filled.is_empty() {
        let text = format!("The task list: missing fields, which a run adds: {}", filled.join(", "));
        let file = file.clone();
        problems.push(Problem { severity: Severity::Warning, file, line: None, story: None, text });
    }
    place(&mut problems, &list, &text);
    problems.extend(in_prd(&project, &dir));
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let checked = Checked {
        file,
        stories: list.as_ref().map_or(0, |list| list.stories.len()),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        problems,
    };
    match args.format.shape() {
        Shape::Text => print(&checked),
        Shape::Value => print_json(&checked),
        Shape::Lines => print_lines(&checked.problems),
    }
    Ok(match checked.errors {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(Code::Usage as u8),
    })
}

/// With its text. A list that is wrong is what this is for; one that is not there is not.
fn read(project: &Project, dir: &TasksDir) -> Result<(Result<TaskList, Unreadable>, String), CliError> {
    match fsx::read_regular(&dir.list()) {
        Ok(bytes) => {
            let list = TaskList::parse_bytes(&bytes);
            Ok((list, String::from_utf8(bytes).unwrap_or_default()))
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Err(import::missing(project, dir).into()),
        Err(cause) => Ok((Err(Unreadable::Denied(cause.to_string())), String::new())),
    }
}

/// Finds the lines that the problems are in, as far as they are about a place in the text.
fn place(problems: &mut [Problem], list: &Result<TaskList, Unreadable>, text: &str) {
    let lines = story_lines(text);
    let line = match list {
        Ok(list) => {
            let stories = || list.stories.iter().map(Story::id).zip(lines.iter().copied());
            let first: HashMap<&str, usize> = stories().rev().collect();
            let last: HashMap<&str, usize> = stories().collect();
            for problem in problems {
                let found = if problem.text.ends_with(TWICE) { &last } else { &first };
                problem.line = problem.story.as_deref().and_then(|story| match story.strip_prefix(NUMBER) {
                    Some(number) => lines.get(number.parse::<usize>().ok()?.checked_sub(1)?).copied(),
                    None => found.get(story).copied(),
                });
            }
            return;
        }
        Err(Unreadable::StoryNotAnObject { number, .. }) => lines.get(number - 1).copied(),
        Err(Unreadable::Syntax(why)) => syntax_line(why),
        Err(
            Unreadable::Missing
            | Unreadable::NotAnObject
            | Unreadable::NoStories
            | Unreadable::StoriesNotAList { .. }
            | Unreadable::Denied(_),
        ) => None,
    };
    problems.iter_mut().for_each(|problem| problem.line = line);
}

/// The parser's words end with ` at line 3 column 5`.
fn syntax_line(why: &str) -> Option<usize> {
    why.rsplit_once(" at line ")?.1.split(' ').next()?.parse().ok()
}

fn errors(list: &Result<TaskList, Unreadable>, rules: &ReviewRules<'_>, file: &Path) -> Vec<Problem> {
    let error = |story: Option<String>, text| Problem {
        severity: Severity::Error,
        file: file.to_path_buf(),
        line: None,
        story,
        text,
    };
    let standing = standing(list.as_ref(), rules);
    let mut problems: Vec<Problem> =
        standing.into_iter().map(|violation| error(violation.story, violation.message)).collect();
    if let Ok(list) = list {
        if list.stories.is_empty() {
            problems.push(error(None, "The task list has no stories.".to_string()));
        }
        let stuck = dead_ends(list, rules.skip_review);
        let dead_end = |stuck: &ralph_loop::task_list::Blocked<'_>| {
            error(Some(stuck.story.to_string()), format!("Story {stuck}: it can never start."))
        };
        problems.extend(stuck.iter().map(dead_end));
    }
    problems
}

/// Sections of the PRD that still have the template's text.
fn in_prd(project: &Project, dir: &TasksDir) -> Vec<Problem> {
    let prd = fsx::read_regular(&dir.prd()).unwrap_or_default();
    let found = placeholder::in_prd(&String::from_utf8_lossy(&prd)).into_iter();
    let error = |found: Placeholder| Problem {
        severity: Severity::Error,
        file: project.shown(&dir.prd()),
        line: Some(found.line),
        story: None,
        text: found.text,
    };
    found.map(error).collect()
}

fn warnings(list: &TaskList, file: &Path) -> Vec<Problem> {
    let warning = |story: Option<&str>, text: String| Problem {
        severity: Severity::Warning,
        file: file.to_path_buf(),
        line: None,
        story: story.map(String::from),
        text,
    };
    let mut problems = Vec::new();
    if list.verify_commands().is_empty() {
        let text = "The task list: verifyCommands is empty, so approvals depend on the reviewer alone.";
        problems.push(warning(None, text.to_string()));
    }
    if list.branch_name() == PLACEHOLDER_BRANCH {
        let text =
            format!("The task list: branchName is still {PLACEHOLDER_BRANCH}; the run works on that branch.");
        problems.push(warning(None, text));
    }
    let untitled = list.stories.iter().filter(|story| story.title().trim().is_empty());
    problems.extend(
        untitled.map(|story| warning(Some(story.id()), format!("Story {}: title is empty.", story.id()))),
    );
    let (of_a_story, of_a_list) = field::ALL.split_at(field::OF_A_STORY);
    let names: Vec<&str> = list.fields().map(|(name, _)| name).collect();
    for slip in misspelled(&names, of_a_list) {
        problems.push(warning(None, format!("The task list: {slip}")));
    }
    for story in &list.stories {
        let names: Vec<&str> = story.fields().map(|(name, _)| name).collect();
        for slip in misspelled(&names, of_a_story) {
            problems.push(warning(Some(story.id()), format!("Story {}: {slip}", story.id())));
        }
    }
    problems
}

/// Fields that are named almost like one that is not there, which would be missed in silence.
/// The user's own fields are fine.
fn misspelled(names: &[&str], known: &[&str]) -> Vec<String> {
    let absent = || known.iter().filter(|known| !names.contains(known));
    let slip = |name: &&str| {
        let meant = similar::nearest(name, absent())?;
        Some(format!("unknown field {name} is ignored; did you mean {meant}?"))
    };
    names.iter().filter(|name| !field::ALL.contains(name)).filter_map(slip).collect()
}

fn print(checked: &Checked) {
    let mut out = Out::stdout();
    for Problem { severity, file, line, text, .. } in &checked.problems {
        let word = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let at = line.map_or_else(String::new, |line| format!(":{line}"));
        out.text(&printable(&format!("{}{at}: {word}: {text}", file.display())));
    }
    let counted =
        |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    let stories = counted(checked.stories, "story", "stories");
    let errors = counted(checked.errors, "error", "errors");
    out.text(&format!("{stories}, {errors}, {}", counted(checked.warnings, "warning", "warnings")));
    out.flush();
}
