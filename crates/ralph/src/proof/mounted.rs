//! What the checks of a round see beside the delivered tree: temporary files of their own, dependencies
//! as they are in the workspace, and files that no tree holds.

use super::carry::{self, Ignored};
use super::copy::{CACHES, CleanCopy, Looked, PYCACHE, Refreshed, TMP};
use super::mounts::{Access, Mounts};
use crate::fsx;
use crate::git::copied_repository::MODULES;
use crate::git::shadow::Shadow;
use ralph_loop::proof::ProofSpec;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// So many paths are taken along.
const MOST_TAKEN_ALONG: usize = 200;

impl CleanCopy {
    /// Temporary files are the checks' own, but for sockets of services, and for what is needed and lies
    /// there.
    pub(super) fn mount_temporary(&self, mounts: &mut Mounts, shadow: &Shadow) {
        let places = temporary_places();
        for place in places.iter().filter(|place| place.is_dir() && **place != self.top) {
            mounts.bind(self.dir.join(TMP), place.clone(), Access::Write);
            for entry in fs::read_dir(place).into_iter().flatten().flatten() {
                let is_service =
                    entry.file_type().is_ok_and(|kind| kind.is_socket()) || entry.file_name() == ".X11-unix";
                if is_service {
                    mounts.bind(entry.path(), entry.path(), Access::Write);
                }
            }
        }
        mounts.empty(PathBuf::from("/dev/shm"));
        let hidden = |path: &PathBuf| places.iter().any(|place| path.starts_with(place) && path != place);
        let path = std::env::var_os("PATH");
        let programs = path.iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute());
        let home = std::env::home_dir().into_iter().map(|home| (home, Access::Write));
        let ralphs = self.needed_records(shadow);
        let programs = programs.map(|dir| (dir, Access::Read));
        for (dir, access) in home.chain(programs).chain(ralphs).filter(|(dir, _)| hidden(dir) && dir.is_dir())
        {
            mounts.bind(dir.clone(), dir, access);
        }
    }

    /// What its repository borrows objects from, and where Python compiles to.
    pub(super) fn needed_records(&self, shadow: &Shadow) -> [(PathBuf, Access); 2] {
        let objects = shadow.kept().dir().join("objects");
        [(objects, Access::Read), (self.dir.join(PYCACHE), Access::Write)]
    }

    /// Submodules have their repositories inside of the user's.
    pub(super) fn mount_modules(&self, mounts: &mut Mounts, shadow: &Shadow) -> io::Result<()> {
        if let Some(modules) = shadow.modules() {
            let inside = Path::new(".git").join(MODULES);
            fsx::private_dir(&self.place.dir.join(&inside))?;
            mounts.bind(modules, self.top.join(inside), Access::Read);
        }
        Ok(())
    }

    pub(super) fn mount_dependencies(
        &mut self,
        mounts: &mut Mounts,
        ignored: &Ignored,
        spec: &ProofSpec,
        looked: &Looked,
        found: &mut Refreshed,
    ) -> io::Result<()> {
        // Also those that are too large to be copied.
        let known = ignored
            .others
            .iter()
            .filter(|path| self.start.dependencies.contains_key(&path.display().to_string()));
        let all: BTreeSet<&PathBuf> = ignored.dependencies.iter().chain(known).collect();
        for (number, path) in all.into_iter().enumerate() {
            let outside = self.top.join(path);
            let Ok(meta) = outside.symlink_metadata() else { continue };
            let name = path.display().to_string();
            let has_changed = self.start.dependencies.get(&name) != Some(&looked.manifest(&name, &outside));
            // What the agent has changed is installed again, where the user says how.
            if has_changed && meta.is_dir() && !spec.setup.is_empty() {
                found.setup = true;
                continue;
            }
            if has_changed {
                found.carried.push(name);
            }
            if meta.is_symlink() {
                continue;
            }
            let inside = self.top.join(path);
            self.make_mount_point(path, meta.is_dir())?;
            mounts.bind(outside.clone(), inside, Access::Write);
            for (cache_number, cache) in carry::caches(&outside).into_iter().enumerate() {
                let own = self.dir.join(CACHES).join(format!("{number}-{cache_number}"));
                fsx::private_dir(&own)?;
                mounts.bind(own, cache, Access::Write);
            }
        }
        Ok(())
    }

    pub(super) fn mount_unrecorded(
        &mut self,
        mounts: &mut Mounts,
        unrecorded: &[String],
        looked: &Looked,
        found: &mut Refreshed,
    ) -> io::Result<()> {
        for name in unrecorded.iter().take(MOST_TAKEN_ALONG) {
            let path = Path::new(name.trim_end_matches('/'));
            let outside = self.top.join(path);
            let Ok(meta) = outside.symlink_metadata() else { continue };
            if meta.is_symlink() {
                continue;
            }
            let key = path.display().to_string();
            if self.start.dependencies.get(&key) != Some(&looked.manifest(&key, &outside)) {
                found.carried.push(key);
            }
            self.make_mount_point(path, meta.is_dir())?;
            mounts.bind(outside.clone(), outside, Access::Write);
            found.taken_along.push(name.clone());
        }
        Ok(())
    }

    /// Something to mount on, where the copy has nothing.
    fn make_mount_point(&mut self, path: &Path, is_dir: bool) -> io::Result<()> {
        let point = self.place.dir.join(path);
        if point.symlink_metadata().is_ok() {
            return Ok(());
        }
        if let Some(above) = point.parent() {
            fsx::dir(above)?;
        }
        if is_dir {
            fsx::dir(&point)?;
        } else {
            fsx::place(&point, b"", false)?;
        }
        self.place.leave_out(path, is_dir);
        self.points.push(path.to_path_buf());
        Ok(())
    }
}

/// Directories of temporary files, which are empty for checks.
pub(super) fn temporary_places() -> BTreeSet<PathBuf> {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from).and_then(|dir| dir.canonicalize().ok());
    own.into_iter().chain([PathBuf::from("/tmp")]).collect()
}
