//! Telling people: a command of theirs, run when a run is done, has failed, or waits.
//!
//! It gets what has happened in its environment and as JSON on its standard input. It is the
//! user's own program: not swept, not part of the run, ended after half a minute, and whatever
//! it does the run goes on.

use crate::process::tool::Tool;
use crate::report::{low_disk, newly_low, say};
use ralph_loop::ask::Ask;
use ralph_loop::dialect::{Answer, Blocker};
use ralph_loop::event::{End, Event, Fact, StopReason};
use ralph_loop::{Run, State};
use serde::Serialize;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

pub struct Notifier {
    command: String,
    worker: Option<&'static str>,
    /// Those that may still be at work.
    telling: Vec<JoinHandle<()>>,
    /// A wait for the service is told once.
    waiting: bool,
}

/// What is told.
#[derive(Debug, Serialize)]
struct Message {
    /// `done`, `failed`, `stopped`, `paused`, `stalled` or `waiting`.
    event: &'static str,
    worker: Option<&'static str>,
    run: String,
    reason: Option<&'static str>,
    note: Option<String>,
    iterations: u32,
    max_iterations: u32,
    /// US dollars.
    cost: f64,
    workspace: String,
}

impl Notifier {
    pub fn of(run: &Run, worker: Option<&'static str>) -> Option<Notifier> {
        let command = run.notify.clone()?;
        Some(Notifier { command, worker, telling: Vec::new(), waiting: false })
    }

    pub fn event(&mut self, run: &Run, state: &State, event: &Event) {
        let (word, note) = match &event.fact {
            Fact::Stopped { reason, note } => match word(*reason, state) {
                Some(word) => (word, note.clone()),
                None => return,
            },
            Fact::Asked(Ask::Pause) => ("paused", None),
            Fact::LowDisk(_) => match newly_low(state, event) {
                Some(shortage) => ("waiting", Some(low_disk(shortage))),
                None => return,
            },
            Fact::Blocked { by: Some(Blocker::Network), .. } => {
                if std::mem::replace(&mut self.waiting, true) {
                    return;
                }
                ("waiting", Some("the agent is waiting for the network".to_string()))
            }
            Fact::Ended { end: End::Agent(end), .. } => match &end.answer {
                Answer::Limited { why, .. } | Answer::Unavailable { why } => {
                    if std::mem::replace(&mut self.waiting, true) {
                        return;
                    }
                    ("waiting", Some(why.clone()))
                }
                Answer::Said | Answer::Empty | Answer::Failed { .. } | Answer::Refused { .. } => {
                    self.waiting = false;
                    return;
                }
            },
            _ => return,
        };
        self.tell(
            run,
            Message {
                event: word,
                worker: self.worker,
                run: run.id.clone(),
                reason: state.stopped.as_ref().map(|stopped| stopped.reason.word()),
                note,
                iterations: state.ledger.judged,
                max_iterations: state.ledger.limits.iterations,
                cost: state.ledger.spent.usd.dollars(),
                workspace: run.workspace.display().to_string(),
            },
        );
    }

    /// Beside the loop, which does not wait.
    fn tell(&mut self, run: &Run, message: Message) {
        self.telling.retain(|telling| !telling.is_finished());
        let (command, workspace) = (self.command.clone(), run.workspace.clone());
        let told = thread::Builder::new().name("notify".into()).spawn(move || {
            let json = serde_json::to_vec(&message).unwrap_or_default();
            let tool = Tool::new("sh").args(["-c", &command]).cwd(&workspace).stdin(&json).timeout(TIMEOUT);
            let trouble = match message
                .environment()
                .into_iter()
                .fold(tool, |t, (name, value)| t.env(name, value))
                .run()
            {
                Ok(output) if output.success() => return,
                Ok(output) => output.exit.to_string(),
                Err(cause) => cause.to_string(),
            };
            say(&format!("ralph: warning: the notify command failed: {trouble}"));
        });
        self.telling.extend(told.ok());
    }
}

impl Message {
    /// Not `RALPH_RUN`: what has that is a part of the run and dies with it.
    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("RALPH_NOTIFY_EVENT", self.event.to_string()),
            ("RALPH_NOTIFY_WORKER", self.worker.unwrap_or_default().to_string()),
            ("RALPH_NOTIFY_RUN", self.run.clone()),
            ("RALPH_NOTIFY_REASON", self.reason.unwrap_or_default().to_string()),
            ("RALPH_NOTIFY_NOTE", self.note.clone().unwrap_or_default().replace('\0', "")),
            ("RALPH_NOTIFY_ITERATIONS", self.iterations.to_string()),
            ("RALPH_NOTIFY_COST", format!("{:.4}", self.cost)),
        ]
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        for telling in self.telling.drain(..) {
            // It has told of its own trouble.
            let _ = telling.join();
        }
    }
}

/// `None` for what the user has just done.
fn word(reason: StopReason, state: &State) -> Option<&'static str> {
    match reason {
        reason if state.is_success(reason) => Some("done"),
        StopReason::Completed => Some("done"),
        StopReason::Stalled => Some("stalled"),
        StopReason::MaxIterations | StopReason::BudgetExhausted | StopReason::Timeout => Some("stopped"),
        StopReason::TooManyFailures
        | StopReason::Halted
        | StopReason::Outage
        | StopReason::Authentication
        | StopReason::Error => Some("failed"),
        // A signal, mostly of a machine that goes down.
        StopReason::Paused => Some("paused"),
        StopReason::Killed | StopReason::Interrupted => None,
    }
}
