//! What one agent was sent to do, as the Stop hook needs to know it.

use crate::fsx;
use ralph_loop::review::Terms;
use ralph_loop::task_list::{Mode, Outline, TaskList};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read};
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
    /// Two lines of the same form: what a hook needs that finds nothing wrong, then all of it. A
    /// hook has no time to read a long list that it does not need.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.with(Outline::of(&self.before)))?;
        text.push(b'\n');
        text.extend(serde_json::to_vec(self)?);
        text.push(b'\n');
        fsx::write_whole(path, &text)
    }

    /// The last line; or all of them, if the file is one object on several.
    pub fn read(path: &Path) -> io::Result<Assignment> {
        let text = fsx::read_regular(path)?;
        let text = text.trim_ascii_end();
        let line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(serde_json::from_slice(line).or_else(|_| serde_json::from_slice(text))?)
    }

    fn with<List>(&self, before: List) -> Assignment<List> {
        let Assignment { mode, story, tasks_file, skip_review, review_cap, check_commits, .. } = self.clone();
        Assignment { mode, story, tasks_file, skip_review, review_cap, check_commits, before }
    }
}

/// The first line; or all of them, if the file is one object on several.
pub(super) fn read_outline(path: &Path) -> io::Result<Assignment<Outline>> {
    let mut file = BufReader::with_capacity(64 << 10, fsx::open_regular(path)?);
    let mut text = Vec::new();
    file.read_until(b'\n', &mut text)?;
    if let Ok(outline) = serde_json::from_slice(&text) {
        return Ok(outline);
    }
    file.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
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
#[expect(clippy::disallowed_methods, reason = "tests write files")]
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
        let text = std::fs::read_to_string(&path).unwrap();
        let written: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(written["mode"], "review-fix");
        assert_eq!(written["before"]["userStories"], json!([{"id": "a", "z": [], "b": {}, "passes": true}]));
        // One object, whoever wrote it, on however many lines.
        for text in [written.to_string(), format!("{written:#}\n")] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(serde_json::to_value(Assignment::read(&path).unwrap()).unwrap(), written);
            assert_eq!(stories(&read_outline(&path).unwrap().before.0), json!([{"id": "a", "passes": true}]));
        }
        std::fs::write(&path, "{").unwrap();
        assert!(Assignment::read(&path).is_err() && read_outline(&path).is_err());
    }
}
