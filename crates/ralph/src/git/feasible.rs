//! Whether a restore can finish, found out before it changes the first file.
//!
//! All that is to be written is read, into a scratch directory; directories and files that change
//! can be written and replaced; and there is room for all of it at every moment of the restore,
//! which removes first and replaces one file after the other.

use super::checked;
use super::shadow::{Prepared, Shadow, ShadowError};
use crate::fsx;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

impl Shadow {
    pub(super) fn can_finish(&self, prepared: &Prepared) -> Result<(), ShadowError> {
        let Prepared { to, removed, wanted, .. } = prepared;
        let mut disks = Disks::default();
        for path in removed {
            let (path, dir) = self.replaceable(path)?;
            if !self.is_behind_link(&path) {
                disks.free(&path, &dir);
            }
        }
        let wanted: Vec<_> = wanted
            .iter()
            .map(|name| Ok((name, self.replaceable(name)?)))
            .collect::<Result<_, ShadowError>>()?;
        if wanted.is_empty() {
            return Ok(());
        }
        // Before the scratch directory takes some of it.
        wanted.iter().for_each(|(_, (_, dir))| disks.measure(dir));
        let scratch = fsx::scratch_dir(self.dir())?;
        let git = || self.git().env("GIT_INDEX_FILE", scratch.path().join("index"));
        let files = scratch.path().join("files/");
        let mut prefix = OsString::from("--prefix=");
        prefix.push(&files);
        let names: Vec<u8> = wanted.iter().flat_map(|(name, _)| name.iter().copied().chain([0])).collect();
        let checkout = git().args(["checkout-index", "-q", "-z", "--stdin"]).arg(prefix).stdin(&names);
        checked("read-tree", git().args(["read-tree", to]))
            .and_then(|_| checked("checkout-index", checkout))
            .map_err(ShadowError::Unreadable)?;
        for (name, (path, dir)) in &wanted {
            disks.free(path, dir);
            let written = files.join(OsStr::from_bytes(name)).symlink_metadata();
            disks.write(written.map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 }), dir);
        }
        disks.have_room()
    }

    /// A path that can be replaced or removed, and the directory above it that exists.
    fn replaceable(&self, name: &[u8]) -> Result<(PathBuf, PathBuf), ShadowError> {
        let path = self.top().join(OsStr::from_bytes(name));
        let is_dir = |dir: &&Path| dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let dir = path.ancestors().skip(1).find(is_dir).unwrap_or(self.top()).to_path_buf();
        if !fsx::is_writable(&dir) {
            return Err(ShadowError::NotWritable(dir));
        }
        if path.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) && !fsx::is_removable(&path, &dir) {
            return Err(ShadowError::Fixed(path));
        }
        Ok((path, dir))
    }
}

/// How much the restore takes of each disk that it writes to.
#[derive(Default)]
struct Disks(BTreeMap<u64, Disk>);

struct Disk {
    dir: PathBuf,
    /// Nothing where the system does not say.
    free: Option<u64>,
    now: i64,
    peak: i64,
}

/// What disks hand out, mostly.
const BLOCK: u64 = 4096;

impl Disks {
    fn of(&mut self, dir: &Path) -> Option<&mut Disk> {
        let device = dir.metadata().ok()?.dev();
        Some(self.0.entry(device).or_insert_with(|| Disk {
            dir: dir.to_path_buf(),
            free: fsx::free_bytes(dir),
            now: 0,
            peak: 0,
        }))
    }

    fn measure(&mut self, dir: &Path) {
        self.of(dir);
    }

    /// A file goes, and its content unless it has another name.
    fn free(&mut self, path: &Path, dir: &Path) {
        let Ok(meta) = path.symlink_metadata() else { return };
        if let Some(disk) = self.of(dir).filter(|_| meta.is_file() && meta.nlink() == 1) {
            disk.now -= i64::try_from(meta.blocks().saturating_mul(512)).unwrap_or(0);
        }
    }

    fn write(&mut self, bytes: u64, dir: &Path) {
        let Some(disk) = self.of(dir) else { return };
        let bytes = bytes.div_ceil(BLOCK).saturating_mul(BLOCK);
        disk.now = disk.now.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
        disk.peak = disk.peak.max(disk.now);
    }

    fn have_room(self) -> Result<(), ShadowError> {
        for Disk { dir, free, peak, .. } in self.0.into_values() {
            let wanted = u64::try_from(peak).unwrap_or(0);
            if let Some(free) = free.filter(|free| *free < wanted) {
                return Err(ShadowError::NoRoom { dir, wanted: wanted >> 10, free: free >> 10 });
            }
        }
        Ok(())
    }
}
