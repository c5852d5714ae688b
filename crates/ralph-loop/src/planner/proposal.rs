//! What would change in one story, field by field.

use super::merge::WORDS;
use crate::task_list::{Json, TaskList};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proposal {
    pub story: String,
    /// Empty if the story is right as it is.
    pub changes: Vec<FieldChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    pub field: &'static str,
    /// Null if the story has no such field.
    pub before: Json,
    pub after: Json,
}

impl Proposal {
    /// For a story that is in both lists.
    pub fn of(story: &str, old: &TaskList, new: &TaskList) -> Option<Proposal> {
        let (before, after) = (old.story(story)?, new.story(story)?);
        let change = |field: &&'static str| {
            let [before, after] = [before, after].map(|story| story.field(field).unwrap_or(&Json::Null));
            (before != after).then(|| FieldChange { field, before: before.clone(), after: after.clone() })
        };
        Some(Proposal { story: story.to_owned(), changes: WORDS.iter().filter_map(change).collect() })
    }
}

impl FieldChange {
    /// What goes and what comes, an item of a list each; all items if only their order changes.
    pub fn items(&self) -> (Vec<String>, Vec<String>) {
        let (before, after) = (items(&self.before), items(&self.after));
        let missing = |from: &[String], other: &[String]| -> Vec<String> {
            from.iter().filter(|item| !other.contains(item)).cloned().collect()
        };
        let (gone, new) = (missing(&before, &after), missing(&after, &before));
        if gone.is_empty() && new.is_empty() { (before, after) } else { (gone, new) }
    }
}

fn items(value: &Json) -> Vec<String> {
    match value {
        Json::Null => Vec::new(),
        Json::String(text) if text.trim().is_empty() => Vec::new(),
        Json::String(text) => vec![text.clone()],
        Json::Array(values) => values.iter().flat_map(items).collect(),
        Json::Bool(_) | Json::Number(_) | Json::Object(_) => vec![value.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_list::{Story, field};

    fn list(title: &str, criteria: &[&str]) -> TaskList {
        TaskList::of(vec![Story::new("US-001", title, criteria, 1)])
    }

    #[track_caller]
    fn check(old: &TaskList, new: &TaskList, expected: &[(&str, &[&str], &[&str])]) {
        let proposal = Proposal::of("US-001", old, new).unwrap();
        let changes: Vec<_> = proposal.changes.iter().map(|change| (change.field, change.items())).collect();
        let owned = |items: &[&str]| items.iter().map(ToString::to_string).collect::<Vec<String>>();
        let expected: Vec<_> =
            expected.iter().map(|(field, gone, new)| (*field, (owned(gone), owned(new)))).collect();
        assert_eq!(changes, expected);
    }

    #[test]
    fn each_field_that_changes_is_named_with_what_goes_and_what_comes() {
        check(
            &list("Greet", &["a", "b"]),
            &list("Greet by name", &["b", "c"]),
            &[(field::TITLE, &["Greet"], &["Greet by name"]), (field::ACCEPTANCE_CRITERIA, &["a"], &["c"])],
        );
        check(
            &list("Greet", &["a", "b"]),
            &list("Greet", &["b", "a"]),
            &[(field::ACCEPTANCE_CRITERIA, &["a", "b"], &["b", "a"])],
        );
        check(&list("Greet", &["a"]), &list("Greet", &["a"]), &[]);
    }

    #[test]
    fn the_state_of_a_story_is_no_part_of_it() {
        let mut new = list("Greet", &["a"]);
        new.stories[0].set_passes(true);
        check(&list("Greet", &["a"]), &new, &[]);
        assert_eq!(Proposal::of("US-009", &new, &new), None);
    }
}
