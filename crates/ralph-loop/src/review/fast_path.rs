//! Whether an iteration did nothing wrong, judged by the stories that it changed.
//!
//! An agent changes a story or two in the text of a long list, and its hook has no time to read
//! all the others: they are what they were, byte by byte, and nothing was wrong with them. A
//! fast path errs in one direction only: what it cannot judge has to be read whole.

use super::transitions::gave_verdict;
use super::{ReviewRules, standing, transitions};
use crate::task_list::{Json, Mode, Story, TaskList, field, story_places};
use std::ops::Range;

/// Where the stories of a list are, for [`is_harmless`] to compare those that differ. None if there is
/// something wrong with the list already.
pub fn places_for_fast_path(text: &str, list: &TaskList, rules: &ReviewRules<'_>) -> Vec<Range<usize>> {
    if standing(Ok(list), rules).is_empty() { story_places(text) } else { Vec::new() }
}

/// Where two texts of a list differ, each with its length: so many bytes are the same at their
/// start, and so many of the rest at their end.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    pub before: usize,
    pub after: usize,
    pub head: usize,
    pub tail: usize,
}

/// The stories around everything that differs, in both texts; `places` are those of
/// [`places_for_fast_path`]. What is around them is the same, so each text is a list if and only if
/// they are stories.
pub fn differing(places: &[Range<usize>], found: Difference) -> Option<(Range<usize>, Range<usize>)> {
    let Difference { before, after, head, tail } = found;
    let first = &places[places.partition_point(|place| place.end <= head)..];
    let start = first.first()?.start;
    let last = first.iter().find(|place| place.end >= before - tail)?;
    let behind = before.checked_sub(last.end)?;
    (start <= head).then_some((start..last.end, start..after - behind))
}

/// Whether all is well with the stories that differ, and so with the list. The rules are those of
/// [`places_for_fast_path`].
pub fn is_harmless(before: &[u8], after: &[u8], rules: &ReviewRules<'_>) -> bool {
    let (Some(old), Some(new)) = (read(before), read(after)) else { return false };
    // The same stories, so no other has the same id, and none has come or gone.
    old.stories.iter().map(Story::id).eq(new.stories.iter().map(Story::id))
        && standing(Ok(&new), rules).is_empty()
        && transitions(&old, &new, rules).is_empty()
        && (may_change_nothing(rules) || gave_verdict(&old, &new))
}

/// Whether a list may be left as it was.
pub fn may_change_nothing(rules: &ReviewRules<'_>) -> bool {
    rules.mode != Mode::Review || rules.skip_review
}

/// Stories from the middle of a list, in a list of which nothing else can be wrong. They are read
/// alone: text that leaves their array could bring along anything else of a list.
fn read(stories: &[u8]) -> Option<TaskList> {
    let stories: Json = serde_json::from_str(&format!("[{}]", str::from_utf8(stories).ok()?)).ok()?;
    let text = || Json::from("");
    TaskList::of_fields([
        (field::PROJECT, text()),
        (field::BRANCH_NAME, text()),
        (field::DESCRIPTION, text()),
        (field::USER_STORIES, stories),
    ])
    .ok()
}

/// As a hook does it, with texts instead of files.
#[cfg(test)]
pub(super) fn fast_path_at(text: &str, before: &TaskList, after: &str, rules: &ReviewRules<'_>) -> bool {
    if text == after {
        return may_change_nothing(rules);
    }
    let (old, new) = (text.as_bytes(), after.as_bytes());
    let same = |(a, b): &(&u8, &u8)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
    let found = Difference { before: old.len(), after: new.len(), head, tail };
    let places = places_for_fast_path(text, before, rules);
    differing(&places, found).is_some_and(|(was, is)| is_harmless(&old[was], &new[is], rules))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_list::ReviewStatus;

    fn list() -> TaskList {
        let mut list = TaskList::parse(
            r#"{"project": "p", "branchName": "b", "description": "", "verifyCommands": ["true"], "userStories": []}"#,
        )
        .unwrap();
        list.stories = ["a", "b", "c"].map(|id| Story::new(id, "title", &["criterion"], 1)).into();
        list
    }

    fn rules(mode: Mode) -> ReviewRules<'static> {
        ReviewRules { mode, story: Some("b"), skip_review: false, review_cap: 5 }
    }

    fn seen(before: &str, after: &str, mode: Mode) -> bool {
        fast_path_at(before, &TaskList::parse(before).unwrap(), after, &rules(mode))
    }

    type Change = fn(&mut TaskList);

    fn changed(list: &TaskList, change: impl Fn(&mut TaskList)) -> String {
        let mut list = list.clone();
        change(&mut list);
        list.to_text()
    }

    #[test]
    fn a_glance_is_enough_for_what_an_iteration_is_there_for() {
        let list = list();
        let before = list.to_text();
        let implemented = changed(&list, |list| {
            list.stories[1].set_review_status(ReviewStatus::NeedsReview);
            list.stories[1].set_notes("done");
            list.stories[2].set_notes("see b");
        });
        assert!(seen(&before, &implemented, Mode::Implement));
        assert!(seen(&before, &before, Mode::Implement));
        let reviewed = changed(&TaskList::parse(&implemented).unwrap(), |list| {
            list.stories[1].set_review_status(ReviewStatus::Approved);
            list.stories[1].set_review_count(1);
            list.stories[1].set_passes(true);
        });
        assert!(seen(&implemented, &reviewed, Mode::Review));
    }

    #[test]
    fn what_is_wrong_or_cannot_be_told_is_read_whole() {
        let list = list();
        let before = list.to_text();
        let wrong: [(&str, Change); 7] = [
            ("approved by the agent that implements it", |list| {
                list.stories[1].set_review_status(ReviewStatus::Approved);
                list.stories[1].set_passes(true);
            }),
            ("two stories sent to review", |list| {
                list.stories[1].set_review_status(ReviewStatus::NeedsReview);
                list.stories[2].set_review_status(ReviewStatus::NeedsReview);
            }),
            ("another's id", |list| list.stories[1].set_field("id", "a".into())),
            ("gone", |list| drop(list.stories.remove(1))),
            ("the last one gone", |list| drop(list.stories.pop())),
            ("one more", |list| list.stories.push(Story::new("d", "title", &["criterion"], 1))),
            ("beside the stories", |list| list.set_field("verifyCommands", "true".into())),
        ];
        for (what, change) in wrong {
            assert!(!seen(&before, &changed(&list, change), Mode::Implement), "{what}");
        }
        let story_out_of_the_list = before.replacen("\"b\",", "\"b\"}], \"more\": [{", 1);
        assert!(!seen(&before, &story_out_of_the_list, Mode::Implement));
        // The stories are fine, and what comes after them is there twice.
        let noted = changed(&list, |list| list.stories[2].set_notes("seen"));
        let twice = noted.replacen("\n  ]\n}", "], \"verifyCommands\": [\"false\"\n  ]\n}", 1);
        assert!(seen(&before, &noted, Mode::Implement) && twice != noted);
        assert!(!seen(&before, &twice, Mode::Implement), "{twice}");
        // Nothing was said of a story that waits, though much of another.
        let waiting = changed(&list, |list| list.stories[1].set_review_status(ReviewStatus::NeedsReview));
        let noted = changed(&TaskList::parse(&waiting).unwrap(), |list| list.stories[0].set_notes("seen"));
        assert!(!seen(&waiting, &waiting, Mode::Review) && !seen(&waiting, &noted, Mode::Review));
        // Something was wrong before, and may be by what is looked at.
        let twice = changed(&list, |list| list.stories[0].set_field("id", "c".into()));
        let noted = changed(&TaskList::parse(&twice).unwrap(), |list| list.stories[1].set_notes("seen"));
        assert!(!seen(&twice, &noted, Mode::Implement));
    }
}
