//! The real world: a journal on disk, an inbox, lanes of processes, a clock, reporters.
//!
//! What happens comes from the [`Inbox`] or from one of the [`Lanes`]. Nothing here depends on how
//! many lanes there are.

mod asked;
mod ends;
mod inbox;
mod plan;
mod starts;

pub use asked::why_not;

use super::clock::{self, Clock, wall_ms};
use super::lane::{LaneEvent, LaneNumber, Lanes, Shared, Silence};
use super::projections::Projections;
use super::retention::{MOST_FILES, Notice, Retention};
use super::stop::StopBy;
use super::{DiskSpace, Host, Now};
use crate::control::Control;
use crate::fsx;
use crate::git::checkpoint::Checkpoints;
use crate::journal::Journal;
use crate::layout::{Project, RunDir};
use crate::lock::RunLock;
use crate::process::KeeperProgram;
use crate::report::{self, Reporter};
use crate::sandbox::Sandbox;
use crate::secrets;
use inbox::{Arrival, Inbox};
use ralph_loop::event::{Event, Fact, How, Step, StepId};
use ralph_loop::plan::Plan;
use ralph_loop::{Run, State};
use std::cell::OnceCell;
use std::io;
use std::time::{Duration, Instant};

/// What a host is made of.
pub struct Equipment<'r> {
    pub run_dir: RunDir,
    pub project: Project,
    pub journal: Journal,
    pub lock: RunLock,
    pub checkpoints: Option<Checkpoints>,
    pub sandbox: Option<Sandbox>,
    pub clock: Clock,
    pub projections: Projections,
    pub keeper: KeeperProgram,
    pub stop_by: StopBy,
    /// Where the user can talk to the loop.
    pub control: Option<Control>,
    pub reporter: &'r mut dyn Reporter,
}

pub struct RealHost<'r> {
    clock: Clock,
    journal: Journal,
    inbox: Inbox,
    lanes: Lanes,
    shared: Shared,
    projections: Projections,
    shown: Shown,
    projections_warned: bool,
    streams_warned: bool,
    retention: Retention,
    tidying_warned: bool,
    reporter: &'r mut dyn Reporter,
    buffer: Vec<u8>,
    /// When the view is written next, if it shows less than there is by now.
    view_due: Option<Instant>,
}

/// The run as it is shown, once it was: without secrets.
#[derive(Default)]
struct Shown(OnceCell<Option<Box<Run>>>);

impl Shown {
    fn run<'a>(&'a self, run: &'a Run) -> &'a Run {
        self.0.get_or_init(|| secrets::shown_run(run).map(Box::new)).as_deref().unwrap_or(run)
    }
}

/// A step that takes longer than this is in the view.
const VIEW_AFTER: Duration = Duration::from_millis(200);

/// How old the view of an agent at work can be.
const VIEW_EVERY: Duration = Duration::from_secs(1);

/// Steps that can run at the same time.
const LANES: usize = 1;

/// Little enough that a read full of the shortest lines takes a small part of a turn.
const READ_BYTES: usize = 64 << 10;

/// One thing that happens while the loop waits.
enum HostEvent {
    Inbox(Arrival),
    Lane(LaneNumber, LaneEvent),
    /// The view on disk is too old.
    ViewDue,
}

impl<'r> RealHost<'r> {
    /// Signals are listened for from here on.
    pub fn new(equipment: Equipment<'r>) -> io::Result<RealHost<'r>> {
        let Equipment {
            run_dir,
            project,
            journal,
            lock,
            checkpoints,
            sandbox,
            clock,
            projections,
            keeper,
            stop_by,
            control,
            reporter,
        } = equipment;
        let shared = Shared::new(run_dir, project, lock, checkpoints, keeper, sandbox);
        Ok(RealHost {
            clock,
            journal,
            inbox: Inbox::open(stop_by, control)?,
            lanes: Lanes::new(LANES),
            retention: Retention::new(&shared.run_dir, &shared.project, &shared.texts),
            shared,
            projections,
            shown: Shown::default(),
            projections_warned: false,
            streams_warned: false,
            tidying_warned: false,
            reporter,
            buffer: vec![0; READ_BYTES],
            view_due: None,
        })
    }

    /// The run is over for this process: nothing may be left running, everything written.
    pub fn close(mut self, run: &Run, state: &State) -> io::Result<()> {
        self.lanes.close();
        self.shared.forget_keepers();
        if let Plan::Tasks(_) = run.plan {
            // An agent may have removed it.
            let _ = fsx::remove(&self.shared.project.active());
        }
        self.write_projections();
        self.leave_sandbox();
        let notices = self.retention.close();
        self.warn_of_removal(run, notices);
        self.reporter.rest();
        self.write_view(run, state);
        self.journal.settle()
    }

    /// Nothing runs inside any more.
    fn leave_sandbox(&mut self) {
        let Some(sandbox) = self.shared.sandbox.clone() else { return };
        sandbox.after_last_step();
        self.tell_of_sandbox();
    }

    /// An agent may have put a link in the place of ralph's directory. Where it leads ralph does
    /// not write, and there is a directory again.
    fn put_link_aside(&mut self) {
        let (dir, project) = (self.shared.project.ralph_dir(), self.shared.project.dir());
        if !dir.is_symlink() || fsx::is_inside(project, &dir) {
            return;
        }
        let outcome = match fsx::put_aside(&dir) {
            Ok(aside) => format!("moved it to {}", self.shared.project.shown(&aside).display()),
            Err(cause) => cause.to_string(),
        };
        self.reporter
            .warn(&format!(".ralph was replaced by a link that points outside the project: {outcome}"));
    }

    fn write_projections(&mut self) {
        self.put_link_aside();
        if let Err(cause) = self.projections.write(&self.shared.project, &self.shared.run_dir)
            && !std::mem::replace(&mut self.projections_warned, true)
        {
            self.reporter.warn(&format!("cannot write the progress file: {cause}"));
        }
    }

    /// For lists of runs.
    fn write_view(&mut self, run: &Run, state: &State) {
        self.view_due = None;
        self.journal.write_view(&self.shared.run_dir, &self.projections.view(self.shown.run(run), state));
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
}

impl Host for RealHost<'_> {
    fn now(&self) -> Now {
        Now { at: wall_ms(), up_ms: self.clock.up_ms() }
    }

    fn masked(&self, fact: Fact) -> Fact {
        secrets::masked_fact(fact)
    }

    fn record(&mut self, event: &Event) -> io::Result<()> {
        self.journal.append(event)
    }

    fn show(&mut self, run: &Run, state: &State, event: &Event) {
        let update = self.projections.follow(self.shown.run(run), state, event);
        self.reporter.update(&update);
        self.note_asked(&event.fact);
        if let Fact::Judged(_) = &event.fact {
            let Shared { project, texts, .. } = &mut self.shared;
            let notices = self.retention.iteration_over(run, state, project, texts, event.at);
            self.warn_of_removal(run, notices);
        }
    }

    fn start(&mut self, run: &Run, state: &State, id: StepId, step: &Step) {
        if let Some(fact) = self.start_in_lane(run, state, id, step) {
            self.inbox.post(fact);
        }
        if let Step::Agent { .. } = step {
            self.trim_streams(run);
        }
    }

    fn cancel(&mut self, id: StepId, how: How) {
        if let Some(fact) = self.lanes.cancel(id, how) {
            self.inbox.post(fact);
        }
    }

    fn room(&self, run: &Run) -> Option<DiskSpace> {
        let places = [run.workspace.clone(), self.shared.run_dir.dir().to_path_buf()];
        places.into_iter().filter_map(|at| Some(DiskSpace { free: fsx::free_bytes(&at)?, at })).min()
    }

    async fn wait(&mut self, run: &Run, state: &State, wake_at: Option<u64>) -> Fact {
        if let Some(fact) = self.inbox.due() {
            return fact;
        }
        self.write_projections();
        // Agents take the most time, and nothing has to wait for it then.
        match state.agent_at_work() {
            Some(_) => self.write_view(run, state),
            None => self.view_due = Some(Instant::now() + VIEW_AFTER),
        }
        self.reporter.rest();
        let wake = wake_at.map(|up_ms| self.clock.instant(up_ms));
        let silence = if state.asked.paused() { Silence::Excused } else { Silence::Counts };
        loop {
            let (tick_every, view_due) = (self.reporter.tick_every(), self.view_due);
            let event = tokio::select! {
                biased;
                arrival = self.inbox.next(wake, tick_every) => HostEvent::Inbox(arrival),
                () = clock::at(view_due) => HostEvent::ViewDue,
                (lane, event) = self.lanes.next(silence) => HostEvent::Lane(lane, event),
            };
            // An agent that never stops printing makes its pipe always ready, and what is ready
            // does not make the runtime look at anything else: signals, timers, the socket.
            let more_to_read = matches!(event, HostEvent::Lane(_, LaneEvent::Readable));
            if let Some(fact) = self.happened(run, state, event) {
                return fact;
            }
            if more_to_read {
                tokio::task::yield_now().await;
            }
        }
    }
}
