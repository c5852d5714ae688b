//! Undoing what an iteration may not have done, and nothing else.
//!
//! Invariants: the restored list has no violation; a list without one is left as it is; no
//! unfinished story is lost. Of a story whose review was tampered with, the four review fields
//! go back together, because they only make sense together.

use super::{AT_CAP, RESERVED, ReviewRules, Rule, Violation, standing, transitions, violations};
use crate::task_list::malformed;
use crate::task_list::{Json, ReviewStatus, Story, TaskList, Unreadable, field};
use std::collections::{HashMap, HashSet};

const REVIEW_FIELDS: [&str; 4] =
    [field::PASSES, field::REVIEW_STATUS, field::REVIEW_COUNT, field::REVIEW_FEEDBACK];

/// The list that counts after an iteration, and what had to be undone for it.
pub fn restore(
    before: &TaskList,
    after: Result<&TaskList, &Unreadable>,
    rules: &ReviewRules<'_>,
) -> (TaskList, Vec<Violation>) {
    let found = violations(Some(before), after, rules);
    let list = match after {
        Ok(after) if found.is_empty() => after.clone(),
        Ok(after) => repaired(before, after, rules).unwrap_or_else(|| before.clone()),
        Err(_) => before.clone(),
    };
    (list, found)
}

/// `None` if nothing of the agent's list can be kept.
fn repaired(before: &TaskList, after: &TaskList, rules: &ReviewRules<'_>) -> Option<TaskList> {
    if after.stories.is_empty() {
        return None;
    }
    // Of two with the same id the first is the story: it is entered last.
    let old: HashMap<&str, &Story> = before.stories.iter().rev().map(|story| (story.id(), story)).collect();
    let mut list = after.clone();
    mend_fields(&mut list, before);
    mend_shapes(&mut list, &old, rules);
    put_vanished_back(&mut list, before, rules);
    undo_transitions(&mut list, before, &old, rules);
    undo_standing(&mut list, before, &old, rules);
    violations(Some(before), Ok(&list), rules).is_empty().then_some(list)
}

/// The fields beside the stories.
fn mend_fields(list: &mut TaskList, before: &TaskList) {
    for name in [field::PROJECT, field::DESCRIPTION] {
        if list.field(name).and_then(Json::as_str).is_none() {
            list.take_field(before, name);
        }
    }
    for name in RESERVED {
        if list.field(name) != before.field(name) {
            list.take_field(before, name);
        }
    }
}

/// Fields without their shape become what they were. Entries that are no story of their own,
/// and new ones that cannot be worked on are removed.
fn mend_shapes(list: &mut TaskList, old: &HashMap<&str, &Story>, rules: &ReviewRules<'_>) {
    let mut ids = HashSet::new();
    list.stories.retain(|story| !story.id().is_empty() && ids.insert(story.id().to_owned()));
    list.stories.retain_mut(|story| {
        let wrong: Vec<&'static str> = malformed(story).map(|(name, _)| name).collect();
        match old.get(story.id()) {
            Some(before) => {
                for name in wrong {
                    if REVIEW_FIELDS.contains(&name) {
                        put_back(story, before);
                    } else {
                        story.take_field(before, name);
                    }
                }
                true
            }
            None => {
                if wrong.iter().any(|name| !REVIEW_FIELDS.contains(name)) {
                    return false;
                }
                if wrong.contains(&field::REVIEW_FEEDBACK) {
                    story.set_review_feedback("");
                }
                if !rules.skip_review || !wrong.is_empty() {
                    reset_review(story);
                }
                true
            }
        }
    });
}

/// Each after the story that it came after, as far as that one is there.
fn put_vanished_back(list: &mut TaskList, before: &TaskList, rules: &ReviewRules<'_>) {
    let mut known = places(list);
    let (mut next, mut vanished) = (0, Vec::new());
    for story in &before.stories {
        match known.get(story.id()) {
            Some(at) => next = at + 1,
            None if story.is_done(rules.skip_review) => {}
            None => {
                known.insert(story.id().to_owned(), next);
                vanished.push((next, story.clone()));
            }
        }
    }
    if vanished.is_empty() {
        return;
    }
    vanished.sort_by_key(|(next, _)| *next);
    let mut vanished = vanished.into_iter().peekable();
    let there = std::mem::take(&mut list.stories);
    for (at, story) in there.into_iter().map(Some).chain([None]).enumerate() {
        while let Some((_, gone)) = vanished.next_if(|(next, _)| *next == at) {
            list.stories.push(gone);
        }
        list.stories.extend(story);
    }
}

/// Where each story is. Of two with the same id the first is the story.
fn places(list: &TaskList) -> HashMap<String, usize> {
    list.stories.iter().enumerate().rev().map(|(at, story)| (story.id().to_owned(), at)).collect()
}

fn undo_transitions(
    list: &mut TaskList,
    before: &TaskList,
    old: &HashMap<&str, &Story>,
    rules: &ReviewRules<'_>,
) {
    let places = places(list);
    for violation in transitions(before, list, rules) {
        let Some(id) = violation.story else { continue };
        let Some(at) = places.get(&id) else { continue };
        let story = &mut list.stories[*at];
        match (old.get(&*id), violation.rule) {
            (_, Rule::AtCap) => approve_at_cap(story),
            (_, Rule::FeedbackLeft) => story.set_review_feedback(""),
            (Some(before), _) => put_back(story, before),
            (None, _) => reset_review(story),
        }
    }
}

/// What is still wrong is wrong in combination: passing without notes, approved without passing.
fn undo_standing(
    list: &mut TaskList,
    before: &TaskList,
    old: &HashMap<&str, &Story>,
    rules: &ReviewRules<'_>,
) {
    let known: HashSet<Violation> = standing(Ok(before), rules).into_iter().collect();
    let places = places(list);
    for violation in standing(Ok(list), rules) {
        let Some(id) = violation.story.as_ref().filter(|_| !known.contains(&violation)) else { continue };
        let Some(at) = places.get(id) else { continue };
        let story = &mut list.stories[*at];
        match old.get(&**id) {
            Some(before) if REVIEW_FIELDS.iter().all(|name| story.field(name) == before.field(name)) => {
                story.take_field(before, field::NOTES);
            }
            Some(before) => put_back(story, before),
            None => reset_review(story),
        }
    }
}

fn put_back(story: &mut Story, before: &Story) {
    for name in REVIEW_FIELDS {
        story.take_field(before, name);
    }
}

fn reset_review(story: &mut Story) {
    story.set_passes(false);
    story.set_review_status(ReviewStatus::Unreviewed);
    story.set_review_count(0);
}

/// The last review asked for changes: what it says is left to a person, as it would have been
/// had the reviewer kept to the cap.
fn approve_at_cap(story: &mut Story) {
    let said = story.review_feedback().trim().trim_start_matches(AT_CAP).trim_start();
    let feedback = format!("{AT_CAP} {said}");
    story.set_review_feedback(&feedback);
    story.set_review_status(ReviewStatus::Approved);
    story.set_passes(true);
}
