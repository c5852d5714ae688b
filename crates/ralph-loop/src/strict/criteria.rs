//! Acceptance criteria that can be seen from outside.
//!
//! A criterion is vague if it ends with a phrase that fits every story ("works correctly"). One
//! that names something concrete (a number, a quote, a path, a name in code, details after a
//! colon) is never vague, whatever else it says.

mod phrases;

use super::item::{Item, Placed};
use super::words::{Word, find, normal, plain_words, quoted, words};
use super::{Finding, Level, Rule};
use phrases::{CHECKS, INTENTIONS, OPEN_ENDS};

const FIX: &str =
    "say what can be observed: an input and its result, a text on the screen, a status code, a number";

pub(super) fn check(item: &Item) -> Vec<Finding> {
    let mut found: Vec<Finding> = item.criteria.iter().filter_map(|criterion| one(item, criterion)).collect();
    if let [first, ..] = &item.criteria[..]
        && item.criteria.iter().all(|criterion| is_check(&criterion.text))
    {
        let what = "the acceptance criteria only ask for checks to pass, which ralph verifies anyway";
        let fix = "add what can be observed once this story is done";
        found.push(item.warning(Rule::Criteria, first.line, what, fix));
    }
    found
}

fn one(item: &Item, criterion: &Placed) -> Option<Finding> {
    let (level, what) = judged(&criterion.text)?;
    let finding = item.fault(Rule::Criteria, criterion.line, what, FIX);
    Some(Finding { level, ..finding })
}

/// What is wrong with a criterion.
fn judged(text: &str) -> Option<(Level, String)> {
    let words = words(text);
    if words.is_empty() {
        // Dots and dashes are a placeholder.
        return text.trim().is_empty().then(|| (Level::Fault, "an empty criterion".to_owned()));
    }
    if OPEN_ENDS.iter().any(|end| ends_with(&words, end)) {
        return Some((Level::Warning, format!("open-ended criterion: {}", quoted(text))));
    }
    if is_concrete(text) {
        return None;
    }
    if INTENTIONS.iter().any(|phrase| find(&words, phrase) == Some(0)) {
        return Some((Level::Fault, format!("cannot be seen from outside: {}", quoted(text))));
    }
    Some((phrases::vague(&words)?, format!("vague criterion: {}", quoted(text))))
}

fn ends_with(words: &[Word], phrase: &str) -> bool {
    let length = phrase.split(' ').count();
    words.len() >= length && find(&words[words.len() - length..], phrase).is_some()
}

/// Whether it only says that checks pass: true of every story, and verified by ralph.
pub(super) fn is_check(criterion: &str) -> bool {
    CHECKS.contains(&normal(criterion).as_str())
}

/// Whether a text names something that can be looked up or compared.
fn is_concrete(text: &str) -> bool {
    let marks = text.contains(|c: char| c.is_ascii_digit() || "`\"“”„«»=<>→%@#$€£".contains(c));
    marks || text.split_whitespace().any(is_concrete_token) || has_details(text)
}

/// A flag, a path, a file, a name in code, something in single quotes.
fn is_concrete_token(token: &str) -> bool {
    let inner = token.trim_matches(|c: char| !c.is_alphanumeric());
    let between = |c: char| {
        let found = inner.find(c);
        found.is_some_and(|at| at > 0 && inner[at + c.len_utf8()..].contains(char::is_alphanumeric))
    };
    let camel = inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    // `and/or` is prose.
    let path = token.starts_with('/') || (between('/') && !matches!(inner, "and/or" | "AND/OR"));
    let quoted = token.starts_with(['\'', '‘']);
    let flag = token.starts_with('-') && !inner.is_empty();
    flag || path || camel || quoted || between('_') || between('.')
}

/// What follows a colon or is in brackets says what is meant.
fn has_details(text: &str) -> bool {
    let after_colon = text.split_once(": ").map(|(_, details)| details);
    let in_brackets = text.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0));
    [after_colon, in_brackets].into_iter().flatten().any(|details| plain_words(details).len() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(criterion: &str) -> Option<Level> {
        judged(criterion).map(|(level, _)| level)
    }

    #[test]
    fn phrases_that_fit_every_story_are_faults() {
        for criterion in [
            "Works correctly",
            "The login form works correctly.",
            "Everything works",
            "It works!",
            "Search works",
            "Behaves as expected",
            "The export should work as intended",
            "Errors are handled gracefully",
            "Handles all edge cases",
            "The page is fast",
            "The app should be very fast",
            "Is user-friendly",
            "The UI is intuitive and user friendly",
            "The interface is easy to use",
            "Code is clean",
            "The code is clean and readable",
            "Code follows best practices",
            "The dashboard looks good",
            "Good performance",
            "Performance is acceptable",
            "Proper error handling",
            "Has good test coverage",
            "No bugs",
            "All requirements are met",
            "Rate limiting is implemented",
            "Fully functional",
            "Consider adding a cache",
            "Investigate why imports are slow",
            "Users are happy",
        ] {
            assert_eq!(level(criterion), Some(Level::Fault), "{criterion}");
        }
    }

    #[test]
    fn what_may_be_meant_precisely_is_a_warning() {
        for criterion in [
            "Totals are calculated correctly",
            "The form works correctly and shows the saved values after a reload",
            "The layout is responsive",
            "Works as expected on mobile devices",
            "The connection is secure",
            "Formats: PNG, JPEG etc.",
        ] {
            assert_eq!(level(criterion), Some(Level::Warning), "{criterion}");
        }
    }

    #[test]
    fn what_can_be_observed_is_fine() {
        for criterion in [
            "A wrong password is refused and the form keeps the name",
            "A link in an old mail still works",
            "The working tree is clean afterwards",
            "The default difficulty is easy",
            "The player loses a life when the timer ends",
            "Lint is clean",
            "Saving a draft does not send it",
            "The list is empty once the last item is removed",
            "Typecheck passes",
            "The report is complete once all rows are imported and lists every failed row",
            "Filter dropdown has options: All, Active, Done",
            "Search is fast: under 200 ms for 10,000 rows",
            "Handle errors gracefully (the order is kept if the mail fails)",
            "Errors are handled gracefully: the user sees the reason and can retry",
            "`make test` works",
            "Session cookies are httpOnly and secure",
            "The import in src/csv.rs works correctly",
            "Works as expected with --json",
            "The label 'Saved' looks good",
        ] {
            assert_eq!(level(criterion), None, "{criterion}");
        }
    }

    #[test]
    fn prose_is_not_concrete_by_its_punctuation() {
        for text in ["It works and/or is fast.", "Don't be slow", "Works (mostly) well", "Fast, and: good"] {
            assert!(!is_concrete(text), "{text}");
        }
    }
}
