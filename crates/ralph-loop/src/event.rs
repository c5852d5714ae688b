//! The facts that a run consists of.
//!
//! An event is one line of the journal. Facts are small and speak for themselves: ids,
//! outcomes, hashes. Long texts (prompts, excerpts of output) lie beside the journal and
//! are named by hash.

use crate::ask::{Ask, Silence};
use crate::check::CheckEnd;
use crate::dialect::{Answer, Blocker, Exit, NeedsPerson, StreamSummary};
use crate::gates::GateChange;
use crate::low_disk::Shortage;
use crate::money::{Cost, Usd};
use crate::plan::{Item, PlanEnd, PlanStep};
use crate::proof::{Prepared, Round};
use crate::run::Run;
use crate::sandbox::network::NetworkUse;
use crate::scm::{MessageOutcome, TaskOutcome};
use crate::verdict::Judgement;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

pub use crate::stop_reason::{StopKind, StopReason};

/// The version of the journal that this program writes.
///
/// 2: stories, task lists, trees that are put back, and what people ask of a loop.
/// 3: disks that are nearly full.
/// 4: agents that wait for what will not come; the tree is also recorded after an empty answer.
/// 5: checks before the first agent and on a clean copy, and what a result is worth.
/// 6: sandboxes, and checks that run outside of them.
/// 7: the network of sandboxes.
/// 8: secrets in the commands and texts of a run as marks, and agents whose guard could not answer.
/// 9: agents in a terminal that wait for a person.
pub const VERSION: u32 = 9;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub v: u32,
    /// Counts from 1 without a gap.
    pub seq: u64,
    /// Which life of the run wrote it: 1, and one more after each resume.
    pub epoch: u32,
    /// Wall clock, milliseconds since 1970. For people; nothing is decided by it.
    pub at: i64,
    /// How long the run has been alive, downtime left out. Never runs backwards.
    pub up_ms: u64,
    pub fact: Fact,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Always the first, and only that.
    Opened(Box<Run>),
    /// A new process has taken the run up; what was in flight is gone.
    Resumed {
        pid: u32,
    },
    /// The intent: written before the step is carried out.
    Began {
        id: StepId,
        step: Step,
    },
    Ended {
        id: StepId,
        end: End,
    },
    /// The agent has given its answer and should be about to end.
    Answered {
        id: StepId,
    },
    /// The intent to end a step early.
    Cancelled {
        id: StepId,
        how: How,
        why: Why,
    },
    /// An iteration is over.
    Judged(Judgement),
    /// The user asked the loop to stop: a signal.
    StopAsked,
    /// A request to a running loop.
    Asked(Ask),
    /// Nothing has come from the agent for as long as it may be silent.
    Silent {
        id: StepId,
        silence: Silence,
    },
    /// What keeps the agent from going on, as it reports; none when it gets through again.
    Blocked {
        id: StepId,
        by: Option<Blocker>,
        /// What a person is to do about it, in its terminal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Why it needs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<NeedsPerson>,
    },
    /// Work was to begin, and there is too little room for it.
    LowDisk(Shortage),
    /// What the programs of the step in flight did on the network, as far as a sandbox knows it.
    Network(NetworkUse),
    /// The moment that the policy waited for has come.
    Woke,
    Stopped {
        reason: StopReason,
        note: Option<String>,
    },
}

pub type StepId = u64;

/// One thing that the shell carries out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Record the tree before an iteration.
    Snapshot { iteration: u32 },
    /// Run an agent with a fresh context.
    Agent {
        iteration: u32,
        /// Counts from 1 within the iteration: an empty answer or a crash begins another.
        attempt: u32,
        /// Which of the run's agents.
        agent: usize,
        item: Item,
    },
    Check {
        iteration: u32,
        index: usize,
        #[serde(default, skip_serializing_if = "Round::is_workspace")]
        round: Round,
    },
    /// Make ready what a round of checks runs on.
    Prepare { iteration: u32, round: Round },
    /// Install dependencies into the copy that a round runs on.
    Setup {
        iteration: u32,
        round: Round,
        /// Which of the commands.
        index: usize,
    },
    /// Ask an agent for a commit message.
    Message { iteration: u32, agent: usize },
    /// Run one of the source control tasks.
    Scm { iteration: u32, task: usize },
    /// Commit what is left uncommitted in the run's own worktree, before it stops.
    #[serde(rename = "commit_rest")]
    CommitWorktree,
    /// Do something to the files that the plan lies in.
    Plan { iteration: u32, what: PlanStep },
    /// See to what an iteration has left uncommitted.
    #[serde(rename = "left")]
    Uncommitted { iteration: u32, item: Item },
    /// Put the tree back to where the current item began, and keep what was there instead.
    Restore {
        iteration: u32,
        /// Counts from 1 in the run: what is kept is called by it.
        attempt: u32,
    },
}

impl Step {
    /// Whether it cannot do without the directory that the run works in. Source control fails
    /// without ending the run.
    pub fn needs_workspace(&self) -> bool {
        match self {
            Step::Snapshot { .. }
            | Step::Agent { .. }
            | Step::Check { .. }
            | Step::Prepare { .. }
            | Step::Setup { .. }
            | Step::Plan { .. }
            | Step::Restore { .. } => true,
            Step::Message { .. } | Step::Scm { .. } | Step::CommitWorktree | Step::Uncommitted { .. } => {
                false
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Snapshot(SnapshotEnd),
    Agent(Box<AgentEnd>),
    Check(CheckEnd),
    Prepare(Box<Prepared>),
    Setup(CheckEnd),
    Message(MessageEnd),
    Scm(TaskOutcome),
    #[serde(rename = "rest")]
    CommitWorktree(TaskOutcome),
    Restore(RestoreEnd),
    Plan(Box<PlanEnd>),
    #[serde(rename = "left")]
    Uncommitted(UncommittedEnd),
    /// The machinery died under the step; the step itself has shown nothing but what it cost.
    Lost {
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Usd>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimate: Option<Usd>,
    },
    /// The step cannot be carried out, now or again, without a person's help.
    Impossible {
        why: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotEnd {
    /// The git id of the tree; none when it could not be recorded.
    pub tree: Option<String>,
    /// Paths that are not in it: too large, unreadable, a repository of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Paths, sizes and times of all that is not in it, as a hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out_hash: Option<String>,
    /// What has changed since the run's first tree, by hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why there is no tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The commit that the user's repository is on, for source control and after empty answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Where the user's repository stood, for plans that put trees back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Head>,
    /// Changed tests and checks, for a reviewer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateChange>,
}

/// Where a repository stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub branch: Branch,
    /// None before the first commit.
    pub commit: Option<String>,
    /// The index as a tree; none while a merge is not resolved.
    pub index: Option<String>,
}

/// What an iteration has left uncommitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncommittedEnd {
    pub paths: usize,
    /// It was committed then.
    pub committed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What putting a tree back has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreEnd {
    /// The ref under which the tree, the commits and the new files are kept that were there
    /// instead; none if nothing had changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Which parent of that commit has the tree that the work began with, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<usize>,
    /// What had been changed, by hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// All of it, apart from ralph's own files, as a hash to compare attempts by; none if no file
    /// had changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Paths that could not be put back without a loss.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spared: Vec<String>,
}

impl RestoreEnd {
    /// The command that shows what had been changed.
    pub fn diff_command(&self) -> Option<String> {
        let kept = self.kept.as_ref()?;
        Some(match self.began {
            Some(parent) => format!("git diff {kept}^-{parent}"),
            None => format!("git diff HEAD {kept}"),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEnd {
    pub exit: Exit,
    pub answer: Answer,
    pub seen: StreamSummary,
    pub duration_ms: u64,
    /// The composed prompt, by hash.
    pub prompt: String,
    /// Processes that the agent left behind and that were ended.
    #[serde(default)]
    pub swept: u32,
    /// In how long the service is said to answer again, where it refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
    /// The branch after it, where it has to stay the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// What it probably cost, where it reports tokens and no dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Usd>,
    /// The directory that it worked in, if that does not exist any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<PathBuf>,
    /// Why the guard could not answer it, and denied everything, if that was so to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
}

/// Why a run cannot go on without its directory.
pub fn directory_gone(dir: &Path) -> String {
    format!("the project directory is gone: {}: restore it, then run `ralph resume`", dir.display())
}

/// What HEAD is on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branch {
    /// `main`, without `refs/heads/`.
    Named(String),
    #[default]
    Detached,
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Branch::Named(name) => f.write_str(name),
            Branch::Detached => f.write_str("no branch"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEnd {
    pub outcome: MessageOutcome,
    /// What the agent charged for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    /// What it probably cost, where it reports tokens and no dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Usd>,
}

impl End {
    /// What the step cost, where that is known.
    pub fn cost(&self) -> Option<Cost> {
        match self {
            End::Agent(end) => end.cost(),
            End::Message(MessageEnd { cost, estimate, .. }) | End::Lost { cost, estimate, .. } => {
                Cost::known(*cost, *estimate)
            }
            End::Snapshot(_)
            | End::Check(_)
            | End::Prepare(_)
            | End::Setup(_)
            | End::Scm(_)
            | End::CommitWorktree(_)
            | End::Restore(_)
            | End::Plan(_)
            | End::Uncommitted(_)
            | End::Impossible { .. } => None,
        }
    }
}

impl AgentEnd {
    pub fn cost(&self) -> Option<Cost> {
        Cost::known(self.seen.cost, self.estimate)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// SIGTERM, and time to comply.
    Ask,
    /// The whole tree, now.
    Kill,
    /// With the keeper, which did not do it.
    #[serde(rename = "bury")]
    KillKeeper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The step took longer than it may.
    Timeout { after_ms: u64 },
    /// The run took longer than it may.
    MaxTime,
    /// A second signal.
    StopAsked,
    /// The agent had answered and did not end.
    Answered,
    /// The agent showed no sign of life.
    Silent(Silence),
    /// The agent waited for what did not come.
    Blocked(Blocker),
    /// The user wants everything to end.
    Killed,
}
