//! `ralph tasks add`: one more story, with the next id.

use super::WhichArgs;
use crate::cli::home;
use crate::error::CliError;
use crate::fsx;
use crate::report::Out;
use crate::request::tasks::{parse, wrong};
use crate::tasks::added::Added;
use crate::tasks::fresh::is_untouched;
use clap::Args;
use ralph_loop::task_list::{Json, Story, TaskList, field};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Prints the id of the new story. What else is in the list, unknown fields included, stays as it is. A \
story can be added while a loop is running: if the agent at work overwrites the list with its own copy, the \
loop puts the story back.

Example:
  ralph tasks add \"Log in with a passkey\" --criterion \"A passkey logs in\" \\
    --criterion \"A wrong one is refused with 401\" --depends-on US-001")]
pub struct AddArgs {
    /// What the story is about, in a few words
    #[arg(value_parser = one_line)]
    title: String,
    /// Something that can be seen when it is done; at least one
    #[arg(long, value_name = "TEXT", required = true, value_parser = one_line, allow_hyphen_values = true)]
    criterion: Vec<String>,
    /// More about it
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    description: String,
    /// The smaller, the sooner (after all others)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// A story that has to be done before it; can be given several times
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    #[command(flatten)]
    which: WhichArgs,
}

fn one_line(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it must not be empty".to_string()),
        text if text.chars().any(char::is_control) => {
            Err("it is one line without control characters".to_string())
        }
        text => Ok(text.to_string()),
    }
}

pub fn add(args: &AddArgs) -> Result<ExitCode, CliError> {
    let (project, dir) = args.which.find()?;
    let home = home()?;
    let locked = Added::wait(&home, &dir);
    let cannot_lock = |cause| {
        CliError::failed(format!("cannot lock the task list: {}", dir.list().display()))
            .cause(cause)
            .hint("set RALPH_HOME to a directory that can be written")
    };
    let mut added = locked.map_err(cannot_lock)?;
    let mut list = parse(&project, &dir)?;
    if is_untouched(&list) {
        // What was laid out has done its work.
        list.stories.clear();
    }
    let problems: Vec<String> = list.problems().iter().map(ToString::to_string).collect();
    if !problems.is_empty() {
        return Err(wrong(&dir, &problems).hint("mend it first: `ralph tasks check` tells all that is wrong"));
    }
    if let Some(unknown) = args.depends_on.iter().find(|id| list.story(id).is_none()) {
        return Err(CliError::usage(format!("no such story to depend on: {unknown}"))
            .hint("`ralph tasks list` tells which there are"));
    }
    let story = args.story(&list, &list.next_id(added.stories()));
    let id = story.id().to_string();
    added.note(story.clone()).map_err(cannot_lock)?;
    list.stories.push(story);
    fsx::replace_content(&dir.list(), list.to_text().as_bytes()).map_err(|cause| {
        CliError::failed(format!("cannot write the task list: {}", dir.list().display())).cause(cause)
    })?;
    let mut out = Out::stdout();
    out.line(&id);
    out.flush();
    Ok(ExitCode::SUCCESS)
}

impl AddArgs {
    fn story(&self, list: &TaskList, id: &str) -> Story {
        let criteria: Vec<&str> = self.criterion.iter().map(String::as_str).collect();
        let priority = self.priority.unwrap_or_else(|| last_priority(list).saturating_add(1));
        let mut story = Story::new(id, &self.title, &criteria, priority);
        story.set_field(field::DESCRIPTION, self.description.as_str().into());
        let mut depends_on: Vec<&String> = Vec::new();
        for id in &self.depends_on {
            if !depends_on.contains(&id) {
                depends_on.push(id);
            }
        }
        let depends_on = depends_on.into_iter().map(|id| Json::from(id.as_str())).collect();
        story.set_field(field::DEPENDS_ON, Json::Array(depends_on));
        story
    }
}

fn last_priority(list: &TaskList) -> i64 {
    let known = list.stories.iter().map(Story::priority).filter(|priority| priority.is_finite());
    // Saturates, which is far more than anybody has stories.
    known.map(|priority| priority.ceil() as i64).max().unwrap_or(0)
}
