//! The plan of `ralph run`: one prompt, until it is proven done.

use super::{Item, Pick, PlanFact};
use crate::claim;
use crate::verdict::{Claim, Settlement, Verdict};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptPlan {
    pub source: PromptSource,
    pub completion: Completion,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    /// Given when the run began; kept beside the journal, by hash.
    Text { hash: String },
    /// Read anew for each iteration.
    File { path: PathBuf },
}

/// What has to come together for the work to be done; green checks always belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The agent says this word in a completion tag.
    Response(String),
    /// The checks alone decide.
    ChecksOnly,
}

impl Completion {
    pub fn listens(&self) -> bool {
        match self {
            Completion::Response(_) => true,
            Completion::ChecksOnly => false,
        }
    }

    pub fn claimed(&self, claim: &Claim) -> bool {
        match self {
            Completion::Response(wanted) => {
                claim.tag.as_deref().is_some_and(|tag| claim::matches(tag, wanted))
            }
            Completion::ChecksOnly => true,
        }
    }
}

impl PromptPlan {
    pub(super) fn judge(&self, claim: &Claim, verdict: &Verdict) -> Settlement {
        let proven = match verdict {
            Verdict::Green { checks: 0 } => self.completion.listens(),
            Verdict::Green { .. } => true,
            Verdict::Red { .. } | Verdict::AgentFailed { .. } => false,
        };
        if proven && self.completion.claimed(claim) { Settlement::Settled } else { Settlement::Continue }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptState {
    done: bool,
}

impl PromptState {
    pub(super) fn pick(&self) -> Pick {
        if self.done { Pick::Done } else { Pick::Work(Item::Prompt) }
    }

    pub(super) fn apply(&mut self, fact: &PlanFact<'_>) {
        match fact {
            PlanFact::Judged(judgement) => self.done = judgement.settlement == Settlement::Settled,
            PlanFact::Began(_) | PlanFact::Done(..) | PlanFact::Resumed { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(completion: Completion, tag: Option<&str>, verdict: &Verdict, expected: &Settlement) {
        let plan = PromptPlan { source: PromptSource::Text { hash: String::new() }, completion };
        assert_eq!(plan.judge(&Claim { tag: tag.map(String::from), ..Claim::default() }, verdict), *expected);
    }

    #[test]
    fn a_claim_counts_only_once_the_checks_are_green() {
        let done = || Completion::Response("DONE".into());
        check(done(), Some("done"), &Verdict::Green { checks: 1 }, &Settlement::Settled);
        check(done(), Some("done"), &Verdict::Green { checks: 0 }, &Settlement::Settled);
        check(done(), Some("DONE"), &Verdict::Red { failed: vec![0] }, &Settlement::Continue);
        check(done(), Some("not DONE"), &Verdict::Green { checks: 1 }, &Settlement::Continue);
        check(done(), None, &Verdict::Green { checks: 1 }, &Settlement::Continue);
        check(
            done(),
            Some("DONE"),
            &Verdict::AgentFailed { why: "exit code 1".into() },
            &Settlement::Continue,
        );
    }

    #[test]
    fn checks_alone_decide_where_that_was_asked_for() {
        check(Completion::ChecksOnly, None, &Verdict::Green { checks: 1 }, &Settlement::Settled);
        check(Completion::ChecksOnly, Some("DONE"), &Verdict::Red { failed: vec![0] }, &Settlement::Continue);
        check(Completion::ChecksOnly, None, &Verdict::Green { checks: 0 }, &Settlement::Continue);
    }
}
