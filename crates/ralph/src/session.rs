//! One life of a run in this process: from the locks to the last line of the journal.
//!
//! `open` starts a new run, `resume` continues one; both go through [`live`].

use crate::catalog;
use crate::control::Control;
use crate::engine::{Clock, EngineError, Equipment, OnSignal, Projections, RealHost, drive, take};
use crate::error::{CliError, Code};
use crate::fsx;
use crate::git::checkpoint::Checkpoints;
use crate::git::{NoRepository, Repository};
use crate::journal::{self, Journal};
use crate::layout::{Home, Project, RunDir, WorkerDir};
use crate::lock::{LockError, RunLock, WorkspaceLock};
use crate::notify::Notifier;
use crate::place;
use crate::process::{self, KeeperProgram};
use crate::report::{
    ErrorReport, Logged, Reporter, RunResult, StoriesLeft, Summary, TasksLeft, command_name, refusal_advice,
};
use crate::request::{Asked, root};
use crate::stories::added::AddedSpecs;
use crate::stories::backlog;
use crate::texts::Texts;
use crate::worker::record::Record;
use crate::worker::{self, Kept, Takeover, Worker, WorkerFiles};
use ralph_loop::ask::{Ask, Changes};
use ralph_loop::event::{Event, Fact, Step, StopReason, VERSION};
use ralph_loop::history::History;
use ralph_loop::plan::{Plan, PlanState};
use ralph_loop::run::Place;
use ralph_loop::state::{Resumable, Stopped};
use ralph_loop::text::{counted, printable};
use ralph_loop::time::span;
use ralph_loop::{Action, Run, State, next};
use std::io;
use std::path::{Path, PathBuf};

/// A run that has ended, or that this process has left.
pub struct Ended {
    pub run: Run,
    pub state: State,
    pub stopped: Stopped,
    run_dir: RunDir,
    /// The worker whose run it is.
    worker: Option<&'static Worker>,
}

/// How a process behaves around a run.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Other runs may work in the same tree.
    pub share_workspace: bool,
    /// Signals stop the run.
    pub signals: bool,
    /// Which program plays the keeper.
    pub keeper: KeeperProgram,
    /// Of a worker.
    pub worker: Option<&'static Worker>,
}

impl SessionOptions {
    /// Of `ralph` itself.
    pub fn of_program(share_workspace: bool) -> SessionOptions {
        SessionOptions {
            share_workspace,
            signals: true,
            keeper: KeeperProgram::Own,
            worker: worker::current(),
        }
    }
}

/// Begins a new run; its texts are kept beside the journal.
pub fn open(
    home: &Home,
    Asked { run, texts, branch }: Asked,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
) -> Result<Ended, CliError> {
    prepare_home(home)?;
    if run.place == Place::Here {
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
        forgotten.map_err(|cause| cannot_write(home.root(), &cause))?;
    }
    // Not before the lock: another run may be at work on the branch that is left.
    if let Some(branch) = &branch {
        place::switch_to(&run.workspace, branch)?;
        reporter.aside(&format!("ralph: switched to branch {}", printable(branch)));
    }
    let run_dir = home.run(&run.id);
    let made = [run_dir.dir().to_path_buf(), run_dir.texts(), run_dir.streams()]
        .iter()
        .try_for_each(|dir| fsx::private_dir(dir));
    made.map_err(|cause| cannot_write(home.root(), &cause))?;
    let lock = RunLock::acquire(&run_dir, &run.id).map_err(|e| lock_error(&e))?;
    let unwritable = |cause: io::Error| cannot_write(run_dir.dir(), &cause);
    for text in &texts {
        Texts::of(&run_dir).put(text).map_err(unwritable)?;
    }
    let event = Event {
        v: VERSION,
        seq: 1,
        epoch: 1,
        at: crate::engine::wall_ms(),
        up_ms: 0,
        fact: Fact::Opened(Box::new(run.clone())),
    };
    let mut journal = Journal::create(&run_dir).map_err(unwritable)?;
    journal.append(&event).map_err(unwritable)?;
    let state = State::open(&event).map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
    // Not before the record leads to it, also after a power cut.
    if run.place != Place::Here
        && let Err(refused) = journal.settle().map_err(unwritable).and_then(|()| lay_out(&run, &lock))
    {
        place::discard(&run.place);
        catalog::remove_record(&run_dir).map_err(unwritable)?;
        return Err(refused);
    }
    // What the worktree takes is not the run's time.
    let clock = Clock::from(0);
    let mut projections = Projections::default();
    projections.follow(&run, &state, &event);
    if let Some(worker) = options.worker {
        let how = Takeover { fresh: true, share_workspace: options.share_workspace };
        worker.take_over(home, &run, &state, how)?;
    }
    let record = options.worker.map(|worker| Record::new(&worker.name, worker.dir(home)));
    let life = Life { run, state, run_dir, journal, lock, clock, projections };
    let ended = attended(life, record, options, reporter, |life, reporter| {
        reporter.event(&life.run, &life.state, &event);
        live(life, None, options, reporter)
    });
    drop(workspace_lock);
    ended
}

/// The run that held the workspace before, if it did not come to an end of its own.
fn cut_short(home: &Home, lock: &WorkspaceLock) -> Option<String> {
    let before = lock.previous.as_ref()?;
    let replayed = journal::replay(&home.run(before), |_, _, _| {}).ok()?;
    replayed.state.stopped.is_none().then(|| before.clone())
}

/// Takes a run up where it was left, with these limits changed.
pub fn resume(
    home: &Home,
    id: &str,
    changes: &Changes,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
) -> Result<Ended, CliError> {
    let run_dir = home.run(id);
    let lock = RunLock::acquire(&run_dir, id).map_err(|e| lock_error(&e))?;
    process::end_survivors(id);
    let mut projections = Projections::default();
    let mut record = options.worker.map(|worker| Record::new(&worker.name, worker.dir(home)));
    let mut replayed = journal::replay(&run_dir, |run, state, event| {
        projections.follow(run, state, event);
        if let Some(record) = &mut record {
            record.follow(run, state, event);
        }
    })
    .map_err(|cause| catalog::unreadable(id, &cause))?;
    let run = replayed.run;
    let mut facts = Vec::from_iter(lost_beginning(&run, &replayed.state, &run_dir));
    if !changes.is_empty() {
        facts.push(Fact::Asked(Ask::Set(changes.clone())));
    }
    let mut events = Vec::new();
    for fact in facts {
        let event = following(&replayed.state, fact);
        replayed.state.apply(&event).map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
        projections.follow(&run, &replayed.state, &event);
        if let Some(record) = &mut record {
            record.follow(&run, &replayed.state, &event);
        }
        events.push(event);
    }
    // Nothing is written for a run that cannot be resumed.
    is_resumable(&run, &replayed.state, options.worker.map_or(id, |worker| &worker.name))?;
    root::check_all(&run)?;
    let workspace_lock = match replayed.state.position.steps_begun {
        // It was killed while its worktree was created, or right after that.
        0 if run.place != Place::Here => {
            let workspace_lock = lock_workspace(home, &run, options)?;
            lay_out(&run, &lock)?;
            workspace_lock
        }
        _ => {
            prepare_project(&run)?;
            lock_workspace(home, &run, options)?
        }
    };
    let unwritable = |cause: io::Error| cannot_write(run_dir.dir(), &cause);
    let mut journal = Journal::reopen(&run_dir, replayed.whole).map_err(unwritable)?;
    events.iter().try_for_each(|event| journal.append(event)).map_err(unwritable)?;
    let clock = Clock::from(replayed.state.position.up_ms);
    if let Some(worker) = options.worker {
        let how = Takeover { fresh: false, share_workspace: options.share_workspace };
        worker.take_over(home, &run, &replayed.state, how)?;
    }
    let life = Life { run, state: replayed.state, run_dir, journal, lock, clock, projections };
    let ended = attended(life, record, options, reporter, |life, reporter| {
        live(life, Some(Fact::Resumed { pid: std::process::id() }), options, reporter)
    });
    drop(workspace_lock);
    ended
}

/// The fact that an agent was begun, where a power cut has taken it from the journal. What such an
/// agent did to the tree and to the plan must not pass for a person's work. The policy says which
/// agent was next, and the file that its words go to, whether it was started.
fn lost_beginning(run: &Run, state: &State, run_dir: &RunDir) -> Option<Fact> {
    let [Action::Start(step @ Step::Agent { iteration, attempt, .. })] = &next(run, state)[..] else {
        return None;
    };
    if !run_dir.stdout(*iteration, *attempt).exists() {
        return None;
    }
    Some(Fact::Began { id: state.position.steps_begun + 1, step: step.clone() })
}

/// The next event of a run that has no loop.
fn following(state: &State, fact: Fact) -> Event {
    let epoch = state.position.epoch + u32::from(matches!(fact, Fact::Resumed { .. }));
    let (seq, at, up_ms) = (state.position.seq + 1, crate::engine::wall_ms(), state.position.up_ms);
    Event { v: VERSION, seq, epoch, at, up_ms, fact }
}

/// An error that says how to go on, where a run cannot be resumed as it is.
fn is_resumable(run: &Run, state: &State, name: &str) -> Result<(), CliError> {
    let id = &run.id;
    let Some(limit) = state.limit_reached().filter(|_| state.resumable() == Resumable::WithHigherLimit)
    else {
        return match state.resumable() {
            Resumable::Never => Err(CliError::failed(format!("run {id} is already complete"))
                .hint(format!("start a new run with `ralph {}`", command_name(&run.plan)))),
            Resumable::Now | Resumable::WithHigherLimit => Ok(()),
        };
    };
    let used = match limit {
        StopReason::Timeout => {
            format!("all of its {}", span(state.ledger.limits.max_time_ms.unwrap_or_default()))
        }
        StopReason::BudgetExhausted => {
            format!("{} of {}", state.ledger.spent, state.ledger.limits.max_cost.unwrap_or_default())
        }
        _ => format!("all of its {}", counted(state.ledger.limits.iterations.into(), "iteration")),
    };
    Err(CliError::failed(format!("run {id} has used {used}"))
        .hint(format!("raise the limit: {}", higher_limit(state, limit, name))))
}

/// The command that resumes a run which has reached a limit, with a higher one.
pub fn resume_command(home: &Home, id: &str) -> Result<Option<String>, CliError> {
    let replayed =
        journal::replay(&home.run(id), |_, _, _| {}).map_err(|cause| catalog::unreadable(id, &cause))?;
    let state = &replayed.state;
    let name = worker::workers_of(home, id).first().map_or_else(|| id.to_string(), WorkerDir::name);
    Ok(state.limit_reached().map(|limit| higher_limit(state, limit, &name)))
}

/// The command that gives a run as much again as it has used.
fn higher_limit(state: &State, limit: StopReason, name: &str) -> String {
    let flag = match limit {
        StopReason::Timeout => format!("--max-time {}", span(2 * state.position.up_ms)),
        StopReason::BudgetExhausted => {
            format!("--max-cost {:.2}", (2.0 * state.ledger.spent.usd.dollars()).max(0.01))
        }
        _ => format!("-n {}", 2 * state.ledger.judged.max(1)),
    };
    format!("ralph resume {flag} {name}")
}

/// With all that is kept and told of a run beside what the reporter shows.
fn attended(
    life: Life,
    record: Option<Record>,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
    live: impl FnOnce(Life, &mut dyn Reporter) -> Result<Ended, CliError>,
) -> Result<Ended, CliError> {
    // A command that waits for the end of a run finds its log complete.
    let _held = life.lock.share();
    let notifier = Notifier::of(&life.run, options.worker.map(|worker| worker.name.as_str()));
    let log = life.run.log.clone();
    if options.worker.is_some() {
        let mut files = WorkerFiles::new(record, notifier, reporter);
        return also_logged(log, &mut files, |reporter| live(life, reporter));
    }
    let mut kept = Kept::new(&life.run, &life.run_dir, reporter);
    let mut files = WorkerFiles::new(record, notifier, &mut kept);
    let ended = also_logged(log, &mut files, |reporter| live(life, reporter));
    match &ended {
        Ok(ended) => kept.close(&ended.summary()),
        Err(error) => kept.fail(error),
    }
    ended
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

/// The run as it was asked for; nothing if its journal cannot be read.
pub fn run_of(home: &Home, id: &str) -> Result<Option<Run>, CliError> {
    let replayed = journal::replay(&home.run(id), |_, _, _| {});
    replayed.map(|replayed| Some(replayed.run)).map_err(|cause| catalog::unreadable(id, &cause))
}

/// Writes facts into the journal of a run that has no loop to do it. Those that only a life can
/// have are preceded by one.
pub fn write_in_its_place(home: &Home, id: &str, facts: &[Fact]) -> Result<(), CliError> {
    let run_dir = home.run(id);
    let _lock = RunLock::acquire(&run_dir, id).map_err(|e| lock_error(&e))?;
    process::end_survivors(id);
    let replayed =
        journal::replay(&run_dir, |_, _, _| {}).map_err(|cause| catalog::unreadable(id, &cause))?;
    let mut state = replayed.state;
    let can_wait = |fact: &Fact| matches!(fact, Fact::Asked(ask) if ask.can_wait());
    let first = (!facts.iter().all(can_wait)).then(|| Fact::Resumed { pid: std::process::id() });
    let unwritable = |cause: io::Error| cannot_write(run_dir.dir(), &cause);
    let mut journal = Journal::reopen(&run_dir, replayed.whole).map_err(unwritable)?;
    for fact in first.into_iter().chain(facts.iter().cloned()) {
        let event = following(&state, fact);
        state.apply(&event).map_err(|cause| CliError::from_error(&cause, Code::Failed))?;
        journal.append(&event).map_err(unwritable)?;
    }
    journal.settle().map_err(unwritable)
}

struct Life {
    run: Run,
    state: State,
    run_dir: RunDir,
    journal: Journal,
    lock: RunLock,
    clock: Clock,
    projections: Projections,
}

fn live(
    life: Life,
    first: Option<Fact>,
    options: &SessionOptions,
    reporter: &mut dyn Reporter,
) -> Result<Ended, CliError> {
    let Life { run, mut state, run_dir, journal, lock, clock, projections } = life;
    let trouble = |error: &dyn std::error::Error| {
        let told = CliError::from_error(error, Code::Failed).in_run(&run.id);
        // The journal may be what is wrong: then the run cannot be taken up again.
        match journal::replay(&run_dir, |_, _, _| {}) {
            Ok(_) => told,
            Err(cause) => CliError { hint: catalog::unreadable(&run.id, &cause).hint, ..told },
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| trouble(&cause))?;
    let inside = runtime.enter();
    let control = match (Control::listen(&run_dir), options.worker) {
        (Ok(control), _) => Some(control),
        (Err(cause), Some(_)) => return Err(trouble(&cause)),
        // Ctrl+C is enough where there is a terminal.
        (Err(cause), None) => {
            reporter.warn(&format!("cannot listen for commands from other terminals: {cause}"));
            None
        }
    };
    let equipment = Equipment {
        checkpoints: checkpoints(&run, &state, &run_dir),
        run_dir: run_dir.clone(),
        project: Project::at(run.workspace.clone()),
        journal,
        lock,
        clock,
        projections,
        keeper: options.keeper.clone(),
        signals: match options.worker {
            Some(_) => OnSignal::Pause,
            None if options.signals => OnSignal::Stop,
            None => OnSignal::Nothing,
        },
        control,
        reporter,
    };
    let mut host = RealHost::new(equipment).map_err(|cause| trouble(&cause))?;
    let driven = match first.map(|fact| take(&run, &mut state, &mut host, fact)) {
        None | Some(Ok(())) => runtime.block_on(drive(&run, &mut state, &mut host)),
        Some(Err(cause)) => Err(cause),
    };
    runtime.block_on(host.close_control());
    let closed = host.close(&run);
    drop(inside);
    // A task that is no longer waited for must not hold up the end.
    runtime.shutdown_background();
    let stopped = driven.map_err(|cause: EngineError| trouble(&cause))?;
    closed.map_err(|cause| cannot_write(run_dir.dir(), &cause).in_run(&run.id))?;
    Ok(Ended { run, state, stopped, run_dir, worker: options.worker })
}

fn checkpoints(run: &Run, state: &State, run_dir: &RunDir) -> Option<Checkpoints> {
    if !run.wants_snapshots() {
        return None;
    }
    let shadow = place::shadow(run, run_dir)?;
    Some(Checkpoints::of(shadow, state.work.first_tree.clone(), run.plan.restores(), run.keep_checkpoints))
}

impl Ended {
    pub fn summary(&self) -> Summary {
        let name = self.worker.map_or(&self.run.id, |worker| &worker.name);
        Summary {
            name: name.clone(),
            reason: self.stopped.reason,
            success: self.state.is_success(self.stopped.reason),
            stories: match (&self.run.plan, &self.state.plan) {
                (Plan::Stories(plan), PlanState::Stories(stories)) => {
                    let todo = plan.todo.iter().map(|story| story.id);
                    let left = todo.filter(|id| !stories.done.contains(id)).collect();
                    let mut others =
                        backlog::not_done(&Project::at(self.run.workspace.clone()), &stories.done);
                    others.retain(|id| plan.story(*id).is_none());
                    let (failed, of, commits) = (stories.failed(), plan.todo.len(), plan.commit);
                    Some(StoriesLeft { failed, of, left, others, commits })
                }
                (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => None,
            },
            tasks: tasks_left(&self.run, &self.state),
            note: self.stopped.note.clone(),
            refused: refusal_advice(&self.run, &self.state),
            iterations: self.state.ledger.judged,
            cost: self.state.ledger.spent,
            up_ms: self.state.position.up_ms,
            more: self.state.limit_reached().map(|limit| higher_limit(&self.state, limit, name)),
            max_failures: self.run.limits.max_failures,
            stall_after: self.run.limits.stall_after,
            checked: !self.run.checks.is_empty(),
            place: place::advice(&self.run.place),
        }
    }

    /// The iterations come from the journal: a run never holds them all in memory.
    pub fn result(&self) -> Result<RunResult, CliError> {
        result_of(&self.run_dir)
    }
}

/// A run's result as its journal tells it.
pub fn result_of(run_dir: &RunDir) -> Result<RunResult, CliError> {
    let (mut history, mut iterations) = (History::default(), Vec::new());
    let replayed = journal::replay(run_dir, |run, _, event| iterations.extend(history.follow(run, event)))
        .map_err(|cause| catalog::unreadable(&run_dir.id(), &cause))?;
    let journal::Replayed { run, state, .. } = replayed;
    iterations.extend(history.cut_short(&run, &state));
    let stopped = state.stopped.as_ref();
    let reason = stopped.map(|stopped| stopped.reason);
    let failed =
        |reason| matches!(reason, StopReason::Error | StopReason::Authentication | StopReason::Halted);
    let error = stopped.filter(|stopped| failed(stopped.reason)).map(|stopped| ErrorReport {
        message: stopped.note.clone().unwrap_or_else(|| "an unexpected error".into()),
        cause: None,
        hint: refusal_advice(&run, &state)
            .or_else(|| Some(format!("continue with: ralph resume {}", run.id))),
    });
    Ok(RunResult {
        plan: Some(run.plan.name()),
        success: reason.is_some_and(|reason| state.is_success(reason)),
        stop_reason: reason.map_or(StopReason::Error.word(), StopReason::word),
        total_iterations: iterations.len(),
        total_cost: state.ledger.spent.usd.dollars(),
        cost_estimated: state.ledger.spent.estimated,
        total_duration: state.position.up_ms as f64 / 1000.0,
        iterations,
        tasks: tasks_left(&run, &state).map_or_else(Vec::new, |tasks| tasks.stories),
        worktree_path: match &run.place {
            Place::Here => String::new(),
            Place::Worktree { path, .. } => path.display().to_string(),
        },
        error,
        run: Some(run.id),
    })
}

fn tasks_left(run: &Run, state: &State) -> Option<TasksLeft> {
    match (&run.plan, &state.plan) {
        (Plan::Tasks(plan), PlanState::Tasks(tasks)) => TasksLeft::of(plan, tasks),
        (Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_), _) => None,
    }
}

fn prepare_home(home: &Home) -> Result<(), CliError> {
    [home.root().to_path_buf(), home.runs(), home.locks()]
        .iter()
        .try_for_each(|dir| fsx::private_dir(dir))
        .map_err(|cause| cannot_write(home.root(), &cause).hint("set RALPH_HOME to a writable directory"))
}

/// Makes the worktree that a run works in.
fn lay_out(run: &Run, lock: &RunLock) -> Result<(), CliError> {
    place::lay_out(run, lock).and_then(|()| prepare_project(run))
}

/// Checks and the progress file need a place in the project that is no change of it.
fn prepare_project(run: &Run) -> Result<(), CliError> {
    let project = Project::at(run.workspace.clone());
    if !place::is_whole(run) {
        return Err(CliError::usage(format!("the run's directory is gone: {}", project.dir().display()))
            .hint("restore it to continue, or start a new run"));
    }
    fsx::check_inside(project.dir(), &project.ralph_dir()).map_err(|cause| {
        CliError::usage("cannot use the project's .ralph directory")
            .cause(cause)
            .hint("replace the link with a directory: ralph only writes inside the project")
    })?;
    let probed = fsx::dir(&project.ralph_dir()).and_then(|()| fsx::probe(&project.ralph_dir()));
    probed.map_err(|cause| {
        CliError::usage(format!("cannot write to the project directory: {}", project.dir().display()))
            .cause(cause)
            .hint("make it writable, or choose another directory with -C")
    })?;
    if run.git { exclude_runtime_files(run) } else { Ok(()) }
}

fn exclude_runtime_files(run: &Run) -> Result<(), CliError> {
    match place::find_repository(&run.tree()) {
        Ok(repository) => repository
            .exclude_runtime_files(&run.workspace)
            .map_err(|cause| CliError::usage("cannot exclude ralph's files from git").cause(cause)),
        Err(cause @ NoRepository::Untrusted { .. }) => Err(place::no_repository(&cause, &run.workspace)),
        Err(NoRepository::None) => Ok(()),
    }
}

fn lock_workspace(
    home: &Home,
    run: &Run,
    options: &SessionOptions,
) -> Result<Option<WorkspaceLock>, CliError> {
    if options.share_workspace {
        return Ok(None);
    }
    lock_tree(home, run).map(Some)
}

/// Keeps other runs out of a run's tree, and ends what the one before has left there.
pub fn lock_tree(home: &Home, run: &Run) -> Result<WorkspaceLock, CliError> {
    let tree = match &run.place {
        Place::Here => {
            let around = || Some(Repository::around(&run.workspace)?.top);
            run.top.clone().or_else(around).unwrap_or_else(|| run.workspace.clone())
        }
        // It need not be there yet.
        Place::Worktree { path, .. } => path.clone(),
    };
    let lock = WorkspaceLock::acquire(home, &tree, &run.id).map_err(|e| lock_error(&e))?;
    if let Some(previous) = lock.previous.as_ref().filter(|previous| **previous != run.id) {
        process::end_survivors(previous);
    }
    Ok(lock)
}

/// The error for resuming a run that is running.
pub fn already_alive(id: &str) -> CliError {
    lock_error(&LockError::RunAlive { run: id.to_string() })
}

fn lock_error(error: &LockError) -> CliError {
    let shown = CliError::from_error(error, Code::Usage);
    match error {
        LockError::WorkspaceTaken { .. } => shown
            .hint("use --worktree to work in a separate tree, or --share-workspace if they won't conflict"),
        LockError::RunAlive { run } => shown.hint(format!("watch it with: ralph logs {run} -f")),
        LockError::Io { .. } => shown,
    }
}

fn cannot_write(path: &Path, cause: &io::Error) -> CliError {
    CliError::failed(format!("cannot write: {}", path.display())).cause(cause)
}
