//! What decides over checks and is not in the project: programs on the `PATH`, and modules in the user's
//! home that are loaded by themselves.
//!
//! An agent may change it, for good reasons too. It is noted before the first agent, and what has
//! changed since is named. Deliberately absent: configuration ([`super::settings_outside`]), and files
//! that no tool reads by itself; only a sandbox keeps an agent from leaving its work there.

use super::settings_outside::shown;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Directories in the home whose files are loaded by themselves, if their names end like this.
const LOADED: &[(&str, &str)] = &[
    (".local/lib", ".pth"),   // Python runs lines of these at each start
    (".local/lib", ".py"),    // and finds modules there
    (".node_modules", ".js"), // node looks there last
    (".node_libraries", ".js"),
];

/// So deep are the directories above searched: `lib/python3.12/site-packages/x.pth`.
const DEEPEST: usize = 3;

/// Paths, and what tells one version of a file from another.
pub type Stamps = BTreeMap<PathBuf, Stamp>;
/// Size, inode, and time of change, which no program can set.
pub type Stamp = (u64, u64, i64, i64);

/// Notes everything that counts. `agents` are programs that replace themselves: they are not noted.
pub fn look(agents: &[String]) -> Stamps {
    let mut stamps = Stamps::new();
    let dirs: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    // `/bin` is mostly another name for `/usr/bin`.
    let mut seen = BTreeSet::new();
    for dir in dirs.iter().filter(|dir| dir.is_absolute()) {
        if dir.metadata().is_ok_and(|meta| !seen.insert((meta.dev(), meta.ino()))) {
            continue;
        }
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let is_agent = agents.iter().any(|agent| entry.file_name() == agent.as_str());
            if !is_agent {
                note(&mut stamps, entry.path(), entry.metadata());
            }
        }
    }
    if let Some(home) = std::env::home_dir() {
        for (dir, ending) in LOADED {
            note_loaded(&mut stamps, &home.join(dir), ending, 0);
        }
    }
    stamps
}

/// Links are not followed.
fn note(stamps: &mut Stamps, path: PathBuf, meta: io::Result<Metadata>) {
    if let Ok(meta) = meta
        && !meta.is_dir()
    {
        stamps.insert(path, (meta.size(), meta.ino(), meta.ctime(), meta.ctime_nsec()));
    }
}

fn note_loaded(stamps: &mut Stamps, dir: &Path, ending: &str, depth: usize) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth < DEEPEST {
                note_loaded(stamps, &path, ending, depth + 1);
            }
        } else if name.to_str().is_some_and(|name| name.ends_with(ending)) {
            note(stamps, path, entry.metadata());
        }
    }
}

/// Paths that are new or differ, as a user would write them.
pub fn changed(before: &[(PathBuf, Stamp)], now: &Stamps) -> Vec<String> {
    if before.iter().map(|(path, stamp)| (path, stamp)).eq(now) {
        return Vec::new();
    }
    let before: Stamps = before.iter().cloned().collect();
    let new = now.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp)).map(|(path, _)| path);
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    new.chain(gone).map(|path| shown(path)).collect()
}
