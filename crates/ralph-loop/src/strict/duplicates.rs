//! Stories that are there twice.
//!
//! Also against stories that are done: planning the same work again is the usual mistake in a list
//! that is half done.

use super::item::{Item, Placed, Stage};
use super::words::{normal, quoted, subject};
use super::{Finding, Rule};
use std::collections::{HashMap, HashSet};

/// Titles of fewer words are similar by chance.
const ENOUGH_WORDS: usize = 4;
const SIMILAR_PERCENT: usize = 80;

pub(super) fn check(items: &[Item]) -> Vec<Finding> {
    let titles: Vec<Title> = items.iter().map(Title::of).collect();
    let mut found = Vec::new();
    for (number, item) in items.iter().enumerate() {
        found.extend(twice_in_one(item));
        let others = || titles.iter().zip(items).enumerate().filter(|(other, _)| *other != number);
        // Of two open ones the later one is reported, of an open and a done one the open one.
        let earlier = |other: usize| other < number || items[other].stage != Stage::Open;
        if item.is_open() {
            let twin = others().find(|(other, (title, _))| earlier(*other) && titles[number].is_same(title));
            let near =
                || others().find(|(other, (title, _))| earlier(*other) && titles[number].is_similar(title));
            if let Some((_, (_, other))) = twin {
                found.push(same_title(item, other));
            } else if let Some((_, (_, other))) = near() {
                let what =
                    format!("the title is nearly the one of {}: {}", other.id, quoted(&item.title.text));
                let fix = format!("merge it with {}, or say in the title how they differ", other.id);
                found.push(item.warning(Rule::Duplicates, item.title.line, what, fix));
            }
        }
    }
    found.extend(same_descriptions(items));
    found
}

struct Title {
    normal: String,
    subject: Vec<String>,
}

impl Title {
    fn of(item: &Item) -> Title {
        Title { normal: normal(&item.title.text), subject: subject(&item.title.text) }
    }

    fn is_same(&self, other: &Title) -> bool {
        let same_words = self.subject.len() > 1 && self.subject == other.subject;
        !self.normal.is_empty() && (self.normal == other.normal || same_words)
    }

    fn is_similar(&self, other: &Title) -> bool {
        let (mine, theirs) = (&self.subject, &other.subject);
        let shared = mine.iter().filter(|word| theirs.contains(word)).count();
        let all = mine.len() + theirs.len() - shared;
        mine.len().min(theirs.len()) >= ENOUGH_WORDS && shared * 100 >= all * SIMILAR_PERCENT
    }
}

fn same_title(item: &Item, other: &Item) -> Finding {
    let (id, title) = (&other.id, quoted(&item.title.text));
    let (what, fix) = match other.stage {
        Stage::Done => (
            format!("the same title as {id}, which is done: {title}"),
            format!("remove it, or say in the title what it adds to {id}"),
        ),
        Stage::Open | Stage::Begun => (
            format!("the same title as {id}: {title}"),
            format!("remove one of them, or say in the title how it differs from {id}"),
        ),
    };
    item.fault(Rule::Duplicates, item.title.line, what, fix)
}

fn same_descriptions(items: &[Item]) -> Vec<Finding> {
    let mut seen: HashMap<String, &Item> = HashMap::new();
    let mut found = Vec::new();
    for item in items.iter().filter(|item| item.is_open()) {
        let text = normal(&item.description.text);
        if text.is_empty() {
            continue;
        }
        if let Some(other) = seen.get(&text) {
            let what = format!("the same description as {}", other.id);
            let fix = format!("say what this story changes, or merge it with {}", other.id);
            found.push(item.fault(Rule::Duplicates, item.description.line, what, fix));
        } else {
            seen.insert(text, item);
        }
    }
    found
}

/// A criterion that a story has twice.
fn twice_in_one(item: &Item) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let repeated = |criterion: &&Placed| {
        let text = normal(&criterion.text);
        !text.is_empty() && !seen.insert(text)
    };
    let criteria = item.criteria.iter().filter(|_| item.is_open());
    let finding = |criterion: &Placed| {
        let what = format!("a criterion twice: {}", quoted(&criterion.text));
        item.warning(Rule::Duplicates, criterion.line, what, "remove one of them")
    };
    criteria.filter(repeated).map(finding).collect()
}
