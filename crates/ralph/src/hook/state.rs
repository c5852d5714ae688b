//! What hooks remember of a session: one empty file for each thing that happened.
//!
//! An agent may call several hooks at once. Making a file that must not exist yet is the one
//! step that only one of them can win, so nothing happens twice and nothing is locked.

use super::{Input, Surroundings};
use crate::fsx;
use std::io;
use std::time::{Duration, SystemTime};

/// Sessions do not last longer; what they left is removed when another one starts.
const FORGOTTEN: Duration = Duration::from_secs(7 * 24 * 3600);

pub(super) struct Memory<'a> {
    around: &'a Surroundings,
    session: String,
}

impl<'a> Memory<'a> {
    pub(super) fn of(around: &'a Surroundings, input: &Input) -> Memory<'a> {
        // An agent that does not name its session has at least its run.
        let run = || around.run.as_ref().map_or_else(String::new, |run| run.to_string_lossy().into_owned());
        let session = if input.session_id.is_empty() { run() } else { input.session_id.clone() };
        Memory { around, session }
    }

    fn path(&self, what: &str) -> io::Result<std::path::PathBuf> {
        let home = self.around.home.as_ref().ok_or_else(|| io::Error::other("no home directory"))?;
        Ok(home.hook_mark(&self.session, what))
    }

    pub(super) fn has(&self, what: &str) -> io::Result<bool> {
        self.path(what)?.try_exists()
    }

    /// Whether this is the first time.
    pub(super) fn note(&self, what: &str) -> io::Result<bool> {
        let path = self.path(what)?;
        match fsx::mark(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                if let Some(dir) = path.parent() {
                    fsx::private_dir(dir)?;
                }
                fsx::mark(&path)
            }
            marked => marked,
        }
    }

    pub(super) fn forget(&self, what: &str) -> io::Result<()> {
        match fsx::remove(&self.path(what)?) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => Ok(()),
        }
    }
}

/// Removes what sessions of long ago have left. Nothing depends on it, so nothing is said of
/// what cannot be removed.
pub(super) fn forget_old(around: &Surroundings) {
    let Some(entries) = around.home.as_ref().and_then(|home| fs_err::read_dir(home.hooks()).ok()) else {
        return;
    };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        if modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > FORGOTTEN)) {
            let _ = fsx::remove(&entry.path());
        }
    }
}
