//! A run at one moment.

use super::AgentNow;
use crate::check::CheckOutcome;
use crate::dialect::{Awaited, Dialect, Tokens};
use crate::event::{Step, StopReason};
use crate::low_disk::Shortage;
use crate::money::{Cost, Usd};
use crate::next::{WaitsFor, waits_for, wake_at};
use crate::plan::prompt::PromptSource;
use crate::plan::stories::Story;
use crate::plan::{Pick, Plan, Progress};
use crate::proof::Word;
use crate::run::{Place, Run};
use crate::state::{Flight, Resumable, State};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a run's state does not have: it is of no use to the policy.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub(super) opened_at: i64,
    pub(super) last_at: i64,
    pub(super) agent_began_at: Option<i64>,
    /// Iterations that failed.
    pub(super) failures: u32,
    pub(super) tokens: Tokens,
    pub(super) agent_now: AgentNow,
    /// What a person was last waited for.
    pub(super) awaited: Awaited,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    pub id: String,
    /// `prompt`, `stories` or `tasks`.
    pub plan: String,
    pub assignment: Assignment,
    pub workspace: PathBuf,
    pub place: Place,
    pub agents: Vec<String>,
    /// The commands.
    pub checks: Vec<String>,
    /// Wall clock of the first and of the last event, in milliseconds since 1970.
    pub opened_at: i64,
    pub last_at: i64,
    /// The run's own time, downtime left out.
    pub up_ms: u64,
    /// The iteration at work, or the last one.
    pub iteration: u32,
    pub agent_began_at: Option<i64>,
    /// Iterations that are over.
    pub judged: u32,
    pub max_iterations: u32,
    pub progress: Option<Progress>,
    /// The story at work or next.
    pub story: Option<String>,
    /// What that is called.
    pub title: Option<String>,
    pub doing: Doing,
    /// Checks of the iteration at work that have ended.
    pub check_results: Vec<CheckView>,
    pub consecutive_failures: u32,
    pub total_failures: u32,
    /// With what the agent at work has spent so far, as far as its stream shows it.
    pub spent: Usd,
    /// Some of it is estimated by tokens.
    pub spent_estimated: bool,
    pub tokens: Tokens,
    pub max_cost: Option<Usd>,
    pub agent_now: AgentNow,
    /// What the agent at work waits for a person to do in its terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for_person: Option<WaitsForPerson>,
    /// As the user asked.
    pub paused: bool,
    pub leaving: bool,
    /// How often the user has asked it to stop; twice is at once.
    pub stops_asked: u32,
    pub low_disk: Option<Shortage>,
    pub reason: Option<StopReason>,
    pub note: Option<String>,
    pub success: bool,
    /// The weakest word of what was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Word>,
    pub resumable: Resumable,
    /// A step was begun: before that, no agent has worked in its place.
    pub begun: bool,
    pub prompt_file: Option<PathBuf>,
    pub done_pattern: Option<String>,
    /// How long the agent at work, or the first one, may be silent.
    pub silence_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckView {
    pub command: String,
    pub outcome: CheckOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitsForPerson {
    /// In the run's own time.
    pub since_ms: u64,
    #[serde(flatten)]
    pub awaited: Awaited,
}

/// What goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// A step, since when in the run's own time.
    Step { work: Work, since_ms: u64 },
    /// Until then, in the run's own time.
    Waiting { until_ms: Option<u64>, waits_for: Option<WaitsFor> },
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// A prompt that is kept beside the journal, by hash.
    Text { hash: String },
    /// A prompt in a file.
    File { path: PathBuf },
    /// Stories, by the first and the last of them.
    Stories { count: usize, first: Option<String>, last: Option<String> },
    /// The task list in a directory, and what it calls its project.
    Tasks { dir: PathBuf, project: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    Agent {
        name: String,
    },
    Check {
        command: String,
    },
    Checkpoint,
    /// Make a clean copy ready for the checks.
    PrepareCopy,
    CommitMessage,
    CommitWorktree,
    Restore,
    ReadTasks,
    LookForUncommitted,
    Scm {
        task: String,
    },
}

impl RunView {
    /// The user has asked for a pause, and a step is still at work.
    pub fn is_pausing(&self) -> bool {
        self.paused && matches!(self.doing, Doing::Step { .. })
    }

    pub(super) fn of(run: &Run, state: &State, totals: &Totals) -> RunView {
        let stopped = state.stopped.as_ref();
        let price = state.agent_at_work().and_then(|agent| run.agents.get(agent)?.price);
        let (mut tokens, mut spent) = (totals.tokens, state.ledger.spent);
        tokens += totals.agent_now.tokens();
        if let Some(now) = totals.agent_now.cost(price) {
            spent = Cost { usd: spent.usd + now.usd, estimated: spent.estimated || now.estimated };
        }
        RunView {
            id: run.id.clone(),
            plan: run.plan.name().to_string(),
            assignment: assignment(run, state),
            workspace: run.workspace.clone(),
            place: run.place.clone(),
            agents: run.agents.iter().map(|agent| agent.name.clone()).collect(),
            checks: run.checks.iter().map(|check| check.command.clone()).collect(),
            opened_at: totals.opened_at,
            last_at: totals.last_at,
            up_ms: state.position.up_ms,
            iteration: iteration(state),
            agent_began_at: totals.agent_began_at,
            judged: state.ledger.judged,
            max_iterations: state.ledger.limits.iterations,
            progress: run.plan.progress(&state.plan),
            story: match &state.work.pick {
                Pick::Work(item) => item.story(),
                Pick::Done | Pick::Stuck(_) => None,
            },
            title: match &state.work.pick {
                Pick::Work(item) => run.plan.title(&state.plan, item).map(String::from),
                Pick::Done | Pick::Stuck(_) => None,
            },
            doing: doing(run, state),
            check_results: check_results(run, state),
            consecutive_failures: state.ledger.streaks.failures,
            total_failures: totals.failures,
            spent: spent.usd,
            spent_estimated: spent.estimated,
            tokens,
            max_cost: state.ledger.limits.max_cost,
            agent_now: totals.agent_now.clone(),
            waits_for_person: waits_for_person(state, totals),
            paused: state.asked.paused(),
            leaving: state.asked.leaving,
            stops_asked: state.asked.stops,
            low_disk: state.ledger.low_disk.as_ref().map(|low| low.shortage.clone()),
            reason: stopped.map(|stopped| stopped.reason),
            note: stopped.and_then(|stopped| stopped.note.clone()),
            success: stopped.is_some_and(|stopped| state.is_success(stopped.reason)),
            proof: state.proof.weakest(),
            resumable: state.resumable(),
            begun: state.position.steps_begun > 0,
            prompt_file: prompt_file(run, state),
            done_pattern: run.plan.pattern(&state.plan).map(String::from),
            silence_ms: silence_ms(run, state),
        }
    }

    pub fn cost(&self) -> Cost {
        Cost { usd: self.spent, estimated: self.spent_estimated }
    }

    /// No step is at work.
    pub fn is_between_steps(&self) -> bool {
        matches!(self.doing, Doing::Waiting { .. })
    }
}

/// The iteration that is at work, or was the last.
fn iteration(state: &State) -> u32 {
    let of_next = |flight: &Flight| matches!(flight.step, Step::Snapshot { .. } | Step::Restore { .. });
    let begun = state.work.attempts > 0 || state.flights.values().any(of_next);
    let first = state.ledger.judged == 0 && state.stopped.is_none();
    state.ledger.judged + u32::from(begun || first)
}

fn doing(run: &Run, state: &State) -> Doing {
    let Some(Flight { step, since_ms, .. }) = state.first_flight() else {
        return Doing::Waiting { until_ms: wake_at(run, state), waits_for: waits_for(run, state) };
    };
    let named = |name: Option<&String>, other: &str| name.map_or_else(|| other.to_string(), String::clone);
    let work = match step {
        Step::Agent { agent, .. } => {
            Work::Agent { name: named(run.agents.get(*agent).map(|agent| &agent.name), "agent") }
        }
        Step::Check { index, .. } => {
            Work::Check { command: named(run.checks.get(*index).map(|check| &check.command), "check") }
        }
        Step::Prepare { .. } | Step::Setup { .. } => Work::PrepareCopy,
        Step::Snapshot { .. } => Work::Checkpoint,
        Step::Message { .. } => Work::CommitMessage,
        Step::CommitWorktree => Work::CommitWorktree,
        Step::Restore { .. } => Work::Restore,
        Step::Plan { .. } => Work::ReadTasks,
        Step::Uncommitted { .. } => Work::LookForUncommitted,
        Step::Scm { task, .. } => {
            Work::Scm { task: named(run.scm.as_ref().and_then(|scm| scm.tasks.get(*task)), "scm") }
        }
    };
    Doing::Step { work, since_ms: *since_ms }
}

/// Nothing once the run has stopped: the agent was ended.
fn waits_for_person(state: &State, totals: &Totals) -> Option<WaitsForPerson> {
    let flight = state.first_flight().filter(|_| state.stopped.is_none())?;
    Some(WaitsForPerson { since_ms: flight.waits_for_person()?, awaited: totals.awaited.clone() })
}

fn assignment(run: &Run, state: &State) -> Assignment {
    match (&run.plan, state.plan.as_prompt()) {
        (Plan::Prompt(plan), prompt) => match prompt.map_or(&plan.source, |prompt| prompt.source(plan)) {
            PromptSource::Text { hash } => Assignment::Text { hash: hash.clone() },
            PromptSource::File { path } => Assignment::File { path: path.clone() },
        },
        (Plan::Stories(plan), _) => {
            let id = |story: &Story| story.id.to_string();
            let (first, last) = (plan.todo.first().map(id), plan.todo.last().map(id));
            Assignment::Stories { count: plan.todo.len(), first, last }
        }
        (Plan::Tasks(plan), _) => {
            let known = state.plan.as_tasks().and_then(|tasks| tasks.known.as_ref());
            let project = known.map(|known| known.list.project().to_string());
            let project = project.filter(|project| !project.is_empty());
            Assignment::Tasks { dir: plan.dir.clone(), project }
        }
    }
}

fn check_results(run: &Run, state: &State) -> Vec<CheckView> {
    let command = |index: usize| run.checks.get(index).map(|check| check.command.clone());
    let results = state.work.stage.results().iter();
    let views = results
        .filter_map(|result| Some(CheckView { command: command(result.index)?, outcome: result.outcome }));
    views.collect()
}

fn prompt_file(run: &Run, state: &State) -> Option<PathBuf> {
    match state.plan.as_prompt()?.source(run.plan.as_prompt()?) {
        PromptSource::File { path } => Some(path.clone()),
        PromptSource::Text { .. } => None,
    }
}

/// What the agent at work, or the first one, is held to.
fn silence_ms(run: &Run, state: &State) -> Option<u64> {
    let agent = run.agents.get(state.agent_at_work().unwrap_or(0));
    state.ledger.limits.patience.silence_ms(agent.map_or(Dialect::Plain, |agent| agent.dialect))
}
