//! A new run: its directory, its texts and its first fact.

use super::life::{Life, attended, live};
use super::workspace::{lock_workspace, make_worktree, prepare_project, switch_to};
use super::{Ended, SessionError, SessionOptions, cannot_write};
use crate::catalog;
use crate::engine::{Clock, Projections, wall_ms};
use crate::fsx;
use crate::handed;
use crate::journal::{self, Journal};
use crate::layout::{Home, Project};
use crate::lock::{RunLock, WorkspaceLock};
use crate::place;
use crate::report::Reporter;
use crate::request::RequestedRun;
use crate::secrets;
use crate::stories::added::AddedSpecs;
use crate::texts::Texts;
use crate::worker::Takeover;
use crate::worker::record::Record;
use ralph_loop::event::{Event, Fact, VERSION};
use ralph_loop::plan::Plan;
use ralph_loop::text::printable;
use ralph_loop::{Run, State};

/// Begins a new run; its texts are kept beside the journal.
pub fn open(
    home: &Home,
    RequestedRun { run, texts, branch }: RequestedRun,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
) -> Result<Ended, SessionError> {
    prepare_home(home)?;
    sweep_handed(home, reporter);
    if run.place.own_tree().is_none() {
        prepare_project(&run)?;
    }
    let workspace_lock = lock_workspace(home, &run, options)?;
    if let Some(before) = workspace_lock.as_ref().and_then(|lock| cut_short(home, lock)) {
        reporter.warn(&format!(
            "run {before} was interrupted here; this run starts with the files it left\n\
             to continue that run instead: ralph resume {before}"
        ));
    }
    if let Plan::Stories(_) = run.plan {
        let project = Project::at(run.workspace.clone());
        let forgotten = AddedSpecs::wait(home, &project).and_then(|mut added| added.forget());
        forgotten.map_err(|cause| cannot_write(home.root(), cause))?;
    }
    // Not before the lock: another run may be at work on the branch that is left.
    if let Some(branch) = &branch {
        switch_to(&run.workspace, branch)?;
        reporter.aside(&format!("ralph: switched to branch {}", printable(branch)));
    }
    let run_dir = home.run(&run.id);
    let made = [run_dir.dir().to_path_buf(), run_dir.texts(), run_dir.streams()]
        .iter()
        .try_for_each(|dir| fsx::private_dir(dir));
    made.map_err(|cause| cannot_write(home.root(), cause))?;
    let lock = RunLock::acquire(&run_dir, &run.id)?;
    let unwritable = |cause| cannot_write(run_dir.dir(), cause);
    for text in &texts {
        Texts::of(&run_dir).put_sealed(text).map_err(unwritable)?;
    }
    let event = Event {
        v: VERSION,
        seq: 1,
        epoch: 1,
        at: wall_ms(),
        up_ms: 0,
        fact: Fact::Opened(Box::new(run.clone())),
    };
    let state = State::open(&event)?;
    let recorded = |run: &Run| Event { fact: Fact::Opened(Box::new(run.clone())), ..event.clone() };
    let event = secrets::sealed_run(&run).as_ref().map_or_else(|| event.clone(), recorded);
    let mut journal = Journal::create(&run_dir).map_err(unwritable)?;
    journal.append(&event).map_err(unwritable)?;
    // Not before the record leads to it, also after a power cut.
    if run.place.own_tree().is_some()
        && let Err(refused) = journal.settle().map_err(unwritable).and_then(|()| make_worktree(&run, &lock))
    {
        place::discard(&run.place);
        catalog::remove_record(&run_dir).map_err(unwritable)?;
        return Err(refused);
    }
    // What the worktree takes is not the run's time.
    let clock = Clock::from(0);
    let projections = Projections::default();
    if let Some(worker) = options.worker {
        let how = Takeover { fresh: true, share_workspace: options.share_workspace };
        worker.take_over(home, &run, &state, how)?;
    }
    let record = options.worker.map(|worker| Record::new(&worker.name, worker.dir(home)));
    let life = Life { run, state, run_dir, journal, lock, clock, projections };
    let ended = attended(life, record, options, reporter, |mut life, reporter| {
        let shown = secrets::shown_run(&life.run);
        let run = shown.as_ref().unwrap_or(&life.run);
        reporter.update(&life.projections.follow(run, &life.state, &event));
        live(life, None, options, reporter)
    });
    drop(workspace_lock);
    ended
}

fn prepare_home(home: &Home) -> Result<(), SessionError> {
    [home.root().to_path_buf(), home.runs(), home.locks()]
        .iter()
        .try_for_each(|dir| fsx::private_dir(dir))
        .map_err(|cause| SessionError::HomeUnwritable { path: home.root().to_path_buf(), cause })
}

/// A ralph that was killed may have left secrets.
pub(super) fn sweep_handed(home: &Home, reporter: &mut dyn Reporter) {
    if let Err(cause) = handed::sweep(home) {
        reporter.warn(&format!("cannot remove what a ralph that was killed has left: {cause}"));
    }
}

/// The run that held the workspace before, if it did not come to an end of its own.
fn cut_short(home: &Home, lock: &WorkspaceLock) -> Option<String> {
    let before = lock.previous.as_ref()?;
    let replayed = journal::replay(&home.run(before), |_, _, _| {}).ok()?;
    replayed.state.stopped.is_none().then(|| before.clone())
}
