//! Waiting that the end of the server cuts short.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Gate {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(crate) fn stopped(&self) -> bool {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait_ms(&self, ms: u64) {
        if ms == 0 {
            return;
        }
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let _unused =
            self.changed.wait_timeout_while(stopped, Duration::from_millis(ms), |stopped| !*stopped);
    }

    /// Returns once the server is stopped.
    pub(crate) fn wait(&self) {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let _unused = self.changed.wait_while(stopped, |stopped| !*stopped);
    }
}
