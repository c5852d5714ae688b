//! `ralph init tasks`: a place for a task list, its requirements, its log and its prompt.

use crate::cli::archive::alone;
use crate::cli::home;
use crate::error::CliError;
use crate::fsx;
use crate::layout::{Project, TasksDir, is_safe_name};
use crate::report::Out;
use crate::request::tasks::new_dir;
use crate::tasks::fresh::Fresh;
use crate::tasks::import::{self, NotImported};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Added to `.gitignore`.
const MARKER: &str = ".ralph-active";

/// A part of the branch `ralph/FEATURE`.
pub fn feature(name: &str) -> Result<String, String> {
    // Git refuses these ends, and the branch is made only when a run begins.
    let ends_badly = name.ends_with('.') || name.ends_with(".lock");
    match is_safe_name(name) && !ends_badly {
        true => Ok(name.to_string()),
        false => Err("expected letters, digits, dots, dashes and underscores, like login-v2".to_string()),
    }
}

/// Writes what is missing, and leaves alone what exists, unless it is to be overwritten.
pub fn lay_out(
    project: &Project,
    feature: Option<&str>,
    ralph_dir: Option<&Path>,
    force: bool,
) -> Result<ExitCode, CliError> {
    let mut out = Out::stdout();
    let dir = create(project, feature, ralph_dir, force, &mut |line| out.line(line))?;
    let shown = format!("{}/", dir.display());
    for line in NEXT_STEPS {
        out.line(&line.replace("ralph/", &shown));
    }
    if let Some(named) = ralph_dir {
        out.line(&format!("Pass --ralph-dir {} to these commands.", named.display()));
    }
    out.flush();
    Ok(ExitCode::SUCCESS)
}

/// The same without what to do next; a line for each file. Returns the directory, relative to the project.
pub fn create(
    project: &Project,
    feature: Option<&str>,
    ralph_dir: Option<&Path>,
    force: bool,
    tell: &mut dyn FnMut(&str),
) -> Result<PathBuf, CliError> {
    let dir = new_dir(ralph_dir, project)?;
    let tasks = TasksDir::at(project.dir().join(&dir));
    let _alone = force.then(|| alone(&home()?, project, "init")).transpose()?;
    let cannot = |what: &str, cause: io::Error| CliError::failed(format!("cannot write {what}")).cause(cause);
    let shown = format!("{}/", dir.display());
    fsx::dir_inside(project.dir(), tasks.dir()).map_err(|cause| cannot(&shown, cause))?;
    let import = match import::find(project, &tasks) {
        Ok(import) => import,
        Err(NotImported { from, why }) => {
            tell(&format!("not imported    {}: {why}", from.display()));
            None
        }
    };
    let (mut kept_list, mut imported) = (false, false);
    for (file, content) in Fresh::of(project, feature).files(&tasks) {
        let is_list = file == tasks.list();
        let content = match &import {
            Some(import) if is_list => import.list.to_text(),
            Some(import) if file == tasks.prd() => import.prd().unwrap_or(content),
            Some(_) | None => content,
        };
        let shown = project.shown(&file).display().to_string();
        let existed = force && file.symlink_metadata().is_ok();
        let written = match force {
            true => fsx::write_whole(&file, content.as_bytes()),
            false => fsx::write_new(&file, content.as_bytes()),
        };
        imported |= import.is_some() && is_list && written.is_ok();
        let word = match written {
            Ok(()) if existed => "overwritten   ",
            Ok(()) => "created       ",
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                kept_list |= is_list;
                "already exists"
            }
            Err(cause) => return Err(cannot(&shown, cause)),
        };
        tell(&format!("{word}  {shown}"));
    }
    let word = match ignore_marker(project).map_err(|cause| cannot(".gitignore", cause))? {
        true => "added         ",
        false => "already exists",
    };
    tell(&format!("{word}  .gitignore: {MARKER}"));
    if let Some(import) = import.filter(|_| imported) {
        tell(&import.summary(&tasks, project));
    }
    if let (true, Some(feature)) = (kept_list, feature) {
        tell(&format!("The task list already exists; its branchName was not set to ralph/{feature}."));
    }
    Ok(dir)
}

const NEXT_STEPS: [&str; 9] = [
    "",
    "Next:",
    "  1. Describe in ralph/prd.md what to build; delete sections you do not need.",
    "  2. Add your checks to verifyCommands in ralph/tasks.json: while one fails, no",
    "     story is approved.",
    "  3. Add stories:         ralph tasks add \"Title\" --criterion \"What must be true\"",
    "  4. Validate:            ralph tasks check",
    "  5. Commit, then start:  ralph tasks",
    "  6. When all are done:   ralph archive",
];

/// Whether the marker had to be added.
fn ignore_marker(project: &Project) -> io::Result<bool> {
    let file = project.gitignore();
    let before = match fsx::read_regular(&file) {
        Ok(before) => before,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(cause) => return Err(cause),
    };
    let text = String::from_utf8_lossy(&before);
    if text.lines().any(|line| line.trim().trim_start_matches('/') == MARKER) {
        return Ok(false);
    }
    let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    fsx::append(&file, format!("{line_end}{MARKER}\n").as_bytes()).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_can_be_part_of_a_branch() {
        for good in ["login", "v1.2", "a_b-c"] {
            assert!(feature(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "x.lock", "x.", "-x", "a..b", "~"] {
            assert!(feature(bad).is_err(), "{bad}");
        }
    }
}
