//! Locks of gits that were killed.
//!
//! Git holds a lock on a file while it writes that file anew, for a moment. A git that was killed
//! leaves its lock behind, which stops every git after it.

use crate::fsx;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Far longer than git holds a lock.
const LEFTOVER_GIT: Duration = Duration::from_secs(2);

/// Removes the locks that no git gives back. Returns whether there was any lock, so that what
/// failed for it is worth trying again.
pub fn take_over(locks: &[PathBuf]) -> bool {
    let found: Vec<_> = locks.iter().filter_map(|lock| Some((lock, identity(lock)?))).collect();
    let stays = |(lock, held): &(&PathBuf, (u64, u64))| identity(lock) == Some(*held);
    let deadline = Instant::now() + LEFTOVER_GIT;
    while found.iter().any(stays) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    // Another file of that name is the lock of a git that is alive.
    for (lock, _) in found.iter().filter(|lock| stays(lock)) {
        let _ = fsx::remove(lock);
    }
    !found.is_empty()
}

fn identity(lock: &Path) -> Option<(u64, u64)> {
    lock.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write files")]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn only_a_lock_that_stays_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let [stale, held, none] = ["stale.lock", "held.lock", "none.lock"].map(|name| dir.path().join(name));
        assert!(!take_over(std::slice::from_ref(&none)));
        fs::write(&stale, "").unwrap();
        fs::write(&held, "").unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Gits that take the lock one after the other. The next file is there before the last
            // one is gone, so that it has another number.
            scope.spawn(|| {
                let next = held.with_extension("next");
                while !over.load(Ordering::Relaxed) {
                    fs::write(&next, "").unwrap();
                    fs::rename(&next, &held).unwrap();
                }
            });
            assert!(take_over(&[stale.clone(), held.clone(), none]));
            over.store(true, Ordering::Relaxed);
        });
        assert!(!stale.exists());
        assert!(held.exists());
    }
}
