//! What belongs to the run, and is shared by its lanes.

use crate::engine::streams::Streams;
use crate::fsx;
use crate::git::checkpoint::Checkpoints;
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use crate::process::{Keeper, KeeperProgram, KeptRun, ProcessError};
use crate::proof::copy::CleanCopy;
use crate::proof::test_data::Memory;
use crate::proof::watched::WatchedTree;
use crate::sandbox::Sandbox;
use crate::texts::Texts;
use ralph_loop::plan::Pick;
use ralph_loop::{Run, State};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(in crate::engine) struct Shared {
    pub(in crate::engine) run_dir: RunDir,
    pub(in crate::engine) project: Project,
    pub(in crate::engine) texts: Texts,
    pub(in crate::engine) streams: Streams,
    pub(in crate::engine) sandbox: Option<Arc<Sandbox>>,
    pub(super) keeper_program: KeeperProgram,
    lock: RunLock,
    /// Where keepers record their sessions. On a disk that is full there is none.
    keepers: Option<File>,
    /// Not there while a lane records or restores a tree with them, and never again if that lane
    /// was no longer waited for.
    pub(super) checkpoints: Option<Checkpoints>,
    /// What proofs run on; not there while it is made ready.
    pub(in crate::engine) copy: Option<CleanCopy>,
    /// What proofs have found out about the tree of the start.
    pub(super) test_data: Arc<Mutex<Memory>>,
    /// The work tree before the last round of checks that runs there.
    pub(in crate::engine) watched: Option<WatchedTree>,
    at_hand: AtHand,
}

/// The work that the last agent or check was started for: what follows it (a commit message, a
/// commit) is given the same.
#[derive(Default)]
struct AtHand {
    story: Option<String>,
    /// How many iterations there may be.
    iterations: u32,
}

impl Shared {
    pub(in crate::engine) fn new(
        run_dir: RunDir,
        project: Project,
        lock: RunLock,
        checkpoints: Option<Checkpoints>,
        keeper_program: KeeperProgram,
        sandbox: Option<Sandbox>,
    ) -> Shared {
        let (texts, streams) = (Texts::of(&run_dir), Streams::of(&run_dir));
        let (keepers, at_hand) = (fsx::fresh(&run_dir.keepers()).ok(), AtHand::default());
        Shared {
            run_dir,
            project,
            texts,
            streams,
            sandbox: sandbox.map(Arc::new),
            keeper_program,
            lock,
            keepers,
            checkpoints,
            copy: None,
            test_data: Arc::default(),
            watched: None,
            at_hand,
        }
    }

    /// What agents find in their environment about their work.
    pub(super) fn work_on(&mut self, state: &State) {
        self.at_hand = AtHand {
            story: match &state.work.pick {
                Pick::Work(item) => item.story(),
                Pick::Done | Pick::Stuck(_) => None,
            },
            iterations: state.ledger.limits.iterations,
        };
    }

    /// What every program of a run but its checks finds in its environment.
    pub(super) fn env(&self, run: &Run, iteration: u32) -> Vec<(&'static str, String)> {
        let mut env = vec![
            ("RALPH_RUN", run.id.clone()),
            ("RALPH_ITERATION", iteration.to_string()),
            ("RALPH_MAX_ITERATIONS", self.at_hand.iterations.to_string()),
        ];
        env.extend(self.at_hand.story.clone().map(|story| ("RALPH_STORY", story)));
        env
    }

    pub(super) fn start_keeper(&self) -> Result<Keeper, ProcessError> {
        let (dir, lock) = (self.run_dir.dir(), self.lock.as_fd());
        let run = KeptRun { dir, lock, record: self.keepers.as_ref().map(File::as_fd) };
        Keeper::start(&self.keeper_program, Some(run), &[])
    }

    /// No keeper is left, so there is no session to be found later.
    pub(in crate::engine) fn forget_keepers(&mut self) {
        self.keepers = None;
        let _ = fsx::remove(&self.run_dir.keepers());
    }

    /// Another descriptor of the run's lock.
    pub(in crate::engine) fn lock(&self) -> Option<OwnedFd> {
        self.lock.as_fd().try_clone_to_owned().ok()
    }

    /// Programs of the run have temporary files and a home of their own.
    pub(super) fn has_own_tmp(&self) -> bool {
        self.sandbox.as_ref().is_some_and(|sandbox| sandbox.has_own_tmp())
    }

    pub(in crate::engine) fn has_checkpoints(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// They were lent to a thread.
    pub(in crate::engine) fn return_checkpoints(&mut self, checkpoints: Checkpoints) {
        self.checkpoints = Some(checkpoints);
    }

    /// What a run writes by itself, relative to the top of the work tree.
    pub(super) fn own_files(&self, run: &Run, top: &Path) -> Vec<String> {
        let progress_txt = run.plan.as_stories().map(|_| self.project.progress_txt());
        self.project.own_files_below(top, progress_txt.into_iter().chain(run.log.clone()))
    }
}
