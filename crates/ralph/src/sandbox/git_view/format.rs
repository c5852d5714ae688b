//! How a repository names its objects and keeps its refs.

use super::config;
use crate::git::GitError;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) sha256: bool,
    /// Refs and reflogs are in tables, and not in files of their own.
    pub(super) reftable: bool,
}

impl Format {
    pub(super) fn of(real: &Path) -> Result<Format, GitError> {
        let settings = config::list(&real.join("config"))?;
        let last = |key: &str| settings.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
        let is = |key: &str, value: &[u8]| {
            last(key).is_some_and(|found| found.to_ascii_lowercase().starts_with(value))
        };
        Ok(Format {
            sha256: is("extensions.objectformat", b"sha256"),
            reftable: is("extensions.refstorage", b"reftable"),
        })
    }

    pub(super) fn is_id(self, text: &[u8]) -> bool {
        text.len() == self.id_length() && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    pub(super) fn id_length(self) -> usize {
        if self.sha256 { 64 } else { 40 }
    }

    /// The id of nothing.
    pub(super) fn zero(self) -> String {
        "0".repeat(self.id_length())
    }

    /// The configuration of a git directory in this format.
    pub(super) fn config(self) -> String {
        let mut text = String::from("[core]\n\tbare = true\n\tlogAllRefUpdates = false\n");
        if self.sha256 || self.reftable {
            text.push_str("\trepositoryFormatVersion = 1\n[extensions]\n");
        }
        if self.sha256 {
            text.push_str("\tobjectFormat = sha256\n");
        }
        if self.reftable {
            text.push_str("\trefStorage = reftable\n");
        }
        text
    }
}
