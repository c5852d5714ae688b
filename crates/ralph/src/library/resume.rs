//! A run that a program takes up where it was left.

use super::handle::Way;
use super::{AgentFunction, Error, RunHandle, home, listen, milliseconds, program};
use crate::catalog;
use crate::process::KeeperProgram;
use crate::report::RunResult;
use crate::session;
use ralph_loop::ask::Changes;
use ralph_loop::limits::Totals;
use ralph_loop::money::Usd;
use std::path::PathBuf;
use std::time::Duration;

/// Continues a run: its plan, limits, counters and cost carry over.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// The id of the run, or the start of one.
    pub run: String,
    /// Allow this many iterations in total.
    pub max_iterations: Option<u32>,
    /// Allow this much cost in total, in US dollars.
    pub max_cost: Option<f64>,
    /// Allow this much time in total.
    pub max_time: Option<Duration>,
    /// The agent of a run whose agent is a function: functions are not recorded.
    pub function: Option<AgentFunction>,
    /// Allow other runs in the same directory.
    pub share_workspace: bool,
    /// As in [`Config`](super::Config).
    pub home: Option<PathBuf>,
    /// As in [`Config`](super::Config).
    pub ralph: Option<PathBuf>,
}

impl Resume {
    pub fn new(run: impl Into<String>) -> Resume {
        Resume { run: run.into(), ..Resume::default() }
    }

    /// As [`Config::run`](super::Config::run).
    pub fn run(&self) -> Result<RunResult, Error> {
        self.start()?.wait()
    }

    /// As [`Config::start`](super::Config::start).
    pub fn start(&self) -> Result<RunHandle, Error> {
        let (home, ralph) = (home(self.home.as_deref())?, program(self.ralph.as_deref())?);
        let id = catalog::find(&home, &self.run)?;
        let server = self.function.as_ref().map(|function| listen(&home, &id, function)).transpose()?;
        let totals = Totals {
            max_iterations: self.max_iterations,
            max_cost: self.max_cost.map(Usd::from_dollars),
            max_time_ms: self.max_time.map(milliseconds),
        };
        let changes = Changes { totals, ..Changes::default() };
        let way = Way { keeper: KeeperProgram::At(ralph), share_workspace: self.share_workspace };
        RunHandle::start(id.clone(), Vec::new(), way, move |options, reporter| {
            let ended = session::resume(&home, &id, &changes, options, reporter);
            drop(server);
            ended
        })
    }
}
