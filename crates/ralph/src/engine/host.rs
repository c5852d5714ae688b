//! The real world: a journal on disk, a lane of processes, signals, a clock, reporters.

use super::Host;
use super::clock::{Clock, wall_ms};
use super::lane::{Current, Lane, StartError};
use super::projections::Projections;
use super::step::Source;
use crate::git::checkpoint::{Checkpoints, Taken};
use crate::journal::Journal;
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use crate::process::{Keeper, KeeperEvent, ProcessError};
use crate::report::Reporter;
use ralph_loop::event::{End, Event, Fact, How, SnapshotEnd, Step, StepId};
use ralph_loop::{Run, State};
use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::{Duration, Instant};
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{Signal, SignalKind, signal};
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
    pub reporter: &'r mut dyn Reporter,
}

pub struct RealHost<'r> {
    clock: Clock,
    journal: Journal,
    lane: Lane,
    projections: Projections,
    projections_warned: bool,
    reporter: &'r mut dyn Reporter,
    signals: Signals,
    /// The step in flight.
    step: StepId,
    /// Facts that happened while a step was begun.
    due: VecDeque<Fact>,
    buffer: Vec<u8>,
    tick: Instant,
}

/// A terminal's status line is redrawn this often at most: a silent agent is no reason
/// to wake up every second.
const TICK: Duration = Duration::from_secs(2);

const READ_BYTES: usize = 256 << 10;

impl<'r> RealHost<'r> {
    /// Signals are listened for from here on.
    pub fn new(equipment: Equipment<'r>) -> io::Result<RealHost<'r>> {
        let Equipment { run_dir, project, journal, lock, checkpoints, clock, projections, reporter } =
            equipment;
        Ok(RealHost {
            clock,
            journal,
            lane: Lane::new(run_dir, project, lock, checkpoints),
            projections,
            projections_warned: false,
            reporter,
            signals: Signals::listen()?,
            step: 0,
            due: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
            tick: Instant::now() + TICK,
        })
    }

    /// The run is over for this process: nothing may be left running, everything written.
    pub fn close(mut self) -> io::Result<()> {
        self.lane.close();
        self.write_projections();
        self.reporter.dry();
        self.journal.settle()
    }

    fn write_projections(&mut self) {
        if let Err(cause) = self.projections.write(&self.lane.project)
            && !std::mem::replace(&mut self.projections_warned, true)
        {
            self.reporter.warn(&format!("cannot write the progress file: {cause}"));
        }
    }

    fn ended(&self, end: End) -> Fact {
        Fact::Ended { id: self.step, end }
    }

    async fn next_thing(&mut self, wake: Option<Instant>) -> Thing {
        let RealHost { lane, signals, reporter, tick, .. } = self;
        let tick = reporter.wants_ticks().then_some(*tick);
        let Lane { keeper, current, .. } = lane;
        let (stdout, stderr, snapshot) = match current {
            Current::Agent(step) => (step.stdout.as_ref(), step.stderr.as_ref(), None),
            Current::Snapshot(handle) => (None, None, Some(handle)),
            Current::Nothing | Current::Doomed | Current::Check(_) => (None, None, None),
        };
        tokio::select! {
            biased;
            () = signals.next() => Thing::Signal,
            () = moment(wake) => Thing::Woke,
            event = word_of(keeper) => Thing::Keeper(event),
            () = readable(stdout) => Thing::Readable(Source::Stdout),
            () = readable(stderr) => Thing::Readable(Source::Stderr),
            taken = finished(snapshot) => Thing::Snapshot(taken),
            () = moment(tick) => Thing::Tick,
        }
    }

    /// The fact that a word of the keeper amounts to, if it does.
    fn heard(&mut self, run: &Run, word: KeeperEvent) -> Option<Fact> {
        match word {
            KeeperEvent::Started { .. } => None,
            KeeperEvent::NotStarted { error, .. } => {
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) => step.not_started(&error),
                    Current::Check(_) => End::Impossible { why: format!("cannot start the shell: {error}") },
                    Current::Nothing | Current::Doomed | Current::Snapshot(_) => return None,
                };
                Some(self.ended(end))
            }
            KeeperEvent::Ended { exit, swept } => {
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) => step.finish(exit, swept, &mut self.buffer, self.reporter),
                    Current::Check(step) => {
                        step.finish(run, &self.lane.project, exit, swept, &mut self.lane.texts)
                    }
                    Current::Nothing | Current::Doomed | Current::Snapshot(_) => return None,
                };
                Some(self.ended(end))
            }
            KeeperEvent::Gone { .. } => {
                self.lane.keeper = None;
                match self.lane.current {
                    Current::Agent(_) | Current::Check(_) | Current::Doomed => {
                        self.lane.current = Current::Nothing;
                        Some(self.ended(End::Lost { why: "its keeper died".into() }))
                    }
                    Current::Nothing | Current::Snapshot(_) => None,
                }
            }
        }
    }
}

/// One thing that can happen while the loop waits.
enum Thing {
    Signal,
    Woke,
    Tick,
    Keeper(KeeperEvent),
    Readable(Source),
    Snapshot(Box<SnapshotTaken>),
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
        self.projections.follow(run, event);
        self.reporter.event(run, state, event);
    }

    fn start(&mut self, run: &Run, state: &State, id: StepId, step: &Step) {
        self.step = id;
        let started = match step {
            Step::Agent { iteration, attempt, agent, .. } => {
                self.lane.start_agent(run, state, (*iteration, *attempt, *agent), &self.projections)
            }
            Step::Check { iteration, index } => self.lane.start_check(run, *iteration, *index),
            Step::Snapshot { .. } if self.lane.has_checkpoints() => {
                self.lane.start_snapshot(run.prompt.context);
                Ok(())
            }
            Step::Snapshot { .. } => {
                self.due.push_back(self.ended(End::Snapshot(SnapshotEnd::default())));
                Ok(())
            }
        };
        match started {
            Ok(()) => {}
            // The keeper has died between two steps. It is mourned in `wait`, which sweeps up
            // what it left; the step then begins again with a new one.
            Err(StartError::Process(ProcessError::Gone)) => self.lane.current = Current::Doomed,
            Err(cause) => self.due.push_back(self.ended(End::Impossible { why: cause.to_string() })),
        }
    }

    fn cancel(&mut self, _id: StepId, how: How) {
        self.lane.cancel(how);
    }

    async fn wait(&mut self, run: &Run, state: &State, wake_at: Option<u64>) -> Fact {
        if let Some(fact) = self.due.pop_front() {
            return fact;
        }
        self.write_projections();
        self.reporter.dry();
        let wake = wake_at.map(|up_ms| self.clock.instant(up_ms));
        loop {
            match self.next_thing(wake).await {
                Thing::Signal => return Fact::StopAsked,
                Thing::Woke => return Fact::Woke,
                Thing::Tick => {
                    self.tick = Instant::now() + TICK;
                    self.reporter.tick(run, state, self.clock.up_ms());
                }
                Thing::Keeper(word) => {
                    if let Some(fact) = self.heard(run, word) {
                        return fact;
                    }
                }
                Thing::Readable(source) => {
                    if let Current::Agent(step) = &mut self.lane.current {
                        step.pump(source, &mut self.buffer, self.reporter);
                    }
                }
                Thing::Snapshot(taken) => {
                    self.lane.current = Current::Nothing;
                    return self.snapshot_end(*taken);
                }
            }
        }
    }
}

impl RealHost<'_> {
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

/// Requests to stop, from a person or from the system.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
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

async fn finished(handle: Option<&mut JoinHandle<Taken>>) -> Box<SnapshotTaken> {
    match handle {
        Some(handle) => Box::new(handle.await),
        None => pending().await,
    }
}
