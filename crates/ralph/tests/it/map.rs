//! What CONTRIBUTING.md says about the source tree, compared with the source tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The entries below a crate in the map: `main.rs`, `engine/`.
fn on_the_map(text: &str, name: &str) -> BTreeSet<String> {
    let lines = text.lines().skip_while(|line| line.split_whitespace().next() != Some(name)).skip(1);
    // A line that goes on with the one before is indented further.
    let entries = lines.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    let names = entries.flat_map(|line| line.split_whitespace().take_while(|word| is_source(word)));
    names.map(|name| name.trim_end_matches(',').to_string()).collect()
}

fn is_source(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    word.ends_with(".rs") || word.ends_with('/')
}

/// Modules, without the snapshots of tests.
fn in_the_tree(name: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(name).join("src")).unwrap().map(|entry| entry.unwrap());
    let names = entries.map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() { name + "/" } else { name }
    });
    names.filter(|name| name != "snapshots/").collect()
}

#[test]
fn the_map_has_every_module_and_nothing_else() {
    let text = read("CONTRIBUTING.md");
    for name in ["crates/ralph-loop", "crates/ralph"] {
        assert_eq!(on_the_map(&text, name), in_the_tree(name), "{name}");
    }
}

#[test]
fn every_file_that_contributing_names_exists() {
    let text = read("CONTRIBUTING.md");
    let quoted =
        text.split('`').skip(1).step_by(2).filter(|word| is_source(word) && !word.contains(['<', ' ']));
    let below = ["", "crates/ralph/src", "crates/ralph-loop/src", "crates/ralph"];
    let missing: Vec<&str> =
        quoted.filter(|path| !below.iter().any(|dir| root().join(dir).join(path).exists())).collect();
    assert!(missing.iter().all(|path| *path == ".ralph/"), "{missing:?}");
}

#[test]
fn the_readme_names_the_rust_that_is_needed() {
    let manifest = read("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap();
    let wanted = format!("Rust {} or newer", version.trim_matches('"'));
    assert!(read("README.md").contains(&wanted), "{wanted}");
}
