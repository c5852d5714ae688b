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
    let mut found: Vec<Finding> = items.iter().flat_map(twice_in_one).collect();
    found.extend(same_descriptions(items));
    // Stories that are begun or done first: an open one is reported, and of two open ones the later.
    let mut ordered: Vec<&Item> = items.iter().collect();
    ordered.sort_by_key(|item| item.is_open());
    let mut by_title: HashMap<String, &Item> = HashMap::new();
    let mut titles = Titles::of(items);
    for item in ordered {
        let (text, subject) = (normal(&item.title.text), subject(&item.title.text));
        let same = by_title.get(&text).or_else(|| by_title.get(&key(&subject)));
        if item.is_open() && !text.is_empty() {
            let similar = || titles.similar(&subject).map(|other| similar_title(item, other));
            found.extend(same.map(|other| same_title(item, other)).or_else(similar));
        }
        by_title.entry(text).or_insert(item);
        if subject.len() > 1 {
            by_title.entry(key(&subject)).or_insert(item);
        }
        titles.add(item, subject);
    }
    found
}

/// The words of a subject as a title that no story has.
fn key(subject: &[String]) -> String {
    format!("\n{}", subject.join(" "))
}

/// The titles so far, found again by their rarest words.
struct Titles<'i> {
    counts: HashMap<String, usize>,
    by_word: HashMap<String, Vec<usize>>,
    added: Vec<(&'i Item, Vec<String>)>,
}

impl<'i> Titles<'i> {
    fn of(items: &[Item]) -> Titles<'i> {
        let mut counts = HashMap::new();
        for word in items.iter().flat_map(|item| subject(&item.title.text)) {
            *counts.entry(word).or_default() += 1;
        }
        Titles { counts, by_word: HashMap::new(), added: Vec::new() }
    }

    /// Two similar subjects share one of these: what is left of each is too little.
    fn rarest<'s>(&self, subject: &'s [String]) -> impl Iterator<Item = &'s String> + use<'s> {
        let mut words: Vec<&String> = subject.iter().collect();
        words.sort_by_key(|word| (self.counts.get(*word), *word));
        let may_differ = subject.len() - (subject.len() * SIMILAR_PERCENT).div_ceil(100);
        words.into_iter().take(may_differ + 1)
    }

    fn similar(&self, subject: &[String]) -> Option<&'i Item> {
        let candidates = self.rarest(subject).filter_map(|word| self.by_word.get(word)).flatten();
        let similar = |number: &&usize| are_similar(subject, &self.added[**number].1);
        candidates.filter(similar).min().map(|number| self.added[*number].0)
    }

    fn add(&mut self, item: &'i Item, subject: Vec<String>) {
        for word in self.rarest(&subject) {
            self.by_word.entry(word.clone()).or_default().push(self.added.len());
        }
        self.added.push((item, subject));
    }
}

fn are_similar(one: &[String], other: &[String]) -> bool {
    let shared = one.iter().filter(|word| other.contains(word)).count();
    let all = one.len() + other.len() - shared;
    one.len().min(other.len()) >= ENOUGH_WORDS && shared * 100 >= all * SIMILAR_PERCENT
}

fn similar_title(item: &Item, other: &Item) -> Finding {
    let what = format!("the title is nearly the one of {}: {}", other.id, quoted(&item.title.text));
    let fix = format!("merge it with {}, or say in the title how they differ", other.id);
    item.warning(Rule::Duplicates, item.title.line, what, fix)
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
