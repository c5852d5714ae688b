//! Putting a task list away: `ralph-archive/<date>-<label>/`, with a summary, and a fresh list in
//! its place.
//!
//! Nothing is lost if it is cut short: the archive is made whole beside its place before it is put
//! there, and only then the files are reset.

use super::fresh::{Fresh, is_untouched};
use super::import::{self, NoTaskList};
use crate::catalog::CatalogError;
use crate::error::with_causes;
use crate::fsx;
use crate::git::{NoRepository, Repository};
use crate::layout::{Home, Project, TasksDir};
use crate::tally::{Tallies, tally};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use ralph_loop::plan::Plan;
use ralph_loop::task_list::{Story, TaskList, Unreadable};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a list cannot be put away, or not wholly.
#[derive(Debug, Error)]
pub enum ArchiveError {
    #[error(transparent)]
    NoTaskList(#[from] NoTaskList),
    #[error("cannot read the task list: {}", file.display())]
    CannotRead {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("invalid task list: {}", file.display())]
    Invalid {
        file: PathBuf,
        #[source]
        cause: Unreadable,
    },
    /// No story of the list has a title.
    #[error("nothing to archive: {}", .0.display())]
    NothingToArchive(PathBuf),
    #[error("the label has no characters that are valid in a path: {0}")]
    InvalidLabel(String),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("cannot write the archive: {}", archives.display())]
    CannotWrite {
        archives: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("archived, but cannot reset: {}", file.display())]
    CannotReset {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// A list that was put away.
pub struct Archived {
    /// Where it is now.
    pub dir: PathBuf,
    pub done: usize,
    pub stories: usize,
    pub commit: Commit,
}

pub enum Commit {
    Made,
    /// There was nothing to commit to, or nothing that git would take.
    Needless(&'static str),
    Failed(String),
}

/// Begins the line of a summary that says when.
const ARCHIVED: &str = "- Archived: ";

/// When the last list of this project was put away, in milliseconds since 1970: what runs cost
/// before was spent on another one, whose stories may have had the same ids.
pub fn last(project: &Project) -> i64 {
    let Ok(entries) = fs_err::read_dir(project.task_archives()) else { return 0 };
    let summaries =
        entries.filter_map(|entry| fsx::read_regular(&entry.ok()?.path().join("summary.md")).ok());
    let times = summaries.filter_map(|summary| {
        let summary = String::from_utf8_lossy(&summary).into_owned();
        let time = summary.lines().find_map(|line| line.strip_prefix(ARCHIVED))?.trim();
        time.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
    });
    times.max().unwrap_or(0)
}

/// Archives the list. No run may be working here.
pub fn archive(
    home: &Home,
    project: &Project,
    tasks: &TasksDir,
    label: Option<&str>,
) -> Result<Archived, ArchiveError> {
    let list = read(project, tasks)?;
    let now = Zoned::now();
    let tallies = tally(home, project, Plan::TASKS, last(project))?;
    let progress = fsx::read_regular(&tasks.progress()).unwrap_or_default();
    let summary = summary(&list, &tallies, started(&String::from_utf8_lossy(&progress)), &now);
    let name = format!("{}-{}", now.strftime("%Y-%m-%d"), name(label, &list, project)?);
    let dir = put_away(project, tasks, &name, &summary)?;
    start_new_list(project, tasks)?;
    let done = list.stories.iter().filter(|story| story.passes()).count();
    let commit = commit(project, tasks, &dir);
    Ok(Archived { dir: project.shown(&dir), done, stories: list.stories.len(), commit })
}

fn read(project: &Project, tasks: &TasksDir) -> Result<TaskList, ArchiveError> {
    let file = project.shown(&tasks.list());
    let bytes = fsx::read_regular(&tasks.list()).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => import::missing(project, tasks).into(),
        _ => ArchiveError::CannotRead { file: file.clone(), cause },
    })?;
    let list =
        TaskList::parse_bytes(&bytes).map_err(|cause| ArchiveError::Invalid { file: file.clone(), cause })?;
    if is_untouched(&list) {
        return Err(ArchiveError::NothingToArchive(file));
    }
    Ok(list)
}

/// As part of a path: the label, else the list's branch, else the one that is checked out.
fn name(label: Option<&str>, list: &TaskList, project: &Project) -> Result<String, ArchiveError> {
    if let Some(label) = label {
        return part_of_a_path(label).ok_or_else(|| ArchiveError::InvalidLabel(label.to_string()));
    }
    let checked_out = || Some(Repository::around(project.dir())?.branch().to_string());
    let branch = Some(list.branch_name().to_string()).filter(|name| !name.trim().is_empty());
    let branch = branch.or_else(checked_out).unwrap_or_default();
    Ok(part_of_a_path(branch.strip_prefix("ralph/").unwrap_or(&branch)).unwrap_or_else(|| "tasks".into()))
}

fn part_of_a_path(text: &str) -> Option<String> {
    const LONGEST: usize = 60;
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let mut name: String = text.trim().chars().map(kept).take(LONGEST).collect();
    while name.contains("--") {
        name = name.replace("--", "-");
    }
    let name = name.trim_matches(['-', '.']);
    (!name.is_empty()).then(|| name.to_string())
}

/// What the progress file says of its beginning.
fn started(progress: &str) -> Option<String> {
    let line = progress.lines().find_map(|line| line.strip_prefix("Started:"))?.trim();
    (!line.is_empty()).then(|| line.to_string())
}

fn summary(list: &TaskList, tallies: &Tallies, started: Option<String>, now: &Zoned) -> String {
    let day = |ms: i64| {
        let time = Timestamp::from_millisecond(ms).unwrap_or_default().to_zoned(TimeZone::system());
        time.strftime("%Y-%m-%d").to_string()
    };
    let today = now.strftime("%Y-%m-%d").to_string();
    let began =
        started.or_else(|| tallies.span.map(|(first, _)| day(first))).unwrap_or_else(|| today.clone());
    let title = if list.project().is_empty() { list.branch_name() } else { list.project() };
    let done = list.stories.iter().filter(|story| story.passes()).count();
    // As exact as the journals are.
    let moment = Timestamp::from_millisecond(now.timestamp().as_millisecond()).unwrap_or_default();
    let mut out = format!("# {}\n\n", one_line(title));
    // Writing to a String cannot fail.
    if !list.description().is_empty() {
        let _ = writeln!(out, "{}\n", list.description().trim());
    }
    let _ = writeln!(out, "- Stories: {done} of {} done", list.stories.len());
    let _ = writeln!(out, "- Dates: {began} to {today}");
    let _ = writeln!(out, "{ARCHIVED}{moment}");
    if !list.branch_name().is_empty() {
        let _ = writeln!(out, "- Branch: {}", one_line(list.branch_name()));
    }
    match tallies.span {
        Some((first, last)) => {
            let _ = writeln!(out, "- Runs: {}, from {} to {}", tallies.runs, day(first), day(last));
            let _ = writeln!(out, "- Cost: {}", tallies.cost);
        }
        None => out.push_str("- Runs: none recorded here\n"),
    }
    out.push_str("\n| Story | Title | Status | Reviews | Iterations | Cost |\n|---|---|---|---|---|---|\n");
    for story in &list.stories {
        let tally = tallies.of(story.id());
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            one_line(story.id()),
            one_line(story.title()),
            standing(story),
            story.review_count().unwrap_or(0),
            tally.iterations,
            tally.cost
        );
    }
    out
}

fn standing(story: &Story) -> String {
    match (story.passes(), story.review_status()) {
        (true, _) if story.review_feedback().starts_with(ralph_loop::review::AT_CAP) => {
            "approved at the review cap".into()
        }
        (true, Some(status)) if story.is_done(false) => status.to_string(),
        (true, _) => "done, not reviewed".into(),
        (false, _) => "not done".into(),
    }
}

/// As a cell of a table.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Copies what belongs to the list into a directory of its own, which appears as a whole.
fn put_away(project: &Project, tasks: &TasksDir, name: &str, summary: &str) -> Result<PathBuf, ArchiveError> {
    let archives = project.task_archives();
    let failed = |cause| ArchiveError::CannotWrite { archives: project.shown(&archives), cause };
    fsx::dir_inside(project.dir(), &archives).map_err(failed)?;
    let unfinished = tempfile::Builder::new().prefix(".ralph-").tempdir_in(&archives).map_err(failed)?;
    let begun = unfinished.path();
    for file in [tasks.prd(), tasks.list(), tasks.progress()] {
        let Some(name) = file.file_name() else { continue };
        match fsx::read_regular(&file) {
            Ok(content) => fsx::write_whole(&begun.join(name), &content).map_err(failed)?,
            // A list can do without them.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            Err(cause) => return Err(failed(cause)),
        }
    }
    fsx::write_whole(&begun.join("summary.md"), summary.as_bytes()).map_err(failed)?;
    fsx::open_to_all(begun).map_err(failed)?;
    let dir = free(&archives, name);
    fsx::rename(begun, &dir).map_err(failed)?;
    // Its place is empty now, and there is nothing to remove.
    let _ = unfinished.keep();
    Ok(dir)
}

/// The first name that is not taken: several lists may be put away in a day.
fn free(archives: &Path, name: &str) -> PathBuf {
    let mut number = 1;
    loop {
        let dir = match number {
            1 => archives.join(name),
            number => archives.join(format!("{name}-{number}")),
        };
        if dir.symlink_metadata().is_err() {
            return dir;
        }
        number += 1;
    }
}

/// The prompt is the project's and stays, if it is there.
fn start_new_list(project: &Project, tasks: &TasksDir) -> Result<(), ArchiveError> {
    let fresh = Fresh::of(project, None);
    for (file, content) in fresh.files(tasks) {
        if file == tasks.prompt() && file.symlink_metadata().is_ok() {
            continue;
        }
        fsx::write_whole(&file, content.as_bytes())
            .map_err(|cause| ArchiveError::CannotReset { file: project.shown(&file), cause })?;
    }
    Ok(())
}

/// A commit of the archive and of the reset files, whatever else is changed or staged.
fn commit(project: &Project, tasks: &TasksDir, archive: &Path) -> Commit {
    let repository = match Repository::find(project.dir()) {
        Ok(repository) => repository,
        Err(NoRepository::None) => return Commit::Needless("not a git repository"),
        Err(cause @ (NoRepository::Untrusted { .. } | NoRepository::Unanswered(_))) => {
            return Commit::Failed(cause.to_string());
        }
    };
    let files = [archive.to_path_buf(), tasks.prd(), tasks.list(), tasks.progress(), tasks.prompt()];
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    match repository.commit_only(&files, &format!("chore: archive ralph tasks {name}")) {
        Ok(true) => Commit::Made,
        Ok(false) => Commit::Needless("git ignores these files"),
        Err(cause) => Commit::Failed(with_causes(&cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_becomes_one_part_of_a_path() {
        for (label, part) in [
            ("login", Some("login")),
            ("feature/log in!", Some("feature-log-in")),
            ("../../etc", Some("etc")),
            (" .hidden", Some("hidden")),
            ("v1.2_x", Some("v1.2_x")),
            ("..", None),
            ("é", None),
            ("", None),
        ] {
            assert_eq!(part_of_a_path(label).as_deref(), part, "{label}");
        }
    }
}
