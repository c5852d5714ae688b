//! Requests to stop a run, from the program that it runs in.
//!
//! They are what signals are to `ralph` itself, and become the same fact: the first one lets the
//! current step finish, the second one ends it.

use crate::engine::Host;
use ralph_loop::event::{Event, Fact, How, Step, StepId};
use ralph_loop::{Run, State};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What can ask a run to stop, beside the commands of other terminals.
#[derive(Clone, Debug)]
pub enum StopOn {
    /// SIGINT, SIGTERM and SIGHUP.
    Signals,
    Requests(StopRequests),
}

/// Can be asked from any thread, before the run begins and after it has ended.
#[derive(Clone, Debug)]
pub struct StopRequests(Arc<Semaphore>);

impl StopRequests {
    pub fn new() -> StopRequests {
        StopRequests(Arc::new(Semaphore::new(0)))
    }

    pub fn ask(&self) {
        // A third request would change nothing.
        if self.0.available_permits() < 2 {
            self.0.add_permits(1);
        }
    }

    async fn next(&self) {
        match self.0.acquire().await {
            Ok(asked) => asked.forget(),
            // It is never closed.
            Err(_) => std::future::pending().await,
        }
    }
}

/// A host whose run can also be stopped by requests.
pub(super) struct Stoppable<H> {
    pub(super) host: H,
    pub(super) stop_on: StopOn,
}

impl<H: Host> Host for Stoppable<H> {
    fn now(&self) -> (i64, u64) {
        self.host.now()
    }

    fn record(&mut self, event: &Event) -> io::Result<()> {
        self.host.record(event)
    }

    fn show(&mut self, run: &Run, state: &State, event: &Event) {
        self.host.show(run, state, event);
    }

    fn start(&mut self, run: &Run, state: &State, id: StepId, step: &Step) {
        self.host.start(run, state, id, step);
    }

    fn cancel(&mut self, id: StepId, how: How) {
        self.host.cancel(id, how);
    }

    fn room(&self, run: &Run) -> Option<(u64, PathBuf)> {
        self.host.room(run)
    }

    /// Nothing is lost with the wait that a request cuts short: it takes what has happened only once
    /// it can return it.
    async fn wait(&mut self, run: &Run, state: &State, wake_at: Option<u64>) -> Fact {
        let StopOn::Requests(requests) = &self.stop_on else {
            return self.host.wait(run, state, wake_at).await;
        };
        tokio::select! {
            biased;
            () = requests.next() => Fact::StopAsked,
            fact = self.host.wait(run, state, wake_at) => fact,
        }
    }
}
