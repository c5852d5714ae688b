//! Configuration that tools read by themselves and that lies outside of the project: above it, and in the
//! user's home.
//!
//! Noted before the first agent, with its content, and compared at each claim. What has changed is a
//! changed gate like one of the project: the checks run again with it as it was. Invariant: nothing is
//! written outside of the run's record; a file as it was is only mounted.
//!
//! Deliberately absent: programs and modules outside of the project ([`super::outside`]), and files that a
//! tool is told of by a variable.

use super::mounted::temporary_places;
use crate::fsx;
use crate::layout::{self, RunDir};
use ralph_loop::gates::{Change, GateChange, GateKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files that tools look for in the directories above a project.
const ABOVE: &[&str] = &[
    ".cargo/config.toml",      // cargo
    ".cargo/config",           // cargo
    "Cargo.toml",              // cargo: the workspace of a package
    "rust-toolchain.toml",     // which Rust is used
    "rust-toolchain",          // which Rust is used
    "clippy.toml",             // clippy
    ".clippy.toml",            // clippy
    "rustfmt.toml",            // rustfmt
    ".rustfmt.toml",           // rustfmt
    "conftest.py",             // pytest
    "pytest.ini",              // pytest
    ".pytest.ini",             // pytest
    "pytest.toml",             // pytest
    ".pytest.toml",            // pytest
    "tox.ini",                 // pytest, tox
    "setup.cfg",               // pytest, flake8
    "pyproject.toml",          // pytest, ruff, uv
    "ruff.toml",               // ruff
    ".ruff.toml",              // ruff
    ".python-version",         // pyenv, uv
    "package.json",            // workspaces of npm, pnpm, yarn; the kind of modules in Node
    ".npmrc",                  // npm, pnpm
    "pnpm-workspace.yaml",     // pnpm
    ".pnpmfile.cjs",           // pnpm
    ".yarnrc",                 // yarn
    ".yarnrc.yml",             // yarn
    "bunfig.toml",             // bun
    "nx.json",                 // nx
    "turbo.json",              // turbo
    "tsconfig.json",           // TypeScript
    "babel.config.js",         // Babel
    "babel.config.json",       // Babel
    ".babelrc",                // Babel
    "jest.config.js",          // Jest
    "jest.config.json",        // Jest
    ".eslintrc",               // ESLint
    ".eslintrc.js",            // ESLint
    ".eslintrc.cjs",           // ESLint
    ".eslintrc.json",          // ESLint
    ".eslintrc.yml",           // ESLint
    "eslint.config.js",        // ESLint
    "eslint.config.mjs",       // ESLint
    ".prettierrc",             // Prettier
    ".prettierrc.json",        // Prettier
    ".nvmrc",                  // nvm
    ".node-version",           // nodenv, fnm
    "deno.json",               // deno
    "go.work",                 // go
    "go.mod",                  // go
    ".golangci.yml",           // golangci-lint
    "settings.gradle",         // gradle
    "settings.gradle.kts",     // gradle
    ".mvn/maven.config",       // maven
    ".mvn/jvm.config",         // maven
    ".mvn/extensions.xml",     // maven
    "Directory.Build.props",   // MSBuild
    "Directory.Build.targets", // MSBuild
    "global.json",             // .NET
    "nuget.config",            // NuGet
    "Gemfile",                 // bundler
    ".rspec",                  // rspec
    ".rubocop.yml",            // rubocop
    ".bazelrc",                // bazel
    ".editorconfig",           // formatters
    ".tool-versions",          // asdf, mise
    "mise.toml",               // mise
    ".mise.toml",              // mise
    ".envrc",                  // direnv
    "bsconfig.json",           // ReScript
];

/// Files in the home that tools read by themselves.
const HOME: &[&str] = &[
    ".npmrc",                    // npm, pnpm
    ".yarnrc",                   // yarn
    ".yarnrc.yml",               // yarn
    ".bunfig.toml",              // bun
    ".cargo/config.toml",        // cargo
    ".cargo/config",             // cargo
    ".rustup/settings.toml",     // which Rust is used
    ".config/pip/pip.conf",      // pip
    ".pip/pip.conf",             // pip
    ".config/uv/uv.toml",        // uv
    ".pydistutils.cfg",          // setuptools
    ".config/pytest.ini",        // pytest
    ".config/go/env",            // go
    ".gradle/init.gradle",       // gradle
    ".gradle/gradle.properties", // gradle
    ".m2/settings.xml",          // maven
    ".bundle/config",            // bundler
    ".config/nextest.toml",      // cargo nextest
    ".rspec",                    // rspec
    ".gitconfig",                // git
    ".config/git/config",        // git
    ".config/git/attributes",    // git
    ".config/git/ignore",        // git
];

/// Directories of the home that variables can move.
const MOVED: &[(&str, &str)] = &[
    (".config", "XDG_CONFIG_HOME"),
    (".cargo", "CARGO_HOME"),
    (".rustup", "RUSTUP_HOME"),
    (".gradle", "GRADLE_USER_HOME"),
];

/// A larger file is no configuration: it cannot be put back, and counts if it changes.
const LARGEST: u64 = 1 << 20;

/// Configuration outside of a project, as it was before the first agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsOutside {
    files: BTreeMap<PathBuf, Noted>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Noted {
    /// Size, inode, and time of change: while these are the same, nothing has to be read.
    stamp: (u64, u64, i64, i64),
    /// Of its content; none if it cannot be read.
    hash: Option<String>,
}

impl Noted {
    /// None for what is no file.
    fn of(path: &Path) -> Option<(Noted, Option<Vec<u8>>)> {
        let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let stamp = (meta.size(), meta.ino(), meta.ctime(), meta.ctime_nsec());
        let content = (meta.len() <= LARGEST).then(|| fs::read(path).ok()).flatten();
        let hash = content.as_deref().map(layout::hash);
        Some((Noted { stamp, hash }, content))
    }

    fn is_same(&self, path: &Path) -> bool {
        let Ok(meta) = fs::metadata(path) else { return false };
        let stamp = (meta.size(), meta.ino(), meta.ctime(), meta.ctime_nsec());
        stamp == self.stamp
            || (self.hash.is_some() && Noted::of(path).is_some_and(|(now, _)| now.hash == self.hash))
    }
}

/// A changed file, and what it takes to see it as it was.
pub struct ChangedSetting {
    path: PathBuf,
    change: Change,
    /// The content of the start, in the run's record. None if it cannot be shown.
    as_before: Option<PathBuf>,
}

impl SettingsOutside {
    /// Notes everything that is there, and keeps it in the record.
    pub fn note(run_dir: &RunDir, top: &Path) -> io::Result<()> {
        let mut noted = SettingsOutside::default();
        let kept = run_dir.proof_settings();
        fsx::private_dir(&kept)?;
        for path in paths(top) {
            let Some((file, content)) = Noted::of(&path) else { continue };
            if let (Some(hash), Some(content)) = (&file.hash, content) {
                fsx::write_whole(&kept.join(hash), &content)?;
            }
            noted.files.insert(path, file);
        }
        // What stands for a file that did not exist.
        for (name, content) in [(EMPTY, ""), (EMPTY_JSON, "{}\n")] {
            fsx::write_whole(&kept.join(name), content.as_bytes())?;
        }
        fsx::write_whole(&kept.join(NOTED), &serde_json::to_vec(&noted).map_err(io::Error::other)?)
    }

    /// What has changed since it was noted. Nothing where nothing was noted.
    pub fn changed(run_dir: &RunDir, top: &Path) -> Vec<ChangedSetting> {
        let kept = run_dir.proof_settings();
        let noted = fs::read(kept.join(NOTED)).ok();
        let noted: Option<SettingsOutside> = noted.and_then(|noted| serde_json::from_slice(&noted).ok());
        let Some(noted) = noted else { return Vec::new() };
        let change = |path: PathBuf| {
            let exists = fs::metadata(&path).is_ok_and(|meta| meta.is_file());
            let (change, as_before) = match noted.files.get(&path) {
                None if !exists => return None,
                Some(file) if file.is_same(&path) => return None,
                _ if is_inside(top, &path) => return None,
                None => (Change::NewConfiguration, Some(kept.join(empty(&path)))),
                Some(file) if exists => (Change::Changed, file.hash.as_ref().map(|hash| kept.join(hash))),
                // Mounting it would leave an empty file in its place.
                Some(_) => (Change::Deleted, None),
            };
            Some(ChangedSetting { path, change, as_before })
        };
        paths(top).into_iter().filter_map(change).collect()
    }
}

impl ChangedSetting {
    /// Whether it is among temporary files, which are hidden from checks where something can be mounted;
    /// the home is not.
    pub fn is_temporary(&self) -> bool {
        let in_home = std::env::home_dir().is_some_and(|home| self.path.starts_with(home));
        !in_home && temporary_places().iter().any(|place| self.path.starts_with(place))
    }

    /// What to mount, and where, for checks to see it as it was. None if that cannot be done.
    pub fn as_before(&self) -> Option<(PathBuf, PathBuf)> {
        // A link is resolved where it leads.
        Some((self.as_before.clone()?, self.path.canonicalize().ok()?))
    }

    pub fn gate(&self) -> GateChange {
        let (path, kind) = (shown(&self.path), GateKind::Config);
        GateChange { path, kind, change: self.change, details: Vec::new() }
    }
}

/// All that is looked at, each once.
fn paths(top: &Path) -> Vec<PathBuf> {
    let above = top.ancestors().skip(1).flat_map(|dir| ABOVE.iter().map(|name| dir.join(name)));
    let home =
        std::env::home_dir().into_iter().flat_map(|home| HOME.iter().map(move |name| in_home(&home, name)));
    let mut paths: Vec<PathBuf> = above.chain(home).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// A link into the project leads to one of its files.
fn is_inside(top: &Path, path: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path.starts_with(top))
}

fn in_home(home: &Path, name: &str) -> PathBuf {
    let moved = MOVED.iter().find_map(|(dir, variable)| {
        let below = name.strip_prefix(dir)?.strip_prefix('/')?;
        let value = std::env::var_os(variable).filter(|value| !value.is_empty())?;
        Some(PathBuf::from(value).join(below))
    });
    moved.unwrap_or_else(|| home.join(name))
}

/// As a user would write it.
pub(super) fn shown(path: &Path) -> String {
    match std::env::home_dir().as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

fn empty(path: &Path) -> &'static str {
    if path.extension().is_some_and(|end| end == "json") { EMPTY_JSON } else { EMPTY }
}

const NOTED: &str = "noted.json";
const EMPTY: &str = "empty";
const EMPTY_JSON: &str = "empty.json";
