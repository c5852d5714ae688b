use super::*;
use crate::task_list::Blocked;

const TEMPLATE: &str = r#"{
  "project": "shop",
  "branchName": "ralph/shop",
  "description": "",
  "x-owner": {
    "b": 1,
    "a": [
      1.5,
      null
    ]
  },
  "verifyCommands": [
    "make test"
  ],
  "userStories": [
    {
      "id": "US-001",
      "zeta": "kept",
      "title": "Grüße",
      "description": "",
      "acceptanceCriteria": [
        "it works"
      ],
      "priority": 1,
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0,
      "reviewFeedback": "",
      "notes": "",
      "dependsOn": []
    }
  ],
  "after": true
}
"#;

#[test]
fn a_list_is_written_as_it_was_read() {
    let list = TaskList::parse(TEMPLATE).unwrap();
    assert_eq!(list.to_text(), TEMPLATE);
    assert_eq!(list.problems(), []);
    assert_eq!((list.project(), list.branch_name(), list.description()), ("shop", "ralph/shop", ""));
    assert_eq!(list.verify_commands(), ["make test"]);
    let story = list.story("US-001").unwrap();
    assert_eq!((story.title(), story.acceptance_criteria()), ("Grüße", vec!["it works"]));
    let through_serde: TaskList = serde_json::from_str(&serde_json::to_string(&list).unwrap()).unwrap();
    assert_eq!(through_serde, list);
}

#[test]
fn a_changed_field_stays_in_its_place() {
    let mut list = TaskList::parse(TEMPLATE).unwrap();
    let story = list.story_mut("US-001").unwrap();
    story.set_review_status(ReviewStatus::NeedsReview);
    story.set_review_count(2);
    let wanted = TEMPLATE
        .replace("\"reviewStatus\": null", "\"reviewStatus\": \"needs_review\"")
        .replace("\"reviewCount\": 0", "\"reviewCount\": 2");
    assert_eq!(list.to_text(), wanted);
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let check = |text: &str, why: &str| {
        assert_eq!(TaskList::parse(text).unwrap_err().to_string(), why, "{text}");
    };
    check("", "the task list is not valid JSON: EOF while parsing a value at line 1 column 0");
    check("[]", "the task list must be an object with a list `userStories`");
    check("{}", "the task list has no `userStories`");
    check(r#"{"userStories": 3}"#, "`userStories` must be a list of objects, not 3");
    check(
        r#"{"userStories": [{}, "x"]}"#,
        "every entry of `userStories` must be an object, but number 2 is \"x\"",
    );
    check(
        "{\"userStories\": [\n  {\"passes\": false,\n   \"passes\": true}]}",
        "the task list is not valid JSON: duplicate key: passes at line 3 column 11",
    );
    check(
        r#"{"x": {"y": [{"a": 1, "a": 1}]}, "userStories": []}"#,
        "the task list is not valid JSON: duplicate key: a at line 1 column 25",
    );
    assert!(TaskList::parse_bytes(b"\xff").unwrap_err().to_string().contains("utf-8"));
    assert!(TaskList::parse_bytes("\u{FEFF}{\"userStories\": []}".as_bytes()).is_ok());
}

#[test]
fn a_key_is_also_found_twice_among_very_many() {
    let keys: Vec<String> = (0..1000).map(|n| format!("\"k{n}\": 0")).collect();
    let text = |last: &str| format!("{{\"userStories\": [], {}, \"{last}\": 1}}", keys.join(", "));
    assert!(TaskList::parse(&text("other")).is_ok());
    for twice in ["k0", "k30", "k999", "userStories"] {
        let why = TaskList::parse(&text(twice)).unwrap_err().to_string();
        assert!(why.contains(&format!("duplicate key: {twice} at")), "{why}");
    }
}

#[test]
fn each_rule_of_the_schema_is_told_with_story_and_field() {
    let check = |from: &str, to: &str, problem: &str| {
        let text = TEMPLATE.replacen(from, to, 1);
        assert_ne!(text, TEMPLATE, "{from}");
        let found: Vec<String> =
            TaskList::parse(&text).unwrap().problems().iter().map(ToString::to_string).collect();
        assert_eq!(found, [problem]);
    };
    check(r#""project": "shop","#, "", "The task list: project is missing; it must be a string");
    check(
        r#""branchName": "ralph/shop""#,
        r#""branchName": 7"#,
        "The task list: branchName must be a string, not 7",
    );
    check(r#""description": "","#, "", "The task list: description is missing; it must be a string");
    check(r#""make test""#, "7", "The task list: verifyCommands must be a list of strings");
    check(
        r#""id": "US-001","#,
        "",
        "Story number 1: id is missing; it must be a string of 1 to 200 characters",
    );
    check(r#""title": "Grüße""#, r#""title": []"#, "Story US-001: title must be a string, not an empty list");
    check(
        r#""passes": false"#,
        r#""passes": "no""#,
        "Story US-001: passes must be true or false, not \"no\"",
    );
    check(r#""priority": 1"#, r#""priority": "1""#, "Story US-001: priority must be a number, not \"1\"");
    check(
        "[\n        \"it works\"\n      ]",
        "[]",
        "Story US-001: acceptanceCriteria must be a non-empty list, not an empty list",
    );
    check(
        r#""reviewStatus": null"#,
        r#""reviewStatus": "done""#,
        "Story US-001: reviewStatus must be null, \"needs_review\", \"changes_requested\" or \"approved\", \
         not \"done\"",
    );
    let count = "Story US-001: reviewCount must be a non-negative integer";
    check(r#""reviewCount": 0"#, r#""reviewCount": -1"#, &format!("{count}, not -1"));
    check(r#""reviewCount": 0"#, r#""reviewCount": 1.5"#, &format!("{count}, not 1.5"));
    check(r#""reviewFeedback": "","#, "", "Story US-001: reviewFeedback is missing; it must be a string");
    check(r#""dependsOn": []"#, r#""dependsOn": [1]"#, "Story US-001: dependsOn must be a list of story ids");
    check(
        r#""passes": false"#,
        r#""passes": true"#,
        "Story US-001: notes must not be empty if passes=true: say what was done",
    );
}

#[test]
fn ids_are_unique_and_optional_fields_may_be_absent() {
    let mut list = TaskList::parse(TEMPLATE).unwrap();
    list.stories.push(list.stories[0].clone());
    let found = list.problems();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "Story US-001: id is used twice; ids must be unique");
    let without = TEMPLATE.replace(",\n      \"dependsOn\": []", "").replace("      \"notes\": \"\"", "");
    let without = without.replace("\"reviewFeedback\": \"\",\n", "\"reviewFeedback\": \"\"\n");
    assert_eq!(TaskList::parse(&without).unwrap().problems(), []);
}

/// `id status passes priority dependencies`, one story a word list.
fn list(stories: &[&str]) -> TaskList {
    let mut list = TaskList::parse(r#"{"userStories": []}"#).unwrap();
    for line in stories {
        let words: Vec<&str> = line.split(' ').collect();
        let mut story = Story::new(words[0], "t", &["c"], words[3].parse().unwrap());
        let status = match words[1] {
            "new" => ReviewStatus::Unreviewed,
            "needs" => ReviewStatus::NeedsReview,
            "changes" => ReviewStatus::ChangesRequested,
            _ => ReviewStatus::Approved,
        };
        story.set_review_status(status);
        story.set_passes(words[2] == "passes");
        story
            .set_field(field::DEPENDS_ON, Json::Array(words[4..].iter().map(|id| Json::from(*id)).collect()));
        list.stories.push(story);
    }
    list
}

#[track_caller]
fn picks(stories: &[&str], skip_review: bool, wanted: &str) {
    let list = list(stories);
    let picked = match pick(&list, skip_review) {
        Pick::Work { mode, story } => format!("{mode} {}", story.id()),
        Pick::Done => "done".to_owned(),
        Pick::Stuck(Stuck::Empty) => "empty".to_owned(),
        Pick::Stuck(Stuck::Blocked(blocked)) => {
            blocked.iter().map(Blocked::to_string).collect::<Vec<_>>().join("; ")
        }
    };
    assert_eq!(picked, wanted, "{stories:?}");
}

#[test]
fn feedback_comes_before_reviews_and_reviews_before_new_work() {
    picks(&["a new open 1", "b needs open 2", "c changes open 3"], false, "review-fix c");
    picks(&["a new open 1", "b needs open 2", "c approved passes 3"], false, "review b");
    picks(&["a new open 1", "c approved passes 3"], false, "implement a");
    picks(&["a approved passes 1", "b approved passes 2"], false, "done");
    picks(&[], false, "empty");
}

#[test]
fn the_smallest_priority_is_first_then_the_order_of_the_file() {
    picks(&["a new open 2", "b new open 1", "c new open 1"], false, "implement b");
    picks(&["a needs open 2", "b needs open 1"], false, "review b");
    picks(&["a changes open 5", "b changes open 5"], false, "review-fix a");
}

#[test]
fn a_story_waits_for_what_it_depends_on() {
    picks(&["a new open 1 b", "b new open 2"], false, "implement b");
    picks(&["a new open 1 b", "b approved passes 2"], false, "implement a");
    // Passing is not enough without an approval.
    picks(&["a new open 1 b", "b needs open 2"], false, "review b");
}

#[test]
fn without_reviews_there_is_only_new_work_and_passing_is_done() {
    picks(&["a changes open 2", "b needs open 1", "c new passes 0"], true, "implement b");
    picks(&["a new open 1 b", "b new passes 2"], true, "implement a");
    picks(&["a new passes 1"], true, "done");
}

#[test]
fn what_is_stuck_says_why() {
    picks(
        &["a new open 1 x", "b new open 1 a", "c approved passes 1"],
        false,
        "a depends on x, which does not exist; b waits for a",
    );
    picks(&["a new open 1 a"], false, "a depends on itself: a → a");
    picks(
        &["a new open 1 b", "b new open 1 c d", "c new open 1 a", "d approved passes 1"],
        false,
        "a depends on itself: a → b → c → a; b depends on itself: b → c → a → b; \
         c depends on itself: c → a → b → c",
    );
    picks(&["a new passes 1"], false, "a: passes and reviewStatus contradict each other");
}

#[test]
fn dead_ends_are_told_even_while_something_else_can_be_worked_on() {
    #[track_caller]
    fn check(stories: &[&str], wanted: &[&str]) {
        let list = list(stories);
        let found: Vec<String> = dead_ends(&list, false).iter().map(Blocked::to_string).collect();
        assert_eq!(found, wanted);
    }
    check(&["a new open 1", "b new open 1 a"], &[]);
    check(&["a new open 1", "b new open 1 x"], &["b depends on x, which does not exist"]);
    check(&["a new open 1", "b new open 1 b a", "c new open 1 b"], &["b depends on itself: b → b"]);
    // A story that is done blocks no other, whatever it depends on.
    check(&["a approved passes 1 b x", "b new open 1 a"], &[]);
}

#[test]
fn the_estimate_counts_what_is_left() {
    let list = list(&["a new open 1", "b needs open 1", "c approved passes 1"]);
    let estimate = Estimate::of(&list, false);
    assert_eq!(estimate.iterations(), 6);
    assert_eq!(estimate.to_string(), "2 stories × ~3 iterations each = ~6 iterations needed");
    let estimate = Estimate::of(&list, true);
    assert_eq!(estimate.to_string(), "2 stories × ~1 iteration each = ~2 iterations needed");
}

#[test]
fn a_list_needs_no_branch() {
    for branch in ["", r#""branchName": null,"#] {
        let text = TEMPLATE.replacen(r#""branchName": "ralph/shop","#, branch, 1);
        assert_ne!(text, TEMPLATE);
        let list = TaskList::parse(&text).unwrap();
        assert!(list.problems().is_empty(), "{:?}", list.problems());
        assert_eq!(list.branch_name(), "");
    }
}

#[test]
fn a_list_of_a_loop_without_reviews_is_filled_in() {
    let text = r#"{"name": "shop", "branchName": "ralph/shop", "userStories": [
        {"id": "US-001", "title": "a", "acceptanceCriteria": ["x"], "priority": 1, "passes": true, "notes": ""},
        {"id": "US-002", "title": "b", "acceptanceCriteria": ["x"], "passes": false, "mine": 7}
    ]}"#;
    let mut list = TaskList::parse(text).unwrap();
    let filled = list.fill_missing("directory");
    assert_eq!(
        filled,
        ["description", "priority", "reviewStatus", "reviewCount", "reviewFeedback", "notes", "project"]
    );
    assert!(list.problems().is_empty(), "{:?}", list.problems());
    assert_eq!((list.project(), list.branch_name()), ("shop", "ralph/shop"));
    let [done, open] = &list.stories[..] else { panic!("{list:?}") };
    assert!(done.is_done(false) && !open.is_done(false));
    assert_eq!((open.review_status(), open.review_count()), (Some(ReviewStatus::Unreviewed), Some(0)));
    assert_eq!((open.priority(), open.field("mine")), (2.0, Some(&Json::Number(7.into()))));
    // Nothing is left to fill in, and what was there is not touched.
    let before = list.clone();
    assert!(list.fill_missing("directory").is_empty());
    assert_eq!(list, before);
}
