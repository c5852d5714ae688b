//! What a run works on.
//!
//! A plan answers three pure questions: what to work on now ([`PlanState::pick`]), what an
//! iteration has settled ([`Plan::judge`]), and how that changes what is left
//! ([`PlanState::apply`]). `next` knows nothing else about plans, so a new kind of work is
//! a new file here and not a new loop.

pub mod prompt;
pub mod stories;
pub mod tasks;

use crate::ask::{Changes, Silence};
use crate::check::CheckSpec;
use crate::claim;
use crate::dialect::ScanFor;
use crate::proof::word::Review;
use crate::story_id::StoryId;
use crate::task_list::Mode;
use crate::verdict::{Claim, Judgement, Settlement, StorySignal, Verdict};
use prompt::{Completion, PromptPlan, PromptState};
use serde::{Deserialize, Serialize};
use stories::{StoriesPlan, StoriesState};
use tasks::{Amendment, TasksEnd, TasksPlan, TasksState};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    Prompt(PromptPlan),
    Stories(StoriesPlan),
    Tasks(TasksPlan),
}

#[derive(Clone, Debug, PartialEq)]
pub enum PlanState {
    Prompt(PromptState),
    Stories(StoriesState),
    Tasks(TasksState),
}

/// Stories of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub done: usize,
    pub of: usize,
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
    Task {
        id: String,
        mode: Mode,
    },
}

impl Item {
    /// The story that it is about.
    pub fn story(&self) -> Option<String> {
        match self {
            Item::Prompt => None,
            Item::Story { id, .. } => Some(id.to_string()),
            Item::Task { id, .. } => Some(id.clone()),
        }
    }

    /// What is to be done about it, where that is not always the same.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Item::Prompt | Item::Story { .. } => None,
            Item::Task { mode, .. } => Some(*mode),
        }
    }
}

/// What a plan needs done to the files that it lies in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStep {
    /// Accept the file on disk; after a commit, only what an agent without a mode may do.
    ReadTasks,
    /// Hold what an agent has left against what was there, and undo what it may not do.
    CompareTasks,
    /// Restore what was there before an agent that will not be judged.
    PutBackTasks,
    AmendTasks(Amendment),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEnd {
    Tasks(TasksEnd),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    Work(Item),
    Done,
    /// There is work left, and none of it can be begun.
    Stuck(String),
}

/// What an iteration has done for the plan, as far as the plan itself can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// Only the tree and the checks can show it.
    Unknown,
    Made,
    /// It stands as it stood.
    Nothing,
    /// The same, and what had to be undone before was tried again.
    NothingAgain,
}

/// What can change what is left to do.
#[derive(Clone, Copy, Debug)]
pub enum PlanFact<'a> {
    /// An agent has begun on it.
    Began(&'a Item),
    Judged(&'a Judgement),
    /// Something was done to the plan's files.
    Done(&'a PlanStep, &'a PlanEnd),
    /// A new process has taken the run up; if it had stopped, a person has seen why.
    Resumed {
        had_stopped: bool,
    },
    /// The user has changed the request.
    Changed(&'a Changes),
    /// Nothing of the run was at work for a while.
    Waited,
    /// A check has ended: it runs what the agent has written.
    Checked,
    /// An agent has begun that is only to name a commit, or git, whose hooks and filters may be an
    /// agent's.
    Committing,
    /// Such a commit is no longer waited for, and may go on.
    CommitAbandoned,
}

/// What an iteration is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub claim: &'a Claim,
    pub verdict: &'a Verdict,
    /// Its agent was ended for it.
    pub silence: Option<Silence>,
    /// The run's, which the verdict names by their places.
    pub checks: &'a [CheckSpec],
}

impl Plan {
    pub const PROMPT: &str = "prompt";
    pub const STORIES: &str = "stories";
    pub const TASKS: &str = "tasks";

    pub fn name(&self) -> &'static str {
        match self {
            Plan::Prompt(_) => Plan::PROMPT,
            Plan::Stories(_) => Plan::STORIES,
            Plan::Tasks(_) => Plan::TASKS,
        }
    }

    pub fn as_prompt(&self) -> Option<&PromptPlan> {
        if let Plan::Prompt(plan) = self { Some(plan) } else { None }
    }

    pub fn as_stories(&self) -> Option<&StoriesPlan> {
        if let Plan::Stories(plan) = self { Some(plan) } else { None }
    }

    pub fn as_tasks(&self) -> Option<&TasksPlan> {
        if let Plan::Tasks(plan) = self { Some(plan) } else { None }
    }

    /// The text that it was given beside the journal, by hash.
    pub fn given_text(&self) -> Option<&str> {
        match self {
            Plan::Prompt(plan) => plan.source.hash(),
            Plan::Stories(plan) => plan.template.as_deref(),
            Plan::Tasks(_) => None,
        }
    }

    /// How many of its pieces of work are done; nothing where there is only one, or where they are
    /// not known yet.
    pub fn progress(&self, state: &PlanState) -> Option<Progress> {
        match (self, state) {
            (Plan::Stories(plan), PlanState::Stories(state)) => Some(plan.progress(state)),
            (Plan::Tasks(plan), PlanState::Tasks(state)) => plan.progress(state),
            (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => None,
        }
    }

    /// What a piece of work is called.
    pub fn title<'a>(&'a self, state: &'a PlanState, item: &Item) -> Option<&'a str> {
        match (item, self, state) {
            (Item::Story { id, .. }, Plan::Stories(plan), _) => Some(&plan.story(*id)?.title),
            (Item::Task { id, .. }, _, PlanState::Tasks(state)) => {
                Some(state.known.as_ref()?.list.story(id)?.title())
            }
            (Item::Prompt | Item::Story { .. } | Item::Task { .. }, _, _) => None,
        }
    }

    pub fn start(&self) -> PlanState {
        match self {
            Plan::Prompt(_) => PlanState::Prompt(PromptState::default()),
            Plan::Stories(plan) => PlanState::Stories(plan.start()),
            Plan::Tasks(plan) => PlanState::Tasks(plan.start()),
        }
    }

    pub fn judge(&self, state: &PlanState, evidence: &Evidence<'_>) -> Settlement {
        let Evidence { claim, verdict, .. } = *evidence;
        match (self, state) {
            (Plan::Prompt(plan), PlanState::Prompt(state)) => plan.judge(state, claim, verdict),
            (Plan::Stories(plan), PlanState::Stories(state)) => plan.judge(state, evidence),
            (Plan::Tasks(_), PlanState::Tasks(state)) => state.judge(verdict),
            // A state is made by its plan.
            (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => Settlement::Continue,
        }
    }

    /// What an agent's words are searched for.
    pub fn listen(&self) -> ScanFor {
        match self {
            Plan::Prompt(_) | Plan::Tasks(_) => ScanFor::Completion,
            Plan::Stories(_) => ScanFor::Signals,
        }
    }

    /// The regular expression that an agent's words are matched with.
    pub fn pattern<'a>(&'a self, state: &'a PlanState) -> Option<&'a str> {
        match (self, state) {
            (Plan::Prompt(plan), PlanState::Prompt(state)) => match state.completion(plan) {
                Completion::Pattern(pattern) => Some(pattern),
                Completion::Response(_) | Completion::ChecksOnly | Completion::Never => None,
            },
            (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => None,
        }
    }

    /// Whether the agent claims that its work is done, whatever that is worth.
    pub fn claimed(&self, claim: &Claim) -> bool {
        match self {
            // A pattern may have been put in the place of what the run began with.
            Plan::Prompt(plan) => {
                claim.matched || (plan.completion.listens() && plan.completion.claimed(claim))
            }
            Plan::Stories(_) => matches!(claim.story, StorySignal::Done(_)),
            Plan::Tasks(_) => claim.tag.as_deref().is_some_and(|tag| claim::matches(tag, tasks::COMPLETE)),
        }
    }

    /// What to do about an agent whose words cannot be read, where nothing is done without them.
    pub fn without_words(&self, state: &PlanState) -> Option<&'static str> {
        match (self, state) {
            (Plan::Prompt(plan), PlanState::Prompt(state)) => match state.completion(plan) {
                Completion::Response(_) => Some("make it print text, or use --checks-only"),
                // A pattern is looked for in JSON as well.
                Completion::Pattern(_) | Completion::ChecksOnly | Completion::Never => None,
            },
            (Plan::Stories(_), _) => Some("make it print text"),
            // The list says what is done.
            (Plan::Prompt(_) | Plan::Tasks(_), _) => None,
        }
    }

    /// Whether an answer without any text is asked for again, as the hiccup it mostly is.
    pub fn repeats_empty_answers(&self) -> bool {
        match self {
            Plan::Prompt(plan) => plan.completion.repeats_empty_answers(),
            // There it is an attempt without a signal.
            Plan::Stories(_) => false,
            Plan::Tasks(_) => true,
        }
    }

    /// Whether every agent begins where its item began: what a failed or lost attempt has left
    /// is put aside first, and the branch has to stay the same.
    pub fn restores(&self) -> bool {
        match self {
            Plan::Prompt(_) | Plan::Tasks(_) => false,
            Plan::Stories(_) => true,
        }
    }

    /// Whether the plan itself can tell that an iteration has done nothing for it.
    pub fn detects_advances(&self) -> bool {
        match self {
            Plan::Prompt(_) | Plan::Stories(_) => false,
            Plan::Tasks(_) => true,
        }
    }

    /// Whether what an iteration leaves uncommitted is looked at, unless it is put back.
    pub fn leaves_nothing(&self) -> bool {
        match self {
            Plan::Prompt(_) => false,
            Plan::Stories(plan) => plan.commit,
            Plan::Tasks(_) => true,
        }
    }

    /// What it is committed as, below which the run and the iteration are named; nothing if it is
    /// only counted.
    pub fn commit_subject(&self, item: &Item, iteration: u32) -> Option<String> {
        match (self, item) {
            (Plan::Stories(plan), Item::Story { id, .. }) if plan.commit => {
                let title = plan.story(*id).map_or("", |story| story.title.as_str());
                let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
                Some(format!("[{id}] {title}"))
            }
            (Plan::Tasks(plan), _) if plan.commit_left => {
                let story = item.story().unwrap_or_default();
                Some(format!("wip: [{story}] uncommitted work of iteration {iteration}"))
            }
            (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => None,
        }
    }
}

impl PlanState {
    pub fn as_prompt(&self) -> Option<&PromptState> {
        if let PlanState::Prompt(state) = self { Some(state) } else { None }
    }

    pub fn as_stories(&self) -> Option<&StoriesState> {
        if let PlanState::Stories(state) = self { Some(state) } else { None }
    }

    pub fn as_tasks(&self) -> Option<&TasksState> {
        if let PlanState::Tasks(state) = self { Some(state) } else { None }
    }

    pub fn pick(&self) -> Pick {
        match self {
            PlanState::Prompt(state) => state.pick(),
            PlanState::Stories(state) => state.pick(),
            PlanState::Tasks(state) => state.pick(),
        }
    }

    /// What has to be done to the plan's files before anything else; `over`: an agent has ended
    /// and is to be judged.
    pub fn wants(&self, over: bool) -> Option<PlanStep> {
        match self {
            PlanState::Prompt(_) | PlanState::Stories(_) => None,
            PlanState::Tasks(state) => state.wants(over),
        }
    }

    /// What has to be done to them even if nothing else is: whatever changes there after a run has
    /// stopped is a person's.
    pub fn owes(&self, over: bool) -> Option<PlanStep> {
        self.wants(over).filter(|step| match step {
            PlanStep::CompareTasks | PlanStep::PutBackTasks | PlanStep::AmendTasks(_) => true,
            PlanStep::ReadTasks => matches!(self, PlanState::Tasks(tasks) if tasks.after_commits()),
        })
    }

    /// Whether the files must be read again before the checks of an agent that has ended.
    pub fn wants_to_look(&self) -> Option<PlanStep> {
        self.wants(true).filter(|step| *step == PlanStep::ReadTasks)
    }

    /// Whether the iteration that is about to be judged approves a piece of work, whatever else is left.
    pub fn approves(&self) -> bool {
        match self {
            PlanState::Prompt(_) | PlanState::Stories(_) => false,
            PlanState::Tasks(state) => state.approves(),
        }
    }

    /// Who stands behind what is done.
    pub fn review(&self) -> Review {
        match self {
            PlanState::Tasks(state) if state.has_reviews() => Review::Approved,
            PlanState::Prompt(_) | PlanState::Stories(_) | PlanState::Tasks(_) => Review::None,
        }
    }

    /// What the iteration that is about to be judged has done for it.
    pub fn advance(&self) -> Advance {
        match self {
            PlanState::Prompt(_) | PlanState::Stories(_) => Advance::Unknown,
            PlanState::Tasks(state) => state.advance(),
        }
    }

    /// Whether the last attempt at what is worked on has failed.
    pub fn last_failed(&self) -> bool {
        match self {
            PlanState::Prompt(_) | PlanState::Tasks(_) => false,
            PlanState::Stories(state) => state.failed().is_some(),
        }
    }

    /// Attempts that have halted the run, and whose count starts again when it is resumed.
    pub fn attempts_reset_by_resume(&self) -> u32 {
        match self {
            PlanState::Prompt(_) | PlanState::Tasks(_) => 0,
            PlanState::Stories(state) => state.attempts_reset_by_resume(),
        }
    }

    pub fn apply(&mut self, fact: &PlanFact<'_>) {
        match self {
            PlanState::Prompt(state) => state.apply(fact),
            PlanState::Stories(state) => state.apply(fact),
            PlanState::Tasks(state) => state.apply(fact),
        }
    }
}
