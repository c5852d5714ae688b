//! What reaches the loop from outside its steps: signals and other stops, requests over the control socket, the
//! time that the policy wants to be woken at, ticks for reports, and facts that are due.

use crate::control::{CommandResult, Control, Request};
use crate::engine::clock;
use crate::engine::stop::{StopBy, Stops};
use ralph_loop::event::Fact;
use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

pub(super) struct Inbox {
    stops: Stops,
    control: Option<Control>,
    /// The client whose request is being recorded.
    answer_due: Option<oneshot::Sender<CommandResult>>,
    /// Facts that happened while the loop was busy, oldest first.
    due: VecDeque<Fact>,
    last_tick: Instant,
}

/// One thing that arrives there.
pub(super) enum Arrival {
    Fact(Box<Fact>),
    Request(Request),
    /// Reports that show the time are due.
    Tick,
}

impl Inbox {
    pub(super) fn open(stop_by: StopBy, control: Option<Control>) -> io::Result<Inbox> {
        let (stops, due, last_tick) = (Stops::listen(stop_by)?, VecDeque::new(), Instant::now());
        Ok(Inbox { stops, control, answer_due: None, due, last_tick })
    }

    /// A fact that is to be recorded when the loop waits next.
    pub(super) fn post(&mut self, fact: Fact) {
        self.due.push_back(fact);
    }

    /// The oldest fact that is due.
    pub(super) fn due(&mut self) -> Option<Fact> {
        self.due.pop_front()
    }

    /// What arrives next, facts that are due aside. Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self, wake: Option<Instant>, tick_every: Option<Duration>) -> Arrival {
        let tick = tick_every.map(|every| self.last_tick + every);
        tokio::select! {
            biased;
            fact = self.stops.next() => Arrival::Fact(Box::new(fact)),
            request = asked(&mut self.control) => Arrival::Request(request),
            () = clock::at(wake) => Arrival::Fact(Box::new(Fact::Woke)),
            () = clock::at(tick) => {
                self.last_tick = Instant::now();
                Arrival::Tick
            }
        }
    }

    /// The client is answered once its request is recorded.
    pub(super) fn answer_later(&mut self, answer: oneshot::Sender<CommandResult>) {
        self.answer_due = Some(answer);
    }

    /// The request is recorded.
    pub(super) fn recorded(&mut self) {
        if let Some(answer) = self.answer_due.take() {
            // A client that has left does not need the answer.
            let _ = answer.send(CommandResult::Done);
        }
    }

    /// Nothing more will be recorded by this process.
    pub(super) async fn close(&mut self) {
        if let Some(control) = &mut self.control {
            control.close().await;
        }
    }
}

async fn asked(control: &mut Option<Control>) -> Request {
    match control {
        Some(control) => control.next().await,
        None => pending().await,
    }
}
