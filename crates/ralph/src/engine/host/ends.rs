//! The facts that host events amount to.

use super::host_event::{HostEvent, SnapshotTaken};
use super::{OnSignal, RealHost};
use crate::engine::lane::{Current, StartError};
use crate::engine::own_commit;
use crate::engine::scm::{self, Task};
use crate::engine::step::{EndedBy, ProgramEnd};
use crate::engine::task_files::{self, Disk};
use crate::git::checkpoint::Restored;
use crate::git::restore::PutAside;
use crate::git::shadow::ShadowError;
use crate::layout::TasksDir;
use crate::process::{KeeperEvent, ProcessError};
use crate::report;
use crate::tasks::added::{Added, LockPath};
use ralph_loop::ask::Ask;
use ralph_loop::event::{End, Fact, How, MessageEnd, RestoreEnd, SnapshotEnd, Step, Why, directory_gone};
use ralph_loop::plan::{Plan, PlanEnd, PlanStep};
use ralph_loop::scm::{Message, MessageOutcome, TaskOutcome};
use ralph_loop::{Run, State};
use std::io;
use std::time::Instant;
use tokio::task::JoinError;

/// What made the program of the step in flight end.
fn ended_by(state: &State) -> EndedBy {
    match state.first_flight().and_then(|flight| flight.cancel) {
        None => EndedBy::Itself,
        Some(cancel) if cancel.why == Why::Answered => EndedBy::RalphAfterAnswer,
        Some(_) => EndedBy::Ralph,
    }
}

/// What was done to a directory that does not exist any more proves nothing.
fn note_gone(run: &Run, mut end: End) -> End {
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

impl RealHost<'_> {
    /// The fact that a message of the keeper amounts to, if it does.
    fn keeper_said(&mut self, run: &Run, state: &State, event: KeeperEvent) -> Option<Fact> {
        match event {
            KeeperEvent::Started { .. } => None,
            KeeperEvent::NotStarted { error, .. } => {
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) => step.not_started(&error),
                    Current::Check(_) => End::Impossible { why: format!("cannot start the shell: {error}") },
                    Current::Message { .. } => scm::no_message(format!("cannot start the agent: {error}")),
                    Current::OwnCommit(step) => step.failed(format!("cannot run git: {error}")),
                    Current::Nothing
                    | Current::KeeperGone
                    | Current::Snapshot(_)
                    | Current::Restore(_)
                    | Current::Survey { .. }
                    | Current::Repository(_)
                    | Current::Plan { .. }
                    | Current::Branch { .. } => return None,
                };
                Some(self.ended(end))
            }
            KeeperEvent::Ended { exit, swept } => {
                let ended = ProgramEnd { exit, by: ended_by(state), swept };
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) => {
                        let end = step.finish(ended, &mut self.buffer, self.reporter);
                        note_gone(run, self.lane.agent_ended(run, end)?)
                    }
                    Current::Message { step, words, read_as } => {
                        scm::message_end(step.finish(ended, &mut self.buffer, self.reporter), &words, read_as)
                    }
                    Current::Check(step) => note_gone(run, step.finish(run, ended, &mut self.lane.texts)),
                    Current::OwnCommit(step) => step.finish(ended),
                    Current::Nothing
                    | Current::KeeperGone
                    | Current::Snapshot(_)
                    | Current::Restore(_)
                    | Current::Survey { .. }
                    | Current::Repository(_)
                    | Current::Plan { .. }
                    | Current::Branch { .. } => return None,
                };
                Some(self.ended(end))
            }
            KeeperEvent::Gone { .. } => {
                self.lane.keeper = None;
                let why = "its supervisor process (the keeper) died".to_string();
                let end = match std::mem::replace(&mut self.lane.current, Current::Nothing) {
                    Current::Agent(step) | Current::Message { step, .. } => {
                        step.lost(why, &mut self.buffer, self.reporter)
                    }
                    Current::Check(_) | Current::OwnCommit(_) | Current::KeeperGone => {
                        End::Lost { why, cost: None, estimate: None }
                    }
                    elsewhere @ (Current::Nothing
                    | Current::Snapshot(_)
                    | Current::Restore(_)
                    | Current::Survey { .. }
                    | Current::Repository(_)
                    | Current::Plan { .. }
                    | Current::Branch { .. }) => {
                        self.lane.current = elsewhere;
                        return None;
                    }
                };
                Some(self.ended(end))
            }
        }
    }

    /// A step that could not begin ends at once, by a fact like any other.
    pub(super) fn not_begun(&mut self, step: &Step, cause: StartError) {
        match cause {
            // The keeper has died between two steps. `wait` sees that and ends what it left; the step
            // then begins again with a new keeper.
            StartError::Process(ProcessError::Gone) => self.lane.current = Current::KeeperGone,
            cause => {
                let why = cause.to_string();
                let end = match step {
                    // A commit that cannot be made is no reason to lose the run.
                    Step::Message { .. } => scm::no_message(why),
                    Step::Uncommitted { .. } => own_commit::uncommitted_failed(why),
                    Step::CommitWorktree => own_commit::worktree_failed(why),
                    _ => End::Impossible { why },
                };
                self.due.push_back(self.ended(end));
            }
        }
    }

    /// The fact that an event amounts to, if it does.
    pub(super) fn happened(&mut self, run: &Run, state: &State, event: HostEvent) -> Option<Fact> {
        match event {
            HostEvent::Signal if self.on_signal == OnSignal::Pause => Some(Fact::Asked(Ask::Leave)),
            HostEvent::Signal => Some(Fact::StopAsked),
            HostEvent::Asked(request) => self.asked(run, state, request),
            // What waits to be read is no silence.
            HostEvent::Silent => self.read_output(run).or_else(|| self.fell_silent(state)),
            HostEvent::Woke => Some(Fact::Woke),
            HostEvent::Tick => {
                self.last_tick = Instant::now();
                self.reporter.tick(&self.projections.view(run, state), self.clock.up_ms());
                None
            }
            HostEvent::Keeper(event) => {
                let fact = self.keeper_said(run, state, event);
                self.trim_streams(run);
                fact
            }
            HostEvent::Readable => self.read_output(run),
            HostEvent::Snapshot(taken) => {
                self.lane.current = Current::Nothing;
                Some(self.snapshot_end(*taken))
            }
            HostEvent::Restored(restored) => {
                self.lane.current = Current::Nothing;
                Some(self.restore_end(*restored))
            }
            HostEvent::Unlocked(added) => {
                let current = std::mem::replace(&mut self.lane.current, Current::Nothing);
                let Current::Plan { what, .. } = current else { return None };
                let added = added.unwrap_or_else(|cause| Err(cause.into()));
                let end = self.see_to_plan(run, state, &what, added);
                Some(self.ended(end))
            }
            HostEvent::Surveyed(nothing_to_commit) => self.surveyed(run, nothing_to_commit.unwrap_or(false)),
            HostEvent::Branch(branch) => {
                let end = note_gone(run, self.lane.branch_known(branch.unwrap_or_default())?);
                Some(self.ended(end))
            }
            HostEvent::Repository(done) => {
                self.lane.current = Current::Nothing;
                let failed = |cause: JoinError| TaskOutcome::Failed { why: cause.to_string() };
                Some(self.ended(End::Scm(done.unwrap_or_else(failed))))
            }
        }
    }

    /// Takes in what the agent has printed.
    fn read_output(&mut self, run: &Run) -> Option<Fact> {
        if let Current::Agent(step) | Current::Message { step, .. } = &mut self.lane.current
            && !step.pump(&mut self.buffer, self.reporter)
        {
            // What it does from now on could not be recorded.
            self.lane.cancel(How::Kill);
        }
        self.trim_streams(run);
        let Current::Agent(step) = &mut self.lane.current else { return None };
        let id = self.step;
        let answered = step.has_answered().then_some(Fact::Answered { id });
        let blocked = step.newly_blocked().map(|by| Fact::Blocked { id, by });
        self.due.extend(answered.into_iter().chain(blocked));
        self.due.pop_front()
    }

    /// Makes room for what the agent prints; warns once about what had to be removed for it.
    pub(super) fn trim_streams(&mut self, run: &Run) {
        match self.lane.trim_streams(run) {
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
    pub(super) fn start_task(&mut self, run: &Run, state: &State, iteration: u32, task: usize) {
        let message =
            match state.work.stage.chores().and_then(|chores| chores.scm.as_ref()).map(|due| &due.message) {
                Some(Message::Text(text)) => Some(text.clone()),
                Some(Message::Unasked | Message::Needless) | None => None,
            };
        let lock = self.lane.lock();
        let task = run.scm.as_ref().and_then(|spec| Task::of(run, spec, iteration, task, message, lock));
        let refused = match (task, self.journal.settling()) {
            (Some(task), Ok(journal)) => return self.lane.start_task(task, journal),
            (None, _) => "internal error: no such scm task".to_string(),
            (_, Err(cause)) => scm::unsettled(&cause),
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
                        self.warn_of_tidying(&snapshot.older_gone);
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

    /// Once: the same happens with every later snapshot.
    fn warn_of_tidying(&mut self, older_gone: &Result<bool, ShadowError>) {
        let warning = match older_gone {
            Ok(false) => return,
            Ok(true) => "checkpoints exceed their size limit (keepCheckpoints): removed the oldest".into(),
            Err(cause) => format!("cannot remove old checkpoints: {cause}"),
        };
        if !std::mem::replace(&mut self.tidying_warned, true) {
            self.reporter.warn(&warning);
        }
    }

    /// At once, unless another process is editing the same files: that is waited for beside the loop.
    pub(super) fn start_plan(&mut self, run: &Run, state: &State, what: &PlanStep) {
        let Plan::Tasks(plan) = &run.plan else {
            let why = "internal error: this plan has no files".to_string();
            return self.due.push_back(self.ended(End::Impossible { why }));
        };
        let dir = TasksDir::at(run.workspace.join(&plan.dir));
        let lock = LockPath::of(&self.lane.run_dir().home(), &dir);
        let added = match Added::now(&lock).transpose() {
            Some(added) => added,
            None => {
                let handle = tokio::task::spawn_blocking(move || Added::soon(&lock));
                self.lane.current = Current::Plan { handle, what: what.clone() };
                return;
            }
        };
        let end = self.see_to_plan(run, state, what, added);
        self.due.push_back(self.ended(end));
    }

    fn see_to_plan(&mut self, run: &Run, state: &State, what: &PlanStep, added: io::Result<Added>) -> End {
        let mut added = added.unwrap_or_else(|_| Added::nothing());
        if !added.is_locked() {
            self.reporter.warn(
                "cannot lock the task list, another process may be using it; continuing without the lock",
            );
        }
        match task_files::perform(run, state, what, Disk::Written, &mut added, &mut self.lane.texts) {
            Ok(end) => {
                if let Some(displaced) = &end.displaced {
                    let kept = self.lane.run_dir().text(displaced);
                    self.reporter.warn(&format!(
                        "restored the task list; the version it replaced is kept: {}",
                        kept.display()
                    ));
                }
                End::Plan(Box::new(PlanEnd::Tasks(end)))
            }
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
        let end = put_aside.and_then(|PutAside { kept, began, diff, change, spared }| {
            let diff = diff.map(|text| self.lane.texts.put(&text)).transpose();
            Ok(RestoreEnd { kept, began, diff: diff.map_err(|cause| cause.to_string())?, change, spared })
        });
        self.ended(match end {
            Ok(end) => End::Restore(end),
            Err(why) => End::Impossible { why },
        })
    }
}
