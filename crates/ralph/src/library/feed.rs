//! What a run's thread hands to the program: moments, and the result once there is one.
//!
//! Invariant: the run never waits for the reader, and what is not read does not pile up without
//! bound. Reading works on any thread, within a tokio runtime or without one, so no channel of tokio's
//! is used: their blocking calls panic within a runtime.

use super::{Error, Moment};
use crate::report::RunResult;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// More moments than a program can reasonably be behind.
const MOST: usize = 4096;

#[derive(Default)]
pub(super) struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    moments: VecDeque<Moment>,
    /// Discarded since the last one was read; all of them older than `moments`.
    missed: u64,
    run: RunState,
    /// Of the one task that waits.
    waker: Option<Waker>,
}

#[derive(Default)]
enum RunState {
    #[default]
    Running,
    Ended(Box<Result<RunResult, Error>>),
}

impl Feed {
    pub(super) fn push(&self, moment: Moment) {
        let mut state = self.lock();
        if state.moments.len() >= MOST {
            state.moments.pop_front();
            state.missed += 1;
        }
        state.moments.push_back(moment);
        self.wake(state);
    }

    /// The first result counts.
    pub(super) fn end(&self, result: Result<RunResult, Error>) {
        let mut state = self.lock();
        if let RunState::Running = state.run {
            state.run = RunState::Ended(Box::new(result));
        }
        self.wake(state);
    }

    /// The next moment; none once the run has ended and all were read.
    pub(super) fn next(&self) -> Option<Moment> {
        let mut state = self.lock();
        loop {
            match state.take_moment() {
                Poll::Ready(moment) => return moment,
                Poll::Pending => state = self.sleep(state),
            }
        }
    }

    pub(super) async fn next_async(&self) -> Option<Moment> {
        self.until(State::take_moment).await
    }

    /// Waits for the end of the run and takes its result.
    pub(super) fn result(&self) -> Result<RunResult, Error> {
        let mut state = self.lock();
        loop {
            match state.take_result() {
                Poll::Ready(result) => return result,
                Poll::Pending => state = self.sleep(state),
            }
        }
    }

    pub(super) async fn result_async(&self) -> Result<RunResult, Error> {
        self.until(State::take_result).await
    }

    async fn until<T>(&self, take: impl Fn(&mut State) -> Poll<T>) -> T {
        std::future::poll_fn(|context| {
            let mut state = self.lock();
            let taken = take(&mut state);
            if taken.is_pending() {
                state.waker = Some(context.waker().clone());
            }
            taken
        })
        .await
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn sleep<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_moment(&mut self) -> Poll<Option<Moment>> {
        if self.missed > 0 {
            let count = std::mem::take(&mut self.missed);
            return Poll::Ready(Some(Moment::Missed { count }));
        }
        match (self.moments.pop_front(), &self.run) {
            (Some(moment), _) => Poll::Ready(Some(moment)),
            (None, RunState::Ended(_)) => Poll::Ready(None),
            (None, RunState::Running) => Poll::Pending,
        }
    }

    /// Nothing is read any more once the result is asked for.
    fn take_result(&mut self) -> Poll<Result<RunResult, Error>> {
        self.moments.clear();
        match std::mem::take(&mut self.run) {
            RunState::Ended(result) => Poll::Ready(*result),
            RunState::Running => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(number: usize) -> Moment {
        Moment::Notice { text: number.to_string() }
    }

    #[test]
    fn the_oldest_moments_are_discarded_and_counted() {
        let feed = Feed::default();
        (0..MOST + 3).for_each(|number| feed.push(notice(number)));
        feed.end(Err(Error::Panicked));
        assert_eq!(feed.next(), Some(Moment::Missed { count: 3 }));
        let rest: Vec<Moment> = std::iter::from_fn(|| feed.next()).collect();
        assert_eq!(rest, (3..MOST + 3).map(notice).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_result_counts() {
        let feed = Feed::default();
        feed.end(Err(Error::NoHome));
        feed.end(Err(Error::Panicked));
        assert!(matches!(feed.result(), Err(Error::NoHome)));
    }
}
