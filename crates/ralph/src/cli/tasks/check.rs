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
use ralph_loop::review::{DEFAULT_REVIEW_CAP, ReviewRules};
use ralph_loop::strict::{
    self, Finding, Level, ListError, PLACEHOLDER_BRANCH, Rule, StoryLines, list_errors,
};
use ralph_loop::task_list::{Mode, TaskList, Unreadable, field};
use ralph_loop::text::{counted, printable};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
An error keeps `ralph tasks` from running, or a story from ever being done: fields of the wrong type, \
duplicate ids, contradictory passes and reviewStatus, dependencies on missing stories or on the story \
itself, a prd.md without a summary.

With --strict, these are errors too, in stories that have not been started:
  one-iteration    no description, or more than three sentences: split the story
  criteria         nothing to observe: \"works correctly\", \"code is clean\"
  order            not schema, backend, API, frontend, integration
  dependencies     needs the result of a story that is not in dependsOn
  verify-commands  none, or one that cannot fail: `true`, `npm test || true`
  initial-fields   missing, or reviewCount or reviewFeedback is set
  duplicates       the same title or description twice
  placeholder      text that is still to be written: TODO, TBD, <title>
What may be intended (many criteria, notes, similar titles) is a warning. `ralph tasks` runs a list \
with such errors all the same.

Exit codes: 0 no errors, 2 errors or no list.

Examples:
  ralph tasks check --strict
  ralph tasks check --format json | jq -r '.problems[].text'")]
pub struct CheckArgs {
    /// Also check whether it is a good list: small stories, observable criteria, real checks
    #[arg(long)]
    strict: bool,
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
    /// Of `--strict`, what it breaks and a way out.
    rule: Option<Rule>,
    hint: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Error,
    Warning,
}

impl Problem {
    fn error(file: &Path, error: ListError) -> Problem {
        let ListError { line, story, text } = error;
        let file = file.to_path_buf();
        Problem { severity: Severity::Error, file, line, story, text, rule: None, hint: None }
    }

    fn warning(file: &Path, line: Option<usize>, story: Option<&str>, text: String) -> Problem {
        let story = story.map(String::from);
        Problem { severity: Severity::Warning, ..Problem::error(file, ListError { line, story, text }) }
    }

    fn found(file: &Path, finding: Finding) -> Problem {
        let Finding { line, story, rule, level, what, fix, .. } = finding;
        let severity = match level {
            Level::Fault => Severity::Error,
            Level::Warning => Severity::Warning,
        };
        let text = match &story {
            Some(story) => format!("Story {story}: {what}"),
            None => format!("The task list: {what}"),
        };
        let problem = Problem::error(file, ListError { line: Some(line), story, text });
        Problem { severity, rule: Some(rule), hint: Some(fix), ..problem }
    }
}

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
    let errors = list_errors(&list, &text, &rules).into_iter();
    let mut problems: Vec<Problem> = errors.map(|error| Problem::error(&file, error)).collect();
    problems.extend(in_prd(&project, &dir));
    if let Ok(list) = &list {
        problems.extend(misspellings(list, &text, &file));
        if args.strict {
            let found = strict::task_rules(&file.display().to_string(), &text);
            problems.extend(found.into_iter().map(|finding| Problem::found(&file, finding)));
        } else {
            problems.extend(warnings(list, &filled, &text, &file));
        }
    }
    problems.sort_by(|a, b| (a.severity, &a.file, a.line).cmp(&(b.severity, &b.file, b.line)));
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

/// Sections of the PRD that still have the template's text.
fn in_prd(project: &Project, dir: &TasksDir) -> Vec<Problem> {
    let prd = fsx::read_regular(&dir.prd()).unwrap_or_default();
    let found = placeholder::in_prd(&String::from_utf8_lossy(&prd)).into_iter();
    let file = project.shown(&dir.prd());
    let error = |Placeholder { line, text }| ListError { line: Some(line), story: None, text };
    found.map(|found| Problem::error(&file, error(found))).collect()
}

/// What `--strict` has rules for.
fn warnings(list: &TaskList, filled: &[&str], text: &str, file: &Path) -> Vec<Problem> {
    let of_the_list = |text: String| Problem::warning(file, None, None, format!("The task list: {text}"));
    let mut problems = Vec::new();
    if list.verify_commands().is_empty() {
        let text = "verifyCommands is empty, so approvals depend on the reviewer alone.";
        problems.push(of_the_list(text.to_string()));
    }
    if list.branch_name() == PLACEHOLDER_BRANCH {
        let text = format!("branchName is still {PLACEHOLDER_BRANCH}; the run works on that branch.");
        problems.push(of_the_list(text));
    }
    let lines = StoryLines::of(list, text);
    let untitled = list.stories.iter().filter(|story| story.title().trim().is_empty());
    problems.extend(untitled.map(|story| {
        let text = format!("Story {}: title is empty.", story.id());
        Problem::warning(file, lines.first(story.id()), Some(story.id()), text)
    }));
    if !filled.is_empty() {
        problems.push(of_the_list(format!("missing fields, which a run adds: {}", filled.join(", "))));
    }
    problems
}

fn misspellings(list: &TaskList, text: &str, file: &Path) -> Vec<Problem> {
    let (of_a_story, of_a_list) = field::ALL.split_at(field::OF_A_STORY);
    let names: Vec<&str> = list.fields().map(|(name, _)| name).collect();
    let slips = misspelled(&names, of_a_list).into_iter();
    let mut problems: Vec<Problem> =
        slips.map(|slip| Problem::warning(file, None, None, format!("The task list: {slip}"))).collect();
    let lines = StoryLines::of(list, text);
    for story in &list.stories {
        let names: Vec<&str> = story.fields().map(|(name, _)| name).collect();
        problems.extend(misspelled(&names, of_a_story).into_iter().map(|slip| {
            let text = format!("Story {}: {slip}", story.id());
            Problem::warning(file, lines.first(story.id()), Some(story.id()), text)
        }));
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
    for Problem { severity, file, line, text, rule, hint, .. } in &checked.problems {
        let word = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let at = line.map_or_else(String::new, |line| format!(":{line}"));
        let rule = rule.map_or_else(String::new, |rule| format!(" [{rule}]"));
        out.text(&printable(&format!("{}{at}: {word}: {text}{rule}", file.display())));
        if let Some(hint) = hint {
            out.text(&printable(&format!("  hint: {hint}")));
        }
    }
    let Checked { stories, errors, warnings, .. } = *checked;
    let [stories, errors, warnings] = [(stories, "story"), (errors, "error"), (warnings, "warning")]
        .map(|(count, thing)| counted(count as u64, thing));
    out.text(&format!("{stories}, {errors}, {warnings}"));
    out.flush();
}
