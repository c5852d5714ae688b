//! What stops the loop, beside the commands of other terminals: signals, or the program that the run
//! is in.

use crate::process::Signals;
use ralph_loop::ask::Ask;
use ralph_loop::event::Fact;
use std::io;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What a run is to be stopped by.
#[derive(Clone, Debug)]
pub enum StopBy {
    /// SIGINT, SIGTERM and SIGHUP.
    Signals,
    /// The same, for workers. They pause: it is not the user who sends these.
    WorkerSignals,
    /// For a program that handles its own signals.
    Requests(StopRequests),
}

/// Can be asked from any thread, before the run begins and after it has ended. A request is what a
/// signal is to `ralph` itself: the first one lets the current step finish, the second one ends it.
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

/// Waits for requests to stop.
pub(super) enum Stops {
    Signals(Signals),
    WorkerSignals(Signals),
    Requests(StopRequests),
}

impl Stops {
    /// Signals are listened for from here on.
    pub(super) fn listen(by: StopBy) -> io::Result<Stops> {
        Ok(match by {
            StopBy::Signals => Stops::Signals(Signals::listen()?),
            StopBy::WorkerSignals => Stops::WorkerSignals(Signals::listen()?),
            StopBy::Requests(requests) => Stops::Requests(requests),
        })
    }

    /// Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Fact {
        match self {
            Stops::Signals(signals) => {
                signals.next().await;
                Fact::StopAsked
            }
            Stops::WorkerSignals(signals) => {
                signals.next().await;
                Fact::Asked(Ask::Leave)
            }
            Stops::Requests(requests) => {
                requests.next().await;
                Fact::StopAsked
            }
        }
    }
}
