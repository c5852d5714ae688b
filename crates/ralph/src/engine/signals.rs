//! Signals that ask the loop to stop.

use std::future::pending;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Requests to stop, from a person or from the system.
pub(super) struct Signals {
    /// Interrupt, terminate, hang up; none for a program that handles its own.
    heard: Option<[Signal; 3]>,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Signals> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        Ok(Signals { heard: Some([interrupt?, terminate?, hangup?]) })
    }

    pub(super) fn none() -> Signals {
        Signals { heard: None }
    }

    pub(super) async fn next(&mut self) {
        let Some([interrupt, terminate, hangup]) = &mut self.heard else { return pending().await };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
