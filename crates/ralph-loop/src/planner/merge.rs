//! A draft and the list that exists, made one list.
//!
//! Invariants: a story that has begun is in the result as it was. The words of a story that has begun
//! can change only if the user has named it, and its state never does. A story that was added, edited or removed
//! in the project while the agent worked stays as the user has it.

use crate::task_list::{Json, ReviewStatus, Story, TaskList, field};
use serde::Serialize;
use std::fmt;

/// What a planner may change in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All of it: there was no list, or only the template of one.
    New,
    /// Stories that have not begun. More can be added.
    Add,
    /// This story becomes several. Others only get to depend on its parts.
    Split(&'a str),
    /// The words of this story.
    Reword(&'a str),
}

/// The list to put in place, and what of the draft is not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    pub list: TaskList,
    pub dropped: Vec<Dropped>,
}

/// A change that the planner may not make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dropped {
    pub story: String,
    pub change: DroppedChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DroppedChange {
    Edited,
    Removed,
    Added,
    /// Of a story that the user has removed while the agent worked.
    Gone,
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.change {
            DroppedChange::Edited => "it was changed in the draft",
            DroppedChange::Removed => "it was missing in the draft",
            DroppedChange::Added => "it was not asked for, and is left out",
            DroppedChange::Gone => "it was changed in the draft, but you removed it meanwhile",
        };
        match self.change {
            DroppedChange::Added | DroppedChange::Gone => write!(f, "{}: {what}", self.story),
            DroppedChange::Edited | DroppedChange::Removed => {
                write!(f, "{} stays as it was: {what}", self.story)
            }
        }
    }
}

/// Whether anything was done about a story.
pub fn has_begun(story: &Story) -> bool {
    story.passes()
        || story.review_status() != Some(ReviewStatus::Unreviewed)
        || story.review_count() != Some(0)
        || !story.notes().trim().is_empty()
}

/// What may be changed in one story.
enum May {
    Nothing,
    /// Only what it waits for.
    DependOn,
    Reword,
    Everything,
}

impl Scope<'_> {
    fn may(self, story: &Story) -> May {
        match self {
            Scope::New => May::Everything,
            Scope::Add if has_begun(story) => May::Nothing,
            Scope::Add => May::Everything,
            Scope::Split(id) if story.id() == id => May::Everything,
            Scope::Split(id) if story.depends_on().contains(&id) && !story.passes() => May::DependOn,
            Scope::Reword(id) if story.id() == id => May::Reword,
            Scope::Split(_) | Scope::Reword(_) => May::Nothing,
        }
    }
}

/// `old` is the list as it is, and `base` what it was when the agent began, if they say anything.
pub fn merge(old: Option<&TaskList>, base: Option<&TaskList>, draft: &TaskList, scope: Scope<'_>) -> Merged {
    let old = old.filter(|_| scope != Scope::New);
    let Some(old) = old else {
        let mut list = draft.clone();
        list.stories.iter_mut().for_each(begin);
        return Merged { list, dropped: Vec::new() };
    };
    let known = |story: &Story| base.and_then(|base| base.story(story.id()));
    let draft = &with_free_ids(old, base, draft);
    let mut dropped = Vec::new();
    let mut drop = |story: &Story, change| dropped.push(Dropped { story: story.id().to_owned(), change });
    let mut list = old.clone();
    list.stories.clear();
    for story in &old.stories {
        let drafted = draft.story(story.id());
        let known = known(story);
        if !is_blank(story) && !known.is_some_and(|known| is_same(known, story)) {
            let is_untouched =
                |drafted| is_same(story, drafted) || known.is_some_and(|known| is_same(known, drafted));
            match drafted {
                Some(drafted) if !is_untouched(drafted) => drop(story, DroppedChange::Edited),
                None if known.is_some() => drop(story, DroppedChange::Removed),
                Some(_) | None => {}
            }
            list.stories.push(story.clone());
            continue;
        }
        let kept = match (scope.may(story), drafted) {
            (May::Everything, Some(drafted)) => Some(begun_again(drafted)),
            (May::Everything, None) => None,
            (May::Reword, Some(drafted)) => Some(with_words_of(story, drafted)),
            (May::DependOn, Some(drafted)) => {
                let mut expected = story.clone();
                expected.take_field(drafted, field::DEPENDS_ON);
                if !is_same(&expected, drafted) {
                    drop(story, DroppedChange::Edited);
                }
                Some(expected)
            }
            (May::Nothing, Some(drafted)) => {
                if !is_same(story, drafted) {
                    drop(story, DroppedChange::Edited);
                }
                Some(story.clone())
            }
            (May::Nothing | May::Reword | May::DependOn, None) => {
                drop(story, DroppedChange::Removed);
                Some(story.clone())
            }
        };
        list.stories.extend(kept);
    }
    for (at, story) in draft.stories.iter().enumerate() {
        let is_first = draft.stories.iter().position(|other| other.id() == story.id()) == Some(at);
        // An id that is there twice is left for the check to find.
        if old.story(story.id()).is_some() && is_first {
            continue;
        }
        match (known(story).filter(|_| is_first), scope) {
            (Some(known), _) if is_same(known, story) => {}
            (Some(_), _) => drop(story, DroppedChange::Gone),
            (None, Scope::Reword(_)) => drop(story, DroppedChange::Added),
            (None, Scope::New | Scope::Add | Scope::Split(_)) => list.stories.push(begun_again(story)),
        }
    }
    match scope {
        Scope::New | Scope::Add => add_checks(&mut list, draft),
        Scope::Split(_) | Scope::Reword(_) => {}
    }
    Merged { list, dropped }
}

/// The draft, in which new stories have ids that the user has not given to others meanwhile.
fn with_free_ids(old: &TaskList, base: Option<&TaskList>, draft: &TaskList) -> TaskList {
    let is_taken = |story: &Story| {
        let is_new = base.is_none_or(|base| base.story(story.id()).is_none());
        // One with the same title or criteria is the user's own, as an agent may have seen it.
        let is_other = |taken: &Story| {
            !is_blank(taken)
                && taken.title() != story.title()
                && taken.acceptance_criteria() != story.acceptance_criteria()
        };
        is_new && old.story(story.id()).is_some_and(is_other)
    };
    let mut free = draft.clone();
    let in_base = base.map_or(&[][..], |base| &base.stories);
    for taken in draft.stories.iter().filter(|story| is_taken(story)) {
        let others: Vec<Story> = free.stories.iter().chain(in_base).cloned().collect();
        let id = old.next_id(&others);
        for story in &mut free.stories {
            if story.id() == taken.id() {
                story.set_field(field::ID, id.as_str().into());
            }
            if story.depends_on().contains(&taken.id()) {
                let renamed = |on: &str| Json::from(if on == taken.id() { id.as_str() } else { on });
                let depends_on = story.depends_on().into_iter().map(renamed).collect();
                story.set_field(field::DEPENDS_ON, Json::Array(depends_on));
            }
        }
    }
    free
}

/// A story of the template, which says nothing.
fn is_blank(story: &Story) -> bool {
    story.title().trim().is_empty() && story.acceptance_criteria().is_empty() && !story.passes()
}

/// Takes over what the user has set in a list without stories: every field that is not as in the template.
pub fn keep_fields(list: &mut TaskList, file: &TaskList, template: &TaskList) {
    let draft = list.clone();
    for (name, value) in file.fields().filter(|(name, value)| template.field(name) != Some(value)) {
        list.set_field(name, value.clone());
    }
    add_checks(list, &draft);
}

/// Checks can be added, not taken away.
fn add_checks(list: &mut TaskList, draft: &TaskList) {
    let known = list.verify_commands();
    let new: Vec<&str> = draft.verify_commands().into_iter().filter(|check| !known.contains(check)).collect();
    if new.is_empty() {
        return;
    }
    let all = known.into_iter().chain(new).map(Json::from).collect();
    list.set_field(field::VERIFY_COMMANDS, Json::Array(all));
}

fn begun_again(story: &Story) -> Story {
    let mut story = story.clone();
    begin(&mut story);
    story
}

/// Nothing is done about it yet, whatever the draft says.
fn begin(story: &mut Story) {
    story.set_passes(false);
    story.set_review_status(ReviewStatus::Unreviewed);
    story.set_review_count(0);
    story.set_review_feedback("");
    story.set_notes("");
}

/// The fields that are a story's words.
pub(super) const WORDS: [&str; 4] =
    [field::TITLE, field::DESCRIPTION, field::ACCEPTANCE_CRITERIA, field::DEPENDS_ON];

/// A story in the words of the draft. What else the draft says of it does not count.
fn with_words_of(story: &Story, drafted: &Story) -> Story {
    let mut story = story.clone();
    for name in WORDS {
        story.take_field(drafted, name);
    }
    story
}

/// Whatever the order of its fields.
pub(super) fn is_same(a: &Story, b: &Story) -> bool {
    let within = |a: &Story, b: &Story| a.fields().all(|(name, value)| b.field(name) == Some(value));
    within(a, b) && within(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(id: &str, title: &str) -> Story {
        Story::new(id, title, &["it works"], 1)
    }

    fn done(id: &str) -> Story {
        let mut story = story(id, "done");
        story.set_passes(true);
        story.set_review_status(ReviewStatus::Approved);
        story.set_review_count(1);
        story.set_notes("did it");
        story
    }

    fn started(id: &str) -> Story {
        let mut story = story(id, "started");
        story.set_review_status(ReviewStatus::ChangesRequested);
        story.set_review_count(2);
        story.set_review_feedback("no");
        story
    }

    fn depending(id: &str, on: &[&str]) -> Story {
        let mut story = story(id, "waits");
        story.set_field(field::DEPENDS_ON, Json::Array(on.iter().map(|id| Json::from(*id)).collect()));
        story
    }

    /// Ids and titles of the result, and what was dropped.
    fn check(
        old: Vec<Story>,
        draft: Vec<Story>,
        scope: Scope<'_>,
        titles: &[&str],
        dropped: &[&str],
    ) -> TaskList {
        check_edited(old.clone(), old, draft, scope, titles, dropped)
    }

    /// The same, where the list was `base` when the agent began.
    fn check_edited(
        base: Vec<Story>,
        old: Vec<Story>,
        draft: Vec<Story>,
        scope: Scope<'_>,
        titles: &[&str],
        dropped: &[&str],
    ) -> TaskList {
        let [base, old, draft] = [base, old, draft].map(TaskList::of);
        let merged = merge(Some(&old), Some(&base), &draft, scope);
        let shown: Vec<String> =
            merged.list.stories.iter().map(|story| format!("{} {}", story.id(), story.title())).collect();
        assert_eq!(shown, titles);
        let told: Vec<String> = merged.dropped.iter().map(ToString::to_string).collect();
        assert_eq!(told, dropped);
        merged.list
    }

    #[test]
    fn what_has_begun_stays_as_it_was() {
        let mut edited = done("US-001");
        edited.set_passes(false);
        let list = check(
            vec![done("US-001"), started("US-002"), story("US-003", "old words")],
            vec![story("US-003", "new words"), edited, story("US-004", "more")],
            Scope::Add,
            &["US-001 done", "US-002 started", "US-003 new words", "US-004 more"],
            &[
                "US-001 stays as it was: it was changed in the draft",
                "US-002 stays as it was: it was missing in the draft",
            ],
        );
        assert_eq!(list.stories[..2], [done("US-001"), started("US-002")]);
    }

    #[test]
    fn a_story_that_has_not_begun_can_be_removed() {
        check(
            vec![done("US-001"), story("US-002", "too much")],
            vec![done("US-001")],
            Scope::Add,
            &["US-001 done"],
            &[],
        );
    }

    #[test]
    fn what_the_user_did_meanwhile_stays() {
        let base =
            vec![done("US-001"), story("US-002", "old"), story("US-003", "gone"), story("US-004", "kept")];
        let old = vec![
            done("US-001"),
            story("US-002", "mine"),
            story("US-004", "mine too"),
            story("US-005", "added"),
        ];
        let draft =
            vec![done("US-001"), story("US-002", "theirs"), story("US-003", "gone"), story("US-004", "kept")];
        check_edited(
            base.clone(),
            old.clone(),
            draft,
            Scope::Add,
            &["US-001 done", "US-002 mine", "US-004 mine too", "US-005 added"],
            &["US-002 stays as it was: it was changed in the draft"],
        );
        check_edited(
            base,
            old,
            vec![done("US-001"), story("US-003", "theirs")],
            Scope::Add,
            &["US-001 done", "US-002 mine", "US-004 mine too", "US-005 added"],
            &[
                "US-002 stays as it was: it was missing in the draft",
                "US-004 stays as it was: it was missing in the draft",
                "US-003: it was changed in the draft, but you removed it meanwhile",
            ],
        );
    }

    #[test]
    fn a_new_story_gets_another_id_if_the_user_took_its_own_meanwhile() {
        let mut theirs = story("US-002", "theirs");
        theirs.set_field(field::ACCEPTANCE_CRITERIA, Json::Array(vec![Json::from("theirs works")]));
        let list = check_edited(
            vec![done("US-001")],
            vec![done("US-001"), story("US-002", "mine")],
            vec![done("US-001"), theirs, depending("US-003", &["US-001", "US-002"])],
            Scope::Add,
            &["US-001 done", "US-002 mine", "US-004 theirs", "US-003 waits"],
            &[],
        );
        assert_eq!(list.stories[3].depends_on(), ["US-001", "US-004"]);
    }

    #[test]
    fn the_order_of_fields_is_no_change() {
        let (known, fields) = (done("US-001"), done("US-001"));
        let mut turned = Story::new("US-001", "done", &["it works"], 1);
        let reversed: Vec<(String, Json)> =
            fields.fields().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        for (name, value) in reversed.iter().rev() {
            turned.set_field(name, value.clone());
        }
        check(vec![known], vec![turned], Scope::Add, &["US-001 done"], &[]);
    }

    #[test]
    fn new_stories_begin_at_the_beginning() {
        let list = check(
            vec![done("US-001")],
            vec![done("US-001"), done("US-002")],
            Scope::Add,
            &["US-001 done", "US-002 done"],
            &[],
        );
        assert!(!has_begun(&list.stories[1]) && has_begun(&list.stories[0]));
        let list = check(vec![], vec![done("US-001")], Scope::New, &["US-001 done"], &[]);
        assert!(!has_begun(&list.stories[0]));
    }

    #[test]
    fn a_split_changes_one_story_and_what_waits_for_it() {
        let list = check(
            vec![
                done("US-001"),
                started("US-002"),
                depending("US-003", &["US-002"]),
                story("US-004", "other"),
            ],
            vec![
                done("US-001"),
                story("US-002", "first half"),
                story("US-005", "second half"),
                depending("US-003", &["US-005"]),
                story("US-004", "reworded"),
            ],
            Scope::Split("US-002"),
            &["US-001 done", "US-002 first half", "US-003 waits", "US-004 other", "US-005 second half"],
            &["US-004 stays as it was: it was changed in the draft"],
        );
        assert!(!has_begun(&list.stories[1]));
        assert_eq!(list.stories[2].depends_on(), ["US-005"]);
    }

    #[test]
    fn rewording_keeps_the_state_and_adds_nothing() {
        let list = check(
            vec![started("US-001"), story("US-002", "other")],
            vec![story("US-001", "clearer"), story("US-002", "other"), story("US-003", "more")],
            Scope::Reword("US-001"),
            &["US-001 clearer", "US-002 other"],
            &["US-003: it was not asked for, and is left out"],
        );
        assert_eq!(list.stories[0].review_count(), Some(2));
        assert_eq!(list.stories[0].review_feedback(), "no");
    }

    #[test]
    fn what_is_about_one_story_changes_nothing_else() {
        let old = TaskList::of(vec![started("US-001")]);
        let mut clearer = Story::new("US-001", "clearer", &["it shows"], 99);
        clearer.set_field("extra", Json::from("theirs"));
        let mut draft = TaskList::of(vec![clearer, story("US-002", "part")]);
        draft.set_field(field::VERIFY_COMMANDS, Json::Array(vec![Json::from("make lint")]));
        let merged = merge(Some(&old), Some(&old), &draft, Scope::Reword("US-001")).list;
        let story = &merged.stories[0];
        assert_eq!((story.title(), story.acceptance_criteria()), ("clearer", vec!["it shows"]));
        assert_eq!((story.priority(), story.field("extra")), (1.0, None));
        let split = merge(Some(&old), Some(&old), &draft, Scope::Split("US-001")).list;
        for list in [&merged, &split] {
            assert!(list.verify_commands().is_empty());
        }
    }

    #[test]
    fn checks_are_added_and_never_taken_away() {
        let with = |checks: &[&str]| {
            let mut list = TaskList::of(vec![done("US-001")]);
            let checks = checks.iter().map(|check| Json::from(*check)).collect();
            list.set_field(field::VERIFY_COMMANDS, Json::Array(checks));
            list
        };
        let merged = merge(Some(&with(&["make test"])), None, &with(&["make lint"]), Scope::Add);
        assert_eq!(merged.list.verify_commands(), ["make test", "make lint"]);
        let merged = merge(None, None, &with(&["make lint"]), Scope::New);
        assert_eq!(merged.list.verify_commands(), ["make lint"]);
    }

    #[test]
    fn what_the_user_has_set_in_a_list_without_stories_is_kept() {
        let parse = |text: &str| TaskList::parse(text).unwrap();
        let template = parse(r#"{"project":"shop","branchName":"x","verifyCommands":[],"userStories":[]}"#);
        let file = parse(
            r#"{"project":"shop","branchName":"mine","verifyCommands":["make test"],"userStories":[]}"#,
        );
        let mut list = parse(
            r#"{"project":"Shop","branchName":"theirs","verifyCommands":["make lint"],"userStories":[]}"#,
        );
        keep_fields(&mut list, &file, &template);
        assert_eq!((list.project(), list.branch_name()), ("Shop", "mine"));
        assert_eq!(list.verify_commands(), ["make test", "make lint"]);
    }

    #[test]
    fn an_id_that_is_there_twice_is_found_by_the_check() {
        let list = check(
            vec![done("US-001")],
            vec![done("US-001"), story("US-001", "again")],
            Scope::Add,
            &["US-001 done", "US-001 again"],
            &[],
        );
        assert!(list.problems().iter().any(|problem| problem.to_string().contains(crate::task_list::TWICE)));
    }
}
