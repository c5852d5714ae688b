//! What is done with a task list takes time in proportion to its length.

use ralph_loop::review::{ReviewRules, owed, restore};
use ralph_loop::task_list::{Json, Mode, ReviewStatus, Story, TaskList, dead_ends, field, pick};
use std::fs;
use std::hint::black_box;

/// Nanoseconds that this thread has run: what else the machine does has no part in it.
fn ran() -> Option<u64> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok()
}

/// Four times as many stories take four times as long; what is quadratic takes sixteen times.
#[track_caller]
fn grows_with_the_list<T>(what: &str, make: impl Fn(usize) -> T, work: impl Fn(&T)) {
    const STORIES: usize = 500;
    let took = |stories: usize| {
        let list = make(stories);
        let once = || {
            let before = ran()?;
            // The clock ticks a few times a second only.
            (0..3).for_each(|_| work(&list));
            Some(ran()?.saturating_sub(before))
        };
        (0..2).filter_map(|_| once()).min()
    };
    // Only Linux reports it.
    let (Some(few), Some(many)) = (took(STORIES), took(4 * STORIES)) else { return };
    let tick = 10_000_000;
    assert!(many < 9 * few.max(tick), "{what}: {few} ns, and {many} ns for four times as many stories");
}

fn story(number: usize, depends_on: Option<usize>) -> Story {
    let mut story = Story::new(&format!("US-{number}"), "t", &["c"], 1);
    let depends_on = depends_on.map(|on| Json::from(format!("US-{on}").as_str()));
    story.set_field(field::DEPENDS_ON, Json::Array(depends_on.into_iter().collect()));
    story
}

/// Each story depends on the one that this names.
fn linked(count: usize, on: impl Fn(usize) -> Option<usize>) -> TaskList {
    TaskList::of((0..count).map(|number| story(number, on(number))).collect())
}

#[test]
fn what_can_never_begin_is_found_in_one_pass() {
    let look = |list: &TaskList| {
        black_box(dead_ends(list, false).len());
    };
    grows_with_the_list("no dependencies", |count| linked(count, |_| None), look);
    grows_with_the_list("a chain", |count| linked(count, |number| number.checked_sub(1)), look);
    let ring = |count: usize| linked(count, |number| Some((number + 1) % count));
    grows_with_the_list("a ring", ring, |list| {
        black_box((dead_ends(list, false).len(), pick(list, false)));
    });
}

#[test]
fn a_long_ring_is_told_in_short() {
    let list = linked(40, |number| Some((number + 1) % 40));
    let reasons: Vec<String> = dead_ends(&list, false).iter().map(ToString::to_string).collect();
    assert_eq!(reasons.len(), 40);
    assert_eq!(
        reasons[38],
        "US-38 depends on itself: US-38 → US-39 → US-0 → US-1 → US-2 → US-3 → US-4 → US-5 → US-6 → US-7 → \
         (30 more) → US-38"
    );
}

#[test]
fn of_stories_that_share_circles_each_is_told_one_of_its_own() {
    // a ⇄ b ⇄ c, and d waits for them without being part of it.
    let mut list = linked(4, |_| None);
    for (number, on) in [(0, vec![1]), (1, vec![0, 2]), (2, vec![1]), (3, vec![0])] {
        let on = on.into_iter().map(|on: usize| Json::from(format!("US-{on}").as_str())).collect();
        list.stories[number].set_field(field::DEPENDS_ON, Json::Array(on));
    }
    let reasons: Vec<String> = dead_ends(&list, false).iter().map(ToString::to_string).collect();
    assert_eq!(
        reasons,
        [
            "US-0 depends on itself: US-0 → US-1 → US-0",
            "US-1 depends on itself: US-1 → US-0 → US-1",
            "US-2 depends on itself: US-2 → US-1 → US-2",
        ]
    );
}

#[test]
fn what_an_agent_did_to_the_list_is_undone_in_one_pass() {
    let rules = ReviewRules { mode: Mode::Review, story: None, skip_review: false, review_cap: 5 };
    let waiting = |mut story: Story| {
        story.set_review_status(ReviewStatus::NeedsReview);
        story
    };
    let before = |count| TaskList::of((0..count).map(|number| waiting(story(number, None))).collect());
    let undo = |(before, after): &(TaskList, TaskList)| {
        let (list, found) = restore(before, Ok(after), &rules);
        assert_eq!(list.stories.len(), before.stories.len());
        black_box((found, owed(before, after, &rules)));
    };
    let approved = |mut story: Story| {
        story.set_review_status(ReviewStatus::Approved);
        story.set_passes(true);
        story
    };
    grows_with_the_list(
        "every story approved at once",
        |count| (before(count), TaskList::of(before(count).stories.into_iter().map(approved).collect())),
        undo,
    );
    grows_with_the_list(
        "every second story gone",
        |count| (before(count), TaskList::of(before(count).stories.into_iter().step_by(2).collect())),
        undo,
    );
    grows_with_the_list("nothing done", |count| (before(count), before(count)), undo);
}
