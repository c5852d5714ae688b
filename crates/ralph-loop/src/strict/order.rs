//! Stories in the order of their dependencies: schema, backend, API, frontend, integration.
//!
//! A list may take one feature after another through all layers, so a migration after a page is no
//! mistake by itself. It is one if the page is about the very thing that the migration adds.

mod layers;

use super::item::{Item, Stage, leads_to, needs};
use super::{Finding, Rule};
use layers::{Layer, layer, topic};
use std::cmp::Ordering;
use std::collections::BTreeSet;

pub(super) fn check(items: &[Item]) -> Vec<Finding> {
    let needs = needs(items);
    let mut found = priorities(items, &needs);
    found.extend(layers_in_order(items, &needs));
    found
}

/// Dependencies that have a later priority than the story that needs them.
fn priorities(items: &[Item], needs: &[Vec<usize>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (item, needed) in items.iter().zip(needs).filter(|(item, _)| item.is_open()) {
        for other in needed.iter().map(|number| &items[*number]).filter(|other| other.is_open()) {
            if other.priority <= item.priority {
                continue;
            }
            let place = item.depends_on.iter().find(|id| id.text == other.id);
            let what = format!(
                "has priority {}, but depends on {}, which has priority {}",
                item.priority, other.id, other.priority
            );
            let fix = format!("give {} a smaller priority than {}", other.id, item.id);
            found.push(item.fault(Rule::Order, place.map_or(item.line, |id| id.line), what, fix));
        }
    }
    found
}

fn layers_in_order(items: &[Item], needs: &[Vec<usize>]) -> Vec<Finding> {
    struct Known {
        number: usize,
        layer: Layer,
        topic: Vec<String>,
        turn: usize,
    }
    let turns = turns(items, needs);
    let known = |(number, item): (usize, &Item)| {
        let layer = item.is_open().then(|| layer(&item.title.text)).flatten()?;
        Some(Known { number, layer, topic: topic(&item.title.text), turn: turns[number] })
    };
    let known: Vec<Known> = items.iter().enumerate().filter_map(known).collect();
    let mut found = Vec::new();
    for one in known.iter().filter(|one| !one.topic.is_empty()) {
        let item = &items[one.number];
        let about_it = |other: &&Known| {
            one.layer < other.layer && one.topic.iter().all(|word| other.topic.contains(word))
        };
        let before = known.iter().filter(about_it).find(|other| other.turn < one.turn);
        if let Some(other) = before {
            let what = format!(
                "{} comes after {} {}, which is about the same",
                one.layer.name(),
                other.layer.name(),
                items[other.number].id,
            );
            let fix = format!(
                "order them schema, backend, API, frontend, integration: let {} depend on {}",
                items[other.number].id, item.id
            );
            found.push(item.fault(Rule::Order, item.title.line, what, fix));
        }
        for other in known.iter().filter(about_it).filter(|other| other.turn > one.turn) {
            let dependent = &items[other.number];
            if !leads_to(needs, other.number, one.number) {
                let what = format!(
                    "is about the same as {} ({}), but does not depend on it",
                    item.id,
                    one.layer.name()
                );
                let fix = format!("add {} to {} if it is needed", item.id, dependent.depends_on_field);
                found.push(dependent.warning(Rule::Dependencies, dependent.line, what, fix));
            }
        }
    }
    found
}

/// For each story when its turn is: the smallest priority of those whose dependencies are done,
/// then the order of the file. Those in a circle come last.
fn turns(items: &[Item], needs: &[Vec<usize>]) -> Vec<usize> {
    #[derive(PartialEq)]
    struct Place(f64, usize);
    impl Eq for Place {}
    impl Ord for Place {
        fn cmp(&self, other: &Place) -> Ordering {
            self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
        }
    }
    impl PartialOrd for Place {
        fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    let not_done = |needs: &Vec<usize>| {
        needs.iter().copied().filter(|number| items[*number].stage != Stage::Done).collect()
    };
    let mut waiting_for: Vec<BTreeSet<usize>> = needs.iter().map(not_done).collect();
    let mut free: BTreeSet<Place> = BTreeSet::new();
    let mut dependents = vec![Vec::new(); items.len()];
    for (number, needed) in waiting_for.iter().enumerate() {
        needed.iter().for_each(|needed| dependents[*needed].push(number));
        if needed.is_empty() {
            free.insert(Place(items[number].priority, number));
        }
    }
    let (mut turns, mut turn) = (vec![usize::MAX; items.len()], 0);
    while let Some(Place(_, number)) = free.pop_first() {
        turns[number] = turn;
        turn += 1;
        for dependent in &dependents[number] {
            waiting_for[*dependent].remove(&number);
            if waiting_for[*dependent].is_empty() {
                free.insert(Place(items[*dependent].priority, *dependent));
            }
        }
    }
    turns
}
