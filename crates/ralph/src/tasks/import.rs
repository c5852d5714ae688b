//! The task list of another loop, as the beginning of ralph's own.
//!
//! Other loops keep their stories in a `prd.json`. It is only read: ralph's list is another file.

use crate::fsx;
use crate::layout::{Project, TasksDir};
use ralph_loop::task_list::{Json, TaskList, Unreadable, field};
use ralph_loop::text::counted;
use std::path::PathBuf;
use thiserror::Error;

/// A list that was found, with what it left out.
pub struct Import {
    /// Relative to the project.
    pub from: PathBuf,
    pub list: TaskList,
    /// Fields that were added, by name.
    pub filled: Vec<&'static str>,
}

/// A file that cannot be imported.
#[derive(Debug, Error)]
#[error("{} cannot be imported: {why}", from.display())]
pub struct NotImported {
    pub from: PathBuf,
    pub why: Unreadable,
}

/// The first list of another loop in this project.
pub fn find(project: &Project, dir: &TasksDir) -> Result<Option<Import>, NotImported> {
    let mut files = project.other_task_lists(dir).into_iter();
    let Some((file, bytes)) = files.find_map(|file| Some((file.clone(), fsx::read_regular(&file).ok()?)))
    else {
        return Ok(None);
    };
    let from = project.shown(&file);
    match TaskList::parse_bytes(&bytes) {
        Ok(mut list) => {
            let filled = list.fill_missing(&project.name());
            Ok(Some(Import { from, list, filled }))
        }
        Err(why) => Err(NotImported { from, why }),
    }
}

/// Ralph's own list is missing.
#[derive(Debug, Error)]
#[error("no task list: {}", file.display())]
pub struct NoTaskList {
    pub file: PathBuf,
    /// The list of another loop, if there is one.
    pub other: Result<Option<PathBuf>, NotImported>,
}

/// The error where ralph's own list is missing. It names the file that could be imported instead.
pub fn missing(project: &Project, dir: &TasksDir) -> NoTaskList {
    let other = find(project, dir).map(|found| found.map(|import| import.from));
    NoTaskList { file: dir.list(), other }
}

impl Import {
    /// A PRD that says what the list says about itself, if it says anything.
    pub fn prd(&self) -> Option<String> {
        let summary = self.list.field(field::DESCRIPTION).and_then(Json::as_str)?.trim();
        let prd = format!("# PRD: {}\n\n## 1. Summary\n\n{summary}\n", self.list.project());
        (!summary.is_empty()).then_some(prd)
    }

    /// What was done, in words.
    pub fn summary(&self, to: &TasksDir, project: &Project) -> String {
        let (from, to) = (self.from.display(), project.shown(&to.list()));
        let stories = counted(self.list.stories.len() as u64, "story");
        let filled = match self.filled.is_empty() {
            true => String::new(),
            false => format!("; added the missing fields: {}", self.filled.join(", ")),
        };
        format!("imported {stories} from {from} into {}{filled}; {from} is unchanged", to.display())
    }
}
