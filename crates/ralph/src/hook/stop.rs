//! `ralph hook stop`: an agent may not end as long as it leaves something that ralph would undo.
//!
//! The engine looks again once the agent has ended, so a hook that is gone, tricked or given up
//! on loses nothing but time. That is why it gives up: after five blocks in a session the agent
//! will not fix it, and Codex has no limit of its own.

use super::assignment::{ASSIGNMENT, Given};
use super::marker::Marker;
use super::parts::Part;
use super::state::Memory;
use super::{HookAnswer, Input, Surroundings, variable};
use crate::fsx;
use crate::git::Repository;
use crate::layout::Project;
use ralph_loop::review::{
    ReviewRules, Violation, differing, is_harmless, may_change_nothing, owed, standing, transitions,
    violations,
};
use ralph_loop::task_list::{Mode, TaskList, Unreadable};
use std::io;
use std::path::{Path, PathBuf};

/// How often a session is blocked at most.
pub(super) const BLOCKS: u8 = 5;

/// How the memory calls the n-th block.
pub(super) fn blocked(number: u8) -> String {
    format!("block-{number}")
}

/// What was found: reasons to go on for the agent, remarks for people.
#[derive(Default)]
struct Found {
    violations: Vec<String>,
    uncommitted: bool,
    remarks: Vec<String>,
}

pub(super) fn stop(around: &Surroundings, input: Result<Input, String>) -> HookAnswer {
    if around.run.is_none() {
        return HookAnswer::nothing();
    }
    let mut found = Found::default();
    let input = input.unwrap_or_else(|why| {
        found.remarks.push(format!("cannot read the hook's input: {why}"));
        Input::default()
    });
    match variable(ASSIGNMENT) {
        Some(path) => by_assignment(Path::new(&path), &mut found),
        None => by_marker(&project(&input), &mut found),
    }
    let answer = match found.reason() {
        None => HookAnswer::nothing(),
        Some(reason) => block(around, &input, &reason),
    };
    found.remarks.into_iter().fold(answer, HookAnswer::remark)
}

fn by_assignment(path: &Path, found: &mut Found) {
    let given = match Given::read(path) {
        Ok(given) => given,
        Err(cause) => return found.violations.push(no_assignment(path, &cause)),
    };
    let (assignment, rules) = (&given.assignment, given.assignment.rules());
    if !passes_fast_path(&given, &rules).unwrap_or(false) {
        let after = content(&assignment.tasks_file).and_then(|bytes| TaskList::parse_bytes(&bytes));
        let before = given.before.whole();
        match before.and_then(|bytes| TaskList::parse_bytes(&bytes).map_err(io::Error::other)) {
            Ok(before) => {
                found.add(violations(Some(&before), after.as_ref(), &rules));
                found.add(after.as_ref().ok().and_then(|after| owed(&before, after, &rules)));
            }
            Err(cause) => found.violations.push(no_assignment(path, &cause)),
        }
    }
    if assignment.check_commits {
        look_for_uncommitted(&assignment.tasks_file, found);
    }
}

/// Whether the stories that differ show that nothing is wrong. If they do not, or cannot be read, the
/// whole list is compared.
fn passes_fast_path(given: &Given, rules: &ReviewRules<'_>) -> io::Result<bool> {
    let after = Part::of(fsx::open_regular(&given.assignment.tasks_file)?, 0)?;
    let Some(difference) = given.before.difference(&after)? else { return Ok(may_change_nothing(rules)) };
    let Some((was, is)) = differing(&given.places, difference) else { return Ok(false) };
    Ok(is_harmless(&given.before.read(was)?, &after.read(is)?, rules))
}

/// The agent cannot fix this, but letting it stop would count as approval.
fn no_assignment(path: &Path, cause: &io::Error) -> String {
    format!("ralph cannot read the assignment of this agent ({}): {cause}", path.display())
}

fn by_marker(project: &Project, found: &mut Found) {
    let marker = match Marker::read(&project.active()) {
        Ok(None) => return,
        Ok(Some(marker)) => marker,
        Err(cause) => {
            found.remarks.push(format!("cannot read {}: {cause}", project.active().display()));
            Marker::default()
        }
    };
    let mode = marker.iteration_mode;
    let rules = ReviewRules {
        mode: mode.unwrap_or(Mode::Implement),
        story: None,
        skip_review: marker.skip_review,
        review_cap: marker.review_cap(),
    };
    let after = content(&project.tasks()).and_then(|bytes| TaskList::parse_bytes(&bytes));
    found.add(standing(after.as_ref(), &rules));
    match (mode, marker.snapshot(), &after) {
        (Some(_), Some(before), Ok(after)) => {
            found.add(transitions(&before, after, &rules));
            found.add(owed(&before, after, &rules));
        }
        (_, _, Err(_)) => {}
        (None, ..) | (_, None, _) if marker.skip_review => {}
        (None, ..) | (_, None, _) => {
            let why =
                "transitions are not checked: .ralph-active has no iterationMode and preIterationSnapshot";
            found.remarks.push(why.to_owned());
        }
    }
    look_for_uncommitted(&project.tasks(), found);
}

fn content(path: &Path) -> Result<Vec<u8>, Unreadable> {
    fsx::read_regular(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Denied(cause.to_string()),
    })
}

/// Without git there is nothing that could be committed.
fn look_for_uncommitted(tasks_file: &Path, found: &mut Found) {
    // The agent may have removed the list's directory.
    let Some(dir) = tasks_file.ancestors().skip(1).find(|dir| dir.is_dir()) else { return };
    let Some(repository) = Repository::around(dir) else { return };
    match repository.has_uncommitted() {
        Ok(uncommitted) => found.uncommitted = uncommitted,
        Err(cause) => {
            found.violations.push(format!("ralph cannot check for uncommitted changes: {cause}"));
        }
    }
}

/// The project that the agent works in, where only the agent says which.
fn project(input: &Input) -> Project {
    let dir = variable("CLAUDE_PROJECT_DIR").map_or_else(|| input.cwd.clone(), PathBuf::from);
    Project::at(dir)
}

const COMMIT: &str = "\
There are uncommitted changes. Before you stop:
1. Update ralph/progress.txt with what was accomplished and what was learned.
2. Consider whether any lasting pattern belongs in CLAUDE.md or .claude/rules/.
3. Commit ALL changes, including progress.txt and tasks.json updates.";

impl Found {
    fn add(&mut self, violations: impl IntoIterator<Item = Violation>) {
        self.violations.extend(violations.into_iter().map(|violation| violation.message));
    }

    fn reason(&self) -> Option<String> {
        let list = self.violations.iter().map(|violation| format!("\n- {violation}")).collect::<String>();
        match (list.is_empty(), self.uncommitted) {
            (true, false) => None,
            (true, true) => Some(COMMIT.to_owned()),
            (false, false) => Some(format!("The task list has errors:{list}")),
            (false, true) => Some(format!("The task list has errors:{list}\n\n{COMMIT}")),
        }
    }
}

fn block(around: &Surroundings, input: &Input, reason: &str) -> HookAnswer {
    let memory = Memory::of(around, input);
    for number in 1..=BLOCKS {
        match memory.note(&blocked(number)) {
            Ok(true) => {
                let reason = format!("{reason}\n\nThen stop again. (Block {number} of {BLOCKS}.)");
                return HookAnswer::block(&reason);
            }
            Ok(false) => {}
            // Blocks that cannot be counted could go on for ever: there is one.
            Err(cause) => {
                let remark = format!("cannot count how often this session was blocked: {cause}");
                return match input.stop_hook_active {
                    true => HookAnswer::nothing().remark(remark).remark(reason),
                    false => HookAnswer::block(reason).remark(remark),
                };
            }
        }
    }
    HookAnswer::nothing().remark(format!("blocked {BLOCKS} times already; ralph decides. {reason}"))
}
