//! Steps on the files of a plan.

use super::RealHost;
use crate::engine::lane::{Begun, Thread};
use crate::engine::task_files::{self, Disk};
use crate::layout::TasksDir;
use crate::tasks::added::{Added, LockPath};
use ralph_loop::event::End;
use ralph_loop::plan::{Plan, PlanEnd, PlanStep};
use ralph_loop::{Run, State};
use std::io;

impl RealHost<'_> {
    /// At once, unless another process is editing the same files: that is waited for beside the loop.
    pub(super) fn start_plan(&mut self, run: &Run, state: &State, what: &PlanStep) -> Begun {
        let Plan::Tasks(plan) = &run.plan else {
            let why = "internal error: this plan has no files".to_string();
            return Begun::Over(End::Impossible { why });
        };
        let dir = TasksDir::at(run.workspace.join(&plan.dir));
        let lock = LockPath::of(&self.shared.run_dir.home(), &dir);
        let added = match Added::now(&lock).transpose() {
            Some(added) => added,
            None => {
                let handle = tokio::task::spawn_blocking(move || Added::soon(&lock));
                return Thread::Plan { handle, what: what.clone() }.into();
            }
        };
        Begun::Over(self.see_to_plan(run, state, what, added))
    }

    pub(super) fn see_to_plan(
        &mut self,
        run: &Run,
        state: &State,
        what: &PlanStep,
        added: io::Result<Added>,
    ) -> End {
        let mut added = added.unwrap_or_else(|_| Added::nothing());
        if !added.is_locked() {
            self.reporter.warn(
                "cannot lock the task list, another process may be using it; continuing without the lock",
            );
        }
        match task_files::perform(run, state, what, Disk::Written, &mut added, &mut self.shared.texts) {
            Ok(end) => {
                if let Some(displaced) = &end.displaced {
                    let kept = self.shared.run_dir.text(displaced);
                    self.reporter.warn(&format!(
                        "restored the task list; the version it replaced is kept: {}",
                        kept.display()
                    ));
                }
                End::Plan(Box::new(PlanEnd::Tasks(end)))
            }
            Err(cause) => End::Impossible { why: cause.to_string() },
        }
    }
}
