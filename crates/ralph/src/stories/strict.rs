//! Whether the specs of a project are good stories: `ralph stories check --strict`.
//!
//! The rules are in `ralph_loop::strict`. Here the specs are read for them, and what they find
//! becomes problems of files.

use super::backlog::Backlog;
use super::problem::{Place, Problem, SpecProblem};
use super::spec::Spec;
use crate::fsx;
use crate::layout::Project;
use crate::settings::Settings;
use ralph_loop::story_id::StoryId;
use ralph_loop::strict::{self, Finding, Level, Rule};

/// What breaks the rules, by file and line; nothing about stories that are done. `order` is the
/// user's own, empty if there is none.
pub fn findings(project: &Project, backlog: &Backlog, order: &[StoryId], done: &[StoryId]) -> Vec<Finding> {
    let turn = |spec: &&Spec| order.iter().position(|id| *id == spec.id).unwrap_or(usize::MAX);
    let mut specs: Vec<&Spec> = backlog.specs.iter().collect();
    specs.sort_by_key(turn);
    // One that cannot be read is an error of its own.
    let text = |spec: &Spec| fsx::read_regular(&project.dir().join(&spec.path)).ok();
    let read: Vec<(&Spec, String, String)> = specs
        .into_iter()
        .filter_map(|spec| {
            let text = String::from_utf8_lossy(&text(spec)?).into_owned();
            Some((spec, spec.path.display().to_string(), text))
        })
        .collect();
    let specs = read.iter().map(|(spec, file, text)| strict::Spec {
        file,
        id: spec.id,
        title: &spec.title,
        depends_on: spec.dependencies().collect(),
        text,
        done: done.contains(&spec.id),
    });
    strict::specs(&specs.collect::<Vec<_>>())
}

/// The same about the checks of the settings. That there are none is only a warning: `--check` can
/// give some to a run.
pub fn in_settings(project: &Project, settings: &Settings) -> Vec<Finding> {
    let file = project.shown(&project.settings()).display().to_string();
    let finding = |level, what, fix: &str| Finding {
        file: file.clone(),
        line: 1,
        story: None,
        rule: Rule::VerifyCommands,
        level,
        what,
        fix: fix.to_string(),
    };
    if settings.stories.verify.is_empty() && settings.guardrails.is_empty() {
        let what =
            "no stories.verify and no guardrails, so a story is done when its agent says so".to_string();
        let fix = "add the project's commands for tests, lint and types to stories.verify, or use --check";
        return vec![finding(Level::Warning, what, fix)];
    }
    let no_check = |command: &String| {
        let what = format!("stories.verify: the command \"{command}\" {}", strict::no_check(command)?);
        Some(finding(Level::Fault, what, "use a command of the project that fails when something is broken"))
    };
    settings.stories.verify.iter().filter_map(no_check).collect()
}

/// A finding as `check` shows it.
pub fn problem(finding: Finding) -> Problem {
    let Finding { file, line, story, rule, level, what, fix } = finding;
    let at = Place { line: u32::try_from(line).unwrap_or(u32::MAX), column: 1 };
    let text = match &story {
        Some(story) => format!("story {story}: {what}"),
        None => what,
    };
    let found = match level {
        Level::Fault => SpecProblem::error(at, text, fix),
        Level::Warning => SpecProblem::warning(at, text, fix),
    };
    let stories = story.and_then(|story| story.parse().ok()).into_iter().collect();
    Problem { rule: Some(rule), ..found.of_file(file.into(), stories) }
}
