//! The log of a check, kept within a cap although the check writes straight into it.
//!
//! While the check runs, a thread frees the disk blocks in the middle of a log that grows too long:
//! the beginning, the newest output and all offsets stay. When the check is over, the end is moved
//! up and a line says how much is missing between the two. Where blocks cannot be freed, the log is
//! only cut at the end.
//!
//! Deliberately absent: a limit that the check notices.

use crate::fsx;
use crate::secrets;
use ralph_loop::Run;
use ralph_loop::check::{CheckSpec, Excerpt, log_names};
use std::fs::File;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a log at work is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// More of the end is not kept: it is moved while the loop waits.
const LONGEST_END: u64 = 4 << 20;

/// What is read back of a log, at least.
const SHORTEST: u64 = 16 << 10;

/// The names of the logs of a run's checks. Masked first: in a name a secret is no longer known as one.
pub(super) fn names(run: &Run) -> Vec<String> {
    let masker = secrets::masker();
    log_names(run.checks.iter().map(|check| masker.mask(&check.command)))
}

/// The bytes that an excerpt can need: four per character at most.
pub(super) fn window(excerpt: Excerpt) -> u64 {
    let (Excerpt::Head { chars } | Excerpt::Tail { chars }) = excerpt;
    chars as u64 * 4 + 8
}

/// How much is kept of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    beginning: u64,
    end: u64,
}

impl Room {
    /// The logs of one iteration share what is kept of a run. Nothing if all is kept.
    fn of(run: &Run, spec: &CheckSpec) -> Option<Room> {
        let checks = run.checks.len().max(1) as u64;
        let most = (run.keep_streams > 0).then_some(run.keep_streams / checks)?;
        let least = SHORTEST.max(window(spec.excerpt));
        let end = (most / 2).min(LONGEST_END).max(least);
        Some(Room { beginning: most.saturating_sub(end).max(least), end })
    }

    /// The bytes in the middle of a log that are too many.
    fn excess(self, length: u64) -> u64 {
        length.saturating_sub(self.beginning + self.end)
    }
}

/// Holds the log of a check at work to its cap.
pub(super) struct LogGuard {
    room: Room,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl LogGuard {
    pub(super) fn over(log: &File, run: &Run, spec: &CheckSpec) -> io::Result<Option<LogGuard>> {
        let Some(room) = Room::of(run, spec) else { return Ok(None) };
        let (log, (stop, stopped)) = (log.try_clone()?, mpsc::channel());
        let watch = move || {
            let mut freed = room.beginning;
            while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let upto = room.beginning + log.metadata().map_or(0, |meta| room.excess(meta.len()));
                if upto > freed {
                    // Where that is not possible the log is cut at the end.
                    let _ = fsx::free_range(&log, freed, upto - freed);
                    freed = upto;
                }
            }
        };
        let thread = thread::Builder::new().name("check-log".into()).spawn(watch)?;
        Ok(Some(LogGuard { room, stop, thread }))
    }

    /// Nothing is freed any more: what is in the log can be read.
    pub(super) fn stop(self) -> Cut {
        drop(self.stop);
        // It cannot panic, and nothing depends on it.
        let _ = self.thread.join();
        Cut { room: self.room }
    }
}

/// What is to be cut of a log whose check is over.
pub(super) struct Cut {
    room: Room,
}

impl Cut {
    pub(super) fn make(&self, log: &File) -> io::Result<()> {
        let excess = self.room.excess(log.metadata()?.len());
        if excess == 0 {
            return Ok(());
        }
        let note = format!("\n[ralph: {excess} bytes are left out here (keepStreams)]\n");
        fsx::cut_out(log, self.room.beginning, excess, note.as_bytes())
    }
}
