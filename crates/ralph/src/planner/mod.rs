//! `ralph plan`: an agent turns an idea into a task list or stories.
//!
//! The agent writes drafts into a directory of its own, the record of the session in ralph's home, and can
//! write nowhere else. Ralph reads the drafts ([`drafts`]), checks them ([`check`]), and puts them in
//! place, whole, once they are valid ([`install`], [`intent`]). Whatever happens before that, the files of the project are
//! as they were.
//!
//! Planning is no run: there is nothing to prove and nothing to resume, so it has no journal. Its agents run
//! under a keeper like those of a run, or, in a conversation, in the user's terminal.
//!
//! Deliberately absent: questions to the user and output. Those are `cli/plan/`.

pub mod check;
pub mod drafts;
pub mod headless;
pub mod install;
pub mod instructions;
pub mod intent;
pub mod records;
pub mod runner;
pub mod story_record;
pub mod tried;

use crate::fsx;
use crate::layout::{PlanDir, Project, TasksDir};
use ralph_loop::planner::Scope;
use ralph_loop::strict::Finding;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The variable by which the hook of a conversation finds the record of its session.
pub const PLAN: &str = "RALPH_PLAN";

/// What is planned. It is in the record, so that the hook knows it too.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanSpec {
    pub project: PathBuf,
    pub form: Form,
    pub scope: PlanScope,
    pub prd: PrdMode,
}

/// What the plan becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A task list, in this directory of the project.
    Tasks {
        dir: PathBuf,
    },
    Stories,
}

/// As [`Scope`], for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanScope {
    New,
    Add,
    Split { story: String },
    Reword { story: String },
}

impl PlanScope {
    pub fn scope(&self) -> Scope<'_> {
        match self {
            PlanScope::New => Scope::New,
            PlanScope::Add => Scope::Add,
            PlanScope::Split { story } => Scope::Split(story),
            PlanScope::Reword { story } => Scope::Reword(story),
        }
    }

    /// The story that it is about.
    pub fn story(&self) -> Option<&str> {
        match self {
            PlanScope::New | PlanScope::Add => None,
            PlanScope::Split { story } | PlanScope::Reword { story } => Some(story),
        }
    }
}

/// Whose PRD it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrdMode {
    /// There is none, or only the template: the planner writes it.
    Write,
    /// The user's, which is left alone.
    Keep,
}

impl PlanSpec {
    pub fn project(&self) -> Project {
        Project::at(self.project.clone())
    }

    /// The task list in the project, if it is one that is planned.
    pub fn tasks(&self) -> Option<TasksDir> {
        match &self.form {
            Form::Tasks { dir } => Some(TasksDir::at(self.project.join(dir))),
            Form::Stories => None,
        }
    }

    pub fn write(&self, record: &PlanDir) -> io::Result<()> {
        fsx::private_dir(record.dir())?;
        fsx::write_private(&record.spec(), &serde_json::to_vec(self)?)
    }

    pub fn read(record: &PlanDir) -> io::Result<PlanSpec> {
        Ok(serde_json::from_slice(&fsx::read_regular(&record.spec())?)?)
    }
}

/// Why planning did not come to its end.
#[derive(Debug, Error)]
pub enum PlannerError {
    #[error("cannot write the record of the planning session: {}", dir.display())]
    Record {
        dir: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot read {}", file.display())]
    CannotRead {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("the list that exists is invalid: {}", file.display())]
    InvalidList { file: PathBuf, why: String },
    #[error("cannot start the agent: {name}")]
    NotStarted { name: String, why: String },
    #[error("the agent failed: {why}")]
    AgentFailed { why: String, record: PathBuf },
    /// It ended well and wrote nothing.
    #[error("the agent wrote no plan")]
    NothingDrafted { last_words: String, record: PathBuf },
    #[error("the plan is still invalid after {rounds} attempts")]
    StillInvalid { rounds: u32, findings: Vec<Finding>, drafts: PathBuf },
    #[error("cannot write the plan: {}", file.display())]
    NotInstalled {
        file: PathBuf,
        #[source]
        cause: io::Error,
        drafts: PathBuf,
    },
    /// Of a plan that was interrupted while it was put in place.
    #[error("cannot put back what an interrupted `ralph plan` has written: {}", file.display())]
    NotTakenBack {
        file: PathBuf,
        #[source]
        cause: io::Error,
        record: PathBuf,
    },
    #[error("the list was changed meanwhile, and the plan does not fit it any more")]
    ListChanged { findings: Vec<Finding>, drafts: PathBuf },
    /// By Ctrl+C or a signal.
    #[error("stopped")]
    Interrupted { drafts: PathBuf },
}
