//! Each check of a plan, run once in the project.
//!
//! The agent that wrote the plan may run nothing, so its commands run where those of a run would: in the sandbox
//! that the settings ask for.

use super::runner::{Ended, Happened, Input, Runner};
use crate::git::Repository;
use crate::layout::{Home, Project};
use crate::process::{Command, SHELL};
use crate::sandbox::{self, Inside, Role, Sandbox, SandboxError};
use crate::settings::Settings;
use ralph_loop::planner::{CheckOutcome, TriedCheck};
use ralph_loop::sandbox::Confinement;
use std::time::Duration;

/// As long as a check of a run may take by default.
const TIME: Duration = Duration::from_secs(120);

/// `None` if the user stopped it.
pub fn try_checks(
    commands: &[&str],
    project: &Project,
    settings: &Settings,
    home: &Home,
) -> Result<Option<Vec<TriedCheck>>, SandboxError> {
    if commands.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let tree =
        Repository::around(project.dir()).map_or_else(|| project.dir().to_path_buf(), |found| found.top);
    let sandbox = match sandbox::choose(None, &settings.sandbox, &tree)? {
        Confinement::Sandbox(spec) => {
            Some(Sandbox::for_user(&spec, home, tree, project.dir(), &settings.agent.command)?)
        }
        Confinement::None { .. } => None,
    };
    let mut tried = Vec::new();
    for command in commands {
        let line = Command {
            argv: [SHELL, "-c", command].map(Into::into).to_vec(),
            cwd: project.dir().to_path_buf(),
            ..Command::default()
        };
        let line = match &sandbox {
            Some(sandbox) => sandbox.command(&Inside::of(Role::Check), line),
            None => line,
        };
        let Some(outcome) = outcome(&line) else { return Ok(None) };
        tried.push(TriedCheck { command: (*command).to_owned(), outcome });
    }
    Ok(Some(tried))
}

fn outcome(command: &Command) -> Option<CheckOutcome> {
    let Ok(mut runner) = Runner::start(command, Input::Nothing, Some(TIME)) else {
        return Some(CheckOutcome::NotStarted);
    };
    loop {
        match runner.next() {
            Happened::Stdout(_) | Happened::Stderr(_) => {}
            Happened::Ended(Ended::Exit(exit)) => return Some(CheckOutcome::of(exit)),
            Happened::Ended(Ended::TimedOut) => return Some(CheckOutcome::TimedOut),
            Happened::Ended(Ended::NotStarted(_)) => return Some(CheckOutcome::NotStarted),
            Happened::Ended(Ended::Interrupted) => return None,
        }
    }
}

/// What is left to say where the sandbox does not work: none of them could be tried.
pub fn untried(commands: &[&str]) -> Vec<TriedCheck> {
    let untried =
        |command: &&str| TriedCheck { command: (*command).to_owned(), outcome: CheckOutcome::NotStarted };
    commands.iter().map(untried).collect()
}
