//! The rules applied to a task list.

use super::commands::no_check;
use super::item::{Item, Placed, Stage, shared_rules};
use super::placeholder::is_placeholder;
use super::structure::{ListError, list_errors};
use super::words::quoted;
use super::{Finding, Level, Rule, sorted};
use crate::review::{DEFAULT_REVIEW_CAP, ReviewRules};
use crate::task_list::{Json, Mode, Places, ReviewStatus, Story, TaskList, field};

/// What `ralph init tasks` writes if no feature is named.
pub const PLACEHOLDER_BRANCH: &str = "ralph/feature-name";

/// Everything that is wrong with the text of a task list: what keeps it from being run, and what
/// breaks the rules of a good list. By line; empty if there is nothing.
pub fn tasks(file: &str, text: &str) -> Vec<Finding> {
    let rules = ReviewRules {
        mode: Mode::Implement,
        story: None,
        skip_review: false,
        review_cap: DEFAULT_REVIEW_CAP,
    };
    let mut list = TaskList::parse_bytes(text.as_bytes());
    if let Ok(list) = &mut list {
        // Missing fields are found by the rules.
        list.fill_missing("");
    }
    let errors = list_errors(&list, text, &rules).into_iter();
    let mut found: Vec<Finding> = errors.map(|error| invalid(file, error)).collect();
    found.extend(task_rules(file, text));
    sorted(found)
}

/// An error as a finding, which names its story apart.
fn invalid(file: &str, error: ListError) -> Finding {
    let ListError { line, story, text } = error;
    let name = story.as_ref().map_or_else(|| "The task list".to_owned(), |story| format!("Story {story}"));
    let what = text.strip_prefix(&name).map_or(text.as_str(), |rest| rest.trim_start_matches([':', ' ']));
    Finding {
        file: file.to_owned(),
        line: line.unwrap_or(1),
        rule: Rule::Valid,
        level: Level::Fault,
        what: what.trim_end_matches('.').to_owned(),
        fix: "make the list valid: see `ralph tasks check`".to_owned(),
        story,
    }
}

/// What breaks the rules of a good list, without what `ralph tasks check` finds anyway. Nothing if
/// the text is no list.
pub fn task_rules(file: &str, text: &str) -> Vec<Finding> {
    let Ok(list) = TaskList::parse_bytes(text.as_bytes()) else { return Vec::new() };
    let places = Places::of(text);
    let stories = || list.stories.iter().enumerate();
    let items: Vec<Item> = stories().map(|(number, story)| item(file, number, story, &places)).collect();
    let mut found = shared_rules(&items);
    for ((number, story), item) in stories().zip(&items).filter(|(_, item)| item.is_open()) {
        found.extend(initial_fields(number, story, item, &places));
        found.extend(no_texts(number, story, item, &places));
    }
    if items.iter().any(|item| item.stage != Stage::Done) {
        found.extend(beside_the_stories(file, &list, &places));
    }
    sorted(found)
}

fn item(file: &str, number: usize, story: &Story, places: &Places<'_>) -> Item {
    let line = places.story(number).unwrap_or(1);
    let placed = |name: &str, text: &str| Placed {
        text: text.to_owned(),
        line: places.story_field(number, name).unwrap_or(line),
    };
    let elements = |name: &str| -> Vec<Placed> {
        let Some(Json::Array(elements)) = story.field(name) else { return Vec::new() };
        let texts = elements.iter().enumerate().filter_map(|(element, json)| Some((element, json.as_str()?)));
        let place = |(element, text): (usize, &str)| Placed {
            text: text.to_owned(),
            line: places.story_element(number, name, element).unwrap_or(line),
        };
        texts.map(place).collect()
    };
    Item {
        file: file.to_owned(),
        id: match story.id() {
            "" => format!("number {}", number + 1),
            id => id.to_owned(),
        },
        line,
        title: placed(field::TITLE, story.title()),
        description: placed(field::DESCRIPTION, story.description()),
        criteria: elements(field::ACCEPTANCE_CRITERIA),
        depends_on: elements(field::DEPENDS_ON),
        depends_on_field: field::DEPENDS_ON,
        priority: story.priority(),
        stage: stage(story),
    }
}

fn stage(story: &Story) -> Stage {
    match (story.passes(), story.review_status()) {
        (true, _) => Stage::Done,
        (false, None | Some(ReviewStatus::Unreviewed)) => Stage::Open,
        (
            false,
            Some(ReviewStatus::NeedsReview | ReviewStatus::ChangesRequested | ReviewStatus::Approved),
        ) => Stage::Begun,
    }
}

/// What a story has before anything is done for it.
const INITIAL: [(&str, &str); 5] = [
    (field::PRIORITY, "a number"),
    (field::PASSES, "false"),
    (field::REVIEW_STATUS, "null"),
    (field::REVIEW_COUNT, "0"),
    (field::REVIEW_FEEDBACK, "\"\""),
];

fn initial_fields(number: usize, story: &Story, item: &Item, places: &Places<'_>) -> Vec<Finding> {
    let rule = Rule::InitialFields;
    let line = |name: &str| places.story_field(number, name).unwrap_or(item.line);
    let missing = INITIAL.iter().filter(|(name, _)| story.field(name).is_none());
    let mut found: Vec<Finding> = missing
        .map(|(name, value)| {
            item.fault(rule, item.line, format!("{name} is missing"), format!("set it to {value}"))
        })
        .collect();
    if let Some(count @ 1..) = story.review_count() {
        let what = format!("reviewCount is {count}, but the story has not been started");
        found.push(item.fault(rule, line(field::REVIEW_COUNT), what, "set it to 0"));
    }
    if !story.review_feedback().trim().is_empty() {
        let what = "reviewFeedback has text, but the story has not been started";
        found.push(item.fault(rule, line(field::REVIEW_FEEDBACK), what, "set it to \"\""));
    }
    if !story.notes().trim().is_empty() {
        let what = "notes has text, but the story has not been started";
        let fix =
            "leave notes to the agents; what must be done belongs in description and acceptanceCriteria";
        found.push(item.warning(rule, line(field::NOTES), what, fix));
    }
    found
}

/// Criteria that are no text.
fn no_texts(number: usize, story: &Story, item: &Item, places: &Places<'_>) -> Vec<Finding> {
    let Some(Json::Array(criteria)) = story.field(field::ACCEPTANCE_CRITERIA) else { return Vec::new() };
    let no_text = criteria.iter().enumerate().filter(|(_, json)| json.as_str().is_none());
    let finding = |(element, _): (usize, &Json)| {
        let line = places.story_element(number, field::ACCEPTANCE_CRITERIA, element).unwrap_or(item.line);
        let what = format!("criterion number {} is not text", element + 1);
        item.fault(Rule::Criteria, line, what, "write each criterion as a string")
    };
    no_text.map(finding).collect()
}

fn beside_the_stories(file: &str, list: &TaskList, places: &Places<'_>) -> Vec<Finding> {
    let fault = |rule: Rule, line: Option<usize>, what: String, fix: &str| Finding {
        file: file.to_owned(),
        line: line.unwrap_or(1),
        story: None,
        rule,
        level: Level::Fault,
        what,
        fix: fix.to_owned(),
    };
    let mut found = Vec::new();
    let commands = list.verify_commands();
    let name = field::VERIFY_COMMANDS;
    if commands.is_empty() {
        let what =
            "no verifyCommands, so nothing but the reviewer decides whether a story is done".to_owned();
        let fix = "add the project's commands for tests, lint and types";
        found.push(fault(Rule::VerifyCommands, places.field(name), what, fix));
    }
    for (element, command) in commands.iter().enumerate() {
        if let Some(why) = no_check(command) {
            let what = format!("the command {} {why}", quoted(command));
            let fix = "use a command of the project that fails when something is broken";
            found.push(fault(Rule::VerifyCommands, places.element(name, element), what, fix));
        }
    }
    for name in [field::PROJECT, field::DESCRIPTION] {
        let text = list.field(name).and_then(Json::as_str).map(str::trim);
        if list.field(name).is_none() {
            let what = format!("the list has no {name}");
            found.push(fault(Rule::InitialFields, None, what, "add it as a string"));
        }
        if text.is_some_and(|text| !text.is_empty() && is_placeholder(text)) {
            let what = format!("{name} is placeholder text: {}", quoted(text.unwrap_or_default()));
            found.push(fault(Rule::Placeholder, places.field(name), what, "write what is meant"));
        }
    }
    if list.branch_name() == PLACEHOLDER_BRANCH || is_placeholder_branch(list.branch_name()) {
        let what = format!("branchName is still {}", list.branch_name());
        let fix = "name the branch after the feature, or remove branchName to stay on the current branch";
        found.push(fault(Rule::Placeholder, places.field(field::BRANCH_NAME), what, fix));
    }
    found
}

/// `ralph/<feature>` and `TODO`.
fn is_placeholder_branch(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    !last.is_empty() && is_placeholder(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
  "project": "shop",
  "description": "",
  "verifyCommands": ["make test"],
  "userStories": [
    {
      "id": "US-001",
      "title": "Log in with a passkey",
      "description": "People log in with a passkey instead of a password.",
      "acceptanceCriteria": [
        "A passkey logs in and shows the account's name",
        "A wrong passkey is refused with 401"
      ],
      "priority": 1,
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0,
      "reviewFeedback": "",
      "notes": "",
      "dependsOn": []
    }
  ]
}
"#;

    /// `line rule` of each finding, after something was replaced.
    #[track_caller]
    fn check(from: &str, to: &str, expected: &[&str]) {
        let text = GOOD.replacen(from, to, 1);
        assert!(text != GOOD || from.is_empty(), "{from}");
        let found: Vec<String> = tasks("tasks.json", &text)
            .iter()
            .map(|finding| format!("{} {} {:?}", finding.line, finding.rule, finding.level))
            .collect();
        assert_eq!(found, expected, "{to}");
    }

    #[test]
    fn each_finding_has_the_line_of_its_field() {
        check("", "", &[]);
        check("\"make test\"", "", &["4 verify-commands Fault"]);
        check("\"make test\"", "\"make test\",\n\"true\"", &["5 verify-commands Fault"]);
        check("Log in with a passkey", "TBD", &["8 placeholder Fault"]);
        check("People log in with a passkey instead of a password.", "", &["9 one-iteration Fault"]);
        check("A wrong passkey is refused with 401", "It works well", &["12 criteria Fault"]);
        check("\"A wrong passkey is refused with 401\"", "7", &["12 criteria Fault"]);
        check("\"passes\": false,", "", &["6 initial-fields Fault"]);
        check("\"reviewCount\": 0", "\"reviewCount\": 2", &["17 initial-fields Fault"]);
        check("\"reviewFeedback\": \"\"", "\"reviewFeedback\": \"x\"", &["18 initial-fields Fault"]);
        check("\"notes\": \"\"", "\"notes\": \"x\"", &["19 initial-fields Warning"]);
        check("\"dependsOn\": []", "\"dependsOn\": [\"US-009\"]", &["6 valid Fault"]);
        check(
            "\"project\": \"shop\",",
            "\"branchName\": \"ralph/feature-name\",",
            &["1 initial-fields Fault", "2 placeholder Fault"],
        );
        check("\"dependsOn\": []", "\"dependsOn\": [", &["21 valid Fault"]);
    }

    #[test]
    fn a_story_that_is_begun_or_done_is_not_faulted() {
        let vague = GOOD.replace("A wrong passkey is refused with 401", "It works well");
        for (status, passes) in [("needs_review", "false"), ("approved", "true")] {
            let text = vague
                .replace("\"reviewStatus\": null", &format!("\"reviewStatus\": \"{status}\""))
                .replace("\"passes\": false", &format!("\"passes\": {passes}"))
                .replace("\"notes\": \"\"", "\"notes\": \"Done.\"");
            assert_eq!(tasks("tasks.json", &text), [], "{status}");
        }
    }
}
