//! Configuration: what differs inside, and which files of the work tree git outside obeys.

use super::scratch;
use crate::git::{GitError, apart_from_hooks, checked};
use crate::process::tool::Tool;
use crate::settings::mask;
use ralph_loop::text::{clip, printable};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Nothing has as much configuration as this.
pub(super) const MOST_BYTES: u64 = 1 << 20;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The keys and values of one file, in their order; none if there is no such file. Files that it
/// includes are not read.
pub(super) fn list(file: &Path) -> Result<Vec<(String, Vec<u8>)>, GitError> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let list = ["config", "--list", "-z", "--no-includes", "--file"];
    let listed = checked("config", scratch::git(Path::new("/nowhere")).args(list).arg(file))?;
    Ok(entries(&listed).collect())
}

fn entries(listed: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let entries = listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries.map(|entry| {
        let mut parts = entry.splitn(2, |byte| *byte == b'\n');
        let key = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        // A key alone means true.
        (key, parts.next().unwrap_or(b"true").to_vec())
    })
}

/// Turns off in a file for the inside what is on in a git directory: no key for signatures is there,
/// a monitor would be ended with its step, and an index in two files only costs time.
pub(super) fn turn_off(file: &Path, git_dir: &Path) -> Result<(), GitError> {
    const KEYS: [&str; 4] = ["core.fsmonitor", "core.splitindex", "commit.gpgsign", "tag.gpgsign"];
    let listed = checked("config", scratch::git_as_configured(git_dir).args(["config", "--list", "-z"]))?;
    let is_on = |wanted: &str| {
        let last = entries(&listed).filter(|(key, _)| key == wanted).last();
        last.is_some_and(|(_, value)| !matches!(value.as_slice(), b"false" | b"no" | b"off" | b"0" | b""))
    };
    for key in KEYS.into_iter().filter(|key| is_on(key)) {
        let set = scratch::git(Path::new("/nowhere")).args(["config", "--file"]).arg(file);
        checked("config", set.args(["--replace-all", key, "false"]))?;
    }
    Ok(())
}

/// What a configuration says now and did not say before: `key: old → new`.
pub(super) fn changes(before: &[(String, Vec<u8>)], after: &[(String, Vec<u8>)]) -> Vec<String> {
    let by_key = |listed: &[(String, Vec<u8>)]| {
        let mut keys: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
        for (key, value) in listed {
            keys.entry(key.clone()).or_default().push(value.clone());
        }
        keys
    };
    let (before, after) = (by_key(before), by_key(after));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changed = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    changed
        .map(|key| format!("{}: {} → {}", shown(key.as_bytes()), values(key, &before), values(key, &after)))
        .collect()
}

fn values(key: &str, keys: &BTreeMap<String, Vec<Vec<u8>>>) -> String {
    let Some(values) = keys.get(key) else { return "(not set)".to_string() };
    // Together, because the name of a key may say that its value is a secret.
    let one = |value: &Vec<u8>| {
        let masked = mask::text(&format!("{key}: {}", shown(&without_password(value))));
        masked.strip_prefix(&format!("{key}: ")).unwrap_or(mask::MASK).to_string()
    };
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A URL without what comes before its host.
fn without_password(value: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    let hidden = text.split_once("://").and_then(|(scheme, rest)| {
        let (user, host) = rest.split('/').next()?.rsplit_once('@')?;
        let path = &rest[user.len() + 1 + host.len()..];
        user.contains(':').then(|| format!("{scheme}://{}@{host}{path}", mask::MASK))
    });
    hidden.map_or_else(|| value.to_vec(), String::into_bytes)
}

fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 120;
    let text = String::from_utf8_lossy(text).replace('\n', " ");
    clip(&printable(&text), LONGEST).to_string()
}

/// Paths of the work tree that the user's own git obeys.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Obeyed {
    /// Configuration that is included, whether it exists or not.
    pub files: Vec<PathBuf>,
    /// `core.hooksPath`.
    pub hooks: Option<PathBuf>,
}

impl Obeyed {
    pub(super) fn in_tree(top: &Path, git_dir: &Path) -> Obeyed {
        // With the user's own configuration: it may lead here, too.
        let git = apart_from_hooks(Tool::new("git")).cwd(top).timeout(TIMEOUT);
        let list = ["config", "--list", "-z", "--show-origin", "--includes"];
        let listed = git.args(list).run().map(|answer| answer.stdout).unwrap_or_default();
        let mut fields = listed.split(|byte| *byte == 0);
        let (mut files, mut hooks) = (BTreeSet::new(), None);
        while let (Some(origin), Some(entry)) = (fields.next(), fields.next()) {
            let Some((key, value)) = entries(entry).next() else { continue };
            let origin = origin.strip_prefix(b"file:").map(|path| top.join(OsStr::from_bytes(path)));
            let value = Path::new(OsStr::from_bytes(&value)).to_path_buf();
            let is_include =
                key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path"));
            if is_include && !value.starts_with("~") {
                files.extend(origin.as_deref().and_then(Path::parent).map(|dir| plain(&dir.join(&value))));
            }
            if key == "core.hookspath" {
                hooks = Some(plain(&top.join(&value))).filter(|_| !value.starts_with("~"));
            }
            files.extend(origin.map(|path| plain(&path)));
        }
        let is_in_tree = |path: &PathBuf| path.starts_with(top) && path != top && !path.starts_with(git_dir);
        Obeyed { files: files.into_iter().filter(is_in_tree).collect(), hooks: hooks.filter(is_in_tree) }
    }
}

/// Without `.` and `..`, whether or not it exists.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
        entries.iter().map(|(key, value)| (key.to_string(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_change_names_the_key_and_both_values_and_no_secret() {
        let before = listed(&[("a.b", "1"), ("m.x", "1"), ("m.x", "2"), ("gone.x", "y"), ("same.x", "z")]);
        let after = listed(&[
            ("a.b", "2"),
            ("m.x", "1"),
            ("same.x", "z"),
            ("remote.o.url", "https://me:secret@host/path"),
            ("http.authorization", "bearer 123456789"),
            ("new.x", "line\n\u{1b}[31m"),
        ]);
        let changes = changes(&before, &after).join("\n");
        for expected in ["a.b: 1 → 2", "m.x: 1, 2 → 1", "gone.x: y → (not set)", "https://***@host/path"]
        {
            assert!(changes.contains(expected), "{expected}: {changes}");
        }
        for hidden in ["secret", "123456789", "\u{1b}", "same.x"] {
            assert!(!changes.contains(hidden), "{hidden}: {changes}");
        }
    }
}
