//! Notifying people: a command of theirs, run when a run is done, has failed, or waits.
//!
//! It gets what has happened in its environment and as JSON on its standard input. It is the
//! user's own program: not swept, not part of the run, ended after half a minute, and whatever
//! it does the run goes on.

use crate::process::tool::Tool;
use crate::report::{Seen, low_disk, say, waits_for_you};
use crate::secrets;
use ralph_loop::ask::Ask;
use ralph_loop::dialect::Awaited;
use ralph_loop::event::{StopKind, StopReason};
use ralph_loop::state::Stopped;
use ralph_loop::text::printable;
use ralph_loop::view::{Moment, Update, Wait};
use ralph_loop::{Run, State};
use serde::Serialize;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

pub struct Notifier {
    command: String,
    worker: Option<&'static str>,
    /// The user is asked about it, and sees it.
    untold: Option<StopReason>,
    /// Those that may still be at work.
    threads: Vec<JoinHandle<()>>,
}

/// What is sent.
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
        Some(Notifier { command, worker, untold: None, threads: Vec::new() })
    }

    /// Says nothing of a run that stops for this reason.
    pub fn without(mut self, reason: StopReason) -> Notifier {
        self.untold = Some(reason);
        self
    }

    /// A run has stopped, and no answer came.
    pub fn stopped(&mut self, run: &Run, state: &State, stopped: &Stopped) {
        let Some(event) = word(stopped.reason, state.is_success(stopped.reason)) else { return };
        let message = Message {
            event,
            worker: self.worker,
            run: run.id.clone(),
            reason: Some(stopped.reason.word()),
            note: stopped.note.clone(),
            iterations: state.ledger.judged,
            max_iterations: state.ledger.limits.iterations,
            cost: state.ledger.spent.usd.dollars(),
            workspace: run.workspace.display().to_string(),
        };
        self.send(run, message);
    }

    pub fn update(&mut self, update: &Update<'_>) {
        for moment in &update.moments {
            let Some((event, note)) = news(moment, &update.run.id, self.worker) else { continue };
            let view = update.view();
            if view.reason.is_some() && view.reason == self.untold {
                continue;
            }
            let message = Message {
                event,
                worker: self.worker,
                run: view.id,
                reason: view.reason.map(StopReason::word),
                note,
                iterations: view.judged,
                max_iterations: view.max_iterations,
                cost: view.spent.dollars(),
                workspace: view.workspace.display().to_string(),
            };
            self.send(update.run, message);
        }
    }

    /// Beside the loop, which does not wait.
    fn send(&mut self, run: &Run, message: Message) {
        self.threads.retain(|thread| !thread.is_finished());
        let note = message.note.map(|note| printable(&secrets::mask(&note)).into_owned());
        let message = Message { note, ..message };
        let (command, workspace) = (self.command.clone(), run.workspace.clone());
        let thread = thread::Builder::new().name("notify".into()).spawn(move || {
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
        self.threads.extend(thread.ok());
    }
}

/// What is worth a message, and a note with it.
fn news(moment: &Moment<'_>, run: &str, worker: Option<&str>) -> Option<(&'static str, Option<String>)> {
    match moment {
        Moment::Stopped { stopped, success, .. } => {
            Some((word(stopped.reason, *success)?, stopped.note.clone()))
        }
        Moment::Asked(Ask::Pause) => Some(("paused", None)),
        Moment::WaitBegan(Wait::Disk(shortage)) => Some(("waiting", Some(low_disk(shortage)))),
        Moment::WaitBegan(Wait::Network) => {
            Some(("waiting", Some("the agent is waiting for the network".to_string())))
        }
        Moment::WaitBegan(Wait::Person { why, text }) => {
            let awaited = Awaited { why: *why, text: (*text).to_string() };
            let (name, seen) = match worker {
                Some(name) => (name, Seen::Window),
                None => (run, Seen::ItsTerminal),
            };
            Some(("waiting", Some(waits_for_you(&awaited, name, seen))))
        }
        Moment::WaitBegan(Wait::Service { why }) => Some(("waiting", Some((*why).to_string()))),
        _ => None,
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
        for thread in self.threads.drain(..) {
            // It has reported its own failure.
            let _ = thread.join();
        }
    }
}

/// `None` for what the user has just done.
fn word(reason: StopReason, success: bool) -> Option<&'static str> {
    match reason.kind() {
        _ if success => Some("done"),
        StopKind::Done => Some("done"),
        StopKind::Stalled => Some("stalled"),
        StopKind::Limit => Some("stopped"),
        StopKind::GaveUp | StopKind::Failed | StopKind::Unusable => Some("failed"),
        // A signal, mostly of a machine that goes down.
        StopKind::Paused => Some("paused"),
        StopKind::Killed | StopKind::Interrupted => None,
    }
}
