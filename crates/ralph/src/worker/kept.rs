//! What a run in a terminal shows, kept for `ralph logs` as a worker's output is.

use super::output::Writer;
use crate::error::CliError;
use crate::layout::RunDir;
use crate::report::{Human, Reporter, Summary};
use ralph_loop::dialect::AgentEvent;
use ralph_loop::event::Event;
use ralph_loop::text::printable;
use ralph_loop::{Run, State};

/// Stands before the reporter of the terminal. The log is complete whatever that one shows:
/// `--quiet` and `--format` are for the terminal only.
pub struct Kept<'r> {
    log: Option<Human>,
    inner: &'r mut dyn Reporter,
}

impl<'r> Kept<'r> {
    /// A log that cannot be opened is warned about, and not kept.
    pub fn new(run: &Run, run_dir: &RunDir, inner: &'r mut dyn Reporter) -> Kept<'r> {
        let log = match Writer::open(run_dir.output(), run.keep_streams) {
            Ok(file) => Some(Human::to_file(Box::new(file))),
            Err(cause) => {
                inner.warn(&format!("`ralph logs` will not work for this run: {cause}"));
                None
            }
        };
        Kept { log, inner }
    }

    pub fn close(&mut self, summary: &Summary) {
        if let Some(log) = &mut self.log {
            log.close(summary);
        }
    }

    pub fn fail(&mut self, error: &CliError) {
        if let Some(log) = &mut self.log {
            log.aside(&printable(&error.to_string()));
        }
    }
}

impl Reporter for Kept<'_> {
    fn behind(&mut self) -> Option<&mut dyn Reporter> {
        Some(&mut *self.inner)
    }

    fn event(&mut self, run: &Run, state: &State, event: &Event) {
        if let Some(log) = &mut self.log {
            log.event(run, state, event);
        }
        self.inner.event(run, state, event);
    }

    fn agent(&mut self, event: &AgentEvent<'_>) {
        if let Some(log) = &mut self.log {
            log.agent(event);
        }
        self.inner.agent(event);
    }

    fn agent_stderr(&mut self, line: &str) {
        if let Some(log) = &mut self.log {
            log.agent_stderr(line);
        }
        self.inner.agent_stderr(line);
    }

    fn aside(&mut self, text: &str) {
        if let Some(log) = &mut self.log {
            log.aside(text);
        }
        self.inner.aside(text);
    }

    fn rest(&mut self) {
        if let Some(log) = &mut self.log {
            log.rest();
        }
        self.inner.rest();
    }
}
