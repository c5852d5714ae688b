//! `ralph tasks add`: one more story, with the next id.

use super::WhichArgs;
use crate::cli::advice::RALPH_HOME;
use crate::cli::home;
use crate::error::CliError;
use crate::fsx;
use crate::report::Out;
use crate::request::tasks::{Reasons, TasksError, parse};
use crate::tasks::added::Added;
use crate::tasks::fresh::is_untouched;
use clap::Args;
use ralph_loop::task_list::{Json, Story, TaskList, field};
use std::process::ExitCode;

#[derive(Args)]
#[command(after_help = "\
Prints the id of the new story. The rest of the list, including unknown fields, stays as it is. You can \
add a story during a run: if the agent overwrites the list with its own copy, ralph adds the story again.

Example:
  ralph tasks add \"Log in with a passkey\" --criterion \"A passkey logs in\" \\
    --criterion \"A wrong one is refused with 401\" --depends-on US-001")]
pub struct AddArgs {
    /// Title of the story
    #[arg(value_parser = one_line)]
    title: String,
    /// Acceptance criterion; at least one, can be repeated
    #[arg(long, value_name = "TEXT", required = true, value_parser = one_line, allow_hyphen_values = true)]
    criterion: Vec<String>,
    /// Longer description
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    description: String,
    /// Stories with a lower number come first [default: after all others]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i64>,
    /// Story that must be done first; can be repeated
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    #[command(flatten)]
    which: WhichArgs,
}

fn one_line(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("must not be empty".to_string()),
        text if text.chars().any(char::is_control) => {
            Err("must be one line without control characters".to_string())
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
            .hint(RALPH_HOME)
    };
    let mut added = locked.map_err(cannot_lock)?;
    let mut list = parse(&project, &dir)?;
    if is_untouched(&list) {
        // The placeholder story of `ralph init tasks` makes room for the first real one.
        list.stories.clear();
    }
    let problems: Vec<String> = list.problems().iter().map(ToString::to_string).collect();
    if !problems.is_empty() {
        let invalid = TasksError::Invalid { file: dir.list(), why: Reasons(problems) };
        return Err(CliError::from(invalid).hint("fix it first; `ralph tasks check` lists all errors"));
    }
    if let Some(unknown) = args.depends_on.iter().find(|id| list.story(id).is_none()) {
        return Err(CliError::usage(format!("no such story to depend on: {unknown}"))
            .hint("`ralph tasks list` lists the stories"));
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
