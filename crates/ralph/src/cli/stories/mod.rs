//! `ralph stories`: runs, lists, checks and creates the stories of a project.

mod check;
mod list;
mod new;
mod run;

use super::args::ProjectArgs;
use super::config::load;
use super::format::Format;
use crate::error::CliError;
use crate::layout::Project;
use crate::report::say;
use crate::request::stories::{StoriesError, order, read_backlog};
use crate::settings::Settings;
use crate::stories::Backlog;
use crate::stories::state_file::{self, StoryState};
use clap::{Args, Subcommand};
use ralph_loop::story_id::StoryId;
use ralph_loop::text::printable;
use std::process::ExitCode;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
A story is a file specs/epic-N/story-N.M-slug.md; `ralph init stories` creates the first one. The story \
with the lowest number whose dependencies are done comes next. A failed attempt is set aside, and the \
next one starts clean. After three failed attempts at a story the run stops.

Examples:
  ralph stories                       # all stories that are not done
  ralph stories -n 10 -t 1h           # ten attempts of at most an hour each
  ralph stories -s 8.3                # this story, done or not
  ralph stories new \"Log in with a passkey\" --epic 8 --depends-on 8.1
  ralph stories check --strict
  ralph stories list")]
pub struct StoriesArgs {
    #[command(subcommand)]
    command: Option<StoriesCommand>,
    #[command(flatten)]
    run: run::RunArgs,
}

impl StoriesArgs {
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
enum StoriesCommand {
    /// List the stories and their status
    List(list::ListArgs),
    /// Validate the specs without running anything
    Check(check::CheckArgs),
    /// Create a story with the next number of its epic
    New(new::NewArgs),
}

pub fn stories(args: &StoriesArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        Some(StoriesCommand::List(args)) => list::list(args),
        Some(StoriesCommand::Check(args)) => check::check(args),
        Some(StoriesCommand::New(args)) => new::new(args),
        None => run::run(&args.run),
    }
}

/// Everything that a command here wants to know of a project.
struct Stories {
    project: Project,
    settings: Settings,
    order: Vec<StoryId>,
    state: StoryState,
    backlog: Backlog,
}

impl Stories {
    /// Reads it all and touches nothing: a run may be at work here.
    fn read(args: &ProjectArgs) -> Result<Stories, CliError> {
        let project = args.project()?;
        let settings = load(&project, None)?.settings;
        let order = order(&settings)?;
        let mut backlog = read_backlog(&project, &order)?;
        let loaded = state_file::look(&project).map_err(StoriesError::CannotReadState)?;
        for note in &loaded.notes {
            say(&format!("ralph: warning: {}", printable(note)));
        }
        backlog.forgive_done(&loaded.state.completed_stories);
        Ok(Stories { project, settings, order, state: loaded.state, backlog })
    }
}
