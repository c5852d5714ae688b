//! `ralph tasks`: runs a task list with a review of every story; lists, shows, adds and checks
//! stories.

mod add;
mod check;
mod list;
mod run;
mod show;
mod standing;

use super::args::ProjectArgs;
use super::format::Format;
use crate::error::CliError;
use crate::layout::{Project, TasksDir};
use crate::request::tasks::dir;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
The list is ralph/tasks.json; `ralph init tasks` creates it. One agent implements a story, another \
reviews it with a fresh context, and its findings get fixed. ralph reverts changes to the \
list that an agent must not make. An approval counts only if the checks in verifyCommands pass.

Examples:
  ralph tasks                     # until all are approved, or 15 iterations
  ralph tasks -n 40 --review-cap 3
  ralph tasks --skip-review --max-cost 5
  ralph tasks add \"Log in\" --criterion \"A passkey logs in\"
  ralph tasks list")]
pub struct TasksArgs {
    #[command(subcommand)]
    command: Option<TasksCommand>,
    #[command(flatten)]
    run: run::RunArgs,
}

impl TasksArgs {
    /// Whether a loop is to be run.
    pub fn runs(&self) -> bool {
        self.command.is_none()
    }

    /// Whether a worker could run this.
    pub fn check(&self) -> Result<(), CliError> {
        if self.runs() { self.run.check() } else { Ok(()) }
    }

    /// The format of error messages.
    pub fn format(&self) -> Format {
        self.run.common.output.format
    }
}

#[derive(Subcommand)]
enum TasksCommand {
    /// List the stories with their status, reviews and cost
    List(list::ListArgs),
    /// Show a story in full
    Show(show::ShowArgs),
    /// Add a story with the next id
    Add(add::AddArgs),
    /// Validate the list without running anything
    Check(check::CheckArgs),
}

pub fn tasks(args: &TasksArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        Some(TasksCommand::List(args)) => list::list(args),
        Some(TasksCommand::Show(args)) => show::show(args),
        Some(TasksCommand::Add(args)) => add::add(args),
        Some(TasksCommand::Check(args)) => check::check(args),
        None => run::run(&args.run),
    }
}

/// Which list is meant.
#[derive(Args)]
struct WhichArgs {
    /// Directory of the task list [default: ralph]
    #[arg(long, value_name = "DIR")]
    ralph_dir: Option<PathBuf>,
    #[command(flatten)]
    project: ProjectArgs,
}

impl WhichArgs {
    fn find(&self) -> Result<(Project, TasksDir), CliError> {
        let project = self.project.project()?;
        let dir = TasksDir::at(project.dir().join(dir(self.ralph_dir.as_deref(), &project)?));
        Ok((project, dir))
    }
}
