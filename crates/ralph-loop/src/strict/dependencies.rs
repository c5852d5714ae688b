//! Explicit dependencies: a story that speaks of another one's result depends on it.

use super::item::{Item, Stage, leads_to, needs, numbers};
use super::words::{Word, quoted, words};
use super::{Finding, Rule};
use std::collections::{BTreeMap, HashMap};

/// Right before an id: the story needs that one.
const NEEDS: &[&str] = &[
    "added by",
    "added in",
    "after",
    "based on",
    "blocked by",
    "build on",
    "builds on",
    "built by",
    "built in",
    "created by",
    "created in",
    "defined by",
    "defined in",
    "depend on",
    "depends on",
    "follows",
    "from",
    "introduced by",
    "introduced in",
    "made by",
    "made in",
    "once",
    "relies on",
    "rely on",
    "written by",
    "written in",
];

/// Shortly before an id: the story says that it leaves something to that one.
const LEAVES: &[&str] =
    &["except", "instead", "later", "left", "not", "scope", "separate", "separately", "unlike", "without"];
const SHORTLY: usize = 6;

/// Anywhere in the words before an id: what follows is needed.
const USES: &[&str] =
    &["extend", "extends", "need", "needs", "require", "requires", "reuse", "reuses", "use", "uses", "using"];

/// Right before an id: the other story is only an example.
const COMPARES: &[&str] = &["as", "like", "see"];

/// Between the words above and an id.
const FILLERS: &[&str] = &["of", "stories", "story", "task", "tasks", "the"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mention {
    Named,
    Needed,
}

pub(super) fn check(items: &[Item]) -> Vec<Finding> {
    let (numbers, needs) = (numbers(items), needs(items));
    let by_name: HashMap<String, usize> =
        numbers.iter().filter_map(|(id, number)| Some((name(id)?, *number))).collect();
    let mut found = Vec::new();
    for (number, item) in items.iter().enumerate().filter(|(_, item)| item.is_open()) {
        for (other, (mention, line, text)) in mentioned(item, &by_name) {
            let related = || leads_to(&needs, number, other) || leads_to(&needs, other, number);
            // What is done needs no waiting for.
            if other == number || items[other].stage == Stage::Done || related() {
                continue;
            }
            let id = &items[other].id;
            let what = format!("names {id}, but does not depend on it: {}", quoted(text));
            let field = item.depends_on_field;
            found.push(match mention {
                Mention::Needed => item.fault(Rule::Dependencies, line, what, format!("add {id} to {field}")),
                Mention::Named => {
                    let fix = format!("add {id} to {field} if its result is needed");
                    item.warning(Rule::Dependencies, line, what, fix)
                }
            });
        }
    }
    found
}

/// How an id appears in text. An id without letters and digits may be any word, and the number of a
/// spec any number.
fn name(id: &str) -> Option<String> {
    let lower = id.to_lowercase();
    let is_number =
        lower.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_number && lower.contains('.') {
        return Some(format!("story {lower}"));
    }
    let digits = lower.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let digits_only = digits.trim_start_matches(['-', '_']);
    let fits = digits.len() < lower.len()
        && digits_only.starts_with(|c: char| c.is_ascii_digit())
        && lower.len() >= 3;
    (fits && digits_only.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')).then_some(lower)
}

/// The stories that a story names, each with how and where: the strongest mention.
fn mentioned<'i>(
    item: &'i Item,
    by_name: &HashMap<String, usize>,
) -> BTreeMap<usize, (Mention, usize, &'i str)> {
    let mut found: BTreeMap<usize, (Mention, usize, &str)> = BTreeMap::new();
    for placed in [&item.title, &item.description].into_iter().chain(&item.criteria) {
        let words = words(&placed.text);
        for at in 0..words.len() {
            let Some(number) = named(&words, at, by_name) else { continue };
            let Some(mention) = how(&words[..at]) else { continue };
            let known = found.get(&number).map(|(known, ..)| *known);
            if known.is_none_or(|known| mention > known) {
                found.insert(number, (mention, placed.line, &placed.text));
            }
        }
    }
    found
}

fn named(words: &[Word], at: usize, by_name: &HashMap<String, usize>) -> Option<usize> {
    let word = words[at].text.as_str();
    let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
    let before = at.checked_sub(1).map(|before| words[before].text.as_str());
    let of_specs = before.filter(|before| matches!(*before, "story" | "stories" | "and"));
    let spec = || of_specs.and_then(|_| by_name.get(&format!("story {word}")));
    by_name.get(word).or_else(spec).copied()
}

/// How the words before an id speak of it; `None` if the story leaves something to that one.
fn how(before: &[Word]) -> Option<Mention> {
    let clause = before.iter().rev().take_while(|word| !word.ends).take(SHORTLY);
    if clause.clone().any(|word| LEAVES.contains(&word.text.as_str())) {
        return None;
    }
    let uses = clause.clone().any(|word| USES.contains(&word.text.as_str()));
    let mut near = clause.map(|word| word.text.as_str()).skip_while(|word| FILLERS.contains(word));
    let (last, earlier) = (near.next().unwrap_or_default(), near.next().unwrap_or_default());
    let two = format!("{earlier} {last}");
    let needed = uses || NEEDS.contains(&last) || NEEDS.contains(&two.as_str());
    Some(if needed && !COMPARES.contains(&last) { Mention::Needed } else { Mention::Named })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_that_cannot_be_a_word_are_looked_for() {
        assert_eq!(name("US-001").as_deref(), Some("us-001"));
        assert_eq!(name("T12").as_deref(), Some("t12"));
        assert_eq!(name("US-003a").as_deref(), Some("us-003a"));
        assert_eq!(name("8.3").as_deref(), Some("story 8.3"));
        for id in ["", "login", "1", "12", "a1", "x-", "US"] {
            assert_eq!(name(id), None, "{id}");
        }
    }

    #[test]
    fn a_mention_is_a_need_if_its_words_say_so() {
        for (text, expected) in [
            ("Depends on", Some(Mention::Needed)),
            ("The table from", Some(Mention::Needed)),
            ("Uses the columns that were added in story", Some(Mention::Needed)),
            ("Uses the session of story", Some(Mention::Needed)),
            ("Uses a cache like", Some(Mention::Named)),
            ("Only after the tasks of", Some(Mention::Needed)),
            ("Same style as", Some(Mention::Named)),
            ("Sorting is out of scope, see", Some(Mention::Named)),
            ("Sorting is not part of this but of", None),
            ("Sorting comes later in", None),
        ] {
            assert_eq!(how(&words(&format!("{text} X"))[..text.split(' ').count()]), expected, "{text}");
        }
    }
}
