//! Free space on the disks that a run writes to.
//!
//! It is measured before an action that begins work is carried out; too little is a fact, and what
//! follows from it is a wait like any other. Enough leaves no fact: one line per iteration would
//! say nothing.

use crate::limits::Backoff;
use crate::state::{Illegal, State};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Less is free than should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    /// Bytes.
    pub free: u64,
    pub least: u64,
    /// A directory on that disk.
    pub at: PathBuf,
}

/// A run that waits for free space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LowDisk {
    /// As it was measured last.
    pub shortage: Shortage,
    /// How often in a row too little was found.
    pub measured: u32,
    /// When to measure again, in the run's own time.
    pub until_ms: u64,
}

/// Often at first, for a user who is just deleting files, then once a minute.
const WAITS: Backoff = Backoff { base_ms: 1_000, cap_ms: 60_000 };

impl State {
    pub(crate) fn wait_for_space(&mut self, shortage: &Shortage, now: u64) -> Result<(), Illegal> {
        if !self.work.stage.may_begin_agent() || !self.flights.is_empty() {
            return Err(Illegal::OutOfPlace("low_disk"));
        }
        let before = self.ledger.low_disk.as_ref().map_or(0, |low| low.measured);
        let measured = before.saturating_add(1);
        let until_ms = now.saturating_add(WAITS.wait_ms(measured));
        self.ledger.low_disk = Some(LowDisk { shortage: shortage.clone(), measured, until_ms });
        Ok(())
    }
}
