//! Commands that are unfinished, a rebase or a merge with conflicts, and what git keeps for a moment:
//! `ORIG_HEAD`, the message of a commit.

use super::carry::CarryError;
use super::one::One;
use super::root::remove;
use super::taken::is_message;
use crate::fsx;
use ralph_loop::text::{clip, printable};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const DIRS: [&str; 3] = ["rebase-merge", "rebase-apply", "sequencer"];

/// Lists of what is still to be done, or was.
const TODO_LISTS: [&str; 4] = ["git-rebase-todo", "git-rebase-todo.backup", "done", "todo"];

/// All that git understands in such a list, but for `exec`.
const COMMANDS: [&[u8]; 24] = [
    b"pick",
    b"p",
    b"reword",
    b"r",
    b"edit",
    b"e",
    b"squash",
    b"s",
    b"fixup",
    b"f",
    b"drop",
    b"d",
    b"label",
    b"l",
    b"reset",
    b"t",
    b"merge",
    b"m",
    b"update-ref",
    b"u",
    b"break",
    b"b",
    b"noop",
    b"revert",
];

impl One<'_> {
    pub(super) fn carry_states(&mut self, own: &Path) -> Result<(), CarryError> {
        let [base, real, taken] = [&self.base, &self.real, &self.taken].map(|dir| dir.join(own));
        let names: BTreeSet<OsString> = messages(&base).into_iter().chain(messages(&taken)).collect();
        for name in names {
            let [was, is, now] = [&base, &real, &taken].map(|dir| fs::read(dir.join(&name)).ok());
            // The user's own is newer.
            if now == was || now == is || is != was {
                continue;
            }
            match now {
                Some(now) => fsx::write_whole(&real.join(&name), &now)?,
                None => remove(&real.join(&name))?,
            }
        }
        for name in DIRS {
            let [was, is, now] = [&base, &real, &taken].map(|dir| files(&dir.join(name)));
            let now = self.without_exec(now);
            if now == was || now == is {
                continue;
            }
            if is != was {
                self.told.push(format!("{name} was changed outside meanwhile, and stays as it is there"));
                continue;
            }
            replace(&real.join(name), &now)?;
        }
        Ok(())
    }

    /// Going on with a rebase outside must not run what a list from inside says.
    fn without_exec(&mut self, mut files: Files) -> Files {
        for (path, content) in &mut files {
            if !TODO_LISTS.iter().any(|list| path == Path::new(list)) {
                continue;
            }
            let (kept, removed) = without_commands(content);
            *content = kept;
            for line in removed {
                let line = String::from_utf8_lossy(&line).into_owned();
                let line = clip(&printable(&line), 80).into_owned();
                self.told.push(format!("removed from an unfinished rebase ({}): {line}", path.display()));
            }
        }
        files
    }
}

/// A list without the lines that git would not understand, or would run.
fn without_commands(list: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    for line in list.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii();
        let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if text.is_empty() || text.starts_with(b"#") || COMMANDS.contains(&word) {
            kept.extend_from_slice(line);
        } else {
            removed.push(text.to_vec());
        }
    }
    (kept, removed)
}

fn messages(dir: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter(|entry| entry.path().is_file()).map(|entry| entry.file_name());
    names.filter(|name| name.to_str().is_some_and(is_message)).collect()
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(dir: &Path) -> Files {
    let (mut found, mut dirs) = (Files::new(), vec![dir.to_path_buf()]);
    while let Some(inner) = dirs.pop() {
        for entry in fs::read_dir(inner).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else if let (Ok(below), Ok(content)) = (path.strip_prefix(dir), fs::read(&path)) {
                found.insert(below.to_path_buf(), content);
            }
        }
    }
    found
}

/// A directory that is half written would be taken for a command that is unfinished, so it is made beside
/// its place.
fn replace(dir: &Path, files: &Files) -> io::Result<()> {
    let mut beside = dir.as_os_str().to_os_string();
    beside.push(".ralph");
    let beside = PathBuf::from(beside);
    remove(&beside)?;
    if files.is_empty() {
        return remove(dir);
    }
    fsx::dir(&beside)?;
    for (path, content) in files {
        let path = beside.join(path);
        fsx::dir(path.parent().unwrap_or(&beside))?;
        fsx::write_whole(&path, content)?;
    }
    remove(dir)?;
    fsx::rename(&beside, dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_a_rebase_keeps_its_commits_and_loses_its_commands() {
        let list =
            b"pick 1 a\n\texec touch /x\nx touch /y\n# comment\n\nbreak\n!touch\nfixup -C 2 b\n exec  z";
        let (kept, removed) = without_commands(list);
        assert_eq!(String::from_utf8_lossy(&kept), "pick 1 a\n# comment\n\nbreak\nfixup -C 2 b\n");
        assert_eq!(removed.len(), 4);
    }
}
