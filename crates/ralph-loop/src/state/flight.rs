//! A step that has begun and not ended.

use crate::ask::Silence;
use crate::dialect::Blocker;
use crate::event::{How, Step, StepId, Why};

#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    pub id: StepId,
    pub step: Step,
    pub since_ms: u64,
    /// When the agent gave its last answer.
    pub answered_ms: Option<u64>,
    /// It has shown no sign of life for too long.
    pub silence: Option<Silence>,
    /// It reports that it cannot go on.
    pub blocked: Option<Blocked>,
    /// How long it has waited for a person, not counting the current wait.
    pub waited_ms: u64,
    pub cancel: Option<Cancel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    pub by: Blocker,
    pub since_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel {
    pub how: How,
    pub why: Why,
    pub since_ms: u64,
}

impl Flight {
    pub(super) fn new(id: StepId, step: Step, since_ms: u64) -> Flight {
        Flight {
            id,
            step,
            since_ms,
            answered_ms: None,
            silence: None,
            blocked: None,
            waited_ms: 0,
            cancel: None,
        }
    }

    /// Since when it waits for a person.
    pub fn waits_for_person(&self) -> Option<u64> {
        self.blocked.filter(|blocked| blocked.by == Blocker::Person).map(|blocked| blocked.since_ms)
    }

    pub fn is_agent(&self) -> bool {
        matches!(self.step, Step::Agent { .. })
    }
}
