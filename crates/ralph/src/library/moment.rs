//! What has happened in a run, owned by the program that asks.
//!
//! Made of the moments that all reports are made of, and of what the agent prints while it works.

use crate::report;
use ralph_loop::ask::Ask;
use ralph_loop::dialect::{AgentEvent, Exit};
use ralph_loop::event::StopReason;
use ralph_loop::proof::Round;
use ralph_loop::task_list::Mode;
use ralph_loop::view::{self, Iteration, Update};
use std::path::PathBuf;
use std::time::Duration;

/// Something that has happened in a run. It is already recorded, but for what the agent prints.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Moment {
    Started {
        run: String,
        /// The directory that the agents work in.
        workspace: PathBuf,
    },
    Resumed {
        run: String,
    },
    AgentStarted {
        iteration: u32,
        /// Counts the agents of an iteration, from 1.
        attempt: u32,
        agent: String,
        /// Of a plan that consists of stories.
        story: Option<String>,
        /// What the agent does about a story of a task list.
        mode: Option<Mode>,
    },
    /// What the agent that has just started is asked.
    Prompt {
        text: String,
    },
    /// Words of the agent; of one whose output is plain text, a line.
    AgentSaid {
        text: String,
    },
    ToolStarted {
        name: String,
        /// What the tool is asked to do, on one line.
        summary: String,
    },
    ToolEnded {
        failed: bool,
    },
    /// A line of the agent's standard error.
    AgentStderr {
        line: String,
    },
    AgentEnded {
        iteration: u32,
        attempt: u32,
        agent: String,
        exit: Exit,
        duration: Duration,
        /// Why it gave no answer.
        problem: Option<String>,
    },
    /// The agent's service refuses: the iteration starts again after this time.
    RetryAfter {
        wait: Duration,
    },
    CheckStarted {
        name: String,
        /// What it runs on, and when.
        round: Round,
    },
    CheckEnded {
        name: String,
        round: Round,
        passed: bool,
        /// The line of its output that says what is wrong.
        summary: Option<String>,
        duration: Duration,
    },
    IterationEnded(Box<Iteration>),
    /// The run waits, for example for free disk space or for the agent's service.
    Waiting {
        why: String,
    },
    /// [`cancel`](super::RunHandle::cancel) was called.
    StopRequested,
    /// `ralph pause`, from another terminal.
    Paused,
    Continued,
    /// Something for people to read.
    Notice {
        text: String,
    },
    /// Something went wrong that does not end the run.
    Warning {
        text: String,
    },
    /// These were discarded before they were read, because too many had piled up.
    Missed {
        count: u64,
    },
    Stopped {
        reason: StopReason,
        /// The run did what was asked of it.
        success: bool,
        note: Option<String>,
    },
}

impl Moment {
    pub(super) fn of_update(update: &Update<'_>) -> Vec<Moment> {
        let trouble = |moment: &view::Moment<'_>| Some(Moment::Warning { text: report::trouble(moment)? });
        let each = |moment| Moment::of(update, moment).or_else(|| trouble(moment));
        update.moments.iter().filter_map(each).collect()
    }

    /// Nothing for what only ralph's own files are about.
    fn of(update: &Update<'_>, moment: &view::Moment<'_>) -> Option<Moment> {
        let agent_name = |number: usize| {
            update.run.agents.get(number).map_or_else(String::new, |agent| agent.name.clone())
        };
        Some(match moment {
            view::Moment::Opened => {
                Moment::Started { run: update.run.id.clone(), workspace: update.run.workspace.clone() }
            }
            view::Moment::Resumed => Moment::Resumed { run: update.run.id.clone() },
            view::Moment::AgentBegan { iteration, attempt, item, .. } => Moment::AgentStarted {
                iteration: *iteration,
                attempt: *attempt,
                agent: update.agent().map_or_else(String::new, |agent| agent.name.clone()),
                story: item.story(),
                mode: item.mode(),
            },
            view::Moment::AgentEnded { iteration, attempt, agent, end, .. } => Moment::AgentEnded {
                iteration: *iteration,
                attempt: *attempt,
                agent: agent_name(*agent),
                exit: end.exit,
                duration: Duration::from_millis(end.duration_ms),
                problem: end.answer.problem().map(String::from),
            },
            view::Moment::RetryAfter { wait_ms } => {
                Moment::RetryAfter { wait: Duration::from_millis(*wait_ms) }
            }
            view::Moment::CheckBegan { check, round } => {
                Moment::CheckStarted { name: check.command.clone(), round: *round }
            }
            view::Moment::CheckEnded { check, round, outcome, end } => Moment::CheckEnded {
                name: check.command.clone(),
                round: *round,
                passed: outcome.passed(),
                summary: end.summary.clone(),
                duration: Duration::from_millis(end.duration_ms),
            },
            view::Moment::IterationEnded { iteration, .. } => Moment::IterationEnded(iteration.clone()),
            view::Moment::WaitBegan(wait) => Moment::Waiting { why: waits_for(*wait) },
            view::Moment::StopAsked => Moment::StopRequested,
            view::Moment::Paused => Moment::Paused,
            view::Moment::Asked(Ask::Continue) => Moment::Continued,
            view::Moment::EnoughSpace => {
                Moment::Notice { text: "there is enough free disk space again".into() }
            }
            view::Moment::StepLost { why } => Moment::Warning { text: format!("a step starts again: {why}") },
            view::Moment::StepImpossible { why } => Moment::Warning { text: (*why).to_string() },
            view::Moment::Stopped { stopped, success, .. } => {
                Moment::Stopped { reason: stopped.reason, success: *success, note: stopped.note.clone() }
            }
            view::Moment::Prepared { round, prepared } => {
                Moment::Notice { text: report::proof::in_place(update.state, *round, prepared)? }
            }
            view::Moment::BaselineKnown => match report::proof::falls_back(update.state) {
                Some(text) => Moment::Warning { text },
                None => Moment::Notice { text: report::proof::baseline(update.state) },
            },
            view::Moment::PrepareBegan(_)
            | view::Moment::SetupBegan { .. }
            | view::Moment::SetupEnded(_)
            | view::Moment::MessageAsked
            | view::Moment::ScmBegan { .. }
            | view::Moment::Cancelled { .. }
            | view::Moment::CheckCutShort(_)
            | view::Moment::Checkpoint { .. }
            | view::Moment::MessageEnded(_)
            | view::Moment::ScmEnded { .. }
            | view::Moment::WorktreeCommitted(_)
            | view::Moment::Restored(_)
            | view::Moment::TasksRead { .. }
            | view::Moment::Uncommitted(_)
            | view::Moment::Asked(_)
            | view::Moment::Silent
            | view::Moment::Blocked(_) => return None,
        })
    }

    pub(super) fn of_agent(event: &AgentEvent<'_>) -> Option<Moment> {
        Some(match event {
            AgentEvent::Text { text, .. } => Moment::AgentSaid { text: text.to_string() },
            AgentEvent::ToolStart { name, input, .. } => {
                Moment::ToolStarted { name: name.to_string(), summary: input.summary() }
            }
            AgentEvent::ToolEnd { is_error, .. } => Moment::ToolEnded { failed: *is_error },
            AgentEvent::Denied { tool, why } => {
                Moment::Warning { text: format!("a tool call was refused: {tool}: {why}") }
            }
            AgentEvent::Notice { text } => Moment::Notice { text: text.to_string() },
            AgentEvent::Waiting { text, .. } => Moment::Waiting { why: text.to_string() },
            AgentEvent::Typed { text } => Moment::Notice { text: format!("typed by a person: {text}") },
            AgentEvent::Received { bytes, whole: false } => {
                Moment::Warning { text: report::not_whole(*bytes) }
            }
            AgentEvent::Session { .. }
            | AgentEvent::Working
            | AgentEvent::Received { whole: true, .. }
            | AgentEvent::Cost(_)
            | AgentEvent::Thinking { .. }
            | AgentEvent::Todo(_)
            | AgentEvent::Retry { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Result(_)
            | AgentEvent::Unparsed { .. } => return None,
        })
    }
}

fn waits_for(wait: view::Wait<'_>) -> String {
    match wait {
        view::Wait::Disk(shortage) => report::low_disk(shortage),
        view::Wait::Network => "the network is unavailable".to_string(),
        view::Wait::Service { why } => why.to_string(),
        view::Wait::Person { text, .. } => text.to_string(),
    }
}
