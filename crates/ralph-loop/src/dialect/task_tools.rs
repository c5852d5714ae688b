//! Claude's task list, as its tools `TaskCreate` and `TaskUpdate` change it.
//!
//! `TodoWrite` gave the whole list with every call. These give one change each, and a task's id
//! is only in the result of the call that created it. Here the changes become a list again.
//!
//! Invariant: bounded. Tasks beyond [`MOST`] are not shown.

use super::event::{TodoItem, TodoStatus};
use super::loose::{Loose, loose};
use crate::text::clip;
use serde::Deserialize;
use std::borrow::Cow;

const MOST: usize = 200;
const SUBJECT_CHARS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct TaskTools {
    tasks: Vec<Task>,
    /// Calls of `TaskCreate` without a result yet: the call's id, and the subject.
    creating: Vec<(String, String)>,
}

#[derive(Debug)]
struct Task {
    id: String,
    subject: String,
    status: TodoStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow, deserialize_with = "loose")]
    subject: Cow<'a, str>,
    #[serde(borrow, rename = "taskId", deserialize_with = "loose")]
    task_id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "loose")]
    status: Cow<'a, str>,
}

impl TaskTools {
    /// A tool was called. Returns whether that changed the list.
    pub(super) fn called(&mut self, id: &str, tool: &str, input: &str) -> bool {
        if !matches!(tool, "TaskCreate" | "TaskUpdate") {
            return false;
        }
        let Ok(input) = serde_json::from_str::<Input<'_>>(input) else { return false };
        if tool == "TaskUpdate" {
            return self.update(&input);
        }
        let has_room = self.tasks.len() + self.creating.len() < MOST;
        if has_room && !input.subject.trim().is_empty() {
            self.creating.push((id.to_owned(), clip(&input.subject, SUBJECT_CHARS).into_owned()));
        }
        false
    }

    fn update(&mut self, input: &Input<'_>) -> bool {
        let Some(at) = self.tasks.iter().position(|task| task.id == input.task_id) else { return false };
        if input.status == "deleted" {
            self.tasks.remove(at);
            return true;
        }
        let task = &mut self.tasks[at];
        if !input.status.is_empty() {
            task.status = TodoStatus::string(Cow::Borrowed(&*input.status));
        }
        if !input.subject.trim().is_empty() {
            task.subject = clip(&input.subject, SUBJECT_CHARS).into_owned();
        }
        true
    }

    /// A tool call ended. Returns whether that changed the list.
    pub(super) fn ended(&mut self, id: &str, output: &str, is_error: bool) -> bool {
        let Some(at) = self.creating.iter().position(|(call, _)| call == id) else { return false };
        let (_, subject) = self.creating.remove(at);
        if is_error {
            return false;
        }
        let id = number(output).unwrap_or_else(|| (self.tasks.len() + 1).to_string());
        self.tasks.push(Task { id, subject, status: TodoStatus::Pending });
        true
    }

    pub(super) fn items(&self) -> Vec<TodoItem<'_>> {
        let item = |task: &Task| TodoItem { text: Cow::Owned(task.subject.clone()), status: task.status };
        self.tasks.iter().map(item).collect()
    }
}

/// `3` of `Task #3 created successfully: …`.
fn number(output: &str) -> Option<String> {
    let (_, rest) = output.split_once('#')?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(20).collect();
    (!digits.is_empty()).then_some(digits)
}
