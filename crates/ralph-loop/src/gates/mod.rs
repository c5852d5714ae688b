//! The files that decide over a verdict, and what an iteration did to them.
//!
//! A check says "green", but the agent can change what it runs: the script that it names, the
//! configuration of the test runner, the tests. [`Gates`] knows which files those are, [`Gates::changes`]
//! which of them differ, and [`Gates::restored_tree_plan`] how the delivered tree has to be changed for
//! the checks to run once more with the gates of the start. Green both ways: the changes to the gates
//! lower nothing.
//!
//! Invariant: everything here is a function of texts and paths; files are given by closures. Whatever
//! the texts are, it ends and gives an answer, and for a file that cannot be read the answer is the
//! strict one.
//!
//! Deliberately absent: files that git ignores (installed packages, build products), and whether a
//! change is harmful. The second run decides that.

mod acts_on_tests;
mod build_tools;
mod changes;
mod code;
mod declared;
mod glob;
mod inline;
mod json_text;
mod libraries;
mod manifest;
mod manifest_keys;
mod named;
mod programs;
mod read_data;
mod recipes;
mod shadowing;
mod skips;
pub mod table;
mod text_run;
mod trees;
mod words;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use changes::{Change, Difference, GateChange, Status, in_one_line};
pub use glob::Glob;
pub use inline::{InlineChange, InlineTests, inline_tests, with_tests_of_start};
pub use read_data::TestData;
pub use skips::{newly_skipped, reaches_beyond};
pub use trees::{Restore, Take};

/// Why a file decides over a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// A check names it, or a script that a check runs does.
    Check,
    /// Configuration with a well-known name.
    Config,
    /// Compared by the keys that decide.
    Manifest,
    Test,
    /// By `proof.pin`.
    Pinned,
}

/// Which tree a file is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Start,
    Delivered,
}

/// The gates of a run.
#[derive(Clone, Debug)]
pub struct Gates {
    named: named::Named,
    pins: Vec<Glob>,
    /// Tests that the configuration of the start declares.
    declared: Vec<Glob>,
    table: table::Table,
}

impl Gates {
    /// `checks` are the commands as `sh -c` gets them, run at the top of the tree; `read` gives the
    /// files of the tree at the start, is asked for many paths that do not exist, and for some twice.
    pub fn new(checks: &[&str], pins: &[String], read: &dyn Fn(&str) -> Option<String>) -> Gates {
        Gates {
            named: named::named(checks, read),
            pins: pins.iter().map(|pin| Glob::new(pin)).collect(),
            declared: declared::declared(read),
            table: table::Table::new(),
        }
    }

    /// What kind of gate a path is, if it is one.
    pub fn classify(&self, path: &str) -> Option<GateKind> {
        if self.pins.iter().any(|pin| pin.matches(path)) {
            return Some(GateKind::Pinned);
        }
        let well_known = self.table.row(path).map(|row| row.kind);
        match well_known {
            // Also one that a check names has keys that do not decide.
            Some(GateKind::Manifest) => well_known,
            well_known => self.named.kind(path).or(well_known).or_else(|| {
                let is_test = self.declared.iter().any(|test| test.matches(path));
                is_test.then_some(GateKind::Test)
            }),
        }
    }

    fn is_configuration(&self, path: &str) -> bool {
        self.table.row(path).is_some_and(|row| row.kind == GateKind::Config)
    }

    /// Why a path is a gate, for people.
    pub fn reason(&self, path: &str) -> Option<&'static str> {
        match self.classify(path)? {
            GateKind::Pinned => Some("It is pinned by proof.pin."),
            GateKind::Check => Some("A check runs or reads it."),
            GateKind::Config | GateKind::Manifest | GateKind::Test => Some(
                self.table
                    .row(path)
                    .map_or("A check or the project's configuration says that it is a test.", |row| {
                        row.reason
                    }),
            ),
        }
    }
}
