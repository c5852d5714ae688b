//! What a run works on.
//!
//! A plan answers three pure questions: what to work on now ([`Plan::pick`]), what an
//! iteration has settled ([`Plan::judge`]), and how that changes what is left
//! ([`PlanState::apply`]). `next` knows nothing else about plans, so a new kind of work is
//! a new file here and not a new loop.

pub mod prompt;

use crate::verdict::{Claim, Judgement, Settlement, Verdict};
use prompt::{Completion, PromptPlan, PromptSource, PromptState};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    Prompt(PromptPlan),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanState {
    Prompt(PromptState),
}

/// The piece of work of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// The run's one prompt.
    Prompt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    Work(Item),
    Done,
    /// There is work left, and none of it can be begun.
    Stuck(String),
}

/// A change of what is left to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanFact {
    Judged(Judgement),
}

impl Plan {
    pub fn name(&self) -> &'static str {
        match self {
            Plan::Prompt(_) => "prompt",
        }
    }

    pub fn start(&self) -> PlanState {
        match self {
            Plan::Prompt(_) => PlanState::Prompt(PromptState::default()),
        }
    }

    pub fn judge(&self, state: &PlanState, claim: &Claim, verdict: &Verdict) -> Settlement {
        match (self, state) {
            (Plan::Prompt(plan), PlanState::Prompt(_)) => plan.judge(claim, verdict),
        }
    }

    /// The text that an agent is given for an item.
    pub fn ask(&self, item: &Item) -> &PromptSource {
        match (self, item) {
            (Plan::Prompt(plan), Item::Prompt) => &plan.source,
        }
    }

    /// What has to come together for the work to be done.
    pub fn completion(&self) -> &Completion {
        match self {
            Plan::Prompt(plan) => &plan.completion,
        }
    }

    /// Whether an answer without any text can be worth anything.
    pub fn listens(&self) -> bool {
        match self {
            Plan::Prompt(plan) => plan.completion.listens(),
        }
    }
}

impl PlanState {
    pub fn pick(&self) -> Pick {
        match self {
            PlanState::Prompt(state) => state.pick(),
        }
    }

    pub fn apply(&mut self, fact: &PlanFact) {
        match self {
            PlanState::Prompt(state) => state.apply(fact),
        }
    }
}
