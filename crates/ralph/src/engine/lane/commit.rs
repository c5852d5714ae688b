//! Source control: tasks, whether there is anything to commit, and ralph's own commits.

use super::{Lane, Launch, LaunchSite, Program, Shared, StartError, Thread, Told};
use crate::engine::own_commit::{self, OwnCommit, OwnCommitStep};
use crate::engine::scm::{self, Task};
use crate::fsx;
use crate::place::Access;
use crate::process::Stdio3;
use crate::sandbox::{Inside, Role};
use ralph_loop::plan::Item;
use ralph_loop::scm::TaskOutcome;
use ralph_loop::{Run, State};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

impl Thread {
    /// The wait for the disk before the task is beside the loop, too.
    pub(in crate::engine) fn task(
        task: Task,
        shared: &mut Shared,
        journal: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Thread {
        let texts = shared.texts.settling();
        Thread::Task(tokio::task::spawn_blocking(move || match texts().and_then(|()| journal()) {
            Ok(()) => task.perform(),
            Err(cause) => TaskOutcome::Failed { why: scm::unsettled(&cause) },
        }))
    }

    pub(in crate::engine) fn survey(run: &Run, shared: &Shared, iteration: u32, agent: usize) -> Thread {
        let access = Access::to(run).with(shared.sandbox.as_ref());
        let handle = tokio::task::spawn_blocking(move || scm::nothing_to_commit(&access));
        Thread::Survey { handle, iteration, agent }
    }
}

impl Lane {
    pub(in crate::engine) fn start_commit_worktree(
        &mut self,
        shared: &Shared,
        run: &Run,
        state: &State,
    ) -> Result<Program, StartError> {
        let own_commit = OwnCommit::Worktree { worktree: run.tree(), run_id: run.id.clone() };
        self.start_own_commit(shared, run, state.ledger.judged, own_commit)
    }

    pub(in crate::engine) fn start_uncommitted(
        &mut self,
        shared: &Shared,
        run: &Run,
        iteration: u32,
        item: &Item,
    ) -> Result<Program, StartError> {
        let subject = run.plan.commit_subject(item, iteration);
        let message = subject.map(|subject| format!("{subject}\n\nRalph-Run: {}/{iteration}", run.id));
        let own_commit = OwnCommit::Uncommitted { tree: run.tree(), message };
        self.start_own_commit(shared, run, iteration, own_commit)
    }

    /// In `/`: agents can have removed the workspace.
    fn start_own_commit(
        &mut self,
        shared: &Shared,
        run: &Run,
        iteration: u32,
        own_commit: OwnCommit,
    ) -> Result<Program, StartError> {
        let argument = serde_json::to_string(&own_commit).map_err(io::Error::from)?;
        let program = match &shared.sandbox {
            Some(sandbox) => sandbox.ralph().to_path_buf(),
            None => shared.keeper_program.again()?,
        };
        let argv = vec![program.into(), own_commit::SUBCOMMAND.into(), argument.into()];
        let output = fsx::nameless(shared.run_dir.dir())?;
        let stdout = OwnedFd::from(output.try_clone()?);
        let stdio = Stdio3 { stdin: File::open("/dev/null")?.into(), stderr: stdout.try_clone()?, stdout };
        let (cwd, told) = (Path::new("/"), Told::Run { iteration, extra: Vec::new() });
        self.spawn(
            run,
            shared,
            Launch {
                argv,
                cwd,
                stdio,
                told,
                site: LaunchSite::Inside(Inside::of(Role::Commit)),
                terminal: None,
            },
        )?;
        Ok(Program::OwnCommit(OwnCommitStep { own_commit, output }))
    }
}
