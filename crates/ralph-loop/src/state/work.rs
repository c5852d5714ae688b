//! The piece of work under way: what it is, how far it has come, and the trees around it.

use crate::ask::Silence;
use crate::check::CheckResult;
use crate::event::{Branch, Head, RestoreEnd, SnapshotEnd, Step, StopReason};
use crate::gates::GateChange;
use crate::plan::{Item, Pick};
use crate::proof::{Proof, Round, Rounds};
use crate::scm;
use crate::verdict::Claim;

#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// What the plan has picked for the iteration under way, or for the next one.
    pub pick: Pick,
    pub stage: Stage,
    /// Agents begun within the current iteration.
    pub attempts: u32,
    /// What failed in the iteration before, or before the first one, for the next prompt.
    pub feedback: Vec<CheckResult>,
    /// Tests and checks that have changed, for a reviewer's prompt.
    pub gates: Vec<GateChange>,
    /// What was not accepted although the checks are green, for the next prompt.
    pub refused: Option<Box<Proof>>,
    /// The run's first tree, and what has changed since by the last snapshot.
    pub first_tree: Option<String>,
    pub diff: Option<String>,
    /// Where the current item began, for plans that go back there.
    pub base: Option<Base>,
    /// The branch that the run works on, where it has to stay the same.
    pub branch: Option<Branch>,
    /// The repository when the run began, or when source control was last done.
    pub mark: Option<Mark>,
    /// What the current iteration began with.
    pub(super) began: Option<Mark>,
    /// How often a tree was put back.
    pub restored: u32,
    /// What the last attempt at the current item that was judged had done.
    pub tried: Option<RestoreEnd>,
    pub worktree: Worktree,
    pub trouble: Option<Trouble>,
}

impl Work {
    pub(super) fn new(pick: Pick) -> Work {
        Work {
            pick,
            stage: Stage::Between(Chores::default()),
            attempts: 0,
            feedback: Vec::new(),
            gates: Vec::new(),
            refused: None,
            first_tree: None,
            diff: None,
            base: None,
            branch: None,
            mark: None,
            began: None,
            restored: 0,
            tried: None,
            worktree: Worktree::Changed,
            trouble: None,
        }
    }

    /// Whether the tree has to be put back before the next agent, and can be.
    pub fn must_restore(&self) -> bool {
        self.base.is_some() && self.stage.chores().is_some_and(|chores| chores.restore == Restore::Due)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Between iterations: what has to be done before the next agent.
    Between(Chores),
    /// The agent is at work.
    Working,
    /// The agent has answered, or was ended for its silence; the checks are next.
    Answered { claim: Claim, reply: Reply, rounds: Rounds },
    /// The agent has failed.
    Failed { why: String },
}

impl Stage {
    pub fn chores(&self) -> Option<&Chores> {
        match self {
            Stage::Between(chores) => Some(chores),
            Stage::Working | Stage::Answered { .. } | Stage::Failed { .. } => None,
        }
    }

    pub(super) fn chores_mut(&mut self) -> Option<&mut Chores> {
        match self {
            Stage::Between(chores) => Some(chores),
            Stage::Working | Stage::Answered { .. } | Stage::Failed { .. } => None,
        }
    }

    /// Of the checks of this iteration that have ended, and that it is judged by.
    pub fn results(&self) -> &[CheckResult] {
        match self {
            Stage::Answered { rounds, .. } => rounds.deciding().map_or(&[], |round| &round.results),
            Stage::Between(_) | Stage::Working | Stage::Failed { .. } => &[],
        }
    }

    /// Those of them that failed, with what is known of why.
    pub(super) fn failures(&self) -> Vec<CheckResult> {
        let Stage::Answered { rounds, .. } = self else { return Vec::new() };
        let Some(deciding) = rounds.deciding() else { return Vec::new() };
        let ignored = deciding.prepared.as_ref().filter(|prepared| prepared.is_copy());
        let in_place = ignored.and_then(|_| rounds.get(Round::Workspace));
        let failed = deciding.results.iter().filter(|result| !result.outcome.passed());
        let explained = |result: &CheckResult| {
            let passes = in_place.and_then(|round| round.passed(result.index)) == Some(true);
            let only_on_copy = ignored.filter(|_| passes).map(|prepared| prepared.ignored.clone());
            CheckResult { only_on_copy, ..result.clone() }
        };
        failed.map(explained).collect()
    }

    /// Whether an agent has ended whose iteration is not judged yet.
    pub fn is_over(&self) -> bool {
        match self {
            Stage::Answered { .. } | Stage::Failed { .. } => true,
            Stage::Between(_) | Stage::Working => false,
        }
    }

    /// Whether the agent of the current iteration may be run: nothing was checked of an earlier
    /// answer, which was empty.
    pub(crate) fn may_begin_agent(&self) -> bool {
        match self {
            Stage::Between(_) => true,
            Stage::Answered { reply, rounds, .. } => reply.is_empty() && rounds.is_empty(),
            Stage::Working | Stage::Failed { .. } => false,
        }
    }

    /// Whether the tree may be recorded: before an iteration, or after an empty answer.
    pub(super) fn may_begin_snapshot(&self) -> bool {
        match self {
            Stage::Between(chores) => chores.snapshot == Snapshot::Due,
            Stage::Answered { reply: Reply::Empty { .. }, rounds, .. } => rounds.is_empty(),
            Stage::Working | Stage::Answered { .. } | Stage::Failed { .. } => false,
        }
    }
}

/// What is due between two iterations, in this order; nothing of it is left once an agent begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chores {
    /// Source control tasks of the last iteration.
    pub scm: Option<scm::Due>,
    /// Changes that the last iteration has not committed, and the item that it was about.
    pub uncommitted: Option<Item>,
    pub restore: Restore,
    pub snapshot: Snapshot,
}

impl Chores {
    /// After an agent that nothing will be said about: the same item begins again, where it began.
    pub(super) fn after_unjudged() -> Chores {
        Chores { restore: Restore::Due, ..Chores::recorded() }
    }

    /// The tree is recorded, and nothing else is due.
    pub(super) fn recorded() -> Chores {
        Chores { snapshot: Snapshot::Taken, ..Chores::default() }
    }

    /// Whether a step is one of those that are due.
    pub(super) fn call_for(&self, step: &Step) -> bool {
        match step {
            Step::Message { .. } => self.scm.as_ref().is_some_and(|due| due.message == scm::Message::Unasked),
            Step::Scm { task, .. } => self.scm.as_ref().is_some_and(|due| due.tasks_done == *task),
            Step::Uncommitted { item, .. } => self.uncommitted.as_ref() == Some(item),
            Step::Restore { .. } => self.restore == Restore::Due,
            Step::Snapshot { .. } => self.snapshot == Snapshot::Due,
            Step::Agent { .. }
            | Step::Check { .. }
            | Step::Prepare { .. }
            | Step::Setup { .. }
            | Step::CommitWorktree
            | Step::Plan { .. } => false,
        }
    }
}

/// Whether the tree holds something that the next agent must not find there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restore {
    #[default]
    NotNeeded,
    Due,
}

/// Whether the tree before the coming iteration is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Snapshot {
    #[default]
    Due,
    Taken,
}

/// A worktree of the run's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worktree {
    /// An agent has worked since the last commit of all changes.
    Changed,
    /// All changes were committed since, or could not be.
    Committed,
}

/// A step that cannot be carried out without help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It was the plan's: its files cannot be looked after.
    Plan(String),
    /// Every tool call was denied, because there was no answer.
    Guard(String),
    Other(String),
}

impl Trouble {
    pub fn why(&self) -> &str {
        match self {
            Trouble::Plan(why) | Trouble::Guard(why) | Trouble::Other(why) => why,
        }
    }

    pub fn stop_reason(&self) -> StopReason {
        match self {
            // Nothing is wrong with the work.
            Trouble::Guard(_) => StopReason::Paused,
            Trouble::Plan(_) | Trouble::Other(_) => StopReason::Error,
        }
    }
}

/// What came with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Words,
    /// It was ended for its silence, whatever it had said before.
    Silent(Silence),
    /// Nothing. `idle`: its stream shows that it has used no tool.
    Empty {
        idle: bool,
    },
    /// Nothing, and the tree is as it was.
    EmptyUnchanged,
    /// Nothing, but the agent has worked on the tree.
    EmptyChanged,
}

impl Reply {
    pub fn is_empty(self) -> bool {
        match self {
            Reply::Words | Reply::Silent(_) => false,
            Reply::Empty { .. } | Reply::EmptyUnchanged | Reply::EmptyChanged => true,
        }
    }

    pub fn silence(self) -> Option<Silence> {
        match self {
            Reply::Silent(silence) => Some(silence),
            Reply::Words | Reply::Empty { .. } | Reply::EmptyUnchanged | Reply::EmptyChanged => None,
        }
    }
}

/// A tree and the place in the user's repository that it was recorded at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub tree: String,
    pub head: Head,
}

/// A tree, the commit that it is based on, and what is beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    tree: String,
    commit: Option<String>,
    left_out: Option<String>,
}

impl Mark {
    /// None if the tree is not known.
    pub(super) fn of(end: &SnapshotEnd) -> Option<Mark> {
        let SnapshotEnd { tree, commit, left_out_hash, .. } = end.clone();
        tree.map(|tree| Mark { tree, commit, left_out: left_out_hash })
    }
}
