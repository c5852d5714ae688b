//! `ralph stories`: the specs of a project, listed, checked and begun.

mod check;
mod list;
mod new;

use super::args::ProjectArgs;
use super::config::load;
use crate::error::CliError;
use crate::layout::Project;
use crate::report::{Out, say};
use crate::stories::state_file::{self, StoryState};
use crate::stories::{Backlog, backlog};
use clap::{Args, CommandFactory, Subcommand};
use ralph_loop::story_id::StoryId;
use ralph_loop::text::printable;
use std::io;
use std::process::ExitCode;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
A story is a file specs/epic-N/story-N.M-slug.md. `ralph init stories` lays the directories out.

Examples:
  ralph stories new \"Log in with a passkey\" --epic 8 --depends-on 8.1
  ralph stories check
  ralph stories list")]
pub struct StoriesArgs {
    #[command(subcommand)]
    command: Option<StoriesCommand>,
}

#[derive(Subcommand)]
enum StoriesCommand {
    /// List the stories: what is done, what is next, what waits for what
    List(list::ListArgs),
    /// Tell what is wrong with the specs, before anything runs
    Check(check::CheckArgs),
    /// Write the spec of a new story, with the next number of its epic
    New(new::NewArgs),
}

pub fn stories(args: &StoriesArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        Some(StoriesCommand::List(args)) => list::list(args),
        Some(StoriesCommand::Check(args)) => check::check(args),
        Some(StoriesCommand::New(args)) => new::new(args),
        None => Ok(print_help()),
    }
}

fn print_help() -> ExitCode {
    let mut ralph = super::Cli::command();
    ralph.build();
    if let Some(stories) = ralph.find_subcommand_mut("stories") {
        let mut out = Out::stdout();
        out.bytes(stories.render_help().to_string().as_bytes());
        out.flush();
    }
    ExitCode::SUCCESS
}

/// Everything that a command here wants to know of a project.
struct Stories {
    project: Project,
    order: Vec<StoryId>,
    state: StoryState,
    backlog: Backlog,
}

impl Stories {
    /// Reads it all and touches nothing: a run may be at work here.
    fn read(args: &ProjectArgs) -> Result<Stories, CliError> {
        let project = Project::at(args.dir()?);
        let order = order(&load(&project, None)?.settings.stories.order)?;
        let mut backlog = backlog::read(&project, &order).map_err(|cause| no_specs(&project, &cause))?;
        let loaded = state_file::look(&project)
            .map_err(|cause| CliError::usage("cannot tell which stories are done").cause(cause))?;
        for note in &loaded.notes {
            say(&format!("ralph: warning: {}", printable(note)));
        }
        backlog.forgive_missing(&loaded.state.completed_stories);
        Ok(Stories { project, order, state: loaded.state, backlog })
    }
}

/// The user's own order, from the settings.
fn order(ids: &[String]) -> Result<Vec<StoryId>, CliError> {
    let read = |id: &String| id.parse::<StoryId>();
    ids.iter().map(read).collect::<Result<_, _>>().map_err(|cause| {
        CliError::usage(format!("stories.order in the settings: {cause}"))
            .hint("`ralph config show` tells which file it is in")
    })
}

fn no_specs(project: &Project, cause: &io::Error) -> CliError {
    let specs = project.specs();
    if cause.kind() == io::ErrorKind::NotFound {
        return CliError::usage(format!("there are no specs: {}", specs.display()))
            .hint("`ralph init stories` lays them out; -C names another project");
    }
    CliError::usage(format!("cannot read the specs: {}", specs.display())).cause(cause)
}
