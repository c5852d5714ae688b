//! `ralph tasks`: implement, review, fix, until every story of the list is approved.

use crate::cli::args::count;
use crate::cli::loops::LoopArgs;
use crate::error::CliError;
use crate::fsx;
use crate::layout::{Project, TasksDir};
use crate::report::say;
use crate::request::tasks::{self, TasksRequest};
use crate::tasks::import::{self, Import, NotImported};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct RunArgs {
    /// Directory of the task list [default: ralph]
    #[arg(long, value_name = "DIR")]
    ralph_dir: Option<PathBuf>,
    /// Skip reviews: the agent that implements a story marks it as passed, and the checks decide
    #[arg(long, conflicts_with_all = ["review_cap", "review_agent"])]
    skip_review: bool,
    /// Approve a story as it is after this many reviews [default: 5]
    #[arg(long, value_name = "N", value_parser = count)]
    review_cap: Option<u32>,
    /// Use this agent for reviews
    #[arg(long, value_name = "NAME")]
    review_agent: Option<String>,
    /// Stay on the current branch, whatever branchName says
    #[arg(long)]
    stay: bool,
    #[command(flatten)]
    pub common: LoopArgs,
}

pub fn run(args: &RunArgs) -> Result<ExitCode, CliError> {
    let project = args.common.project()?;
    let settings = args.common.settings(&project)?;
    let dir = TasksDir::at(project.dir().join(tasks::dir(args.ralph_dir.as_deref(), &project)?));
    let import = args.import(&project, &dir)?;
    let imported = import.as_ref().map(|import| import.list.clone());
    let requested = tasks::build(&TasksRequest { imported, ..args.request() }, &settings, &project)?;
    let there = requested.branch.as_deref().is_some_and(|branch| tasks::is_on_branch(&project, branch, &dir));
    if let Some(import) = import.filter(|_| !there) {
        write(&import, &project, &dir)?;
        say(&format!("ralph: {}", import.summary(&dir, &project)));
    }
    args.common.live(requested, &settings, |terms, settings| {
        // What was imported is written by now.
        let request = TasksRequest { terms, ..args.request() };
        Ok(tasks::build(&request, settings, &project)?)
    })
}

/// The list that another loop has left, written where ralph keeps its own.
fn write(import: &Import, project: &Project, dir: &TasksDir) -> Result<(), CliError> {
    let written = fsx::dir_inside(project.dir(), dir.dir())
        .and_then(|()| fsx::write_new(&dir.list(), import.list.to_text().as_bytes()));
    written.map_err(|cause| {
        CliError::usage(format!("cannot write the task list: {}", dir.list().display())).cause(cause)
    })
}

impl RunArgs {
    /// Whether a worker could run this.
    pub fn check(&self) -> Result<(), CliError> {
        let project = self.common.project()?;
        let settings = self.common.quiet_settings(&project)?;
        let dir = TasksDir::at(project.dir().join(tasks::dir(self.ralph_dir.as_deref(), &project)?));
        let imported = self.import(&project, &dir)?.map(|import| import.list);
        let terms = self.common.seated_terms(false);
        tasks::build(&TasksRequest { imported, terms, ..self.request() }, &settings, &project)?;
        Ok(())
    }

    /// What to begin with if the project has no list yet.
    fn import(&self, project: &Project, dir: &TasksDir) -> Result<Option<Import>, CliError> {
        if dir.list().symlink_metadata().is_ok() {
            return Ok(None);
        }
        let missing = || CliError::from(import::missing(project, dir));
        match import::find(project, dir) {
            Ok(Some(found)) if self.common.dry_run || self.common.terms().worktree => {
                let from = found.from.display();
                Err(missing()
                    .hint(format!("`ralph init tasks` imports {from}; commit the list, then try again")))
            }
            Ok(Some(found)) if !found.list.problems().is_empty() => {
                let problems: Vec<String> = found.list.problems().iter().map(ToString::to_string).collect();
                Err(CliError::usage(format!("cannot import {}", found.from.display()))
                    .cause(problems.join("\n  "))
                    .hint("fix it, or run `ralph init tasks` and fix what that writes"))
            }
            Ok(found) => Ok(found),
            Err(NotImported { .. }) => Err(missing()),
        }
    }

    fn request(&self) -> TasksRequest {
        TasksRequest {
            dir: self.ralph_dir.clone(),
            skip_review: self.skip_review,
            review_cap: self.review_cap,
            review_agent: self.review_agent.clone(),
            stay: self.stay,
            imported: None,
            terms: self.common.terms(),
        }
    }
}
