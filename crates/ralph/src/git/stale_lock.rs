//! Locks of gits that were killed.
//!
//! Git holds a lock on a file while it replaces that file: mostly for a moment, but `git commit -a`
//! does so for as long as the user's editor is open. A git that was killed leaves its lock behind,
//! which stops every git after it.

use crate::fsx;
use crate::process;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Far longer than a git that asks no questions holds a lock.
const PATIENCE: Duration = Duration::from_secs(2);

/// Removes the locks that no git in this work tree can give back. Returns whether there was any
/// lock, so that what failed for it is worth trying again.
pub fn take_over(tree: &Path, locks: &[PathBuf]) -> bool {
    let found: Vec<_> = locks.iter().filter_map(|lock| Some((lock, fsx::identity(lock)?))).collect();
    let stays = |(lock, held): &(&PathBuf, (u64, u64))| fsx::identity(lock) == Some(*held);
    let deadline = Instant::now() + PATIENCE;
    while found.iter().any(stays) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    if found.iter().any(stays) && process::is_git_at_work(tree) {
        return false;
    }
    // Another file of that name is the lock of a git that is alive.
    for (lock, _) in found.iter().filter(|lock| stays(lock)) {
        let _ = fsx::remove(lock);
    }
    !found.is_empty()
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
        assert!(!take_over(dir.path(), std::slice::from_ref(&none)));
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
            assert!(take_over(dir.path(), &[stale.clone(), held.clone(), none]));
            over.store(true, Ordering::Relaxed);
        });
        assert!(!stale.exists());
        assert!(held.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_lock_of_a_git_that_waits_for_the_user_is_left_alone() {
        use crate::git::git;
        use std::process::{Command, Stdio};
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::write(top.join("file"), "1").unwrap();
        let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        for args in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "begin"]] {
            assert!(git(&top).args(identity).args(args).run().unwrap().success());
        }
        fs::write(top.join("file"), "2").unwrap();
        // An editor that is open until its input ends.
        let mut commit = Command::new("git");
        commit.args(identity).args(["commit", "-q", "-a"]).current_dir(&top).env("GIT_EDITOR", "cat - >");
        let mut commit = commit.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lock = top.join(".git/index.lock");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !lock.exists() {
            assert!(Instant::now() < deadline, "git takes no lock");
            std::thread::sleep(Duration::from_millis(5));
        }
        let locks = [lock.clone()];
        assert!(!take_over(&top, &locks));
        assert!(lock.exists());
        commit.kill().unwrap();
        commit.wait().unwrap();
        assert!(take_over(&top, &locks));
        assert!(!lock.exists());
    }
}
