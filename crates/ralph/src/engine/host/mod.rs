//! The real world: a journal on disk, a lane of processes, signals, a clock, reporters.
mod ends;
mod host_event;

use super::Host;
use super::clock::{Clock, wall_ms};
use super::lane::{AgentStart, Current, Lane};
use super::projections::Projections;
use super::retention::{MOST_FILES, Notice, Retention};
use super::signals::Signals;
use crate::control::{CommandResult, Control};
use crate::fsx;
use crate::git::checkpoint::Checkpoints;
use crate::journal::Journal;
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use crate::process::KeeperProgram;
use crate::report::{self, Reporter};
use host_event::HostEvent;
use ralph_loop::event::{End, Event, Fact, How, SnapshotEnd, Step, StepId, directory_gone};
use ralph_loop::plan::Plan;
use ralph_loop::{Run, State};
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::time::Instant;
use tokio::sync::oneshot;

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
    pub signals: OnSignal,
    /// Where the user can talk to the loop.
    pub control: Option<Control>,
    pub reporter: &'r mut dyn Reporter,
}

/// What a signal asks of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSignal {
    /// They are not listened for.
    Nothing,
    Stop,
    /// For workers: it is not the user who sends it.
    Pause,
}

pub struct RealHost<'r> {
    clock: Clock,
    journal: Journal,
    pub(super) lane: Lane,
    projections: Projections,
    projections_warned: bool,
    streams_warned: bool,
    retention: Retention,
    tidying_warned: bool,
    reporter: &'r mut dyn Reporter,
    signals: Signals,
    on_signal: OnSignal,
    pub(super) control: Option<Control>,
    /// The client whose request is being recorded.
    pub(super) answer_due: Option<oneshot::Sender<CommandResult>>,
    /// The step in flight.
    pub(super) step: StepId,
    /// Facts that happened while a step was begun.
    due: VecDeque<Fact>,
    buffer: Vec<u8>,
    last_tick: Instant,
}

/// Little enough that a read full of the shortest lines takes a small part of a turn.
const READ_BYTES: usize = 64 << 10;

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
        let lane = Lane::new(run_dir, project, lock, checkpoints, keeper);
        Ok(RealHost {
            clock,
            journal,
            retention: Retention::new(lane.run_dir(), &lane.project, &lane.texts),
            lane,
            projections,
            projections_warned: false,
            streams_warned: false,
            tidying_warned: false,
            reporter,
            signals: if signals == OnSignal::Nothing { Signals::none() } else { Signals::listen()? },
            on_signal: signals,
            control,
            answer_due: None,
            step: 0,
            due: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
            last_tick: Instant::now(),
        })
    }

    /// The run is over for this process: nothing may be left running, everything written.
    pub fn close(mut self, run: &Run, state: &State) -> io::Result<()> {
        self.lane.close();
        if let Plan::Tasks(_) = run.plan {
            // An agent may have removed it.
            let _ = fsx::remove(&self.lane.project.active());
        }
        self.write_projections();
        let notices = self.retention.close();
        self.warn_of_removal(run, notices);
        self.reporter.rest();
        self.write_view(run, state);
        self.journal.settle()
    }

    /// An agent may have put a link in the place of ralph's directory. Where it leads ralph does
    /// not write, and there is a directory again.
    fn put_link_aside(&mut self) {
        let (dir, project) = (self.lane.project.ralph_dir(), self.lane.project.dir());
        if !dir.is_symlink() || fsx::is_inside(project, &dir) {
            return;
        }
        let outcome = match fsx::put_aside(&dir) {
            Ok(aside) => format!("moved it to {}", self.lane.project.shown(&aside).display()),
            Err(cause) => cause.to_string(),
        };
        self.reporter
            .warn(&format!(".ralph was replaced by a link that points outside the project: {outcome}"));
    }

    fn write_projections(&mut self) {
        self.put_link_aside();
        if let Err(cause) = self.projections.write(&self.lane.project, self.lane.run_dir())
            && !std::mem::replace(&mut self.projections_warned, true)
        {
            self.reporter.warn(&format!("cannot write the progress file: {cause}"));
        }
    }

    /// For lists of runs.
    fn write_view(&mut self, run: &Run, state: &State) {
        self.journal.write_view(self.lane.run_dir(), &self.projections.view(run, state));
    }

    fn warn_of_removal(&mut self, run: &Run, notices: Vec<Notice>) {
        for notice in notices {
            self.reporter.warn(&match notice {
                Notice::Removed(what) => {
                    let most = report::bytes(run.keep_streams);
                    format!("{what} exceed {MOST_FILES} files or {most} (keepStreams): removed the oldest")
                }
                Notice::Failed(why) => why,
            });
        }
    }

    fn ended(&self, end: End) -> Fact {
        Fact::Ended { id: self.step, end }
    }
}

impl Host for RealHost<'_> {
    fn now(&self) -> (i64, u64) {
        (wall_ms(), self.clock.up_ms())
    }

    fn record(&mut self, event: &Event) -> io::Result<()> {
        self.journal.append(event)
    }

    fn show(&mut self, run: &Run, state: &State, event: &Event) {
        let update = self.projections.follow(run, state, event);
        self.reporter.update(&update);
        self.note_asked(&event.fact);
        if let Fact::Judged(_) = &event.fact {
            let Lane { project, texts, .. } = &mut self.lane;
            let notices = self.retention.iteration_over(run, state, project, texts, event.at);
            self.warn_of_removal(run, notices);
        }
    }

    fn start(&mut self, run: &Run, state: &State, id: StepId, step: &Step) {
        self.step = id;
        // Made again, it would be an empty one, and the run would go on in it.
        if step.needs_workspace() && !run.workspace.is_dir() {
            let why = directory_gone(&run.workspace);
            return self.due.push_back(self.ended(End::Impossible { why }));
        }
        self.put_link_aside();
        let started = match step {
            Step::Agent { iteration, attempt, agent, .. } => {
                let start = AgentStart { iteration: *iteration, attempt: *attempt, agent: *agent };
                let begun = self.lane.start_agent(run, state, &start, &self.projections);
                let begun = begun.map(|prompt| self.reporter.prompt(&prompt));
                self.trim_streams(run);
                begun
            }
            Step::Check { iteration, index } => self.lane.start_check(run, state, *iteration, *index),
            Step::Message { iteration, agent } => {
                self.lane.start_survey(run, *iteration, *agent);
                Ok(())
            }
            Step::CommitWorktree => self.lane.start_commit_worktree(run, state),
            Step::Scm { iteration, task } => {
                self.start_task(run, state, *iteration, *task);
                Ok(())
            }
            Step::Plan { what, .. } => {
                self.start_plan(run, state, what);
                Ok(())
            }
            Step::Uncommitted { iteration, item } => {
                // That a story is done is part of its commit.
                if run.plan.restores() {
                    self.write_projections();
                }
                self.lane.start_uncommitted(run, *iteration, item)
            }
            Step::Restore { attempt, .. } => {
                if !self.lane.start_restore(run, state, *attempt) {
                    let why = "no checkpoint to go back to".to_string();
                    self.due.push_back(self.ended(End::Impossible { why }));
                }
                Ok(())
            }
            Step::Snapshot { .. } if self.lane.has_checkpoints() => {
                // What ralph marks in the specs is no attempt's doing: it is there before one begins.
                if run.plan.restores() {
                    self.write_projections();
                }
                self.lane.start_snapshot(run, state);
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
            Current::Repository(_)
            | Current::Survey { .. }
            | Current::Snapshot(_)
            | Current::Restore(_)
            | Current::Plan { .. }
                if how >= How::Kill =>
            {
                self.lane.current = Current::Nothing;
                let why = "stopped waiting for it".to_string();
                self.due.push_back(self.ended(End::Lost { why, cost: None, estimate: None }));
            }
            // The agent itself has ended by itself.
            Current::Branch { .. } if how >= How::Kill => {
                let end = self.lane.branch_known(None);
                self.due.extend(end.map(|end| self.ended(end)));
            }
            Current::Branch { .. } => {}
            _ => self.lane.cancel(how),
        }
    }

    fn room(&self, run: &Run) -> Option<(u64, PathBuf)> {
        let places = [run.workspace.clone(), self.lane.run_dir().dir().to_path_buf()];
        places.into_iter().filter_map(|at| Some((fsx::free_bytes(&at)?, at))).min()
    }

    async fn wait(&mut self, run: &Run, state: &State, wake_at: Option<u64>) -> Fact {
        if let Some(fact) = self.due.pop_front() {
            return fact;
        }
        self.write_projections();
        // Agents take the most time, and nothing has to wait for it then.
        if state.agent_at_work().is_some() {
            self.write_view(run, state);
        }
        self.reporter.rest();
        let wake = wake_at.map(|up_ms| self.clock.instant(up_ms));
        loop {
            let event = self.next_event(wake, state.asked.paused()).await;
            // An agent that never stops printing makes its pipe always ready, and what is ready
            // does not make the runtime look at anything else: signals, timers, the socket.
            let more_to_read = matches!(event, HostEvent::Readable);
            if let Some(fact) = self.happened(run, state, event) {
                return fact;
            }
            if more_to_read {
                tokio::task::yield_now().await;
            }
        }
    }
}
