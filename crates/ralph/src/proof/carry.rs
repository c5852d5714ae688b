//! What git ignores and checks need all the same.
//!
//! Dependencies that were installed (`node_modules`, `.venv`) are used as they are, and it is
//! noticed if they have changed since the start. Everything else that was ignored at the start is
//! copied once, as it was then: build outputs stay warm, and what an agent adds to ignored files
//! is not there.

use crate::layout;
use ralph_loop::gates::Glob;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Directories of installed dependencies, by name.
const DEPENDENCIES: &[&str] = &[
    "node_modules",     // npm, pnpm, yarn, bun
    ".yarn",            // yarn's own cache and releases
    ".pnpm-store",      // pnpm in a container
    "bower_components", // bower
    "jspm_packages",    // jspm
    ".venv",            // uv, poetry, python -m venv
    "venv",             // python -m venv
    "__pypackages__",   // pdm
    ".tox",             // tox
    ".nox",             // nox
    ".pixi",            // pixi
    "vendor",           // composer, bundler, go mod vendor
    ".bundle",          // bundler
    "deps",             // mix
    "elm-stuff",        // elm
    ".dart_tool",       // dart, flutter
    "Pods",             // CocoaPods
    "Carthage",         // Carthage
];

/// Ignored files with settings of this machine; each project has an example of one.
fn is_local_settings(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name == ".env" || name == ".envrc" || name.starts_with(".env.")
}

/// Caches that programs write while they run, inside of dependencies. The proof has its own.
const CACHES: &[&str] = &[".cache", ".vite", ".vitest", "__pycache__"];

/// What is ignored, by what is done with it; paths are relative to the top of the work tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    pub dependencies: BTreeSet<PathBuf>,
    pub others: BTreeSet<PathBuf>,
}

impl Ignored {
    /// `carry` are paths that the user wants to be used as they are.
    pub fn of(paths: &[PathBuf], carry: &[String]) -> Ignored {
        let mut ignored = Ignored::default();
        // From the top.
        let globs: Vec<Glob> = carry.iter().map(|carried| Glob::new(&format!("/{carried}"))).collect();
        for path in paths {
            if is_ralphs(path) {
                continue;
            }
            match carried(path, &globs).or_else(|| dependency_around(path)) {
                Some(dir) => ignored.dependencies.insert(dir),
                None => ignored.others.insert(path.clone()),
            };
        }
        ignored
    }
}

/// What of a path the user wants to be used as it is: the outermost directory that a pattern fits.
fn carried(path: &Path, globs: &[Glob]) -> Option<PathBuf> {
    let above: Vec<&Path> = path.ancestors().collect();
    let fits = |dir: &&&Path| dir.to_str().is_some_and(|dir| globs.iter().any(|glob| glob.matches(dir)));
    above.iter().rev().filter(|dir| !dir.as_os_str().is_empty()).find(fits).map(|dir| dir.to_path_buf())
}

/// Ralph's own files are no part of a project.
fn is_ralphs(path: &Path) -> bool {
    let name = path.file_name();
    path.components().any(|part| part.as_os_str() == ".ralph")
        || name.is_some_and(|name| name == "ralph.log" || name == ".ralph-active")
}

/// The outermost directory of dependencies that a path is, or is in. Some have a `.gitignore` of
/// their own, so that git names every file in them.
fn dependency_around(path: &Path) -> Option<PathBuf> {
    if is_local_settings(path) {
        return Some(path.to_path_buf());
    }
    let mut around = PathBuf::new();
    for part in path.components() {
        let Component::Normal(name) = part else { continue };
        around.push(name);
        if DEPENDENCIES.iter().any(|known| name == *known) {
            return Some(around);
        }
    }
    None
}

/// What a file or directory is made of, as a hash: names, sizes, inodes and times of change, which no
/// program can set. Caches are left out.
pub fn manifest(dir: &Path) -> String {
    let mut entries = Vec::new();
    let stamp = |meta: &fs::Metadata| {
        [meta.size(), meta.ino(), meta.ctime() as u64, meta.ctime_nsec() as u64]
            .map(u64::to_le_bytes)
            .concat()
    };
    if let Ok(meta) = fs::symlink_metadata(dir)
        && !meta.is_dir()
    {
        entries.push((dir.to_path_buf(), stamp(&meta)));
    }
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        let Ok(listing) = fs::read_dir(&dir) else { continue };
        for entry in listing.flatten() {
            // Of the entry, and not by its path: that would be looked up again from the root.
            let Ok(meta) = entry.metadata() else { continue };
            if !meta.is_dir() {
                entries.push((entry.path(), stamp(&meta)));
            } else if !CACHES.iter().any(|cache| entry.file_name() == *cache) {
                dirs.push(entry.path());
            }
        }
    }
    entries.sort_unstable_by(|(one, _), (other, _)| one.as_os_str().cmp(other.as_os_str()));
    let mut all = Vec::new();
    for (path, stamp) in entries {
        all.extend_from_slice(path.as_os_str().as_bytes());
        all.push(0);
        all.extend_from_slice(&stamp);
    }
    layout::hash(&all)
}

/// Caches inside of a directory, as far as they are not too deep.
pub fn caches(dir: &Path) -> Vec<PathBuf> {
    let named = CACHES.iter().filter(|name| **name != "__pycache__");
    named.map(|name| dir.join(name)).filter(|path| path.is_dir()).collect()
}

/// Directories of dependencies, and what they were made of at the start.
pub type Manifests = BTreeMap<String, String>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsx;

    #[test]
    fn dependencies_are_told_from_other_ignored_files() {
        let paths = ["target", ".env", "web/node_modules", ".venv/bin/python", ".ralph/x.log", "data/big"];
        let paths = paths.map(PathBuf::from);
        let ignored = Ignored::of(&paths, &["data/big".to_string()]);
        let names = |paths: &BTreeSet<PathBuf>| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&ignored.dependencies), ".env .venv data/big web/node_modules");
        assert_eq!(names(&ignored.others), "target");
    }

    #[test]
    fn what_the_user_wants_to_be_carried_can_be_a_pattern_from_the_top() {
        let paths = ["data/a/x.bin", "data/b", "cache", "sub/cache", "gen-1.py", "gen-2.txt"];
        let paths = paths.map(PathBuf::from);
        let carry = ["data/{a,c}", "./cache/", "gen-*.py"].map(String::from);
        let ignored = Ignored::of(&paths, &carry);
        let names = |paths: &BTreeSet<PathBuf>| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&ignored.dependencies), "cache data/a gen-1.py");
        assert_eq!(names(&ignored.others), "data/b gen-2.txt sub/cache");
    }

    #[test]
    fn a_replaced_file_is_noticed_and_a_cache_is_not() {
        let dir = tempfile::tempdir().unwrap();
        fsx::dir(&dir.path().join("pkg/__pycache__")).unwrap();
        fsx::write_whole(&dir.path().join("pkg/a.js"), b"1").unwrap();
        let before = manifest(dir.path());
        fsx::write_whole(&dir.path().join("pkg/__pycache__/a.pyc"), b"x").unwrap();
        assert_eq!(manifest(dir.path()), before);
        fsx::write_whole(&dir.path().join("pkg/a.js"), b"2").unwrap();
        assert_ne!(manifest(dir.path()), before);
    }
}
