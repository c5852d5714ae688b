//! Being the process that orphans come to.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{getpid, set_child_subreaper};
use tokio::signal::unix::{SignalKind, signal};

use super::ProcessError;

/// Set once orphans come to this process.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// For the engine at its start: what a dead keeper leaves behind comes to this process, and
/// not to init. Only for a process that is ralph's own: every child that it has not started
/// itself may be ended and reaped.
pub fn become_subreaper() -> Result<(), ProcessError> {
    reap_orphans().map_err(ProcessError::Reaper)?;
    ADOPTS.store(true, Ordering::SeqCst);
    Ok(())
}

/// Whether children of this process are ralph's to end. They are not where ralph is a library:
/// the program has children of its own.
pub(super) fn adopts() -> bool {
    ADOPTS.load(Ordering::SeqCst)
}

pub(super) fn reap_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    catch_sigchld()
}

/// Installs a handler for SIGCHLD, for two reasons. A parent that ignores the signal hands
/// that down, and the kernel then throws away how children ended. And a handler ends the
/// keeper's `poll` when an orphan dies, so that zombies do not pile up beside an agent that
/// runs for hours.
///
/// Tokio leaves a handler installed when its runtime is gone, so the runtime here only
/// serves to install it, without `unsafe`.
fn catch_sigchld() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let handler = {
        let _context = runtime.enter();
        signal(SignalKind::child())
    };
    runtime.shutdown_background();
    handler.map(drop)
}
