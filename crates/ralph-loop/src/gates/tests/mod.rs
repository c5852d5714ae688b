//! What agents do to the files around their work, honest and not, and what is said about it.

mod known;
mod libraries;
mod manifests;
mod named;
mod trees;

use std::collections::{BTreeMap, BTreeSet};

use super::{Difference, GateChange, GateKind, Gates, Restore, Side, Status, in_one_line};

type Files<'a> = &'a [(&'a str, &'a str)];

/// A delivered file that does not exist any more.
const GONE: &str = "\0gone";

struct Trees {
    start: BTreeMap<String, String>,
    delivered: BTreeMap<String, String>,
}

impl Trees {
    /// The start, and what was delivered on top of it.
    fn new(start: Files<'_>, delivered: Files<'_>) -> Trees {
        let owned = |(path, text): &(&str, &str)| (path.to_string(), text.to_string());
        let start: BTreeMap<String, String> = start.iter().map(owned).collect();
        let mut all = start.clone();
        all.extend(delivered.iter().map(owned));
        all.retain(|_, text| text != GONE);
        Trees { start, delivered: all }
    }

    fn read(&self, side: Side, path: &str) -> Option<String> {
        match side {
            Side::Start => self.start.get(path).cloned(),
            Side::Delivered => self.delivered.get(path).cloned(),
        }
    }

    fn differences(&self) -> Vec<Difference> {
        let paths: BTreeSet<&String> = self.start.keys().chain(self.delivered.keys()).collect();
        let status = |path: &String| match (self.start.get(path), self.delivered.get(path)) {
            (None, _) => Some(Status::Added),
            (_, None) => Some(Status::Deleted),
            (old, new) => (old != new).then_some(Status::Changed),
        };
        let differences = paths.into_iter().filter_map(|path| Some((path.clone(), status(path)?)));
        differences.map(|(path, status)| Difference { path, status }).collect()
    }

    fn gates(&self, checks: &[&str], pins: &[&str]) -> Gates {
        let pins: Vec<String> = pins.iter().map(ToString::to_string).collect();
        Gates::new(checks, &pins, &|path| self.read(Side::Start, path))
    }

    fn changes(&self, gates: &Gates) -> Vec<GateChange> {
        gates.changes(&self.differences(), &|side, path| self.read(side, path))
    }

    /// The delivered tree with the gates of the start.
    fn restored(&self, gates: &Gates) -> BTreeMap<String, String> {
        let plan = gates.restored_tree_plan(&self.changes(gates), &|side, path| self.read(side, path));
        let mut tree = self.delivered.clone();
        for (path, restore) in plan {
            match restore {
                Restore::PutBack => _ = tree.insert(path.clone(), self.start[&path].clone()),
                Restore::Remove => assert!(tree.remove(&path).is_some(), "{path}"),
                Restore::Replace(text) => _ = tree.insert(path, text),
            }
        }
        tree
    }
}

/// What is said about a delivery.
#[track_caller]
fn check(command: &str, start: Files<'_>, delivered: Files<'_>, expected: &str) {
    let trees = Trees::new(start, delivered);
    let gates = trees.gates(&[command], &[]);
    let changes = trees.changes(&gates);
    assert_eq!(in_one_line(&changes, 20), expected, "check {command:?}, delivered {delivered:?}");
    // The restored tree has the gates of the start: compared with it, nothing is left to put back.
    let restored = Trees { start: trees.start.clone(), delivered: trees.restored(&gates) };
    let left: Vec<GateChange> =
        restored.changes(&gates).into_iter().filter(GateChange::needs_second_run).collect();
    assert_eq!(in_one_line(&left, 20), "", "restored from {delivered:?}");
}

/// Which kind of gate a path is.
#[track_caller]
fn kind(checks: &[&str], start: Files<'_>, path: &str, expected: Option<GateKind>) {
    let gates = Trees::new(start, &[]).gates(checks, &[]);
    assert_eq!(gates.classify(path), expected, "{path} with {checks:?}");
    assert_eq!(gates.reason(path).is_some(), expected.is_some(), "{path}");
}
