//! Package caches, a row per ecosystem.
//!
//! In a sandbox they are ralph's own: writable, because a read-only one breaks each new dependency,
//! shared by all runs, and filled from the user's at first, as far as that is quick. Files that
//! package managers lock are shared with them, so that runs at the same time keep out of each
//! other's way.
//!
//! Deliberately absent: what a package manager unpacks from its downloads. It does that again, and half
//! of such a directory would be taken for all of it.

#[derive(Debug, PartialEq, Eq)]
pub struct Ecosystem {
    pub name: &'static str,
    /// Files that show that a project uses it. One may begin with `*`.
    manifests: &'static [&'static str],
    pub parts: &'static [Part],
    /// What its programs find in their environment.
    pub env: &'static [(&'static str, &'static str)],
}

/// A directory or a lock of a cache.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub path: &'static str,
    pub kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// With what it is filled with at first.
    Dir(&'static [(&'static str, Seed)]),
    /// A file that is locked, and has nothing in it.
    Lock,
}

/// How much of a user's cache is of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// Any of its files.
    Pieces,
    /// All of it, or nothing.
    Whole,
}

use Kind::{Dir, Lock};
use Seed::{Pieces, Whole};

/// Where most tools keep their caches. It is there for every project.
pub const SHARED: Part = Part { path: "$XDG_CACHE_HOME", kind: Dir(&[]) };

pub const ECOSYSTEMS: &[Ecosystem] = &[
    Ecosystem {
        name: "cargo",
        manifests: &["Cargo.toml", "Cargo.lock"],
        parts: &[
            Part { path: "$CARGO_HOME/registry", kind: Dir(&[("index", Whole), ("cache", Pieces)]) },
            Part { path: "$CARGO_HOME/git", kind: Dir(&[("db", Whole)]) },
            Part { path: "$CARGO_HOME/.package-cache", kind: Lock },
            Part { path: "$CARGO_HOME/.package-cache-mutate", kind: Lock },
        ],
        env: &[],
    },
    Ecosystem {
        name: "npm",
        manifests: &["package.json"],
        parts: &[
            Part {
                path: "$npm_config_cache/_cacache",
                kind: Dir(&[("content-v2", Pieces), ("index-v5", Pieces)]),
            },
            Part { path: "$XDG_CACHE_HOME/node", kind: Dir(&[("corepack", Whole)]) },
            Part { path: "$XDG_CACHE_HOME/node-gyp", kind: Dir(&[("", Whole)]) },
            Part { path: "$XDG_CACHE_HOME/ms-playwright", kind: Dir(&[("", Whole)]) },
        ],
        env: &[],
    },
    Ecosystem {
        name: "pnpm",
        manifests: &["pnpm-lock.yaml", "pnpm-workspace.yaml"],
        parts: &[Part { path: "$PNPM_HOME/store", kind: Dir(&[("", Whole)]) }],
        env: &[],
    },
    Ecosystem {
        name: "yarn",
        manifests: &["yarn.lock", ".yarnrc.yml"],
        parts: &[
            Part { path: "$XDG_CACHE_HOME/yarn", kind: Dir(&[("", Whole)]) },
            Part { path: "~/.yarn/berry/cache", kind: Dir(&[("", Pieces)]) },
        ],
        env: &[],
    },
    Ecosystem {
        name: "bun",
        manifests: &["bun.lock", "bun.lockb", "bunfig.toml"],
        parts: &[Part { path: "$BUN_INSTALL/install/cache", kind: Dir(&[("", Whole)]) }],
        env: &[],
    },
    Ecosystem {
        name: "deno",
        manifests: &["deno.json", "deno.jsonc", "deno.lock"],
        parts: &[Part { path: "$DENO_DIR", kind: Dir(&[("", Whole)]) }],
        env: &[],
    },
    Ecosystem {
        name: "python",
        manifests: &[
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "requirements*",
            "Pipfile",
            "tox.ini",
            "uv.lock",
        ],
        parts: &[
            Part { path: "$PIP_CACHE_DIR", kind: Dir(&[("", Pieces)]) },
            Part { path: "$UV_CACHE_DIR", kind: Dir(&[("", Whole)]) },
            Part { path: "$XDG_CACHE_HOME/pypoetry", kind: Dir(&[("artifacts", Whole)]) },
            Part { path: "$XDG_CACHE_HOME/pre-commit", kind: Dir(&[("", Whole)]) },
        ],
        // It links from its cache, which it finds on what looks like another disk, and says so each time.
        env: &[("UV_LINK_MODE", "copy")],
    },
    Ecosystem {
        name: "go",
        manifests: &["go.mod", "go.work"],
        parts: &[
            Part { path: "$GOMODCACHE", kind: Dir(&[("cache/download", Whole)]) },
            Part { path: "$GOCACHE", kind: Dir(&[]) },
        ],
        env: &[],
    },
    Ecosystem {
        name: "maven",
        manifests: &["pom.xml"],
        parts: &[
            Part { path: "~/.m2/repository", kind: Dir(&[("", Pieces)]) },
            Part { path: "~/.m2/wrapper", kind: Dir(&[("", Whole)]) },
        ],
        env: &[],
    },
    Ecosystem {
        name: "gradle",
        manifests: &["build.gradle*", "settings.gradle*", "gradlew"],
        parts: &[
            Part { path: "$GRADLE_USER_HOME/caches", kind: Dir(&[("", Whole)]) },
            Part { path: "$GRADLE_USER_HOME/wrapper", kind: Dir(&[("", Whole)]) },
        ],
        env: &[],
    },
    Ecosystem {
        name: "dotnet",
        manifests: &["*.csproj", "*.fsproj", "*.sln", "global.json"],
        parts: &[Part { path: "$NUGET_PACKAGES", kind: Dir(&[("", Whole)]) }],
        env: &[],
    },
    Ecosystem {
        name: "ruby",
        manifests: &["Gemfile", "*.gemspec"],
        parts: &[Part { path: "~/.bundle/cache", kind: Dir(&[("", Whole)]) }],
        env: &[],
    },
];

impl Ecosystem {
    /// Whether a file with this name shows that a project uses it.
    pub fn is_shown_by(&self, file: &str) -> bool {
        self.manifests.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => file.ends_with(end),
            (None, Some(beginning)) => file.starts_with(beginning),
            (None, None) => *pattern == file,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Places;
    use std::path::Path;

    #[test]
    fn an_ecosystem_is_shown_by_a_manifest() {
        let shown = |file: &str| -> Vec<&str> {
            ECOSYSTEMS.iter().filter(|system| system.is_shown_by(file)).map(|system| system.name).collect()
        };
        assert_eq!(shown("Cargo.toml"), ["cargo"]);
        assert_eq!(shown("requirements-dev.txt"), ["python"]);
        assert_eq!(shown("build.gradle.kts"), ["gradle"]);
        assert_eq!(shown("package.json"), ["npm"]);
        assert_eq!(shown("My.csproj"), ["dotnet"]);
        assert_eq!(shown("README.md"), [""; 0]);
    }

    #[test]
    fn no_cache_holds_another_one_but_the_shared_one() {
        let places = Places { home: Path::new("/h"), variable: &|_| None };
        let paths: Vec<_> = ECOSYSTEMS.iter().flat_map(|system| system.parts).collect();
        for (at, part) in paths.iter().enumerate() {
            let path = places.expand(part.path).unwrap();
            assert!(path.starts_with("/h"), "{}", part.path);
            for other in &paths[at + 1..] {
                let other = places.expand(other.path).unwrap();
                assert!(!other.starts_with(&path) && !path.starts_with(&other), "{}", part.path);
            }
        }
    }
}
