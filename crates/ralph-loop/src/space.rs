//! Room on the disks that a run writes to.
//!
//! The shell measures how much is free before an action that starts work; too little is
//! a fact, and what follows from it is a wait like any other. A look that finds enough leaves no
//! trace: one line an iteration would tell nothing.

use crate::limits::Backoff;
use crate::state::{Illegal, Phase, State};
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

/// A run that waits for room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cramped {
    /// As of the last look.
    pub shortage: Shortage,
    /// How often in a row too little was found.
    pub looks: u32,
    /// When it is worth looking again, in the run's own time.
    pub until_ms: u64,
}

/// Often at first, for a user who is just making room, then once a minute.
const LOOKS: Backoff = Backoff { base_ms: 1_000, cap_ms: 60_000 };

impl State {
    pub(crate) fn run_short(&mut self, shortage: &Shortage, now: u64) -> Result<(), Illegal> {
        let begins = match &self.phase {
            Phase::Ready { .. } => true,
            Phase::Answered { reply, results, .. } => reply.is_empty() && results.is_empty(),
            Phase::Failed { .. } => false,
        };
        if !begins || !self.flights.is_empty() {
            return Err(Illegal::OutOfPlace("low_disk"));
        }
        let looks = self.cramped.as_ref().map_or(0, |cramped| cramped.looks).saturating_add(1);
        let until_ms = now.saturating_add(LOOKS.wait_ms(looks));
        self.cramped = Some(Cramped { shortage: shortage.clone(), looks, until_ms });
        Ok(())
    }
}
