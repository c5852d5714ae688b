//! Package caches inside: ralph's own, shared by all runs, at the paths of the user's.
//!
//! A new one is filled from the user's, at most so much and for so long, when a project first uses
//! its ecosystem. Files are copied, by reference where the file system can: with a link, what is written
//! inside would be the user's.
//!
//! Deliberately absent: locks against other runs. Package managers lock their caches by themselves, and
//! the files that they lock are shared as well.

use super::private::Way;
use super::view::{Leads, View};
use super::visible::Visible;
use crate::fsx::{self, TreeCopy};
use crate::layout;
use crate::proof::mounts::Access;
use ralph_loop::sandbox::Places;
use ralph_loop::sandbox::caches::{ECOSYSTEMS, Ecosystem, Kind, Part, SHARED, Seed};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// So much of the user's cache of one ecosystem is copied, in so much time. The rest is downloaded
/// again when it is needed.
const MOST_COPIED: u64 = 2 << 30;
const LONGEST: Duration = Duration::from_secs(5);
/// Manifests are looked for so deep, in so many directories.
const DEEPEST: usize = 2;
const MOST_DIRS: usize = 200;
/// There once a cache was filled, or need not be.
const FILLED: &str = ".filled";

pub struct CachesRequest<'a> {
    pub view: &'a View,
    pub places: Places<'a>,
    pub workspace: &'a Path,
    pub ralph: &'a layout::Home,
    pub way: Way,
}

#[derive(Clone, Debug, Default)]
pub struct Caches {
    pub visible: Visible,
    /// Variables that programs inside get.
    pub env: Vec<(OsString, OsString)>,
    /// What was copied, for people.
    pub filled: Vec<String>,
}

impl Caches {
    pub fn prepare(request: &CachesRequest<'_>) -> io::Result<Caches> {
        let root = request.ralph.caches();
        fsx::private_dir(&root)?;
        let mut caches = Caches::default();
        let shared = Mounted::new(&root, SHARED.path, request);
        if let Some(shared) = &shared {
            fsx::private_dir(&shared.from)?;
            caches.mount(shared, request);
        }
        let used = ecosystems_in(request.workspace);
        for system in ECOSYSTEMS {
            let dir = root.join(system.name);
            let is_used = used.contains(system.name);
            let mut parts: Vec<(&Part, Mounted)> = Vec::new();
            for part in system.parts {
                let Some(own) = Mounted::new(&dir, part.path, request) else { continue };
                let own = shared.as_ref().and_then(|shared| own.within(shared)).unwrap_or(own);
                // What the user does not have, and the project does not need, can be in memory.
                if is_used || own.to.symlink_metadata().is_ok() {
                    parts.push((part, own));
                }
            }
            if is_used && request.way == Way::Mounted {
                caches.fill(system, &dir, &parts, request)?;
            }
            let unset = system.env.iter().filter(|(name, _)| (request.places.variable)(name).is_none());
            caches.env.extend(unset.map(|(name, value)| (name.into(), value.into())));
            for (part, own) in parts {
                match part.kind {
                    Kind::Dir(_) if own.is_mounted => fsx::private_dir(&own.from)?,
                    Kind::Dir(_) => continue,
                    Kind::Lock => {
                        fsx::private_dir(&dir)?;
                        fsx::mark(&own.from)?;
                    }
                }
                caches.mount(&own, request);
            }
        }
        Ok(caches)
    }

    fn mount(&mut self, part: &Mounted, request: &CachesRequest<'_>) {
        // Outside of the home nothing can be made to mount it on, but where the user could.
        let can_be_mounted =
            request.view.is_hidden(&part.to) || part.to.exists() || fsx::dir(&part.to).is_ok();
        match can_be_mounted {
            true => self.visible.bind(part.from.clone(), part.to.clone(), Access::Write),
            false => self.visible.skipped.push(format!("{} cannot be made writable", part.to.display())),
        }
    }

    /// Fills the caches of an ecosystem that no run has used yet.
    fn fill(
        &mut self,
        system: &Ecosystem,
        dir: &Path,
        parts: &[(&Part, Mounted)],
        request: &CachesRequest<'_>,
    ) -> io::Result<()> {
        fsx::private_dir(dir)?;
        if dir.join(FILLED).exists() {
            return Ok(());
        }
        // Another run that is at it just now copies the same.
        let lock = fsx::lock_file(&dir.join(".lock"))?;
        lock.lock()?;
        if dir.join(FILLED).exists() {
            return Ok(());
        }
        let free = fsx::free_bytes(dir).unwrap_or(u64::MAX) / 4;
        let most = MOST_COPIED.min(free);
        let mut copy = TreeCopy::of_at_most(most).until(Instant::now() + LONGEST);
        remove_leftovers(dir);
        let scratch = fsx::scratch_dir(dir)?;
        for (number, (part, own)) in parts.iter().enumerate() {
            let Kind::Dir(seeds) = part.kind else { continue };
            let Some(Leads::To(users)) = request.view.follow(&own.to) else { continue };
            let made = scratch.path().join(number.to_string());
            for (below, seed) in seeds {
                fill_part(&mut copy, &users.join(below), &made.join(below), *seed);
            }
            own.take_over(&made)?;
        }
        let copied = (most - copy.bytes_left) >> 20;
        if copied > 0 {
            self.filled.push(format!("{}: {copied} MiB", system.name));
        }
        fsx::mark(&dir.join(FILLED)).map(drop)
    }
}

/// Removes what a kill has left half copied.
fn remove_leftovers(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(fsx::SCRATCH.as_bytes()) {
            let _ = fsx::remove_tree(&entry.path());
        }
    }
}

/// Copies what there is time and room for.
fn fill_part(copy: &mut TreeCopy, from: &Path, to: &Path, seed: Seed) {
    let copied = copy.copy(from, to);
    if copied.is_err() && seed == Seed::Whole {
        // Half of it would be taken for all of it.
        let _ = fsx::remove_tree(to);
    }
}

/// A part of a cache, and where it is inside.
struct Mounted {
    from: PathBuf,
    to: PathBuf,
    /// It is not part of another one.
    is_mounted: bool,
}

impl Mounted {
    fn new(dir: &Path, row: &str, request: &CachesRequest<'_>) -> Option<Mounted> {
        let to = request.view.inside(&request.places.expand(row)?);
        if request.view.is_too_much(&to) || request.view.is_writable(&to) {
            return None;
        }
        // Outside of the home links are as outside, and nothing is mounted on one.
        let to = if request.view.is_hidden(&to) { to } else { to.canonicalize().unwrap_or(to) };
        let name = row.trim_start_matches(['$', '~', '/']).replace('/', "-");
        Some(Mounted { from: dir.join(name), to, is_mounted: true })
    }

    /// Moves what was copied to its place. What is there already was made by a program inside, and has
    /// what that needed.
    fn take_over(&self, made: &Path) -> io::Result<()> {
        let is_free = |path: &Path| path.symlink_metadata().is_err();
        if !made.is_dir() {
            return Ok(());
        }
        if is_free(&self.from) {
            return fsx::rename(made, &self.from);
        }
        // Of other directories, programs inside decide what they are.
        if self.is_mounted {
            for entry in fs::read_dir(made)? {
                let entry = entry?;
                let place = self.from.join(entry.file_name());
                if is_free(&place) {
                    fsx::rename(&entry.path(), &place)?;
                }
            }
        }
        Ok(())
    }

    /// The same as a directory in the cache that many share. Deeper in it, a program inside could put a
    /// link in the way.
    fn within(&self, shared: &Mounted) -> Option<Mounted> {
        let below = self.to.strip_prefix(&shared.to).ok()?;
        (below.components().count() == 1).then(|| Mounted {
            from: shared.from.join(below),
            to: self.to.clone(),
            is_mounted: false,
        })
    }
}

/// The ecosystems that a project uses, by the files in it.
fn ecosystems_in(workspace: &Path) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut dirs = vec![(workspace.to_path_buf(), 0)];
    let mut looked_at = 0;
    while let Some((dir, depth)) = dirs.pop() {
        looked_at += 1;
        if looked_at > MOST_DIRS {
            break;
        }
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
            let Some(name) = name.to_str() else { continue };
            let is_project = !name.starts_with('.') && !matches!(name, "node_modules" | "target" | "vendor");
            if kind.is_dir() && depth < DEEPEST && is_project {
                dirs.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                found.extend(
                    ECOSYSTEMS.iter().filter(|system| system.is_shown_by(name)).map(|system| system.name),
                );
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests write what they need")]
    use super::*;

    struct Stage {
        _dir: tempfile::TempDir,
        root: PathBuf,
        view: View,
    }

    impl Stage {
        fn new(files: &[&str]) -> Stage {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            for file in files {
                fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
                fs::write(root.join(file), file).unwrap();
            }
            for dir in ["home", "work"] {
                fs::create_dir_all(root.join(dir)).unwrap();
            }
            let view = View::new(root.join("home"), &[], &[root.join("work")]).unwrap();
            Stage { _dir: dir, root, view }
        }

        fn prepare(&self) -> Caches {
            let ralph = layout::Home::at(self.root.join("ralph"));
            let home = self.root.join("home");
            let places = Places { home: &home, variable: &|_| None };
            let workspace = self.root.join("work");
            let request = CachesRequest {
                view: &self.view,
                places,
                workspace: &workspace,
                ralph: &ralph,
                way: Way::Mounted,
            };
            Caches::prepare(&request).unwrap()
        }

        fn own(&self, path: &str) -> PathBuf {
            self.root.join("ralph/sandbox/caches").join(path)
        }
    }

    #[test]
    fn the_cache_of_an_ecosystem_is_filled_once_and_is_not_the_users() {
        let stage = Stage::new(&[
            "work/sub/Cargo.toml",
            "home/.cargo/registry/index/r/.cache/a",
            "home/.cargo/registry/cache/r/a.crate",
            "home/.cargo/registry/src/r/a/lib.rs",
            "home/.npm/_cacache/content-v2/x",
            "ralph/sandbox/caches/cargo/scratch.old/x",
        ]);
        // As if an earlier run had mounted it without a use for it.
        fs::create_dir_all(stage.own("cargo/CARGO_HOME-registry")).unwrap();
        let first = stage.prepare();
        let registry = stage.own("cargo/CARGO_HOME-registry");
        assert!(registry.join("index/r/.cache/a").is_file() && registry.join("cache/r/a.crate").is_file());
        assert!(!registry.join("src").exists(), "it is unpacked again");
        assert!(
            !stage.own("npm/npm_config_cache-_cacache/content-v2").exists(),
            "the project has no use for it"
        );
        assert!(stage.own("cargo/CARGO_HOME-.package-cache").is_file());
        assert!(!stage.own("cargo/scratch.old").exists());
        let shown: Vec<_> = first.visible.sources_below(&stage.root.join("home/.cargo/registry")).collect();
        assert_eq!(shown, std::slice::from_ref(&registry));
        fs::remove_dir_all(registry.join("cache")).unwrap();
        stage.prepare();
        assert!(!registry.join("cache").exists());
        assert!(stage.root.join("home/.cargo/registry/cache/r/a.crate").is_file());
    }

    #[test]
    fn caches_in_the_shared_directory_are_filled_there_unless_a_program_inside_was_faster() {
        let stage = Stage::new(&[
            "work/requirements.txt",
            "home/.cache/pip/http/x",
            "home/.cache/uv/archive/x",
            "home/.cache/fontconfig/x",
            "ralph/sandbox/caches/XDG_CACHE_HOME/uv/mine",
        ]);
        let caches = stage.prepare();
        let shared = stage.own("XDG_CACHE_HOME");
        assert!(shared.join("pip/http/x").is_file());
        assert!(shared.join("uv/mine").is_file() && !shared.join("uv/archive").exists());
        assert!(!shared.join("fontconfig").exists());
        assert_eq!(caches.env, [("UV_LINK_MODE".into(), "copy".into())]);
    }

    #[test]
    fn a_link_that_a_program_inside_left_is_not_followed() {
        let stage = Stage::new(&["work/requirements.txt", "home/.cache/pip/x", "outside/y"]);
        let shared = stage.own("XDG_CACHE_HOME");
        fs::create_dir_all(&shared).unwrap();
        std::os::unix::fs::symlink(stage.root.join("outside"), shared.join("pip")).unwrap();
        stage.prepare();
        assert_eq!(fs::read_dir(stage.root.join("outside")).unwrap().count(), 1);
    }

    #[test]
    fn what_half_copied_would_be_broken_is_copied_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::create_dir_all(dir.path().join("from")).unwrap();
            fs::write(dir.path().join("from").join(name), "12345").unwrap();
        }
        let copied = |seed| {
            let to = dir.path().join(format!("{seed:?}"));
            fill_part(&mut TreeCopy::of_at_most(7), &dir.path().join("from"), &to, seed);
            fs::read_dir(to).map_or(0, Iterator::count)
        };
        assert_eq!((copied(Seed::Pieces), copied(Seed::Whole)), (1, 0));
        let late = TreeCopy::of_at_most(99)
            .until(Instant::now())
            .copy(&dir.path().join("from"), &dir.path().join("to"));
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
