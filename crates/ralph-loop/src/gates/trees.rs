//! The two other trees that the checks can run in: the delivered one with the gates of the start, and
//! the start with the tests as delivered.
//!
//! Invariant: both are given as changes to a tree that exists, removals first, so that a directory
//! which was replaced by a file can be put back.

use super::changes::{Change, Difference, GateChange, Status};
use super::manifest::{self, Deciding};
use super::table::is_lockfile;
use super::{GateKind, Gates, Side};

/// What to do with a path of the delivered tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restore {
    /// Take it from the tree at the start, with its mode.
    PutBack,
    Remove,
    /// Write this text: a manifest with the deciding keys of the start and the rest as delivered.
    Replace(String),
}

/// What to do with a path of the tree at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Take it from the delivered tree, with its mode.
    Delivered,
    Remove,
}

impl Gates {
    /// What makes the delivered tree one whose gates are as they were at the start.
    pub fn restored_tree_plan(
        &self,
        changes: &[GateChange],
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Vec<(String, Restore)> {
        let steps = changes.iter().filter_map(|change| {
            let restore = self.restore(change, read)?;
            Some((change.path.clone(), restore))
        });
        let mut steps: Vec<(String, Restore)> = steps.collect();
        steps.sort_by_key(|(_, restore)| *restore != Restore::Remove);
        steps
    }

    fn restore(&self, change: &GateChange, read: &dyn Fn(Side, &str) -> Option<String>) -> Option<Restore> {
        let status = match change.change {
            Change::Changed | Change::TestSkipped => Status::Changed,
            Change::Deleted => Status::Deleted,
            Change::Added | Change::NewConfiguration | Change::NewTest => Status::Added,
            // It is the work itself.
            Change::ActsOnTests => return None,
        };
        match (change.kind, status) {
            (GateKind::Manifest, Status::Added | Status::Changed) => {
                Some(self.restored_manifest(&change.path, status, read))
            }
            // The source that was delivered with it says `mod tests;`, or has the test that compares
            // with it, and would not build or pass without it.
            (GateKind::Test, Status::Added) if belongs_to_source(&change.path) => None,
            (_, Status::Added) => Some(Restore::Remove),
            (_, Status::Changed | Status::Deleted) => Some(Restore::PutBack),
        }
    }

    fn restored_manifest(
        &self,
        path: &str,
        status: Status,
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Restore {
        let whole = if status == Status::Added { Restore::Remove } else { Restore::PutBack };
        let Deciding::Keys(keys) = self.deciding(path, status, read) else { return whole };
        let start = read(Side::Start, path);
        // What is absent at the start has no keys: an empty manifest in either format.
        let empty = if path.to_ascii_lowercase().ends_with(".json") { "{}" } else { "" };
        let delivered = read(Side::Delivered, path).unwrap_or_default();
        match manifest::with_keys_of_start(path, start.as_deref().unwrap_or(empty), &delivered, &keys) {
            Some(text) => Restore::Replace(text),
            None => whole,
        }
    }

    /// What makes the tree at the start one with the tests as delivered: tests, their configuration,
    /// manifests and lockfiles, so that only the sources differ from the delivered tree. A test that is
    /// red there and green in the delivered tree is so because of the sources.
    pub fn new_tests_on_old_source(&self, differences: &[Difference]) -> Vec<(String, Take)> {
        let counts = |path: &str| self.classify(path).is_some() || is_lockfile(path);
        let steps = differences.iter().filter(|difference| counts(&difference.path)).map(|difference| {
            let take = match difference.status {
                Status::Added | Status::Changed => Take::Delivered,
                Status::Deleted => Take::Remove,
            };
            (difference.path.clone(), take)
        });
        let mut steps: Vec<(String, Take)> = steps.collect();
        steps.sort_by_key(|(_, take)| *take != Take::Remove);
        steps
    }

    /// Whether there are new or changed tests, so that such a tree says anything.
    pub fn has_new_tests(&self, differences: &[Difference]) -> bool {
        differences.iter().any(|Difference { path, status }| {
            *status != Status::Deleted && self.classify(path) == Some(GateKind::Test)
        })
    }
}

/// Test modules of Rust in files of their own, and their snapshots: they lie among the sources.
fn belongs_to_source(path: &str) -> bool {
    let in_src = path.starts_with("src/") || path.contains("/src/");
    in_src && (path.ends_with(".rs") || path.ends_with(".snap"))
}
