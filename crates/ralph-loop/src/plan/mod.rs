//! What a run works on.
//!
//! A plan answers three pure questions: what to work on now ([`PlanState::pick`]), what an
//! iteration has settled ([`Plan::judge`]), and how that changes what is left
//! ([`PlanState::apply`]). `next` knows nothing else about plans, so a new kind of work is
//! a new file here and not a new loop.

pub mod prompt;
pub mod stories;

use crate::dialect::Listen;
use crate::story_id::StoryId;
use crate::verdict::{Claim, Judgement, Settlement, StorySignal, Verdict};
use prompt::{PromptPlan, PromptState};
use serde::{Deserialize, Serialize};
use stories::{StoriesPlan, StoriesState};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    Prompt(PromptPlan),
    Stories(StoriesPlan),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanState {
    Prompt(PromptState),
    Stories(StoriesState),
}

/// The piece of work of one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// The run's one prompt.
    Prompt,
    Story {
        id: StoryId,
        /// Counts from 1 for each story.
        attempt: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    Work(Item),
    Done,
    /// There is work left, and none of it can be begun.
    Stuck(String),
}

/// What can change what is left to do.
#[derive(Clone, Copy, Debug)]
pub enum PlanFact<'a> {
    /// An agent has begun on it.
    Began(&'a Item),
    Judged(&'a Judgement),
    /// Somebody has taken up a run that had stopped.
    Resumed,
}

impl Plan {
    pub const PROMPT: &str = "prompt";
    pub const STORIES: &str = "stories";

    pub fn name(&self) -> &'static str {
        match self {
            Plan::Prompt(_) => Plan::PROMPT,
            Plan::Stories(_) => Plan::STORIES,
        }
    }

    pub fn start(&self) -> PlanState {
        match self {
            Plan::Prompt(_) => PlanState::Prompt(PromptState::default()),
            Plan::Stories(plan) => PlanState::Stories(plan.start()),
        }
    }

    pub fn judge(&self, state: &PlanState, claim: &Claim, verdict: &Verdict) -> Settlement {
        match (self, state) {
            (Plan::Prompt(plan), PlanState::Prompt(_)) => plan.judge(claim, verdict),
            (Plan::Stories(plan), PlanState::Stories(state)) => plan.judge(state, claim, verdict),
            // A state is made by its plan.
            (Plan::Prompt(_) | Plan::Stories(_), _) => Settlement::Continue,
        }
    }

    /// What an agent's words are searched for.
    pub fn listen(&self) -> Listen {
        match self {
            Plan::Prompt(_) => Listen::Completion,
            Plan::Stories(_) => Listen::Signals,
        }
    }

    /// Whether the agent claims that its work is done, whatever that is worth.
    pub fn claimed(&self, claim: &Claim) -> bool {
        match self {
            Plan::Prompt(plan) => plan.completion.listens() && plan.completion.claimed(claim),
            Plan::Stories(_) => matches!(claim.story, StorySignal::Done(_)),
        }
    }

    /// Whether an answer without any text is asked for again, as the hiccup it mostly is.
    pub fn repeats_empty_answers(&self) -> bool {
        match self {
            Plan::Prompt(plan) => plan.completion.listens(),
            // There it is an attempt without a signal.
            Plan::Stories(_) => false,
        }
    }

    /// Whether every agent begins where its item began: what a failed or lost attempt has left
    /// is put aside first, and the branch has to stay the same.
    pub fn restores(&self) -> bool {
        match self {
            Plan::Prompt(_) => false,
            Plan::Stories(_) => true,
        }
    }
}

impl PlanState {
    pub fn pick(&self) -> Pick {
        match self {
            PlanState::Prompt(state) => state.pick(),
            PlanState::Stories(state) => state.pick(),
        }
    }

    /// Attempts that have halted the run, and that are counted anew for whoever resumes it.
    pub fn counted_anew(&self) -> u32 {
        match self {
            PlanState::Prompt(_) => 0,
            PlanState::Stories(state) => state.counted_anew(),
        }
    }

    pub fn apply(&mut self, fact: &PlanFact<'_>) {
        match self {
            PlanState::Prompt(state) => state.apply(fact),
            PlanState::Stories(state) => state.apply(fact),
        }
    }
}
