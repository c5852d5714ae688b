//! Syncs a file to the disk beside the loop.
//!
//! Nudges that arrive during a sync, or shortly after one, are answered by one more. No
//! nudge, no work: the thread sleeps in the kernel.

use std::fs::File;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

pub(super) struct Syncer {
    nudges: SyncSender<()>,
}

/// At most this often: a sync holds up writes to the same file.
const PAUSE: Duration = Duration::from_millis(200);

impl Syncer {
    pub(super) fn start(file: File) -> Syncer {
        let (nudges, received) = sync_channel(1);
        // Without the thread the kernel writes back by itself, only later.
        let _ = thread::Builder::new().name("journal-sync".into()).spawn(move || work(&file, &received));
        Syncer { nudges }
    }

    pub(super) fn nudge(&self) {
        // A full channel means that a sync is due anyway.
        let _ = self.nudges.try_send(());
    }
}

fn work(file: &File, nudges: &Receiver<()>) {
    while nudges.recv().is_ok() {
        thread::sleep(PAUSE);
        // A disk that fails here fails the next append as well, where it is reported.
        let _ = file.sync_data();
    }
}
