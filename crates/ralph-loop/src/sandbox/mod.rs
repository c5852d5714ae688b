//! What keeps the programs of a run inside its workspace, as it was requested and as it was chosen, and
//! what they see of the user's home and environment, as tables.
//!
//! In a sandbox the home is empty but for what a row names: [`tools`] has the toolchains, [`caches`]
//! the package caches, [`agents`] the logins and the configuration of agents. Invariant: nothing is
//! hidden because a list calls it a secret; what no row names is not there. [`redact`] takes
//! credentials out of configuration that has to be visible. The environment has no such rows: there,
//! [`variables`] keeps outside what looks like a secret by its name. [`network`] says which hosts can be reached.
//!
//! Deliberately absent: how a sandbox is made, whether one works here, and what is on the disk. That takes
//! a system to try it on.

pub mod agent_config;
pub mod agents;
pub mod caches;
pub mod credential;
pub mod network;
mod paths;
pub mod redact;
pub mod tools;
pub mod variables;

pub use paths::{Places, VARIABLES};

pub mod needs;

use network::{NetworkMode, NetworkSpec};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use variables::Allowed;

/// A sandbox that ralph can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// Bubblewrap: namespaces with a file system of their own.
    Bwrap,
    /// Rules of the kernel about which files a process may open.
    Landlock,
}

impl SandboxKind {
    /// The best first.
    pub const ALL: [SandboxKind; 2] = [SandboxKind::Bwrap, SandboxKind::Landlock];

    pub fn name(self) -> &'static str {
        match self {
            SandboxKind::Bwrap => "bwrap",
            SandboxKind::Landlock => "landlock",
        }
    }

    /// What it does not stop, in the words of a run's banner. With scopes, the kernel keeps programs from
    /// abstract sockets of others.
    pub fn gaps(self, has_scopes: bool) -> Option<String> {
        let own = match self {
            SandboxKind::Bwrap => None,
            SandboxKind::Landlock => Some(
                "shares /tmp, processes, caches and logins with you; does not protect .git, and \
                 restores settings only after each step",
            ),
        };
        let sockets = (!has_scopes).then_some("abstract sockets are open before Linux 6.12");
        let all: Vec<&str> = own.into_iter().chain(sockets).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl SandboxKind {
    /// What it does not stop on a network that is not open.
    pub fn network_gaps(self, mode: NetworkMode) -> Option<&'static str> {
        match (self, mode) {
            (SandboxKind::Bwrap, _) | (SandboxKind::Landlock, NetworkMode::Open) => None,
            (SandboxKind::Landlock, NetworkMode::Off | NetworkMode::Allowlist) => {
                Some("restricts TCP by port only, from Linux 6.7 on, and neither UDP nor DNS")
            }
        }
    }
}

/// Which sandbox a user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxChoice {
    /// Any that works here; without one the run goes on without.
    #[default]
    Auto,
    /// Any that works here.
    Any,
    Named(SandboxKind),
    None,
}

impl SandboxChoice {
    /// As flags, settings and the environment spell them.
    pub const NAMES: [&str; 4] = ["auto", "bwrap", "landlock", "none"];

    pub fn named(name: &str) -> Option<SandboxChoice> {
        let kind = SandboxKind::ALL.into_iter().find(|kind| kind.name() == name);
        match name {
            "auto" => Some(SandboxChoice::Auto),
            "none" => Some(SandboxChoice::None),
            _ => kind.map(SandboxChoice::Named),
        }
    }

    /// Those to try, in this order.
    pub fn candidates(self) -> Vec<SandboxKind> {
        match self {
            SandboxChoice::Auto | SandboxChoice::Any => SandboxKind::ALL.to_vec(),
            SandboxChoice::Named(kind) => vec![kind],
            SandboxChoice::None => Vec::new(),
        }
    }

    /// Whether a run is refused if none of them works.
    pub fn is_required(self) -> bool {
        match self {
            SandboxChoice::Any | SandboxChoice::Named(_) => true,
            SandboxChoice::Auto | SandboxChoice::None => false,
        }
    }
}

/// How the programs of a run are confined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    Sandbox(SandboxSpec),
    /// They have the user's rights; why, if the user did not want it so.
    None {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

impl Default for Confinement {
    /// Runs of earlier versions knew no sandbox.
    fn default() -> Confinement {
        Confinement::None { why: None }
    }
}

impl Confinement {
    pub fn sandbox(&self) -> Option<&SandboxSpec> {
        match self {
            Confinement::Sandbox(spec) => Some(spec),
            Confinement::None { .. } => None,
        }
    }

    pub fn is_default(&self) -> bool {
        *self == Confinement::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    pub kind: SandboxKind,
    /// The user asked for it: it is not given up for checks that need more than it allows.
    #[serde(default)]
    pub required: bool,
    /// Paths that can be read beside what every run can read.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    #[serde(default)]
    pub write: Vec<PathBuf>,
    /// Further tools in the home, by name or by path.
    #[serde(default)]
    pub tools: Vec<String>,
    #[serde(default)]
    pub env: EnvRule,
    /// Variables that are passed on in any case.
    #[serde(default)]
    pub variables: Vec<String>,
    #[serde(default)]
    pub limits: SandboxLimits,
    #[serde(default, skip_serializing_if = "NetworkSpec::is_default")]
    pub network: NetworkSpec,
}

impl SandboxSpec {
    /// Which variables the user wants inside.
    pub fn allowed(&self) -> Allowed<'_> {
        Allowed { env: self.env, variables: &self.variables }
    }
}

/// Which variables are passed on beside those that are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvRule {
    /// All but sockets of the user's session and what looks like a secret.
    #[default]
    Most,
    /// A few that nearly every program needs.
    Only,
}

/// What the programs of one step may use up together, where the system can hold them to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxLimits {
    pub processes: Option<u64>,
    /// Bytes, as all that follow.
    pub memory: Option<u64>,
    pub file_size: Option<u64>,
    pub tmp_size: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sandbox_does_not_stop_is_said() {
        assert_eq!(SandboxKind::Bwrap.gaps(true), None);
        assert_eq!(
            SandboxKind::Bwrap.gaps(false).as_deref(),
            Some("abstract sockets are open before Linux 6.12")
        );
        for scopes in [true, false] {
            let gaps = SandboxKind::Landlock.gaps(scopes).unwrap();
            assert!(gaps.contains("/tmp") && gaps.contains(".git"), "{gaps}");
            assert_eq!(gaps.contains("abstract"), !scopes);
        }
    }

    #[test]
    fn every_name_is_a_choice_and_says_what_to_try() {
        let choices: Vec<_> =
            SandboxChoice::NAMES.iter().map(|name| SandboxChoice::named(name).unwrap()).collect();
        let required: Vec<_> = choices.iter().map(|choice| choice.is_required()).collect();
        assert_eq!(required, [false, true, true, false]);
        assert_eq!(choices[0].candidates(), SandboxKind::ALL);
        assert_eq!(choices[1].candidates(), [SandboxKind::Bwrap]);
        assert_eq!(choices[3].candidates(), []);
        assert!(SandboxChoice::Any.is_required() && SandboxChoice::named("docker").is_none());
    }
}
