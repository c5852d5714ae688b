//! What the hook goes by in one agent of a run: written by the engine before the agent starts, outside the workspace.
//!
//! The settings in the workspace are not looked at again: an agent could have changed them.

use super::decided::{DecidedError, decided};
use crate::fsx;
use crate::layout::{Home, Project, RunDir, user_settings};
use crate::settings::{self, SettingsError};
use ralph_loop::Run;
use ralph_loop::guard::{GuardSpec, Scope};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    pub spec: GuardSpec,
    pub scope: Scope,
    /// Canonical.
    pub workspace: PathBuf,
    /// What else may be changed.
    pub writable: Vec<PathBuf>,
    pub protected: Vec<PathBuf>,
    /// Scripts that are newer were written in this session.
    pub since: Since,
    /// When the work began, with whichever agent: commits that are older were there before.
    pub started: Since,
    pub agent_of: AgentOf,
}

/// For whom an agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentOf {
    /// It has its workspace, and no other.
    Run,
    /// It may also commit in other worktrees of the repository.
    Person,
}

/// Since when an agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// Seconds since 1970.
    Time(i64),
    /// Every script can have been written by it.
    Unknown,
}

impl Since {
    pub fn now() -> Since {
        Since::of(SystemTime::now())
    }

    pub fn of(time: SystemTime) -> Since {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Since::Time(i64::try_from(since).unwrap_or(i64::MAX))
    }
}

#[derive(Debug, Error)]
pub enum OrdersError {
    #[error("cannot read the policy of the run: {}: {cause}", file.display())]
    File { file: PathBuf, cause: io::Error },
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Decided(#[from] DecidedError),
}

/// Larger than any policy: `guard.allow` is written by hand.
const LARGEST: u64 = 16 << 20;

impl Orders {
    pub fn read(file: &Path) -> Result<Orders, OrdersError> {
        let broken = |cause| OrdersError::File { file: file.to_path_buf(), cause };
        let bytes = fsx::read_at_most(file, LARGEST).map_err(broken)?;
        serde_json::from_slice(&bytes).map_err(|cause| broken(cause.into()))
    }

    pub fn write(&self, run_dir: &RunDir) -> io::Result<()> {
        fsx::write_private(&run_dir.guard(), &serde_json::to_vec(self)?)
    }

    /// Those of a session that ralph did not start: by the settings as they are now.
    pub fn of_person(cwd: &Path, transcript: &Path) -> Result<Orders, OrdersError> {
        let since = session_start(transcript);
        let (mut orders, _) = Orders::by_settings(top_of(cwd), since, since, AgentOf::Person)?;
        // Only an agent of a run has nothing to do with other runs.
        orders.spec.allow.push("ralph *".to_owned());
        Ok(orders)
    }

    /// Those of an agent that would start now, for a user who wants to know what they come to, and the warnings of
    /// the settings.
    pub fn for_look(cwd: &Path) -> Result<(Orders, Vec<String>), OrdersError> {
        Orders::by_settings(top_of(cwd), Since::Unknown, Since::now(), AgentOf::Run)
    }

    fn by_settings(
        workspace: PathBuf,
        since: Since,
        started: Since,
        agent_of: AgentOf,
    ) -> Result<(Orders, Vec<String>), OrdersError> {
        let project = Project::at(workspace.clone());
        let loaded = settings::load(&project, None)?;
        let orders = Orders {
            spec: decided(&loaded.settings.guard, &project)?,
            scope: Scope::Everything,
            workspace,
            writable: Vec::new(),
            protected: protected(Home::find().as_ref()),
            since,
            started,
            agent_of,
        };
        Ok((orders, loaded.warnings))
    }
}

/// What agents may not change at the top of a repository, if they work further down.
const PROTECTED: [&str; 4] = [".git", ".claude", ".codex", ".ralph"];

/// What no agent may change, wherever it works: ralph's records and the user's settings of it.
pub(super) fn protected(home: Option<&Home>) -> Vec<PathBuf> {
    let files = home.map(|home| home.root().to_path_buf()).into_iter().chain(user_settings());
    files.map(|file| file.canonicalize().unwrap_or(file)).collect()
}

/// The top of the repository, without asking git: where there is none, the directory itself.
fn top_of(dir: &Path) -> PathBuf {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    top_below(dir, home.as_deref())
}

/// A home can be a repository of settings. A directory in it that is in no other repository is a workspace of its own,
/// or everything in the home would belong to it.
fn top_below(dir: &Path, home: Option<&Path>) -> PathBuf {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let is_around_home = |dir: &Path| home.is_some_and(|home| home.starts_with(dir));
    let mut candidates = dir.ancestors().take_while(|above| *above == dir || !is_around_home(above));
    candidates.find(|dir| is_top(dir)).map_or_else(|| dir.clone(), Path::to_path_buf)
}

/// Worktrees and submodules have a file. An empty `.git` is what a sandbox leaves where it has hidden one.
fn is_top(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

/// A file's times are whole seconds on some disks.
const COARSE: Duration = Duration::from_secs(1);

/// When the transcript of a session began.
fn session_start(transcript: &Path) -> Since {
    let born = transcript.metadata().and_then(|meta| meta.created());
    born.map_or(Since::Unknown, |born| Since::of(born.checked_sub(COARSE).unwrap_or(born)))
}

impl Orders {
    /// The orders for an agent of a run that starts now. `ralph` is the program that it asks.
    pub fn of_run(run: &Run, run_dir: &RunDir, ralph: &Path) -> Orders {
        // A run of an earlier version is resumed with the usual guard.
        let spec = run.guard.clone().unwrap_or_default();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let workspace = real(&run.workspace);
        let tree = run.tree();
        let top = tree.top.as_deref().map(real).filter(|top| *top != workspace);
        // Of the workspace itself, the rules know them.
        let of_top: Vec<PathBuf> = top.iter().flat_map(|top| PROTECTED.map(|name| top.join(name))).collect();
        // When the work began does not change with each agent.
        let before = Orders::read(&run_dir.guard()).ok().map(|orders| orders.started);
        Orders {
            scope: match run.confinement.sandbox() {
                Some(_) => Scope::BeyondSandbox,
                None => Scope::Everything,
            },
            writable: spec.writable.iter().cloned().chain(top).collect(),
            spec,
            workspace,
            protected: protected(Some(&run_dir.home()))
                .into_iter()
                .chain([real(ralph)])
                .chain(of_top)
                .collect(),
            since: Since::now(),
            started: before.unwrap_or_else(Since::now),
            agent_of: AgentOf::Run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_a_repository_or_a_directory_without_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let file = |path: &str| {
            fsx::dir(root.join(path).parent().unwrap()).unwrap();
            fsx::write_whole(&root.join(path), b"x").unwrap();
        };
        file("home/.git/HEAD");
        file("home/notes/a.md");
        file("home/project/.git/HEAD");
        file("home/project/src/main.rs");
        file("home/worktree/.git");
        file("home/worktree/src/main.rs");
        fsx::dir(&root.join("empty/.git")).unwrap();
        fsx::dir(&root.join("empty/inside")).unwrap();
        for (dir, top) in [
            ("home/project/src", "home/project"),
            ("home/project", "home/project"),
            ("home/worktree/src", "home/worktree"),
            ("home/notes", "home/notes"),
            ("home", "home"),
            ("empty/inside", "empty/inside"),
        ] {
            assert_eq!(top_below(&root.join(dir), Some(&root.join("home"))), root.join(top), "{dir}");
        }
        assert_eq!(top_below(&root.join("home/notes"), None), root.join("home"));
    }
}
