//! Which gates differ between the tree at the start and the delivered one, and how.
//!
//! Invariant: every differing path that is a gate is reported, but for manifests whose deciding keys
//! are equal. A text above 1 MiB or one that is not UTF-8 is not compared: it is changed.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::manifest::{self, Deciding};
use super::{GateKind, Gates, InlineChange, Side, inline, shadowing, skips};
use crate::text::printable;

const LONGEST: usize = 1024 * 1024;

/// A path that differs between two trees. A renamed file is a deleted and an added one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub path: String,
    pub status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Added,
    /// In its content, its mode or its type.
    Changed,
    Deleted,
}

/// A gate that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateChange {
    pub path: String,
    pub kind: GateKind,
    pub change: Change,
    /// Keys of a manifest, marks of skipped tests, what a new test does to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Changed,
    Deleted,
    /// A file that a check names or the user has pinned, or one that acts on other tests.
    Added,
    /// Changed, and fewer of its tests run.
    TestSkipped,
    NewConfiguration,
    /// No test, but code that changes what tests do, or knows that they run.
    ActsOnTests,
    /// Welcome: it lowers nothing.
    NewTest,
}

impl Change {
    fn words(self) -> &'static str {
        match self {
            Change::Changed => "changed",
            Change::Deleted => "deleted",
            Change::Added => "new",
            Change::TestSkipped => "test skipped",
            Change::NewConfiguration => "new configuration",
            Change::ActsOnTests => "acts on tests",
            Change::NewTest => "new test",
        }
    }
}

impl GateChange {
    /// Whether the checks have to run with the gates of the start too.
    pub fn needs_second_run(&self) -> bool {
        match self.change {
            Change::Changed
            | Change::Deleted
            | Change::Added
            | Change::TestSkipped
            | Change::NewConfiguration => true,
            Change::ActsOnTests | Change::NewTest => false,
        }
    }

    /// Whether green checks say less because of it, as long as nothing else shows that they do not.
    pub fn lowers(&self) -> bool {
        self.needs_second_run() || self.change == Change::ActsOnTests
    }
}

impl fmt::Display for GateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", on_one_line(&self.path), self.change.words())?;
        if !self.details.is_empty() {
            let shown: Vec<String> = self.details.iter().take(3).map(|detail| on_one_line(detail)).collect();
            let more = self.details.len() - shown.len();
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            write!(f, ": {}{more}", shown.join(", "))?;
        }
        f.write_str(")")
    }
}

/// A path can have any characters.
fn on_one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], "?")
}

/// All changes in one line for people, up to a number of them.
pub fn in_one_line(changes: &[GateChange], most: usize) -> String {
    let shown: Vec<String> = changes.iter().take(most).map(GateChange::to_string).collect();
    match changes.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl Gates {
    /// The gates among the differences, in their order. `read` gives a file of either tree as text,
    /// `None` if it is missing or not UTF-8.
    pub fn changes(
        &self,
        differences: &[Difference],
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Vec<GateChange> {
        differences.iter().filter_map(|difference| self.change(difference, read)).collect()
    }

    /// Source files whose tests inside differ, in their order.
    pub fn inline_changes(
        &self,
        differences: &[Difference],
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Vec<InlineChange> {
        let sources = differences.iter().filter(|difference| self.classify(&difference.path).is_none());
        sources
            .filter_map(|Difference { path, .. }| {
                let (before, after) = (read(Side::Start, path), read(Side::Delivered, path));
                inline::inline_tests(path, before.as_deref(), after.as_deref())
            })
            .collect()
    }

    fn change(
        &self,
        difference: &Difference,
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Option<GateChange> {
        let Difference { path, status } = difference;
        let kind = self.classify(path)?;
        let (change, details) = match kind {
            GateKind::Manifest => return self.manifest_change(path, *status, read),
            GateKind::Check | GateKind::Pinned => match status {
                Status::Added if self.is_configuration(path) => (Change::NewConfiguration, Vec::new()),
                Status::Added => (Change::Added, Vec::new()),
                Status::Changed => (Change::Changed, Vec::new()),
                Status::Deleted => (Change::Deleted, Vec::new()),
            },
            // It was imported before as well.
            GateKind::Config if *status != Status::Added && shadowing::is_shadowing(path) => return None,
            GateKind::Config => match status {
                Status::Added => (Change::NewConfiguration, Vec::new()),
                Status::Changed => (Change::Changed, Vec::new()),
                Status::Deleted => (Change::Deleted, Vec::new()),
            },
            GateKind::Test => match status {
                Status::Added => {
                    let text = read(Side::Delivered, path).unwrap_or_default();
                    match skips::reaches_beyond(path, &text) {
                        reaches if reaches.is_empty() && skips::is_loaded_by_name(path, &text) => {
                            (Change::Added, vec!["other tests can load it".to_string()])
                        }
                        reaches if reaches.is_empty() => (Change::NewTest, reaches),
                        reaches => (Change::Added, reaches),
                    }
                }
                Status::Deleted => (Change::Deleted, Vec::new()),
                Status::Changed => match self.skipped(path, read) {
                    marks if marks.is_empty() => (Change::Changed, marks),
                    marks => (Change::TestSkipped, marks),
                },
            },
        };
        Some(GateChange { path: path.clone(), kind, change, details })
    }

    fn skipped(&self, path: &str, read: &dyn Fn(Side, &str) -> Option<String>) -> Vec<String> {
        let text = |side| read(side, path).filter(|text| text.len() <= LONGEST);
        match (text(Side::Start), text(Side::Delivered)) {
            (Some(before), Some(after)) => skips::newly_skipped(path, &before, &after),
            _ => Vec::new(),
        }
    }

    fn manifest_change(
        &self,
        path: &str,
        status: Status,
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Option<GateChange> {
        let change = match status {
            Status::Added => Change::NewConfiguration,
            Status::Changed => Change::Changed,
            Status::Deleted => Change::Deleted,
        };
        let details = match self.deciding(path, status, read) {
            Deciding::Keys(keys) if keys.is_empty() && status != Status::Deleted => return None,
            Deciding::Keys(keys) => keys.iter().map(|keys| keys.join(".")).collect(),
            Deciding::Whole => Vec::new(),
        };
        let details = if status == Status::Deleted { Vec::new() } else { details };
        Some(GateChange { path: path.to_string(), kind: GateKind::Manifest, change, details })
    }

    /// What of a manifest decides and differs.
    pub(super) fn deciding(
        &self,
        path: &str,
        status: Status,
        read: &dyn Fn(Side, &str) -> Option<String>,
    ) -> Deciding {
        let (before, after) = (read(Side::Start, path), read(Side::Delivered, path));
        // A file that exists and cannot be read as text is no manifest that could be compared.
        let unreadable = match status {
            Status::Added => after.is_none(),
            Status::Changed => before.is_none() || after.is_none(),
            Status::Deleted => false,
        };
        if unreadable {
            return Deciding::Whole;
        }
        manifest::deciding(path, before.as_deref(), after.as_deref(), &self.named)
    }
}
