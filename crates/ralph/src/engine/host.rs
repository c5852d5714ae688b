//! The real world: a journal on disk, a lane of processes, signals, a clock, reporters.

use super::Host;
use super::clock::{Clock, wall_ms};
use super::lane::{Current, Lane, StartError};
use super::projections::Projections;
use super::scm::{self, Task};
use super::signals::Signals;
use super::step::Source;
use super::task_files;
use crate::control::{Answer, Control, Request};
use crate::fsx;
use crate::git::checkpoint::{Checkpoints, Restored, Taken};
use crate::git::restore::PutAside;
use crate::journal::Journal;
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use crate::process::{Keeper, KeeperEvent, KeeperProgram, ProcessError};
use crate::report::Reporter;
use ralph_loop::ask::Ask;
use ralph_loop::event::{
    End, Event, Fact, How, LeftEnd, MessageEnd, RestoreEnd, SnapshotEnd, Step, StepId, Why,
};
use ralph_loop::plan::{Plan, PlanEnd, PlanState, PlanStep};
use ralph_loop::scm::{Message, MessageOutcome, TaskOutcome};
use ralph_loop::{Run, State};
use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::Instant;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};

/// What a host is made of.
pub struct Equipment<'r> {
    pub run_dir: RunDir,
    pub project: Project,
    pub journal: Journal,
    pub lock: RunLock,
    pub checkpoints: Option<Checkpoints>,
    pub clock: Clock,
    pub projections: Projections,
    pub keeper: KeeperProgram,
    pub signals: bool,
    /// Where others can talk to a worker; a signal means a pause to it.
    pub control: Option<Control>,
    pub reporter: &'r mut dyn Reporter,
}

pub struct RealHost<'r> {
    clock: Clock,
    journal: Journal,
    pub(super) lane: Lane,
    projections: Projections,
    projections_warned: bool,
    reporter: &'r mut dyn Reporter,
    signals: Signals,
    pub(super) control: Option<Control>,
    /// Whoever asked what is being recorded.
    pub(super) answer_due: Option<oneshot::Sender<Answer>>,
    /// The step in flight.
    pub(super) step: StepId,
    /// Facts that happened while a step was begun.
    due: VecDeque<Fact>,
    buffer: Vec<u8>,
    last_tick: Instant,
}

const READ_BYTES: usize = 256 << 10;

impl<'r> RealHost<'r> {
    /// Signals are listened for from here on.
    pub fn new(equipment: Equipment<'r>) -> io::Result<RealHost<'r>> {
        let Equipment {
            run_dir,
            project,
            journal,
            lock,
            checkpoints,
            clock,
            projections,
            keeper,
            signals,
            control,
            reporter,
        } = equipment;
        Ok(RealHost {
            clock,
            journal,
            lane: Lane::new(run_dir, project, lock, checkpoints, keeper),
            projections,
            projections_warned: false,
            reporter,
            signals: if signals { Signals::listen()? } else { Signals::none() },
            control,
            answer_due: None,
            step: 0,
            due: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
            last_tick: Instant::now(),
        })
    }

    /// The run is over for this process: nothing may be left running, everything written.
    pub fn close(mut self, run: &Run) -> io::Result<()> {
        self.lane.close();
        if let Plan::Tasks(_) = run.plan {
            // An agent may have removed it.
            let _ = fsx::remove(&self.lane.project.active());
        }
        self.write_projections();
        self.reporter.dry();
        self.journal.settle()
    }

    fn write_projections(&mut self) {
        if let Err(cause) = self.projections.write(&self.lane.project, self.lane.run_dir())
            && !std::mem::replace(&mut self.projections_warned, true)
        {
            self.reporter.warn(&format!("cannot write the progress file: {cause}"));
        }
    }

    fn ended(&self, end: End) -> Fact {
        Fact::Ended { id: self.step, end }
    }

    async fn next_thing(&mut self, wake: Option<Instant>, paused: bool) -> Thing {
        let silent_at = if paused { None } else { self.silent_at() };
        let RealHost { lane, signals, control, reporter, last_tick, .. } = self;
        let tick = reporter.tick_every().map(|every| *last_tick + every);
        let Lane { keeper, current, .. } = lane;
        let (stdout, stderr, thread) = match current {
            Current::Agent(step) | Current::Message { step, .. } => {
                (step.stdout.as_ref(), step.stderr.as_ref(), Thread::None)
            }
            Current::Snapshot(handle) => (None, None, Thread::Snapshot(handle)),
            Current::Restore(handle) => (None, None, Thread::Restore(handle)),
            Current::Left(handle) => (None, None, Thread::Left(handle)),
            Current::Survey { handle, .. } => (None, None, Thread::Survey(handle)),
            Current::Repository { handle, .. } => (None, None, Thread::Repository(handle)),
            Current::Nothing | Current::Doomed | Current::Check(_) => (None, None, Thread::None),
        };
        tokio::select! {
            biased;
            () = signals.next() => Thing::Signal,
            request = asked(control) => Thing::Asked(request),
            () = moment(wake) => Thing::Woke,
            event = word_of(keeper) => Thing::Keeper(event),
            () = readable(stdout) => Thing::Readable(Source::Stdout),
            () = readable(stderr) => Thing::Readable(Source::Stderr),
            done = thread.finished() => done,
            () = moment(silent_at) => Thing::Silent,
            () = moment(tick) => Thing::Tick,
        }
    }

    /// The fact that a word of the keeper amounts to, if it does.
    fn heard(&mut self, run: &Run, state: &State, word: KeeperEvent) -> Option<Fact> {
        match word {
            KeeperEvent::Started { .. } => None,
            KeeperEvent::NotStarted { error, .. } => {
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) => step.not_started(&error),
                    Current::Check(_) => End::Impossible { why: format!("cannot start the shell: {error}") },
                    Current::Message { .. } => {
                        scm::no_message(format!("the agent could not be started: {error}"))
                    }
                    Current::Nothing
                    | Current::Doomed
                    | Current::Snapshot(_)
                    | Current::Restore(_)
                    | Current::Left(_)
                    | Current::Survey { .. }
                    | Current::Repository { .. } => return None,
                };
                Some(self.ended(end))
            }
            KeeperEvent::Ended { exit, swept } => {
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) => {
                        let cancel = state.flights.first().and_then(|flight| flight.cancel);
                        let after_answer = cancel.is_some_and(|cancel| cancel.why == Why::Answered);
                        let end = step.finish((exit, after_answer, swept), &mut self.buffer, self.reporter);
                        self.lane.note_branch(run, end)
                    }
                    Current::Message { step, words, read_as } => scm::message_end(
                        step.finish((exit, false, swept), &mut self.buffer, self.reporter),
                        &words,
                        read_as,
                    ),
                    Current::Check(step) => {
                        let cut = state.flights.first().is_some_and(|flight| flight.cancel.is_some());
                        step.finish(run, &self.lane.project, (exit, cut, swept), &mut self.lane.texts)
                    }
                    Current::Nothing
                    | Current::Doomed
                    | Current::Snapshot(_)
                    | Current::Restore(_)
                    | Current::Left(_)
                    | Current::Survey { .. }
                    | Current::Repository { .. } => return None,
                };
                Some(self.ended(end))
            }
            KeeperEvent::Gone { .. } => {
                self.lane.keeper = None;
                let why = "its keeper died".to_string();
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) | Current::Message { step, .. } => {
                        step.lost(why, &mut self.buffer, self.reporter)
                    }
                    Current::Check(_) | Current::Doomed => End::Lost { why, cost: None, estimate: None },
                    elsewhere @ (Current::Nothing
                    | Current::Snapshot(_)
                    | Current::Restore(_)
                    | Current::Left(_)
                    | Current::Survey { .. }
                    | Current::Repository { .. }) => {
                        self.lane.current = elsewhere;
                        return None;
                    }
                };
                Some(self.ended(end))
            }
        }
    }
}

/// One thing that can happen while the loop waits.
enum Thing {
    Signal,
    Asked(Request),
    Silent,
    Woke,
    Tick,
    Keeper(KeeperEvent),
    Readable(Source),
    Snapshot(Box<SnapshotTaken>),
    Restored(Box<Result<Restored, JoinError>>),
    Left(Result<LeftEnd, JoinError>),
    Surveyed(Result<bool, JoinError>),
    Repository(Result<TaskOutcome, JoinError>),
}

type SnapshotTaken = Result<Taken, JoinError>;

impl Host for RealHost<'_> {
    fn now(&self) -> (i64, u64) {
        (wall_ms(), self.clock.up_ms())
    }

    fn record(&mut self, event: &Event) -> io::Result<()> {
        self.journal.append(event)
    }

    fn show(&mut self, run: &Run, state: &State, event: &Event) {
        self.projections.follow(run, state, event);
        self.reporter.event(run, state, event);
        self.note_asked(&event.fact);
    }

    fn start(&mut self, run: &Run, state: &State, id: StepId, step: &Step) {
        self.step = id;
        let started = match step {
            Step::Agent { iteration, attempt, agent, .. } => {
                let asked = (*iteration, *attempt, *agent);
                let begun = self.lane.start_agent(run, state, asked, &self.projections);
                begun.map(|prompt| self.reporter.prompt(&prompt))
            }
            Step::Check { iteration, index } => self.lane.start_check(run, state, *iteration, *index),
            Step::Message { iteration, agent } => {
                self.lane.start_survey(run, *iteration, *agent);
                Ok(())
            }
            Step::CommitRest => {
                self.lane.start_commit_rest(run);
                Ok(())
            }
            Step::Scm { iteration, task } => {
                self.start_task(run, state, *iteration, *task);
                Ok(())
            }
            Step::Plan { what, .. } => {
                let end = self.see_to_plan(run, state, what);
                self.due.push_back(self.ended(end));
                Ok(())
            }
            Step::Left { iteration, item } => {
                self.lane.start_left(run, *iteration, item);
                Ok(())
            }
            Step::Restore { attempt, .. } => {
                if !self.lane.start_restore(run, state, *attempt) {
                    let why = "there is no record of the tree to go back to".to_string();
                    self.due.push_back(self.ended(End::Impossible { why }));
                }
                Ok(())
            }
            Step::Snapshot { .. } if self.lane.has_checkpoints() => {
                self.lane.start_snapshot(run.prompt.context);
                Ok(())
            }
            Step::Snapshot { .. } => {
                self.due.push_back(self.ended(End::Snapshot(SnapshotEnd::default())));
                Ok(())
            }
        };
        if let Err(cause) = started {
            self.not_begun(step, cause);
        }
    }

    fn cancel(&mut self, _id: StepId, how: How) {
        match self.lane.current {
            // Git leaves its repository whole by itself; it is only no longer waited for.
            Current::Repository { .. }
            | Current::Survey { .. }
            | Current::Snapshot(_)
            | Current::Restore(_)
            | Current::Left(_)
                if how >= How::Kill =>
            {
                self.lane.current = Current::Nothing;
                let why = "not waited for".to_string();
                self.due.push_back(self.ended(End::Lost { why, cost: None, estimate: None }));
            }
            _ => self.lane.cancel(how),
        }
    }

    async fn wait(&mut self, run: &Run, state: &State, wake_at: Option<u64>) -> Fact {
        if let Some(fact) = self.due.pop_front() {
            return fact;
        }
        self.write_projections();
        self.reporter.dry();
        let wake = wake_at.map(|up_ms| self.clock.instant(up_ms));
        loop {
            let thing = self.next_thing(wake, state.asked.paused()).await;
            if let Some(fact) = self.happened(run, state, thing) {
                return fact;
            }
        }
    }
}

impl RealHost<'_> {
    /// A step that could not begin ends at once, by a fact like any other.
    fn not_begun(&mut self, step: &Step, cause: StartError) {
        match cause {
            // The keeper has died between two steps. It is mourned in `wait`, which sweeps up
            // what it left; the step then begins again with a new one.
            StartError::Process(ProcessError::Gone) => self.lane.current = Current::Doomed,
            cause => {
                let why = cause.to_string();
                let end = match step {
                    // A commit that cannot be made is no reason to lose the run.
                    Step::Message { .. } => scm::no_message(why),
                    _ => End::Impossible { why },
                };
                self.due.push_back(self.ended(end));
            }
        }
    }

    /// The fact that something amounts to, if it does.
    fn happened(&mut self, run: &Run, state: &State, thing: Thing) -> Option<Fact> {
        match thing {
            Thing::Signal if self.control.is_some() => Some(Fact::Asked(Ask::Leave)),
            Thing::Signal => Some(Fact::StopAsked),
            Thing::Asked(request) => self.asked(run, state, request),
            Thing::Silent => self.fell_silent(state),
            Thing::Woke => Some(Fact::Woke),
            Thing::Tick => {
                self.last_tick = Instant::now();
                self.reporter.tick(run, state, self.clock.up_ms());
                None
            }
            Thing::Keeper(word) => self.heard(run, state, word),
            Thing::Readable(source) => {
                if let Current::Agent(step) | Current::Message { step, .. } = &mut self.lane.current
                    && !step.pump(source, &mut self.buffer, self.reporter)
                {
                    // What it does from now on could not be recorded.
                    self.lane.cancel(How::Kill);
                }
                let Current::Agent(step) = &mut self.lane.current else { return None };
                step.has_answered().then_some(Fact::Answered { id: self.step })
            }
            Thing::Snapshot(taken) => {
                self.lane.current = Current::Nothing;
                Some(self.snapshot_end(*taken))
            }
            Thing::Restored(restored) => {
                self.lane.current = Current::Nothing;
                Some(self.restore_end(*restored))
            }
            Thing::Left(done) => {
                self.lane.current = Current::Nothing;
                let failed =
                    |cause: JoinError| LeftEnd { problem: Some(cause.to_string()), ..LeftEnd::default() };
                Some(self.ended(End::Left(done.unwrap_or_else(failed))))
            }
            Thing::Surveyed(nothing_to_commit) => self.surveyed(run, nothing_to_commit.unwrap_or(false)),
            Thing::Repository(done) => {
                let current = std::mem::replace(&mut self.lane.current, Current::Nothing);
                let Current::Repository { end, .. } = current else { return None };
                let failed = |cause: JoinError| TaskOutcome::Failed { why: cause.to_string() };
                Some(self.ended(end(done.unwrap_or_else(failed))))
            }
        }
    }

    fn surveyed(&mut self, run: &Run, nothing_to_commit: bool) -> Option<Fact> {
        let current = std::mem::replace(&mut self.lane.current, Current::Nothing);
        let Current::Survey { iteration, agent, .. } = current else { return None };
        if nothing_to_commit {
            let end = MessageEnd { outcome: MessageOutcome::NothingToCommit, cost: None, estimate: None };
            return Some(self.ended(End::Message(end)));
        }
        if let Err(cause) = self.lane.start_message(run, iteration, agent) {
            self.not_begun(&Step::Message { iteration, agent }, cause);
        }
        self.due.pop_front()
    }

    /// A commit and a push cannot be taken back: what led to them is on the disk first.
    fn start_task(&mut self, run: &Run, state: &State, iteration: u32, task: usize) {
        let message = match state.scm.as_ref().map(|due| &due.message) {
            Some(Message::Text(text)) => Some(text.clone()),
            Some(Message::Unasked | Message::Needless) | None => None,
        };
        let lock = self.lane.lock();
        let task = run.scm.as_ref().and_then(|spec| Task::of(run, spec, iteration, task, message, lock));
        let settled = self.lane.texts.settle().and_then(|()| self.journal.settle());
        let refused = match (settled, task) {
            (Ok(()), Some(task)) => return self.lane.start_task(task),
            (Ok(()), None) => "the run has no such task".to_string(),
            (Err(cause), _) => format!("the journal cannot be written: {cause}"),
        };
        self.due.push_back(self.ended(End::Scm(TaskOutcome::Failed { why: refused })));
    }

    fn snapshot_end(&mut self, taken: SnapshotTaken) -> Fact {
        let problem = |cause: String| SnapshotEnd { problem: Some(cause), ..SnapshotEnd::default() };
        let end = match taken {
            Err(cause) => problem(cause.to_string()),
            Ok((checkpoints, taken)) => {
                self.lane.put_back(checkpoints);
                match taken {
                    Err(cause) => problem(cause.to_string()),
                    Ok(snapshot) => {
                        let diff = snapshot.diff.map(|text| self.lane.texts.put(&text)).transpose();
                        match diff {
                            Ok(diff) => SnapshotEnd { diff, ..snapshot.end },
                            Err(cause) => problem(cause.to_string()),
                        }
                    }
                }
            }
        };
        self.ended(End::Snapshot(end))
    }
}

impl RealHost<'_> {
    fn see_to_plan(&mut self, run: &Run, state: &State, what: &PlanStep) -> End {
        let (Plan::Tasks(plan), PlanState::Tasks(tasks)) = (&run.plan, &state.plan) else {
            return End::Impossible { why: "the plan has no files".into() };
        };
        match task_files::perform(run, state, (plan, tasks), what, &mut self.lane.texts) {
            Ok(end) => End::Plan(Box::new(PlanEnd::Tasks(end))),
            Err(cause) => End::Impossible { why: cause.to_string() },
        }
    }

    fn restore_end(&mut self, restored: Result<Restored, JoinError>) -> Fact {
        let put_aside = match restored {
            Err(cause) => Err(cause.to_string()),
            Ok((checkpoints, put_aside)) => {
                self.lane.put_back(checkpoints);
                put_aside.map_err(|cause| cause.to_string())
            }
        };
        let end = put_aside.and_then(|PutAside { kept, diff, spared }| {
            let diff = diff.map(|text| self.lane.texts.put(&text)).transpose();
            Ok(RestoreEnd { kept, diff: diff.map_err(|cause| cause.to_string())?, spared })
        });
        self.ended(match end {
            Ok(end) => End::Restore(end),
            Err(why) => End::Impossible { why },
        })
    }
}

async fn asked(control: &mut Option<Control>) -> Request {
    match control {
        Some(control) => control.next().await,
        None => pending().await,
    }
}

async fn moment(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when.into()).await,
        None => pending().await,
    }
}

async fn word_of(keeper: &mut Option<Keeper>) -> KeeperEvent {
    match keeper {
        Some(keeper) => keeper.event().await,
        None => pending().await,
    }
}

async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // An error shows again when the pipe is read, which ends it.
        Some(pipe) => drop(pipe.readable().await),
        None => pending().await,
    }
}

/// Something that goes on beside the loop.
enum Thread<'t> {
    None,
    Snapshot(&'t mut JoinHandle<Taken>),
    Restore(&'t mut JoinHandle<Restored>),
    Left(&'t mut JoinHandle<LeftEnd>),
    Survey(&'t mut JoinHandle<bool>),
    Repository(&'t mut JoinHandle<TaskOutcome>),
}

impl Thread<'_> {
    async fn finished(self) -> Thing {
        match self {
            Thread::None => pending().await,
            Thread::Snapshot(handle) => Thing::Snapshot(Box::new(handle.await)),
            Thread::Restore(handle) => Thing::Restored(Box::new(handle.await)),
            Thread::Left(handle) => Thing::Left(handle.await),
            Thread::Survey(handle) => Thing::Surveyed(handle.await),
            Thread::Repository(handle) => Thing::Repository(handle.await),
        }
    }
}
