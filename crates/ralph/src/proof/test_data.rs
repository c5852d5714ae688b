//! Data that tests of the start read, among what has changed.
//!
//! Looking for names in all files of a tree takes long, so only tests are searched at first, and it is
//! remembered what they mention: the tree of the start does not change. What git could not find out is
//! not remembered.

use crate::git::shadow::Shadow;
use ralph_loop::gates::{Difference, GateChange, GateKind, Gates};
use std::collections::{BTreeMap, BTreeSet};

/// So much of what git answers is read.
const MOST_READ: usize = 1 << 20;

/// More tests are not named to git: it then searches everything.
const MOST_NAMED: usize = 1000;

/// What is known of the tree that work began with.
#[derive(Default)]
pub struct Memory {
    of: Start,
    tests: Vec<String>,
    /// The files that mention a name, if tests do.
    mentions: BTreeMap<String, Vec<String>>,
}

/// What decides which files are tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    pub tree: String,
    pub checks: Vec<String>,
    pub pins: Vec<String>,
}

impl Memory {
    pub fn test_data(
        &mut self,
        gates: &Gates,
        differences: &[Difference],
        shadow: &Shadow,
        start: Start,
    ) -> Vec<GateChange> {
        let possible = gates.possible_test_data(differences);
        if possible.is_empty() {
            return Vec::new();
        }
        if self.of != start {
            let is_test =
                |path: &String| matches!(gates.classify(path), Some(GateKind::Test | GateKind::Check));
            let Ok(paths) = shadow.paths(&start.tree) else { return Vec::new() };
            let tests = paths.into_iter().filter(is_test).collect();
            *self = Memory { of: start, tests, mentions: BTreeMap::new() };
        }
        let names: BTreeSet<&str> = possible.iter().map(|data| data.name.as_str()).collect();
        let _ = self.look_for(&names, shadow);
        let mentions = names.into_iter().flat_map(|name| {
            let files = self.mentions.get(name).into_iter().flatten();
            files.map(move |file| (name.to_string(), file.clone()))
        });
        let mentions: Vec<(String, String)> = mentions.collect();
        gates.test_data(possible, &mentions)
    }

    fn look_for(&mut self, names: &BTreeSet<&str>, shadow: &Shadow) -> Option<()> {
        let new: Vec<&str> =
            names.iter().copied().filter(|name| !self.mentions.contains_key(*name)).collect();
        if new.is_empty() || self.tests.is_empty() {
            return Some(());
        }
        let tests = if self.tests.len() > MOST_NAMED { &[][..] } else { &self.tests };
        let in_tests = shadow.mentions(&self.of.tree, &new, tests, MOST_READ)?;
        let found: BTreeSet<&str> = in_tests.iter().map(|(name, _)| name.as_str()).collect();
        let found: Vec<&str> = found.into_iter().collect();
        // Other files are searched only for what tests mention.
        let everywhere = shadow.mentions(&self.of.tree, &found, &[], MOST_READ)?;
        for name in new {
            let files = everywhere.iter().filter(|(found, _)| found == name).map(|(_, file)| file.clone());
            self.mentions.insert(name.to_string(), files.collect());
        }
        Some(())
    }
}
