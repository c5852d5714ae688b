//! One iteration per story: what cannot be described in two or three sentences is too big.

use super::criteria::is_check;
use super::item::Item;
use super::sentences::sentences;
use super::words::{plain_words, quoted};
use super::{Finding, Rule};

const MOST_SENTENCES: usize = 3;
const MOST_WORDS: usize = 100;
const MOST_CRITERIA: usize = 8;

pub(super) fn check(item: &Item) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(everything) = everything(&item.title.text) {
        found.push(item.fault(
            Rule::OneIteration,
            item.title.line,
            format!("{everything} is too much for one iteration: {}", quoted(&item.title.text)),
            "split the story into parts that each add one thing",
        ));
    }
    found.extend(description(item));
    let criteria = item.criteria.iter().filter(|criterion| !is_check(&criterion.text)).count();
    if criteria > MOST_CRITERIA {
        let line = item.criteria[0].line;
        let what = format!("{criteria} acceptance criteria are many for one iteration");
        found.push(item.warning(
            Rule::OneIteration,
            line,
            what,
            "split the story if they are about different things",
        ));
    }
    found
}

fn description(item: &Item) -> Option<Finding> {
    let (text, line) = (&item.description.text, item.description.line);
    let rule = Rule::OneIteration;
    let count = sentences(text);
    if count == 0 {
        let fix = "say in two or three sentences what changes, for whom, and why";
        return Some(item.fault(rule, line, "no description", fix));
    }
    if count > MOST_SENTENCES {
        let what = format!("the description has {count} sentences, which is too much for one iteration");
        let fix =
            "split the story, or say its change in two or three sentences and put details into the criteria";
        return Some(item.fault(rule, line, what, fix));
    }
    let words = plain_words(text).len();
    let what = format!("the description has {words} words, which is a lot for one iteration");
    (words > MOST_WORDS).then(|| item.warning(rule, line, what, "split the story if it has several parts"))
}

const MAKE: &[&str] =
    &["build", "code", "create", "develop", "finish", "implement", "make", "program", "write"];
const ALL_OF: &[&str] = &["complete", "entire", "full", "whole"];
const SYSTEMS: &[&str] = &[
    "api",
    "app",
    "application",
    "backend",
    "frontend",
    "game",
    "library",
    "platform",
    "product",
    "program",
    "project",
    "server",
    "service",
    "site",
    "software",
    "system",
    "tool",
    "ui",
    "website",
];

/// The words with which a title promises a whole system at once.
fn everything(title: &str) -> Option<String> {
    let words = plain_words(title);
    let [first, rest @ ..] = &words[..] else { return None };
    if !MAKE.contains(&first.as_str()) {
        return None;
    }
    let rest = match rest {
        [article, rest @ ..] if matches!(article.as_str(), "the" | "a" | "an" | "our") => rest,
        rest => rest,
    };
    let [all, system, after @ ..] = rest else { return None };
    // `Write the full API reference` is about something else.
    let ends = after.first().is_none_or(|word| matches!(word.as_str(), "and" | "for" | "in" | "with" | "of"));
    let matches = ALL_OF.contains(&all.as_str()) && SYSTEMS.contains(&system.as_str()) && ends;
    matches.then(|| format!("the {all} {system}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_that_promises_everything_is_found() {
        for title in
            ["Build the entire application", "Implement a full backend in Go", "Write the whole game"]
        {
            assert!(everything(title).is_some(), "{title}");
        }
        for title in
            ["", "Build", "Write the full API reference", "Show the whole game", "Create the complete order"]
        {
            assert_eq!(everything(title), None, "{title}");
        }
    }
}
