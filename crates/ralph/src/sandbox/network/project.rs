//! Which package managers a project needs, by the files that are in it now.

use ralph_loop::sandbox::network::groups::{self, Group};
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::Path;

/// A manifest that is further down is one of an example, or of a dependency.
const DEEPEST: usize = 3;
/// Directories nearer to the top come first.
const MOST_ENTRIES: usize = 20_000;
/// What package managers and builds have made.
const NOT_LOOKED_AT: [&str; 8] =
    ["node_modules", "target", "vendor", "dist", "build", "site-packages", "venv", "__pycache__"];

pub fn groups(tree: &Path) -> Vec<&'static Group> {
    let mut names = BTreeSet::new();
    let mut left = VecDeque::from([(tree.to_path_buf(), 0)]);
    let mut entries = 0;
    while let Some((dir, depth)) = left.pop_front() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                left.clear();
                break;
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            // A link could lead anywhere.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir()
                && depth < DEEPEST
                && !name.starts_with('.')
                && !NOT_LOOKED_AT.contains(&name.as_str())
            {
                left.push_back((entry.path(), depth + 1));
            } else if kind.is_file() {
                names.insert(name);
            }
        }
    }
    groups::groups_of_files(names.iter().map(String::as_str))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make a tree")]
mod tests {
    use super::*;

    #[test]
    fn manifests_near_the_top_count_and_those_of_dependencies_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let found = || groups(dir.path()).iter().map(|group| group.name).collect::<Vec<_>>();
        assert_eq!(found(), Vec::<&str>::new());
        for file in ["node_modules/x/package.json", ".venv/x/setup.py", "a/b/c/d/go.mod"] {
            fs::create_dir_all(dir.path().join(file).parent().unwrap()).unwrap();
            fs::write(dir.path().join(file), "").unwrap();
        }
        assert_eq!(found(), Vec::<&str>::new());
        fs::create_dir_all(dir.path().join("crates/one")).unwrap();
        fs::write(dir.path().join("crates/one/Cargo.toml"), "").unwrap();
        assert_eq!(found(), ["crates"]);
    }
}
