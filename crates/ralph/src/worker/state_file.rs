//! `state.json` of a worker, written under its lock.
//!
//! Another program may hold the lock for as long as it likes. The loop does not wait for it: a
//! thread does, and writes the newest state once the lock is free.

use crate::fsx;
use crate::layout::WorkerDir;
use std::fs::{File, TryLockError};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long the end of a process waits for a lock that is held elsewhere. The journal knows the
/// state, so nothing is lost if it stays held.
const LAST_WAIT: Duration = Duration::from_millis(500);

pub(super) struct StateFile {
    dir: WorkerDir,
    waiter: Option<Arc<Waiter>>,
}

impl StateFile {
    pub(super) fn of(dir: &WorkerDir) -> StateFile {
        StateFile { dir: dir.clone(), waiter: None }
    }

    /// Writes the state now, or as soon as the lock is free.
    pub(super) fn put(&mut self, text: Vec<u8>) -> io::Result<()> {
        let text = match &self.waiter {
            Some(waiter) => match waiter.replace(text) {
                Waits::Still => return Ok(()),
                Waits::NoMore { text, wrote } => {
                    self.waiter = None;
                    wrote?;
                    text
                }
            },
            None => text,
        };
        let lock = fsx::lock_file(&self.dir.state_lock())?;
        match lock.try_lock() {
            Ok(()) => fsx::write_whole(&self.dir.state(), &text),
            Err(TryLockError::WouldBlock) => {
                self.waiter = Some(Waiter::start(self.dir.clone(), lock, text)?);
                Ok(())
            }
            Err(TryLockError::Error(cause)) => Err(cause),
        }
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        if let Some(waiter) = &self.waiter {
            waiter.end_within(LAST_WAIT);
        }
    }
}

/// A thread that waits for the lock.
struct Waiter {
    state: Mutex<Waiting>,
    ended: Condvar,
}

struct Waiting {
    /// What is to be written, if it is not written yet.
    newest: Option<Vec<u8>>,
    /// How it ended.
    wrote: Option<io::Result<()>>,
}

enum Waits {
    /// It will write what it was given.
    Still,
    /// It has ended, and what it was given is not written.
    NoMore { text: Vec<u8>, wrote: io::Result<()> },
}

impl Waiter {
    fn start(dir: WorkerDir, lock: File, text: Vec<u8>) -> io::Result<Arc<Waiter>> {
        let state = Mutex::new(Waiting { newest: Some(text), wrote: None });
        let waiter = Arc::new(Waiter { state, ended: Condvar::new() });
        let own = Arc::clone(&waiter);
        thread::Builder::new().name("state-lock".into()).spawn(move || own.work(&dir, &lock))?;
        Ok(waiter)
    }

    fn work(&self, dir: &WorkerDir, lock: &File) {
        let mut wrote = lock.lock();
        loop {
            let mut state = self.state();
            match state.newest.take().filter(|_| wrote.is_ok()) {
                Some(text) => {
                    drop(state);
                    wrote = fsx::write_whole(&dir.state(), &text);
                }
                None => {
                    // Under the same guard as the last look: what comes later finds it ended.
                    state.wrote = Some(wrote);
                    self.ended.notify_all();
                    break;
                }
            }
        }
        // Closing alone would leave it held by a child that is between fork and exec.
        let _ = lock.unlock();
    }

    fn replace(&self, text: Vec<u8>) -> Waits {
        let mut state = self.state();
        match state.wrote.take() {
            Some(wrote) => Waits::NoMore { text, wrote },
            None => {
                state.newest = Some(text);
                Waits::Still
            }
        }
    }

    fn end_within(&self, at_most: Duration) {
        let waits = |state: &mut Waiting| state.wrote.is_none();
        let _ = self.ended.wait_timeout_while(self.state(), at_most, waits);
    }

    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
