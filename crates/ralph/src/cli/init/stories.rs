//! `ralph init stories`: a place for stories, and a first one to write over.

use crate::error::{CliError, Code};
use crate::fsx;
use crate::layout::Project;
use crate::report::Out;
use crate::stories::{Backlog, NewStory, Spec, backlog};
use ralph_loop::story_id::StoryId;
use std::io;
use std::process::ExitCode;

const FIRST: StoryId = StoryId { epic: 1, story: 1 };
const FIRST_TITLE: &str = "A first story";

/// Writes what is missing, and leaves alone what is there.
pub fn lay_out(project: &Project) -> Result<ExitCode, CliError> {
    let mut out = Out::stdout();
    let specs = stories_there(project)?;
    match specs.first() {
        Some(spec) => out.line(&format!("already exists  {}", spec.path.display())),
        None => {
            let first = NewStory { id: FIRST, title: FIRST_TITLE.to_string(), depends_on: Vec::new() };
            let path = first.write(project).map_err(|error| CliError::from_error(&error, Code::Failed))?;
            out.line(&format!("created         {}", path.display()));
        }
    }
    let progress = project.shown(&project.progress_txt());
    let word = match fsx::write_new(&project.progress_txt(), b"") {
        Ok(()) => "created       ",
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => "already exists",
        Err(cause) => {
            return Err(CliError::failed(format!("cannot write {}", progress.display())).cause(cause));
        }
    };
    out.line(&format!("{word}  {}", progress.display()));
    out.line("");
    if specs.is_empty() {
        out.line("Next: describe in that story what to build, and how to see that it works.");
    }
    out.line("Add a story:  ralph stories new \"Title\" --epic 1");
    out.line("Validate:     ralph stories check");
    out.line("List:         ralph stories list");
    out.line("Start:        ralph stories");
    out.line("Commit each:  ralph stories --commit (or \"stories\": {\"commit\": true} in the settings)");
    out.flush();
    Ok(ExitCode::SUCCESS)
}

fn stories_there(project: &Project) -> Result<Vec<Spec>, CliError> {
    match backlog::read(project, &[]) {
        Ok(Backlog { specs, .. }) => Ok(specs),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => {
            let specs = project.shown(&project.specs());
            Err(CliError::failed(format!("cannot read the specs: {}", specs.display())).cause(cause))
        }
    }
}
