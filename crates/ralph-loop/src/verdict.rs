//! What the agent says, and what is.
//!
//! A [`Claim`] is the agent's word, a [`Verdict`] is what ralph found by itself. They are
//! different types so that one can never be passed where the other is meant.

use crate::check::CheckResult;
use crate::plan::Item;
use serde::{Deserialize, Serialize};

/// What an agent says about its work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The content of the first completion tag in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

/// What the checks of one iteration have shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Green {
        /// How many checks stand behind it: zero proves nothing but the agent's end.
        checks: usize,
    },
    Red {
        /// The failed checks, as indices into the run's list.
        failed: Vec<usize>,
    },
    /// The agent itself failed; nothing was checked.
    AgentFailed { why: String },
}

impl Verdict {
    pub fn of(results: &[CheckResult]) -> Verdict {
        let failed: Vec<usize> = results.iter().filter(|r| !r.outcome.passed()).map(|r| r.index).collect();
        if failed.is_empty() { Verdict::Green { checks: results.len() } } else { Verdict::Red { failed } }
    }

    pub fn is_green(&self) -> bool {
        matches!(self, Verdict::Green { .. })
    }

    pub fn failed_checks(&self) -> &[usize] {
        match self {
            Verdict::Red { failed } => failed,
            Verdict::Green { .. } | Verdict::AgentFailed { .. } => &[],
        }
    }
}

/// The end of one iteration: the commit point, recorded by one append.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    pub iteration: u32,
    pub item: Item,
    pub claim: Claim,
    pub verdict: Verdict,
    pub settlement: Settlement,
}

/// What a judgement means for the item that was worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// Proven done.
    Settled,
    /// To be begun again from where it started.
    Retry,
    /// To be carried on.
    Continue,
}
