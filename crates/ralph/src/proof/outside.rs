//! What decides over checks and is not in the project: programs on the `PATH`, and configuration in
//! the user's home.
//!
//! An agent may change it, for good reasons too. It is noted before the first agent, and what has
//! changed since is named. Deliberately absent: files that no tool reads by itself; only a sandbox
//! keeps an agent from leaving its work there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files in the home that tools read by themselves.
const CONFIGURATION: &[&str] = &[
    ".npmrc",                    // npm, pnpm
    ".yarnrc",                   // yarn
    ".yarnrc.yml",               // yarn
    ".bunfig.toml",              // bun
    ".cargo/config.toml",        // cargo
    ".cargo/config",             // cargo
    ".rustup/settings.toml",     // which Rust is used
    ".config/pip/pip.conf",      // pip
    ".pip/pip.conf",             // pip
    ".pydistutils.cfg",          // setuptools
    ".config/pytest.ini",        // pytest
    ".config/go/env",            // go
    ".gradle/init.gradle",       // gradle
    ".gradle/gradle.properties", // gradle
    ".m2/settings.xml",          // maven
    ".bundle/config",            // bundler
    ".config/nextest.toml",      // cargo nextest
    ".gitconfig",                // git
    ".config/git/config",        // git
    ".config/git/attributes",    // git
    ".config/git/ignore",        // git
];

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
    for dir in dirs.iter().filter(|dir| dir.is_absolute()) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let is_agent = agents.iter().any(|agent| entry.file_name() == agent.as_str());
            if !is_agent {
                note(&mut stamps, entry.path());
            }
        }
    }
    if let Some(home) = std::env::home_dir() {
        for name in CONFIGURATION {
            note(&mut stamps, home.join(name));
        }
        for (dir, ending) in LOADED {
            note_loaded(&mut stamps, &home.join(dir), ending, 0);
        }
    }
    stamps
}

fn note(stamps: &mut Stamps, path: PathBuf) {
    if let Ok(meta) = fs::symlink_metadata(&path)
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
            note(stamps, path);
        }
    }
}

/// Paths that are new or differ, as a user would write them.
pub fn changed(before: &Stamps, now: &Stamps) -> Vec<String> {
    let new = now.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp)).map(|(path, _)| path);
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let home = std::env::home_dir();
    let short = |path: &PathBuf| match home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    };
    new.chain(gone).map(short).collect()
}
