//! What the agent says, and what is.
//!
//! A [`Claim`] is the agent's word, a [`Verdict`] is what ralph found by itself. They are
//! different types so that one can never be passed where the other is meant.

use crate::ask::Silence;
use crate::check::CheckResult;
use crate::dialect::StreamSummary;
use crate::plan::Item;
use crate::proof::{Proof, Word};
use crate::signal::{LegacySignal, Signals};
use serde::{Deserialize, Serialize};

/// What an agent says about its work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The content of the first completion tag in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Its own words match the run's done pattern.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub matched: bool,
    /// What it signals about a story.
    #[serde(default, skip_serializing_if = "StorySignal::is_none")]
    pub story: StorySignal,
}

impl Claim {
    pub fn of(seen: &StreamSummary) -> Claim {
        Claim { tag: seen.tag.clone(), matched: seen.matched, story: StorySignal::of(&seen.signals) }
    }
}

/// What an agent says about the story that it was given; an older sign only where there is no
/// other, and a failure where it says both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorySignal {
    #[default]
    None,
    /// The id as it was written; none for the older sign, which names no story.
    Done(Option<String>),
    Failed {
        id: Option<String>,
        why: String,
    },
}

impl StorySignal {
    pub fn is_none(&self) -> bool {
        *self == StorySignal::None
    }

    pub fn of(signals: &Signals) -> StorySignal {
        if signals.contradictory {
            let failed = signals.failed.as_ref();
            let reason = failed.map(|failed| failed.why.as_str()).filter(|why| !why.is_empty());
            let reason = reason.map_or_else(String::new, |why| format!(": {why}"));
            let why = format!("the agent reported both DONE and FAIL{reason}");
            return StorySignal::Failed { id: failed.map(|failed| failed.id.clone()), why };
        }
        match (&signals.done, &signals.failed, signals.legacy) {
            (Some(id), _, _) => StorySignal::Done(Some(id.clone())),
            (None, Some(failed), _) => {
                StorySignal::Failed { id: Some(failed.id.clone()), why: failed.why.clone() }
            }
            (None, None, Some(LegacySignal::Done)) => StorySignal::Done(None),
            (None, None, Some(LegacySignal::Fail)) => {
                StorySignal::Failed { id: None, why: "the agent reported [FAIL]".into() }
            }
            (None, None, None) => StorySignal::None,
        }
    }
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
    /// The checks are green, and `--proof strict` does not accept what they are worth.
    Refused { word: Word },
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
            Verdict::Green { .. } | Verdict::AgentFailed { .. } | Verdict::Refused { .. } => &[],
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
    /// Its agent was ended because it had shown no sign of life. Journals of earlier versions do
    /// not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// What it is worth, where it concludes something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<Proof>>,
}

impl Judgement {
    /// Whether the iteration counts among the failures in a row. What a silent agent has left is
    /// checked like any work, and what it claimed counts; if that does not settle anything, the
    /// agent has failed.
    pub fn counts_as_failure(&self) -> bool {
        match (&self.verdict, self.silence) {
            (Verdict::AgentFailed { .. }, _) => true,
            (Verdict::Green { .. } | Verdict::Red { .. } | Verdict::Refused { .. }, Some(_)) => {
                self.settlement != Settlement::Settled
            }
            (Verdict::Green { .. } | Verdict::Red { .. } | Verdict::Refused { .. }, None) => false,
        }
    }
}

/// What a judgement means for the item that was worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// Proven done.
    Settled,
    /// Failed, and to be begun again from where it started.
    Retry { why: String },
    /// To be carried on.
    Continue,
}
