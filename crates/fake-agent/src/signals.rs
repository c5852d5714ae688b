//! Signals that shall do nothing.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a polite stop of an agent sends.
pub(crate) const POLITE: [i32; 2] = [SIGTERM, SIGINT];
/// The same, and what a closing terminal sends to those that are left.
pub(crate) const POLITE_AND_HANGUP: [i32; 3] = [SIGTERM, SIGINT, SIGHUP];

/// Gives each signal a handler that only sets a flag that is never read. Sleeps and
/// writes that such a signal interrupts are taken up again by the standard library.
pub(crate) fn ignore(signals: &[i32]) -> Result<(), Failure> {
    for signal in signals {
        signal_hook::flag::register(*signal, Arc::new(AtomicBool::new(false)))
            .map_err(Failure::system("ignore a signal"))?;
    }
    Ok(())
}
