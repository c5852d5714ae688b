//! The life of a run in this process: the engine, and all that is kept and reported beside it.

use super::{CutShort, Ended, LifeError, SessionError, SessionOptions};
use crate::control::Control;
use crate::engine::{Clock, EngineError, Equipment, Projections, RealHost, drive, take};
use crate::fsx;
use crate::git::checkpoint::Checkpoints;
use crate::journal::{self, Journal};
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use crate::notify::Notifier;
use crate::place;
use crate::report::{Logged, Reporter};
use crate::sandbox::Sandbox;
use crate::terminal;
use crate::worker::WorkerFiles;
use crate::worker::record::Record;
use ralph_loop::event::{Fact, StopReason};
use ralph_loop::state::Resumable;
use ralph_loop::{Run, State};
use std::path::PathBuf;

/// Everything that a run needs to go on.
pub(super) struct Life {
    pub(super) run: Run,
    pub(super) state: State,
    pub(super) run_dir: RunDir,
    pub(super) journal: Journal,
    pub(super) lock: RunLock,
    pub(super) clock: Clock,
    pub(super) projections: Projections,
}

pub(super) fn live(
    life: Life,
    first: Option<Fact>,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
) -> Result<Ended, SessionError> {
    let Life { run, mut state, run_dir, journal, lock, clock, projections } = life;
    let cut_short = |cause: LifeError| {
        // The journal may be what is wrong: then the run cannot be taken up again.
        let record = journal::replay(&run_dir, |_, _, _| {}).err().map(|cause| cause.of_run(&run.id));
        Box::new(CutShort { run: run.id.clone(), cause, record })
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| cut_short(cause.into()))?;
    let inside = runtime.enter();
    let control = match (Control::listen(&run_dir), options.worker) {
        (Ok(control), _) => Some(control),
        (Err(cause), Some(_)) => return Err(cut_short(cause.into()).into()),
        // Ctrl+C is enough where there is a terminal.
        (Err(cause), None) => {
            reporter.warn(&format!("cannot listen for commands from other terminals: {cause}"));
            None
        }
    };
    let sandbox = Sandbox::of(&run, &run_dir)?;
    for note in sandbox.iter().flat_map(|sandbox| sandbox.notes().lines()) {
        reporter.warn(&note);
    }
    let equipment = Equipment {
        sandbox,
        checkpoints: checkpoints(&run, &state, &run_dir),
        run_dir: run_dir.clone(),
        project: Project::at(run.workspace.clone()),
        journal,
        lock,
        clock,
        projections,
        keeper: options.keeper.clone(),
        stop_by: options.stop_by.clone(),
        control,
        reporter,
    };
    let mut host = RealHost::new(equipment).map_err(|cause| cut_short(cause.into()))?;
    let driven = match first.map(|fact| take(&run, &mut state, &mut host, fact)) {
        None | Some(Ok(())) => runtime.block_on(drive(&run, &mut state, &mut host)),
        Some(Err(cause)) => Err(cause),
    };
    runtime.block_on(host.close_control());
    let closed = host.close(&run, &state);
    if run.interactive.is_some() {
        terminal::remove_sockets(&run_dir);
    }
    if state.resumable() == Resumable::Never {
        // The clean copy has shown what it was made for, and may be large. One that cannot be removed
        // goes with the run's record.
        let _ = fsx::remove_tree(&run_dir.proof());
    }
    drop(inside);
    // A task that is no longer waited for must not hold up the end.
    runtime.shutdown_background();
    let stopped = driven.map_err(|cause: EngineError| cut_short(cause.into()))?;
    closed.map_err(|cause| {
        let cause = LifeError::CannotWrite { path: run_dir.dir().to_path_buf(), cause };
        Box::new(CutShort { run: run.id.clone(), cause, record: None })
    })?;
    Ok(Ended { run, state, stopped, run_dir, worker: options.worker })
}

/// With all that is kept and reported of a run beside what the reporter shows.
pub(super) fn attended(
    life: Life,
    record: Option<Record>,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
    live: impl FnOnce(Life, &mut dyn Reporter) -> Result<Ended, SessionError>,
) -> Result<Ended, SessionError> {
    // A command that waits for the end of a run finds its log complete.
    let _held = life.lock.share();
    let notifier = Notifier::of(&life.run, options.worker.map(|worker| worker.name.as_str()));
    let required = life.run.confinement.sandbox().is_some_and(|spec| spec.required);
    let notifier = notifier.map(|notifier| match options.asks && !required {
        true => notifier.without(StopReason::SandboxInTheWay),
        false => notifier,
    });
    let log = life.run.log.clone();
    let mut files = WorkerFiles::new(record, notifier, reporter);
    also_logged(log, &mut files, |reporter| live(life, reporter))
}

/// With the run's log, if it has one, beside the reporter.
fn also_logged<T>(
    log: Option<PathBuf>,
    reporter: &mut dyn Reporter,
    live: impl FnOnce(&mut dyn Reporter) -> T,
) -> T {
    match log {
        Some(path) => live(&mut Logged::new(reporter, path)),
        None => live(reporter),
    }
}

fn checkpoints(run: &Run, state: &State, run_dir: &RunDir) -> Option<Checkpoints> {
    if !run.wants_snapshots() {
        return None;
    }
    let shadow = place::shadow(run, run_dir)?;
    Some(Checkpoints::of(shadow, state.work.first_tree.clone(), run.plan.restores(), run.keep_checkpoints))
}
