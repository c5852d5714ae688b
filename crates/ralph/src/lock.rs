//! One workspace, one run; one list, one writer.
//!
//! OS locks, all of them free the moment their holders are dead, whatever killed them. The
//! *run lock* is held by the loop and by its keeper: while it is held, something of the
//! run may be alive. The *workspace lock* keeps a second run out of the same tree and
//! says who holds it. An *edit lock* is held for a moment, by commands and loops alike.

use crate::fsx;
use crate::layout::{Home, RunDir};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum LockError {
    #[error("run {run} (process {pid}) is already working in this directory: {}", workspace.display())]
    WorkspaceTaken { workspace: PathBuf, run: String, pid: u32 },
    #[error("the run is already running: {run}")]
    RunAlive { run: String },
    #[error("cannot lock {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// Who holds a workspace.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Holder {
    run: String,
    pid: u32,
}

/// Several times what a keeper needs to end the largest tree.
const SWEEP: Duration = Duration::from_secs(3);
/// Several times what a look at a lock takes.
const SHORT_WAIT: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl RunLock {
    /// Waits a moment: the keeper of a loop that was killed holds it until it has swept up.
    pub fn acquire(run: &RunDir, id: &str) -> Result<RunLock, LockError> {
        let deadline = Instant::now() + SWEEP;
        loop {
            match try_lock(&run.lock())? {
                Some(file) => return Ok(RunLock { file }),
                None if Instant::now() > deadline => {
                    return Err(LockError::RunAlive { run: id.to_string() });
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Nothing if something of the run is alive; else it cannot be resumed while this is held.
    pub fn of_idle(run: &RunDir) -> Option<RunLock> {
        let deadline = Instant::now() + SHORT_WAIT;
        loop {
            match try_lock(&run.lock()) {
                Ok(Some(file)) => return Some(RunLock { file }),
                Ok(None) if Instant::now() <= deadline => std::thread::sleep(LOOK),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// A run whose loop was killed is still being swept up by its keeper, for a moment.
    pub fn becomes_free(run: &RunDir) -> bool {
        let deadline = Instant::now() + SWEEP;
        while RunLock::is_held(run) {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    /// Returns when nothing of a run is alive, however long that takes.
    pub fn wait(run: &RunDir) -> io::Result<()> {
        wait(&run.lock())
    }

    /// The same lock once more: it is held until both are dropped.
    pub fn share(&self) -> io::Result<RunLock> {
        Ok(RunLock { file: self.file.try_clone()? })
    }

    /// Whether anything of a run is alive. A run without a lock file never got that far.
    pub fn is_held(run: &RunDir) -> bool {
        is_held(&run.lock())
    }
}

/// A worker's name, for as long as its process lives.
#[derive(Debug)]
pub struct NameLock {
    _file: File,
}

impl NameLock {
    /// Waits a moment: the process that had the name may be about to end. Nothing if it is taken.
    pub fn acquire(home: &Home, name: &str) -> io::Result<Option<NameLock>> {
        let deadline = Instant::now() + SWEEP;
        loop {
            match try_lock(&home.worker_lock(name)).map_err(io::Error::other)? {
                Some(file) => return Ok(Some(NameLock { _file: file })),
                None if Instant::now() > deadline => return Ok(None),
                None => std::thread::sleep(LOOK),
            }
        }
    }
}

impl NameLock {
    /// Returns when the process of a worker has ended, however long that takes.
    pub fn wait(home: &Home, name: &str) -> io::Result<()> {
        wait(&home.worker_lock(name))
    }

    /// Whether the process of a worker is there.
    pub fn is_held(home: &Home, name: &str) -> bool {
        is_held(&home.worker_lock(name))
    }
}

/// Held while something that people and loops edit is read and written, for milliseconds. Its file
/// can hold a note about it.
#[derive(Debug)]
pub struct EditLock {
    file: File,
}

impl EditLock {
    /// Waits for as long as another process has it. Not for a loop.
    pub fn wait(path: &Path) -> io::Result<EditLock> {
        if let Some(locks) = path.parent() {
            fsx::private_dir(locks)?;
        }
        let file = fsx::lock_file(path)?;
        file.lock()?;
        Ok(EditLock { file })
    }

    /// Nothing if another process has it.
    pub fn try_now(path: &Path) -> io::Result<Option<EditLock>> {
        Ok(try_lock(path).map_err(io::Error::other)?.map(|file| EditLock { file }))
    }

    /// Nothing if another process has it for that long.
    pub fn within(path: &Path, patience: Duration) -> io::Result<Option<EditLock>> {
        let deadline = Instant::now() + patience;
        loop {
            match EditLock::try_now(path)? {
                None if Instant::now() < deadline => std::thread::sleep(LOOK),
                found => return Ok(found),
            }
        }
    }

    /// The note, also while another process has the lock.
    pub fn look(path: &Path) -> io::Result<String> {
        fs_err::read_to_string(path)
    }

    pub fn content(&mut self) -> io::Result<String> {
        fsx::read_from_start(&mut self.file)
    }

    /// At the end, so that who looks meanwhile finds all that was there before.
    pub fn add_content(&mut self, content: &[u8]) -> io::Result<()> {
        fsx::append_to(&mut self.file, content)
    }

    pub fn set_content(&mut self, content: &[u8]) -> io::Result<()> {
        fsx::rewrite(&mut self.file, content)
    }
}

impl Drop for EditLock {
    fn drop(&mut self) {
        // As for a workspace.
        let _ = self.file.unlock();
    }
}

#[derive(Debug)]
pub struct WorkspaceLock {
    file: File,
    /// The run that held the workspace before and may have left something behind.
    pub previous: Option<String>,
}

impl WorkspaceLock {
    pub fn acquire(home: &Home, workspace: &Path, run: &str) -> Result<WorkspaceLock, LockError> {
        let path = home.workspace_lock(workspace);
        let io = |cause| LockError::Io { path: path.clone(), cause };
        // Who only looks holds it too, for a moment.
        let deadline = Instant::now() + SHORT_WAIT;
        let mut file = loop {
            match try_lock(&path)? {
                Some(file) => break file,
                None if Instant::now() > deadline => return Err(taken(workspace, holder(&path))),
                None => std::thread::sleep(LOOK),
            }
        };
        let previous = fsx::read_from_start(&mut file).map_err(io)?;
        let previous = serde_json::from_str::<Holder>(&previous).ok();
        if let Some(before) = &previous
            && before.run != run
            && !RunLock::becomes_free(&home.run(&before.run))
        {
            return Err(taken(workspace, previous));
        }
        let holder = Holder { run: run.to_string(), pid: std::process::id() };
        let text = serde_json::to_vec(&holder).map_err(|cause| io(cause.into()))?;
        fsx::rewrite(&mut file, &text).map_err(io)?;
        Ok(WorkspaceLock { file, previous: previous.map(|before| before.run) })
    }

    /// Whether a run is working there. One that never was locked has no file.
    pub fn is_held(home: &Home, workspace: &Path) -> bool {
        is_held(&home.workspace_lock(workspace))
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        // Closing alone would leave it held by a child of another thread that is between
        // fork and exec and has a copy. What cannot be unlocked is closed in a moment.
        let _ = self.file.unlock();
    }
}

fn taken(workspace: &Path, holder: Option<Holder>) -> LockError {
    // A holder writes its name right after it has the lock; in between it has none.
    let (run, pid) = holder.map_or((String::from("(starting)"), 0), |h| (h.run, h.pid));
    LockError::WorkspaceTaken { workspace: workspace.to_path_buf(), run, pid }
}

fn holder(path: &Path) -> Option<Holder> {
    serde_json::from_str(&fs_err::read_to_string(path).ok()?).ok()
}

fn wait(path: &Path) -> io::Result<()> {
    match File::open(path) {
        Ok(file) => file.lock_shared(),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    }
}

fn is_held(path: &Path) -> bool {
    // Shared, so that two who only look do not take each other for the run.
    let lock = File::open(path);
    lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The lock, or nothing if another process has it.
fn try_lock(path: &Path) -> Result<Option<File>, LockError> {
    let io = |cause| LockError::Io { path: path.to_path_buf(), cause };
    let file = fsx::lock_file(path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(cause)) => Err(io(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_and_told_who_holds_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().to_path_buf());
        fsx::private_dir(&home.locks()).unwrap();
        let first = WorkspaceLock::acquire(&home, Path::new("/w"), "one").unwrap();
        let refused = WorkspaceLock::acquire(&home, Path::new("/w"), "two").unwrap_err();
        assert!(matches!(refused, LockError::WorkspaceTaken { run, .. } if run == "one"));
        WorkspaceLock::acquire(&home, Path::new("/elsewhere"), "two").unwrap();
        drop(first);
        let second = WorkspaceLock::acquire(&home, Path::new("/w"), "two").unwrap();
        assert_eq!(second.previous.as_deref(), Some("one"));
    }
}
