//! Stories that wait for each other, and so for ever.

use ralph_loop::story_id::StoryId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The dependencies of each story; of stories that are not a key nothing is known.
pub type Needs = BTreeMap<StoryId, Vec<StoryId>>;

/// Stories of which each waits for all others.
#[derive(Debug, PartialEq, Eq)]
pub struct Cycle {
    /// All of them.
    pub stories: Vec<StoryId>,
    /// The shortest way around that begins, and ends, at the lowest number.
    pub way: Vec<StoryId>,
}

/// By their lowest numbers.
pub fn cycles(needs: &Needs) -> Vec<Cycle> {
    let needs = waiting(needs);
    let needed_by = turned(&needs);
    let mut cycles = Vec::new();
    let mut known = BTreeSet::new();
    for first in needs.keys() {
        if known.contains(first) {
            continue;
        }
        let came_from = reach(&needs, *first);
        if !came_from.contains_key(first) {
            continue;
        }
        let behind = reach(&needed_by, *first);
        let stories: Vec<StoryId> = came_from.keys().filter(|id| behind.contains_key(id)).copied().collect();
        known.extend(stories.iter().copied());
        cycles.push(Cycle { stories, way: way_around(&came_from, *first) });
    }
    cycles
}

/// Without the stories that are free once those before them are done: those are in no cycle.
fn waiting(needs: &Needs) -> Needs {
    let known = |id: &&StoryId| needs.contains_key(id);
    let mut left: BTreeMap<StoryId, usize> =
        needs.iter().map(|(id, on)| (*id, on.iter().filter(known).count())).collect();
    let needed_by = turned(needs);
    let mut free: Vec<StoryId> = left.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    while let Some(id) = free.pop() {
        left.remove(&id);
        for waiter in needed_by.get(&id).into_iter().flatten() {
            if let Some(count) = left.get_mut(waiter) {
                *count -= 1;
                if *count == 0 {
                    free.push(*waiter);
                }
            }
        }
    }
    let on = |id: &StoryId| needs.get(id).into_iter().flatten().filter(|on| left.contains_key(on)).copied();
    left.keys().map(|id| (*id, on(id).collect())).collect()
}

fn turned(needs: &Needs) -> Needs {
    let mut turned = Needs::new();
    for (id, on) in needs {
        for dependency in on {
            turned.entry(*dependency).or_default().push(*id);
        }
    }
    turned
}

/// Everything that can be reached in one step or more, with where it is reached from first.
fn reach(edges: &Needs, from: StoryId) -> BTreeMap<StoryId, StoryId> {
    let mut came_from = BTreeMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(id) = next.pop_front() {
        for to in edges.get(&id).into_iter().flatten() {
            came_from.entry(*to).or_insert_with(|| {
                next.push_back(*to);
                id
            });
        }
    }
    came_from
}

fn way_around(came_from: &BTreeMap<StoryId, StoryId>, first: StoryId) -> Vec<StoryId> {
    let mut way = vec![first];
    let mut at = first;
    while let Some(before) = came_from.get(&at) {
        way.push(*before);
        at = *before;
        if at == first {
            break;
        }
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `1.1: 1.2 1.3, 1.2: 1.1` as needs; each cycle as its way, and its stories if it has more.
    #[track_caller]
    fn check(needs: &str, expected: &[&str]) {
        let ids =
            |text: &str| text.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<StoryId>>();
        let stories = needs.split(',').filter_map(|story| story.split_once(':'));
        let needs: Needs = stories.map(|(id, on)| (ids(id)[0], ids(on))).collect();
        let join = |ids: &[StoryId], by| ids.iter().map(StoryId::to_string).collect::<Vec<_>>().join(by);
        let shown = |cycle: &Cycle| match cycle.way.len() - 1 == cycle.stories.len() {
            true => join(&cycle.way, " -> "),
            false => format!("{} of {}", join(&cycle.way, " -> "), join(&cycle.stories, " ")),
        };
        assert_eq!(cycles(&needs).iter().map(shown).collect::<Vec<_>>(), expected, "{needs:?}");
    }

    #[test]
    fn a_cycle_is_named_from_its_lowest_number() {
        check("1.1: 1.2, 1.2: 1.1", &["1.1 -> 1.2 -> 1.1"]);
        check("1.10: 1.9, 1.9: 2.1, 2.1: 1.10", &["1.9 -> 2.1 -> 1.10 -> 1.9"]);
        check("1.1: 1.1", &["1.1 -> 1.1"]);
    }

    #[test]
    fn what_only_leads_into_a_cycle_or_out_of_it_is_not_in_it() {
        check("1.1: , 1.2: 1.1 1.3, 1.3: 1.2, 1.4: 1.3, 1.5: 1.4", &["1.2 -> 1.3 -> 1.2"]);
        check("1.1: 1.2, 1.2: 1.1 2.1, 2.1: 2.2, 2.2: 2.1", &["1.1 -> 1.2 -> 1.1", "2.1 -> 2.2 -> 2.1"]);
    }

    #[test]
    fn cycles_that_share_a_story_are_one() {
        check("1.1: 1.2 1.3, 1.2: 1.1, 1.3: 1.1", &["1.1 -> 1.2 -> 1.1 of 1.1 1.2 1.3"]);
    }

    #[test]
    fn other_shapes_are_no_cycles() {
        check("", &[]);
        check("1.1: , 1.2: 1.1, 1.3: 1.1, 1.4: 1.2 1.3", &[]);
        check("1.1: 9.9", &[]);
    }

    #[test]
    fn a_long_chain_takes_neither_the_stack_nor_long() {
        let id = |story| StoryId { epic: 1, story };
        let mut needs: Needs = (1..20_000).map(|story| (id(story), vec![id(story + 1)])).collect();
        assert_eq!(cycles(&needs), []);
        needs.insert(id(20_000), vec![id(1)]);
        assert_eq!(cycles(&needs)[0].stories.len(), 20_000);
    }
}
