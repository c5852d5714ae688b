//! `ralph stories new`: creates the spec of a story.

use super::Stories;
use crate::cli::args::ProjectArgs;
use crate::cli::home;
use crate::error::{CliError, Code};
use crate::layout::spec_name;
use crate::report::{Out, say};
use crate::stories::added::AddedSpecs;
use crate::stories::{NewStory, NewStoryError};
use clap::Args;
use ralph_loop::story_id::StoryId;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Prints the path of the new file. Uses .ralph/templates/spec.md if it exists: a minijinja template with \
id, epic, story, title, slug and depends_on; `{{title|yaml}}` inserts a value into the frontmatter.

Example:
  $EDITOR \"$(ralph stories new \"Log in\" --epic 8 --depends-on 8.1)\"")]
pub struct NewArgs {
    /// Title of the story
    #[arg(value_parser = title)]
    title: String,
    /// Number of its epic
    #[arg(long, value_name = "N", value_parser = epic)]
    epic: u32,
    /// Story that must be done first; can be repeated
    #[arg(long, value_name = "ID")]
    depends_on: Vec<StoryId>,
    #[command(flatten)]
    project: ProjectArgs,
}

fn title(text: &str) -> Result<String, String> {
    let title = text.trim();
    if title.is_empty() {
        return Err("the title must not be empty".to_string());
    }
    if title.chars().any(char::is_control) {
        return Err("the title must be one line without control characters".to_string());
    }
    Ok(title.to_string())
}

/// Spelled as in the ids of its stories.
fn epic(text: &str) -> Result<u32, String> {
    let id = format!("{text}.0").parse::<StoryId>();
    id.map(|id| id.epic).map_err(|_| "expected the number of an epic, such as 8".to_string())
}

pub fn new(args: &NewArgs) -> Result<ExitCode, CliError> {
    let project = args.project.project()?;
    let cannot_lock = |cause| {
        CliError::failed("cannot lock the specs").cause(cause).hint("set RALPH_HOME to a writable directory")
    };
    let mut added = AddedSpecs::wait(&home()?, &project).map_err(cannot_lock)?;
    let stories = Stories::read(&args.project)?;
    if let Some(unknown) = args.depends_on.iter().find(|id| !stories.knows(**id)) {
        return Err(CliError::usage(format!("no such story to depend on: {unknown}"))
            .hint("`ralph stories list` lists the stories"));
    }
    let mut depends_on = Vec::new();
    for id in &args.depends_on {
        if !depends_on.contains(id) {
            depends_on.push(*id);
        }
    }
    let id = stories.next_in(args.epic, added.paths())?;
    let story = NewStory { id, title: args.title.clone(), depends_on };
    added.note(&story.path()).map_err(cannot_lock)?;
    let path = story.write(&stories.project).map_err(|error| refused(&error))?;
    let mut out = Out::stdout();
    out.line(&path.display().to_string());
    out.flush();
    if !stories.order.is_empty() {
        say(&format!(
            "ralph: warning: {id} is not in stories.order in the settings; add it there, or it will not run"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

impl Stories {
    fn knows(&self, id: StoryId) -> bool {
        self.backlog.contains(id) || self.state.completed_stories.contains(&id)
    }

    /// One more than any number that was ever used: a new story with the number of one that is
    /// done would count as done. A run may have put a spec that was just `added` aside.
    fn next_in(&self, epic: u32, added: &[PathBuf]) -> Result<StoryId, CliError> {
        let specs = self.backlog.specs.iter().map(|spec| spec.id);
        let used = specs.chain(self.state.completed_stories.iter().copied()).chain(self.state.current_story);
        let added = added.iter().filter_map(|path| Some(spec_name(path.file_name()?.to_str()?)?.0));
        let used = used.chain(self.order.iter().copied()).chain(added).filter(|id| id.epic == epic);
        let last = used.map(|id| id.story).max().unwrap_or(0);
        let story = last.checked_add(1);
        story
            .map(|story| StoryId { epic, story })
            .ok_or_else(|| CliError::failed(format!("no number left after story {epic}.{last}")))
    }
}

fn refused(error: &NewStoryError) -> CliError {
    let refusal = CliError::from_error(error, Code::Failed);
    match error {
        NewStoryError::Template { .. } => {
            refusal.hint("it can use id, epic, story, title, slug, depends_on and the filter yaml")
        }
        NewStoryError::TemplateUnread { .. } => refusal.hint("make it readable, or remove it"),
        NewStoryError::Write { .. } => refusal,
    }
}
