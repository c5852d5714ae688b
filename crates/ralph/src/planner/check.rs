//! What is wrong with a plan, for the agent that wrote it and for the user: the findings of `check --strict`, as far as
//! they are the planner's.

use crate::layout::Project;
use crate::placeholder;
use crate::stories::{self, Problem, Severity, backlog};
use ralph_loop::planner::{PlannedStory, StoryChange};
use ralph_loop::strict::{self, Finding, Level, Rule};
use ralph_loop::text::one_line;
use std::io;
use std::path::Path;

/// Names of the files, as findings have them.
pub const LIST: &str = "tasks.json";
pub const PRD: &str = "prd.md";

/// Of a list and its PRD. What is wrong with stories that are as they were before is not the planner's, unless no
/// list with them can be run.
pub fn of_tasks(list: &str, stories: &[PlannedStory], prd: &str) -> Vec<Finding> {
    let is_planned = |id: &str| {
        let story = stories.iter().find(|story| story.id == id);
        story.is_none_or(|story| matches!(story.change, StoryChange::Added | StoryChange::Changed))
    };
    let mut findings = strict::tasks(LIST, list);
    findings.retain(|found| found.rule == Rule::Valid || found.story.as_deref().is_none_or(is_planned));
    let unwritten = placeholder::in_prd(prd).into_iter().map(|found| in_prd(found.line, found.text));
    findings.extend(unwritten);
    if prd.trim().is_empty() {
        findings.push(in_prd(1, "the PRD is missing or empty".to_owned()));
    }
    findings
}

fn in_prd(line: usize, what: String) -> Finding {
    let fix = "write it".to_owned();
    Finding {
        file: PRD.to_owned(),
        line,
        story: None,
        rule: Rule::Placeholder,
        level: Level::Fault,
        what,
        fix,
    }
}

/// A fault of the list as a whole.
pub fn fault(rule: Rule, what: String, fix: &str) -> Finding {
    Finding {
        file: LIST.to_owned(),
        line: 1,
        story: None,
        rule,
        level: Level::Fault,
        what,
        fix: fix.to_owned(),
    }
}

/// Of these specs in a directory. What is wrong with others is not the planner's.
pub fn of_stories(project: &Project, specs: &[&Path]) -> io::Result<Vec<Finding>> {
    let backlog = backlog::read(project, &[])?;
    let problem = |problem: &Problem| Finding {
        file: problem.file.display().to_string(),
        line: problem.line as usize,
        story: problem.stories.first().map(ToString::to_string),
        rule: Rule::Valid,
        level: match problem.severity {
            Severity::Error => Level::Fault,
            Severity::Warning => Level::Warning,
        },
        what: problem.text.clone(),
        fix: problem.hint.clone(),
    };
    let mut findings: Vec<Finding> = backlog.problems.iter().map(problem).collect();
    findings.extend(stories::strict::findings(project, &backlog, &[], &[]));
    findings.retain(|found| specs.contains(&Path::new(&found.file)));
    findings.extend(specs.iter().filter(|path| !has_plain_name(path)).map(|path| {
        Finding {
            file: one_line(&path.to_string_lossy()),
            line: 1,
            story: None,
            rule: Rule::Valid,
            level: Level::Fault,
            what:
                "the name of the file has other characters than letters, digits, dots, dashes and underscores"
                    .to_owned(),
            fix: "rename it, like specs/epic-1/story-1.2-short-name.md".to_owned(),
        }
    }));
    Ok(findings)
}

/// A name that looks the same everywhere, in a terminal too.
fn has_plain_name(path: &Path) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/".contains(byte);
    path.as_os_str().as_encoded_bytes().iter().all(is_plain)
}
