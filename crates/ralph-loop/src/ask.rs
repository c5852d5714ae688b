//! What a person asks of a loop while it runs, and what the loop notices by itself.
//!
//! Asks are facts like all others: they are recorded before anything follows from them, so a
//! paused loop is still paused after a crash and a changed limit stays changed.

use crate::event::StepId;
use crate::limits::Totals;
use crate::plan::PlanFact;
use crate::state::{Illegal, State};
use crate::time::seconds;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Finish the iteration and begin no other; the loop stays where it is.
    Pause,
    /// Begin again after a pause.
    Continue,
    /// Finish the current step and stop as paused: a signal to a worker. A second one ends the
    /// step at once.
    Leave,
    /// End everything now.
    Kill,
    Set(Changes),
    /// A note for the next prompt, by hash.
    Say {
        text: String,
    },
}

impl Ask {
    /// What may also be asked of a run that has stopped: it counts once it is resumed.
    pub fn can_wait(&self) -> bool {
        match self {
            Ask::Set(_) | Ask::Say { .. } => true,
            Ask::Pause | Ask::Continue | Ask::Leave | Ask::Kill => false,
        }
    }
}

/// What `ralph set` and `ralph resume` change; the rest stays as it is. Limits are new totals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    #[serde(flatten)]
    pub totals: Totals,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done_pattern: Option<String>,
    /// Bytes; 0 is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_free: Option<u64>,
}

/// An agent that has shown no sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// The limit that it has reached.
    pub after_ms: u64,
    /// One of its tools was running: that has a limit of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tool: bool,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "silent for {}", seconds(self.after_ms))?;
        if self.tool { f.write_str(" while running a tool") } else { Ok(()) }
    }
}

/// Notes that wait for a prompt; more are refused.
pub const MOST_NOTES: usize = 100;

/// What was asked and still counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Since when nothing of the run has been done because of a pause, in its own time.
    pub paused_since_ms: Option<u64>,
    /// A request to stop means a pause.
    pub leaving: bool,
    pub killed: bool,
    /// How often a stop was asked for.
    pub stops: u32,
    /// Texts by hash, oldest first.
    pub notes: Vec<String>,
    /// So many of them are in the prompt of the current iteration.
    pub notes_given: usize,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }
}

impl Asked {
    pub fn paused(&self) -> bool {
        self.paused_since_ms.is_some()
    }

    /// The user who resumes a run asks it to go on.
    pub(crate) fn resume(&mut self) {
        (self.paused_since_ms, self.leaving, self.killed, self.stops) = (None, false, false, 0);
    }

    /// The notes of the current prompt have been heard.
    pub fn notes_heard(&mut self) {
        self.notes.drain(..self.notes_given);
        self.notes_given = 0;
    }
}

impl State {
    pub(crate) fn ask(&mut self, ask: &Ask, now: u64) -> Result<(), Illegal> {
        match ask {
            Ask::Pause => self.asked.paused_since_ms = self.asked.paused_since_ms.or(Some(now)),
            Ask::Continue => self.go_on(now),
            Ask::Leave => {
                self.asked.leaving = true;
                self.asked.stops += 1;
            }
            Ask::Kill => self.asked.killed = true,
            Ask::Set(changes) => self.change(changes),
            Ask::Say { .. } if self.asked.notes.len() >= MOST_NOTES => {
                return Err(Illegal::OutOfPlace("said"));
            }
            Ask::Say { text } => self.asked.notes.push(text.clone()),
        }
        Ok(())
    }

    /// The user who ends a pause has looked: nothing that kept the run waiting does so any more, and
    /// the time of the pause is not the run's.
    fn go_on(&mut self, now: u64) {
        let Some(since) = self.asked.paused_since_ms.take() else { return };
        if let (Some(most), true) = (&mut self.ledger.limits.max_time_ms, self.flights.is_empty()) {
            *most = most.saturating_add(now.saturating_sub(since));
        }
        self.ledger.streaks.failures = 0;
        self.ledger.end_waits();
    }

    fn change(&mut self, changes: &Changes) {
        let limits = &mut self.ledger.limits;
        limits.set(&changes.totals);
        if changes.done_pattern.is_some() {
            limits.iterations_are_the_goal = false;
        }
        if let Some(least) = changes.min_free {
            limits.min_free = least;
            // Measured once more, with that.
            self.ledger.low_disk = None;
        }
        self.update_plan(&PlanFact::Changed(changes));
    }

    pub(crate) fn fall_silent(&mut self, id: StepId, silence: Silence) -> Result<(), Illegal> {
        let flight = self.agent_in_flight(id, "silent")?;
        if flight.cancel.is_some() {
            return Err(Illegal::OutOfPlace("silent"));
        }
        flight.silence = Some(silence);
        Ok(())
    }
}
