//! What a run works on, as a program says it.

use super::{Config, Error};
use crate::layout::Project;
use crate::request::prompt::{self, PromptRequest};
use crate::request::stories::{self, RequestedStories, StoriesError, StoriesRequest};
use crate::request::tasks::{self, TasksRequest};
use crate::request::{RequestedRun, Terms};
use crate::settings::Settings;
use crate::stories::state_file;
use ralph_loop::story_id::StoryId;
use std::path::PathBuf;

/// What a run works on.
#[derive(Clone, Debug)]
pub enum Plan {
    Prompt(Prompt),
    Stories(Stories),
    Tasks(Tasks),
}

/// One prompt, repeated until it is proven done: `ralph run`.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// What the agent should do.
    pub task: String,
    /// A file that is sent instead of the task.
    pub spec_file: Option<PathBuf>,
    /// The word the agent says when it is done: `<response>DONE</response>`.
    pub completion_response: Option<String>,
    /// Done when a line the agent says matches this regular expression.
    pub done_pattern: Option<String>,
    /// Done when the checks pass, whatever the agent says.
    pub checks_only: bool,
}

/// The stories in `specs/`: `ralph stories`.
#[derive(Clone, Debug, Default)]
pub struct Stories {
    /// Only this story, even if it is done.
    pub only: Option<StoryId>,
    /// No story before this one.
    pub from: Option<StoryId>,
    /// Attempts at a story before the run stops.
    pub max_retries: Option<u32>,
    /// Skip stories whose specs are invalid.
    pub keep_going: bool,
    /// Commit each story that is done.
    pub commit: bool,
    /// Work on this branch, which is created if it does not exist.
    pub branch: Option<String>,
}

/// The task list in `ralph/tasks.json`, with a review of every story: `ralph tasks`.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// The directory of the list, if it is not `ralph`.
    pub dir: Option<PathBuf>,
    pub skip_review: bool,
    /// Approve a story as it is after this many reviews.
    pub review_cap: Option<u32>,
    /// Another agent for the reviews, by name.
    pub review_agent: Option<String>,
    /// Stay on the current branch, whatever `branchName` in the list says.
    pub stay: bool,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan::Prompt(Prompt::default())
    }
}

impl From<Prompt> for Config {
    fn from(prompt: Prompt) -> Config {
        Config { plan: Plan::Prompt(prompt), ..Config::default() }
    }
}

impl From<Stories> for Config {
    fn from(stories: Stories) -> Config {
        Config { plan: Plan::Stories(stories), ..Config::default() }
    }
}

impl From<Tasks> for Config {
    fn from(tasks: Tasks) -> Config {
        Config { plan: Plan::Tasks(tasks), ..Config::default() }
    }
}

impl Plan {
    /// The run, with warnings about it.
    pub(super) fn build(
        &self,
        terms: Terms,
        settings: &Settings,
        project: &Project,
    ) -> Result<(RequestedRun, Vec<String>), Error> {
        match self {
            Plan::Prompt(prompt) => {
                let requested = prompt::build(&prompt.request(terms), settings, project)?;
                Ok((requested, Vec::new()))
            }
            Plan::Stories(stories) => stories.build(terms, settings, project),
            Plan::Tasks(tasks) => Ok((tasks::build(&tasks.request(terms), settings, project)?, Vec::new())),
        }
    }
}

impl Prompt {
    fn request(&self, terms: Terms) -> PromptRequest {
        PromptRequest {
            task: Some(self.task.clone()).filter(|task| !task.is_empty()),
            spec: self.spec_file.clone(),
            completion_response: self.completion_response.clone(),
            done_pattern: self.done_pattern.clone(),
            checks_only: self.checks_only,
            terms,
            ..PromptRequest::default()
        }
    }
}

impl Stories {
    fn build(
        &self,
        terms: Terms,
        settings: &Settings,
        project: &Project,
    ) -> Result<(RequestedRun, Vec<String>), Error> {
        let request = StoriesRequest {
            only: self.only,
            from: self.from,
            max_retries: self.max_retries,
            keep_going: self.keep_going,
            commit: self.commit,
            branch: self.branch.clone(),
            terms,
        };
        let RequestedStories { requested, warnings: about_specs } =
            stories::build(&request, settings, project)?;
        let mut warnings = state_file::load(project).map_err(StoriesError::CannotReadState)?.notes;
        warnings.extend(about_specs);
        warnings.extend(stories::uncommitted(&requested.run, project)?);
        Ok((requested, warnings))
    }
}

impl Tasks {
    fn request(&self, terms: Terms) -> TasksRequest {
        TasksRequest {
            dir: self.dir.clone(),
            skip_review: self.skip_review,
            review_cap: self.review_cap,
            review_agent: self.review_agent.clone(),
            stay: self.stay,
            imported: None,
            terms,
        }
    }
}
