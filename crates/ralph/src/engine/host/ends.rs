//! The facts that host events amount to.

use super::inbox::Arrival;
use super::{HostEvent, RealHost, VIEW_EVERY};
use crate::engine::guarded::note_failures;
use crate::engine::lane::{
    LaneEvent, LaneNumber, MadeReady, ProgramEnded, Sinks, SnapshotTaken, Thread, ThreadEnd, Work,
};
use crate::engine::projections::Projections;
use crate::engine::step::{EndedBy, Hindrance, ProgramEnd};
use crate::git::checkpoint::Restored;
use crate::git::restore::PutAside;
use crate::git::shadow::ShadowError;
use crate::layout::RunDir;
use crate::process::KeeperEvent;
use crate::proof::after_check::Found;
use crate::report::{self, Reporter};
use ralph_loop::check::CheckEnd;
use ralph_loop::dialect::{AgentEvent, Awaited};
use ralph_loop::event::{
    End, Fact, How, MessageEnd, RestoreEnd, SnapshotEnd, Step, StepId, Why, directory_gone,
};
use ralph_loop::scm::MessageOutcome;
use ralph_loop::{Run, State};
use std::time::Instant;
use tokio::task::JoinError;

/// What made the program of a step end.
fn ended_by(state: &State, id: StepId) -> EndedBy {
    match state.flights.get(&id).and_then(|flight| flight.cancel) {
        None => EndedBy::Itself,
        Some(cancel) if cancel.why == Why::Answered => EndedBy::RalphAfterAnswer,
        Some(_) => EndedBy::Ralph,
    }
}

/// What was done to a directory that does not exist any more proves nothing, and neither does what an agent did
/// without its tools.
fn look_around(run: &Run, run_dir: &RunDir, end: End) -> End {
    let mut end = note_failures(run_dir, end);
    if run.workspace.is_dir() {
        return end;
    }
    match &mut end {
        End::Agent(agent) => agent.gone = Some(run.workspace.clone()),
        End::Check(_) => return End::Impossible { why: directory_gone(&run.workspace) },
        _ => {}
    }
    end
}

/// Remembers what an agent is doing, for the status of the run, and passes it on.
struct Followed<'a> {
    projections: &'a mut Projections,
    up_ms: u64,
    reporter: &'a mut dyn Reporter,
}

impl Reporter for Followed<'_> {
    fn agent(&mut self, event: &AgentEvent<'_>) {
        self.projections.agent_printed(event, self.up_ms);
        self.reporter.agent(event);
    }

    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(self.reporter)
    }
}

impl RealHost<'_> {
    /// The fact that an event amounts to, if it does.
    pub(super) fn happened(&mut self, run: &Run, state: &State, event: HostEvent) -> Option<Fact> {
        match event {
            HostEvent::Inbox(Arrival::Fact(fact)) => Some(*fact),
            HostEvent::Inbox(Arrival::Request(request)) => self.asked(run, state, request),
            HostEvent::Inbox(Arrival::Tick) => {
                let view = self.projections.view(self.shown.run(run), state);
                self.reporter.tick(&view, self.clock.up_ms());
                None
            }
            HostEvent::ViewDue => {
                self.write_view(run, state);
                None
            }
            HostEvent::Lane(lane, LaneEvent::Keeper(event)) => {
                let fact = self.keeper_said(run, state, lane, event);
                self.trim_streams(run);
                fact
            }
            // What waits to be read is no silence.
            HostEvent::Lane(lane, LaneEvent::Silent) => {
                self.read_output(run, lane).or_else(|| self.fell_silent(state, lane))
            }
            HostEvent::Lane(lane, LaneEvent::Thread(end)) => self.thread_ended(run, state, lane, end),
            HostEvent::Lane(lane, LaneEvent::Readable) => self.read_output(run, lane),
        }
    }

    /// The fact that a message of a lane's keeper amounts to, if it does.
    fn keeper_said(
        &mut self,
        run: &Run,
        state: &State,
        number: LaneNumber,
        event: KeeperEvent,
    ) -> Option<Fact> {
        let lane = self.lanes.lane(number);
        let (id, end) = match event {
            KeeperEvent::Started { .. } => return None,
            KeeperEvent::NotStarted { error, .. } => {
                let (id, program) = lane.take_program()?;
                (id, program.not_started(&error))
            }
            KeeperEvent::Ended { exit, swept } => {
                let (id, program) = lane.take_program()?;
                let ended = ProgramEnd { exit, by: ended_by(state, id), swept };
                let after = program.after_check(run, state, &self.shared);
                let texts = &mut self.shared.texts;
                let sinks = Sinks { buffer: &mut self.buffer, reporter: self.reporter, texts };
                let ended = ProgramEnded { end: program.finish(run, ended, sinks), after };
                return match &self.shared.sandbox {
                    Some(sandbox) => {
                        lane.begin(id, Work::Thread(Thread::settle(sandbox, ended)));
                        None
                    }
                    None => self.look_after(run, number, id, ended),
                };
            }
            KeeperEvent::Gone { .. } => {
                lane.forget_keeper();
                let (id, program) = lane.take_program()?;
                let texts = &mut self.shared.texts;
                (id, program.lost(Sinks { buffer: &mut self.buffer, reporter: self.reporter, texts }))
            }
        };
        Some(Fact::Ended { id, end })
    }

    /// Looks at what a program has left, where that takes a look.
    fn look_after(&mut self, run: &Run, lane: LaneNumber, id: StepId, ended: ProgramEnded) -> Option<Fact> {
        let thread = match (ended.end, ended.after) {
            (End::Check(end), Some(after)) => Thread::after_check(after, end),
            (End::Agent(end), _) if run.plan.restores() => Thread::branch(run, end),
            (end, _) => return Some(Fact::Ended { id, end: look_around(run, &self.shared.run_dir, end) }),
        };
        self.lanes.lane(lane).begin(id, Work::Thread(thread));
        None
    }

    /// What was done beside the loop is done.
    fn thread_ended(&mut self, run: &Run, state: &State, lane: LaneNumber, end: ThreadEnd) -> Option<Fact> {
        let id = self.lanes.lane(lane).free()?;
        let end = match end {
            ThreadEnd::Snapshot(taken) => self.snapshot_end(*taken),
            ThreadEnd::Restored(restored) => self.restore_end(*restored),
            ThreadEnd::Prepared(made) => self.prepare_end(*made),
            ThreadEnd::Task(outcome) => {
                self.tell_of_sandbox();
                return self.after_network(state, Some(Fact::Ended { id, end: End::Scm(outcome) }));
            }
            ThreadEnd::Unlocked { added, what } => self.see_to_plan(run, state, &what, added),
            ThreadEnd::AfterCheck { found, end } => {
                let end = self.check_end(*found, *end);
                look_around(run, &self.shared.run_dir, end)
            }
            ThreadEnd::Settled(ended) => {
                self.tell_of_sandbox();
                let ended = match *ended {
                    Ok(ended) => self.look_after(run, lane, id, ended),
                    Err(cause) => Some(Fact::Ended { id, end: End::Impossible { why: cause.to_string() } }),
                };
                return self.after_network(state, ended);
            }
            ThreadEnd::Branch(end) => look_around(run, &self.shared.run_dir, End::Agent(end)),
            ThreadEnd::Surveyed { nothing_to_commit: true, .. } => {
                let outcome = MessageOutcome::NothingToCommit;
                End::Message(MessageEnd { outcome, cost: None, estimate: None })
            }
            ThreadEnd::Surveyed { nothing_to_commit: false, iteration, agent } => {
                let begun = self.start_message(run, lane, iteration, agent);
                return self.settle(lane, id, &Step::Message { iteration, agent }, begun);
            }
        };
        Some(Fact::Ended { id, end })
    }

    /// What was done on the network is recorded first: the end of a step can be the end of the run.
    fn after_network(&mut self, state: &State, ended: Option<Fact>) -> Option<Fact> {
        let sandbox = self.shared.sandbox.as_ref();
        let mut news = sandbox.map(|sandbox| sandbox.take_network_use()).unwrap_or_default();
        news.refused.retain(|refusal| !state.refused.has(refusal));
        if news.is_empty() {
            return ended;
        }
        ended.into_iter().for_each(|ended| self.inbox.post(ended));
        Some(Fact::Network(news))
    }

    pub(super) fn tell_of_sandbox(&mut self) {
        let told = self.shared.sandbox.iter().flat_map(|sandbox| sandbox.take_told());
        for sentence in told {
            self.reporter.warn(&sentence);
        }
    }

    /// Takes in what the agent has printed.
    fn read_output(&mut self, run: &Run, number: LaneNumber) -> Option<Fact> {
        let lane = self.lanes.lane(number);
        let up_ms = self.clock.up_ms();
        let mut followed = Followed { projections: &mut self.projections, up_ms, reporter: self.reporter };
        if let Some(step) = lane.printing()
            && !step.pump(&mut self.buffer, &mut followed)
        {
            // What it does from now on could not be recorded.
            lane.end_program(How::Kill);
        }
        self.trim_streams(run);
        self.view_due.get_or_insert_with(|| Instant::now() + VIEW_EVERY);
        let (id, step) = self.lanes.lane(number).agent()?;
        if step.has_answered() {
            self.inbox.post(Fact::Answered { id });
        }
        if let Some(Hindrance { by, awaited }) = step.newly_blocked() {
            let (text, why) = awaited.map_or((None, None), |Awaited { why, text }| (Some(text), why));
            self.inbox.post(Fact::Blocked { id, by, text, why });
        }
        self.inbox.due()
    }

    fn fell_silent(&mut self, state: &State, lane: LaneNumber) -> Option<Fact> {
        let (id, step) = self.lanes.lane(lane).agent()?;
        let silence = step.fell_silent()?;
        // An agent that is being ended is not ended again.
        let flight = state.flights.get(&id).filter(|flight| flight.cancel.is_none());
        flight.map(|_| Fact::Silent { id, silence })
    }

    /// Makes room for what the agent prints; warns once about what had to be removed for it.
    pub(super) fn trim_streams(&mut self, run: &Run) {
        if run.keep_streams == 0 {
            return;
        }
        let now = self.lanes.kept().unwrap_or_else(|| self.shared.streams.newest());
        match self.shared.streams.trim(run.keep_streams, now) {
            Ok(None) => {}
            Ok(Some(last)) => {
                let most = report::bytes(run.keep_streams);
                self.reporter.warn(&format!(
                    "agent output exceeds {most} (keepStreams): removed it up to iteration {last}"
                ));
            }
            Err(cause) if !std::mem::replace(&mut self.streams_warned, true) => {
                self.reporter.warn(&format!("cannot remove old agent output: {cause}"));
            }
            Err(_) => {}
        }
    }

    fn snapshot_end(&mut self, taken: SnapshotTaken) -> End {
        let problem = |cause: String| SnapshotEnd { problem: Some(cause), ..SnapshotEnd::default() };
        End::Snapshot(match taken {
            Err(cause) => problem(cause.to_string()),
            Ok((checkpoints, taken)) => {
                self.shared.return_checkpoints(checkpoints);
                match taken {
                    Err(cause) => problem(cause.to_string()),
                    Ok(snapshot) => {
                        self.warn_of_tidying(&snapshot.older_gone);
                        let diff = snapshot.diff.map(|text| self.shared.texts.put(&text)).transpose();
                        match diff {
                            Ok(diff) => SnapshotEnd { diff, ..snapshot.end },
                            Err(cause) => problem(cause.to_string()),
                        }
                    }
                }
            }
        })
    }

    /// Once: the same happens with every later snapshot.
    fn warn_of_tidying(&mut self, older_gone: &Result<bool, ShadowError>) {
        let warning = match older_gone {
            Ok(false) => return,
            Ok(true) => "checkpoints exceed their size limit (keepCheckpoints): removed the oldest".into(),
            Err(cause) => format!("cannot tidy the checkpoints: {cause}"),
        };
        if !std::mem::replace(&mut self.tidying_warned, true) {
            self.reporter.warn(&warning);
        }
    }

    fn check_end(&mut self, found: Found, end: CheckEnd) -> End {
        let Found { tests, changed, touched, only_outside } = found;
        let end = CheckEnd { changed, touched, only_outside, ..end };
        let Some(read) = tests else { return End::Check(end) };
        match self.shared.texts.put(&read.text) {
            Ok(hash) => End::Check(CheckEnd { tests: Some(read.seen(hash)), ..end }),
            Err(cause) => End::Impossible { why: format!("cannot save the tests of a check: {cause}") },
        }
    }

    fn prepare_end(&mut self, made: Result<MadeReady, JoinError>) -> End {
        match made {
            Ok(MadeReady { checkpoints, copy, watched, prepared }) => {
                if let Some(checkpoints) = checkpoints {
                    self.shared.return_checkpoints(checkpoints);
                }
                (self.shared.copy, self.shared.watched) = (copy, watched);
                End::Prepare(Box::new(prepared))
            }
            Err(cause) => End::Impossible { why: cause.to_string() },
        }
    }

    fn restore_end(&mut self, restored: Result<Restored, JoinError>) -> End {
        let put_aside = match restored {
            Err(cause) => Err(cause.to_string()),
            Ok((checkpoints, put_aside)) => {
                self.shared.return_checkpoints(checkpoints);
                put_aside.map_err(|cause| cause.to_string())
            }
        };
        let end = put_aside.and_then(|PutAside { kept, began, diff, change, spared }| {
            let diff = diff.map(|text| self.shared.texts.put(&text)).transpose();
            Ok(RestoreEnd { kept, began, diff: diff.map_err(|cause| cause.to_string())?, change, spared })
        });
        match end {
            Ok(end) => End::Restore(end),
            Err(why) => End::Impossible { why },
        }
    }
}
