//! A story as the rules see it, be it an entry of a task list or a spec.

use super::{Finding, Level, Rule};
use std::collections::HashMap;

/// A text and the line that it begins in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) text: String,
    pub(super) line: usize,
}

/// How far a story has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing of it is done: it can still be reworded, split and moved.
    Open,
    /// It is implemented and in review.
    Begun,
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) file: String,
    pub(super) id: String,
    /// Where the story begins.
    pub(super) line: usize,
    pub(super) title: Placed,
    /// Empty if there is none.
    pub(super) description: Placed,
    pub(super) criteria: Vec<Placed>,
    pub(super) depends_on: Vec<Placed>,
    /// What that field is called where the story is written.
    pub(super) depends_on_field: &'static str,
    /// The smaller, the sooner; the same for all where stories have no priorities.
    pub(super) priority: f64,
    pub(super) stage: Stage,
}

impl Item {
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    pub(super) fn fault(
        &self,
        rule: Rule,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Finding {
        let (what, fix) = (what.into(), fix.into());
        let story = Some(self.id.clone());
        Finding { file: self.file.clone(), line, story, rule, level: Level::Fault, what, fix }
    }

    pub(super) fn warning(
        &self,
        rule: Rule,
        line: usize,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Finding {
        Finding { level: Level::Warning, ..self.fault(rule, line, what, fix) }
    }
}

/// The numbers of stories by their ids; of two with one id the first.
pub(super) fn numbers(items: &[Item]) -> HashMap<&str, usize> {
    items.iter().enumerate().rev().map(|(number, item)| (item.id.as_str(), number)).collect()
}

/// For each story the numbers of those that it depends on, as far as they exist.
pub(super) fn needs(items: &[Item]) -> Vec<Vec<usize>> {
    let numbers = numbers(items);
    let needed = |item: &Item| {
        item.depends_on.iter().filter_map(|id| numbers.get(id.text.as_str()).copied()).collect()
    };
    items.iter().map(needed).collect()
}

/// Whether `from` depends on `to`, directly or through others.
pub(super) fn leads_to(needs: &[Vec<usize>], from: usize, to: usize) -> bool {
    let (mut seen, mut ahead) = (vec![false; needs.len()], vec![from]);
    while let Some(at) = ahead.pop() {
        for next in &needs[at] {
            if *next == to {
                return true;
            }
            if !std::mem::replace(&mut seen[*next], true) {
                ahead.push(*next);
            }
        }
    }
    false
}

/// The rules that every list has.
pub(super) fn shared_rules(items: &[Item]) -> Vec<Finding> {
    let open = || items.iter().filter(|item| item.is_open());
    let mut found: Vec<Finding> = open().flat_map(super::placeholder::check).collect();
    found.extend(open().flat_map(super::size::check));
    found.extend(open().flat_map(super::criteria::check));
    found.extend(super::order::check(items));
    found.extend(super::dependencies::check(items));
    found.extend(super::duplicates::check(items));
    found
}
