//! What one agent was sent to do, as the Stop hook needs to know it.

use crate::fsx;
use ralph_loop::review::Terms;
use ralph_loop::task_list::{Mode, Outline, TaskList};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The environment variable with the path of the file.
pub const ASSIGNMENT: &str = "RALPH_REVIEW";

/// Written for each agent by the engine, outside the workspace. The engine itself goes by its
/// own copy: what the agent's hooks read only tells the agent earlier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment<List = TaskList> {
    pub mode: Mode,
    pub story: Option<String>,
    pub tasks_file: PathBuf,
    pub skip_review: bool,
    pub review_cap: u32,
    /// Whether the agent has to leave everything committed.
    pub check_commits: bool,
    /// The task list as it was when the agent began.
    pub before: List,
}

impl Assignment {
    pub fn write(&self, path: &Path) -> io::Result<()> {
        fsx::write_whole(path, &serde_json::to_vec(self)?)
    }

    pub fn read(path: &Path) -> io::Result<Assignment> {
        read_as(path)
    }
}

/// Only as much as a hook needs that finds nothing wrong.
pub(super) fn read_outline(path: &Path) -> io::Result<Assignment<Outline>> {
    read_as(path)
}

fn read_as<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    // Checking the text as a whole is faster than at every string in it.
    let text = String::from_utf8(fsx::read_regular(path)?).map_err(io::Error::other)?;
    Ok(serde_json::from_str(&text)?)
}

impl<List> Assignment<List> {
    pub fn terms(&self) -> Terms<'_> {
        Terms {
            mode: self.mode,
            story: self.story.as_deref(),
            skip_review: self.skip_review,
            review_cap: self.review_cap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_engine_writes_is_what_the_hook_reads() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("assignment.json");
        let assignment = Assignment {
            mode: Mode::ReviewFix,
            story: Some("US-001".into()),
            tasks_file: "/somewhere/ralph/tasks.json".into(),
            skip_review: false,
            review_cap: 3,
            check_commits: true,
            before: TaskList::parse(
                r#"{"x": 1, "userStories": [{"id": "a", "z": [], "b": {}, "passes": true}]}"#,
            )
            .unwrap(),
        };
        assignment.write(&path).unwrap();
        assert_eq!(Assignment::read(&path).unwrap(), assignment);
        let outline = read_outline(&path).unwrap();
        assert_eq!(
            (outline.terms(), outline.tasks_file.as_path()),
            (assignment.terms(), &*assignment.tasks_file)
        );
        let stories = |list: &TaskList| serde_json::to_value(&list.stories).unwrap();
        assert_eq!(stories(&outline.before.0), json!([{"id": "a", "passes": true}]));
        let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(written["mode"], "review-fix");
        assert_eq!(written["before"]["userStories"], json!([{"id": "a", "z": [], "b": {}, "passes": true}]));
    }
}
