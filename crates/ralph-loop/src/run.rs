//! A run as it was asked for.
//!
//! Settings and flags become one immutable [`Run`], journaled whole as the first fact:
//! a resumed run has the plan and the limits it began with, whatever the settings say
//! by then.

use crate::check::CheckSpec;
use crate::dialect::{Dialect, can_commit};
use crate::guard::GuardSpec;
use crate::interactive::Permissions;
use crate::limits::{Limits, is_zero};
use crate::plan::{Item, Plan};
use crate::price::Price;
use crate::proof::ProofSpec;
use crate::sandbox::Confinement;
use crate::scm::ScmSpec;
use crate::task_list::Mode;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: String,
    pub plan: Plan,
    pub agents: Vec<AgentSpec>,
    /// Agents that do one kind of work only.
    #[serde(default, skip_serializing_if = "Roles::is_default")]
    pub roles: Roles,
    pub checks: Vec<CheckSpec>,
    pub limits: Limits,
    /// What happens to the changes of an iteration whose checks are green.
    pub scm: Option<ScmSpec>,
    /// The directory that agents and checks work in.
    pub workspace: PathBuf,
    pub place: Place,
    /// What keeps its programs inside that directory.
    #[serde(default, skip_serializing_if = "Confinement::is_default")]
    pub confinement: Confinement,
    /// What its agents' tool calls are held against; runs of earlier versions have no guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardSpec>,
    /// Whether that directory belongs to a git work tree.
    pub git: bool,
    /// The top of the work tree that the user started it in; not known of runs of earlier versions.
    /// [`Run::tree`] has the one that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<PathBuf>,
    /// Record the tree before each iteration.
    pub checkpoints: bool,
    /// Files with more bytes are left out of checkpoints.
    pub largest_file: u64,
    /// Bytes that checkpoints may take up; 0 is no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub keep_checkpoints: u64,
    /// Bytes of what agents printed that are kept; 0 is all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub keep_streams: u64,
    pub prompt: PromptOptions,
    /// How its work is proven; runs of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofSpec>,
    /// Its agents are on a terminal, where people can watch and type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<Interactive>,
    /// Where what happens is logged as well, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// A command that notifies people of how it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<String>,
}

impl Run {
    /// The project's directory, in which the run was started.
    pub fn origin(&self) -> &Path {
        self.place.origin().unwrap_or(&self.workspace)
    }

    /// The work tree that the run works in.
    pub fn tree(&self) -> Tree {
        match self.place.own_tree() {
            Some(path) => Tree { dir: path.to_path_buf(), top: Some(path.to_path_buf()) },
            None => Tree { dir: self.workspace.clone(), top: self.top.clone() },
        }
    }

    /// The tree is recorded for the history, because it may have to be put back, or because only it
    /// shows a stall, or whether there is anything new for source control.
    pub fn wants_snapshots(&self) -> bool {
        let detects_stalls =
            self.limits.stall_after > 0 && (!self.checks.is_empty() || self.plan.detects_advances());
        let proves = self.proof.is_some() && !self.checks.is_empty();
        self.git
            && (self.checkpoints || self.plan.restores() || detects_stalls || self.scm.is_some() || proves)
    }

    /// The agents that may do a piece of work, the wanted one first. Another one's specialist is
    /// not among them.
    pub fn agents_for(&self, item: &Item) -> impl Iterator<Item = usize> + use<> {
        let Roles { review, fix } = self.roles;
        let own = match item.mode() {
            Some(Mode::Review) => review,
            Some(Mode::ReviewFix) => fix,
            Some(Mode::Implement) | None => None,
        };
        let all = (0..self.agents.len()).filter(move |agent| review != Some(*agent) && fix != Some(*agent));
        own.into_iter().chain(all)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// What people call it: `claude`, or the program's name.
    pub name: String,
    pub dialect: Dialect,
    pub program: String,
    pub args: Vec<String>,
    pub model: Option<String>,
    /// May act without asking: unattended runs have no one to answer.
    pub autonomous: bool,
    /// For an estimate of what it costs, should it report tokens and no dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl AgentSpec {
    /// Whether it can commit what it has done, or ralph has to do that for it.
    pub fn can_commit(&self, sandboxed: bool) -> bool {
        can_commit(self.dialect, &self.args, sandboxed)
    }
}

/// How agents work on a terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interactive {
    /// An agent that shows no sign of life for so long waits for a person.
    pub ready_within_ms: u64,
    pub permissions: Permissions,
    /// The iteration ends once so many percent of the agent's context are full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_context: Option<u8>,
    /// What is on the screen of a plain program that is ready, as regular expressions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ready_patterns: Vec<String>,
    /// Look for the done pattern while a plain program works, and not only when it rests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check_done_continuously: bool,
    /// The prompt is appended to the agent's system prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_system_prompt: bool,
}

/// Which of a run's agents do one kind of work only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Roles {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<usize>,
}

impl Roles {
    fn is_default(&self) -> bool {
        *self == Roles::default()
    }
}

/// Where the workspace comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// It is the user's own directory.
    Here,
    /// A git worktree made for this run.
    Worktree {
        path: PathBuf,
        branch: String,
        /// The project that it was made from.
        origin: PathBuf,
    },
}

impl Place {
    /// The work tree that was made for the run and goes with it.
    pub fn own_tree(&self) -> Option<&Path> {
        match self {
            Place::Here => None,
            Place::Worktree { path, .. } => Some(path),
        }
    }

    /// The project that a tree of the run's own was made from.
    pub fn origin(&self) -> Option<&Path> {
        match self {
            Place::Here => None,
            Place::Worktree { origin, .. } => Some(origin),
        }
    }
}

/// A directory, and the top of the git work tree that it belonged to when the run began. An agent
/// can delete that repository; one that lies around it is not the run's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    pub dir: PathBuf,
    /// Not known if there was none.
    pub top: Option<PathBuf>,
}

/// What the prompt carries besides the text it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptOptions {
    /// How to finish, the checks, and what has happened so far.
    pub context: bool,
    /// `Iteration X of Y, Z remaining.` on top.
    pub iteration_count: bool,
    /// An empty prompt file is an empty prompt, not a mistake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
}
