//! The plan of `ralph run`: one prompt, until it is proven done.

use super::{Item, Pick, PlanFact};
use crate::ask::Changes;
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
    /// Re-read every iteration.
    File { path: PathBuf },
}

impl PromptSource {
    /// Of a text that is kept beside the journal.
    pub fn hash(&self) -> Option<&str> {
        match self {
            PromptSource::Text { hash } => Some(hash),
            PromptSource::File { .. } => None,
        }
    }
}

/// What has to come together for the work to be done; green checks always belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// The agent says this word in a completion tag.
    Response(String),
    /// The checks alone decide.
    ChecksOnly,
    /// A line of the agent's own words matches this regular expression.
    Pattern(String),
    /// Nothing does: so many iterations are the work.
    Never,
}

impl Completion {
    pub fn listens(&self) -> bool {
        match self {
            Completion::Response(_) | Completion::Pattern(_) => true,
            Completion::ChecksOnly | Completion::Never => false,
        }
    }

    pub fn claimed(&self, claim: &Claim) -> bool {
        match self {
            Completion::Response(wanted) => {
                claim.tag.as_deref().is_some_and(|tag| claim::matches(tag, wanted))
            }
            Completion::ChecksOnly => true,
            Completion::Pattern(_) => claim.matched,
            Completion::Never => false,
        }
    }

    /// Whether an answer without any text is asked for again.
    pub fn repeats_empty_answers(&self) -> bool {
        match self {
            Completion::Response(_) => true,
            // A program that works in silence is an honest agent there.
            Completion::ChecksOnly | Completion::Pattern(_) | Completion::Never => false,
        }
    }
}

impl PromptPlan {
    pub(super) fn judge(&self, state: &PromptState, claim: &Claim, verdict: &Verdict) -> Settlement {
        let completion = state.completion(self);
        let proven = match verdict {
            Verdict::Green { checks: 0 } => completion.listens(),
            Verdict::Green { .. } => true,
            Verdict::Red { .. } | Verdict::AgentFailed { .. } | Verdict::Refused { .. } => false,
        };
        if proven && completion.claimed(claim) { Settlement::Settled } else { Settlement::Continue }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptState {
    done: bool,
    /// What has replaced the initial value.
    source: Option<PromptSource>,
    completion: Option<Completion>,
}

impl PromptState {
    /// The prompt that counts now.
    pub fn source<'a>(&'a self, plan: &'a PromptPlan) -> &'a PromptSource {
        self.source.as_ref().unwrap_or(&plan.source)
    }

    pub fn completion<'a>(&'a self, plan: &'a PromptPlan) -> &'a Completion {
        self.completion.as_ref().unwrap_or(&plan.completion)
    }

    fn change(&mut self, changes: &Changes) {
        let Changes { prompt_file, done_pattern, .. } = changes;
        if let Some(path) = prompt_file {
            self.source = Some(PromptSource::File { path: path.clone() });
        }
        if let Some(pattern) = done_pattern {
            self.completion = Some(Completion::Pattern(pattern.clone()));
        }
    }

    pub(super) fn pick(&self) -> Pick {
        if self.done { Pick::Done } else { Pick::Work(Item::Prompt) }
    }

    pub(super) fn apply(&mut self, fact: &PlanFact<'_>) {
        match fact {
            PlanFact::Judged(judgement) => self.done = judgement.settlement == Settlement::Settled,
            PlanFact::Changed(changes) => self.change(changes),
            PlanFact::Began(_)
            | PlanFact::Done(..)
            | PlanFact::Resumed { .. }
            | PlanFact::Waited
            | PlanFact::Committing
            | PlanFact::CommitAbandoned
            | PlanFact::Checked => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(completion: Completion, tag: Option<&str>, verdict: &Verdict, expected: &Settlement) {
        let plan = PromptPlan { source: PromptSource::Text { hash: String::new() }, completion };
        let claim = Claim { tag: tag.map(String::from), ..Claim::default() };
        assert_eq!(plan.judge(&PromptState::default(), &claim, verdict), *expected);
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
