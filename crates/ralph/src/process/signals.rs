//! Ctrl+C, SIGTERM and SIGHUP, as requests to stop that ralph answers itself.

use std::future::pending;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Requests to stop, from a person or from the system.
pub struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hangup: Option<Signal>,
}

impl Signals {
    /// From now on they do not end ralph by themselves. Within a tokio runtime. One that was ignored when ralph was started stays ignored: `nohup ralph run` means it.
    pub fn listen() -> io::Result<Signals> {
        let ignored = ignored_signals();
        let heard = |kind: SignalKind| {
            let bit = 1 << (kind.as_raw_value() - 1);
            if ignored & bit == 0 { signal(kind).map(Some) } else { Ok(None) }
        };
        Ok(Signals {
            interrupt: heard(SignalKind::interrupt())?,
            terminate: heard(SignalKind::terminate())?,
            hangup: heard(SignalKind::hangup())?,
        })
    }

    /// Returns with the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            () = heard(&mut self.interrupt) => {}
            () = heard(&mut self.terminate) => {}
            () = heard(&mut self.hangup) => {}
        }
    }
}

async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

/// A bit for each signal that is ignored; none where the system does not say.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
