//! All lanes of a run: which one has a step, and the waiting for all of them.
//!
//! Waiting polls the lanes in turn, so it allocates nothing, and a lane whose agent never stops
//! printing does not keep the others from being heard.

use super::{Lane, LaneEvent};
use crate::engine::clock;
use ralph_loop::event::{Fact, How, StepId};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Instant;

pub(in crate::engine) struct Lanes {
    lanes: Vec<Lane>,
    /// The lane that is looked at first.
    first: usize,
}

/// One of the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct LaneNumber(usize);

/// Whether an agent's silence counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Silence {
    Counts,
    /// The run is paused.
    Excused,
}

impl Lanes {
    pub(in crate::engine) fn new(count: usize) -> Lanes {
        Lanes { lanes: std::iter::repeat_with(Lane::default).take(count).collect(), first: 0 }
    }

    pub(in crate::engine) fn lane(&mut self, number: LaneNumber) -> &mut Lane {
        &mut self.lanes[number.0]
    }

    /// A lane that is free.
    pub(in crate::engine) fn free(&self) -> Option<LaneNumber> {
        self.lanes.iter().position(|lane| lane.busy.is_none()).map(LaneNumber)
    }

    /// Cancels the step with this id; does nothing if no lane has it. Returns the end of a step that
    /// is no longer waited for.
    pub(in crate::engine) fn cancel(&mut self, id: StepId, how: How) -> Option<Fact> {
        let has_it = |lane: &&mut Lane| lane.busy.as_ref().is_some_and(|busy| busy.id == id);
        self.lanes.iter_mut().find(has_it)?.cancel(how)
    }

    /// Bytes that are kept of what agents at work have printed; nothing if none is at work.
    pub(in crate::engine) fn kept(&mut self) -> Option<u64> {
        let printing = self.lanes.iter_mut().filter_map(Lane::printing);
        printing.map(|step| step.kept()).reduce(u64::saturating_add)
    }

    /// Silence counts from now on.
    pub(in crate::engine) fn excuse_silence(&mut self) {
        for (_, step) in self.lanes.iter_mut().filter_map(Lane::agent) {
            step.activity.excuse(Instant::now());
        }
    }

    /// What happens next in any of them. Nothing is lost when the future is dropped.
    pub(in crate::engine) async fn next(&mut self, silence: Silence) -> (LaneNumber, LaneEvent) {
        let silent = match silence {
            Silence::Counts => self.first_silent(),
            Silence::Excused => None,
        };
        let mut deadline = pin!(clock::at(silent.map(|(_, at)| at)));
        poll_fn(|cx| {
            // The end of an agent counts more than its silence before.
            let event = self.poll_each(cx, Lane::poll_keeper);
            if event.is_ready() {
                return event;
            }
            if let (Poll::Ready(()), Some((number, _))) = (deadline.as_mut().poll(cx), silent) {
                return Poll::Ready((number, LaneEvent::Silent));
            }
            // Last: there may always be more to read.
            self.poll_each(cx, Lane::poll_work)
        })
        .await
    }

    /// The lane whose agent will be silent for too long first, and when.
    fn first_silent(&self) -> Option<(LaneNumber, Instant)> {
        let lanes = self.lanes.iter().enumerate();
        let silent = lanes.filter_map(|(at, lane)| Some((LaneNumber(at), lane.silent_at()?)));
        silent.min_by_key(|(_, when)| *when)
    }

    fn poll_each(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl Fn(&mut Lane, &mut Context<'_>) -> Poll<LaneEvent>,
    ) -> Poll<(LaneNumber, LaneEvent)> {
        let count = self.lanes.len();
        for at in (self.first..count).chain(0..self.first) {
            if let Poll::Ready(event) = poll(&mut self.lanes[at], cx) {
                self.first = (at + 1) % count;
                return Poll::Ready((LaneNumber(at), event));
            }
        }
        Poll::Pending
    }

    /// Ends whatever runs; returns when nothing is left.
    pub(in crate::engine) fn close(&mut self) {
        self.lanes.iter_mut().for_each(Lane::close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::lane::{Thread, ThreadEnd, Work};
    use ralph_loop::event::End;
    use std::future::pending;
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    /// Something beside the loop, in a lane that is free. Its end has its iteration.
    fn begin(lanes: &mut Lanes, id: StepId, iteration: u32, handle: JoinHandle<bool>) -> LaneNumber {
        let number = lanes.free().unwrap();
        lanes.lane(number).begin(id, Work::Thread(Thread::Survey { handle, iteration, agent: 0 }));
        number
    }

    fn endless() -> JoinHandle<bool> {
        tokio::spawn(pending())
    }

    /// The step of the lane that is heard, and the iteration of its end.
    async fn heard(lanes: &mut Lanes) -> (StepId, u32) {
        let (number, event) = lanes.next(Silence::Counts).await;
        let LaneEvent::Thread(ThreadEnd::Surveyed { iteration, .. }) = event else { panic!("not that") };
        (lanes.lane(number).free().unwrap(), iteration)
    }

    #[test]
    fn a_step_that_no_lane_has_is_not_cancelled() {
        run(async {
            let mut lanes = Lanes::new(2);
            begin(&mut lanes, 7, 1, endless());
            assert_eq!(lanes.cancel(6, How::Kill), None);
            assert_eq!(lanes.cancel(8, How::KillKeeper), None);
            assert_eq!(lanes.free(), Some(LaneNumber(1)), "the other lane is still busy");
        });
    }

    #[test]
    fn only_the_lane_that_has_the_step_is_cancelled() {
        run(async {
            let mut lanes = Lanes::new(2);
            begin(&mut lanes, 7, 1, endless());
            let second = begin(&mut lanes, 8, 1, endless());
            assert_eq!(lanes.cancel(8, How::Ask), None, "what runs beside the loop cannot be asked");
            assert_eq!(lanes.free(), None);
            let Some(Fact::Ended { id: 8, end: End::Lost { .. } }) = lanes.cancel(8, How::Kill) else {
                panic!("it is no longer waited for")
            };
            assert_eq!(lanes.free(), Some(second));
            assert_eq!(lanes.cancel(8, How::Kill), None, "it is over");
            assert_eq!(lanes.lane(LaneNumber(0)).free(), Some(7));
        });
    }

    #[test]
    fn each_end_is_heard_from_its_own_lane() {
        run(async {
            let mut lanes = Lanes::new(3);
            let mut enders = Vec::new();
            for (id, iteration) in [(5, 50), (6, 60), (7, 70)] {
                let (ender, ended) = oneshot::channel();
                begin(&mut lanes, id, iteration, tokio::spawn(async { ended.await.unwrap() }));
                enders.push(ender);
            }
            assert_eq!(lanes.free(), None);
            for (at, expected) in [(1, (6, 60)), (1, (7, 70)), (0, (5, 50))] {
                let ender = enders.remove(at);
                // While all are waited for.
                tokio::spawn(async { ender.send(true).unwrap() });
                assert_eq!(heard(&mut lanes).await, expected);
            }
        });
    }

    #[test]
    fn a_lane_whose_steps_end_all_the_time_does_not_drown_out_the_others() {
        run(async {
            let mut lanes = Lanes::new(2);
            let ended = || tokio::spawn(async { true });
            begin(&mut lanes, 1, 1, ended());
            begin(&mut lanes, 2, 1, ended());
            tokio::task::yield_now().await;
            assert_eq!(heard(&mut lanes).await.0, 1);
            begin(&mut lanes, 3, 1, ended());
            tokio::task::yield_now().await;
            assert_eq!(heard(&mut lanes).await.0, 2);
            assert_eq!(heard(&mut lanes).await.0, 3);
        });
    }
}
