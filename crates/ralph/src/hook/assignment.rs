//! What one agent was sent to do, as the Stop hook needs to know it.

use super::parts::Part;
use crate::fsx;
use ralph_loop::review::{ReviewRules, places_for_fast_path};
use ralph_loop::task_list::{Mode, TaskList};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The environment variable with the path of the file.
pub const ASSIGNMENT: &str = "RALPH_REVIEW";

/// Written for each agent by the engine, outside the workspace. The engine itself goes by its
/// own copy: what the agent's hooks read only tells the agent earlier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    pub mode: Mode,
    pub story: Option<String>,
    pub tasks_file: PathBuf,
    pub skip_review: bool,
    pub review_cap: u32,
    /// Whether the agent has to leave everything committed.
    pub check_commits: bool,
}

/// The file: a line with the assignment and where the stories are, then the list as it was when
/// the agent began, byte by byte.
#[derive(Serialize, Deserialize)]
struct Head<A> {
    assignment: A,
    /// See [`places_for_fast_path`].
    #[serde(default)]
    places: Vec<(usize, usize)>,
}

/// An assignment as it is read. The list is left in its file: mostly little of it is needed.
pub(super) struct Given {
    pub(super) assignment: Assignment,
    pub(super) places: Vec<Range<usize>>,
    /// The task list as it was when the agent began.
    pub(super) before: Part,
}

impl Given {
    pub(super) fn read(path: &Path) -> io::Result<Given> {
        let file = fsx::open_regular(path)?;
        let mut head = Vec::new();
        BufReader::with_capacity(32 << 10, &file).read_until(b'\n', &mut head)?;
        let Head { assignment, places } = serde_json::from_slice(&head)?;
        let places = places.into_iter().map(|(start, end)| start..end).collect();
        Ok(Given { assignment, places, before: Part::of(file, head.len())? })
    }
}

impl Assignment {
    /// With the list as it is when the agent begins, and its text.
    pub fn write(&self, path: &Path, before: &TaskList, text: &str) -> io::Result<()> {
        let places = places_for_fast_path(text, before, &self.rules());
        let places = places.into_iter().map(|place| (place.start, place.end)).collect();
        let mut file = serde_json::to_vec(&Head { assignment: self, places })?;
        file.push(b'\n');
        file.extend(text.as_bytes());
        fsx::write_whole(path, &file)
    }

    pub fn rules(&self) -> ReviewRules<'_> {
        ReviewRules {
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
        };
        let story = r#"{"id": "a", "title": "", "passes": false, "priority": 1, "acceptanceCriteria": ["c"],
            "reviewStatus": null, "reviewCount": 0, "reviewFeedback": ""}"#;
        let text = format!(
            "{{\"project\": \"\",\n\"branchName\": \"\", \"description\": \"\", \"userStories\": [\n{story}]}}\n"
        );
        assignment.write(&path, &TaskList::parse(&text).unwrap(), &text).unwrap();
        let given = Given::read(&path).unwrap();
        assert_eq!(
            (&given.assignment, given.before.whole().unwrap()),
            (&assignment, text.clone().into_bytes())
        );
        assert_eq!(given.places.iter().map(|place| &text[place.clone()]).collect::<Vec<_>>(), [story]);
        // There is something wrong with the list: the fast path does not apply.
        let broken = text.replace("\"reviewCount\"", "\"count\"");
        assignment.write(&path, &TaskList::parse(&broken).unwrap(), &broken).unwrap();
        let given = Given::read(&path).unwrap();
        assert_eq!((given.places.len(), given.before.whole().unwrap()), (0, broken.into_bytes()));
        for text in ["", "{", "{}\n{}"] {
            std::fs::write(&path, text).unwrap();
            assert!(Given::read(&path).is_err(), "{text}");
        }
    }
}
