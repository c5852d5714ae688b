//! Checks: each is a shell command whose output goes into its log, without secrets.
//!
//! A check gets the environment that ralph was started with and nothing of the run, so that it cannot
//! behave differently because ralph runs it.

use super::{Lane, Launch, LaunchSite, Program, Shared, StartError, Told};
use crate::engine::check_log::{self, LogGuard};
use crate::engine::log_pipe::LogPipe;
use crate::engine::step::{CheckStep, SetupStep, check_log};
use crate::layout::Project;
use crate::process::{SHELL, Stdio3};
use crate::sandbox::{Inside, Role};
use crate::secrets;
use ralph_loop::proof::{Prepared, Round};
use ralph_loop::{Run, State};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Instant, SystemTime};

/// One check of a round.
#[derive(Clone, Copy)]
pub(in crate::engine) struct CheckStart {
    pub(in crate::engine) iteration: u32,
    pub(in crate::engine) index: usize,
    pub(in crate::engine) round: Round,
}

impl Lane {
    /// Installs dependencies into the copy.
    pub(in crate::engine) fn start_setup(
        &mut self,
        shared: &mut Shared,
        run: &Run,
        setup: CheckStart,
    ) -> Result<Program, StartError> {
        let CheckStart { iteration, index, .. } = setup;
        let command = run.proof.as_ref().and_then(|proof| proof.setup.get(index));
        let command = command.ok_or(StartError::NoSuchCheck(index))?;
        let log = Project::check_log(iteration, &format!("setup_{index}"));
        let output = check_log(&shared.project, &log)?;
        let (stdout, pipe) = way_into(&output)?;
        let stdio = Stdio3 { stdin: File::open("/dev/null")?.into(), stderr: stdout.try_clone()?, stdout };
        let argv = [SHELL, "-c", command].map(OsString::from).to_vec();
        let copy = shared.copy.as_ref().ok_or(StartError::NoCopy)?;
        let (cwd, mounts) = (copy.entered_at(&run.workspace), copy.mounts(shared.has_own_tmp()));
        let site = LaunchSite::Inside(Inside { mounts, ..Inside::of(Role::Check) });
        self.spawn(
            run,
            shared,
            Launch { argv, cwd: &cwd, stdio, told: Told::Nothing, site, terminal: None },
        )?;
        Ok(Program::Setup(SetupStep { log, output, pipe, started: Instant::now() }))
    }
}

/// What a check writes to. Without a secret to mask that is the log itself.
fn way_into(log: &File) -> io::Result<(OwnedFd, Option<LogPipe>)> {
    let masker = secrets::masker();
    if masker.is_idle() {
        return Ok((log.try_clone()?.into(), None));
    }
    let (writer, pipe) = LogPipe::into(log.try_clone()?, masker)?;
    Ok((writer, Some(pipe)))
}

/// The log of the round that an iteration is judged by has the plain name.
fn log_of(name: &str, state: &State, check: CheckStart) -> PathBuf {
    let CheckStart { iteration, round, .. } = check;
    let explains = state.prepared(Round::Delivered).is_some();
    match round {
        Round::Workspace if explains => Project::check_log(iteration, &format!("{name}_in_place")),
        Round::Workspace | Round::Delivered => Project::check_log(iteration, name),
        Round::Baseline => Project::check_log(0, name),
        Round::BaselineInPlace => Project::check_log(0, &format!("{name}_in_place")),
        Round::BaselineOutside => Project::check_log(0, &format!("{name}_outside")),
        Round::StartGates => Project::check_log(iteration, &format!("{name}_start_gates")),
        Round::OldSource => Project::check_log(iteration, &format!("{name}_old_source")),
    }
}

impl Lane {
    pub(in crate::engine) fn start_check(
        &mut self,
        shared: &mut Shared,
        run: &Run,
        state: &State,
        check: CheckStart,
    ) -> Result<Program, StartError> {
        let CheckStart { index, round, .. } = check;
        shared.work_on(state);
        let spec = run.checks.get(index).ok_or(StartError::NoSuchCheck(index))?;
        let log = log_of(&check_log::names(run)[index], state, check);
        let output = check_log(&shared.project, &log)?;
        let (stdout, pipe) = way_into(&output)?;
        let stdio = Stdio3 { stdin: File::open("/dev/null")?.into(), stderr: stdout.try_clone()?, stdout };
        let argv = [SHELL, "-c", &spec.command].map(OsString::from).to_vec();
        let on_copy = state.prepared(round).is_some_and(Prepared::is_copy);
        let (cwd, mounts) = match (on_copy, &shared.copy) {
            (true, Some(copy)) => (copy.entered_at(&run.workspace), copy.mounts(shared.has_own_tmp())),
            (true, None) => return Err(StartError::NoCopy),
            (false, _) => (run.workspace.clone(), None),
        };
        let site = match round {
            Round::BaselineOutside => LaunchSite::Outside,
            Round::Workspace
            | Round::Baseline
            | Round::BaselineInPlace
            | Round::Delivered
            | Round::StartGates
            | Round::OldSource => LaunchSite::Inside(Inside { mounts, ..Inside::of(Role::Check) }),
        };
        self.spawn(
            run,
            shared,
            Launch { argv, cwd: &cwd, stdio, told: Told::Nothing, site, terminal: None },
        )?;
        // Without a thread the log is not held to its cap, and the check is run all the same.
        let guard = LogGuard::over(&output, run, spec).unwrap_or(None);
        let (started, began) = (Instant::now(), SystemTime::now());
        Ok(Program::Check(CheckStep { index, log, output, pipe, guard, started, began, round }))
    }
}
