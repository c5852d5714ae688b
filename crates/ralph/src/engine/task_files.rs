//! What `ralph tasks` does to its list between agents: read it, hold it against what was there,
//! write what counts.
//!
//! The rules are [`ralph_loop::review`]'s; here they meet the file.

use crate::fsx;
use crate::layout::TasksDir;
use crate::tasks::added::Added;
use crate::texts::Texts;
use ralph_loop::plan::tasks::{Amend, Amendment, Comparison, FileWork, Known, TasksEnd, TasksState, outline};
use ralph_loop::plan::{Plan, PlanState, PlanStep};
use ralph_loop::prompt;
use ralph_loop::review;
use ralph_loop::task_list::{ReviewStatus, Story, TaskList, Unreadable};
use ralph_loop::text::clip;
use ralph_loop::{Run, State};
use std::collections::HashSet;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum TaskFileError {
    #[error("{}: {why}: fix it, then run `ralph resume`", file.display())]
    Unreadable { file: PathBuf, why: Unreadable },
    #[error("{}: {problem}: fix it, then run `ralph resume`", file.display())]
    Wrong { file: PathBuf, problem: String },
    #[error("cannot write the task list: {0}")]
    Write(#[source] io::Error),
    #[error("cannot save a copy of the task list: {0}")]
    Text(#[from] io::Error),
    #[error("the task list has not been read yet")]
    NotRead,
}

/// Whether a list may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disk {
    Written,
    /// A dry run's: nothing is written.
    Untouched,
}

/// Carries out a step on the file of the list.
pub(super) fn perform(
    run: &Run,
    state: &State,
    step: &PlanStep,
    disk: Disk,
    added: &mut Added,
    texts: &mut Texts,
) -> Result<TasksEnd, TaskFileError> {
    let (Plan::Tasks(plan), PlanState::Tasks(tasks)) = (&run.plan, &state.plan) else {
        return Err(TaskFileError::NotRead);
    };
    // What the journal has is put back like every other story.
    if let (false, Some(known)) = (added.stories().is_empty(), &tasks.known) {
        let (known, _) = list_of(known, texts)?;
        added.retain(|story| !known.holds(story))?;
    }
    let file = TasksDir::at(run.workspace.join(&plan.dir)).list();
    let work = tasks.file_work(plan, &state.work.pick, step).ok_or(TaskFileError::NotRead)?;
    if !matches!(work, FileWork::Read { .. }) {
        put_links_aside(&run.workspace, &plan.dir).map_err(TaskFileError::Write)?;
    }
    match work {
        FileWork::Read { last } => {
            let (list, end) = read(&file, last, disk, texts)?;
            // No agent is at work: a story that is gone again was removed by a person.
            added.retain(|story| list.holds(story))?;
            Ok(end)
        }
        FileWork::Compare(comparison) => compare(&file, &comparison, added.stories(), texts),
        FileWork::PutBack(known) => {
            let (mut list, text) = list_of(known, texts)?;
            let text = if list.take_in(added.stories()) { list.to_text() } else { text };
            let displaced = match disk {
                Disk::Written => replace(&file, &text, &text, texts)?,
                Disk::Untouched => None,
            };
            Ok(TasksEnd { displaced, ..TasksEnd::of(known.clone()) })
        }
        FileWork::Amend { amendment, known: before } => {
            let (mut list, stood) = match look(&file) {
                // A person may have changed it while the checks ran.
                Ok((list, text)) if list.problems().is_empty() => (list, text),
                Ok(_) | Err(_) => list_of(before, texts)?,
            };
            list.take_in(added.stories());
            amend(&mut list, amendment, plan.skip_review, &red_checks(run, state, texts)?);
            let text = list.to_text();
            let displaced = replace(&file, &text, &stood, texts)?;
            let known = known(&list, &text, texts)?;
            Ok(TasksEnd { displaced, ..TasksEnd::of(known) })
        }
    }
}

/// The list as ralph knows it, and its text.
pub(super) fn known_list(tasks: &TasksState, texts: &Texts) -> Result<(TaskList, String), TaskFileError> {
    list_of(tasks.known.as_ref().ok_or(TaskFileError::NotRead)?, texts)
}

fn list_of(known: &Known, texts: &Texts) -> Result<(TaskList, String), TaskFileError> {
    let text = texts.get(&known.text)?;
    let list = TaskList::parse(&text).map_err(|_| TaskFileError::NotRead)?;
    Ok((list, text))
}

/// A person's list, with what it leaves out filled in: agents are held to all fields.
fn read(
    file: &Path,
    last: Option<&Known>,
    disk: Disk,
    texts: &mut Texts,
) -> Result<(TaskList, TasksEnd), TaskFileError> {
    let (mut list, mut text) =
        look(file).map_err(|why| TaskFileError::Unreadable { file: file.to_path_buf(), why })?;
    let project = file.ancestors().nth(2).and_then(Path::file_name).unwrap_or_default();
    let filled = list.fill_missing(&project.to_string_lossy());
    if let Some(problem) = list.problems().first() {
        return Err(TaskFileError::Wrong { file: file.to_path_buf(), problem: problem.to_string() });
    }
    if !filled.is_empty() {
        text = list.to_text();
        if disk == Disk::Written {
            write(file, &text)?;
        }
    }
    let known = known(&list, &text, texts)?;
    let edited = last.is_some_and(|last| last.text != known.text);
    let filled = filled.into_iter().map(String::from).collect();
    Ok((list, TasksEnd { edited, filled, ..TasksEnd::of(known) }))
}

/// `added`: stories that people have added and that an agent may have overwritten.
fn compare(
    file: &Path,
    comparison: &Comparison<'_>,
    added: &[Story],
    texts: &mut Texts,
) -> Result<TasksEnd, TaskFileError> {
    /// More would drown the next prompt.
    const REPORTED: usize = 20;
    const REPORTED_CHARS: usize = 500;
    let Comparison { before: last, rules, undone, rewording, keep, by_commit } = comparison;
    let (before, _) = list_of(last, texts)?;
    let after = look(file);
    let (mut list, found) = review::restore(&before, after.as_ref().map(|(list, _)| list), rules);
    // A review that gave no verdict has broken nothing that could be undone; it is reported all the
    // same. One whose verdict was undone has given it, and is told what was wrong with it.
    let theirs = after.as_ref().map_or(&list, |(theirs, _)| theirs);
    let owed = undone.is_empty().then(|| review::owed(&before, theirs, rules)).flatten();
    let missed = list.take_in(added);
    let (text, displaced) = match after {
        Ok((_, text)) if found.is_empty() && !missed => (text, None),
        after => {
            let text = list.to_text();
            // What was only added to has lost nothing.
            let replaced = after.is_err() || !found.is_empty();
            let stood = if *keep && replaced { stands(file) } else { None };
            write(file, &text)?;
            (text, stood.map(|stood| texts.put_exact(&stood)).transpose()?)
        }
    };
    let reported = found.iter().chain(&owed).take(REPORTED);
    let mut violations: Vec<String> =
        reported.map(|violation| clip(&violation.to_string(), REPORTED_CHARS).into_owned()).collect();
    let known = known(&list, &text, texts)?;
    let edited = *by_commit && violations.is_empty() && known.text != last.text;
    let mut reworded = review::reworded(&before, &list, rules.skip_review);
    violations.retain(|violation| !undone.contains(violation));
    reworded.retain(|reworded| !rewording.contains(reworded));
    Ok(TasksEnd { violations, reworded, displaced, edited, ..TasksEnd::of(known) })
}

/// Far more than a real list needs; an agent may write anything there.
const LARGEST: u64 = 16 << 20;

fn look(file: &Path) -> Result<(TaskList, String), Unreadable> {
    if is_too_large(file) {
        return Err(Unreadable::Denied("it is larger than 16 MiB".into()));
    }
    let bytes = fsx::read_regular(file).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Denied(cause.to_string()),
    })?;
    let list = TaskList::parse_bytes(&bytes)?;
    Ok((list, String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_string()))
}

fn is_too_large(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.len() > LARGEST)
}

/// What is there, if it can be a list.
fn stands(file: &Path) -> Option<String> {
    let bytes = if is_too_large(file) { None } else { fsx::read_regular(file).ok() }?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn known(list: &TaskList, text: &str, texts: &mut Texts) -> io::Result<Known> {
    Ok(Known { text: texts.put_exact(text)?, list: Arc::new(outline(list)) })
}

/// Writes the list. A file that is neither that nor `expected` is kept: it may be the user's
/// work from while nothing was running.
fn replace(
    file: &Path,
    text: &str,
    expected: &str,
    texts: &mut Texts,
) -> Result<Option<String>, TaskFileError> {
    let stands = stands(file);
    if stands.as_deref() == Some(text) {
        return Ok(None);
    }
    let displaced = stands.filter(|stands| stands.trim_start_matches('\u{feff}') != expected);
    let displaced = displaced.map(|stands| texts.put_exact(&stands)).transpose()?;
    write(file, text)?;
    Ok(displaced)
}

/// An agent may have taken the directory with it, or have put something else in its place.
fn write(file: &Path, text: &str) -> Result<(), TaskFileError> {
    let dir = file.parent().unwrap_or(Path::new("."));
    let written = || {
        if dir.symlink_metadata().is_ok() && !dir.is_dir() {
            fsx::put_aside(dir)?;
        }
        fsx::dir(dir)?;
        if file.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            fsx::put_aside(file)?;
        }
        fsx::write_whole(file, text.as_bytes())
    };
    written().map_err(TaskFileError::Write)
}

/// The list was behind no link when the run began. One that an agent has put there would have
/// ralph read and write the list of another project.
fn put_links_aside(workspace: &Path, dir: &Path) -> io::Result<()> {
    let mut path = workspace.to_path_buf();
    for part in dir.components() {
        path.push(part);
        if path.is_symlink() {
            return fsx::put_aside(&path).map(drop);
        }
    }
    Ok(())
}

fn amend(list: &mut TaskList, amendment: &Amendment, skip_review: bool, red: &str) {
    let mut said: HashSet<&str> = amendment.stories.iter().map(String::as_str).collect();
    // One that does not pass any more was taken back by a life that could not say so.
    for story in list.stories.iter_mut().filter(|story| said.remove(story.id()) && story.passes()) {
        story.set_passes(false);
        if skip_review {
            continue;
        }
        match amendment.how {
            Amend::RequestChanges => {
                story.set_review_status(ReviewStatus::ChangesRequested);
                story.set_review_feedback(red);
            }
            Amend::Unsay => unsay(story),
        }
    }
}

/// As before the review that said it.
fn unsay(story: &mut Story) {
    story.set_review_status(ReviewStatus::NeedsReview);
    let count = story.review_count().unwrap_or(0);
    story.set_review_count(count.saturating_sub(1));
}

/// What the failed checks say, as feedback for the agent that fixes it.
fn red_checks(run: &Run, state: &State, texts: &Texts) -> io::Result<String> {
    if let Some(refused) = &state.work.refused {
        return Ok(prompt::refusal(refused));
    }
    let mut out = String::from("Approved by a review, but these checks fail:\n");
    for failed in &state.work.feedback {
        let Some(check) = run.checks.get(failed.index) else { continue };
        let excerpt = failed.excerpt.as_deref().map(|hash| texts.get(hash)).transpose()?.unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "- {} {}:\n{}", check.command, failed.outcome, excerpt.trim_end());
        out.push_str(&prompt::only_on_copy(failed));
    }
    Ok(out.trim_end().to_string())
}
