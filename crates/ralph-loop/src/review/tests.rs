//! Each rule as a line: the list before, the list after, what is said, what remains.
//!
//! A story is `id status count`, with status `new`, `needs`, `changes` or `approved` (which
//! passes); `passes`, `open`, `silent` (no notes) and `mute` (no feedback) after it change that.

use super::*;
use crate::task_list::{Json, field};

fn story(line: &str) -> Story {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut story = Story::new(words[0], "a title", &["a criterion"], 1);
    story.set_review_count(words[2].parse().unwrap());
    story.set_notes("what was done");
    let status = match words[1] {
        "new" => ReviewStatus::Unreviewed,
        "needs" => ReviewStatus::NeedsReview,
        "changes" => ReviewStatus::ChangesRequested,
        "approved" => ReviewStatus::Approved,
        other => panic!("{other}"),
    };
    story.set_review_status(status);
    story.set_passes(status == ReviewStatus::Approved);
    if status == ReviewStatus::ChangesRequested {
        story.set_review_feedback("mend it");
    }
    for word in &words[3..] {
        match *word {
            "passes" => story.set_passes(true),
            "open" => story.set_passes(false),
            "silent" => story.set_notes(""),
            "mute" => story.set_review_feedback(" "),
            other => panic!("{other}"),
        }
    }
    story
}

fn list(stories: &str) -> TaskList {
    let mut list = TaskList::parse(
        r#"{"project": "p", "branchName": "b", "description": "d", "verifyCommands": [], "userStories": []}"#,
    )
    .unwrap();
    list.stories = stories.split(", ").filter(|line| !line.is_empty()).map(story).collect();
    list
}

/// The other way round, without what a test did not name.
fn shown(list: &TaskList) -> String {
    let line = |story: &Story| {
        let status = match story.review_status() {
            Some(ReviewStatus::Unreviewed) => "new",
            Some(ReviewStatus::NeedsReview) => "needs",
            Some(ReviewStatus::ChangesRequested) => "changes",
            Some(ReviewStatus::Approved) => "approved",
            None => "?",
        };
        let natural = (status == "approved") == story.passes();
        let passes = match (natural, story.passes()) {
            (true, _) => "",
            (false, true) => " passes",
            (false, false) => " open",
        };
        let silent = if story.notes().is_empty() { " silent" } else { "" };
        let count = story.review_count().map_or("?".to_owned(), |count| count.to_string());
        format!("{} {status} {count}{passes}{silent}", story.id())
    };
    list.stories.iter().map(line).collect::<Vec<_>>().join(", ")
}

const IMPLEMENT: ReviewRules<'_> =
    ReviewRules { mode: Mode::Implement, story: None, skip_review: false, review_cap: 5 };
const REVIEW: ReviewRules<'_> = ReviewRules { mode: Mode::Review, ..IMPLEMENT };
const FIX: ReviewRules<'_> = ReviewRules { mode: Mode::ReviewFix, ..IMPLEMENT };
const SKIP: ReviewRules<'_> = ReviewRules { skip_review: true, ..IMPLEMENT };

#[track_caller]
fn legal(rules: ReviewRules<'_>, before: &str, after: &str) {
    let (before, after) = (list(before), list(after));
    let (restored, found) = restore(&before, Ok(&after), &rules);
    assert_eq!(found, []);
    assert_eq!(restored, after);
}

/// The rules that are broken, a part of what is said about each, and what is kept.
#[track_caller]
fn illegal(rules: ReviewRules<'_>, before: &str, after: &str, said: &[(Rule, &str)], kept: &str) {
    let (before, after) = (list(before), list(after));
    let (restored, found) = restore(&before, Ok(&after), &rules);
    let broken: Vec<Rule> = found.iter().map(|violation| violation.rule).collect();
    assert_eq!(broken, said.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), "{found:#?}");
    for (violation, (_, part)) in found.iter().zip(said) {
        assert!(violation.message.contains(part), "{} has no: {part}", violation.message);
    }
    assert_eq!(shown(&restored), kept);
    assert_eq!(violations(Some(&before), Ok(&restored), &rules), []);
}

#[track_caller]
fn stands(rules: ReviewRules<'_>, stories: &str, said: &[&str]) {
    let found: Vec<String> =
        violations(None, Ok(&list(stories)), &rules).iter().map(ToString::to_string).collect();
    assert_eq!(found, said);
}

#[test]
fn check_2_passes_needs_an_approval_and_an_approval_passes() {
    for (status, word) in [("new", "null"), ("needs", "needs_review"), ("changes", "changes_requested")] {
        let said = format!(
            "Story a has passes=true but reviewStatus is '{word}', not 'approved'. Only review iterations may \
             approve stories. Set passes back to false or complete the review cycle."
        );
        stands(IMPLEMENT, &format!("a {status} 0 passes"), &[&said]);
    }
    stands(IMPLEMENT, "a approved 1", &[]);
    stands(
        IMPLEMENT,
        "a approved 1 open",
        &[
            "Story a has reviewStatus 'approved' but passes=false: the two are out of sync. An approved story has \
           passes=true.",
        ],
    );
}

#[test]
fn check_2_a_request_says_what_it_wants_and_counts_stay_within_the_cap() {
    stands(
        IMPLEMENT,
        "a changes 1 mute",
        &[
            "Story a has reviewStatus 'changes_requested' but an empty reviewFeedback: feedback required. Say \
           what needs to be fixed, and where.",
        ],
    );
    stands(REVIEW, "a approved 6", &[]);
    stands(
        REVIEW,
        "a approved 7",
        &["Story a has reviewCount 7, but with a review cap of 5 it cannot exceed 6."],
    );
    let negative = list("a new 0").to_text().replace("\"reviewCount\": 0", "\"reviewCount\": -1");
    let found = violations(None, Ok(&TaskList::parse(&negative).unwrap()), &IMPLEMENT);
    assert_eq!(found[0].message, "Story a: reviewCount must be a non-negative integer, not -1");
}

#[test]
fn check_1_is_asked_in_every_mode() {
    for rules in [IMPLEMENT, REVIEW, FIX, SKIP] {
        stands(
            rules,
            "a approved 1 silent",
            &["Story a: notes must not be empty if passes=true: say what was done"],
        );
        let why = Unreadable::Missing;
        let found = violations(Some(&list("a new 0")), Err(&why), &rules);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].rule, &*found[0].message), (Rule::Unreadable, "the task list is missing"));
        assert_eq!(restore(&list("a new 0"), Err(&why), &rules).0, list("a new 0"));
    }
}

#[test]
fn implement_sends_one_story_to_review() {
    legal(IMPLEMENT, "a new 0, b new 0", "a needs 0, b new 0");
    legal(IMPLEMENT, "a new 0", "a new 0");
    let given_out = ReviewRules { story: Some("b"), ..IMPLEMENT };
    let both = "a needs 0, b needs 0";
    illegal(
        IMPLEMENT,
        "a new 0, b new 0",
        both,
        &[(
            Rule::OneStory,
            "only one story to review. Story b had illegal transition: reviewStatus null → \"needs_review\"",
        )],
        "a needs 0, b new 0",
    );
    illegal(given_out, "a new 0, b new 0", both, &[(Rule::OneStory, "Story a")], "a new 0, b needs 0");
}

#[test]
fn implement_cannot_approve_or_count() {
    let said = "Implement iterations cannot set passes=true or approve stories. Only review iterations may \
                approve. Story a had illegal transition: ";
    let both = &[
        (Rule::IllegalTransition, &*format!("{said}passes false → true.")),
        (Rule::IllegalTransition, &*format!("{said}reviewStatus null → \"approved\".")),
    ];
    illegal(IMPLEMENT, "a new 0, b new 0", "a approved 0, b needs 0", both, "a new 0, b needs 0");
    let count = "Implement iterations cannot increment reviewCount. Only review iterations may. Story a had \
                 illegal transition: reviewCount 0 → 1.";
    illegal(IMPLEMENT, "a new 0", "a needs 1", &[(Rule::IllegalTransition, count)], "a new 0");
    for after in ["a new 1", "a changes 1", "a new 1 open"] {
        let before = list("a approved 1");
        assert!(!violations(Some(&before), Ok(&list(after)), &IMPLEMENT).is_empty(), "{after}");
    }
}

#[test]
fn new_stories_may_come_in_any_mode_and_begin_at_the_beginning() {
    legal(IMPLEMENT, "a new 0", "b new 0, a needs 0");
    legal(REVIEW, "a needs 0", "a approved 1, b new 0");
    legal(FIX, "a changes 1", "a needs 1, b new 0, c new 0");
    for (after, part) in [
        ("a new 0, b new 0 passes", "passes true"),
        ("a new 0, b needs 0", "reviewStatus \"needs_review\""),
        ("a new 0, b approved 1", "passes true"),
        ("a new 0, b new 2", "reviewCount 2"),
    ] {
        let (restored, found) = restore(&list("a new 0"), Ok(&list(after)), &IMPLEMENT);
        let new = found.iter().find(|violation| violation.rule == Rule::NotInitial).unwrap();
        assert!(new.message.contains("New stories must start with") && new.message.contains(part), "{new}");
        assert_eq!(shown(&restored), "a new 0, b new 0");
    }
}

#[test]
fn review_approves_or_asks_for_changes_and_counts() {
    legal(REVIEW, "a needs 1, b new 0", "a approved 2, b new 0");
    legal(REVIEW, "a needs 1", "a changes 2");
    // It may still be at it; that it owes a verdict is another question.
    legal(REVIEW, "a needs 1", "a needs 1");
    let counts = "Review iteration made illegal transition on story a: review must increment reviewCount by 1 \
                  (reviewCount 1 → ";
    for (after, now) in [("a approved 1", "1)."), ("a changes 1", "1)."), ("a approved 3", "3).")] {
        illegal(
            REVIEW,
            "a needs 1",
            after,
            &[(Rule::IllegalTransition, &format!("{counts}{now}"))],
            "a needs 1",
        );
    }
    illegal(
        REVIEW,
        "a needs 1",
        "a needs 2",
        &[(Rule::IllegalTransition, "a review ends with")],
        "a needs 1",
    );
}

#[test]
fn review_touches_one_story_and_only_one_that_waited_for_it() {
    illegal(
        REVIEW,
        "a needs 0, b needs 0",
        "a approved 1, b changes 1",
        &[(Rule::OneStory, "on story b: review may only modify one story")],
        "a approved 1, b needs 0",
    );
    let given_out = ReviewRules { story: Some("b"), ..REVIEW };
    illegal(
        given_out,
        "a needs 0, b needs 0",
        "a approved 1, b changes 1",
        &[(Rule::OneStory, "on story a")],
        "a needs 0, b changes 1",
    );
    // What was never implemented cannot be approved by looking at it.
    illegal(
        REVIEW,
        "a needs 0, b new 0",
        "a approved 1, b approved 1",
        &[(Rule::IllegalTransition, "story b: it was not waiting for a review")],
        "a approved 1, b new 0",
    );
    illegal(
        REVIEW,
        "a needs 0, b approved 1",
        "a needs 0, b changes 2",
        &[(Rule::IllegalTransition, "not waiting for a review (reviewStatus \"approved\" →")],
        "a needs 0, b approved 1",
    );
}

#[test]
fn review_needs_feedback_and_notes() {
    illegal(
        REVIEW,
        "a needs 0",
        "a changes 1 mute",
        &[(Rule::FeedbackRequired, "feedback required")],
        "a needs 0",
    );
    illegal(REVIEW, "a needs 0", "a approved 1 silent", &[(Rule::Schema, "notes")], "a needs 0 silent");
    illegal(
        REVIEW,
        "a needs 0",
        "a approved 1 open",
        &[(Rule::OutOfSync, "out of sync"), (Rule::IllegalTransition, "a review ends with")],
        "a needs 0",
    );
}

#[test]
fn the_last_review_approves_and_leaves_its_concerns_to_a_person() {
    let cap = ReviewRules { review_cap: 1, ..REVIEW };
    legal(cap, "a needs 0", "a approved 1");
    illegal(
        cap,
        "a needs 0",
        "a changes 1",
        &[(Rule::AtCap, "start reviewFeedback with [AUTO-APPROVED AT CAP]")],
        "a approved 1",
    );
    let (restored, _) = restore(&list("a needs 0"), Ok(&list("a changes 1")), &cap);
    assert_eq!(restored.stories[0].review_feedback(), "[AUTO-APPROVED AT CAP] mend it");
    // Only one of them is the review; and a story without notes is not approved.
    let two = [(Rule::AtCap, "story a"), (Rule::OneStory, "story b")];
    illegal(cap, "a needs 0, b needs 0", "a changes 1, b changes 1", &two, "a approved 1, b needs 0");
    illegal(cap, "a needs 0", "a changes 1 silent", &[(Rule::AtCap, "")], "a needs 0 silent");
    legal(ReviewRules { review_cap: 2, ..REVIEW }, "a needs 0", "a changes 1");
}

#[test]
fn review_fix_clears_the_feedback_that_it_has_dealt_with() {
    let (before, mut after) = (list("a changes 1, b changes 1"), list("a needs 1, b changes 1"));
    assert!(violations(Some(&before), Ok(&after), &FIX).is_empty());
    after.stories[0].set_review_feedback("done: it is fixed");
    let (restored, found) = restore(&before, Ok(&after), &FIX);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].rule, found[0].story.as_deref()), (Rule::FeedbackLeft, Some("a")));
    assert!(found[0].message.contains("must clear reviewFeedback. Story a"), "{}", found[0]);
    // The fix counts all the same, and only the feedback is gone.
    assert_eq!(shown(&restored), "a needs 1, b changes 1");
    assert_eq!(restored.stories[0].review_feedback(), "");
    assert_eq!(restored.stories[1].review_feedback(), "mend it");
    // As a hook sees it.
    let text = before.to_text();
    assert!(!fast_path::fast_path_at(&text, &before, &after.to_text(), &FIX));
    assert!(fast_path::fast_path_at(&text, &before, &restored.to_text(), &FIX));
}

#[test]
fn review_fix_sends_one_story_back_to_review() {
    legal(FIX, "a changes 1, b changes 1", "a needs 1, b changes 1");
    legal(FIX, "a changes 1", "a changes 1");
    let said = "Review-fix iterations cannot approve stories. Story a must go back to needs_review for \
                re-review. Illegal transition: ";
    illegal(
        FIX,
        "a changes 1",
        "a approved 1",
        &[
            (Rule::IllegalTransition, &format!("{said}passes false → true.")),
            (Rule::IllegalTransition, &format!("{said}reviewStatus \"changes_requested\" → \"approved\".")),
        ],
        "a changes 1",
    );
    let count = "Review-fix iterations cannot increment reviewCount";
    illegal(FIX, "a changes 1", "a needs 2", &[(Rule::IllegalTransition, count)], "a changes 1");
    illegal(
        FIX,
        "a changes 1, b changes 1",
        "a needs 1, b needs 1",
        &[(Rule::OneStory, "story b")],
        "a needs 1, b changes 1",
    );
    illegal(
        FIX,
        "a changes 1, b new 0",
        "a needs 1, b needs 0",
        &[(Rule::IllegalTransition, "Story b")],
        "a needs 1, b new 0",
    );
}

#[test]
fn feedback_comes_back_with_the_request_that_it_belongs_to() {
    let before = list("a changes 1");
    let mut after = list("a approved 1");
    after.stories[0].set_review_feedback("");
    let (restored, _) = restore(&before, Ok(&after), &FIX);
    assert_eq!(restored.stories[0].review_feedback(), "mend it");
}

#[test]
fn an_unfinished_story_that_vanished_comes_back_to_its_place() {
    for rules in [IMPLEMENT, REVIEW, FIX] {
        let gone = [(Rule::Vanished, "Story b is gone and was not finished")];
        illegal(rules, "a new 0, b new 0, c new 0", "a new 0, c new 0", &gone, "a new 0, b new 0, c new 0");
        let first = [(Rule::Vanished, "Story a is gone")];
        illegal(rules, "a needs 0, b new 0", "b new 0, c new 0", &first, "a needs 0, b new 0, c new 0");
        legal(rules, "a approved 1, b new 0", "b new 0");
    }
    illegal(SKIP, "a new 0, b new 0", "b new 0", &[(Rule::Vanished, "")], "a new 0, b new 0");
    legal(SKIP, "a new 0 passes, b new 0", "b new 0");
    let gone = [(Rule::Vanished, "a"), (Rule::Vanished, "b")];
    illegal(IMPLEMENT, "x approved 1, a new 0, b new 0", "", &gone, "x approved 1, a new 0, b new 0");
}

#[test]
fn without_reviews_the_implementer_says_that_it_passes() {
    legal(SKIP, "a new 0", "a new 0 passes");
    legal(SKIP, "a new 0", "a new 0, b new 0 passes");
    stands(SKIP, "a new 0 passes", &[]);
    illegal(SKIP, "a new 0", "a new 0 passes silent", &[(Rule::Schema, "notes")], "a new 0 silent");
    illegal(
        SKIP,
        "a new 0",
        "a new 0, b new 0 passes silent",
        &[(Rule::Schema, "notes")],
        "a new 0, b new 0 silent",
    );
}

#[test]
fn what_was_wrong_before_the_iteration_is_not_a_violation() {
    // From a run without reviews, or with a higher cap.
    for before in ["a new 0 passes", "a approved 9", "a approved 1 silent", "a changes 1 mute"] {
        legal(IMPLEMENT, before, before);
        legal(IMPLEMENT, &format!("{before}, b new 0"), &format!("{before}, b needs 0"));
    }
    // A new wrong on top of it is one.
    let found = violations(Some(&list("a new 0 passes")), Ok(&list("a needs 0 passes")), &IMPLEMENT);
    assert_eq!(found[0].rule, Rule::NotApproved);
}

#[test]
fn fields_without_their_shape_become_what_they_were_and_the_rest_is_kept() {
    let before = list("a new 0, b new 0");
    let check = |change: &dyn Fn(&mut TaskList), kept: &dyn Fn(&mut TaskList)| {
        let (mut after, mut wanted) = (before.clone(), before.clone());
        for list in [&mut after, &mut wanted] {
            list.story_mut("b").unwrap().set_review_status(ReviewStatus::NeedsReview);
            list.set_field("x-mine", Json::Bool(true));
        }
        change(&mut after);
        kept(&mut wanted);
        let (restored, found) = restore(&before, Ok(&after), &IMPLEMENT);
        assert!(!found.is_empty());
        assert_eq!(restored.to_text(), wanted.to_text());
    };
    let nothing = |_: &mut TaskList| {};
    for name in [
        field::TITLE,
        field::PASSES,
        field::PRIORITY,
        field::ACCEPTANCE_CRITERIA,
        field::REVIEW_COUNT,
        field::REVIEW_FEEDBACK,
        field::DEPENDS_ON,
    ] {
        let wrong = Json::Object(crate::task_list::Object::default());
        check(&|list| list.story_mut("a").unwrap().set_field(name, wrong.clone()), &nothing);
    }
    check(&|list| list.story_mut("a").unwrap().set_field(field::REVIEW_STATUS, "done".into()), &nothing);
    check(&|list| list.set_field(field::PROJECT, Json::Null), &nothing);
    check(&|list| list.set_field(field::VERIFY_COMMANDS, "make".into()), &nothing);
    // A second story of the same id, one without an id, one that cannot be worked on.
    check(&|list| list.stories.push(story("a approved 1")), &nothing);
    check(&|list| list.stories.push(Story::new("", "nameless", &["c"], 1)), &nothing);
    check(&|list| list.stories.push(Story::new("c", "vague", &[], 1)), &nothing);
    // A new story that only forgot where it begins is kept.
    let forgetful = TaskList::parse(
        r#"{"userStories": [{"id": "c", "title": "t", "acceptanceCriteria": ["x"], "priority": 2}]}"#,
    );
    let forgetful = forgetful.unwrap().stories.remove(0);
    check(&|list| list.stories.push(forgetful.clone()), &|list| {
        let mut story = forgetful.clone();
        story.set_review_feedback("");
        story.set_passes(false);
        story.set_review_status(ReviewStatus::Unreviewed);
        story.set_review_count(0);
        list.stories.push(story);
    });
}

#[test]
fn what_proves_a_story_and_where_is_not_the_agents_to_change() {
    let with = |verify: &str, branch: &str| {
        let mut list = list("a new 0");
        list.set_field(field::VERIFY_COMMANDS, Json::Array(vec![Json::from(verify)]));
        list.set_field(field::BRANCH_NAME, Json::from(branch));
        list
    };
    let (before, after) = (with("make test", "b"), with("true", "x"));
    for rules in [IMPLEMENT, REVIEW, FIX, ReviewRules { skip_review: true, ..IMPLEMENT }] {
        let (kept, found) = restore(&before, Ok(&after), &rules);
        assert_eq!(kept, before);
        let broken: Vec<Rule> = found.iter().map(|found| found.rule).collect();
        assert_eq!(broken.iter().filter(|rule| **rule == Rule::Reserved).count(), 2, "{found:?}");
    }
}

#[test]
fn a_review_owes_a_verdict() {
    let owes = |rules: ReviewRules<'_>, before: &str, after: &str| {
        owed(&list(before), &list(after), &rules).and_then(|violation| violation.story)
    };
    assert_eq!(owes(REVIEW, "x new 0, a needs 0", "x new 0, a needs 0").as_deref(), Some("a"));
    let given_out = ReviewRules { story: Some("b"), ..REVIEW };
    assert_eq!(owes(given_out, "a needs 0, b needs 0", "a needs 0, b needs 0").as_deref(), Some("b"));
    assert_eq!(owes(REVIEW, "a needs 0", "a approved 1"), None);
    assert_eq!(owes(REVIEW, "a needs 0", "a changes 1"), None);
    for rules in [IMPLEMENT, FIX, ReviewRules { skip_review: true, ..REVIEW }] {
        assert_eq!(owes(rules, "a needs 0", "a needs 0"), None);
    }
    let message = owed(&list("a needs 0"), &list("a needs 0"), &REVIEW).unwrap().message;
    assert!(message.contains("story a: review must increment reviewCount"), "{message}");
}
