//! Checks: each is a shell command whose output goes straight into its log.
//!
//! A check gets the environment that ralph was started with and nothing of the run, so that it cannot
//! behave differently because ralph runs it.

use super::{Lane, Launch, Program, Shared, StartError, Told};
use crate::engine::check_log::LogGuard;
use crate::engine::step::{CheckStep, check_log};
use crate::layout::Project;
use crate::process::{SHELL, Stdio3};
use ralph_loop::check::log_names;
use ralph_loop::{Run, State};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::Instant;

impl Lane {
    pub(in crate::engine) fn start_check(
        &mut self,
        shared: &mut Shared,
        run: &Run,
        state: &State,
        iteration: u32,
        index: usize,
    ) -> Result<Program, StartError> {
        shared.work_on(state);
        let spec = run.checks.get(index).ok_or(StartError::NoSuchCheck(index))?;
        let name = &log_names(&run.checks)[index];
        let log = Project::check_log(iteration, name);
        let file = check_log(&shared.project, &log)?;
        let (output, stdout) = (file.try_clone()?, OwnedFd::from(file));
        let stdio = Stdio3 { stdin: File::open("/dev/null")?.into(), stderr: stdout.try_clone()?, stdout };
        let argv = [SHELL, "-c", &spec.command].map(OsString::from).to_vec();
        self.spawn(run, shared, Launch { argv, cwd: &run.workspace, stdio, told: Told::Nothing })?;
        // Without a thread the log is not held to its cap, and the check is run all the same.
        let guard = LogGuard::over(&output, run, spec).unwrap_or(None);
        Ok(Program::Check(CheckStep { index, log, output, guard, started: Instant::now() }))
    }
}
