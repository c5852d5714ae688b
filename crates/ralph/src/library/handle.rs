//! A run that was started: its moments, its result, and how to stop it.

use super::feed::Feed;
use super::{Error, Moment};
use crate::engine::{StopBy, StopRequests};
use crate::process::KeeperProgram;
use crate::report::{Reporter, RunResult};
use crate::secrets;
use crate::session::{Ended, SessionError, SessionOptions};
use ralph_loop::dialect::AgentEvent;
use ralph_loop::view::Update;
use std::sync::Arc;
use std::thread;

/// A run on a thread of its own.
///
/// Dropping the handle does not stop the run. When the program ends, the agents of the run are ended
/// too, and the run can be resumed.
pub struct RunHandle {
    run: String,
    feed: Arc<Feed>,
    stop: StopRequests,
}

impl RunHandle {
    /// The id of the run, as in `ralph show ID`.
    pub fn run_id(&self) -> &str {
        &self.run
    }

    /// The moments of the run as they happen, until it has ended. Waits for each; in async code use
    /// [`next`](RunHandle::next).
    ///
    /// The run does not wait for them to be read: of those that pile up the oldest are discarded,
    /// and [`Moment::Missed`] says how many.
    pub fn moments(&mut self) -> impl Iterator<Item = Moment> + '_ {
        std::iter::from_fn(|| self.feed.next())
    }

    /// The next moment, for async code of any runtime; none once the run has ended. Nothing is lost
    /// if the future is dropped.
    pub async fn next(&mut self) -> Option<Moment> {
        self.feed.next_async().await
    }

    /// Stops the run, as Ctrl+C does for `ralph run`: the first call lets the current step finish, the
    /// second one ends it at once. The run can be resumed.
    pub fn cancel(&self) {
        self.stop.ask();
    }

    /// The same from another thread or task.
    pub fn canceller(&self) -> Canceller {
        Canceller { stop: self.stop.clone() }
    }

    /// Waits until the run has ended. A run without success is a result, not an error.
    pub fn wait(self) -> Result<RunResult, Error> {
        self.feed.result()
    }

    /// The same for async code.
    pub async fn finished(self) -> Result<RunResult, Error> {
        self.feed.result_async().await
    }

    /// Starts the thread of a run.
    pub(super) fn start(
        run: String,
        warnings: Vec<String>,
        way: Way,
        live: impl FnOnce(&SessionOptions, &mut dyn Reporter) -> Result<Ended, SessionError> + Send + 'static,
    ) -> Result<RunHandle, Error> {
        let (feed, stop) = (Arc::new(Feed::default()), StopRequests::new());
        for text in warnings {
            let text = secrets::mask(&text).into_owned();
            feed.push(Moment::Warning { text });
        }
        let (ends, stop_by) = (EndsFeed(Arc::clone(&feed)), StopBy::Requests(stop.clone()));
        let body = move || {
            let Way { keeper, share_workspace } = way;
            let options = SessionOptions { share_workspace, stop_by, keeper, worker: None, asks: false };
            let ended = live(&options, &mut Streaming(&ends.0)).map_err(Error::from);
            ends.0.end(ended.and_then(|ended| Ok(ended.result()?)));
        };
        thread::Builder::new().name("ralph".into()).spawn(body).map_err(Error::NoThread)?;
        Ok(RunHandle { run, feed, stop })
    }
}

/// How the process of a run behaves.
pub(super) struct Way {
    pub(super) keeper: KeeperProgram,
    pub(super) share_workspace: bool,
}

/// Stops a run.
#[derive(Clone, Debug)]
pub struct Canceller {
    stop: StopRequests,
}

impl Canceller {
    /// See [`RunHandle::cancel`].
    pub fn cancel(&self) {
        self.stop.ask();
    }
}

/// A thread that panics must not leave the program waiting.
struct EndsFeed(Arc<Feed>);

impl Drop for EndsFeed {
    fn drop(&mut self) {
        self.0.end(Err(Error::Panicked));
    }
}

struct Streaming<'f>(&'f Feed);

impl Reporter for Streaming<'_> {
    fn update(&mut self, update: &Update<'_>) {
        Moment::of_update(update).into_iter().for_each(|moment| self.0.push(moment));
    }

    fn prompt(&mut self, text: &str) {
        self.0.push(Moment::Prompt { text: text.to_string() });
    }

    fn agent(&mut self, event: &AgentEvent<'_>) {
        if let Some(moment) = Moment::of_agent(event) {
            self.0.push(moment);
        }
    }

    fn agent_stderr(&mut self, line: &str) {
        self.0.push(Moment::AgentStderr { line: line.to_string() });
    }

    fn aside(&mut self, text: &str) {
        self.0.push(Moment::Notice { text: secrets::mask(text).into_owned() });
    }

    fn warn(&mut self, message: &str) {
        self.0.push(Moment::Warning { text: secrets::mask(message).into_owned() });
    }
}
