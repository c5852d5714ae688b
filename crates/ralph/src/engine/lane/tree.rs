//! Trees: recorded and restored by git, and the branch that an agent has left.

use super::{Shared, Thread};
use crate::git;
use crate::git::known_head::KnownCommit;
use crate::git::restore::Target;
use crate::layout;
use crate::place::Access;
use crate::stories::added::AddedSpecs;
use ralph_loop::event::AgentEnd;
use ralph_loop::plan::Pick;
use ralph_loop::proof::Round;
use ralph_loop::task_list::Mode;
use ralph_loop::{Run, State};

impl Shared {
    /// Nothing if there are no checkpoints.
    pub(in crate::engine) fn start_snapshot(&mut self, run: &Run, state: &State) -> Option<Thread> {
        let mut checkpoints = self.checkpoints.take()?;
        let (project, with_diff) = (self.project.dir().to_path_buf(), run.prompt.context);
        let own_files = self.own_files(run, checkpoints.top());
        // A reviewer is told which tests and checks have changed.
        let is_review = matches!(&state.work.pick, Pick::Work(item) if item.mode() == Some(Mode::Review));
        let gates = (is_review && run.proof.is_some())
            .then(|| self.preparation(run, state, Round::Delivered, checkpoints.top()));
        let needed = state.work.base.as_ref().map(|base| base.tree.clone());
        let (for_scm, for_answers) = (run.scm.is_some(), run.plan.repeats_empty_answers());
        let (access, recorded) = (Access::to(run), checkpoints.repository().clone());
        let commit = move |known: &mut KnownCommit| match (for_scm, for_answers) {
            // There may be another repository below the top by now.
            (true, _) if access.dir() != recorded.top => access.repository()?.commit(),
            (true, _) => known.get(&recorded.top, || access.repository()?.commit()),
            (false, true) => known.get(&recorded.top, || recorded.commit()),
            (false, false) => None,
        };
        Some(Thread::Snapshot(tokio::task::spawn_blocking(move || {
            let mut known = checkpoints.lend_known_commit();
            let (commit, mut taken) = std::thread::scope(|both| {
                let commit = both.spawn(|| commit(&mut known));
                let taken = checkpoints.take(&project, with_diff, needed.as_deref(), &own_files);
                (commit.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), taken)
            });
            checkpoints.return_known_commit(known);
            if let Ok(snapshot) = &mut taken {
                if let (Some(gates), Some(tree)) = (&gates, &snapshot.end.tree) {
                    snapshot.end.gates = gates.changed_gates(&mut checkpoints, tree);
                }
                snapshot.end.commit = commit;
            }
            (checkpoints, taken)
        })))
    }

    /// Nothing if there is nothing to go back to.
    pub(in crate::engine) fn start_restore(
        &mut self,
        run: &Run,
        state: &State,
        attempt: u32,
    ) -> Option<Thread> {
        let base = state.work.base.clone()?;
        let mut checkpoints = self.checkpoints.take()?;
        let (project, home) = (self.project.clone(), self.run_dir.home());
        let (own_files, top) = (self.own_files(run, checkpoints.top()), checkpoints.top().to_path_buf());
        let keep_as = git::attempt_ref(&run.id, attempt);
        Some(Thread::Restore(tokio::task::spawn_blocking(move || {
            // What people have added meanwhile is none of the attempt's.
            let own_files = || {
                let added = AddedSpecs::look(&home, &project).into_iter();
                let added = added.filter_map(|path| layout::below(&top, &project.dir().join(path)));
                own_files.iter().cloned().chain(added).collect()
            };
            let (tree, head) = (base.tree.as_str(), &base.head);
            let target = Target { tree, head, keep_as: &keep_as, own_files: &own_files };
            let restored = checkpoints.put_back(project.dir(), &target);
            (checkpoints, restored)
        })))
    }
}

impl Thread {
    /// Where a plan's work has to stay on one branch, git is asked which one the agent has left.
    pub(in crate::engine) fn branch(run: &Run, end: Box<AgentEnd>) -> Thread {
        let access = Access::to(run);
        let branch = move || Some(access.repository()?.branch());
        Thread::Branch { handle: tokio::task::spawn_blocking(branch), end }
    }
}
