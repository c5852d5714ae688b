//! Why a run stops: a row per reason.
//!
//! A row has everything that others want to know of a reason. Policy, reports, exit codes and
//! notifications match on its [`StopKind`], so a new reason is a row here and the place in `next`
//! that decides on it.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Completed,
    MaxIterations,
    BudgetExhausted,
    Timeout,
    TooManyFailures,
    Stalled,
    Halted,
    Outage,
    Authentication,
    NoCleanCopy,
    SandboxInTheWay,
    Paused,
    Killed,
    Interrupted,
    Error,
}

/// What reasons have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopKind {
    /// The work is done.
    Done,
    /// The run has used what it may use; with a higher limit it can be resumed.
    Limit,
    /// The iterations make no progress.
    Stalled,
    /// Something was tried until it was no use to go on.
    GaveUp,
    /// The run cannot go on.
    Failed,
    /// What was asked for cannot be done here.
    Unusable,
    /// A signal of the system, or `ralph pause` of a run that is to leave.
    Paused,
    /// `ralph kill`.
    Killed,
    /// The user has stopped it in the terminal.
    Interrupted,
}

struct Row {
    /// As serde writes it.
    word: &'static str,
    kind: StopKind,
    /// For people, where nothing more precise is known.
    sentence: &'static str,
}

impl StopReason {
    pub const ALL: [StopReason; 15] = [
        StopReason::Completed,
        StopReason::MaxIterations,
        StopReason::BudgetExhausted,
        StopReason::Timeout,
        StopReason::TooManyFailures,
        StopReason::Stalled,
        StopReason::Halted,
        StopReason::Outage,
        StopReason::Authentication,
        StopReason::NoCleanCopy,
        StopReason::SandboxInTheWay,
        StopReason::Paused,
        StopReason::Killed,
        StopReason::Interrupted,
        StopReason::Error,
    ];

    fn row(self) -> Row {
        let row = |word, kind, sentence| Row { word, kind, sentence };
        match self {
            StopReason::Completed => row("completed", StopKind::Done, "done, all checks pass"),
            StopReason::MaxIterations => {
                row("max_iterations", StopKind::Limit, "reached the iteration limit")
            }
            StopReason::BudgetExhausted => row("budget_exhausted", StopKind::Limit, "reached the cost limit"),
            StopReason::Timeout => row("timeout", StopKind::Limit, "reached the time limit"),
            StopReason::TooManyFailures => {
                row("too_many_failures", StopKind::GaveUp, "the agent failed too often in a row")
            }
            StopReason::Stalled => row("stalled", StopKind::Stalled, "no progress in the last iterations"),
            StopReason::Halted => {
                row("halted", StopKind::Failed, "none of the remaining work can be started")
            }
            StopReason::Outage => {
                row("outage", StopKind::GaveUp, "the agent's service was unavailable for too long")
            }
            StopReason::Authentication => {
                row("authentication", StopKind::Failed, "the agent is not logged in")
            }
            StopReason::NoCleanCopy => {
                row("no_clean_copy", StopKind::Unusable, "the checks cannot run on a clean copy")
            }
            StopReason::SandboxInTheWay => {
                row("sandbox_in_the_way", StopKind::Unusable, "checks pass only outside the sandbox")
            }
            StopReason::Paused => row("paused", StopKind::Paused, "paused"),
            StopReason::Killed => row("killed", StopKind::Killed, "stopped by `ralph kill`"),
            StopReason::Interrupted => row("interrupted", StopKind::Interrupted, "stopped as requested"),
            StopReason::Error => row("error", StopKind::Failed, "an unexpected error"),
        }
    }

    /// The word in the last line, in JSON and in the record.
    pub fn word(self) -> &'static str {
        self.row().word
    }

    pub fn kind(self) -> StopKind {
        self.row().kind
    }

    /// For people; a report that knows more says more.
    pub fn sentence(self) -> &'static str {
        self.row().sentence
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_one_in_the_journal() {
        for reason in StopReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.word());
        }
    }
}
