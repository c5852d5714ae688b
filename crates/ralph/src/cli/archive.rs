//! `ralph archive`: archives a task list and creates a new one.

use super::args::ProjectArgs;
use super::home;
use crate::error::{CliError, Code};
use crate::fsx;
use crate::git::Repository;
use crate::layout::{Home, Project, TasksDir};
use crate::lock::{LockError, WorkspaceLock};
use crate::process;
use crate::report::{Out, say};
use crate::request;
use crate::tasks::added::Added;
use crate::tasks::archive::{self, Commit};
use clap::Args;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Moves ralph/prd.md, tasks.json and progress.txt to ralph-archive/<date>-<label>/, writes a summary.md \
there (the stories with their reviews and cost, dates), creates new files, and commits only these \
changes. ralph/prompt.md stays. Fails while a run is active in this project.

Examples:
  ralph archive
  ralph archive --label login-v1")]
pub struct ArchiveArgs {
    /// Name of the archive [default: the list's branchName]
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Directory of the task list [default: ralph]
    #[arg(long, value_name = "DIR")]
    ralph_dir: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArgs,
}

pub fn archive(args: &ArchiveArgs) -> Result<ExitCode, CliError> {
    let home = home()?;
    let project = args.project.project()?;
    let dir = request::tasks::dir(args.ralph_dir.as_deref(), &project)?;
    let tasks = TasksDir::at(project.dir().join(&dir));
    let _alone = alone(&home, &project, "archive")?;
    let mut added = Added::wait(&home, &tasks).map_err(cannot)?;
    let archived = archive::archive(&home, &project, &tasks, args.label.as_deref())?;
    // They are archived with the list.
    added.retain(|_| false).map_err(cannot)?;
    drop(added);
    let mut out = Out::stdout();
    out.text(&format!(
        "Archived to {}: {} of {} stories done",
        archived.dir.display(),
        archived.done,
        archived.stories
    ));
    out.text(&format!(
        "Created a new list in {}/: write prd.md and tasks.json, then run `ralph tasks check`",
        dir.display()
    ));
    out.flush();
    match archived.commit {
        Commit::Made => Ok(ExitCode::SUCCESS),
        Commit::Needless(why) => {
            say(&format!("ralph: warning: not committed: {why}"));
            Ok(ExitCode::SUCCESS)
        }
        Commit::Failed(why) => Err(CliError::failed("archived, but not committed").cause(why).hint(format!(
            "commit {} and {}/ yourself",
            archived.dir.display(),
            dir.display()
        ))),
    }
}

/// Keeps runs out of a project while its task list is replaced.
pub(super) fn alone(home: &Home, project: &Project, what: &str) -> Result<WorkspaceLock, CliError> {
    let tree =
        Repository::around(project.dir()).map_or_else(|| project.dir().to_path_buf(), |found| found.top);
    [home.root().to_path_buf(), home.locks()]
        .iter()
        .try_for_each(|dir| fsx::private_dir(dir))
        .map_err(cannot)?;
    let alone = WorkspaceLock::acquire(home, &tree, what).map_err(|error| refused(&error))?;
    if let Some(previous) = &alone.previous {
        process::end_survivors(home.run(previous).dir());
    }
    Ok(alone)
}

fn cannot(cause: io::Error) -> CliError {
    CliError::failed("cannot write to ralph's home directory").cause(cause)
}

fn refused(error: &LockError) -> CliError {
    let refusal = CliError::from_error(error, Code::Failed);
    match error {
        LockError::WorkspaceTaken { .. } => refusal.hint("stop it first, or wait until it ends"),
        LockError::RunAlive { .. } | LockError::Io { .. } => refusal,
    }
}
