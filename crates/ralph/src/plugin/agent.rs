//! The agents that can have the plugin, and the commands that they are asked with.

use super::files::{self, Alerts};
use super::{Complaint, PluginError, claude, codex};
use crate::fsx;
use crate::process::Exit;
use crate::process::tool::{Tool, ToolError, ToolOutput};
use ralph_loop::dialect::Dialect;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Far more than it takes: they look at files, and some at the network.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PluginAgent {
    Claude,
    Codex,
}

/// What there was to uninstall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uninstalled {
    Whole,
    Nothing,
    /// The agent is not installed, so its configuration cannot be changed.
    FilesOnly,
}

/// What an agent has of the plugin, as its own commands say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// Where the marketplace `ralph` is read from.
    pub(super) marketplace: Option<String>,
    pub(super) plugin: Option<ListedPlugin>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListedPlugin {
    pub(super) enabled: bool,
    /// The one that is in use.
    pub(super) version: Option<String>,
    /// Where it is read from.
    pub(super) dir: Option<PathBuf>,
    /// Why it cannot be loaded.
    pub(super) errors: Vec<String>,
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    one == other || real(one) == real(other)
}

impl PluginAgent {
    pub const ALL: [PluginAgent; 2] = [PluginAgent::Claude, PluginAgent::Codex];

    pub fn name(self) -> &'static str {
        self.dialect().name()
    }

    pub fn dialect(self) -> Dialect {
        match self {
            PluginAgent::Claude => Dialect::Claude,
            PluginAgent::Codex => Dialect::Codex,
        }
    }

    /// Where its program is.
    pub fn program(self) -> Option<PathBuf> {
        which::which(self.name()).map(|path| std::path::absolute(&path).unwrap_or(path)).ok()
    }

    fn needed(self) -> Result<PathBuf, PluginError> {
        self.program().ok_or(PluginError::NoProgram(self))
    }

    /// Makes it use the plugin of this ralph, whose files are written to `dir`.
    pub fn install(self, dir: &Path, alerts: Alerts) -> Result<(), PluginError> {
        let (program, scratch) = (self.needed()?, scratch()?);
        let caller = Caller::new(self, &program, scratch.path());
        listed_with(&caller, dir)?;
        files::write_own(dir, alerts)?;
        match self {
            PluginAgent::Claude => claude::install(&caller, dir),
            PluginAgent::Codex => codex::install(&caller, dir),
        }
    }

    /// Undoes what [`install`](PluginAgent::install) has done.
    pub fn uninstall(self, dir: &Path) -> Result<Uninstalled, PluginError> {
        if self.program().is_none() && dir.exists() {
            files::remove_own(dir)?;
            return Ok(Uninstalled::FilesOnly);
        }
        let (program, scratch) = (self.needed()?, scratch()?);
        let caller = Caller::new(self, &program, scratch.path());
        let listed = listed_with(&caller, dir)?;
        match self {
            PluginAgent::Claude => claude::uninstall(&caller, &listed)?,
            PluginAgent::Codex => codex::uninstall(&caller, &listed)?,
        }
        files::remove_own(dir)?;
        Ok(if listed == Listed::default() { Uninstalled::Nothing } else { Uninstalled::Whole })
    }

    /// Trusts the plugin's hooks as they are, for an agent that skips others.
    pub fn trust_hooks(self, project: &Path) -> Result<(), PluginError> {
        match self {
            PluginAgent::Claude => Ok(()),
            PluginAgent::Codex => codex::trust_hooks(&Caller::new(self, &self.needed()?, project), project),
        }
    }
}

/// A directory without a project: Claude also changes the settings of the one that it is started in.
fn scratch() -> Result<tempfile::TempDir, PluginError> {
    let path = std::env::temp_dir();
    fsx::scratch_dir(&path).map_err(|source| PluginError::Unwritable { path, source })
}

/// What an agent has of the plugin in `dir`. A marketplace of our name that is not ours is left alone.
fn listed_with(caller: &Caller<'_>, dir: &Path) -> Result<Listed, PluginError> {
    files::refuse_links(dir)?;
    // Codex cannot list anything while the directory of a marketplace is missing.
    let was_missing = !dir.exists();
    if was_missing {
        files::write_own(dir, Alerts::InRuns)?;
    }
    let listed = caller.listed().and_then(|listed| match listed.marketplace {
        Some(source_of) if !is_same(Path::new(&source_of), dir) => {
            Err(PluginError::OtherMarketplace { agent: caller.agent, source_of })
        }
        Some(_) | None => Ok(listed),
    });
    if listed.is_err() && was_missing {
        files::remove_own(dir)?;
    }
    listed
}

/// Calls the commands of an agent.
pub(super) struct Caller<'a> {
    agent: PluginAgent,
    program: &'a Path,
    /// Where they are started.
    cwd: &'a Path,
    patience: Duration,
}

impl<'a> Caller<'a> {
    pub(super) fn new(agent: PluginAgent, program: &'a Path, cwd: &'a Path) -> Caller<'a> {
        Caller { agent, program, cwd, patience: PATIENCE }
    }

    pub(super) fn patience(self, patience: Duration) -> Caller<'a> {
        Caller { patience, ..self }
    }

    pub(super) fn listed(&self) -> Result<Listed, PluginError> {
        match self.agent {
            PluginAgent::Claude => claude::listed(self),
            PluginAgent::Codex => codex::listed(self),
        }
    }

    pub(super) fn tool(&self, args: &[&str]) -> Tool<'static> {
        Tool::new(self.program).args(args).cwd(self.cwd).timeout(self.patience).ends_on_signals()
    }

    fn run(&self, args: &[&str]) -> Result<ToolOutput, PluginError> {
        let agent = self.agent;
        self.tool(args).run().map_err(|source| match source {
            ToolError::TimedOut { .. } => {
                PluginError::Slow { agent, command: self.spelled(args), seconds: self.patience.as_secs() }
            }
            ToolError::Stopped { .. } => PluginError::Stopped { command: self.spelled(args) },
            source => PluginError::Unanswered { agent, source },
        })
    }

    /// Runs one of its commands.
    pub(super) fn tell(&self, args: &[&str]) -> Result<ToolOutput, PluginError> {
        let output = self.run(args)?;
        match output.exit {
            Exit::Code(0) => Ok(output),
            Exit::Code(_) | Exit::Signal(_) => Err(PluginError::Refused {
                agent: self.agent,
                command: self.spelled(args),
                source: Complaint(complaint(&output)),
            }),
        }
    }

    /// The same for one that answers with JSON.
    pub(super) fn ask<T: DeserializeOwned>(&self, args: &[&str]) -> Result<T, PluginError> {
        self.read(&self.tell(args)?, args)
    }

    /// The same for one that fails if it has something to report.
    pub(super) fn report<T: DeserializeOwned>(&self, args: &[&str]) -> Result<T, PluginError> {
        self.read(&self.run(args)?, args)
    }

    fn read<T: DeserializeOwned>(&self, output: &ToolOutput, args: &[&str]) -> Result<T, PluginError> {
        serde_json::from_slice(&output.stdout).map_err(|source| PluginError::Unclear {
            agent: self.agent,
            command: self.spelled(args),
            source,
        })
    }

    fn spelled(&self, args: &[&str]) -> String {
        [&[self.agent.name()], args].concat().join(" ")
    }
}

/// The words of a command that failed, without what Codex adds for its developers.
fn complaint(output: &ToolOutput) -> String {
    let words = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().take_while(|line| !line.starts_with("Stack backtrace"));
        let lines = lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("WARNING"));
        lines.map(|line| line.trim_start_matches("Error: ")).collect::<Vec<_>>().join(" ")
    };
    match words(&output.stderr) {
        said if said.is_empty() => words(&output.stdout),
        said => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_what_a_person_would_quote() {
        let output = |stderr: &str, stdout: &str| ToolOutput {
            exit: Exit::Code(1),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        let codex = "WARNING: proceeding, even though\nError: failed to load marketplace(s):\n- `ralph` at /x: no\n\nStack backtrace:\n   0: <unknown>\n";
        assert_eq!(complaint(&output(codex, "{}")), "failed to load marketplace(s): - `ralph` at /x: no");
        assert_eq!(complaint(&output("\n", "no such plugin\n")), "no such plugin");
    }

    #[test]
    fn an_agent_that_does_not_answer_is_said_to_be_slow_in_whole_seconds() {
        let caller = Caller::new(PluginAgent::Codex, Path::new("sh"), Path::new("/"));
        let error = caller.patience(Duration::from_secs(1)).tell(&["-c", "sleep 60"]).unwrap_err();
        assert_eq!(error.to_string(), "`codex -c sleep 60` did not answer within 1 s");
    }

    #[test]
    fn a_directory_is_the_same_by_another_name() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().file_name().unwrap();
        assert!(is_same(&dir.path().join("..").join(name), dir.path()));
        assert!(is_same(Path::new("/none/of/these"), Path::new("/none/of/these")));
        assert!(!is_same(Path::new("/none/of/these"), dir.path()));
    }
}
