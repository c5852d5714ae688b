//! Whether ralph was told to stop while it waits for a program that is no run: Ctrl+C, SIGTERM or SIGHUP.
//!
//! Signals are the process's, so there is one of these. It listens on a thread of its own, and a descriptor becomes
//! readable, for waits that are no futures.

use super::Signals;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static LISTENING: OnceLock<Option<File>> = OnceLock::new();
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Readable once ralph was told to stop. From the first call on, signals do not end ralph by themselves. Nothing where
/// that cannot be set up: then they do.
pub(super) fn listen() -> &'static Option<File> {
    LISTENING.get_or_init(|| start().ok())
}

pub fn is_told_to_stop() -> bool {
    IS_TOLD.load(Ordering::SeqCst)
}

fn start() -> io::Result<File> {
    let (reader, writer) = io::pipe()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let within = runtime.enter();
    let mut signals = Signals::listen()?;
    drop(within);
    thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(signals.next());
        IS_TOLD.store(true, Ordering::SeqCst);
        // The end of what can be read wakes every wait.
        drop(writer);
    })?;
    Ok(File::from(OwnedFd::from(reader)))
}
