//! Stories in the order of their dependencies: schema, backend, API, frontend, integration.
//!
//! A list may take one feature after another through all layers, so a migration after a page is no
//! mistake by itself. It is one if the page is about the very thing that the migration adds.

mod layers;

use super::item::{Item, Stage, leads_to, needs};
use super::{Finding, Rule};
use layers::{Layer, layer, topic};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

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

/// A story whose title names a layer.
struct Known {
    number: usize,
    layer: Layer,
    topic: Vec<String>,
    turn: usize,
}

fn layers_in_order(items: &[Item], needs: &[Vec<usize>]) -> Vec<Finding> {
    let turns = turns(items, needs);
    let known = |(number, item): (usize, &Item)| {
        let layer = item.is_open().then(|| layer(&item.title.text)).flatten()?;
        Some(Known { number, layer, topic: topic(&item.title.text), turn: turns[number] })
    };
    let known: Vec<Known> = items.iter().enumerate().filter_map(known).collect();
    let mut by_word: HashMap<&str, Vec<&Known>> = HashMap::new();
    for one in &known {
        one.topic.iter().for_each(|word| by_word.entry(word).or_default().push(one));
    }
    // Those of a later layer that are about all that a story is about.
    let above = |one: &Known| {
        let fewest =
            one.topic.iter().filter_map(|word| by_word.get(word.as_str())).min_by_key(|known| known.len());
        let about_it = |other: &&&Known| {
            one.layer < other.layer && one.topic.iter().all(|word| other.topic.contains(word))
        };
        fewest.into_iter().flatten().filter(about_it).copied().collect::<Vec<&Known>>()
    };
    let mut found = Vec::new();
    let mut told = vec![false; items.len()];
    for one in &known {
        let above = above(one);
        if let Some(other) = above.iter().find(|other| other.turn < one.turn) {
            found.push(too_late(one, other, items, needs));
        }
        for other in above.iter().filter(|other| other.turn > one.turn) {
            if !told[other.number] && !leads_to(needs, other.number, one.number) {
                told[other.number] = true;
                found.push(undeclared(one, other, items));
            }
        }
    }
    found
}

fn too_late(one: &Known, other: &Known, items: &[Item], needs: &[Vec<usize>]) -> Finding {
    let (item, before) = (&items[one.number], &items[other.number].id);
    let (layer, later) = (one.layer.name(), other.layer.name());
    let what = format!("comes after {before}, which is about the same thing: {layer} belongs before {later}");
    let turn_around = match leads_to(needs, one.number, other.number) {
        true => format!("do not depend on {before}, and "),
        false => String::new(),
    };
    let fix = format!("{turn_around}let {before} depend on {}", item.id);
    item.fault(Rule::Order, item.title.line, what, fix)
}

fn undeclared(one: &Known, other: &Known, items: &[Item]) -> Finding {
    let (item, needed) = (&items[other.number], &items[one.number].id);
    let layer = one.layer.name();
    let what = format!("is about the same thing as {needed} ({layer}), but does not depend on it");
    let fix = format!("add {needed} to {} if it is needed", item.depends_on_field);
    item.warning(Rule::Dependencies, item.title.line, what, fix)
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
