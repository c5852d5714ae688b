//! What the guard has denied and warned of, and how often in a row it could not answer.

use crate::fsx;
use crate::secrets;
use ralph_loop::text::clip;
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// An agent that is denied again and again must not fill the disk.
const LARGEST: u64 = 4 << 20;
/// So much of a command is kept.
const LONGEST_COMMAND: usize = 2000;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// RFC 3339.
    pub at: String,
    pub session: String,
    pub tool: String,
    /// What the call would do, cut.
    pub command: String,
    pub outcome: Outcome,
    /// `git/force-push`; none where the guard could not answer.
    pub rule: Option<String>,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Block,
    Warn,
    /// The user was asked.
    Ask,
    /// The guard could not decide, and denied.
    Failed,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Block => "block",
            Outcome::Warn => "warn",
            Outcome::Ask => "ask",
            Outcome::Failed => "failed",
        }
    }
}

/// Adds to the log, without secrets. One that is full loses its older half, which is one file back.
pub fn append(log: &Path, mut entry: Entry) -> io::Result<()> {
    // Masked first: half a secret is not known as one.
    entry.command = clip(&secrets::mask(&entry.command), LONGEST_COMMAND).into_owned();
    entry.why = clip(&secrets::mask(&entry.why), LONGEST_COMMAND).into_owned();
    let mut line = serde_json::to_vec(&entry)?;
    line.push(b'\n');
    if log.metadata().is_ok_and(|meta| meta.len() + line.len() as u64 > LARGEST) {
        // In a sandbox the file has to stay where it is. Then it is full.
        fsx::rename(log, &older(log))?;
    }
    fsx::append_unlinked(log, &line)
}

/// All entries, oldest first. What is no entry is skipped: an agent in a sandbox can write there.
pub fn read(log: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in [older(log), log.to_path_buf()] {
        let file = match fsx::open_regular(&file) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(2 * LARGEST).read_to_end(&mut bytes)?;
        let lines = bytes.split(|byte| *byte == b'\n');
        entries.extend(lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok()));
    }
    Ok(entries)
}

fn older(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

/// Answers in a row that the guard could not give: a line each. The script around the hook adds to it as well, if
/// ralph itself is gone.
pub struct Failures<'a>(pub &'a Path);

/// After so many the run pauses.
const MOST_FAILURES: usize = 3;

impl Failures<'_> {
    pub fn note(&self, why: &str) -> io::Result<()> {
        let why = secrets::mask(why).replace('\n', " ");
        fsx::append_unlinked(self.0, format!("{}\n", clip(&why, LONGEST_COMMAND)).as_bytes())
    }

    /// The guard has answered.
    pub fn forget(&self) -> io::Result<()> {
        match self.0.symlink_metadata() {
            Ok(meta) if meta.len() > 0 => fsx::rewrite(&mut fsx::lock_file(self.0)?, b""),
            _ => Ok(()),
        }
    }

    /// Why the run cannot go on, if it cannot.
    pub fn too_many(&self) -> Option<String> {
        let text = fsx::read_at_most(self.0, LARGEST).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.last().filter(|_| lines.len() >= MOST_FAILURES)?;
        Some(format!("the guard could not answer {} times in a row: {last}", lines.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(command: &str) -> Entry {
        Entry {
            at: "2026-11-18T01:02:03Z".into(),
            session: "s".into(),
            tool: "Bash".into(),
            command: command.into(),
            outcome: Outcome::Block,
            rule: Some("git/force-push".into()),
            why: "it is".into(),
        }
    }

    #[test]
    fn what_was_logged_is_read_back_without_what_agents_add() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("guard.jsonl");
        assert_eq!(read(&log).unwrap(), []);
        append(&log, entry("git push -f")).unwrap();
        fsx::append(&log, b"nonsense\n\xff\n{}\n").unwrap();
        append(&log, entry(&"x".repeat(5000))).unwrap();
        let entries = read(&log).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0], entry("git push -f"));
        assert!(entries[1].command.len() <= LONGEST_COMMAND + 10, "{}", entries[1].command.len());
    }

    #[test]
    fn a_full_log_keeps_the_newer_entries() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("guard.jsonl");
        for number in 0..5000 {
            append(&log, entry(&format!("{number} {}", "x".repeat(1900)))).unwrap();
        }
        let size = |file: &Path| file.metadata().unwrap().len();
        assert!(size(&log) <= LARGEST && size(&older(&log)) <= LARGEST);
        assert!(read(&log).unwrap().last().unwrap().command.starts_with("4999 "));
    }

    #[test]
    fn three_failures_in_a_row_are_too_many() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("guard.failures");
        let failures = Failures(&file);
        failures.forget().unwrap();
        for _ in 0..2 {
            failures.note("a\nb").unwrap();
        }
        assert_eq!(failures.too_many(), None);
        failures.forget().unwrap();
        for _ in 0..3 {
            assert_eq!(failures.too_many(), None);
            failures.note("broken").unwrap();
        }
        let why = failures.too_many().unwrap();
        assert_eq!(why, "the guard could not answer 3 times in a row: broken");
    }
}
