//! Stories that depend on themselves, found in one pass over the list.
//!
//! Stories that lead to each other form a group (Tarjan's strongly connected components), and only
//! within a group a circle is looked for. All stories of a circle share it, so that a ring of
//! thousands is found once.

use super::{Story, TaskList};
use std::collections::{HashMap, VecDeque};

pub(super) struct Circles<'a> {
    numbers: HashMap<&'a str, usize>,
    ids: Vec<&'a str>,
    found: Vec<Vec<usize>>,
    /// For each story a circle that it is part of, and its place there.
    places: Vec<Option<(usize, usize)>>,
}

impl<'a> Circles<'a> {
    /// What is done holds nothing up, whatever it depends on.
    pub(super) fn of(list: &'a TaskList, done: &HashMap<&str, bool>) -> Circles<'a> {
        let is_open = |id: &str| done.get(id) == Some(&false);
        let stories: HashMap<&str, &Story> = list
            .stories
            .iter()
            .filter(|story| is_open(story.id()))
            .map(|story| (story.id(), story))
            .collect();
        // In the order of the file: of several circles through a story the same one is always found.
        let (mut ids, mut numbers) = (Vec::with_capacity(stories.len()), HashMap::new());
        for id in list.stories.iter().map(Story::id).filter(|id| stories.contains_key(id)) {
            numbers.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len() - 1
            });
        }
        let depends_on = |id: &&str| stories[id].depends_on();
        let needs: Vec<Vec<usize>> = ids
            .iter()
            .map(|id| depends_on(id).iter().filter_map(|id| numbers.get(id).copied()).collect())
            .collect();
        let (found, places) = search(&needs);
        Circles { numbers, ids, found, places }
    }

    /// The way from a story through its dependencies back to itself: at most so many stories of
    /// it, and how many more there are.
    pub(super) fn through(&self, id: &str, most: usize) -> Option<(Vec<&'a str>, usize)> {
        let (circle, place) = self.places[*self.numbers.get(id)?]?;
        let circle = &self.found[circle];
        let way = circle[place..].iter().chain(&circle[..place]).take(most);
        Some((way.map(|number| self.ids[*number]).collect(), circle.len().saturating_sub(most)))
    }
}

type Places = Vec<Option<(usize, usize)>>;

fn search(needs: &[Vec<usize>]) -> (Vec<Vec<usize>>, Places) {
    let groups = groups(needs);
    let (mut found, mut places) = (Vec::new(), vec![None; needs.len()]);
    for start in 0..needs.len() {
        if places[start].is_some() {
            continue;
        }
        let Some(circle) = shortest(needs, &groups, start) else { continue };
        for (place, number) in circle.iter().enumerate() {
            places[*number].get_or_insert((found.len(), place));
        }
        found.push(circle);
    }
    (found, places)
}

/// The shortest way from a story back to itself.
fn shortest(needs: &[Vec<usize>], groups: &[usize], start: usize) -> Option<Vec<usize>> {
    let mut came_from = HashMap::new();
    let mut ahead = VecDeque::from([start]);
    while let Some(at) = ahead.pop_front() {
        for to in needs[at].iter().copied().filter(|to| groups[*to] == groups[start]) {
            if to == start {
                let mut way = vec![at];
                while let Some(before) = came_from.get(&way[way.len() - 1]) {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            came_from.entry(to).or_insert_with(|| {
                ahead.push_back(to);
                at
            });
        }
    }
    None
}

/// For each story the number of its group.
fn groups(needs: &[Vec<usize>]) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let (mut reached, mut low, mut group) =
        (vec![NONE; needs.len()], vec![NONE; needs.len()], vec![NONE; needs.len()]);
    let (mut open, mut work) = (Vec::new(), Vec::new());
    let (mut reached_so_far, mut groups_so_far) = (0, 0);
    for root in 0..needs.len() {
        if reached[root] == NONE {
            work.push((root, 0));
        }
        // Instead of a recursion, which a chain of thousands would be too deep for.
        while let Some((at, edge)) = work.pop() {
            if edge == 0 {
                (reached[at], low[at]) = (reached_so_far, reached_so_far);
                reached_so_far += 1;
                open.push(at);
            } else {
                let seen = needs[at][edge - 1];
                if group[seen] == NONE {
                    low[at] = low[at].min(low[seen]);
                }
            }
            if let Some(to) = needs[at].get(edge) {
                work.push((at, edge + 1));
                if reached[*to] == NONE {
                    work.push((*to, 0));
                }
            } else if low[at] == reached[at] {
                while let Some(member) = open.pop() {
                    group[member] = groups_so_far;
                    if member == at {
                        break;
                    }
                }
                groups_so_far += 1;
            }
        }
    }
    group
}
