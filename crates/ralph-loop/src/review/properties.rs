//! What must hold of any two lists, however an agent made the second from the first.

use super::fast_path::fast_path_at;
use super::*;
use crate::task_list::{Json, field};
use proptest::prelude::*;

const IDS: [&str; 5] = ["a", "b", "c", "d", ""];

fn value() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        (-1i64..9).prop_map(|count| Json::Number(count.into())),
        prop_oneof![Just(""), Just("x"), Just("needs_review"), Just("changes_requested"), Just("approved")]
            .prop_map(Json::from),
        Just(Json::Array(Vec::new())),
        Just(Json::Array(vec!["a".into()])),
    ]
}

/// A story that may well be legal, with a few fields that may be anything.
fn story() -> impl Strategy<Value = Story> {
    let states = prop_oneof![
        Just((ReviewStatus::Unreviewed, false)),
        Just((ReviewStatus::NeedsReview, false)),
        Just((ReviewStatus::ChangesRequested, false)),
        Just((ReviewStatus::Approved, true)),
        Just((ReviewStatus::Approved, false)),
        Just((ReviewStatus::NeedsReview, true)),
    ];
    let names = prop::sample::select(vec![
        field::TITLE,
        field::PRIORITY,
        field::ACCEPTANCE_CRITERIA,
        field::PASSES,
        field::REVIEW_STATUS,
        field::REVIEW_COUNT,
        field::REVIEW_FEEDBACK,
        field::NOTES,
        field::DEPENDS_ON,
    ]);
    let odd = prop::collection::vec((names, value()), 0..2);
    let odd = prop_oneof![3 => Just(Vec::new()), 1 => odd];
    (prop::sample::select(&IDS[..]), states, 0u64..4, "|why", "|done", odd).prop_map(
        |(id, (status, passes), count, feedback, notes, odd)| {
            let mut story = Story::new(id, "title", &["criterion"], 1);
            story.set_review_status(status);
            story.set_passes(passes);
            story.set_review_count(count);
            story.set_review_feedback(&feedback);
            story.set_notes(&notes);
            for (name, value) in odd {
                story.set_field(name, value);
            }
            story
        },
    )
}

fn list() -> impl Strategy<Value = TaskList> {
    let project = prop_oneof![9 => Just(Json::from("p")), 1 => value()];
    (project, prop::collection::vec(story(), 0..5)).prop_map(|(project, stories)| {
        let mut list =
            TaskList::parse(r#"{"branchName": "b", "description": "", "userStories": []}"#).unwrap();
        list.set_field(field::PROJECT, project);
        list.stories = stories;
        list
    })
}

/// Whose stories can be told apart: ralph begins with no other list.
fn named_list() -> impl Strategy<Value = TaskList> {
    list().prop_map(|mut list| {
        let mut ids = HashSet::new();
        list.stories.retain(|story| !story.id().is_empty() && ids.insert(story.id().to_owned()));
        list
    })
}

/// What an agent might do to a story: mostly one step of the cycle.
fn edit() -> impl Strategy<Value = (usize, Story, u8)> {
    (0usize..5, story(), 0u8..8)
}

fn edited(before: &TaskList, edits: Vec<(usize, Story, u8)>) -> TaskList {
    let mut list = before.clone();
    for (at, story, what) in edits {
        let len = list.stories.len();
        if len == 0 || what == 0 {
            list.stories.push(story);
            continue;
        }
        let at = at % len;
        let target = &mut list.stories[at];
        match what {
            1 => *target = story,
            2 => drop(list.stories.remove(at)),
            3 => list.stories.swap(at, 0),
            4 => target.set_review_status(ReviewStatus::NeedsReview),
            5 | 6 => {
                target.set_review_count(target.review_count().unwrap_or(0) + 1);
                let approves = what == 5;
                let status = if approves { ReviewStatus::Approved } else { ReviewStatus::ChangesRequested };
                target.set_review_status(status);
                target.set_passes(approves);
                target.set_review_feedback("why");
            }
            _ => target.set_notes("more"),
        }
    }
    list
}

fn rules() -> impl Strategy<Value = ReviewRules<'static>> {
    let modes = prop::sample::select(vec![Mode::Implement, Mode::Review, Mode::ReviewFix]);
    let given_out = prop::option::of(prop::sample::select(&IDS[..4]));
    (modes, given_out, prop::bool::weighted(0.2), 0u32..5).prop_map(
        |(mode, story, skip_review, review_cap)| ReviewRules { mode, story, skip_review, review_cap },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_restored_list_is_legal_and_a_legal_one_is_left_alone(
        before in list(),
        edits in prop::collection::vec(edit(), 0..5),
        rules in rules(),
    ) {
        let after = edited(&before, edits);
        let found = violations(Some(&before), Ok(&after), &rules);
        let (restored, undone) = restore(&before, Ok(&after), &rules);
        prop_assert_eq!(&found, &undone);
        prop_assert_eq!(violations(Some(&before), Ok(&restored), &rules), vec![]);
        if found.is_empty() {
            prop_assert_eq!(&restored, &after);
        }
        let again = restore(&before, Ok(&restored), &rules);
        prop_assert_eq!((restored, vec![]), again);
    }

    /// The texts may share any bytes, and what is changed may be no list at all.
    #[test]
    fn a_glance_overlooks_nothing(
        before in list(),
        edits in prop::collection::vec(edit(), 0..3),
        cut in prop::option::weighted(0.2, (any::<prop::sample::Index>(), 0usize..40, "[\\]\\[{}\", :ab1]{0,12}")),
        rules in rules(),
    ) {
        let text = before.to_text();
        let mut after = edited(&before, edits).to_text();
        if let Some((at, length, instead)) = cut {
            let at = at.index(after.len());
            after.replace_range(at..after.len().min(at + length), &instead);
        }
        if fast_path_at(&text, &before, &after, &rules) {
            let after = TaskList::parse(&after);
            prop_assert_eq!(violations(Some(&before), after.as_ref(), &rules), vec![]);
            prop_assert_eq!(owed(&before, &after.unwrap(), &rules), None);
        }
    }

    #[test]
    fn nothing_unfinished_is_lost_and_only_reviews_finish_anything(
        before in named_list(),
        after in list(),
        rules in rules(),
    ) {
        let (restored, _) = restore(&before, Ok(&after), &rules);
        for id in &IDS[..4] {
            let unfinished = before.story(id).is_some_and(|story| !story.is_done(rules.skip_review));
            prop_assert!(!unfinished || restored.story(id).is_some());
        }
        if rules.skip_review {
            return Ok(());
        }
        let was_done = |id: &str| before.stories.iter().any(|story| story.id() == id && story.is_done(false));
        let finished: Vec<&Story> =
            restored.stories.iter().filter(|story| story.is_done(false) && !was_done(story.id())).collect();
        match rules.mode {
            Mode::Implement | Mode::ReviewFix => prop_assert_eq!(finished, Vec::<&Story>::new()),
            Mode::Review => prop_assert!(finished.len() <= 1),
        }
    }
}
