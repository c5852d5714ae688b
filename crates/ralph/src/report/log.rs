//! Writes a run to a log file as well, one line per event, with its time.
//!
//! Appended, and never a reason to fail: a log that cannot be written is warned about once.

use super::plans;
use super::proof;
use super::{EDITED, Reporter, filled_in, left, low_disk};
use crate::fsx;
use crate::secrets;
use ralph_loop::Run;
use ralph_loop::ask::Ask;
use ralph_loop::check::CheckOutcome;
use ralph_loop::dialect::Blocker;
use ralph_loop::event::AgentEnd;
use ralph_loop::plan::Item;
use ralph_loop::plan::tasks::TasksEnd;
use ralph_loop::text::printable;
use ralph_loop::time::span;
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::view::{Moment, Update, Wait};
use std::path::PathBuf;

/// Writes a log beside another reporter.
pub struct Logged<'r> {
    inner: &'r mut dyn Reporter,
    path: PathBuf,
    warned: bool,
}

impl<'r> Logged<'r> {
    pub fn new(inner: &'r mut dyn Reporter, path: PathBuf) -> Logged<'r> {
        Logged { inner, path, warned: false }
    }

    fn add(&mut self, lines: &str) {
        if let Err(cause) = fsx::append_unlinked(&self.path, secrets::mask(lines).as_bytes())
            && !std::mem::replace(&mut self.warned, true)
        {
            self.inner.warn(&format!("cannot write the log: {cause}"));
        }
    }
}

/// What the log has about an event, each line with its time.
pub fn log_lines(update: &Update<'_>) -> Option<String> {
    let texts: Vec<String> = update.moments.iter().filter_map(|moment| lines(update, moment)).collect();
    if texts.is_empty() {
        return None;
    }
    let time = jiff::Timestamp::from_millisecond(update.event.at).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let time = time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let texts = texts.iter().flat_map(|text| text.lines());
    Some(texts.map(|line| format!("[{time}] {}\n", printable(line))).collect())
}

/// The log lines of a moment.
fn lines(update: &Update<'_>, moment: &Moment<'_>) -> Option<String> {
    let (run, agent) = (update.run, update.agent_or("the agent"));
    match moment {
        Moment::Opened => Some(format!("run {} started: {}", run.id, plans::amount_of_work(run))),
        Moment::Resumed => Some(format!("run {} resumed at iteration {}", run.id, update.state.iteration())),
        Moment::AgentBegan { iteration, attempt, item, .. } => {
            let name = update.agent().map_or("agent", |agent| &agent.name);
            let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            Some(format!("iteration {iteration}{again}: {name} {}", plans::works_on(run, item)))
        }
        Moment::AgentEnded { end, .. } => Some(agent_ended(end, agent)),
        Moment::CheckEnded { check, round, outcome, end } => {
            let on = proof::runs_on(update.state, *round).map_or_else(String::new, |on| format!(" {on}"));
            let summary = end.summary.as_ref().filter(|_| *outcome != CheckOutcome::Passed);
            let summary = summary.map_or_else(String::new, |line| format!(": {line}"));
            Some(format!("check {}{on} {outcome}{summary}", check.command))
        }
        Moment::Restored(end) => {
            let kept = end.kept.as_ref()?;
            Some(format!("files reset to where the story started; the attempt is kept as {kept}"))
        }
        Moment::StepLost { why } | Moment::StepImpossible { why } => Some((*why).to_string()),
        Moment::Checkpoint { end, .. } => {
            end.problem.as_ref().map(|why| format!("cannot take a checkpoint: {why}"))
        }
        Moment::TasksRead { end, .. } => tasks_read(run, end),
        Moment::Uncommitted(end) => left(run, end),
        Moment::IterationEnded { judgement, .. } => Some(judged(run, judgement, agent)),
        Moment::StopAsked => Some("stop requested".into()),
        Moment::Asked(ask) => Some(match ask {
            Ask::Pause => "pause requested".into(),
            Ask::Continue => "resume requested".into(),
            Ask::Leave => "stop requested, to resume later".into(),
            Ask::Kill => "kill requested".into(),
            Ask::Set(_) => "limits or settings of the run changed".into(),
            Ask::Say { .. } => "received a note for the next prompt".into(),
        }),
        Moment::Silent => Some(format!("{agent} has been silent for too long: stopping it")),
        Moment::Blocked(by) => Some(match by {
            Some(Blocker::Login) => format!("the service rejects the API key of {agent}: stopping it"),
            Some(Blocker::Network) => format!("{agent} is waiting for the network"),
            Some(Blocker::Person) => format!("{agent} is waiting for a person in its terminal"),
            None => format!("{agent} can go on again"),
        }),
        Moment::WaitBegan(Wait::Disk(shortage)) => Some(format!("{}; waiting", low_disk(shortage))),
        Moment::Stopped { stopped, .. } => {
            let note = stopped.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            Some(format!("run {} ended: {}{note}", run.id, stopped.reason.word()))
        }
        Moment::Prepared { round, prepared } => proof::in_place(update.state, *round, prepared),
        Moment::BaselineKnown => {
            let why = proof::falls_back(update.state).map_or_else(String::new, |why| format!("; {why}"));
            Some(format!("{}{why}", proof::baseline(update.state)))
        }
        Moment::SetupBegan { command } => Some(format!("installing dependencies into the copy: {command}")),
        Moment::CheckBegan { .. }
        | Moment::SetupEnded(_)
        | Moment::PrepareBegan(_)
        | Moment::MessageAsked
        | Moment::ScmBegan { .. }
        | Moment::Cancelled { .. }
        | Moment::RetryAfter { .. }
        | Moment::CheckCutShort(_)
        | Moment::MessageEnded(_)
        | Moment::ScmEnded { .. }
        | Moment::WorktreeCommitted(_)
        | Moment::Paused
        | Moment::WaitBegan(_)
        | Moment::EnoughSpace => None,
    }
}

fn tasks_read(run: &Run, end: &TasksEnd) -> Option<String> {
    let undone = end.violations.iter().map(|text| format!("reverted in the task list: {text}"));
    let reworded = end.reworded.iter().map(ToString::to_string);
    let edited = end.edited.then(|| EDITED.to_string());
    let plan = run.plan.as_tasks().filter(|_| !end.filled.is_empty());
    let filled = plan.map(|plan| filled_in(plan, &end.filled));
    let lines: Vec<String> = filled.into_iter().chain(undone).chain(reworded).chain(edited).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn agent_ended(end: &AgentEnd, agent: &str) -> String {
    let cost = end.cost().map_or_else(String::new, |cost| format!(", {cost}"));
    let how = end.answer.problem().map_or_else(|| "ended".to_string(), |why| format!("failed: {why}"));
    format!("{agent} {how} ({}{cost})", span(end.duration_ms))
}

fn judged(run: &Run, judgement: &Judgement, agent: &str) -> String {
    let iteration = judgement.iteration;
    match (&judgement.item, &judgement.settlement) {
        (Item::Story { id, .. }, Settlement::Settled) => format!("story {id} is done"),
        (Item::Story { id, attempt }, Settlement::Retry { why }) => {
            let of = run.plan.as_stories().map_or(0, |plan| plan.max_retries);
            format!("story {id} failed: {why} (attempt {attempt}/{of})")
        }
        (_, Settlement::Settled) if judgement.verdict == (Verdict::Green { checks: 0 }) => {
            format!("iteration {iteration}: the agent says it is done")
        }
        (_, Settlement::Settled) => match &judgement.proof {
            Some(proof) => {
                format!("iteration {iteration} done: {}", proof::in_detail(run, proof.word, proof))
            }
            None => format!("iteration {iteration}: done, all checks pass"),
        },
        (_, Settlement::Retry { why }) => format!("iteration {iteration} failed: {why}"),
        (_, Settlement::Continue) => match judgement.silence {
            Some(silence) => format!("iteration {iteration} failed: {agent} was {silence}"),
            None => format!("iteration {iteration} ended: not done yet"),
        },
    }
}

impl Reporter for Logged<'_> {
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(&mut *self.inner)
    }

    fn update(&mut self, update: &Update<'_>) {
        if let Some(lines) = log_lines(update) {
            self.add(&lines);
        }
        self.inner.update(update);
    }
}
