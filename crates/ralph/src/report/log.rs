//! A run told in a file as well, a line an event, each with its time.
//!
//! Appended, and never a reason to fail: a log that cannot be written is warned about once.

use super::{AtWork, EDITED, Reporter, filled_in, left, low_disk, newly_low};
use crate::fsx;
use ralph_loop::ask::Ask;
use ralph_loop::check::CheckOutcome;
use ralph_loop::dialect::Blocker;
use ralph_loop::event::{AgentEnd, End, Event, Fact, Step};
use ralph_loop::plan::{Item, Plan, PlanEnd};
use ralph_loop::state::Stage;
use ralph_loop::text::printable;
use ralph_loop::time::span;
use ralph_loop::verdict::{Judgement, Settlement, Verdict};
use ralph_loop::{Run, State};
use std::path::PathBuf;

/// Writes a log beside another reporter.
pub struct Logged<'r> {
    inner: &'r mut dyn Reporter,
    path: PathBuf,
    at_work: AtWork,
    warned: bool,
}

impl<'r> Logged<'r> {
    pub fn new(inner: &'r mut dyn Reporter, path: PathBuf) -> Logged<'r> {
        Logged { inner, path, at_work: AtWork::default(), warned: false }
    }

    fn add(&mut self, at: i64, text: &str) {
        let time = jiff::Timestamp::from_millisecond(at).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let time = time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S");
        let lines: String = text.lines().map(|line| format!("[{time}] {}\n", printable(line))).collect();
        if let Err(cause) = fsx::append_unlinked(&self.path, lines.as_bytes())
            && !std::mem::replace(&mut self.warned, true)
        {
            self.inner.warn(&format!("cannot write the log: {cause}"));
        }
    }
}

/// What an event is to a log.
fn told(run: &Run, state: &State, event: &Event, at_work: AtWork) -> Option<String> {
    let agent = at_work.called(run, "the agent");
    match &event.fact {
        Fact::Opened(run) => Some(format!("run {} begins: {}", run.id, work(run))),
        Fact::Resumed { .. } => Some(format!("run {} goes on at iteration {}", run.id, state.iteration())),
        Fact::Began { step: Step::Agent { iteration, attempt, agent, item }, .. } => {
            let name = run.agents.get(*agent).map_or("agent", |agent| &agent.name);
            let again = if *attempt > 1 { format!(", try {attempt}") } else { String::new() };
            Some(format!("iteration {iteration}{again}: {name} {}", on(run, item)))
        }
        Fact::Ended { end, .. } => ended(run, state, end, agent),
        Fact::Judged(judgement) => Some(judged(run, judgement, agent)),
        Fact::StopAsked => Some("asked to stop".into()),
        Fact::Asked(ask) => Some(match ask {
            Ask::Pause => "asked to pause".into(),
            Ask::Continue => "asked to go on".into(),
            Ask::Leave => "asked to stop, to be resumed".into(),
            Ask::Kill => "asked to end at once".into(),
            Ask::Set(_) => "what was asked for was changed".into(),
            Ask::Say { .. } => "given a note for the next prompt".into(),
        }),
        Fact::Silent { .. } => Some(format!("{agent} shows no sign of life: it is ended")),
        Fact::Blocked { by, .. } => Some(match by {
            Some(Blocker::Login) => format!("the service refuses the key of {agent}: it is ended"),
            Some(Blocker::Network) => format!("{agent} waits for the network"),
            None => format!("{agent} reaches its service again"),
        }),
        Fact::LowDisk(_) => {
            newly_low(state, event).map(|shortage| format!("{}; waiting", low_disk(shortage)))
        }
        Fact::Stopped { reason, note } => {
            let note = note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
            Some(format!("run {} ends: {}{note}", run.id, reason.word()))
        }
        Fact::Began { .. } | Fact::Answered { .. } | Fact::Cancelled { .. } | Fact::Woke => None,
    }
}

fn work(run: &Run) -> String {
    match &run.plan {
        Plan::Prompt(_) => format!("at most {} iterations", run.limits.iterations),
        Plan::Stories(plan) => format!("{} stories to do", plan.todo.len()),
        Plan::Tasks(plan) => format!("the tasks in {}", plan.dir.display()),
    }
}

fn on(run: &Run, item: &Item) -> String {
    match (item, &run.plan) {
        (Item::Story { id, attempt }, Plan::Stories(plan)) => {
            let title = plan.story(*id).map_or("", |story| story.title.as_str());
            format!("works on story {id}, {title} (attempt {attempt}/{})", plan.max_retries)
        }
        (Item::Task { id, mode }, _) => format!("works on {id} ({mode})"),
        (Item::Story { .. } | Item::Prompt, _) => "works".into(),
    }
}

fn ended(run: &Run, state: &State, end: &End, agent: &str) -> Option<String> {
    match end {
        End::Agent(end) => Some(agent_ended(end, agent)),
        End::Check(end) => {
            let Stage::Answered { results, .. } = &state.work.stage else { return None };
            let result = results.last().filter(|result| result.log == end.log)?;
            let command = &run.checks.get(result.index)?.command;
            let summary = end.summary.as_ref().filter(|_| result.outcome != CheckOutcome::Passed);
            let summary = summary.map_or_else(String::new, |line| format!(": {line}"));
            Some(format!("check {command} {}{summary}", result.outcome))
        }
        End::Restore(end) => {
            let kept = end.kept.as_ref()?;
            Some(format!("the tree is back where the story began; what was there is kept as {kept}"))
        }
        End::Lost { why, .. } | End::Impossible { why } => Some(why.clone()),
        End::Snapshot(end) => end.problem.as_ref().map(|why| format!("the tree was not recorded: {why}")),
        End::Plan(end) => {
            let PlanEnd::Tasks(end) = &**end;
            let undone = end.violations.iter().map(|text| format!("undone in the task list: {text}"));
            let reworded = end.reworded.iter().map(ToString::to_string);
            let edited = end.edited.then(|| EDITED.to_string());
            let filled = match &run.plan {
                Plan::Tasks(plan) if !end.filled.is_empty() => Some(filled_in(plan, &end.filled)),
                Plan::Prompt(_) | Plan::Stories(_) | Plan::Tasks(_) => None,
            };
            let lines: Vec<String> = filled.into_iter().chain(undone).chain(reworded).chain(edited).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        End::Left(end) => left(run, end),
        End::Message(_) | End::Scm(_) | End::Rest(_) => None,
    }
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
            let of = match &run.plan {
                Plan::Stories(plan) => plan.max_retries,
                Plan::Prompt(_) | Plan::Tasks(_) => 0,
            };
            format!("story {id} failed: {why} (attempt {attempt}/{of})")
        }
        (_, Settlement::Settled) if judgement.verdict == (Verdict::Green { checks: 0 }) => {
            format!("iteration {iteration} is said to be done")
        }
        (_, Settlement::Settled) => format!("iteration {iteration} is proven done"),
        (_, Settlement::Retry { why }) => format!("iteration {iteration} failed: {why}"),
        (_, Settlement::Continue) if let Some(silence) = judgement.silence => {
            format!("iteration {iteration} failed: {agent} was {silence}")
        }
        (_, Settlement::Continue) => format!("iteration {iteration} is over, and the work goes on"),
    }
}

impl Reporter for Logged<'_> {
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(&mut *self.inner)
    }

    fn event(&mut self, run: &Run, state: &State, event: &Event) {
        self.at_work.follow(event);
        if let Some(text) = told(run, state, event, self.at_work) {
            self.add(event.at, &text);
        }
        self.inner.event(run, state, event);
    }
}
