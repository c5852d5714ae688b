//! Which of the files that differ decide over a verdict, and the trees that follow from that.

use super::prepare::Preparation;
use super::test_data::Start;
use crate::git::objects::Objects;
use crate::git::shadow::Shadow;
use crate::git::tree_changes::{Edit, TreeChange, TreeChangeKind};
use crate::layout;
use ralph_loop::gates::{
    Change, Difference, GateChange, GateKind, Gates, InlineTests, Restore, Side, Status, Take,
    with_tests_of_start,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::PoisonError;

/// More of a file is not read: it counts as changed.
const MOST_READ: usize = (1 << 20) + 1;
/// So many are recorded: a longer list is not read.
const MOST_RECORDED: usize = 50;

pub struct FoundGates {
    changes: Vec<GateChange>,
    new_tests: bool,
    start: Vec<Edit>,
    old_source: Vec<Edit>,
}

/// `base` is the tree that the work began with.
pub fn find(
    objects: &mut Objects,
    base: &str,
    delivered: &str,
    differing: &[TreeChange],
    preparation: &Preparation,
) -> FoundGates {
    let pins = pins(preparation, objects.shadow());
    let files = Files { objects: RefCell::new(objects), base, delivered, read: RefCell::default() };
    let read = |side: Side, path: &str| files.text(side, path);
    let checks: Vec<&str> = preparation.checks.iter().map(String::as_str).collect();
    let gates = Gates::new(&checks, &pins, &|path| files.text(Side::Start, path));
    let differences = differences(differing, preparation, &gates);
    let mut changes = gates.changes(&differences, &read);
    let restored = gates.restored_tree_plan(&changes, &read);
    let mut start: Vec<Edit> = restored.into_iter().map(|(path, restore)| edit(path, restore)).collect();
    for inline in gates.inline_changes(&differences, &read) {
        if inline.change == InlineTests::New {
            continue;
        }
        let (before, after) = (read(Side::Start, &inline.path), read(Side::Delivered, &inline.path));
        let (Some(before), Some(after)) = (before, after) else { continue };
        let Some(text) = with_tests_of_start(&inline.path, &before, &after) else {
            continue; // tests that cannot be told apart are held by name
        };
        let change = if inline.skipped.is_empty() { Change::Changed } else { Change::TestSkipped };
        let details = vec!["tests inside".to_string()];
        changes.push(GateChange { path: inline.path.clone(), kind: GateKind::Test, change, details });
        start.push(Edit::Replace(inline.path.into_bytes(), text.into_bytes()));
    }
    let old_source = gates.new_tests_on_old_source(&differences).into_iter();
    let mut old_source: Vec<Edit> = old_source.map(|(path, take)| old_source_edit(path, take)).collect();
    let began_with = Start { tree: base.to_string(), checks: preparation.checks.clone(), pins };
    let mut memory = preparation.memory.lock().unwrap_or_else(PoisonError::into_inner);
    for data in memory.test_data(&gates, &differences, files.objects.borrow().shadow(), began_with) {
        let path = data.path.clone().into_bytes();
        start.push(Edit::Take(path.clone()));
        old_source.push(Edit::Take(path));
        changes.push(data);
    }
    for change in differing.iter().filter(|change| std::str::from_utf8(&change.path).is_err()) {
        if let Some(found) = unnamed(&gates, change) {
            changes.push(found);
            start.push(Edit::Take(change.path.clone()));
        }
    }
    changes.extend(gates.acting_on_tests(&differences, &read));
    FoundGates { new_tests: gates.has_new_tests(&differences), changes, start, old_source }
}

/// The user's globs, and directories of the project that programs are found in.
fn pins(preparation: &Preparation, shadow: &Shadow) -> Vec<String> {
    let path = std::env::var_os("PATH");
    let dirs = path.iter().flat_map(std::env::split_paths);
    let inside = dirs.filter_map(|dir| layout::below(shadow.top(), &dir)).filter(|dir| !dir.is_empty());
    let inside = inside.map(|dir| format!("{dir}/**"));
    preparation.spec.pin.iter().cloned().chain(inside).collect()
}

/// A gate whose path is not text: it is put back, or removed, whatever is in it.
fn unnamed(gates: &Gates, change: &TreeChange) -> Option<GateChange> {
    let path = String::from_utf8_lossy(&change.path).into_owned();
    let kind = gates.classify(&path)?;
    let change = match change.kind {
        TreeChangeKind::Added => Change::Added,
        TreeChangeKind::Changed => Change::Changed,
        TreeChangeKind::Deleted => Change::Deleted,
    };
    Some(GateChange { path, kind, change, details: Vec::new() })
}

/// What differs and is text. Of the files beside the plan, only those that a check runs or the user has
/// pinned are gates; ralph compares the plan itself by rules of its own.
fn differences(differing: &[TreeChange], preparation: &Preparation, gates: &Gates) -> Vec<Difference> {
    let found = differing.iter().filter_map(|change| {
        let status = match change.kind {
            TreeChangeKind::Added => Status::Added,
            TreeChangeKind::Changed => Status::Changed,
            TreeChangeKind::Deleted => Status::Deleted,
        };
        let path = String::from_utf8(change.path.clone()).ok()?;
        let is_named = || matches!(gates.classify(&path), Some(GateKind::Check | GateKind::Pinned));
        let counts = preparation.is_work(change) || (!preparation.is_own(&path) && is_named());
        counts.then_some(Difference { path, status })
    });
    found.collect()
}

fn edit(path: String, restore: Restore) -> Edit {
    let path = path.into_bytes();
    match restore {
        Restore::PutBack => Edit::Take(path),
        Restore::Remove => Edit::Remove(path),
        Restore::Replace(text) => Edit::Replace(path, text.into_bytes()),
    }
}

fn old_source_edit(path: String, take: Take) -> Edit {
    match take {
        Take::Delivered => Edit::Take(path.into_bytes()),
        Take::Remove => Edit::Remove(path.into_bytes()),
    }
}

/// Files of both trees, each read once.
struct Files<'s> {
    objects: RefCell<&'s mut Objects>,
    base: &'s str,
    delivered: &'s str,
    read: RefCell<HashMap<(bool, String), Option<String>>>,
}

impl Files<'_> {
    fn text(&self, side: Side, path: &str) -> Option<String> {
        let (is_start, tree) = match side {
            Side::Start => (true, self.base),
            Side::Delivered => (false, self.delivered),
        };
        let key = (is_start, path.to_string());
        if let Some(known) = self.read.borrow().get(&key) {
            return known.clone();
        }
        let content = self.objects.borrow_mut().content(tree, path.as_bytes(), MOST_READ);
        let text = content.and_then(|content| String::from_utf8(content).ok());
        self.read.borrow_mut().insert(key, text.clone());
        text
    }
}

impl FoundGates {
    /// Those that decide come first: new tests must not crowd them out.
    pub fn changes(&self) -> Vec<GateChange> {
        let (lowering, others): (Vec<&GateChange>, Vec<&GateChange>) =
            self.changes.iter().partition(|change| change.lowers());
        lowering.into_iter().chain(others).take(MOST_RECORDED).cloned().collect()
    }

    pub fn has_new_tests(&self) -> bool {
        self.new_tests
    }

    /// What makes the delivered tree one with the gates of the start.
    pub fn as_at_the_start(&self) -> Vec<Edit> {
        self.start.clone()
    }

    /// What makes the tree of the start one with the tests as delivered.
    pub fn new_tests_on_old_source(&self) -> Vec<Edit> {
        self.old_source.clone()
    }
}
